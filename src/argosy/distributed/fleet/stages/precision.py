"""``amp`` inside a model: forward in low precision, outputs in float32, gradients scaled if float16
needs it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from argosy.amp import auto_cast, decorate
from argosy.distributed.fleet.planning.settings import Amp
from argosy.foundation import dtypes
from argosy.foundation.errors import NotSupported
from argosy.nn import Layer
from argosy.runtime.parallel.anchor import map_tensors
from argosy.runtime.parallel.loss_scaling import LossScale, grown
from argosy.tensor.engine import Tensor, wrap

__all__ = ["MixedPrecision", "TorchPrecision", "cast_layer"]


class MixedPrecision:
    """Runs the forward of a Layer as the plan's ``amp`` settings say. ``scale``, if set, is that of
    the distributed optimizer.
    """

    def __init__(self, settings: Amp) -> None:
        if settings.custom_black_varnames:
            raise NotSupported(
                "amp_configs: custom_black_varnames names variables of a program; use "
                "custom_black_list"
            )
        self._settings = settings
        self.scale: LossScale | None = None

    def run(self, forward: Callable[..., Any], inputs: Any, kwargs: Any) -> Any:
        with self._cast():
            outputs = forward(*inputs, **kwargs)
        return self._leave(outputs)

    def _cast(self) -> contextlib.AbstractContextManager[Any]:
        settings = self._settings
        return auto_cast(
            True,
            settings.custom_white_list or None,
            settings.custom_black_list or None,
            settings.level,
            settings.dtype,
        )

    def _leave(self, outputs: Any) -> Any:
        def changed(value: Tensor) -> Tensor:
            raw = self._left(value.raw)
            return value if raw is value.raw else wrap(raw)

        return map_tensors(outputs, Tensor, changed)

    def _left(self, value: torch.Tensor) -> torch.Tensor:
        value = value.float() if value.dtype in (torch.float16, torch.bfloat16) else value
        return value if self.scale is None else grown(value, self.scale)


class TorchPrecision(MixedPrecision):
    """The same for a torch module, by ``torch.autocast``."""

    def __init__(self, settings: Amp, device_type: str) -> None:
        super().__init__(settings)
        for key in ("custom_white_list", "custom_black_list"):
            if getattr(settings, key):
                raise NotSupported(
                    f"amp_configs: {key} has Paddle's op types, which torch.autocast does not know"
                )
        self._device_type = device_type

    def _cast(self) -> contextlib.AbstractContextManager[Any]:
        return torch.autocast(self._device_type, dtypes.to_torch(self._settings.dtype))

    def _leave(self, outputs: Any) -> Any:
        return map_tensors(outputs, torch.Tensor, self._left)


def cast_layer(layer: Layer, dtype: str) -> None:
    """Level O2: give the parameters another dtype. Engine tensors stay the same objects: an
    optimizer that was made before may hold them.
    """
    before = [(param, param.raw) for param in layer.parameters()]
    decorate(layer, level="O2", dtype=dtype)
    for param, raw in before:
        if param.raw is not raw:
            raw.data = param.raw.detach()
            param.raw = raw
