"""Linear algebra under the names of ``paddle.linalg``."""

from argosy.tensor.decomposition import (
    cholesky,
    cholesky_inverse,
    cholesky_solve,
    cond,
    corrcoef,
    cov,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    inv,
    lstsq,
    lu,
    lu_solve,
    lu_unpack,
    matrix_exp,
    matrix_power,
    matrix_rank,
    multi_dot,
    ormqr,
    pca_lowrank,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svd_lowrank,
    svdvals,
    triangular_solve,
)
from argosy.tensor.linalg import (
    cross,
    diagonal,
    matmul,
    matrix_norm,
    norm,
    vecdot,
    vector_norm,
)
from argosy.tensor.manipulation import matrix_transpose

__all__ = [
    "cholesky", "cholesky_inverse", "cholesky_solve", "cond", "corrcoef", "cov", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "lstsq", "lu", "lu_solve", "lu_unpack", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "ormqr", "pca_lowrank", "pinv", "qr",
    "slogdet", "solve", "svd", "svd_lowrank", "svdvals", "triangular_solve", "vecdot", "vector_norm",
]  # fmt: skip
