"""Dropout layers: they act in training only."""

from __future__ import annotations

from typing import Any

from argosy.nn import functional as F
from argosy.nn.layer.layers import Layer


class Dropout(Layer):
    """Zero elements with probability ``p`` in training.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Dropout(0.3)
        >>> layer.training = False
        >>> layer(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """

    def __init__(
        self,
        p: float = 0.5,
        inplace: bool = False,
        axis: Any = None,
        mode: str = "upscale_in_train",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.p = p
        self.inplace = inplace
        self.axis = axis
        self.mode = mode
        self.name = name

    def forward(self, input: Any) -> Any:
        return F.dropout(input, self.p, self.axis, self.training, self.inplace, self.mode)

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return f"p={self.p}, axis={self.axis}, mode={self.mode}{name}, inplace={self.inplace}"


class Dropout2D(Layer):
    """Zero whole channels of images with probability ``p`` in training."""

    _functional = staticmethod(F.dropout2d)

    def __init__(self, p: float = 0.5, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.data_format = data_format
        self.name = name

    def forward(self, input: Any) -> Any:
        return self._functional(input, self.p, self.training, self.data_format)

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return f"p={self.p}, data_format={self.data_format}{name}"


class Dropout3D(Dropout2D):
    """Zero whole channels of volumes with probability ``p`` in training."""

    _functional = staticmethod(F.dropout3d)

    def __init__(self, p: float = 0.5, data_format: str = "NCDHW", name: str | None = None) -> None:
        super().__init__(p, data_format, name)


class AlphaDropout(Layer):
    """Dropout that keeps the mean and variance of SELU's output."""

    _functional = staticmethod(F.alpha_dropout)

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.name = name

    def forward(self, input: Any) -> Any:
        return self._functional(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, name={self.name}" if self.name else f"p={self.p}"


class FeatureAlphaDropout(AlphaDropout):
    """As ``AlphaDropout``, for whole channels."""

    _functional = staticmethod(F.feature_alpha_dropout)
