"""Normalisation."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import RankError, UsageError
from argosy.ops.nn import norm as ops
from argosy.tensor.engine import apply

__all__ = [
    "normalize",
    "batch_norm",
    "layer_norm",
    "rms_norm",
    "instance_norm",
    "local_response_norm",
    "group_norm",
]

_LAYOUTS = ("NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")


def _is_channel_last(data_format: str, call: str, known: tuple[str, ...] = _LAYOUTS) -> bool:
    if data_format not in known:
        raise UsageError(
            f"{call}: data_format must be one of {list(known)}, but received {data_format!r}"
        )
    return data_format[1] != "C"


def normalize(
    x: Any,
    p: float = 2,
    axis: int = 1,
    epsilon: float = 1e-12,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """Divide by the p-norm along ``axis``, or by ``epsilon`` where that is larger.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.normalize(paddle.to_tensor([[3.0, 4.0]])).tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    result = apply(ops.normalize, x, float(p), axis, epsilon)
    if out is None:
        return result
    out.set_value(result)
    return out


def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: str | None = None,
) -> Any:
    """Normalise each channel over the batch and the spatial axes.

    In training the batch's statistics are used and the running ones, of which ``momentum`` is kept,
    are updated in place; otherwise the running ones are used. ``use_global_stats`` overrides that
    choice.
    """
    if x.ndim < 2:
        raise RankError(
            f"batch_norm: input dim must be larger than 1, but x has shape {list(x.shape)}"
        )
    last = _is_channel_last(data_format, "batch_norm", ("NC", *_LAYOUTS))
    return apply(
        ops.batch_norm_,
        x,
        running_mean,
        running_var,
        weight,
        bias,
        not training,
        momentum,
        epsilon,
        last,
        bool(use_global_stats),
        use_global_stats is not None and not use_global_stats,
    )


def layer_norm(
    x: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    epsilon: float = 1e-05,
    name: str | None = None,
) -> Any:
    """Normalise the last axes, of shape ``normalized_shape``, together; weight and bias are flat
    vectors.
    """
    if isinstance(normalized_shape, int):
        wanted = [normalized_shape]
    elif isinstance(normalized_shape, (list, tuple)):
        wanted = list(normalized_shape)
    else:
        raise UsageError(
            "layer_norm: `normalized_shape` should be int, list of ints or tuple of ints."
        )
    begin = _begin(x.shape, wanted, "layer_norm")
    return apply(ops.layer_norm, x, weight, bias, epsilon, begin)


def _begin(shape: Any, wanted: list[int], call: str) -> int:
    begin = ops.norm_axis(shape, wanted)
    if begin < 0:
        inner = str(wanted)[1:]
        raise UsageError(
            f"{call}: Given normalized_shape is {wanted}, expected input with shape [*, {inner}, "
            f"but got input shape {list(shape)}"
        )
    return begin


def rms_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    eps: float = 1e-05,
    name: str | None = None,
) -> Any:
    """Divide the last axes, of shape ``normalized_shape``, by their root mean square.

    Returns the result and the inverse root mean square of each row.
    """
    return apply(
        ops.rms_norm, input, weight, eps, _begin(input.shape, list(normalized_shape), "rms_norm")
    )


def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-05,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Normalise every channel of every sample by itself.

    As in Paddle the running statistics are neither used nor updated.
    """
    return apply(ops.instance_norm, x, weight, bias, eps)


def local_response_norm(
    x: Any,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Divide by ``(k + alpha * mean of squares of the size nearest channels) ** beta``."""
    last = _is_channel_last(data_format, "local_response_norm")
    if len(x.shape) < 3:
        raise UsageError(
            "local_response_norm: Expected 3D or higher dimensionality input, but got "
            f"{len(x.shape)} dimensions"
        )
    return apply(ops.local_response_norm, x, size, alpha, beta, k, last)


def group_norm(
    x: Any,
    num_groups: int,
    epsilon: float = 1e-05,
    weight: Any = None,
    bias: Any = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Normalise groups of channels of every sample.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.group_norm(paddle.rand([2, 6, 4, 4]), num_groups=3).shape
        [2, 6, 4, 4]
    """
    last = _is_channel_last(data_format, "group_norm")
    return apply(ops.group_norm, x, weight, bias, epsilon, num_groups, last)
