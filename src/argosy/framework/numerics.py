"""FLAGS_check_nan_inf: look at all that is computed, forward and backward, eagerly and in programs,
and stop where the first NaN or infinity appears.

The check stands below the op table, at torch's operators, so that nothing passes it by; it sees the
thread that set the flag.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation import torch_private
from argosy.foundation.errors import ArgosyError
from argosy.foundation.process_state import register

__all__ = ["NotFinite", "watch"]

# what makes memory without values, or moves values that are there already
_NOT_COMPUTED = (
    *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_"),
    *("_to_copy", "alias", "clone", "copy_", "detach", "lift_fresh", "set_"),
)


class NotFinite(ArgosyError, RuntimeError):
    """Something was computed that is not a finite number."""


class _Watch(torch_private.DispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.__name__.partition(".")[0]
        if name not in _NOT_COMPUTED and not func.is_view:
            for tensor in out if isinstance(out, (tuple, list)) else (out,):
                if isinstance(tensor, torch.Tensor) and not tensor.is_meta:
                    _check(name, tensor)
        return out


def _check(name: str, tensor: torch.Tensor) -> None:
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.layout != torch.strided:
        return
    if bool(torch.isfinite(tensor).all()):
        return
    num_nan, num_inf = int(torch.isnan(tensor).sum()), int(torch.isinf(tensor).sum())
    raise NotFinite(
        f"There are NAN or INF (num_nan={num_nan}, num_inf={num_inf}) in what torch's operator "
        f"{name!r} has computed, {tensor.dtype}{list(tensor.shape)} on {tensor.device} "
        "(FLAGS_check_nan_inf)"
    )


class _State:
    """The watch that is on, one for the process."""

    def __init__(self) -> None:
        self.active: Any = None


_state = register("check of finite numbers", _State(), reset=lambda: watch(False))


def watch(is_on: bool) -> None:
    """Begin to check what this thread computes, or end it."""
    if is_on and _state.active is None:
        _state.active = _Watch()  # type: ignore[no-untyped-call]
        _state.active.__enter__()
    elif not is_on and _state.active is not None:
        active, _state.active = _state.active, None
        active.__exit__(None, None, None)
