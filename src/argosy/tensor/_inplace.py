"""In-place variants: ``x.f_(...)`` from ``f``, on Paddle's rules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.tensor._tensor import Tensor


def check_writable(x: Tensor, call: str) -> None:
    """Refuse to overwrite a leaf that backward needs."""
    t = x._t
    if t.requires_grad and t.is_leaf and torch.is_grad_enabled():
        raise UsageError(
            f"{call}: Leaf Tensor ({x.name}) that doesn't stop gradient can't use inplace strategy. "
            "Work inside paddle.no_grad(), or on x.clone()."
        )


def replace(x: Tensor, out: Tensor, call: str) -> Tensor:
    """Make ``x`` hold the value of ``out``.

    Outside the graph the memory of ``x`` is overwritten, so views of it see the change. Inside, ``x`` takes over the tensor
    ``out``: what backward saved of the old value stays intact.
    """
    check_writable(x, call)
    old, new = x._t, out._t
    in_graph = torch.is_grad_enabled() and (new.requires_grad or old.requires_grad)
    if in_graph or new.shape != old.shape or new.dtype is not old.dtype:
        x._t = new
    elif new is not old:
        old.copy_(new)
    return x


def make_inplace(fn: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """Build ``fn_`` from ``fn``: computes, then makes its first argument hold the result, and returns that argument."""
    call = name or f"{fn.__name__}_"

    @functools.wraps(fn)
    def inplace(x: Any, *args: Any, **kwargs: Any) -> Any:
        return replace(x, fn(x, *args, **kwargs), call)

    inplace.__name__ = inplace.__qualname__ = call
    inplace.__doc__ = f"In-place form of ``{fn.__name__}``: overwrites its first argument and returns it."
    return inplace
