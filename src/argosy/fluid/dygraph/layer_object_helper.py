"""``LayerObjectHelper``: what the ``_helper`` of a layer of 1.x offers to scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from argosy.fluid.layer_helper import LayerHelper
from argosy.foundation.errors import BadArgument
from argosy.nn.layer import layers
from argosy.static.record.activation import activate


class LayerObjectHelper(LayerHelper):
    """Makes the parameters of one layer and runs operators by their types, in dygraph and in
    programs.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, name=name)
        self._namer = layers.LayerHelper(name)

    def create_parameter(
        self,
        attr: Any,
        shape: Any,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
        stop_gradient: bool = False,
    ) -> Any:
        """A parameter that the layer owns, so the guard does not keep it."""
        made = self._namer.create_parameter(attr, shape, dtype, is_bias, default_initializer)
        if stop_gradient and made is not None:
            made.stop_gradient = True
        return made

    def input_dtype(self, inputs_in: Any) -> Any:  # type: ignore[override]
        """The dtype that all inputs have; None without inputs."""
        self.kwargs["input"] = inputs_in
        return super().input_dtype()

    def iter_inputs_and_params(  # type: ignore[override]
        self, inputs_in: Any, param_attr_in: Any = None
    ) -> Iterator[tuple[Any, Any]]:
        """Each input with its attribute; one attribute is copied for every input."""
        self.kwargs["input"] = inputs_in
        self.kwargs["param_attr"] = param_attr_in
        return super().iter_inputs_and_params()

    def append_activation(
        self, input_var: Any, act: str | None = None, use_cudnn: Any = None, use_mkl_dnn: Any = None
    ) -> Any:
        """``act(input_var)``; which kernel computes it is not ours to choose."""
        return activate(input_var, act)

    def is_instance(self, param: Any, cls: type) -> None:
        """Complain if an argument is of another class."""
        if not isinstance(param, cls):
            raise BadArgument(f"The input {param!r} must be {cls.__name__}, in layer {self.name}")
