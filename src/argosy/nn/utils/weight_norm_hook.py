"""Weight normalisation: a parameter split into a direction and a magnitude, put together before
every forward.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.framework.mode import switch
from argosy.framework.param_attr import ParamAttr
from argosy.nn.layer.layers import Layer
from argosy.nn.utils._computed import read_computed
from argosy.ops.array.creation import assign
from argosy.ops.nn import reparameterization as ops
from argosy.ops.table import Op
from argosy.tensor.engine import apply


class HookTwice(UsageError, RuntimeError):
    """The parameter is normalised already."""


class WeightNorm:
    """The pre-hook that recomputes ``name`` from ``name_v`` and ``name_g``; ``dim`` -1 takes one
    norm of all.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, layer: Layer) -> Any:
        return apply(
            ops.weight_norm,
            getattr(layer, f"{self.name}_v"),
            getattr(layer, f"{self.name}_g"),
            self.dim,
        )

    def __call__(self, layer: Layer, inputs: Any) -> None:
        setattr(layer, self.name, self.compute_weight(layer))

    @staticmethod
    def apply(layer: Layer, name: str, dim: int | None) -> WeightNorm:
        """Split the parameter ``name`` of ``layer`` and register the hook."""
        check_once(layer, WeightNorm, name, "weight_norm")
        weight = layer.own_parameters[name]
        rank = weight.ndim
        axis = -1 if dim is None else dim
        if not -rank <= axis < rank:
            raise BadArgument(
                f"weight_norm: dim must lie in [-{rank}, {rank}), the rank of the weight, but "
                f"received {dim}"
            )
        # -1 means one norm of the whole weight, not its last axis
        hook = WeightNorm(name, axis if axis == -1 else axis % rank)
        del layer.own_parameters[name]
        read_computed(layer)
        _add_made(layer, f"{name}_v", assign, weight)
        _add_made(layer, f"{name}_g", ops.weight_norm_magnitude, weight, hook.dim)
        hook(layer, ())
        layer.register_forward_pre_hook(hook)
        return hook

    def remove(self, layer: Layer) -> None:
        """Put the parameter back as the hook last made it."""
        if switch.is_static:
            raise NotSupported(
                "remove_weight_norm: while a program is recorded, weights have no values to put "
                "back"
            )
        weight = self.compute_weight(layer)
        delattr(layer, self.name)
        del layer.own_parameters[f"{self.name}_g"]
        del layer.own_parameters[f"{self.name}_v"]
        _add_made(layer, self.name, assign, weight)


def check_once(layer: Layer, kind: type, name: str, call: str) -> None:
    """Refuse a second hook of one kind on one parameter."""
    for hook in layer._forward_pre_hooks.values():
        if isinstance(hook, kind) and getattr(hook, "name", None) == name:
            raise HookTwice(
                f"{call}: cannot register two {call} hooks on the same parameter {name!r}"
            )


def _add_made(layer: Layer, name: str, op: Op, source: Any, *attrs: Any) -> None:
    """Add a parameter whose first values ``op`` makes of those of another; in a program the startup
    program does.
    """
    attr = None
    if switch.is_static:
        attr = ParamAttr(initializer=lambda parameter: parameter.record_from(op, source, *attrs))
    value = apply(op, source, *attrs)
    parameter = layer.create_parameter(value.shape, attr, dtype=value.dtype)
    if not switch.is_static:
        parameter.set_value(value)  # type: ignore[union-attr]
    layer.add_parameter(name, parameter)


def weight_norm(layer: Layer, name: str = "weight", dim: int | None = 0) -> Layer:
    """Replace a parameter by its direction ``name_v`` and its magnitude ``name_g`` along ``dim``
    (None: one for all).
    """
    WeightNorm.apply(layer, name, dim)
    return layer


def remove_weight_norm(layer: Layer, name: str = "weight") -> Layer:
    """Undo ``weight_norm``: the current weight becomes a parameter again."""
    for key, hook in layer._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(layer)
            del layer._forward_pre_hooks[key]
            return layer
    raise UsageError(f"remove_weight_norm: weight_norm of {name!r} not found in {layer}")
