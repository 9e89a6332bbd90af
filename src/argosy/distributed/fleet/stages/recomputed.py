"""``recompute``: the sublayers that ``recompute_configs["checkpoints"]`` names keep no
activations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.utils.checkpoint

from argosy.distributed.fleet.recompute import recompute
from argosy.foundation.errors import UsageError, nearest
from argosy.nn import Layer

__all__ = ["recompute_parts"]


class _Recomputed:
    """Stands in for the forward of one layer. An object rather than a closure, so that a deep copy
    of the model has its own.
    """

    def __init__(self, part: Any, run: Callable[..., Any]) -> None:
        self._part = part
        self._run = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward = type(self._part).forward.__get__(self._part)
        if not (self._part.training and torch.is_grad_enabled()):
            return forward(*args, **kwargs)
        return self._run(forward, *args, **kwargs)


def recompute_parts(model: Any, names: Sequence[str]) -> None:
    """Make the named sublayers of a Layer, or submodules of a torch module, compute their forward
    again in backward.
    """
    is_layer = isinstance(model, Layer)
    parts = dict(model.named_sublayers() if is_layer else model.named_modules())
    for name in names:
        if name not in parts:
            kind = "sublayer" if is_layer else "submodule"
            raise UsageError(
                f"recompute_configs: checkpoints: the model has no {kind} "
                f"{name!r}.{nearest(name, parts)}"
            )
        part = parts[name]
        if not isinstance(part.__dict__.get("forward"), _Recomputed):
            part.forward = _Recomputed(part, recompute if is_layer else _run_torch)


def _run_torch(forward: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return torch.utils.checkpoint.checkpoint(forward, *args, use_reentrant=False, **kwargs)
