"""Products of matrices and vectors, norms and distances. Decompositions are in
``decomposition``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation import torch_private as private
from argosy.foundation.errors import OutOfRange, RankError, UsageError
from argosy.foundation.gradients import home_of, product
from argosy.foundation.weight_first import weight_first
from argosy.ops import composition
from argosy.ops.math import promotion
from argosy.ops.math.elementwise import add, matmul
from argosy.ops.math.p_norm import p_norm
from argosy.ops.table import define, op
from argosy.ops.traits import Precision, Record, Rows


def _linear_parts(record: Record, x: Any, weight: Any, bias: Any = None) -> Any:
    product = record(matmul, x, weight)
    return product if bias is None else record(add, product, bias)


@op("linear", precision={"linear_v2": Precision.WHITE}, layer="linear", parts=_linear_parts)
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight + bias`` with weight laid out [in, out]."""
    has_grad, ndim = torch.is_grad_enabled(), x.ndim
    if has_grad and ndim > 1:
        home = home_of(weight)
        if home is not None and _is_at_home(x, weight, bias):
            if home.is_urgent and x.requires_grad:
                return weight_first(x, weight, bias, _affine, gradient_of_x, _gradient_of_weight)
            return _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    if ndim != 2 or bias is None:
        product = torch.matmul(x, weight)
        return product if bias is None else product + bias
    # its size first: of small programs every call counts
    if x.shape[0] * weight.numel() >= _MANY:
        if not has_grad:
            return _affine(x, weight, bias)
        if suits_onednn(x, weight, bias):
            return _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return torch.addmm(bias, x, weight)


