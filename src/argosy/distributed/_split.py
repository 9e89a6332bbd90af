"""``paddle.distributed.split``, which belongs to tensor parallelism: its call is checked as Paddle
checks it, then refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.framework.mode import switch

_OPERATIONS = ["linear", "embedding"]


def split(
    x: Any,
    size: Sequence[int],
    operation: str,
    axis: int = 0,
    num_partitions: int = 1,
    gather_out: bool = True,
    weight_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Any:
    """Refuse to compute with a weight of shape ``size`` that is spread over ``num_partitions``
    ranks: tensor parallelism is not supported.
    """
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise BadArgument(
            "The type of size for paddle.distributed.split must be list or tuple of 2."
        )
    if operation not in _OPERATIONS:
        raise BadArgument(
            f"The operation for paddle.distributed.split must be one of {_OPERATIONS}."
        )
    if not switch.is_static:
        raise UsageError("paddle.distributed.split cannot be used in dynamic graph mode.")
    if operation == "embedding" and axis != 0:
        raise BadArgument(
            "We only support to split the weight of embedding along the first axis now."
        )
    if axis not in (0, 1):
        raise UsageError(f"The value of axis must be 0 or 1, but the value given is {axis}.")
    if size[axis] % num_partitions:
        raise BadArgument(
            f"paddle.distributed.split: dimension {axis} of the weight of the {operation} "
            f"({size[axis]}) must be divisible by num_partitions ({num_partitions})"
        )
    raise NotSupported(
        "paddle.distributed.split: tensor parallelism is not supported; use "
        "paddle.static.nn.fc or paddle.static.nn.embedding, whose gradients are averaged"
    )
