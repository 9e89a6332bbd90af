"""Products of matrices and vectors, norms, distances. Decompositions and solvers are in
``_decomposition``.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.dtypes import to_torch
from argosy.foundation.errors import BadArgument, RankError, UsageError
from argosy.ops.math import elementwise
from argosy.ops.math import linalg as ops
from argosy.tensor._core.arguments import axes, store
from argosy.tensor._core.face import binary
from argosy.tensor._core.inplace import make_inplace
from argosy.tensor._core.tensor import Tensor, apply
from argosy.tensor.decomposition import cholesky, inverse

__all__ = [
    "addmm", "addmm_", "baddbmm", "baddbmm_", "bmm", "cdist", "cholesky", "cross", "diagonal",
    "dist", "dot", "einsum", "ger", "inner",
    "inverse", "kron", "matmul", "mm", "mv", "norm", "outer", "pdist", "tensordot", "trace",
    "vecdot",
]  # fmt: skip

_ANY_AXIS = 9  # what Paddle passes as "the first axis of extent 3"


def matmul(
    x: Any,
    y: Any,
    transpose_x: bool = False,
    transpose_y: bool = False,
    name: str | None = None,
    *,
    out: Any = None,
) -> Any:
    """Multiply matrices, batches of them (broadcast), or vectors; the last two axes may be
    transposed first.

    Example:
        >>> import paddle
        >>> paddle.matmul(paddle.ones([2, 3]), paddle.ones([4, 3]), transpose_y=True).shape
        [2, 4]
    """
    if not (transpose_x or transpose_y or out is not None):
        return apply(elementwise.matmul, x, y)
    return store(out, apply(elementwise.matmul, x, y, transpose_x, transpose_y), "matmul")


def mm(input: Any, mat2: Any, name: str | None = None) -> Any:
    """Multiply as ``matmul`` does."""
    return apply(elementwise.matmul, input, mat2)


def bmm(x: Any, y: Any, name: str | None = None, *, out: Any = None) -> Any:
    """Multiply two batches of matrices, both of rank 3 and of equal batch size."""
    return store(out, apply(ops.bmm, x, y), "bmm")


def mv(x: Any, vec: Any, name: str | None = None) -> Any:
    """Multiply a matrix by a vector."""
    return apply(ops.mv, x, vec)


def dot(x: Any, y: Any, name: str | None = None, *, out: Any = None) -> Any:
    """The inner product of two vectors, or of each pair of rows of two matrices."""
    return store(out, apply(ops.dot, x, y), "dot")


def outer(x: Any, y: Any, name: str | None = None, *, out: Any = None) -> Any:
    """The outer product of the flattened inputs."""
    return store(out, apply(ops.outer, x, y), "outer")


ger = outer

inner = binary(
    ops.inner,
    "Sum products over the last axis of both; the other axes of x, then those of y, are left.",
)
kron = binary(ops.kron, "The Kronecker product.")


def vecdot(x: Any, y: Any, axis: int = -1, name: str | None = None) -> Any:
    """Inner products along ``axis``, the rest broadcast."""
    return apply(ops.vecdot, x, y, axis)


def cross(x: Any, y: Any, axis: int = _ANY_AXIS, name: str | None = None) -> Any:
    """The vector product along ``axis``, by default the first axis of extent 3."""
    return apply(ops.cross, x, y, None if axis is None or axis == _ANY_AXIS else axis)


def addmm(
    input: Any, x: Any, y: Any, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Any:
    """``beta * input + alpha * (x @ y)`` for matrices; ``input`` may broadcast."""
    return apply(ops.addmm, input, x, y, beta, alpha)


def baddbmm(
    input: Any, x: Any, y: Any, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Any:
    """``beta * input + alpha * (x @ y)`` for batches of matrices."""
    return apply(ops.baddbmm, input, x, y, beta, alpha)


addmm_ = make_inplace(addmm)
baddbmm_ = make_inplace(baddbmm)


def tensordot(x: Any, y: Any, axes: Any = 2, name: str | None = None) -> Any:
    """Sum products over pairs of axes of ``x`` and ``y``.

    ``axes`` is a count n (the last n of ``x`` with the first n of ``y``), one list for both, or a
    list per tensor; a shorter list goes on with the entries of the longer one. A Tensor counts as
    the list it holds.

    Example:
        >>> import paddle
        >>> paddle.tensordot(paddle.ones([2, 3, 4]), paddle.ones([3, 4, 5]), axes=2).shape
        [2, 5]
    """
    axes_x, axes_y = _contracted(axes, x.ndim)
    return apply(ops.tensordot, x, y, axes_x, axes_y)


def _contracted(axes: Any, rank: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    if isinstance(axes, int):
        if axes < 0:
            raise BadArgument(f"tensordot: axes must not be negative, but received {axes}")
        return list(range(rank - axes, rank)), list(range(axes))
    parts = [part.tolist() if isinstance(part, Tensor) else part for part in axes]
    if not parts or isinstance(parts[0], int):
        return list(parts), list(parts)
    first = list(parts[0])
    second = list(parts[1]) if len(parts) > 1 else []
    return first + second[len(first) :], second + first[len(second) :]


def einsum(equation: str, *operands: Any) -> Any:
    """Sum products as an Einstein equation says.

    Letters name axes, ``...`` stands for any number of broadcast axes. Without ``->`` the result
    has the letters that occur once, in alphabetical order.

    Example:
        >>> import paddle
        >>> paddle.einsum("bij,bjk->bik", paddle.ones([2, 3, 4]), paddle.ones([2, 4, 5])).shape
        [2, 3, 5]
    """
    if not operands:
        raise RankError("einsum: at least one operand is required, but received 0")
    named = equation.split("->")[0].count(",") + 1
    if named != len(operands):
        raise RankError(
            f"einsum: {equation!r} names {named} operands, but received {len(operands)}"
        )
    return apply(ops.einsum, list(operands), equation)


def diagonal(
    x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None
) -> Any:
    """A view of the diagonals of the planes that ``axis1`` and ``axis2`` span, as a new last
    axis.
    """
    return apply(ops.diagonal, x, offset, axis1, axis2)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Any:
    """The sums of those diagonals."""
    return apply(ops.trace, x, offset, axis1, axis2)


def vector_norm(
    x: Any,
    p: float = 2.0,
    axis: Any = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """The p-norm over ``axis``, all axes by default; p may be 0, inf and -inf."""
    wanted = None if dtype is None else to_torch(dtype)
    return store(
        out, apply(ops.vector_norm, x, p, axes(axis, "vector_norm"), keepdim, wanted), "vector_norm"
    )


def matrix_norm(
    x: Any, p: Any = "fro", axis: Any = (-2, -1), keepdim: bool = False, name: str | None = None
) -> Any:
    """A norm of the matrices in two axes: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
    return apply(ops.matrix_norm, x, p, _plane(axis), keepdim)


