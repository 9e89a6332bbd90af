"""Activation functions."""

from __future__ import annotations

from typing import Any

from argosy.foundation import dtypes
from argosy.foundation.errors import RankError, UsageError
from argosy.ops.nn import activation as ops
from argosy.ops.nn import softmax as softmaxes
from argosy.tensor.engine import apply, make_inplace, store, unary
from argosy.tensor.math import sigmoid, tanh, tanh_

__all__ = [
    "celu", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hardtanh_",
    "leaky_relu", "leaky_relu_", "log_sigmoid", "log_softmax", "logsigmoid", "maxout", "mish",
    "prelu", "relu", "relu6",
    "relu_", "rrelu", "selu", "sigmoid", "silu", "softmax", "softmax_", "softplus", "softshrink",
    "softsign", "swiglu",
    "swish", "tanh", "tanh_", "tanhshrink", "thresholded_relu", "thresholded_relu_",
]  # fmt: skip

relu = unary(ops.relu, "``max(x, 0)``. Differs from Paddle: nan stays nan, there it becomes 0.")
relu6 = unary(ops.relu6, "``min(max(x, 0), 6)``.")
hardswish = unary(ops.hardswish, "``x * relu6(x + 3) / 6``.")
log_sigmoid = unary(ops.log_sigmoid, "``log(sigmoid(x))`` without overflow.")
logsigmoid = log_sigmoid
mish = unary(ops.mish, "``x * tanh(softplus(x))``.")
softsign = unary(ops.softsign, "``x / (1 + abs(x))``.")
swish = unary(ops.swish, "``x * sigmoid(x)``.", "swish")
tanhshrink = unary(ops.tanhshrink, "``x - tanh(x)``.")


def silu(x: Any, inplace: bool = False, name: str | None = None) -> Any:
    """Compute ``x * sigmoid(x)``; with ``inplace`` the result also replaces ``x``."""
    return _silu_(x) if inplace else apply(ops.silu, x)


_silu_ = make_inplace(silu)


def leaky_relu(x: Any, negative_slope: float = 0.01, name: str | None = None) -> Any:
    """``x`` where it is not negative, else ``negative_slope * x``."""
    return apply(ops.leaky_relu, x, negative_slope)


def prelu(x: Any, weight: Any, data_format: str = "NCHW", name: str | None = None) -> Any:
    """``leaky_relu`` with a learned slope: one number, or one for each channel."""
    formats = ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")
    if data_format not in formats:
        raise UsageError(
            f"prelu: data_format must be one of {', '.join(formats)}, but received {data_format!r}"
        )
    if len(weight.shape) > 1:
        raise RankError(
            f"prelu: the shape of weight must be [1] or [channels], but received {weight.shape}"
        )
    channels_last = data_format.endswith("C") and data_format != "NC"
    if weight.size > 1:
        _check_slopes(x, weight, channels_last)
    return apply(ops.prelu, x, weight, channels_last)


def _check_slopes(x: Any, weight: Any, channels_last: bool) -> None:
    shape = x.shape
    if len(shape) < 2:
        raise RankError(
            "prelu: a weight with several slopes needs x of 2 or more dimensions, but x has "
            f"shape {shape}"
        )
    channels = shape[-1] if channels_last else shape[1]
    if weight.size != channels:
        raise RankError(
            f"prelu: weight has {weight.size} slopes, but x of shape {shape} has {channels} "
            "channels"
        )


def rrelu(
    x: Any,
    lower: float = 1.0 / 8.0,
    upper: float = 1.0 / 3.0,
    training: bool = True,
    name: str | None = None,
) -> Any:
    """``leaky_relu`` with slopes drawn from [lower, upper] in training, and their mean
    otherwise.
    """
    for bound, value in (("lower", lower), ("upper", upper)):
        if not 0 <= value <= 1:
            raise UsageError(f"rrelu: {bound} must lie in [0, 1], but received {value}")
    if upper < lower:
        raise UsageError(
            f"rrelu: upper must not be less than lower, but received lower={lower}, upper={upper}"
        )
    return apply(ops.rrelu, x, lower, upper, training)


