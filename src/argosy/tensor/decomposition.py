"""Determinants, inverses, decompositions and solvers; most are reached through ``paddle.linalg`` or
as Tensor methods.
"""

from __future__ import annotations

from typing import Any

from argosy.ops.math import decomposition as ops
from argosy.ops.math import linalg as products
from argosy.tensor._core.arguments import store
from argosy.tensor._core.face import unary
from argosy.tensor._core.tensor import Tensor, apply

TENSOR_METHODS = [
    "cholesky", "cholesky_inverse", "cholesky_solve", "cond", "corrcoef", "cov", "eig", "eigvals",
    "eigvalsh",
    "householder_product", "inverse", "lstsq", "lu", "lu_unpack", "matrix_power", "multi_dot",
    "ormqr", "pca_lowrank", "pinv",
    "qr", "slogdet", "solve", "svd_lowrank", "triangular_solve",
]  # fmt: skip

inverse = unary(ops.inverse, "Invert square matrices; a singular one is an error.")
inv = inverse
det = unary(ops.det, "The determinants of square matrices.", "det")
slogdet = unary(
    ops.slogdet, "Sign and log of the absolute determinant, stacked along a new first axis."
)
matrix_exp = unary(ops.matrix_exp, "The matrix exponential.")
svdvals = unary(ops.svdvals, "Singular values in descending order.")
eigvals = unary(ops.eigvals, "Eigenvalues of general matrices, complex, in no particular order.")
eig = unary(ops.eig, "Eigenvalues and eigenvectors (as columns) of general matrices, both complex.")


def matrix_power(x: Any, n: int, name: str | None = None) -> Any:
    """Multiply matrices ``n`` times by themselves; a negative ``n`` uses the inverse."""
    return apply(ops.matrix_power, x, n)


def multi_dot(x: Any, name: str | None = None) -> Any:
    """The product of a list of matrices, multiplied in the cheapest order; the first and last may
    be vectors.
    """
    return apply(products.multi_dot, list(x))


def svd(x: Any, full_matrices: bool = False, name: str | None = None, *, out: Any = None) -> Any:
    """U, S and V transposed with ``x = U @ diag(S) @ VH``."""
    return store(out, apply(ops.svd, x, full_matrices), "svd")


def qr(x: Any, mode: str = "reduced", name: str | None = None) -> Any:
    """Q and R, in ``mode`` "reduced" or "complete"; "r" gives R alone."""
    return apply(ops.qr, x, mode)


