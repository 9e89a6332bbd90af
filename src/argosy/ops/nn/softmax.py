"""Softmax and its logarithm as Paddle's CPU kernels compute them: along the axis nothing lies more
than 64 below the largest logit.

So no probability is 0, no logarithm of one infinite, and a loss at most 64 more than that of the
likeliest class. Backward is that of softmax itself: a logit which was lifted still gets its
gradient. torch's kernels do the work; what they gave is lifted in place afterwards, in the rare
case that something lies so low. `.data` has a version of its own, so backward takes the lifted
values, as Paddle's does. Other devices do not clip, neither here nor in Paddle.

A function that asks for a number has the word ``item`` in it: programs that are compiled leave
such ops out.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from argosy.ops import sketch
from argosy.ops.table import op
from argosy.ops.traits import Precision

DEEPEST = 64.0
_SMALLEST = math.exp(-DEEPEST)

# Up to here torch's `min` costs less after a softmax than `amin` on two threads (bench_eager.py:
# 1.18 and 1.34 of torch at 128x1000), though alone it takes longer.
_FEW = 1_500_000


@op(
    "softmax",
    precision=Precision.BLACK,
    types=("softmax(X, axis, -)",),
    sketch=sketch.normalized,
)
def softmax(x: Tensor, axis: int = -1, dtype: torch.dtype | None = None) -> Tensor:
    """Probabilities along ``axis``, none below e^-64 times the largest on a CPU."""
    result = torch.softmax(x, axis, dtype=dtype)
    if result.is_cpu and not lowest(result).item() >= _SMALLEST:
        values = result.data
        torch.maximum(values, values.amax(axis, keepdim=True).mul_(_SMALLEST), out=values)
    return result


@op(
    "log_softmax",
    precision=Precision.BLACK,
    types=("log_softmax(X, axis, -)",),
    sketch=sketch.normalized,
)
def log_softmax(x: Tensor, axis: int = -1, dtype: torch.dtype | None = None) -> Tensor:
    """Logarithms of probabilities along ``axis``, none more than 64 below the largest on a CPU."""
    result = torch.log_softmax(x, axis, dtype=dtype)
    if result.is_cpu and not lowest(result).item() >= -DEEPEST:
        values = result.data
        torch.maximum(values, values.amax(axis, keepdim=True).sub_(DEEPEST), out=values)
    return result


def lowest(x: Tensor) -> Tensor:
    """The least number of a tensor, nan if there is one; infinity of an empty one."""
    size = x.numel()
    if size == 0:
        return x.new_full((), math.inf)
    return x.data.min() if size <= _FEW else x.data.amin()
