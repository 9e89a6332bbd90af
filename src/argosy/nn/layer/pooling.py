"""Pooling layers; each keeps its arguments and calls the function of the same name."""

from __future__ import annotations

import warnings
from typing import Any

from argosy.nn import functional as F
from argosy.nn.layer._adaptive_pooling import (
    AdaptiveAvgPool1D,
    AdaptiveAvgPool2D,
    AdaptiveAvgPool3D,
    AdaptiveMaxPool1D,
    AdaptiveMaxPool2D,
    AdaptiveMaxPool3D,
    FractionalMaxPool2D,
    FractionalMaxPool3D,
)
from argosy.nn.layer.layers import Layer

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "LPPool1D",
    "LPPool2D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MaxUnPool1D",
    "MaxUnPool2D",
    "MaxUnPool3D",
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D",
    "FractionalMaxPool2D",
    "FractionalMaxPool3D",
]


class _Pool(Layer):
    """A layer over windows."""

    def __init__(self, kernel_size: Any, stride: Any, padding: Any, name: str | None) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.name = name

    @property
    def ksize(self) -> Any:
        """Paddle's other name of ``kernel_size``."""
        return self.kernel_size

    @ksize.setter
    def ksize(self, value: Any) -> None:
        self.kernel_size = value

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1D(_Pool):
    """Average over windows of [N, C, L]."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        exclusive: bool = True,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, name)
        self.exclusive = exclusive
        self.ceil_mode = ceil_mode

    def forward(self, x: Any) -> Any:
        return F.avg_pool1d(
            x, self.kernel_size, self.stride, self.padding, self.exclusive, self.ceil_mode
        )


class AvgPool2D(_Pool):
    """Average over windows of images; ``exclusive`` leaves the padding out of the average."""

    _functional = staticmethod(F.avg_pool2d)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: float | None = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, name)
        self.ceil_mode = ceil_mode
        self.exclusive = exclusive
        self.divisor = divisor_override
        self.data_format = data_format

    def forward(self, x: Any) -> Any:
        return self._functional(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.exclusive,
            self.divisor,
            self.data_format,
        )


class AvgPool3D(AvgPool2D):
    """Average over windows of volumes."""

    _functional = staticmethod(F.avg_pool3d)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: float | None = None,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(
            kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format, name
        )


class LPPool1D(_Pool):
    """Take the p-norm of windows of [N, C, L], signs kept."""

    def __init__(
        self,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, name)
        self.norm_type = float(norm_type)
        self.ceil_mode = ceil_mode
        self.data_format = data_format

    def forward(self, x: Any) -> Any:
        return F.lp_pool1d(
            x,
            self.norm_type,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.data_format,
        )

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, {super().extra_repr()}"


class LPPool2D(LPPool1D):
    """Take the p-norm of windows of images, signs kept."""

    def __init__(
        self,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        stride = kernel_size if stride is None else stride
        super().__init__(norm_type, kernel_size, stride, padding, ceil_mode, data_format, name)

    def forward(self, x: Any) -> Any:
        return F.lp_pool2d(
            x,
            self.norm_type,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.data_format,
        )


class MaxPool1D(_Pool):
    """Take the maximum of windows of [N, C, L]."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, name)
        self.return_mask = return_mask
        self.ceil_mode = ceil_mode

    def forward(self, input: Any) -> Any:
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.return_mask, self.ceil_mode
        )


class MaxPool2D(_Pool):
    """Take the maximum of windows of images.

    Example:
        >>> import paddle
        >>> paddle.nn.MaxPool2D(3, stride=2, padding=1)(paddle.ones([1, 2, 8, 8])).shape
        [1, 2, 4, 4]
    """

    _functional = staticmethod(F.max_pool2d)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, name)
        self.return_mask = return_mask
        self.ceil_mode = ceil_mode
        self.data_format = data_format

    def forward(self, x: Any) -> Any:
        return self._functional(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.return_mask,
            self.ceil_mode,
            self.data_format,
        )


class MaxPool3D(MaxPool2D):
    """Take the maximum of windows of volumes."""

    _functional = staticmethod(F.max_pool3d)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, return_mask, ceil_mode, data_format, name)


class _MaxUnPool(_Pool):
    _functional: Any

    def __init__(
        self,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        data_format: str,
        output_size: Any,
        name: str | None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, name)
        self.data_format = data_format
        self.output_size = output_size

    def forward(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        if output_size:
            warnings.warn("output_size in forward overrides output_size in __init__.", stacklevel=2)
        size = output_size or self.output_size
        return self._functional(
            x, indices, self.kernel_size, self.stride, self.padding, self.data_format, size
        )

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class MaxUnPool1D(_MaxUnPool):
    """Undo ``MaxPool1D(..., return_mask=True)``."""

    _functional = staticmethod(F.max_unpool1d)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str = "NCL",
        output_size: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)


class MaxUnPool2D(_MaxUnPool):
    """Undo ``MaxPool2D(..., return_mask=True)``."""

    _functional = staticmethod(F.max_unpool2d)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str = "NCHW",
        output_size: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)


class MaxUnPool3D(_MaxUnPool):
    """Undo ``MaxPool3D(..., return_mask=True)``."""

    _functional = staticmethod(F.max_unpool3d)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str = "NCDHW",
        output_size: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)
