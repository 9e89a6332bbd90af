"""Decompositions, solvers and properties of matrices; ``paddle.linalg`` exports them."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import UsageError
from argosy.ops import decomposition as ops
from argosy.ops import linalg as linalg_ops
from argosy.tensor._arguments import store
from argosy.tensor._face import unary
from argosy.tensor._tensor import apply

__all__ = [
    "cholesky", "cholesky_inverse", "cholesky_solve", "cond", "corrcoef", "cov", "det", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inverse", "lstsq", "lu", "lu_solve", "lu_unpack", "matrix_exp", "matrix_power",
    "matrix_rank", "multi_dot", "ormqr", "pca_lowrank", "pinv", "qr", "slogdet", "solve", "svd", "svd_lowrank", "svdvals",
    "triangular_solve",
]  # fmt: skip

inverse = unary(ops.inverse, "Invert square matrices.")
inv = unary(ops.inverse, "Invert square matrices.", "inv")
det = unary(ops.det, "Determinants of square matrices.", "det")
slogdet = unary(
    ops.slogdet, "Sign and logarithm of the absolute value of determinants, stacked along a new first axis."
)
matrix_exp = unary(ops.matrix_exp, "The exponential of square matrices.")
svdvals = unary(ops.svdvals, "Singular values, the largest first.")
eig = unary(ops.eig, "Eigenvalues and eigenvectors of square matrices, complex.")
eigvals = unary(ops.eigvals, "Eigenvalues of square matrices, complex.")


def matrix_power(x: Any, n: int, name: str | None = None) -> Any:
    """Raise square matrices to an integer power; a negative one inverts first."""
    return apply(ops.matrix_power, x, n)


def svd(x: Any, full_matrices: bool = False, name: str | None = None, *, out: Any = None) -> Any:
    """Singular value decomposition: U, S and V transposed."""
    return store(out, apply(ops.svd, x, full_matrices), "svd")


def qr(x: Any, mode: str = "reduced", name: str | None = None) -> Any:
    """QR decomposition: Q and R, or R alone in mode "r"."""
    return apply(ops.qr, x, mode)


def eigh(x: Any, UPLO: str = "L", name: str | None = None) -> Any:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices, of which only one triangle is read."""
    return apply(ops.eigh, x, UPLO)


def eigvalsh(x: Any, UPLO: str = "L", name: str | None = None) -> Any:
    """Eigenvalues of symmetric matrices, ascending; only one triangle is read."""
    return apply(ops.eigvalsh, x, UPLO)


