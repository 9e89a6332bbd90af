"""Gradient merge: one update for the gradients of ``k_steps`` backwards.

::

    merge = GradientMerge(params, k_steps=4, avg=True, synchronised=model)
    ...
    loss.backward()
    if merge.advance():         # in place of every optimizer.step()
        optimizer.step()
        clear the gradients     # only here: between updates they add up

``synchronised`` is a data-parallel wrapper (anything with ``grad_need_sync``): its gradients stay
on the rank until the last of the ``k_steps`` backwards, which averages their total. Raw torch
tensors, so it serves any optimizer; ``param.grad`` must be where gradients add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation import torch_private as private
from argosy.foundation.errors import UsageError


class GradientMerge:
    """Counts backwards; ``avg`` divides the total by ``k_steps`` before the update."""

    def __init__(
        self,
        params: Sequence[torch.Tensor],
        k_steps: int = 1,
        avg: bool = True,
        synchronised: Any = None,
    ) -> None:
        if k_steps < 1:
            raise UsageError(f"GradientMerge: k_steps must be at least 1, but is {k_steps}")
        self._params = list(params)
        self._synchronised = synchronised
        self.k_steps = k_steps
        self.avg = avg
        self.num_merged = 0  # backwards since the last update
        self._tell_wrapper()

    @property
    def is_last(self) -> bool:
        """Whether the backward to come is the one before the update."""
        return self.num_merged == self.k_steps - 1

    def advance(self) -> bool:
        """Count a backward; True when the gradients are complete and the optimizer is to step."""
        is_complete = self.is_last
        self.num_merged = 0 if is_complete else self.num_merged + 1
        if is_complete and self.avg and self.k_steps > 1:
            self._divide()
        self._tell_wrapper()
        return is_complete

    @torch.no_grad()
    def _divide(self) -> None:
        dense = []
        for param in self._params:
            grad = param.grad
            if grad is None:
                continue
            if grad.layout is torch.strided:
                dense.append(grad)
            else:
                param.grad = grad / self.k_steps
        if dense:
            private.foreach_div_(dense, float(self.k_steps))

    def _tell_wrapper(self) -> None:
        if self._synchronised is not None:
            self._synchronised.grad_need_sync = self.is_last

    def state_dict(self) -> dict[str, int]:
        """Where in a cycle it is; gradients that wait are not part of it, so save after an
        update.
        """
        return {"num_merged": self.num_merged}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.num_merged = state["num_merged"]
        self._tell_wrapper()