def eigh(x: Any, UPLO: str = "L", name: str | None = None) -> Any:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices, read from one
    triangle.
    """
    return apply(ops.eigh, x, UPLO)


def eigvalsh(x: Any, UPLO: str = "L", name: str | None = None) -> Any:
    """Eigenvalues of Hermitian matrices in ascending order."""
    return apply(ops.eigvalsh, x, UPLO)


def cholesky(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """The lower factor L with ``x = L @ L.T``, or the upper one."""
    return apply(ops.cholesky, x, upper)


def cholesky_solve(x: Any, y: Any, upper: bool = False, name: str | None = None) -> Any:
    """Solve ``A @ out = x`` given the Cholesky factor ``y`` of A."""
    return apply(ops.cholesky_solve, x, y, upper)


def cholesky_inverse(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """Invert the matrix whose Cholesky factor is ``x``."""
    return apply(ops.cholesky_inverse, x, upper)


def solve(x: Any, y: Any, left: bool = True, name: str | None = None, *, out: Any = None) -> Any:
    """Solve ``x @ out = y``, or ``out @ x = y`` if not ``left``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> paddle.linalg.solve(x, paddle.to_tensor([2.0, 8.0])).tolist()
        [1.0, 2.0]
    """
    return store(out, apply(ops.solve, x, y, left), "solve")


def triangular_solve(
    x: Any,
    y: Any,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    name: str | None = None,
) -> Any:
    """Solve ``x @ out = y`` for a triangular ``x``; the other triangle is not read."""
    return apply(ops.triangular_solve, x, y, upper, transpose, unitriangular)


def lstsq(
    x: Any, y: Any, rcond: float | None = None, driver: str | None = None, name: str | None = None
) -> Any:
    """Least squares solution of ``x @ out = y``: (solution, residuals, rank, singular values).

    A LAPACK driver that does not compute one of these leaves it empty; the default, "gelsy", gives
    solution and rank.
    """
    return apply(ops.lstsq, x, y, rcond, driver)


def lu(x: Any, pivot: bool = True, get_infos: bool = False, name: str | None = None) -> Any:
    """Factor into one packed matrix and the pivots, counted from 1; ``get_infos`` adds LAPACK's
    status.
    """
    packed, pivots, infos = apply(ops.lu, x, pivot)
    return (packed, pivots, infos) if get_infos else (packed, pivots)


def lu_unpack(
    x: Any, y: Any, unpack_ludata: bool = True, unpack_pivots: bool = True, name: str | None = None
) -> Any:
    """P, L and U with ``P @ L @ U`` the matrix that ``lu`` factored; a part not unpacked is
    empty.
    """
    return apply(ops.lu_unpack, x, y, unpack_ludata, unpack_pivots)


def lu_solve(b: Any, lu: Any, pivots: Any, trans: str = "N", name: str | None = None) -> Any:
    """Solve for the matrix that ``lu`` factored, its transpose ("T") or its adjoint ("C")."""
    return apply(ops.lu_solve, b, lu, pivots, trans)


def pinv(x: Any, rcond: Any = 1e-15, hermitian: bool = False, name: str | None = None) -> Any:
    """The Moore-Penrose inverse; singular values below ``rcond`` times the largest count as
    zero.
    """
    return apply(ops.pinv, x, rcond, hermitian)


def matrix_rank(
    x: Any,
    tol: Any = None,
    hermitian: bool = False,
    atol: Any = None,
    rtol: Any = None,
    name: str | None = None,
) -> Any:
    """How many singular values exceed ``max(atol, rtol * largest)``; ``tol`` is an older name of
    ``atol``.
    """
    return apply(ops.matrix_rank, x, tol if atol is None else atol, rtol, hermitian)


def cond(x: Any, p: Any = None, name: str | None = None) -> Any:
    """The condition number in a matrix norm, the spectral one by default."""
    return apply(ops.cond, x, p)


def cov(
    x: Any,
    rowvar: bool = True,
    ddof: bool = True,
    fweights: Any = None,
    aweights: Any = None,
    name: str | None = None,
) -> Any:
    """Covariance matrix of variables in the rows; ``ddof`` divides by n - 1, weights count or weigh
    observations.
    """
    return apply(ops.cov, x, fweights, aweights, rowvar, ddof)


def corrcoef(x: Any, rowvar: bool = True, name: str | None = None) -> Any:
    """Pearson's correlation coefficients of variables in the rows."""
    return apply(ops.corrcoef, x, rowvar)


def householder_product(x: Any, tau: Any, name: str | None = None) -> Any:
    """The first columns of the product of Householder reflectors."""
    return apply(ops.householder_product, x, tau)


def ormqr(
    x: Any, tau: Any, y: Any, left: bool = True, transpose: bool = False, name: str | None = None
) -> Any:
    """Multiply ``y`` by the Q of Householder reflectors, from the left or right, transposed if
    asked.
    """
    return apply(ops.ormqr, x, tau, y, left, transpose)


def _num_components(x: Tensor, q: int | None) -> int:
    return min(6, *x.shape[-2:]) if q is None else q


def svd_lowrank(
    x: Any, q: int | None = None, niter: int = 2, M: Any = None, name: str | None = None
) -> Any:
    """U, S and V of the leading ``q`` singular values of ``x - M``, by a randomised method."""
    return apply(ops.svd_lowrank, x, M, _num_components(x, q), niter)


def pca_lowrank(
    x: Any, q: int | None = None, center: bool = True, niter: int = 2, name: str | None = None
) -> Any:
    """The leading ``q`` principal components of samples in rows, by a randomised method."""
    return apply(ops.pca_lowrank, x, _num_components(x, q), center, niter)