def cholesky(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """The triangular factor of symmetric positive definite matrices, lower unless ``upper``."""
    return apply(ops.cholesky, x, upper)


def cholesky_solve(x: Any, y: Any, upper: bool = False, name: str | None = None) -> Any:
    """Solve ``A @ out = x`` for the matrix A whose Cholesky factor is ``y``."""
    return apply(ops.cholesky_solve, x, y, upper)


def cholesky_inverse(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """The inverse of the matrix whose Cholesky factor is ``x``."""
    return apply(ops.cholesky_inverse, x, upper)


def solve(x: Any, y: Any, left: bool = True, name: str | None = None, *, out: Any = None) -> Any:
    """Solve ``x @ out = y``, or ``out @ x = y`` if not ``left``."""
    return store(out, apply(ops.solve, x, y, left), "solve")


def triangular_solve(
    x: Any,
    y: Any,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    name: str | None = None,
) -> Any:
    """Solve ``x @ out = y`` for a triangular ``x``, or its transpose."""
    return apply(ops.triangular_solve, x, y, upper, transpose, unitriangular)


def lstsq(x: Any, y: Any, rcond: float | None = None, driver: str | None = None, name: str | None = None) -> Any:
    """Least squares: solution, residuals, rank of ``x`` and its singular values."""
    return apply(ops.lstsq, x, y, rcond, driver)


def lu(x: Any, pivot: bool = True, get_infos: bool = False, name: str | None = None) -> Any:
    """LU decomposition: both factors in one matrix and the pivots, on request also a status code per matrix."""
    packed, pivots, infos = apply(ops.lu, x, pivot)
    return (packed, pivots, infos) if get_infos else (packed, pivots)


def lu_unpack(x: Any, y: Any, unpack_ludata: bool = True, unpack_pivots: bool = True, name: str | None = None) -> Any:
    """P, L and U from what ``lu`` returns."""
    return apply(ops.lu_unpack, x, y, unpack_ludata, unpack_pivots)


def lu_solve(b: Any, lu: Any, pivots: Any, trans: str = "N", name: str | None = None) -> Any:
    """Solve ``A @ out = b`` from the LU decomposition of A; ``trans`` "T" or "C" solves for its transpose or adjoint."""
    return apply(ops.lu_solve, b, lu, pivots, trans)


def pinv(x: Any, rcond: Any = 1e-15, hermitian: bool = False, name: str | None = None) -> Any:
    """The pseudo-inverse; singular values below ``rcond`` times the largest count as zero."""
    return apply(ops.pinv, x, rcond, hermitian)


def matrix_rank(
    x: Any,
    tol: Any = None,
    hermitian: bool = False,
    atol: Any = None,
    rtol: Any = None,
    name: str | None = None,
) -> Any:
    """The number of singular values above a tolerance: ``tol``, or the larger of ``atol`` and ``rtol`` times the largest."""
    if tol is not None:
        if atol is not None or rtol is not None:
            raise UsageError("matrix_rank: pass either tol or atol and rtol, not both")
        atol, rtol = tol, 0.0
    return apply(ops.matrix_rank, x, atol, rtol, hermitian)


def cond(x: Any, p: Any = None, name: str | None = None) -> Any:
    """The condition number for a matrix norm, the 2-norm by default."""
    return apply(ops.cond, x, p)


def cov(
    x: Any,
    rowvar: bool = True,
    ddof: bool = True,
    fweights: Any = None,
    aweights: Any = None,
    name: str | None = None,
) -> Any:
    """Covariances between the rows of ``x`` (its columns if not ``rowvar``), unbiased if ``ddof``."""
    return apply(ops.cov, x, fweights, aweights, rowvar, ddof)


def corrcoef(x: Any, rowvar: bool = True, name: str | None = None) -> Any:
    """Correlation coefficients between the rows of ``x`` (its columns if not ``rowvar``)."""
    return apply(ops.corrcoef, x, rowvar)


def householder_product(x: Any, tau: Any, name: str | None = None) -> Any:
    """The first columns of the product of Householder reflectors."""
    return apply(ops.householder_product, x, tau)


def ormqr(x: Any, tau: Any, y: Any, left: bool = True, transpose: bool = False, name: str | None = None) -> Any:
    """Multiply ``y`` by the product of Householder reflectors, from the left or the right."""
    return apply(ops.ormqr, x, tau, y, left, transpose)


def svd_lowrank(x: Any, q: int | None = None, niter: int = 2, M: Any = None, name: str | None = None) -> Any:
    """The leading ``q`` (at most 6 by default) singular triplets U, S, V of ``x - M``, approximately."""
    return apply(ops.svd_lowrank, x, M, _rank(x, q), niter)


def pca_lowrank(x: Any, q: int | None = None, center: bool = True, niter: int = 2, name: str | None = None) -> Any:
    """The leading ``q`` (at most 6 by default) principal components of the rows of ``x``, approximately."""
    return apply(ops.pca_lowrank, x, _rank(x, q), center, niter)


def _rank(x: Any, q: int | None) -> int:
    return min(6, *x.shape[-2:]) if q is None else q


def multi_dot(x: Any, name: str | None = None) -> Any:
    """The product of several matrices, multiplied in the order that costs least."""
    return apply(linalg_ops.multi_dot, list(x))


_FUNCTIONS_ONLY = {
    "det", "eigh", "inv", "lu_solve", "matrix_exp", "matrix_rank", "svd", "svdvals", "triangular_solve",
}  # fmt: skip
TENSOR_METHODS = [name for name in __all__ if name not in _FUNCTIONS_ONLY]
