"""Products, norms, distances, decompositions and solvers."""

import numpy as np

from goldens.harness import Cases

cases = Cases("linalg")

INF = float("inf")


def spd(d, n=3, dtype="float32"):
    """A well-conditioned symmetric positive definite matrix."""
    a = d.normal(n, n, dtype="float64")
    return (a @ a.T + n * np.eye(n)).astype(dtype)


def regular(d, *shape):
    """Matrices far from singular."""
    return d.normal(*shape) + 3 * np.eye(shape[-1], dtype="float32")


# -- products; sums of products are added in another order, hence 1e-5 throughout
# ---------------------------------------

for label, a, b in [
    ("vectors", (3,), (3,)), ("matrix_vector", (2, 3), (3,)), ("vector_matrix", (3,), (3, 2)),
    ("matrices", (2, 3), (3, 4)),
    ("batch", (2, 2, 3), (2, 3, 4)), ("broadcast", (2, 1, 2, 3), (1, 3, 3, 4)),
    ("batch_vector", (2, 2, 3), (3,)),
    ("vector_batch", (2,), (3, 2, 4)), ("empty", (0, 3), (3, 2)),
]:  # fmt: skip
    cases.op(
        f"matmul_{label}",
        lambda paddle, x, y: paddle.matmul(x, y),
        lambda d, a=a, b=b: (d.normal(*a), d.normal(*b)),
        rtol=1e-5,
    )
    cases.op(
        f"at_{label}",
        lambda paddle, x, y: x @ y,
        lambda d, a=a, b=b: (d.normal(*a), d.normal(*b)),
        rtol=1e-5,
    )
    cases.op(
        f"mm_{label}",
        lambda paddle, x, y: paddle.mm(x, y),
        lambda d, a=a, b=b: (d.normal(*a), d.normal(*b)),
        rtol=1e-5,
    )
for tx in (False, True):
    for ty in (False, True):
        cases.op(
            f"matmul_transposed_{tx}_{ty}",
            lambda paddle, x, y, tx=tx, ty=ty: paddle.matmul(x, y, transpose_x=tx, transpose_y=ty),
            lambda d, tx=tx, ty=ty: (
                d.normal(2, *((4, 3) if tx else (3, 4))),
                d.normal(*((5, 4) if ty else (4, 5))),
            ),
            rtol=1e-5,
        )
cases.op(
    "matmul_transposed_vector",
    lambda paddle, x, y: paddle.matmul(x, y, True, False),
    lambda d: (d.normal(3), d.normal(3, 2)),
    rtol=1e-5,
    grad=False,
)
cases.op(
    "matmul_int64",
    lambda paddle, x, y: paddle.matmul(x, y),
    lambda d: (d.integers(2, 3), d.integers(3, 2)),
)
cases.op(
    "matmul_nothing_inside",
    lambda paddle, x, y: paddle.matmul(x, y),
    lambda d: (d.normal(2, 0), d.normal(0, 3)),
)
cases.op(
    "matmul_float64",
    lambda paddle, x, y: x.matmul(y),
    lambda d: (d.normal(2, 3, dtype="float64"), d.normal(3, 2, dtype="float64")),
)
cases.error("matmul_shapes", lambda paddle: paddle.matmul(paddle.ones([2, 3]), paddle.ones([2, 3])))
cases.error(
    "matmul_dtypes", lambda paddle: paddle.matmul(paddle.ones([2, 2], "int64"), paddle.ones([2, 2]))
)
cases.op(
    "bmm",
    lambda paddle, x, y: paddle.bmm(x, y),
    lambda d: (d.normal(2, 3, 4), d.normal(2, 4, 2)),
    rtol=1e-5,
)
cases.error("bmm_matrices", lambda paddle: paddle.bmm(paddle.ones([2, 2]), paddle.ones([2, 2])))
cases.error(
    "bmm_batches", lambda paddle: paddle.bmm(paddle.ones([2, 2, 2]), paddle.ones([3, 2, 2]))
)
cases.op(
    "mv", lambda paddle, x, y: paddle.mv(x, y), lambda d: (d.normal(2, 3), d.normal(3)), rtol=1e-5
)
cases.error("mv_matrices", lambda paddle: paddle.mv(paddle.ones([2, 2]), paddle.ones([2, 2])))
cases.op(
    "dot", lambda paddle, x, y: paddle.dot(x, y), lambda d: (d.normal(3), d.normal(3)), rtol=1e-5
)
cases.op(
    "dot_rows", lambda paddle, x, y: x.dot(y), lambda d: (d.normal(2, 3), d.normal(2, 3)), rtol=1e-5
)
cases.op("dot_int", lambda paddle, x, y: paddle.dot(x, y), lambda d: (d.integers(3), d.integers(3)))
for label, a, b in [
    ("vectors", (3,), (3,)),
    ("matrices", (2, 3), (4, 3)),
    ("ranks", (2, 3), (2, 2, 3)),
    ("scalar", (2, 3), ()),
]:
    cases.op(
        f"inner_{label}",
        lambda paddle, x, y: paddle.inner(x, y),
        lambda d, a=a, b=b: (d.normal(*a), d.normal(*b)),
        rtol=1e-5,
    )
    cases.op(
        f"outer_{label}",
        lambda paddle, x, y: paddle.outer(x, y),
        lambda d, a=a, b=b: (d.normal(*a), d.normal(*b)),
        rtol=1e-5,
    )
    cases.op(
        f"kron_{label}",
        lambda paddle, x, y: paddle.kron(x, y),
        lambda d, a=a, b=b: (d.normal(*a), d.normal(*b)),
        rtol=1e-5,
    )
