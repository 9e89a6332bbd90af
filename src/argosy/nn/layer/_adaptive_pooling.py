"""Layers that pool to a given output size."""

from __future__ import annotations

from typing import Any

from argosy.nn import functional as F
from argosy.nn.layer.layers import Layer


class _Adaptive(Layer):
    """A layer whose output size is given; ``output_size`` may be changed later."""

    def __init__(self, output_size: Any, name: str | None) -> None:
        super().__init__()
        self.output_size = output_size
        self.name = name

    # what Paddle's layers call them; classes of scripts that derive from these read both
    @property
    def _output_size(self) -> Any:
        return self.output_size

    @property
    def _name(self) -> str | None:
        return self.name

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1D(_Adaptive):
    """Average [N, C, L] down to ``output_size`` positions."""

    def __init__(self, output_size: Any, name: str | None = None) -> None:
        super().__init__(output_size, name)

    def forward(self, input: Any) -> Any:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2D(_Adaptive):
    """Average images down to ``output_size``.

    Example:
        >>> import paddle
        >>> paddle.nn.AdaptiveAvgPool2D(1)(paddle.ones([2, 3, 7, 7])).shape
        [2, 3, 1, 1]
    """

    _functional = staticmethod(F.adaptive_avg_pool2d)

    def __init__(
        self, output_size: Any, data_format: str = "NCHW", name: str | None = None
    ) -> None:
        super().__init__(output_size, name)
        self._data_format = data_format

    def forward(self, x: Any) -> Any:
        return self._functional(x, self.output_size, self._data_format)


class AdaptiveAvgPool3D(AdaptiveAvgPool2D):
    """Average volumes down to ``output_size``."""

    _functional = staticmethod(F.adaptive_avg_pool3d)

    def __init__(
        self, output_size: Any, data_format: str = "NCDHW", name: str | None = None
    ) -> None:
        super().__init__(output_size, data_format, name)


class _AdaptiveMax(_Adaptive):
    def __init__(
        self, output_size: Any, return_mask: bool = False, name: str | None = None
    ) -> None:
        super().__init__(output_size, name)
        self.return_mask = return_mask

    @property
    def _return_mask(self) -> bool:
        return self.return_mask

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, return_mask={self.return_mask}"


class AdaptiveMaxPool1D(_AdaptiveMax):
    """Take maxima of [N, C, L] down to ``output_size`` positions."""

    def forward(self, input: Any) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_mask)


class AdaptiveMaxPool2D(_AdaptiveMax):
    """Take maxima of images down to ``output_size``."""

    def forward(self, x: Any) -> Any:
        return F.adaptive_max_pool2d(x, self.output_size, self.return_mask)


class AdaptiveMaxPool3D(_AdaptiveMax):
    """Take maxima of volumes down to ``output_size``."""

    def forward(self, x: Any) -> Any:
        return F.adaptive_max_pool3d(x, self.output_size, self.return_mask)


class FractionalMaxPool2D(_Adaptive):
    """Take maxima of windows of unequal width, placed at random unless ``random_u`` is given."""

    _functional = staticmethod(F.fractional_max_pool2d)

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any = None,
        random_u: float | None = None,
        return_mask: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(output_size, name)
        self._kernel_size = kernel_size
        self._random_u = random_u
        self._return_mask = return_mask

    def forward(self, x: Any) -> Any:
        return self._functional(
            x, self.output_size, self._kernel_size, self._random_u, self._return_mask
        )

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, return_mask={self._return_mask}"


class FractionalMaxPool3D(FractionalMaxPool2D):
    """Take maxima of windows of unequal width in volumes."""

    _functional = staticmethod(F.fractional_max_pool3d)
