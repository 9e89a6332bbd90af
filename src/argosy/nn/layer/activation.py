"""Activations as layers."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import RankError
from argosy.nn import functional as F
from argosy.nn.initializer import Constant
from argosy.nn.layer.layers import Layer

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Maxout", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "Sigmoid", "Silu",
    "Softmax", "Softmax2D", "Softplus",
    "Softshrink", "Softsign", "Swish", "Tanh", "Tanhshrink", "ThresholdedReLU",
]  # fmt: skip


class _Activation(Layer):
    """An activation; ``_shown`` names the arguments that its repr shows, kept in attributes with an
    underscore.
    """

    _shown: tuple[str, ...] = ()

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self._name = name

    def extra_repr(self) -> str:
        parts = [f"{argument}={getattr(self, f'_{argument}')}" for argument in self._shown]
        if self._name:
            parts.append(f"name={self._name}")
        return ", ".join(parts)


class ReLU(_Activation):
    """``max(x, 0)``.

    Example:
        >>> import paddle
        >>> paddle.nn.ReLU()(paddle.to_tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    def forward(self, x: Any) -> Any:
        return F.relu(x)


class ReLU6(_Activation):
    """``min(max(x, 0), 6)``."""

    def forward(self, x: Any) -> Any:
        return F.relu6(x)


class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``."""

    def forward(self, x: Any) -> Any:
        return F.sigmoid(x)


class Tanh(_Activation):
    """Hyperbolic tangent."""

    def forward(self, x: Any) -> Any:
        return F.tanh(x)


class Hardsigmoid(_Activation):
    """``x / 6 + 0.5`` limited to [0, 1]."""

    def forward(self, x: Any) -> Any:
        return F.hardsigmoid(x)


class Hardswish(_Activation):
    """``x * relu6(x + 3) / 6``."""

    def forward(self, x: Any) -> Any:
        return F.hardswish(x)


class LogSigmoid(_Activation):
    """``log(sigmoid(x))``."""

    def forward(self, x: Any) -> Any:
        return F.log_sigmoid(x)


class Mish(_Activation):
    """``x * tanh(softplus(x))``."""

    def forward(self, x: Any) -> Any:
        return F.mish(x)


class Softsign(_Activation):
    """``x / (1 + abs(x))``."""

    def forward(self, x: Any) -> Any:
        return F.softsign(x)


class Swish(_Activation):
    """``x * sigmoid(x)``."""

    def forward(self, x: Any) -> Any:
        return F.swish(x)


class Tanhshrink(_Activation):
    """``x - tanh(x)``."""

    def forward(self, x: Any) -> Any:
        return F.tanhshrink(x)


class Silu(_Activation):
    """``x * sigmoid(x)``; with ``inplace`` the result also replaces ``x``."""

    _shown = ("inplace",)

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        super().__init__(name)
        self._inplace = inplace

    def forward(self, x: Any) -> Any:
        return F.silu(x, self._inplace)


class LeakyReLU(_Activation):
    """``x`` where it is not negative, else ``negative_slope * x``."""

    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__(name)
        self._negative_slope = negative_slope

    def forward(self, x: Any) -> Any:
        return F.leaky_relu(x, self._negative_slope)


class PReLU(_Activation):
    """``leaky_relu`` with learned slopes, one or one for each channel, that start at ``init``.

    Example:
        >>> import paddle
        >>> paddle.nn.PReLU(init=0.5)(paddle.to_tensor([-1.0, 2.0])).tolist()
        [-0.5, 2.0]
    """

    _shown = ("num_parameters", "data_format", "init", "dtype")

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._num_parameters = num_parameters
        self._init = init
        self._weight_attr = weight_attr
        self._data_format = data_format
        self._weight = self.create_parameter(
            [num_parameters], weight_attr, self._default_dtype(), default_initializer=Constant(init)
        )

    def forward(self, x: Any) -> Any:
        return F.prelu(x, self._parameters["_weight"], self._data_format)


class RReLU(_Activation):
    """``leaky_relu`` with slopes drawn from [lower, upper] in training, and their mean
    otherwise.
    """

    _shown = ("lower", "upper")

    def __init__(
        self, lower: float = 1.0 / 8.0, upper: float = 1.0 / 3.0, name: str | None = None
    ) -> None:
        super().__init__(name)
        self._lower = lower
        self._upper = upper

    def forward(self, x: Any) -> Any:
        return F.rrelu(x, self._lower, self._upper, self.training)

    def extra_repr(self) -> str:
        name = f", name={self._name}" if self._name else ""
        return (
            f"lower={self._lower}, upper={self._upper}, training={self.training}, "
            f"dtype={self._dtype}{name}"
        )


class ELU(_Activation):
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``."""

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, name: str | None = None) -> None:
        super().__init__(name)
        self._alpha = alpha

    def forward(self, x: Any) -> Any:
        return F.elu(x, self._alpha)