def elu(x: Any, alpha: float = 1.0, name: str | None = None) -> Any:
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``."""
    return apply(ops.elu, x, alpha)


def celu(x: Any, alpha: float = 1.0, name: str | None = None) -> Any:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""
    if alpha == 0:
        raise ZeroDivisionError("celu: alpha must not be 0")
    return apply(ops.celu, x, alpha)


def selu(
    x: Any,
    scale: float = 1.0507009873554804934193349852946,
    alpha: float = 1.6732632423543772848170429916717,
    name: str | None = None,
) -> Any:
    """``scale * elu(x, alpha)``, by default with the constants that keep activations normalised."""
    if scale <= 1.0:
        raise UsageError(f"selu: scale must be greater than 1.0, but received {scale}")
    if alpha < 0:
        raise UsageError(f"selu: alpha must not be negative, but received {alpha}")
    return apply(ops.selu, x, scale, alpha)


_GELU_FORMS = {False: "none", True: "tanh", "none": "none", "tanh": "tanh"}


def gelu(x: Any, approximate: Any = False, name: str | None = None) -> Any:
    """``x`` times the normal distribution function of ``x``; True or "tanh" approximates it."""
    form = _GELU_FORMS.get(approximate)
    if form is None:
        raise UsageError(
            f"gelu: approximate must be a bool, 'tanh' or 'none', but received {approximate!r}"
        )
    return apply(ops.gelu, x, form)


def hardsigmoid(
    x: Any, slope: float = 0.1666667, offset: float = 0.5, name: str | None = None
) -> Any:
    """``slope * x + offset`` limited to [0, 1]."""
    return apply(ops.hardsigmoid, x, slope, offset)


def hardtanh(x: Any, min: float = -1.0, max: float = 1.0, name: str | None = None) -> Any:
    """Limit ``x`` to [min, max]; unlike ``clip``, no gradient passes at the bounds."""
    return apply(ops.hardtanh, x, min, max)


def hardshrink(x: Any, threshold: float = 0.5, name: str | None = None) -> Any:
    """Zero where ``abs(x) < threshold``, else ``x``."""
    return apply(ops.hardshrink, x, threshold)


def softshrink(x: Any, threshold: float = 0.5, name: str | None = None) -> Any:
    """Move values towards zero by ``threshold``, and those nearer than it to zero."""
    if threshold < 0:
        raise UsageError(f"softshrink: threshold must not be negative, but received {threshold}")
    return apply(ops.softshrink, x, threshold)


def softplus(x: Any, beta: float = 1, threshold: float = 20, name: str | None = None) -> Any:
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` exceeds ``threshold``."""
    return apply(ops.softplus, x, beta, threshold)


def thresholded_relu(
    x: Any, threshold: float = 1.0, value: float = 0.0, name: str | None = None
) -> Any:
    """``x`` where it exceeds ``threshold``, else ``value``."""
    return apply(ops.thresholded_relu, x, threshold, value)


def maxout(x: Any, groups: int, axis: int = 1, name: str | None = None) -> Any:
    """The largest of each ``groups`` neighbouring channels of a 4-d tensor."""
    if axis not in (1, -1, 3):
        raise UsageError(f"maxout: axis must be 1, 3 or -1, but received {axis}")
    if len(x.shape) != 4:
        raise UsageError(f"maxout: x must have 4 dimensions, but its shape is {x.shape}")
    return apply(ops.maxout, x, groups, axis)


def glu(x: Any, axis: int = -1, name: str | None = None) -> Any:
    """Split in two along ``axis`` and compute ``first * sigmoid(second)``."""
    return apply(ops.glu, x, axis)


def swiglu(x: Any, y: Any = None, name: str | None = None) -> Any:
    """``silu(x) * y``; without ``y`` the last axis of ``x`` holds both halves."""
    return apply(ops.swiglu, x) if y is None else apply(ops.swiglu, x, y)


def softmax(
    x: Any, axis: int = -1, dtype: Any = None, name: str | None = None, *, out: Any = None
) -> Any:
    """Exponentials along ``axis`` divided by their sum; ``x`` is first cast to ``dtype``.

    On a CPU, as with Paddle's kernels, no probability is less than e^-64 times the largest.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.softmax(paddle.zeros([4])).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    result = apply(softmaxes.softmax, x, axis, None if dtype is None else dtypes.to_torch(dtype))
    return result if out is None else store(out, result, "softmax")


def log_softmax(x: Any, axis: int = -1, dtype: Any = None, name: str | None = None) -> Any:
    """``log(softmax(x))`` without overflow; on a CPU nothing is more than 64 below the largest."""
    return apply(softmaxes.log_softmax, x, axis, None if dtype is None else dtypes.to_torch(dtype))


def gumbel_softmax(
    x: Any, temperature: float = 1.0, hard: bool = False, axis: int = -1, name: str | None = None
) -> Any:
    """Sample from the Gumbel-softmax distribution of the logits ``x``.

    With ``hard`` the sample is one-hot, and the gradient that of the soft one.
    """
    if temperature <= 0:
        raise UsageError(
            f"gumbel_softmax: temperature must be greater than 0, but received {temperature}"
        )
    return apply(ops.gumbel_softmax, x, temperature, hard, axis)


relu_ = make_inplace(relu)
elu_ = make_inplace(elu)
hardtanh_ = make_inplace(hardtanh)
leaky_relu_ = make_inplace(leaky_relu)
softmax_ = make_inplace(softmax)
thresholded_relu_ = make_inplace(thresholded_relu)
