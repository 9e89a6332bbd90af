"""Normalisation."""

from __future__ import annotations

from typing import Any

from argosy.fluid.layers.layer_call import layer_call, require_bias
from argosy.foundation.errors import UsageError
from argosy.nn import functional as F
from argosy.nn.initializer import Constant
from argosy.static.nn import common
from argosy.static.nn.layer import anywhere

__all__ = [
    "batch_norm",
    "data_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "lrn",
    "spectral_norm",
]

batch_norm = anywhere(common.batch_norm)
data_norm = anywhere(common.data_norm)
group_norm = anywhere(common.group_norm)
layer_norm = anywhere(common.layer_norm)
spectral_norm = anywhere(common.spectral_norm)


def instance_norm(
    input: Any,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Any:
    """Normalise every channel of every sample by itself; unlike ``static.nn.instance_norm`` always
    with a scale and a shift.
    """
    require_bias("instance_norm", bias_attr)
    with layer_call("instance_norm", name) as helper:
        size = [input.shape[1]]
        weight = helper.create_parameter(
            param_attr, size, input.dtype, default_initializer=Constant(1.0)
        )
        bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True)
        return F.instance_norm(input, weight=weight, bias=bias, eps=epsilon)


def lrn(
    input: Any,
    n: int = 5,
    k: float = 1.0,
    alpha: float = 1e-4,
    beta: float = 0.75,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """Divide by ``(k + alpha * sum of squares of the n nearest channels) ** beta``."""
    if input.ndim != 4 or n % 2 == 0:
        raise UsageError(
            "fluid.layers.lrn: needs 4 dimensions and an odd n, but received the shape "
            f"{list(input.shape)} and n={n}"
        )
    return F.local_response_norm(input, n, alpha * n, beta, k, data_format)