cases.op(
    "vecdot",
    lambda paddle, x, y: paddle.vecdot(x, y),
    lambda d: (d.normal(2, 3), d.normal(2, 3)),
    rtol=1e-5,
)
cases.op(
    "vecdot_axis",
    lambda paddle, x, y: paddle.linalg.vecdot(x, y, axis=0),
    lambda d: (d.normal(2, 3), d.normal(2, 3)),
    rtol=1e-5,
)
cases.op(
    "cross_found",
    lambda paddle, x, y: paddle.cross(x, y),
    lambda d: (d.normal(2, 3), d.normal(2, 3)),
    rtol=1e-5,
)
cases.op(
    "cross_first",
    lambda paddle, x, y: paddle.cross(x, y),
    lambda d: (d.normal(3, 3), d.normal(3, 3)),
    rtol=1e-5,
)
cases.op(
    "cross_axis",
    lambda paddle, x, y: x.cross(y, axis=1),
    lambda d: (d.normal(3, 3), d.normal(3, 3)),
    rtol=1e-5,
)
cases.error(
    "outer_dtypes", lambda paddle: paddle.outer(paddle.ones([2]), paddle.ones([2], "int64"))
)
cases.error("kron_dtypes", lambda paddle: paddle.kron(paddle.ones([2]), paddle.ones([2], "int64")))
cases.error("cross_none", lambda paddle: paddle.cross(paddle.ones([2, 2]), paddle.ones([2, 2])))
cases.error("cross_shapes", lambda paddle: paddle.cross(paddle.ones([2, 3]), paddle.ones([1, 3])))
cases.error(
    "cross_axis_extent",
    lambda paddle: paddle.cross(paddle.ones([2, 3]), paddle.ones([2, 3]), axis=0),
)
for label, shape in [("matrix", (2, 4)), ("vector", (4,)), ("one", (1,)), ("row", (1, 4))]:
    cases.op(
        f"addmm_{label}",
        lambda paddle, i, x, y: paddle.addmm(i, x, y, beta=0.5, alpha=2.0),
        lambda d, s=shape: (d.normal(*s), d.normal(2, 3), d.normal(3, 4)),
        rtol=1e-5,
    )
