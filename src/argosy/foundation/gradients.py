"""Where the gradient of a tensor should be written, and whether the backward that is running will
write it.

A reducer keeps gradients in buckets that other processes can read. An op that produces the whole
gradient of a leaf in one go (the weight of a linear layer) can write it there at once instead of
into fresh memory that is then copied: that saves a pass over memory and the page faults of the
allocation. The reducer attaches a ``GradHome`` to the leaf; the op asks for it with ``home_of``.

Where the gradient is a product of two matrices, as that of the weight of a linear layer is, a
reducer may want the two instead: they may be much smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation import torch_private as private

_ATTRIBUTE = "_argosy_grad_home"


def sink_of(leaf: torch.Tensor) -> Any:
    """The node of the graph that accumulates the gradient of ``leaf``; it stays the same while it
    is held.
    """
    return torch.autograd.graph.get_gradient_edge(leaf).node


def will_accumulate(sink: Any) -> bool:
    """Whether the backward that is running will add to ``grad`` through ``sink``. False in
    ``autograd.grad``, which hands gradients out.
    """
    try:
        return private.will_execute_node(sink)
    except RuntimeError:  # it is one of the inputs of autograd.grad
        return False


def is_in_backward() -> bool:
    """Whether this thread is inside a backward."""
    return private.current_graph_task() != -1


class GradHome:
    """A place for the gradient that ``sink`` accumulates, to be filled at most once per
    backward. ``is_urgent`` asks ops to compute it before their other gradients: it has a long way
    to go.

    ``take``, if there is one, is asked first whether it wants the two matrices whose product the
    gradient is. Then no gradient reaches ``sink``; who took them makes the product.
    """

    __slots__ = ("_sink", "is_open", "is_urgent", "take", "view")

    def __init__(self, view: torch.Tensor, sink: Any, is_urgent: bool = False) -> None:
        self.view = view
        self.is_open = False
        self.is_urgent = is_urgent
        self.take: Callable[[torch.Tensor, torch.Tensor], bool] | None = None
        self._sink = sink

    def __reduce__(self) -> Any:
        return type(None), ()  # a copy of the leaf, in this process or another, is at home nowhere

    def claim(self) -> bool:
        """Whether the place is the caller's to fill: not where it is taken, or the gradient will
        not become that of the leaf.
        """
        if not self.is_open or not will_accumulate(self._sink):
            return False
        self.is_open = False
        return True


def attach(leaf: torch.Tensor, home: GradHome | None) -> None:
    """Tell ops where the gradient of ``leaf`` belongs; None takes it back."""
    if home is not None:
        setattr(leaf, _ATTRIBUTE, home)
    elif hasattr(leaf, _ATTRIBUTE):
        delattr(leaf, _ATTRIBUTE)


def home_of(leaf: torch.Tensor) -> GradHome | None:
    return getattr(leaf, _ATTRIBUTE, None)


def product(leaf: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor | None:
    """``left @ right``, the gradient of ``leaf`` in a backward, written to its home if that is
    free; None if the home has taken the two matrices.
    """
    # With create_graph the product must be differentiable; with a gradient from before it must be
    # added to.
    is_fresh = leaf.grad is None and not torch.is_grad_enabled()
    home = home_of(leaf) if is_fresh else None
    if home is None or not home.claim():
        return left @ right
    is_seen = private.num_gradient_hooks(leaf) != (0, 0)
    if home.take is not None and not is_seen and home.take(left, right):
        return None
    return torch.mm(left, right, out=home.view.detach())
