"""Which leaves the backward of some outputs will reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def parameters_in_graph(outputs: Sequence[torch.Tensor]) -> set[int]:
    """The ids of the leaves below ``outputs``, by walking the graph once."""
    found: set[int] = set()
    seen: set[Any] = set()
    stack: list[Any] = []
    for output in outputs:
        if output.grad_fn is not None:
            stack.append(output.grad_fn)
        elif output.requires_grad:
            found.add(id(output))
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.add(id(leaf))
        stack.extend(parent for parent, _ in node.next_functions if parent is not None)
    return found
