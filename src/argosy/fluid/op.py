"""``fluid.op``: one operator on the variables of a scope, without a program.

``Operator("scale", X="x", Out="y", scale=2.0).run(scope, place)`` reads and writes the variables of
those names.
"""

from __future__ import annotations

from typing import Any

from argosy.fluid.op_protos import known_types, op_proto
from argosy.fluid.single_operator import SingleOperator
from argosy.foundation.errors import UsageError

__all__ = ["Operator", "OperatorFactory"]


class OperatorFactory:
    """Makes operators by their type; slots and attributes are keyword arguments."""

    def __call__(self, *args: Any, **kwargs: Any) -> SingleOperator:
        if len(args) + ("type" in kwargs) != 1:
            raise UsageError(
                'Except the argument "type", all of the other arguments should be keyword '
                "arguments."
            )
        kind = args[0] if args else kwargs.pop("type")
        proto = self.get_op_info(kind)
        slots = {}
        for side in ("inputs", "outputs"):
            slots[side] = {
                slot.name: _names(slot, kwargs[slot.name])
                for slot in getattr(proto, side)
                if slot.name in kwargs
            }
        attrs = {a.name: kwargs[a.name] for a in proto.attrs if kwargs.get(a.name) is not None}
        return SingleOperator(kind, slots["inputs"], slots["outputs"], attrs)

    def types(self) -> list[str]:
        """The types that there are."""
        return known_types()

    def get_op_info(self, t: str) -> Any:
        """The slots and attributes of a type."""
        if t not in known_types():
            raise UsageError(f"The operator: {t} is not registered.")
        return op_proto(t)

    def get_op_input_names(self, type: str) -> list[str]:
        return [slot.name for slot in self.get_op_info(type).inputs]

    def get_op_inputs(self, type: str) -> list[tuple[str, bool]]:
        """The input slots, and whether each may have several variables."""
        return [(slot.name, slot.duplicable) for slot in self.get_op_info(type).inputs]

    def get_op_output_names(self, type: str) -> list[str]:
        return [slot.name for slot in self.get_op_info(type).outputs]

    def get_op_outputs(self, type: str) -> list[tuple[str, bool]]:
        """The output slots, and whether each may have several variables."""
        return [(slot.name, slot.duplicable) for slot in self.get_op_info(type).outputs]

    def get_op_attr_names(self, type: str) -> list[str]:
        return [attr.name for attr in self.get_op_info(type).attrs]

    def get_op_extra_attr_names(self, type: str) -> list[str]:
        """Attributes that only tell how to run an operator: none of them is needed here."""
        self.get_op_info(type)
        return []


def _names(slot: Any, given: Any) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    if not slot.duplicable and len(names) > 1:
        raise UsageError(f"slot {slot.name} expects only one variable, but {len(names)} are given.")
    return names


Operator = OperatorFactory()