def _is_at_home(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether the gradient of ``weight`` is the product that a home takes, and ``_Linear`` can make
    it.
    """
    return (
        weight.ndim == 2
        and (bias is None or bias.shape == weight.shape[1:])
        and x.dtype is weight.dtype
        and x.layout is torch.strided
        and not torch.is_autocast_enabled(x.device.type)
        and not private.has_other_derivatives()
    )


@op("linear_relu", precision={"linear_v2": Precision.WHITE})
def linear_relu(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``linear`` and its positive part in the same memory: what runs in place of the two."""
    out = linear.fn(x, weight, bias)
    return torch.relu(out) if out._is_view() else out.relu_()  # positive_part, without its frame


def positive_part(out: Tensor) -> Tensor:
    """The positive part of what nobody else reads, in its memory, unless it shares that with a part
    of the graph, as what ``weight_first`` gives does.
    """
    return torch.relu(out) if out._is_view() else out.relu_()


# From so many products on oneDNN is the faster of torch's two libraries at a product whose inner
# axis is the last of the left side; below it its calls cost more. Measured on one core of a Zen 4:
# a tenth for most shapes, 1.3 to 1.9 times where a row is no multiple of a cache line.
_MANY = 1 << 24


def suits_onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether a product is worth a library of its own."""
    return (
        x.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and (bias is None or bias.dtype == torch.float32)
        and x.shape[0] * weight.numel() >= _MANY
        and private.onednn_linear is not None
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cpu")
    )


class _Linear(torch.autograd.Function):
    """``linear`` whose weight gradient is written where a reducer wants it, if that place is free,
    one pass over memory less; the other products are made by oneDNN where that is faster.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _affine(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        if grad.ndim != 2:
            grad = grad.contiguous()  # once for all three
        grad_x = gradient_of_x(grad, x, weight) if ctx.needs_input_grad[0] else None
        grad_weight = _gradient_of_weight(grad, x, weight) if ctx.needs_input_grad[1] else None
        return grad_x, grad_weight, _rows(grad).sum(0) if ctx.needs_input_grad[2] else None


def _affine(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``linear`` where gradients are off."""
    if x.ndim != 2 or bias is None:
        return linear.fn(x, weight, bias)
    if private.onednn_linear is not None and suits_onednn(x, weight, bias):
        return private.onednn_linear(x, weight.t(), bias, "none", [], "")
    return torch.addmm(bias, x, weight)


def _rows(tensor: Tensor) -> Tensor:
    return tensor if tensor.ndim == 2 else tensor.reshape(-1, tensor.shape[-1])


def gradient_of_x(grad: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    # with create_graph the product must be differentiable
    if (
        private.onednn_linear is None
        or torch.is_grad_enabled()
        or grad.ndim != 2
        or not suits_onednn(grad, weight, None)
    ):
        return grad @ weight.t()
    return private.onednn_linear(grad, weight, None, "none", [], "")


def _gradient_of_weight(grad: Tensor, x: Tensor, weight: Tensor) -> Tensor | None:
    return product(weight, _rows(x).t(), _rows(grad))


bmm = define("bmm", torch.bmm, ("x", "y"))
mv = define("mv", torch.mv, ("x", "vec"))


@op("dot")
def dot(x: Tensor, y: Tensor) -> Tensor:
    """The inner product of two vectors, or of the rows of two matrices."""
    if x.ndim not in (1, 2) or x.shape != y.shape:
        raise UsageError(
            f"dot: x and y must be equal in shape, 1-D or 2-D, but received {list(x.shape)}, "
            f"{list(y.shape)}"
        )
    return torch.dot(x, y) if x.ndim == 1 else torch.sum(x * y, -1, dtype=x.dtype)


@op("inner", file_parts=composition.inner)
def inner(x: Tensor, y: Tensor) -> Tensor:
    return torch.inner(x, y)


@op("outer", rows=Rows.OTHER, file_parts=composition.outer)
def outer(x: Tensor, y: Tensor) -> Tensor:
    """The outer product of the flattened inputs."""
    x, y = promotion.align(x, y)
    return torch.outer(x.reshape(-1), y.reshape(-1))


@op("kron")
def kron(x: Tensor, y: Tensor) -> Tensor:
    x, y = promotion.align(x, y)
    return torch.kron(x, y)


@op("vecdot")
def vecdot(x: Tensor, y: Tensor, axis: int = -1) -> Tensor:
    return torch.linalg.vecdot(x, y, dim=axis)


@op("cross", types=("cross(X, Y, dim:nine)",))
def cross(x: Tensor, y: Tensor, axis: int | None = None) -> Tensor:
    """The vector product along ``axis``, by default the first axis of extent 3."""
    if x.shape != y.shape:
        raise UsageError(
            f"cross: x and y must be equal in shape, but received {list(x.shape)} and "
            f"{list(y.shape)}"
        )
    if axis is None:
        if 3 not in x.shape:
            raise UsageError(f"cross: no axis of shape {list(x.shape)} has extent 3")
        axis = x.shape.index(3)
    return torch.linalg.cross(x, y, dim=axis)


@op("addmm", types=("addmm(Input, X, Y, @Beta, @Alpha)",))
def addmm(input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    if input.ndim not in (1, 2):
        raise UsageError(
            f"addmm: the dimension of input should be 2 or 1, but its shape is {list(input.shape)}"
        )
    return torch.addmm(input, x, y, beta=beta, alpha=alpha)


@op("baddbmm")
def baddbmm(input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """``beta * input + alpha * (x @ y)``; an input of rank 2 has one row for each matrix of the
    batch.
    """
    if input.ndim == 2:
        input = input.unsqueeze(1)
    return torch.baddbmm(input, x, y, beta=beta, alpha=alpha)


@op("tensordot", rows=Rows.OTHER)
def tensordot(x: Tensor, y: Tensor, axes_x: list[int], axes_y: list[int]) -> Tensor:
    """Sum products over pairs of axes, of which one may have size 1; the remaining axes of ``x``,
    then those of ``y``, are left.
    """
    for a, b in zip(axes_x, axes_y, strict=True):
        if x.shape[a] != y.shape[b] and 1 not in (x.shape[a], y.shape[b]):
            raise RankError(
                f"tensordot: x has size {x.shape[a]} in axis {a} while y has size {y.shape[b]} "
                f"in axis {b}; "
                "sizes of contracted axes must be equal"
            )
    return torch.tensordot(x, y, dims=(axes_x, axes_y))


@op("einsum", precision=Precision.WHITE, rows=Rows.OTHER)
def einsum(operands: list[Tensor], equation: str) -> Tensor:
    return torch.einsum(equation, *operands)


@op("multi_dot")
def multi_dot(x: list[Tensor]) -> Tensor:
    """The product of all matrices, in the order of association that costs least."""
    return torch.linalg.multi_dot(x)


@op("diagonal", types=("diagonal(Input, offset, axis1, axis2)",))
def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """A view of the diagonals of the planes that two axes span, as a new last axis."""
    for axis in (axis1, axis2):
        if x.ndim < 2 or not -x.ndim <= axis < x.ndim:
            raise OutOfRange(
                f"diagonal: axis {axis} is out of range for a tensor of shape {list(x.shape)}"
            )
    return torch.diagonal(x, offset, axis1, axis2)


@op("trace", types=("trace(Input, offset, axis1, axis2)",))
def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    plane: Tensor = diagonal.fn(x, offset, axis1, axis2)
    return torch.sum(plane, -1, dtype=x.dtype)


@op(
    "vector_norm",
    precision={"pnorm": Precision.BLACK},
    types=("p_norm(X, porder, axis:vector, keepdim, -, epsilon~1e-12)",),
)
def vector_norm(
    x: Tensor,
    p: float = 2.0,
    axis: Any = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    return p_norm(x, p, axis, keepdim, dtype)


@op("frobenius_norm", types=("frobenius_norm(X, dim:axes, keep_dim)",))
def frobenius_norm(x: Tensor, axis: Any, keepdim: bool) -> Tensor:
    return p_norm(x, 2.0, axis, keepdim)


@op("matrix_norm", precision={"frobenius_norm": Precision.BLACK})
def matrix_norm(
    x: Tensor, p: Any, axis: list[int], keepdim: bool = False, dtype: torch.dtype | None = None
) -> Tensor:
    if p not in ("fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf")):
        raise UsageError(
            "norm: over two axes p must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, but "
            f"received {p!r}"
        )
    return torch.linalg.matrix_norm(x, p, axis, keepdim, dtype=dtype)


@op("dist", precision=Precision.BLACK)
def dist(x: Tensor, y: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm of ``x - y``, broadcast and flattened."""
    return p_norm(x - y, p)


@op("cdist")
def cdist(x: Tensor, y: Tensor, p: float, compute_mode: str) -> Tensor:
    """p-norm distances between the rows of ``x`` and the rows of ``y``."""
    for name, matrix in (("x", x), ("y", y)):
        if matrix.ndim < 2:
            raise RankError(
                f"cdist: {name} must be at least 2-dimensional, but its shape is "
                f"{list(matrix.shape)}"
            )
    if x.shape[-1] != y.shape[-1]:
        raise RankError(
            f"cdist: x and y must have equal last extents, but received {list(x.shape)} and "
            f"{list(y.shape)}"
        )
    if p < 0:
        raise RankError(f"cdist: p must be >= 0, but received {p}")
    return torch.cdist(x, y, p, compute_mode)


@op("pdist")
def pdist(x: Tensor, p: float = 2.0) -> Tensor:
    """p-norm distances between every two different rows, in order (0, 1), (0, 2), ..., (n-2,
    n-1).
    """
    if x.ndim != 2:
        raise RankError(f"pdist: x must be 2-dimensional, but its shape is {list(x.shape)}")
    return torch.pdist(x, p)


@op("pairwise_distance", file_parts=composition.pairwise_distance)
def pairwise_distance(
    x: Tensor, y: Tensor, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """p-norm over the last axis of ``x - y + epsilon``."""
    gap = x - y
    return p_norm(gap + epsilon if epsilon else gap, p, -1, keepdim)
