"""In-place variants: ``x.f_(...)`` from ``f``, on Paddle's rules."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

from argosy.foundation import torch_private as private
from argosy.foundation.errors import DtypeError, UsageError
from argosy.tensor._core.tensor import Tensor, asks_for_gradient


def check_writable(x: Tensor, call: str) -> None:
    """Refuse to overwrite a leaf that backward needs."""
    t = x.raw
    if asks_for_gradient(x) and t.is_leaf and torch.is_grad_enabled():
        raise UsageError(
            f"{call}: Leaf Tensor ({x.name}) that doesn't stop gradient can't use inplace "
            "strategy. "
            "Work inside paddle.no_grad(), or on x.clone()."
        )


def _not_a_tensor(x: Any, call: str) -> DtypeError:
    return DtypeError(
        f"{call}: x must be tensor type, but got {type(x)}, which cannot be changed in place"
    )


def replace(x: Tensor, out: Tensor, call: str) -> Tensor:
    """Make ``x`` hold the value of ``out``.

    Outside the graph the memory of ``x`` is overwritten, so views of it see the change. Inside,
    ``x`` takes over the tensor ``out``. A view of a tensor in the graph is overwritten, so that the
    change reaches the tensor. Either way autograd refuses later if it needed the old value; a
    function that computes ``out`` from ``x`` is called by ``change``.
    """
    if not isinstance(x, Tensor):
        raise _not_a_tensor(x, call)
    if x.rebind is not None or out.rebind is not None:
        return _rebound(x, out)
    check_writable(x, call)
    old, new = x.raw, out.raw
    in_graph = torch.is_grad_enabled() and (new.requires_grad or old.requires_grad)
    if in_graph and not (old._is_view() and new.shape == old.shape):
        x.supersede(new)
    elif new.shape != old.shape or new.dtype is not old.dtype:
        _take_over(x, new)
    elif new is not old:
        try:
            old.copy_(new)
        except RuntimeError:
            if not is_view_in_graph(x):
                raise
            overwrite_view(x, new)
    return x


def change(x: Tensor, call: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Tensor:
    """Make ``x`` hold what ``fn`` returns, which may save ``x`` as it is now for backward.

    In the graph the change is therefore counted before ``fn`` runs: what it saves is of the new
    count, while the memory stays as it is.
    """
    raw = x.raw
    if not _is_in_graph((*args, *kwargs.values())) or raw._is_view() or x.rebind is not None:
        return replace(x, fn(*args, **kwargs), call)
    check_writable(x, call)
    count = raw._version
    torch.autograd.graph.increment_version(raw)
    try:
        out = fn(*args, **kwargs)
    except BaseException:
        _set_version((raw,), (count,))
        raise
    if out.rebind is None and (raw.requires_grad or out.raw.requires_grad):
        x.take_over(out.raw, changes=0)
        return x
    _set_version((raw,), (count,))
    return replace(x, out, call)


_set_version = private.set_version_counter


def _is_in_graph(values: Iterable[Any]) -> bool:
    return torch.is_grad_enabled() and any(
        isinstance(v, Tensor) and v.raw.requires_grad for v in values
    )


def _rebound(x: Tensor, out: Tensor) -> Tensor:
    """Record that ``x`` holds ``out``, a variable of a program; ``x`` may have values."""
    if x.rebind is None:
        out.keep_in(x)
    else:
        x.rebind(out)
    return x


def redraw(x: Tensor, out: Tensor, call: str) -> Tensor:
    """Make ``x`` hold the draws ``out``. In the graph its gradient, and that of what it was before,
    is then zero, as in Paddle.
    """
    old = x.raw
    is_in_graph = torch.is_grad_enabled() and old.requires_grad and not old._is_view()
    if x.rebind is not None or out.rebind is not None or not is_in_graph:
        return replace(x, out, call)
    check_writable(x, call)
    x.supersede(_Redrawn.apply(old, [out.raw]))  # type: ignore[no-untyped-call]
    # what is retained is zero too
    x.raw.register_hook(torch.zeros_like)  # type: ignore[no-untyped-call]
    if old.retains_grad:
        x.raw.retain_grad()
    return x


class _Redrawn(torch.autograd.Function):
    """New values in the place that ``old`` has in the graph."""

    @staticmethod
    def forward(ctx: Any, old: torch.Tensor, new: list[torch.Tensor]) -> torch.Tensor:
        return new[0]

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad, None


def is_view_in_graph(x: Tensor) -> bool:
    """Whether ``x`` shares the memory of another tensor and backward goes through it."""
    return torch.is_grad_enabled() and x.raw.requires_grad and x.raw._is_view()


def overwrite_view(x: Tensor, new: torch.Tensor) -> None:
    """Write ``new`` to the memory of ``x``, a view in the graph that torch refuses to change, and
    go on from ``new`` in the graph.

    torch refuses views of leaves, and the views that one op returned together. What they are views
    of sees the new values; its gradient is that of the old ones, as in Paddle.
    """
    x.raw = _Overwritten.apply(x.raw, new)  # type: ignore[no-untyped-call]


class _Overwritten(torch.autograd.Function):
    """The memory of ``old``, overwritten with the values of ``new`` and with its place in the
    graph.
    """

    @staticmethod
    def forward(ctx: Any, old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        return old.detach().copy_(new)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[None, torch.Tensor]:
        return None, grad


def relayout(x: Tensor, out: Tensor, call: str) -> Tensor:
    """Make ``x`` see its own memory as ``out`` does, which is a view of it."""
    if x.rebind is not None or out.rebind is not None:
        return _rebound(x, out)
    check_writable(x, call)
    if torch.is_grad_enabled():
        x.supersede(out.raw)
    else:
        _take_over(x, out.raw)
    return x


def _take_over(x: Tensor, new: torch.Tensor) -> None:
    """Let ``x`` hold ``new``, which was made without a graph; a parameter stays one that is
    trained.
    """
    is_trained = x.raw.requires_grad and (new.is_floating_point() or new.is_complex())
    x.take_over(new.detach().requires_grad_() if is_trained else new)


def make_inplace(
    fn: Callable[..., Any], name: str | None = None, is_view: bool = False
) -> Callable[..., Any]:
    """Build ``fn_`` from ``fn``: computes, then makes its first argument hold the result, and
    returns that argument. In a program it is ``fn`` with a warning, as in Paddle.

    ``is_view`` says that ``fn`` returns a view of its argument, which is then not copied onto
    itself.
    """
    call = name or f"{fn.__name__}_"

    # by whatever name: `x` may be the second argument of a function
    first = inspect.unwrap(fn).__code__.co_varnames[0]

    @functools.wraps(fn)
    def inplace(*args: Any, **kwargs: Any) -> Any:
        changed = args[0] if args else kwargs[first]
        if not isinstance(changed, Tensor):
            raise _not_a_tensor(changed, call)
        if changed.rebind is not None:
            warnings.warn(
                f"In static graph mode, {call}() is the same as {fn.__name__}() and does not "
                "perform inplace operation.",
                stacklevel=2,
            )
            return fn(*args, **kwargs)
        if is_view:
            return relayout(changed, fn(*args, **kwargs), call)
        return change(changed, call, fn, *args, **kwargs)

    inplace.__name__ = inplace.__qualname__ = call
    inplace.__doc__ = (
        f"In-place form of ``{fn.__name__}``: overwrites its first argument and returns it."
    )
    return inplace
