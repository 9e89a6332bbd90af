"""An operator that runs on the variables of a scope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argosy.fluid.proto.framework_pb2 import AttrType, OpDesc
from argosy.foundation import dtypes
from argosy.foundation.errors import ProgramError
from argosy.foundation.places import Place
from argosy.framework.mode import switch
from argosy.static import Executor, Program, Scope, program_guard

_FIELD = {
    AttrType.INT: "i",
    AttrType.FLOAT: "f",
    AttrType.STRING: "s",
    AttrType.INTS: "ints",
    AttrType.FLOATS: "floats",
    AttrType.STRINGS: "strings",
    AttrType.BOOLEAN: "b",
    AttrType.BOOLEANS: "bools",
    AttrType.LONG: "l",
    AttrType.LONGS: "longs",
    AttrType.FLOAT64: "float64",
    AttrType.FLOAT64S: "float64s",
}


class SingleOperator:
    """An operator with the names of its variables, by slot."""

    def __init__(
        self,
        type: str,
        inputs: Mapping[str, list[str]],
        outputs: Mapping[str, list[str]],
        attrs: Mapping[str, Any],
    ) -> None:
        self._type, self._inputs, self._outputs = type, dict(inputs), dict(outputs)
        self._attrs = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in attrs.items()
        }

    @staticmethod
    def create(description: bytes) -> SingleOperator:
        """The operator that the bytes of an ``OpDesc`` describe."""
        desc = OpDesc.FromString(bytes(description))
        inputs = {slot.parameter: list(slot.arguments) for slot in desc.inputs if slot.arguments}
        outputs = {slot.parameter: list(slot.arguments) for slot in desc.outputs if slot.arguments}
        return SingleOperator(desc.type, inputs, outputs, {a.name: _value(a) for a in desc.attrs})

    def type(self) -> str:
        return self._type

    def inputs(self) -> dict[str, list[str]]:
        """The names of the variables that it reads, by slot."""
        return self._inputs

    def outputs(self) -> dict[str, list[str]]:
        """The names of the variables that it writes, by slot."""
        return self._outputs

    def input(self, slot: str) -> list[str]:
        return self._inputs[slot]

    def output(self, slot: str) -> list[str]:
        return self._outputs[slot]

    def run(self, scope: Scope, place: Place) -> None:
        """Read the variables of ``scope``, compute, write its variables."""
        was_static = switch.is_static
        switch.enable()
        try:
            program = self._program(scope)
            Executor(place).run(program, scope=scope)
        finally:
            if not was_static:
                switch.disable()

    def _program(self, scope: Scope) -> Program:
        program = Program()
        with program_guard(program, Program()):
            block = program.global_block()
            for name in {name for names in self._inputs.values() for name in names}:
                value = scope.find_var(name)
                if value is None:
                    raise ProgramError(f"operator {self._type}: the scope has no variable {name!r}")
                raw = value.get_tensor().raw_tensor()
                block.create_var(
                    name=name,
                    shape=list(raw.shape),
                    dtype=dtypes.BY_TORCH[raw.dtype],
                    persistable=True,
                )
            for name in {name for names in self._outputs.values() for name in names}:
                if not block.has_var(name):
                    block.create_var(name=name, persistable=True)
            block.append_op(
                type=self._type, inputs=self._inputs, outputs=self._outputs, attrs=self._attrs
            )
        return program

    def __repr__(self) -> str:
        slots = [
            ", ".join(f"{slot}[{', '.join(names)}]" for slot, names in by_slot.items())
            for by_slot in (self._inputs, self._outputs)
        ]
        return f"Op({self._type}), inputs:{{{slots[0]}}}, outputs:{{{slots[1]}}}."


def _value(attribute: Any) -> Any:
    field = _FIELD.get(AttrType(attribute.type))
    if field is None:
        raise ProgramError(f"attribute {attribute.name!r} is of a type that is not supported")
    value = getattr(attribute, field)
    return list(value) if isinstance(value, list) else value