cases.op(
    "baddbmm",
    lambda paddle, i, x, y: paddle.baddbmm(i, x, y, beta=0.5, alpha=2.0),
    lambda d: (d.normal(2, 2, 2), d.normal(2, 2, 3), d.normal(2, 3, 2)),
    rtol=1e-5,
)
cases.error(
    "addmm_rank",
    lambda paddle: paddle.addmm(paddle.ones([1, 2, 2]), paddle.ones([2, 2]), paddle.ones([2, 2])),
)
cases.error(
    "addmm_shape",
    lambda paddle: paddle.addmm(paddle.ones([3]), paddle.ones([2, 2]), paddle.ones([2, 2])),
)
cases.op(
    "baddbmm_matrix",
    lambda paddle, i, x, y: paddle.baddbmm(i, x, y),
    lambda d: (d.normal(2, 2), d.normal(2, 2, 3), d.normal(2, 3, 2)),
    rtol=1e-5,
    grad=False,
)
cases.error(
    "baddbmm_batch",
    lambda paddle: paddle.baddbmm(
        paddle.ones([3, 2, 2]), paddle.ones([2, 2, 2]), paddle.ones([2, 2, 2])
    ),
)
for label, a, b, axes in [
    ("two", (2, 3, 4), (3, 4, 2), 2), ("one", (2, 3), (3, 4), 1), ("none", (2, 3), (2,), 0),
    ("shared", (2, 3, 4), (2, 3, 5), [0, 1]),
    ("pairs", (2, 3, 4), (4, 2, 5), [[0, 2], [1, 0]]), ("one_list", (2, 3), (2, 4), [[0]]),
    ("padded", (3, 3, 2), (3, 3, 4), [[0], [0, 1]]),
]:  # fmt: skip
    cases.op(
        f"tensordot_{label}",
        lambda paddle, x, y, axes=axes: paddle.tensordot(x, y, axes=axes),
        lambda d, a=a, b=b: (d.normal(*a), d.normal(*b)),
        rtol=1e-5,
    )
cases.error(
    "tensordot_sizes",
    lambda paddle: paddle.tensordot(paddle.ones([2, 3]), paddle.ones([2, 3]), axes=1),
)
for equation, shapes in {
    "ij,jk->ik": [(2, 3), (3, 4)], "ij,jk": [(2, 3), (3, 4)], "ii->i": [(3, 3)], "ii": [(3, 3)],
    "ij->": [(2, 3)],
    "...ij,...jk->...ik": [(2, 2, 3), (3, 4)], "i,j->ij": [(2,), (3,)],
    "i j, j k -> i k": [(2, 3), (3, 2)],
    "Ab,bC->AC": [(2, 3), (3, 2)], "bij,bjk,kl->bil": [(2, 2, 3), (2, 3, 2), (2, 2)],
    "ijk->kji": [(2, 3, 4)], "i...->...": [(2, 3, 4)],
    "bhqd,bhkd->bhqk": [(2, 2, 3, 4), (2, 2, 3, 4)], "ij,ij->j": [(2, 3), (2, 3)], "ba": [(2, 3)],
    "bi,i->b": [(2, 3), (3,)],
}.items():  # fmt: skip
    cases.op(
        f"einsum {equation}",
        lambda paddle, *operands, e=equation: paddle.einsum(e, *operands),
        lambda d, shapes=shapes: tuple(d.normal(*s) for s in shapes),
        rtol=1e-5,
    )
