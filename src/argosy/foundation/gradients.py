"""Where the gradient of a tensor should be written.

A reducer keeps gradients in buckets that other processes can read. An op that produces the whole gradient of a leaf in one go (the weight of a
linear layer) can write it there at once instead of into fresh memory that is then copied: that saves a pass over memory and the page faults of
the allocation. The reducer attaches a ``GradHome`` to the leaf; the op asks for it with ``home_of`` and claims it.
"""

from __future__ import annotations

import torch

_ATTRIBUTE = "_argosy_grad_home"


class GradHome:
    """A place for one gradient, to be filled at most once per backward."""

    __slots__ = ("is_open", "view")

    def __init__(self, view: torch.Tensor) -> None:
        self.view = view
        self.is_open = False

    def claim(self) -> torch.Tensor | None:
        """A fresh alias of the place, or None when it is taken or not to be used now."""
        if not self.is_open:
            return None
        self.is_open = False
        return self.view.detach()


def attach(leaf: torch.Tensor, home: GradHome | None) -> None:
    """Tell ops where the gradient of ``leaf`` belongs; None takes it back."""
    if home is not None:
        setattr(leaf, _ATTRIBUTE, home)
    elif hasattr(leaf, _ATTRIBUTE):
        delattr(leaf, _ATTRIBUTE)


def home_of(leaf: torch.Tensor) -> GradHome | None:
    return getattr(leaf, _ATTRIBUTE, None)
