"""Determinants, inverses, decompositions and solvers of batches of matrices."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import RankError, UsageError
from argosy.ops.table import define, op

inverse = define("inverse", torch.linalg.inv, ("x",), types=("inverse(Input) -> Output",))
det = define("determinant", torch.linalg.det, ("x",), types=("determinant(Input)",))
matrix_exp = define("matrix_exp", torch.linalg.matrix_exp, ("x",))
matrix_power = define("matrix_power", torch.linalg.matrix_power, ("x", "n"))
svdvals = define("svdvals", torch.linalg.svdvals, ("x",))
eigvals = define("eigvals", torch.linalg.eigvals, ("x",))
householder_product = define("householder_product", torch.linalg.householder_product, ("x", "tau"))


@op("slogdet", types=("slogdeterminant(Input)",))
def slogdet(x: Tensor) -> Tensor:
    """Sign and logarithm of the absolute value of the determinant, stacked along a new first
    axis.
    """
    return torch.stack(tuple(torch.linalg.slogdet(x)))


@op("svd", types=("svd(X, full_matrices) -> U, S, VH",))
def svd(x: Tensor, full_matrices: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V transposed."""
    u, s, vh = torch.linalg.svd(x, full_matrices)
    return u, s, vh


@op("qr")
def qr(x: Tensor, mode: str = "reduced") -> Any:
    """The pair (Q, R), or R alone in mode "r"."""
    if mode not in ("reduced", "complete", "r"):
        raise UsageError(f"qr: mode must be 'reduced', 'complete' or 'r', but received {mode!r}")
    q, r = torch.linalg.qr(x, mode)
    return r if mode == "r" else (q, r)