cases.error(
    "einsum_count", lambda paddle: paddle.einsum("ij", paddle.ones([2, 2]), paddle.ones([2, 2]))
)
cases.error("einsum_nothing", lambda paddle: paddle.einsum("ij->ji"))
cases.error(
    "einsum_sizes",
    lambda paddle: paddle.einsum("ij,jk->ik", paddle.ones([2, 3]), paddle.ones([2, 3])),
)
cases.error("einsum_unknown", lambda paddle: paddle.einsum("ij->iz", paddle.ones([2, 3])))
cases.op("trace", lambda paddle, x: paddle.trace(x), lambda d: d.normal(3, 4))
cases.op(
    "trace_offset",
    lambda paddle, x: paddle.trace(x, offset=-1, axis1=1, axis2=2),
    lambda d: d.normal(2, 3, 4),
)
cases.op("trace_int32", lambda paddle, x: x.trace(), lambda d: d.integers(3, 3, dtype="int32"))
cases.op("diagonal", lambda paddle, x: paddle.diagonal(x), lambda d: d.normal(3, 4))
cases.op("diagonal_offset", lambda paddle, x: x.diagonal(1, -1, -2), lambda d: d.normal(2, 3, 4))
cases.error("trace_vector", lambda paddle: paddle.trace(paddle.ones([3])))
cases.error("trace_same_axes", lambda paddle: paddle.trace(paddle.ones([3, 3]), axis1=0, axis2=0))
cases.error("diagonal_axis", lambda paddle: paddle.diagonal(paddle.ones([3, 3]), axis1=0, axis2=2))
cases.op(
    "multi_dot",
    lambda paddle, *m: paddle.linalg.multi_dot(list(m)),
    lambda d: (d.normal(2, 3), d.normal(3, 4), d.normal(4, 2)),
    rtol=1e-5,
)
cases.op(
    "multi_dot_vectors",
    lambda paddle, *m: paddle.linalg.multi_dot(list(m)),
    lambda d: (d.normal(3), d.normal(3, 4), d.normal(4)),
    rtol=1e-5,
)
cases.error("multi_dot_one", lambda paddle: paddle.linalg.multi_dot([paddle.ones([2, 2])]))

# -- norms and distances
# ------------------------------------------------------------------------------------------

for label, kwargs in {
    "default": {}, "keepdim": {"keepdim": True}, "fro": {"p": "fro"}, "one": {"p": 1},
    "three": {"p": 3.0}, "inf": {"p": INF},
    "minus_inf": {"p": -INF}, "axis": {"axis": 1},
    "axis_keepdim": {"p": 1.5, "axis": -1, "keepdim": True},
    "axis_list": {"p": 2, "axis": [0]}, "fro_axis": {"p": "fro", "axis": 0},
    "plane": {"axis": [0, 1]},
    "plane_fro": {"p": "fro", "axis": [0, 1], "keepdim": True},
    "plane_nuc": {"p": "nuc", "axis": [-2, -1]},
    "plane_1": {"p": 1, "axis": (0, 1)}, "plane_inf": {"p": INF, "axis": [0, 1]},
    "plane_-2": {"p": -2, "axis": [0, 1]},
    "dtype": {"dtype": "float64"},
}.items():  # fmt: skip
    cases.op(
        f"norm_{label}",
        lambda paddle, x, k=kwargs: paddle.norm(x, **k),
        lambda d: d.distinct(3, 4) + 0.1,
        rtol=1e-5,
    )
# a count: Paddle gives it a gradient of zeros, here it has none
cases.op(
    "norm_count",
    lambda paddle, x: paddle.norm(x, p=0),
    lambda d: d.integers(3, 3, high=2).astype("float32"),
)
cases.op(
    "dist_count",
    lambda paddle, x, y: paddle.dist(x, y, 0),
    lambda d: (d.normal(3), d.normal(3)),
)
cases.op(
    "norm_batch",
    lambda paddle, x: paddle.norm(x, p=2, axis=[1, 2]),
    lambda d: d.normal(2, 3, 3),
    rtol=1e-5,
)
cases.op("norm_0d", lambda paddle, x: paddle.norm(x), lambda d: d.normal())
cases.op("norm_zeros", lambda paddle, x: paddle.norm(x), lambda d: np.zeros(3, "float32"))
cases.op("norm_method", lambda paddle, x: x.norm(2, -1), lambda d: d.normal(2, 3), rtol=1e-5)
cases.error("norm_plane_p", lambda paddle: paddle.norm(paddle.ones([2, 2]), p=3, axis=[0, 1]))
cases.error("norm_text", lambda paddle: paddle.norm(paddle.ones([2, 2]), p="max"))
for p in (1.0, 2.0, 3.0, INF):
    cases.op(
        f"vector_norm_{p}",
        lambda paddle, x, p=p: paddle.linalg.vector_norm(x, p, axis=[0, 2]),
        lambda d: d.distinct(2, 3, 2) + 0.1,
        rtol=1e-5,
    )
    cases.op(
        f"dist_{p}",
        lambda paddle, x, y, p=p: paddle.dist(x, y, p),
        lambda d: (d.distinct(2, 3), d.distinct(3) + 0.1),
        rtol=1e-5,
    )
