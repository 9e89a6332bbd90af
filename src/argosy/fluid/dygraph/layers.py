"""``fluid.dygraph.Layer``: ``paddle.nn.Layer`` with the contract of 1.x."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from argosy import nn
from argosy.fluid.dygraph.layer_object_helper import LayerObjectHelper
from argosy.fluid.dygraph.tracer import tracers
from argosy.foundation.errors import CheckpointError, nearest
from argosy.tensor.engine import Parameter


class ParameterMissing(CheckpointError, RuntimeError):
    """The state that ``set_dict`` was given lacks a parameter of the layer."""


class Layer(nn.Layer):
    """The base class of 1.x models.

    Its parameters belong to the guard in which they are made. ``train`` and ``eval`` also switch
    ``fluid.layers.dropout`` inside the guard. Differs from Paddle 1.8: ``eval`` goes on recording
    for backward, and gradients of two backward passes add up.
    """

    def _new_helper(self, name: str) -> Any:
        return LayerObjectHelper(name)

    def create_parameter(
        self,
        shape: Any,
        attr: Any = None,
        dtype: Any = "float32",
        is_bias: bool = False,
        default_initializer: Any = None,
        device: Any = None,
    ) -> Parameter | None:
        """Make a parameter named after this layer; None where ``attr`` is False. It is not yet an
        attribute.
        """
        parameter = super().create_parameter(
            shape, None if attr == "" else attr, dtype, is_bias, default_initializer, device
        )
        tracers.note(parameter)
        return parameter

    def train(self, mode: bool = True) -> Layer:
        """Set training mode on this layer and all below, and in the guard."""
        tracers.current.is_training = mode
        super().train(mode)
        return self

    def eval(self) -> Layer:
        return self.train(False)

    def sublayers(  # type: ignore[override]
        self, include_sublayers: bool = True, include_self: bool = False
    ) -> list[nn.Layer]:
        return [
            layer
            for _, layer in self.named_sublayers(
                include_self=include_self, include_sublayers=include_sublayers
            )
        ]

    def named_sublayers(
        self,
        prefix: str = "",
        include_self: bool = False,
        layers_set: set[Any] | None = None,
        remove_duplicate: bool = True,
        include_sublayers: bool = True,
    ) -> Iterator[tuple[str, nn.Layer]]:
        """All sublayers with dotted names. Differs from Paddle 1.8: pass ``include_sublayers`` by
        its name.
        """
        if include_sublayers:
            yield from super().named_sublayers(prefix, include_self, layers_set, remove_duplicate)
        elif include_self:
            yield prefix, self

    def set_dict(  # type: ignore[override]
        self, stat_dict: Any, include_sublayers: bool = True, use_structured_name: bool = True
    ) -> None:
        """Copy values into the parameters. A parameter that is not in ``stat_dict`` is an error; an
        unused entry, a warning.
        """
        own = self.state_dict(include_sublayers=include_sublayers)
        key_by_name = {
            name: name if use_structured_name else value.name for name, value in own.items()
        }
        for name, key in key_by_name.items():
            if key not in stat_dict:
                raise ParameterMissing(
                    f"{type(self).__name__}.set_dict: Parameter not found, can't find {key!r} in "
                    "stat_dict "
                    f"(use_structured_name={use_structured_name})."
                    f"{nearest(key, map(str, stat_dict))}"
                )
            own[name].set_value(stat_dict[key])
        unused = sorted(
            set(stat_dict) - set(key_by_name.values()) - {"StructuredToParameterName@@"}
        )
        if unused:
            warnings.warn(
                f"{type(self).__name__}.set_dict: not in the layer, so not used: "
                f"{', '.join(unused)}",
                stacklevel=2,
            )

    load_dict = set_dict  # type: ignore[assignment]
