"""``fp16_allreduce`` in programs: gradients take the values that float16 has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.ops.array import manipulation
from argosy.static.ir.operator import OPTIMIZE
from argosy.static.ir.rows import row_names
from argosy.static.ir.variable import Variable, samples
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import unique_name

__all__ = ["rounded_gradients"]


def rounded_gradients(pairs: Sequence[tuple[Any, Variable]]) -> list[tuple[Any, Variable]]:
    """Record casts of float32 gradients to float16 and back, between what workers exchange and the
    update. Gradients by rows stay as they are.
    """
    rows = row_names(pairs[0][0].block.ops)
    with recorder.in_role(OPTIMIZE), torch.no_grad():
        halves = [
            (p, g if g.raw.dtype is not torch.float32 or g.name in rows else _cast(g, "fp16"))
            for p, g in pairs
        ]
        return [
            (p, half if half is g else _cast(half, "fp32"))
            for (p, half), (_, g) in zip(halves, pairs, strict=True)
        ]


def _cast(value: Variable, label: str) -> Variable:
    dtype = torch.float16 if label == "fp16" else torch.float32
    block = value.block
    name = unique_name.generate(f"{value.name}.cast_{label}")
    out: Variable = block.add_variable(Variable(block, name, samples(value.shape, dtype)[0]))
    recorder.append(block, "cast", manipulation.cast, (value, dtype), {}, out)
    return out