for p in ("fro", "nuc", 1, -1, 2, -2, INF, -INF):
    cases.op(
        f"matrix_norm_{p}",
        lambda paddle, x, p=p: paddle.linalg.matrix_norm(x, p),
        lambda d: d.distinct(3, 3) + 0.1,
        rtol=1e-5,
    )
cases.op("dist_equal", lambda paddle, x: paddle.dist(x, x), lambda d: d.normal(3))
for p in (0.0, 1.0, 2.0, 3.0, INF):
    cases.op(
        f"cdist_{p}",
        lambda paddle, x, y, p=p: paddle.cdist(x, y, p),
        lambda d: (d.normal(3, 4), d.normal(2, 4)),
        rtol=1e-5,
        grad=p > 0,
    )
cases.op(
    "cdist_batch",
    lambda paddle, x, y: paddle.cdist(x, y),
    lambda d: (d.normal(2, 3, 4), d.normal(2, 4)),
    rtol=1e-5,
)
cases.op(
    "cdist_exact",
    lambda paddle, x, y: paddle.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist"),
    lambda d: (d.normal(3, 4), d.normal(2, 4)),
    rtol=1e-5,
)
cases.error("cdist_vector", lambda paddle: paddle.cdist(paddle.ones([2, 2]), paddle.ones([2])))
cases.error(
    "cdist_p", lambda paddle: paddle.cdist(paddle.ones([2, 2]), paddle.ones([2, 2]), p=-1.0)
)
cases.error(
    "cdist_mode",
    lambda paddle: paddle.cdist(paddle.ones([2, 2]), paddle.ones([2, 2]), compute_mode="fast"),
)
cases.op("pdist", lambda paddle, x: paddle.pdist(x), lambda d: d.normal(4, 3), rtol=1e-5)
cases.op("pdist_1", lambda paddle, x: paddle.pdist(x, 1.0), lambda d: d.normal(4, 3), rtol=1e-5)
cases.error("pdist_vector", lambda paddle: paddle.pdist(paddle.ones([3])))

# -- decompositions and solvers; LAPACK's rounding differs, hence 1e-4
# --------------------------------------------------

LOOSE = 1e-4
for label, shape in [("one", (3, 3)), ("batch", (2, 3, 3))]:
    for fn in ("inv", "det", "slogdet", "matrix_exp", "svdvals"):
        cases.op(
            f"{fn}_{label}",
            lambda paddle, x, fn=fn: getattr(paddle.linalg, fn)(x),
            lambda d, s=shape: regular(d, *s),
            rtol=LOOSE,
        )
cases.op("inverse", lambda paddle, x: paddle.inverse(x), lambda d: regular(d, 3, 3), rtol=LOOSE)
cases.op(
    "det_singular",
    lambda paddle, x: paddle.linalg.det(x),
    lambda d: np.ones((2, 2), "float32"),
    grad=False,
)
cases.op(
    "slogdet_singular",
    lambda paddle, x: paddle.linalg.slogdet(x),
    lambda d: np.zeros((2, 2), "float32"),
    grad=False,
)
cases.error("inv_singular", lambda paddle: paddle.linalg.inv(paddle.zeros([2, 2])))
cases.error("inv_oblong", lambda paddle: paddle.linalg.inv(paddle.ones([2, 3])))
cases.error("det_oblong", lambda paddle: paddle.linalg.det(paddle.ones([2, 3])))
for n in (0, 1, 3, -2):
    cases.op(
        f"matrix_power_{n}",
        lambda paddle, x, n=n: paddle.linalg.matrix_power(x, n),
        lambda d: regular(d, 3, 3),
        rtol=LOOSE,
    )
cases.error(
    "matrix_power_oblong", lambda paddle: paddle.linalg.matrix_power(paddle.ones([2, 3]), 2)
)


