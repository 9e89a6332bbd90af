"""A step length along a direction that satisfies the strong Wolfe conditions.

Nocedal and Wright, Numerical Optimization, 2nd edition: algorithms 3.5 (find an interval that holds
such a length) and 3.6 (narrow it). States of the loops are values, not assigned to, so that the
same text runs at once and as a program.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from argosy.incubate.optimizer.functional._objective import Objective, value_and_gradient
from argosy.static.nn.control_flow import while_loop
from argosy.tensor import abs as magnitude
from argosy.tensor import clip, dot, full, isinf, maximum, minimum, reshape, sqrt, where
from argosy.tensor.engine import Tensor


class _Trial(NamedTuple):
    """The objective at one step length: all but the gradient have shape [1]."""

    length: Tensor
    value: Tensor
    slope: Tensor
    gradient: Tensor


def strong_wolfe(
    f: Objective,
    xk: Tensor,
    pk: Tensor,
    max_iters: int = 20,
    tolerance_change: float = 1e-8,
    initial_step_length: float = 1.0,
    c1: float = 1e-4,
    c2: float = 0.9,
    alpha_max: float = 10,
    dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The step length (0 if none was found), value and gradient there, and how often ``f`` was
    called.
    """
    shape: list[int] = []

    def at(length: Tensor) -> _Trial:
        value, gradient = value_and_gradient(f, xk + length * pk)
        shape[:] = value.shape
        slope = reshape(dot(gradient, pk), [1])
        return _Trial(length, reshape(value, [1]), slope, gradient)

    def too_high(trial: _Trial) -> Any:
        return trial.value > start.value + c1 * trial.length * start.slope

    def flat(trial: _Trial) -> Any:
        return magnitude(trial.slope) <= -c2 * start.slope

    start = at(full([1], 0.0, dtype))
    no, zero = full([1], False, "bool"), full([1], 0, "int64")

    def widen(turn, _ended, _found, _bracketed, length, *trials):  # type: ignore[no-untyped-def]
        last = _Trial(*trials[4:])
        trial = at(length)
        lost = isinf(trial.value)
        above = too_high(trial).logical_or((trial.value >= last.value).logical_and(turn > 0))
        above = above.logical_and(lost.logical_not())
        found = flat(trial).logical_and(above.logical_not()).logical_and(lost.logical_not())
        upwards = (
            (trial.slope >= 0.0).logical_and(found.logical_not()).logical_and(lost.logical_not())
        )
        bracketed = above.logical_or(upwards)
        # the best of both ends of the interval comes first
        low = _choose(above, last, trial)
        high = _choose(above, trial, last)
        ended = lost.logical_or(found).logical_or(bracketed)
        return (turn + 1, ended, found, bracketed, clip(2.0 * length, max=float(alpha_max)),
            *low, *_choose(bracketed, high, trial))  # fmt: skip

    turns, _, found, bracketed, _, *ends = while_loop(
        lambda turn, ended, *_: (turn < max_iters).logical_and(ended.logical_not()),
        widen,
        [zero, no, no, no, full([1], initial_step_length, dtype), *start, *start],
    )

    def narrow(turn, _found, *trials):  # type: ignore[no-untyped-def]
        low, high = _Trial(*trials[:4]), _Trial(*trials[4:])
        width = magnitude(high.length - low.length)
        length = _lowest_of_cubic(low, high)
        to_ends = minimum(magnitude(length - low.length), magnitude(length - high.length))
        trial = at(where(to_ends < 0.1 * width, 0.5 * (low.length + high.length), length))
        above = too_high(trial).logical_or(trial.value >= low.value)
        found = flat(trial).logical_and(above.logical_not())
        past = trial.slope * (high.length - low.length) >= 0.0
        below = _choose(past.logical_and(found.logical_not()), low, high)
        return (turn + 1, found, *_choose(above, low, trial), *_choose(above, trial, below))

    def wide(turn, found, *trials):  # type: ignore[no-untyped-def]
        width = magnitude(trials[4] - trials[0])
        return (
            bracketed.logical_and(turn < max_iters)
            .logical_and(found.logical_not())
            .logical_and(width >= tolerance_change)
        )

    narrowed, _, *ends = while_loop(wide, narrow, [zero, no, *ends])
    chosen = _choose(found.logical_or(bracketed), _Trial(*ends[:4]), start)
    return chosen.length, reshape(chosen.value, shape), chosen.gradient, turns + narrowed + 1


def _choose(condition: Tensor, first: _Trial, second: _Trial) -> _Trial:
    return _Trial(*(where(condition, a, b) for a, b in zip(first, second, strict=True)))


def _lowest_of_cubic(one: _Trial, other: _Trial) -> Tensor:
    """Where the cubic through both values and slopes is lowest between them; the middle if it has
    no minimum.
    """
    down = one.length <= other.length
    left, right = _choose(down, one, other), _choose(down, other, one)
    width = right.length - left.length
    mean = left.slope + right.slope - 3.0 * (right.value - left.value) / width
    square = mean * mean - left.slope * right.slope
    root = sqrt(clip(square, min=0.0))
    share = (right.slope + root - mean) / (right.slope - left.slope + 2.0 * root)
    inside = minimum(maximum(right.length - width * share, left.length), right.length)
    lowest: Tensor = where(square >= 0.0, inside, 0.5 * (left.length + right.length))
    return lowest
