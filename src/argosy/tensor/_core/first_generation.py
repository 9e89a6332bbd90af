"""What tensors of Paddle 1.x do otherwise: inside of a guard of ``fluid.dygraph``.

There is no tensor without axes, so a single element of one has shape [1]. Names that are made up
begin otherwise. And backward leaves a gradient with every result on its way, not only with leaves;
that is done at backward, which hangs it on the nodes of the graph: until then results cost nothing
more.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.process_state import register
from argosy.tensor._core.indexing import get_item
from argosy.tensor._core.tensor import GRADIENTS, Retained, Tensor

_Node = Any  # a node of torch's graph


class FirstGeneration:
    """Whether these rules hold. One per process."""

    def __init__(self) -> None:
        self.is_on = False

    def switch(self, is_on: bool) -> None:
        """Let them hold from now on, or no longer."""
        if is_on != self.is_on:
            self.is_on = is_on
            # the methods themselves, so that neither costs the other anything
            Tensor.__getitem__ = _get_item if is_on else get_item  # type: ignore[method-assign]
            Tensor.stem = "generated_var" if is_on else "generated_tensor"
            Tensor.before_backward = staticmethod(_keep_gradients) if is_on else None


def _get_item(x: Tensor, index: Any) -> Any:
    out = get_item(x, index)
    return out if out.raw.ndim else out.reshape([1])


def _keep_gradients(root: torch.Tensor) -> None:
    """Let every node below ``root`` keep the gradients that it gets."""
    seen: set[_Node] = set()
    waiting: list[_Node] = [root.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen or hasattr(node, "variable"):  # that of a leaf
            continue
        seen.add(node)
        if GRADIENTS not in node.metadata:
            kept: dict[int, Retained] = {}
            node.metadata[GRADIENTS] = kept
            node.register_prehook(_keeper(kept))
        waiting.extend(following for following, _ in node.next_functions)


def _keeper(kept: dict[int, Retained]) -> Any:
    def keep(grads: tuple[torch.Tensor | None, ...]) -> None:
        for number, grad in enumerate(grads):
            if grad is not None:
                kept.setdefault(number, Retained()).keep(grad)

    return keep


first_generation = FirstGeneration()
register(
    "rules of 1.x for tensors",
    first_generation,
    reset=lambda: first_generation.switch(False),
)
