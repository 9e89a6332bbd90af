"""BFGS: a dense estimate of the inverse Hessian, improved by each step."""

from __future__ import annotations

from typing import Any

from argosy.incubate.optimizer.functional._objective import Objective, begin
from argosy.incubate.optimizer.functional.line_search import strong_wolfe
from argosy.static.nn.control_flow import while_loop
from argosy.tensor import abs as magnitude
from argosy.tensor import dot, eye, full, matmul, outer, where
from argosy.tensor import max as largest
from argosy.tensor.engine import Tensor


def minimize_bfgs(
    objective_func: Objective,
    initial_position: Tensor,
    max_iters: int = 50,
    tolerance_grad: float = 1e-7,
    tolerance_change: float = 1e-9,
    initial_inverse_hessian_estimate: Tensor | None = None,
    line_search_fn: str = "strong_wolfe",
    max_line_search_iters: int = 50,
    initial_step_length: float = 1.0,
    dtype: str = "float32",
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The minimum of ``objective_func``, a function of a vector, near ``initial_position``: whether
    it was found, how often the function was called, and position, value, gradient and estimate of
    the inverse Hessian at the end. Works eagerly and in programs.

    Differs from Paddle: the slope at an inner end of an interval is that end's own, so the number
    of calls may be another.

    Example:
        >>> import paddle
        >>> found, calls, at, *_ = paddle.incubate.optimizer.functional.minimize_bfgs(
        ...     lambda x: ((x - 2.0) ** 2).sum(), paddle.zeros([3]))
        >>> found.item(), at.tolist()
        (True, [2.0, 2.0, 2.0])
    """
    estimate, position, value, gradient = begin(
        "minimize_bfgs", objective_func, initial_position, initial_inverse_hessian_estimate,
        line_search_fn, dtype,
    )  # fmt: skip
    size = initial_position.shape[0]
    identity = eye(size, dtype=dtype)
    no = full([1], False, "bool")

    def step(turn, _done, _found, calls, at, _value, slope, inverse):  # type: ignore[no-untyped-def]
        direction = -matmul(inverse, slope)
        length, value, after, more = strong_wolfe(
            objective_func, at, direction, max_line_search_iters,
            initial_step_length=initial_step_length, dtype=dtype,
        )  # fmt: skip
        move, change = length * direction, after - slope
        curvature = inverse_curvature(move, change)
        left = identity - curvature * outer(move, change)
        right = identity - curvature * outer(change, move)
        inverse = matmul(matmul(left, inverse), right) + curvature * outer(move, move)
        found = settled(after, direction, tolerance_grad, tolerance_change)
        return (turn + 1, found.logical_or(length == 0.0), found, calls + more, at + move, value,
            after, inverse)  # fmt: skip

    ends: Any = while_loop(
        lambda turn, done, *_: (turn < max_iters).logical_and(done.logical_not()),
        step,
        [full([1], 0, "int64"), no, no, full([1], 1, "int64"), position, value, gradient, estimate],
    )
    _, _, found, calls, position, value, gradient, estimate = ends
    return found, calls, position, value, gradient, estimate


def inverse_curvature(move: Tensor, change: Tensor) -> Tensor:
    """One over the product of a move and the change of the gradient; 1000 if they are orthogonal,
    as in Paddle.
    """
    product = dot(change, move)
    flat = product == 0.0
    inverse: Tensor = where(flat, full([], 1000.0, move.dtype), 1.0 / product)
    return inverse


def settled(gradient: Tensor, direction: Tensor, grad_limit: float, step_limit: float) -> Tensor:
    """Whether the gradient or the direction has become as good as zero; of shape [1]."""
    small = largest(magnitude(gradient)) < grad_limit
    still = largest(magnitude(direction)) < step_limit
    either: Tensor = small.logical_or(still).reshape([1])
    return either
