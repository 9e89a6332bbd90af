"""Which initialiser a parameter gets when its attribute names none."""

from __future__ import annotations

from argosy.foundation.errors import DtypeError
from argosy.foundation.process_state import register
from argosy.nn.initializer._base import Initializer
from argosy.nn.initializer._fixed import Constant
from argosy.nn.initializer._scaled import XavierUniform


class _Globals:
    def __init__(self) -> None:
        self.weight: Initializer | None = None
        self.bias: Initializer | None = None


_globals = register("default initialisers", _Globals(), attributes=("weight", "bias"))


def set_global_initializer(
    weight_init: Initializer | None, bias_init: Initializer | None = None
) -> None:
    """Use these initialisers for parameters whose attribute names none, instead of the layers' own;
    None restores.
    """
    for name, value in (("weight_init", weight_init), ("bias_init", bias_init)):
        if value is not None and not isinstance(value, Initializer):
            raise DtypeError(
                f"set_global_initializer: {name} must be an Initializer, but received "
                f"{type(value).__name__}"
            )
    _globals.weight = weight_init
    _globals.bias = bias_init


def default_initializer_for(is_bias: bool, layer_default: Initializer | None) -> Initializer:
    """The initialiser of a parameter whose attribute names none."""
    chosen = _globals.bias if is_bias else _globals.weight
    if chosen is not None:
        return chosen
    if layer_default is not None:
        return layer_default
    return Constant(0.0) if is_bias else XavierUniform()