@cases.add("svd", rtol=LOOSE)
def _(paddle, d):
    x = paddle.to_tensor(d.normal(4, 3))
    u, s, vh = paddle.linalg.svd(x)
    full = paddle.linalg.svd(x, full_matrices=True)
    # the signs of singular vectors are free
    return s, paddle.matmul(u * s, vh), paddle.abs(u), [list(t.shape) for t in full]


@cases.add("qr", rtol=LOOSE)
def _(paddle, d):
    x = paddle.to_tensor(d.normal(4, 3))
    x.stop_gradient = False
    q, r = paddle.linalg.qr(x)
    (q.abs().sum() + r.abs().sum() * 0.5).backward()
    complete = paddle.linalg.qr(x, mode="complete")
    return (
        paddle.abs(q),
        paddle.abs(r),
        x.grad,
        [list(t.shape) for t in complete],
        list(paddle.linalg.qr(x, mode="r").shape),
    )


@cases.add("eigh", rtol=LOOSE)
def _(paddle, d):
    x = paddle.to_tensor(spd(d))
    x.stop_gradient = False
    values, vectors = paddle.linalg.eigh(x)
    (values * paddle.to_tensor([1.0, 2.0, 3.0])).sum().backward()
    return values, paddle.abs(vectors), x.grad, paddle.linalg.eigh(x, UPLO="U")[0]


@cases.add("eigvals", rtol=LOOSE)
def _(paddle, d):
    x = paddle.to_tensor(spd(d))
    values, vectors = paddle.linalg.eig(x)
    order = np.argsort(values.numpy().real)
    return (
        values.numpy()[order],
        np.abs(vectors.numpy()[:, order]),
        np.sort(paddle.linalg.eigvals(x).numpy()),
        str(values.dtype),
    )


cases.op("eigvalsh", lambda paddle, x: paddle.linalg.eigvalsh(x), lambda d: spd(d), rtol=LOOSE)
cases.op(
    "eigvalsh_upper",
    lambda paddle, x: paddle.linalg.eigvalsh(x, UPLO="U"),
    lambda d: spd(d),
    rtol=LOOSE,
)
cases.error("eigh_oblong", lambda paddle: paddle.linalg.eigh(paddle.ones([2, 3])))
cases.error("eigh_uplo", lambda paddle: paddle.linalg.eigh(paddle.ones([2, 2]), UPLO="X"))
cases.error("qr_mode", lambda paddle: paddle.linalg.qr(paddle.ones([2, 2]), mode="full"))
cases.error("svd_vector", lambda paddle: paddle.linalg.svd(paddle.ones([3])))
cases.op("cholesky", lambda paddle, x: paddle.linalg.cholesky(x), lambda d: spd(d), rtol=LOOSE)
cases.op(
    "cholesky_upper", lambda paddle, x: paddle.cholesky(x, upper=True), lambda d: spd(d), rtol=LOOSE
)
cases.error(
    "cholesky_indefinite",
    lambda paddle: paddle.linalg.cholesky(paddle.to_tensor([[1.0, 2.0], [2.0, 1.0]])),
)
cases.error("cholesky_oblong", lambda paddle: paddle.linalg.cholesky(paddle.ones([2, 3])))
cases.op(
    "cholesky_solve",
    lambda paddle, x, y: paddle.linalg.cholesky_solve(x, y),
    lambda d: (d.normal(3, 2), np.linalg.cholesky(spd(d))),
    rtol=LOOSE,
)
cases.op(
    "cholesky_solve_upper",
    lambda paddle, x, y: paddle.linalg.cholesky_solve(x, y, upper=True),
    lambda d: (d.normal(3, 2), np.linalg.cholesky(spd(d)).T.copy()),
    rtol=LOOSE,
)
cases.op(
    "cholesky_inverse",
    lambda paddle, x: paddle.linalg.cholesky_inverse(x),
    lambda d: np.linalg.cholesky(spd(d)),
    rtol=LOOSE,
    grad=False,
)
for label, a, b in [
    ("vector", (3, 3), (3,)),
    ("matrix", (3, 3), (3, 2)),
    ("batch", (2, 3, 3), (3, 2)),
    ("vectors", (2, 3, 3), (2, 3)),
]:
    cases.op(
        f"solve_{label}",
        lambda paddle, x, y: paddle.linalg.solve(x, y),
        lambda d, a=a, b=b: (regular(d, *a), d.normal(*b)),
        rtol=LOOSE,
    )
