"""How parameters come to be: shape, dtype and name from the layer, values from an initialiser."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.framework.mode import switch
from argosy.framework.param_attr import ParamAttr, WeightNormParamAttr
from argosy.nn.initializer.default import default_initializer_for
from argosy.nn.initializer.lazy_init import LazyParameter, is_lazy, lazy_parameter
from argosy.ops.nn import reparameterization as ops
from argosy.tensor.engine import Parameter, apply, defaults, unique_name


def create_parameter(
    shape: Sequence[int],
    dtype: Any = None,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Parameter:
    """Create a parameter and fill it.

    The initialiser is the one of ``attr``, else ``default_initializer``, else the global one, else
    Xavier uniform for a weight and zero for a bias.
    """
    parsed = ParamAttr.parse(attr)
    if parsed is False:
        raise UsageError(
            "create_parameter: attr=False means no parameter; pass None or a ParamAttr"
        )
    if default_initializer is not None and not callable(default_initializer):
        raise DtypeError(
            "create_parameter: default_initializer must be an Initializer, but received "
            f"{type(default_initializer).__name__}"
        )
    extents = _extents(shape)
    if any(n < 0 for n in extents):
        raise UsageError(
            "create_parameter: the shape of a parameter must have no negative dimension, but "
            f"received {extents}"
        )
    engine = defaults.dtype if dtype is None else dtypes.to_torch(dtype)
    chosen = (
        parsed.name
        or name
        or unique_name.generate(
            f"{unique_name.generate('create_parameter')}.{'b' if is_bias else 'w'}"
        )
    )
    if isinstance(parsed, WeightNormParamAttr):
        computed: Parameter = _normalised(
            extents, engine, chosen, parsed, is_bias, default_initializer
        )
        return computed
    parameter: Parameter
    if switch.is_static:
        parameter = switch.new_parameter(extents, engine, chosen)
    elif is_lazy.value:
        parameter = lazy_parameter(extents, engine)
        parameter.name = chosen
    else:
        parameter = object.__new__(Parameter)
        parameter.raw = torch.empty(extents, dtype=engine, device=defaults.device)
        parameter.name = chosen
    parameter.optimize_attr = {"learning_rate": parsed.learning_rate}
    parameter.regularizer = parsed.regularizer
    parameter.need_clip = parsed.need_clip
    parameter.do_model_average = parsed.do_model_average
    initializer = parsed.initializer or default_initializer_for(is_bias, default_initializer)
    if isinstance(parameter, LazyParameter):
        parameter.fill = initializer
    else:
        initializer(parameter)
    parameter.stop_gradient = not (
        parsed.trainable and (engine.is_floating_point or engine.is_complex)
    )
    return parameter


def _extents(shape: Any) -> list[int]:
    try:
        return [operator.index(n) for n in shape]
    except TypeError as error:
        raise DtypeError(
            "create_parameter: the shape of a parameter must be made of integers, but received "
            f"{shape!r}"
        ) from error


def _normalised(
    shape: list[int],
    dtype: torch.dtype,
    name: str,
    attr: WeightNormParamAttr,
    is_bias: bool,
    default_initializer: Any,
) -> Any:
    """The variable of a program that puts direction and magnitude together; the magnitude starts as
    the norm of the direction.
    """
    if not switch.is_static:
        raise UsageError(
            "WeightNormParamAttr is for static programs; in dynamic mode use "
            "paddle.nn.utils.weight_norm"
        )
    axis = -1 if attr.dim is None else attr.dim % len(shape)
    direction = create_parameter(
        shape, dtype, None, attr.part(f"{name}_v", attr.initializer), is_bias, default_initializer
    )

    def as_norm(parameter: Any) -> None:
        parameter.record_from(ops.weight_norm_extents, direction, axis)

    extents = [n if d == axis else 1 for d, n in enumerate(shape)]
    magnitude = create_parameter(extents, dtype, None, attr.part(f"{name}_g", as_norm))
    return apply(ops.weight_norm, direction, magnitude, axis)
