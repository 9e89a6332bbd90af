"""Activations."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from argosy.foundation.errors import UsageError
from argosy.ops import composition, sketch
from argosy.ops.table import define, op
from argosy.ops.traits import Precision, Record

relu = define("relu", torch.relu, ("x",), precision=Precision.GRAY, sketch=sketch.like)
sigmoid = define("sigmoid", torch.sigmoid, ("x",), precision=Precision.GRAY, sketch=sketch.like)
silu = define("silu", F.silu, ("x",))
swish = define("swish", F.silu, ("x",), types=("swish(X, beta=1.0)",))
mish = define("mish", F.mish, ("x",))
softsign = define("softsign", F.softsign, ("x",))
log_sigmoid = define("log_sigmoid", F.logsigmoid, ("x",), types=("logsigmoid",))
tanhshrink = define(
    "tanhshrink", F.tanhshrink, ("x",), types=("tanh_shrink",), precision=Precision.BLACK
)


@op("relu6", precision=Precision.GRAY, types=("relu6(X, threshold=6.0)",))
def relu6(x: Tensor) -> Tensor:
    return F.hardtanh(x, 0.0, 6.0)


@op("leaky_relu", precision=Precision.GRAY, types=("leaky_relu(X, alpha)",))
def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """``x`` where it is not negative; the slope at 0 is 1, where torch has ``negative_slope``."""
    if x.requires_grad and torch.is_grad_enabled():
        leaky: Tensor = _LeakyReLU.apply(x, negative_slope)  # type: ignore[no-untyped-call]
        return leaky
    return F.leaky_relu(x, negative_slope)


class _LeakyReLU(torch.autograd.Function):
    """torch's forward with slope 1 at 0 in backward, where torch's own kernel takes ``x > 0``.

    Moving x up by the least number that makes 0 positive keeps that kernel: torch.where is several
    times slower.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.slope = slope
        return F.leaky_relu(x, slope)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        info = torch.finfo(x.dtype)
        least = info.tiny * info.eps if x.dtype is torch.float16 else info.tiny
        return torch.ops.aten.leaky_relu_backward(grads[0], x + least, ctx.slope, False), None


def _prelu_parts(record: Record, x: Any, weight: Any, channels_last: bool = False) -> Any:
    """Paddle tells one number from one per channel."""
    return (
        NotImplemented if weight.size == 1 else record(prelu_by_channel, x, weight, channels_last)
    )


@op("prelu_by_channel", types=("prelu(X, Alpha, data_format:NCHW, mode='channel')",))
def prelu_by_channel(x: Tensor, weight: Tensor, channels_last: bool = False) -> Tensor:
    return prelu.fn(x, weight.reshape(-1), channels_last)


@op(
    "prelu",
    types=("prelu(X, Alpha, data_format:NCHW, mode='all')",),
    file_parts=_prelu_parts,
)
def prelu(x: Tensor, weight: Tensor, channels_last: bool = False) -> Tensor:
    """Scale negative values by ``weight``: one number, or one per channel."""
    if weight.numel() == 1:
        return F.prelu(x, weight.reshape(1))
    if channels_last:
        return F.prelu(x.movedim(-1, 1), weight).movedim(1, -1)
    return F.prelu(x, weight)


@op(
    "rrelu",
    types=("rrelu(X, lower, upper, is_test:not) -> Out, Noise",),
    is_random=True,
    test_attrs={"training": False},
)
def rrelu(x: Tensor, lower: float, upper: float, training: bool = True) -> Tensor:
    """Scale negative values by random slopes, or by their mean outside training; the slope at 0 is
    1.
    """
    if not training:
        return leaky_relu.fn(x, (lower + upper) / 2.0)
    slopes = torch.empty_like(x, requires_grad=False).uniform_(lower, upper)
    return torch.where(x < 0, x * slopes, x)


@op("elu")
def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return F.elu(x, alpha)


@op("celu")
def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return F.celu(x, alpha)


@op("selu")
def selu(x: Tensor, scale: float, alpha: float) -> Tensor:
    return scale * F.elu(x, alpha)


@op("gelu", types=("gelu(X, approximate:gelu)",))
def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    return F.gelu(x, approximate=approximate)


@op("hardsigmoid", types=("hard_sigmoid",), layer="hardsigmoid")
def hardsigmoid(x: Tensor, slope: float, offset: float) -> Tensor:
    return F.hardtanh(x * slope + offset, 0.0, 1.0)


@op("hardswish", layer="hardswish", types=("hard_swish(X, threshold=6.0, scale=6.0, offset=3.0)",))
def hardswish(x: Tensor) -> Tensor:
    return F.hardswish(x)


@op("hardtanh", types=("brelu(X, t_min, t_max)",))
def hardtanh(x: Tensor, min: float = -1.0, max: float = 1.0) -> Tensor:
    return F.hardtanh(x, min, max)


@op("hardshrink", types=("hard_shrink",))
def hardshrink(x: Tensor, threshold: float = 0.5) -> Tensor:
    """Zero inside the open interval (-threshold, threshold); torch's includes its ends."""
    return torch.where(x.abs() < threshold, torch.zeros_like(x), x)


@op("softshrink", types=("softshrink(X, lambda)",))
def softshrink(x: Tensor, threshold: float = 0.5) -> Tensor:
    return F.softshrink(x, threshold)


@op("softplus", precision=Precision.BLACK)
def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return F.softplus(x, beta, threshold)


@op("thresholded_relu", types=("thresholded_relu(X, threshold, -0.0)",))
def thresholded_relu(x: Tensor, threshold: float = 1.0, value: float = 0.0) -> Tensor:
    return F.threshold(x, threshold, value)


@op("maxout")
def maxout(x: Tensor, groups: int, axis: int = 1) -> Tensor:
    """The largest of each ``groups`` neighbouring channels; the first of equal ones gets the
    gradient.
    """
    axis = axis % x.ndim
    channels = x.shape[axis]
    if channels % groups:
        raise UsageError(
            f"maxout: the {channels} channels of axis {axis} cannot be divided into groups of "
            f"{groups}"
        )
    return (
        x.reshape(*x.shape[:axis], channels // groups, groups, *x.shape[axis + 1 :])
        .max(axis + 1)
        .values
    )


@op("glu", file_parts=composition.glu)
def glu(x: Tensor, axis: int = -1) -> Tensor:
    return F.glu(x, axis)


@op("swiglu")
def swiglu(x: Tensor, y: Tensor | None = None) -> Tensor:
    """``silu(x) * y``; without ``y`` the last axis of ``x`` holds both halves."""
    if y is None:
        if x.shape[-1] % 2:
            raise UsageError(
                f"swiglu: the last dimension of x must be even, but its shape is {list(x.shape)}"
            )
        x, y = x.chunk(2, -1)
    return F.silu(x) * y


@op("gumbel_softmax", is_random=True)
def gumbel_softmax(
    x: Tensor, temperature: float = 1.0, hard: bool = False, axis: int = -1
) -> Tensor:
    return F.gumbel_softmax(x, temperature, hard, dim=axis)