cases.op(
    "solve_right",
    lambda paddle, x, y: paddle.linalg.solve(x, y, left=False),
    lambda d: (regular(d, 3, 3), d.normal(2, 3)),
    rtol=LOOSE,
)
cases.error(
    "solve_singular", lambda paddle: paddle.linalg.solve(paddle.zeros([2, 2]), paddle.ones([2]))
)
for upper in (True, False):
    for transpose in (True, False):
        cases.op(
            f"triangular_solve_{upper}_{transpose}",
            lambda paddle, x, y, u=upper, t=transpose: paddle.linalg.triangular_solve(
                x, y, upper=u, transpose=t
            ),
            lambda d: (regular(d, 3, 3), d.normal(3, 2)),
            rtol=LOOSE,
        )
cases.op(
    "triangular_solve_unit",
    lambda paddle, x, y: paddle.linalg.triangular_solve(x, y, unitriangular=True),
    lambda d: (d.normal(3, 3), d.normal(3, 2)),
    rtol=LOOSE,
)
for driver in (None, "gels", "gelsy", "gelsd", "gelss"):
    cases.op(
        f"lstsq_{driver}",
        lambda paddle, x, y, driver=driver: paddle.linalg.lstsq(x, y, driver=driver),
        lambda d: (d.normal(4, 3), d.normal(4, 2)),
        rtol=LOOSE,
        grad=False,
    )
cases.op(
    "lstsq_wide",
    lambda paddle, x, y: paddle.linalg.lstsq(x, y)[0],
    lambda d: (d.normal(3, 4), d.normal(3, 2)),
    rtol=LOOSE,
    grad=False,
)
cases.error(
    "lstsq_driver",
    lambda paddle: paddle.linalg.lstsq(paddle.ones([2, 2]), paddle.ones([2, 1]), driver="svd"),
)
cases.op("lu", lambda paddle, x: paddle.linalg.lu(x), lambda d: d.normal(3, 3), rtol=LOOSE)
cases.op(
    "lu_infos",
    lambda paddle, x: paddle.linalg.lu(x, get_infos=True),
    lambda d: d.normal(2, 3, 3),
    rtol=LOOSE,
    grad=False,
)
cases.op(
    "lu_unpack",
    lambda paddle, x: paddle.linalg.lu_unpack(*paddle.linalg.lu(x)),
    lambda d: d.normal(4, 3),
    rtol=LOOSE,
    grad=False,
)
cases.op(
    "lu_solve",
    lambda paddle, b, x: paddle.linalg.lu_solve(b, *paddle.linalg.lu(x)),
    lambda d: (d.normal(3, 2), regular(d, 3, 3)),
    rtol=LOOSE,
    grad=False,
)
cases.op(
    "lu_solve_transposed",
    lambda paddle, b, x: paddle.linalg.lu_solve(b, *paddle.linalg.lu(x), trans="T"),
    lambda d: (d.normal(3, 2), regular(d, 3, 3)),
    rtol=LOOSE,
    grad=False,
)
cases.op("pinv", lambda paddle, x: paddle.linalg.pinv(x), lambda d: d.normal(4, 3), rtol=LOOSE)
cases.op(
    "pinv_hermitian",
    lambda paddle, x: paddle.linalg.pinv(x, hermitian=True),
    lambda d: spd(d),
    rtol=LOOSE,
)
cases.op(
    "pinv_rcond",
    lambda paddle, x: paddle.linalg.pinv(x, rcond=0.9),
    lambda d: d.normal(4, 3),
    rtol=LOOSE,
    grad=False,
)
cases.op(
    "matrix_rank",
    lambda paddle, x: paddle.linalg.matrix_rank(x),
    lambda d: d.normal(2, 4, 3),
    grad=False,
)
cases.op(
    "matrix_rank_low",
    lambda paddle, x: paddle.linalg.matrix_rank(x),
    lambda d: np.ones((3, 3), "float32"),
    grad=False,
)
cases.op(
    "matrix_rank_tol",
    lambda paddle, x: paddle.linalg.matrix_rank(x, tol=2.0),
    lambda d: np.diag([1.0, 3.0, 5.0]).astype("float32"),
    grad=False,
)
cases.op(
    "matrix_rank_rtol",
    lambda paddle, x: paddle.linalg.matrix_rank(x, atol=0.5, rtol=0.5),
    lambda d: np.diag([1.0, 3.0, 5.0]).astype("float32"),
    grad=False,
)
cases.op(
    "matrix_rank_hermitian",
    lambda paddle, x: paddle.linalg.matrix_rank(x, hermitian=True),
    lambda d: spd(d),
    grad=False,
)
for p in (None, "fro", "nuc", 1, -1, 2, -2, INF, -INF):
    cases.op(
        f"cond_{p}",
        lambda paddle, x, p=p: paddle.linalg.cond(x, p),
        lambda d: regular(d, 3, 3),
        rtol=LOOSE,
    )
