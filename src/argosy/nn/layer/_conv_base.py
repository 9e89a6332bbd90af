"""What convolution layers and their transposes share."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import RankError
from argosy.nn.functional.window import is_channel_last, to_list
from argosy.nn.layer.layers import Layer


class _ConvNd(Layer):
    """What all six share: the arguments as attributes and the two parameters."""

    _dims: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_shape: list[int],
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
        weight_init: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if weight_attr is False:
            raise RankError(f"{type(self).__name__}: weight_attr should not be False in Conv.")
        n = self._dims
        self._in_channels = in_channels
        self._out_channels = out_channels
        self._kernel_size = to_list(kernel_size, n, "kernel_size")
        self._stride = to_list(stride, n, "stride")
        self._dilation = to_list(dilation, n, "dilation")
        self._padding = padding
        self._padding_mode = "zeros"
        self.output_padding = 0
        self._groups = groups
        self._data_format = data_format
        self._is_channel_last = is_channel_last(data_format, n, type(self).__name__)
        self._dtype = self._default_dtype() if dtype is None else dtype
        shape = weight_shape + self._kernel_size
        self.weight = self.create_parameter(
            shape, weight_attr, self._dtype, False, weight_init, device
        )
        self.bias = self.create_parameter(
            [out_channels], bias_attr, self._dtype, is_bias=True, device=device
        )

    def extra_repr(self) -> str:
        parts = [f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"]
        ones = [1] * self._dims
        if self._stride != ones:
            parts.append(f"stride={self._stride}")
        if self._padding != 0:
            parts.append(f"padding={self._padding}")
        if self._padding_mode != "zeros":
            parts.append(f"padding_mode={self._padding_mode}")
        if self.output_padding != 0:
            parts.append(f"output_padding={self.output_padding}")
        if self._dilation != ones:
            parts.append(f"dilation={self._dilation}")
        if self._groups != 1:
            parts.append(f"groups={self._groups}")
        parts.append(f"data_format={self._data_format}")
        return ", ".join(parts)
