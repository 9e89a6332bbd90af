"""The state of optimizers whose parameters are cut into pieces, one for each server."""

from __future__ import annotations

from collections.abc import Sequence

from argosy.foundation.errors import UsageError

# by operator: the states that have the shape of their parameter
_LIKE_PARAM: dict[str, tuple[str, ...]] = {
    "adagrad": ("Moment",),
    "adam": ("Moment1", "Moment2"),
    "adamax": ("Moment", "InfNorm"),
    "decayed_adagrad": ("Moment",),
    "ftrl": ("SquaredAccumulator", "LinearAccumulator"),
    "lars_momentum": ("Velocity",),
    "momentum": ("Velocity",),
    "rmsprop": ("Moment", "MeanSquare"),
    "sgd": (),
}


def _get_optimizer_input_shape(
    op_type: str, varkey: str, orig_shape: Sequence[int], param_shape: Sequence[int]
) -> Sequence[int]:
    """The shape of an operator's input ``varkey`` on a server that holds ``param_shape`` of its
    parameter.
    """
    if op_type not in _LIKE_PARAM:
        raise UsageError(f"Not supported optimizer for distributed training: {op_type}")
    return param_shape if varkey in _LIKE_PARAM[op_type] else orig_shape
