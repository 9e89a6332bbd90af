"""Layers that resample to another spatial size."""

from __future__ import annotations

from typing import Any

from argosy.nn import functional as F
from argosy.nn.layer.layers import Layer


class Upsample(Layer):
    """Resample to ``size``, or to the size times ``scale_factor``, as
    ``paddle.nn.functional.interpolate`` does.
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool = False,
        align_mode: int = 0,
        data_format: str | None = None,
        recompute_scale_factor: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode.lower()
        self.align_corners = align_corners
        self.align_mode = align_mode
        self.data_format = data_format
        self.recompute_scale_factor = recompute_scale_factor
        self.name = name

    def forward(self, x: Any) -> Any:
        return F.interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.align_mode,
            self.data_format,
            self.recompute_scale_factor,
        )

    def _target(self) -> str:
        return (
            f"size={self.size}"
            if self.scale_factor is None
            else f"scale_factor={self.scale_factor}"
        )

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return (
            f"{self._target()}, mode={self.mode}, align_corners={self.align_corners}, "
            f"align_mode={self.align_mode}, data_format={self.data_format}{name}"
        )


class _Upsampling2D(Upsample):
    _kind: str
    _aligns: bool

    def __init__(self, size: Any, scale_factor: Any, data_format: str, name: str | None) -> None:
        size = [size, size] if isinstance(size, int) else size
        super().__init__(size, scale_factor, self._kind, self._aligns, 0, data_format, None, name)

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return f"{self._target()}, data_format={self.data_format}{name}"


class UpsamplingNearest2D(_Upsampling2D):
    """Resample images to the nearest pixel."""

    _kind, _aligns = "nearest", False

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(size, scale_factor, data_format, name)


class UpsamplingBilinear2D(_Upsampling2D):
    """Resample images bilinearly, corners on corners."""

    _kind, _aligns = "bilinear", True

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(size, scale_factor, data_format, name)
