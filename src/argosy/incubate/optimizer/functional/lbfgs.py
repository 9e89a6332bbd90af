"""L-BFGS: the inverse Hessian as the last few moves and changes of the gradient."""

from __future__ import annotations

from typing import Any

from argosy.incubate.optimizer.functional._objective import Objective, begin
from argosy.incubate.optimizer.functional.bfgs import inverse_curvature, settled
from argosy.incubate.optimizer.functional.line_search import strong_wolfe
from argosy.static.nn.control_flow import while_loop
from argosy.tensor import arange, concat, dot, full, index_select, matmul, reshape, where
from argosy.tensor import zeros as zeros_of
from argosy.tensor.engine import Tensor


def minimize_lbfgs(
    objective_func: Objective,
    initial_position: Tensor,
    history_size: int = 100,
    max_iters: int = 50,
    tolerance_grad: float = 1e-8,
    tolerance_change: float = 1e-8,
    initial_inverse_hessian_estimate: Tensor | None = None,
    line_search_fn: str = "strong_wolfe",
    max_line_search_iters: int = 50,
    initial_step_length: float = 1.0,
    dtype: str = "float32",
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """As ``minimize_bfgs``, with the last ``history_size`` steps instead of a matrix, and without
    the estimate in what is returned.

    Example:
        >>> import paddle
        >>> found, calls, at, *_ = paddle.incubate.optimizer.functional.minimize_lbfgs(
        ...     lambda x: ((x - 2.0) ** 2).sum(), paddle.zeros([3]))
        >>> found.item(), at.tolist()
        (True, [2.0, 2.0, 2.0])
    """
    estimate, position, value, gradient = begin(
        "minimize_lbfgs", objective_func, initial_position, initial_inverse_hessian_estimate,
        line_search_fn, dtype,
    )  # fmt: skip
    size = initial_position.shape[0]
    no, none = full([1], False, "bool"), zeros_of([history_size, size], dtype)

    def step(turn, _done, _found, calls, at, _value, slope, moves, changes, curvatures):  # type: ignore[no-untyped-def]
        direction = -_times_inverse(slope, estimate, moves, changes, curvatures, turn)
        length, value, after, more = strong_wolfe(
            objective_func, at, direction, max_line_search_iters,
            initial_step_length=initial_step_length, dtype=dtype,
        )  # fmt: skip
        move, change = length * direction, after - slope
        curvature = reshape(inverse_curvature(move, change), [1])
        found = settled(after, direction, tolerance_grad, tolerance_change)
        return (turn + 1, found.logical_or(length == 0.0), found, calls + more, at + move, value,
            after, _push(moves, reshape(move, [1, size])),
            _push(changes, reshape(change, [1, size])), _push(curvatures, curvature))  # fmt: skip

    ends: Any = while_loop(
        lambda turn, done, *_: (turn < max_iters).logical_and(done.logical_not()),
        step,
        [full([1], 0, "int64"), no, no, full([1], 1, "int64"), position, value, gradient, none,
            none, zeros_of([history_size], dtype)],
    )  # fmt: skip
    _, _, found, calls, position, value, gradient, *_ = ends
    return found, calls, position, value, gradient


def _push(history: Tensor, newest: Tensor) -> Tensor:
    """The history with ``newest`` as its first row, without its last."""
    kept: Tensor = concat([newest, history])[: history.shape[0]]
    return kept


def _times_inverse(
    vector: Tensor, first: Tensor, moves: Tensor, changes: Tensor, curvatures: Tensor, taken: Tensor
) -> Tensor:
    """The product with the inverse Hessian, by the recursion over the steps ``taken``: from the
    newest to the oldest and back.
    """
    rows = arange(moves.shape[0], dtype="int64")

    def pair(row: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        move, change, curvature = (index_select(of, row) for of in (moves, changes, curvatures))
        return reshape(move, [-1]), reshape(change, [-1]), curvature

    def back(row, rest, shares):  # type: ignore[no-untyped-def]
        move, change, curvature = pair(row)
        share = curvature * dot(move, rest)
        return row + 1, rest - share * change, where(rows == row, share, shares)

    def forth(row, product):  # type: ignore[no-untyped-def]
        move, change, curvature = pair(row)
        share = index_select(shares, row) - curvature * dot(change, product)
        return row - 1, product + share * move

    no_shares = zeros_of([moves.shape[0]], moves.dtype)
    row, rest, shares = while_loop(
        lambda row, *_: (row < taken).logical_and(row < moves.shape[0]),
        back,
        [full([1], 0, "int64"), vector, no_shares],
    )
    ends = while_loop(lambda row, _: row >= 0, forth, [row - 1, matmul(first, rest)])
    product: Tensor = ends[1]
    return product
