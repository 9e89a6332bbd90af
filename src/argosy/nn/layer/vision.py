"""Layers that move values between channels and space."""

from __future__ import annotations

from typing import Any

from argosy.nn import functional as F
from argosy.nn.functional.vision import _check_factor
from argosy.nn.functional.window import is_channel_last
from argosy.nn.layer.layers import Layer

__all__ = ["PixelShuffle", "PixelUnshuffle", "ChannelShuffle"]


class _Rearrange(Layer):
    """Keeps one factor, under the name Paddle gives it, and the layout."""

    _argument: str

    def __init__(self, factor: int, data_format: str, name: str | None) -> None:
        super().__init__()
        _check_factor(type(self).__name__, self._argument, factor)
        is_channel_last(data_format, 2, type(self).__name__)
        setattr(self, f"_{self._argument}", factor)
        self._data_format = data_format
        self._name = name

    def extra_repr(self) -> str:
        text = f"{self._argument}={getattr(self, f'_{self._argument}')}"
        if self._data_format != "NCHW":
            text += f", data_format={self._data_format}"
        return text if self._name is None else f"{text}, name={self._name}"


class PixelShuffle(_Rearrange):
    """Spread groups of ``upscale_factor ** 2`` channels over space."""

    _argument = "upscale_factor"

    def __init__(
        self, upscale_factor: int, data_format: str = "NCHW", name: str | None = None
    ) -> None:
        super().__init__(upscale_factor, data_format, name)

    def forward(self, x: Any) -> Any:
        return F.pixel_shuffle(x, self._upscale_factor, self._data_format)


class PixelUnshuffle(_Rearrange):
    """Gather squares of ``downscale_factor`` pixels into channels."""

    _argument = "downscale_factor"

    def __init__(
        self, downscale_factor: int, data_format: str = "NCHW", name: str | None = None
    ) -> None:
        super().__init__(downscale_factor, data_format, name)

    def forward(self, x: Any) -> Any:
        return F.pixel_unshuffle(x, self._downscale_factor, self._data_format)


class ChannelShuffle(_Rearrange):
    """Deal the channels of ``groups`` groups out in turn."""

    _argument = "groups"

    def __init__(self, groups: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(groups, data_format, name)

    def forward(self, x: Any) -> Any:
        return F.channel_shuffle(x, self._groups, self._data_format)
