"""ConcreteProgram: what a function becomes for one kind of arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from argosy.jit.location import told_with_line
from argosy.jit.operators.call import converted_forwards
from argosy.jit.partial_program import PartialProgram
from argosy.jit.recording import Captures, LeftBehind, recording
from argosy.nn import Layer
from argosy.static.ir.operator import leaves, mapped
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Variable
from argosy.static.record.data import InputSpec
from argosy.tensor.engine import Tensor, unique_name


class ConcreteProgram:
    """A recorded function: its program, inputs, outputs and the Tensors that it uses.

    ``outputs`` are the variables that it returns, in order.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        layers: list[Layer],
    ) -> None:
        self.function = function
        self.main_program = Program()
        self.startup_program = Program()
        self.captures = Captures(self.main_program)
        self._modes = [(layer, layer.training) for layer in layers]
        self._left = LeftBehind(layers)
        self._record(args, kwargs, layers[:1])
        feeds = [v.name for v in self.inputs]
        left = [variable for *_, variable in self._left.places]
        name = getattr(function, "__qualname__", "the function")
        self.partial_program = PartialProgram(
            self.main_program,
            feeds,
            [v.name for v in (*self.outputs, *left)],
            self.captures.by_name(),
            name,
        )

    def _record(self, args: Any, kwargs: Any, layers: list[Layer]) -> None:
        with recording(self.main_program, self.startup_program, self.captures):
            self.inputs: list[Variable] = []
            given = mapped(list(args), self._declared)
            named = {key: mapped(value, self._declared) for key, value in kwargs.items()}
            try:
                with contextlib.ExitStack() as stack, unique_name.guard():
                    for layer in layers:
                        stack.enter_context(converted_forwards(layer))
                    result = self.function(*given, **named)
            except Exception as error:
                raise told_with_line(error) from error
            finally:
                self._left.collect()
            self.result = result
            self.outputs = [leaf for leaf in leaves(result) if isinstance(leaf, Variable)]

    def _declared(self, leaf: Any) -> Any:
        """A spec as a variable that is fed."""
        if not isinstance(leaf, InputSpec):
            return leaf
        block = self.main_program.global_block()
        variable = block.create_var(
            block.free_name(leaf.name or unique_name.generate("input")),
            leaf.shape,
            leaf.dtype,
            is_data=True,
            stop_gradient=leaf.stop_gradient,
        )
        self.inputs.append(variable)
        return variable

    @property
    def parameters(self) -> list[Tensor]:
        """The parameters and buffers that it uses."""
        return self.captures.tensors()

    @property
    def size(self) -> int:
        """The number of operators."""
        return sum(len(block.ops) for block in self.main_program.blocks)

    def serves(self) -> bool:
        """Whether all layers are in the mode, training or not, that it was recorded in."""
        return not [layer for layer, training in self._modes if layer.training is not training]

    def __call__(self, inputs: list[Any]) -> Any:
        """Run, and return what the function would."""
        values = self.partial_program(inputs)
        count = len(self.outputs)
        for (store, name, _), value in zip(self._left.places, values[count:], strict=True):
            store[name] = value
        if self.result is (self.outputs[0] if self.outputs else None):
            return values[0] if values else None
        remaining: Iterator[Any] = iter(values)
        return mapped(
            self.result, lambda leaf: next(remaining) if isinstance(leaf, Variable) else leaf
        )