def _plane(axis: Any) -> list[int]:
    pair = axes(axis, "matrix_norm")
    if not isinstance(pair, list) or len(pair) != 2:
        raise UsageError(f"norm: this p needs a list of two axes, but received axis={axis}")
    return pair


def norm(
    x: Any,
    p: Any = None,
    axis: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """A vector norm over no or one axis, a matrix norm over two.

    ``p`` None is 2 for vectors and the spectral norm for two axes; 'fro' is the root of the sum of
    squares in both.
    """
    wanted = None if dtype is None else to_torch(dtype)
    chosen = axes(axis, "norm")
    if isinstance(chosen, list) and len(chosen) == 1:
        chosen = chosen[0]
    is_text = isinstance(p, str)
    if is_text and p != "fro" and chosen is None:
        chosen = list(range(x.ndim))
    if (is_text and p != "fro") or (isinstance(chosen, list) and len(chosen) == 2):
        value = apply(ops.matrix_norm, x, 2.0 if p is None else p, _plane(chosen), keepdim, wanted)
    else:
        value = apply(
            ops.vector_norm, x, 2.0 if p is None or is_text else p, chosen, keepdim, wanted
        )
    return store(out, value, "norm")


def dist(x: Any, y: Any, p: float = 2, name: str | None = None) -> Any:
    """The p-norm of ``x - y``."""
    return apply(ops.dist, x, y, p)


def cdist(
    x: Any,
    y: Any,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
    name: str | None = None,
) -> Any:
    """p-norm distances between the rows of ``x`` and the rows of ``y``, batches broadcast."""
    return apply(ops.cdist, x, y, p, compute_mode)


def pdist(x: Any, p: float = 2.0, name: str | None = None) -> Any:
    """p-norm distances between every two different rows of a matrix."""
    return apply(ops.pdist, x, p)


TENSOR_METHODS = [n for n in __all__ if n not in ("einsum", "ger", "pdist")]