class CELU(_Activation):
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, name: str | None = None) -> None:
        super().__init__(name)
        self._alpha = alpha

    def forward(self, x: Any) -> Any:
        return F.celu(x, self._alpha)


class SELU(_Activation):
    """``scale * elu(x, alpha)``, by default with the constants that keep activations normalised."""

    def __init__(
        self,
        scale: float = 1.0507009873554804934193349852946,
        alpha: float = 1.6732632423543772848170429916717,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._scale = scale
        self._alpha = alpha

    def forward(self, x: Any) -> Any:
        return F.selu(x, self._scale, self._alpha)

    def extra_repr(self) -> str:
        name = f", name={self._name}" if self._name else ""
        return f"scale={self._scale:.16f}, alpha={self._alpha:.16f}{name}"


class GELU(_Activation):
    """``x`` times the normal distribution function of ``x``; True or "tanh" approximates it."""

    _shown = ("approximate",)

    def __init__(self, approximate: Any = False, name: str | None = None) -> None:
        super().__init__(name)
        self._approximate = approximate

    def forward(self, x: Any) -> Any:
        return F.gelu(x, self._approximate)


class GLU(_Activation):
    """Split in two along ``axis`` and compute ``first * sigmoid(second)``."""

    _shown = ("axis",)

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(name)
        self._axis = axis

    def forward(self, x: Any) -> Any:
        return F.glu(x, self._axis)


class Hardshrink(_Activation):
    """Zero where ``abs(x) < threshold``, else ``x``."""

    _shown = ("threshold",)

    def __init__(self, threshold: float = 0.5, name: str | None = None) -> None:
        super().__init__(name)
        self._threshold = threshold

    def forward(self, x: Any) -> Any:
        return F.hardshrink(x, self._threshold)


class Softshrink(_Activation):
    """Move values towards zero by ``threshold``, and those nearer than it to zero."""

    _shown = ("threshold",)

    def __init__(self, threshold: float = 0.5, name: str | None = None) -> None:
        super().__init__(name)
        self._threshold = threshold

    def forward(self, x: Any) -> Any:
        return F.softshrink(x, self._threshold)


class Hardtanh(_Activation):
    """Limit values to [min, max]."""

    _shown = ("min", "max")

    def __init__(self, min: float = -1.0, max: float = 1.0, name: str | None = None) -> None:
        super().__init__(name)
        self._min = min
        self._max = max

    def forward(self, x: Any) -> Any:
        return F.hardtanh(x, self._min, self._max)


class Softplus(_Activation):
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` exceeds ``threshold``."""

    _shown = ("beta", "threshold")

    def __init__(self, beta: float = 1, threshold: float = 20, name: str | None = None) -> None:
        super().__init__(name)
        self._beta = beta
        self._threshold = threshold

    def forward(self, x: Any) -> Any:
        return F.softplus(x, self._beta, self._threshold)


class ThresholdedReLU(_Activation):
    """``x`` where it exceeds ``threshold``, else ``value``."""

    _shown = ("threshold", "value")

    def __init__(self, threshold: float = 1.0, value: float = 0.0, name: str | None = None) -> None:
        super().__init__(name)
        self._threshold = threshold
        self._value = value

    def forward(self, x: Any) -> Any:
        return F.thresholded_relu(x, self._threshold, self._value)


class Softmax(_Activation):
    """Exponentials along ``axis`` divided by their sum."""

    _shown = ("axis",)

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(name)
        self._axis = axis

    def forward(self, x: Any) -> Any:
        return F.softmax(x, self._axis)


class Softmax2D(_Activation):
    """Softmax over the channels of an image, or a batch of images."""

    def forward(self, x: Any) -> Any:
        if x.ndim not in (3, 4):
            raise RankError(f"Softmax2D: x must have 3 or 4 dimensions, but its shape is {x.shape}")
        return F.softmax(x, -3)


class LogSoftmax(_Activation):
    """``log(softmax(x))`` along ``axis``."""

    _shown = ("axis",)

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(name)
        self._axis = axis

    def forward(self, x: Any) -> Any:
        return F.log_softmax(x, self._axis)


class Maxout(_Activation):
    """The largest of each ``groups`` neighbouring channels of a 4-d tensor."""

    _shown = ("groups", "axis")

    def __init__(self, groups: int, axis: int = 1, name: str | None = None) -> None:
        super().__init__(name)
        self._groups = groups
        self._axis = axis

    def forward(self, x: Any) -> Any:
        return F.maxout(x, self._groups, self._axis)