@op("eig", types=("eig -> Eigenvalues, Eigenvectors",))
def eig(x: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eig(x)
    return values, vectors


@op("eigh", types=("eigh(X, @UPLO) -> Eigenvalues, Eigenvectors",))
def eigh(x: Tensor, uplo: str = "L") -> tuple[Tensor, Tensor]:
    _check_uplo(uplo)
    values, vectors = torch.linalg.eigh(x, uplo)
    return values, vectors


@op("eigvalsh", types=("eigvalsh(X, @UPLO) -> Eigenvalues, Eigenvectors",))
def eigvalsh(x: Tensor, uplo: str = "L") -> Tensor:
    return torch.linalg.eigvalsh(x, uplo)


def _check_uplo(uplo: str) -> None:
    if uplo not in ("L", "U"):
        raise UsageError(f"eigh: UPLO must be L or U, but received {uplo}")


@op("cholesky")
def cholesky(x: Tensor, upper: bool = False) -> Tensor:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise RankError(
            f"cholesky: x must be a batch of square matrices, but its shape is {list(x.shape)}"
        )
    return torch.linalg.cholesky(x, upper=upper)


@op("cholesky_solve")
def cholesky_solve(x: Tensor, y: Tensor, upper: bool = False) -> Tensor:
    """Solve ``A @ out = x`` for the matrix A whose Cholesky factor is ``y``."""
    return torch.cholesky_solve(x, torch.triu(y) if upper else torch.tril(y), upper)


@op("cholesky_inverse")
def cholesky_inverse(x: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is ``x``."""
    return torch.cholesky_inverse(x, upper)


@op("solve", types=("solve(X, Y, -True)",))
def solve(x: Tensor, y: Tensor, left: bool = True) -> Tensor:
    """``out`` with ``x @ out = y``, or ``out @ x = y`` if not ``left``."""
    return torch.linalg.solve(x, y, left=left)


@op("triangular_solve")
def triangular_solve(
    x: Tensor, y: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Tensor:
    """Solve ``x @ out = y`` (``x`` transposed if asked) reading only one triangle of ``x``."""
    if transpose:
        x, upper = x.mT, not upper
    return torch.linalg.solve_triangular(x, y, upper=upper, unitriangular=unitriangular)


@op("lstsq", types=("lstsq(X, Y, rcond, driver) -> Solution, Residuals, Rank, SingularValues",))
def lstsq(
    x: Tensor, y: Tensor, rcond: float | None = None, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Least squares: solution, residuals, rank of ``x``, its singular values; what the driver does
    not give is empty.
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise UsageError(
            "lstsq: driver must be 'gels', 'gelsy', 'gelsd', 'gelss' or None, but received "
            f"{driver!r}"
        )
    solution, residuals, rank, singular = torch.linalg.lstsq(x, y, rcond, driver=driver)
    if driver in (None, "gelsy"):
        residuals = residuals.new_empty(0)
    return solution, residuals, rank if driver == "gels" else rank.to(torch.int32), singular


@op("lu", types=("lu(X, pivots) -> Out, Pivots, Infos",))
def lu(x: Tensor, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """L and U in one matrix, the pivots counted from 1, and a status code per matrix."""
    packed, pivots, infos = torch.linalg.lu_factor_ex(x, pivot=pivot)
    return packed, pivots, infos


@op("lu_unpack", types=("lu_unpack(X, Pivots) -> Pmat, L, U",))
def lu_unpack(
    x: Tensor, y: Tensor, unpack_ludata: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U from a packed factorisation and its pivots."""
    p, lower, upper = torch.lu_unpack(x, y, unpack_data=unpack_ludata, unpack_pivots=unpack_pivots)
    return p, lower, upper


@op("lu_solve")
def lu_solve(b: Tensor, lu: Tensor, pivots: Tensor, trans: str = "N") -> Tensor:
    """Solve ``A @ out = b`` from the packed factorisation of A, of its transpose ("T") or adjoint
    ("C").
    """
    if trans not in ("N", "T", "C"):
        raise UsageError(f"lu_solve: trans must be 'N', 'T' or 'C', but received {trans!r}")
    if trans == "T" and lu.is_complex():
        return torch.linalg.lu_solve(lu, pivots, b.conj(), adjoint=True).conj()
    return torch.linalg.lu_solve(lu, pivots, b, adjoint=trans != "N")


@op("pinv")
def pinv(x: Tensor, rcond: Any = 1e-15, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse; singular values below ``rcond`` times the largest count as zero."""
    if hermitian:
        # gives both triangles the same gradient
        x = (x + x.mH) / 2
    return torch.linalg.pinv(x, rtol=rcond, hermitian=hermitian)


@op("matrix_rank")
def matrix_rank(x: Tensor, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    return torch.linalg.matrix_rank(x, atol=atol, rtol=rtol, hermitian=hermitian)


@op("cond")
def cond(x: Tensor, p: Any = None) -> Tensor:
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf")):
        raise UsageError(
            f"cond: p must be None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, but received {p!r}"
        )
    if p in (None, 2, -2, "nuc") or not x.requires_grad:
        return torch.linalg.cond(x, p)
    # torch changes the inverse in place where there is none, which its gradient does not survive
    inverse, info = torch.linalg.inv_ex(x)
    product = torch.linalg.matrix_norm(x, p) * torch.linalg.matrix_norm(inverse, p)
    return torch.where(info == 0, product, torch.inf)


@op("cov")
def cov(
    x: Tensor,
    fweights: Tensor | None,
    aweights: Tensor | None,
    rowvar: bool = True,
    ddof: bool = True,
) -> Tensor:
    """Covariances of the variables in the rows of ``x`` (its columns if not ``rowvar``)."""
    if x.ndim not in (1, 2):
        raise UsageError(f"cov: x must be 1-D or 2-D, but its shape is {list(x.shape)}")
    frequencies = None if fweights is None else fweights.to(torch.int64)
    return torch.cov(
        _variables(x, rowvar), correction=int(ddof), fweights=frequencies, aweights=aweights
    )


@op("corrcoef")
def corrcoef(x: Tensor, rowvar: bool = True) -> Tensor:
    if x.ndim not in (1, 2):
        raise UsageError(f"corrcoef: x must be 1-D or 2-D, but its shape is {list(x.shape)}")
    return torch.corrcoef(_variables(x, rowvar))


def _variables(x: Tensor, rowvar: bool) -> Tensor:
    return x if rowvar or x.ndim == 1 or x.shape[0] == 1 else x.mT


@op("ormqr")
def ormqr(x: Tensor, tau: Tensor, y: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Multiply ``y`` by the first columns of the Q that Householder reflectors ``x``, ``tau`` stand
    for.
    """
    q = torch.linalg.householder_product(x, tau)
    if transpose:
        q = q.mT
    inside = (q.shape[-1], y.shape[-2]) if left else (y.shape[-1], q.shape[-2])
    if x.ndim != y.ndim or inside[0] != inside[1]:
        raise RankError(
            f"ormqr: Q of shape {list(q.shape)} and y of shape {list(y.shape)} cannot be "
            f"multiplied (left={left})"
        )
    return q @ y if left else y @ q


@op("svd_lowrank", is_random=True)
def svd_lowrank(
    x: Tensor, mean: Tensor | None, q: int, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The leading ``q`` singular triplets U, S, V of ``x - mean``, approximately."""
    u, s, v = torch.svd_lowrank(x, q, niter, mean)
    return u, s, v


@op("pca_lowrank", is_random=True)
def pca_lowrank(
    x: Tensor, q: int, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """``svd_lowrank`` of the rows as samples, centred if asked."""
    u, s, v = torch.pca_lowrank(x, q, center, niter)
    return u, s, v
