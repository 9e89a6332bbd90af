"""``fluid.layer_helper``: what functions that scripts define themselves use to make parameters and
variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from argosy import tensor as T
from argosy.fluid.dygraph.tracer import is_static
from argosy.foundation.errors import BadArgument, UsageError
from argosy.framework.param_attr import ParamAttr
from argosy.static.nn.layer import Helper
from argosy.static.record.activation import activate
from argosy.static.record.append_op import run_op
from argosy.static.record.recorder import default_main_program, default_startup_program, recorder
from argosy.tensor.engine import Tensor, unique_name


class LayerHelper(Helper):
    """Makes the parameters and variables of one call; it is given the arguments of the function
    that it serves.
    """

    def __init__(self, layer_type: str, **kwargs: Any) -> None:
        super().__init__(kwargs.get("name") or unique_name.generate(layer_type))
        self.layer_type = layer_type
        self.kwargs = kwargs

    @property
    def main_program(self) -> Any:
        return default_main_program()

    @property
    def startup_program(self) -> Any:
        return default_startup_program()

    # -- arguments
    # ----------------------------------------------------------------------------------------------

    @property
    def param_attr(self) -> Any:
        return ParamAttr.parse(self.kwargs.get("param_attr"))

    @property
    def bias_attr(self) -> Any:
        return ParamAttr.parse(self.kwargs.get("bias_attr"))

    def multiple_input(self, input_param_name: str = "input") -> list[Any]:
        given = self.kwargs.get(input_param_name, [])
        return list(given) if isinstance(given, (list, tuple)) else [given]

    def input(self, input_param_name: str = "input") -> Any:
        """The one input of that name."""
        inputs = self.multiple_input(input_param_name)
        if len(inputs) != 1:
            raise UsageError(
                f"{self.layer_type} layer only takes one input, but received {len(inputs)}"
            )
        return inputs[0]

    def input_dtype(self, input_param_name: str = "input") -> Any:
        """The dtype that all inputs have; None without inputs."""
        found = {x.dtype for x in self.multiple_input(input_param_name)}
        if len(found) > 1:
            raise UsageError(f"Data Type mismatch in {self.layer_type}: {sorted(map(str, found))}")
        return next(iter(found), None)

    def iter_inputs_and_params(self, input_param_name: str = "input") -> Iterator[tuple[Any, Any]]:
        inputs, attrs = self.multiple_input(input_param_name), self.param_attr
        attrs = list(attrs) if isinstance(attrs, list) else [attrs] * len(inputs)
        if len(attrs) != len(inputs):
            raise UsageError(
                f"{self.layer_type}: {len(inputs)} inputs, but {len(attrs)} param_attr"
            )
        return iter(zip(inputs, attrs, strict=True))

    # -- what it makes
    # ------------------------------------------------------------------------------------------

    def create_parameter(
        self,
        attr: Any,
        shape: Any,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
        stop_gradient: bool = False,
    ) -> Any:
        parameter = super().create_parameter(attr, shape, dtype, is_bias, default_initializer)
        if stop_gradient and parameter is not None:
            parameter.stop_gradient = True
        return parameter

    def to_variable(self, value: Any, name: str | None = None) -> Any:
        """An array as a Tensor of dygraph; a Tensor as it is."""
        made = value if isinstance(value, Tensor) else T.to_tensor(value)
        if name:
            made.name = name
        return made

    def get_parameter(self, name: str) -> Any:
        return self.main_program.global_block().var(name)

    def create_variable(self, **kwargs: Any) -> Any:
        self._require_program("create_variable")
        return self.main_program.current_block().create_var(**kwargs)

    def create_variable_for_type_inference(self, dtype: Any, stop_gradient: bool = False) -> Any:
        """A variable that takes over the shape of what is assigned to it."""
        if not is_static():
            return T.zeros([0], dtype)
        name = unique_name.generate(f"{self.name}.tmp")
        return self.main_program.current_block().create_var(
            name, [], dtype, stop_gradient=stop_gradient
        )

    create_tmp_variable = create_variable_for_type_inference

    def create_global_variable(self, persistable: bool = False, **kwargs: Any) -> Any:
        self._require_program("create_global_variable")
        kwargs.pop("belong_to_optimizer", None)  # only says to whom it belongs
        return self.main_program.global_block().create_var(persistable=persistable, **kwargs)

    def create_or_get_global_variable(self, name: str, **kwargs: Any) -> tuple[Any, bool]:
        """The variable of the main program of this name, and whether it is new."""
        block = self.main_program.global_block()
        return (
            (block.var(name), False)
            if block.has_var(name)
            else (self.create_global_variable(name=name, **kwargs), True)
        )

    def set_variable_initializer(self, var: Any, initializer: Any) -> None:
        """Let the startup program fill ``var``, which persists from then on."""
        self._require_program("set_variable_initializer")
        var.persistable = True
        recorder.initialize(var, initializer)

    # -- what it computes
    # ---------------------------------------------------------------------------------------

    def append_bias_op(self, input_var: Any, dim_start: int = 1, dim_end: int | None = None) -> Any:
        """``input_var`` plus a new bias for its axes from ``dim_start`` to before ``dim_end``."""
        size = list(input_var.shape[dim_start:dim_end])
        if any(n < 0 for n in size):
            raise UsageError(
                f"LayerHelper.append_bias_op: the dimensions {size} of the bias must be known"
            )
        bias = self.create_parameter(self.bias_attr, size, input_var.dtype, is_bias=True)
        if bias is None:
            return input_var
        behind = input_var.ndim - dim_start - len(size)
        return input_var + (
            T.unsqueeze(bias, list(range(len(size), len(size) + behind))) if behind else bias
        )

    def append_activation(self, input_var: Any) -> Any:
        """``act(input_var)``"""
        act = self.kwargs.get("act")
        return activate(input_var, act["type"] if isinstance(act, dict) else act)

    def append_op(
        self,
        type: str,
        inputs: Any = None,
        outputs: Any = None,
        attrs: Any = None,
        stop_gradient: bool = False,
    ) -> Any:
        """Add an operator to the current block by its type, as ``Block.append_op`` does; in dygraph
        it is computed at once.
        """
        if not is_static():
            run_op(type, inputs, outputs, attrs)
            return None
        return self.main_program.current_block().append_op(
            type, inputs, outputs, attrs, stop_gradient
        )

    def is_instance(self, param_name: str, cls: type) -> None:
        """Complain if an argument is of another class."""
        given = self.kwargs.get(param_name)
        if not isinstance(given, cls):
            raise BadArgument(
                f"The input {param_name} parameter of method {self.layer_type} must be "
                f"{cls.__name__}"
            )

    def _require_program(self, call: str) -> None:
        if not is_static():
            raise UsageError(
                f"LayerHelper.{call}: variables belong to static programs; in dygraph there is none"
            )