cases.error("cond_p", lambda paddle: paddle.linalg.cond(paddle.ones([2, 2]), p=3))
cases.error("cond_oblong", lambda paddle: paddle.linalg.cond(paddle.ones([2, 3]), p=1))
cases.op("cov", lambda paddle, x: paddle.linalg.cov(x), lambda d: d.normal(3, 5), rtol=1e-5)
cases.op(
    "cov_columns",
    lambda paddle, x: paddle.linalg.cov(x, rowvar=False, ddof=False),
    lambda d: d.normal(5, 3),
    rtol=1e-5,
)
cases.op("cov_vector", lambda paddle, x: paddle.linalg.cov(x), lambda d: d.normal(5), rtol=1e-5)
cases.op(
    "cov_weights",
    lambda paddle, x, f, a: paddle.linalg.cov(x, fweights=f, aweights=a),
    lambda d: (d.normal(3, 5), d.integers(5, low=1), d.uniform(5)),
    rtol=1e-5,
    grad=False,
)
cases.op(
    "corrcoef",
    lambda paddle, x: paddle.linalg.corrcoef(x),
    lambda d: d.normal(3, 5),
    rtol=1e-5,
    grad=False,
)
cases.op(
    "corrcoef_columns",
    lambda paddle, x: paddle.linalg.corrcoef(x, rowvar=False),
    lambda d: d.normal(5, 3),
    rtol=1e-5,
    grad=False,
)
cases.error("cov_rank", lambda paddle: paddle.linalg.cov(paddle.ones([2, 2, 2])))
cases.op(
    "householder_product",
    lambda paddle, x, tau: paddle.linalg.householder_product(x, tau),
    lambda d: (d.normal(4, 3), d.uniform(3)),
    rtol=LOOSE,
    grad=False,
)
cases.op(
    "ormqr",
    lambda paddle, x, tau, y: paddle.linalg.ormqr(x, tau, y),
    lambda d: (d.normal(4, 3), d.uniform(3), d.normal(3, 2)),
    rtol=LOOSE,
    grad=False,
)
cases.op(
    "ormqr_right",
    lambda paddle, x, tau, y: paddle.linalg.ormqr(x, tau, y, left=False, transpose=True),
    lambda d: (d.normal(3, 3), d.uniform(3), d.normal(2, 3)),
    rtol=LOOSE,
    grad=False,
)
cases.error(
    "ormqr_shapes",
    lambda paddle: paddle.linalg.ormqr(paddle.ones([4, 3]), paddle.ones([3]), paddle.ones([4, 2])),
)


@cases.add("low_rank", rtol=LOOSE)
def _(paddle, d):
    x = paddle.to_tensor((d.normal(6, 2) @ d.normal(2, 5)).astype("float32"))
    u, s, v = paddle.linalg.svd_lowrank(x, q=2)
    _, s_pca, _ = paddle.linalg.pca_lowrank(x, q=2)
    return s, paddle.matmul(u * s, v, transpose_y=True), s_pca
