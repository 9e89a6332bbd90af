"""``paddle.nn.init``: initialisers as functions that fill a tensor and return it."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument
from argosy.nn.initializer import (
    Constant,
    Dirac,
    Initializer,
    KaimingNormal,
    KaimingUniform,
    Normal,
    Orthogonal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
    calculate_gain,
)
from argosy.tensor import eye

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def _fill(tensor: Any, initializer: Initializer) -> Any:
    initializer(tensor)
    return tensor


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0) -> Any:
    """Fill with numbers between ``a`` and ``b``."""
    return _fill(tensor, Uniform(a, b))


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    """Fill with numbers around ``mean``."""
    return _fill(tensor, Normal(mean, std))


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Any:
    """Fill with numbers around ``mean``, none below ``a`` or above ``b``."""
    return _fill(tensor, TruncatedNormal(mean, std, a, b))


def constant_(tensor: Any, val: float) -> Any:
    """Fill with one number.

    Example:
        >>> paddle.nn.init.constant_(paddle.zeros([2]), 3.0).tolist()
        [3.0, 3.0]
    """
    return _fill(tensor, Constant(val))


def ones_(tensor: Any) -> Any:
    """Fill with 1."""
    return _fill(tensor, Constant(1.0))


def zeros_(tensor: Any) -> Any:
    """Fill with 0."""
    return _fill(tensor, Constant(0.0))


def eye_(tensor: Any) -> Any:
    """Fill a matrix with ones on its diagonal, else 0."""
    if len(tensor.shape) != 2:
        raise BadArgument(f"eye_: Only support 2 dimensional tensor, but got {len(tensor.shape)}.")
    tensor.set_value(eye(tensor.shape[0], tensor.shape[1], tensor.dtype))
    return tensor


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Fill the weight of a convolution so that it passes its input on."""
    return _fill(tensor, Dirac(groups))


def orthogonal_(tensor: Any, gain: float = 1) -> Any:
    """Fill with an orthogonal matrix times ``gain``."""
    return _fill(tensor, Orthogonal(gain))


def xavier_uniform_(
    tensor: Any, gain: float = 1.0, fan_in: float | None = None, fan_out: float | None = None
) -> Any:
    """Fill as Glorot and Bengio do, with uniform numbers."""
    return _fill(tensor, XavierUniform(fan_in, fan_out, gain=gain))


def xavier_normal_(
    tensor: Any, gain: float = 1.0, fan_in: float | None = None, fan_out: float | None = None
) -> Any:
    """Fill as Glorot and Bengio do, with normal numbers."""
    return _fill(tensor, XavierNormal(fan_in, fan_out, gain=gain))


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Any:
    """Fill as He and others do, with uniform numbers; ``a`` is the slope of a leaky rectifier."""
    return _fill(tensor, KaimingUniform(None, a, nonlinearity, mode))


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Any:
    """Fill as He and others do, with normal numbers; ``a`` is the slope of a leaky rectifier."""
    return _fill(tensor, KaimingNormal(None, a, nonlinearity, mode))
