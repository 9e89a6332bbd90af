"""Slots and attributes of the operators that can be added by hand, as Paddle's messages."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from argosy.fluid.proto.framework_pb2 import AttrType, OpProto
from argosy.static.record import op_types

_BY_ANNOTATION = {
    "bool": AttrType.BOOLEAN,
    "int": AttrType.INT,
    "float": AttrType.FLOAT,
    "str": AttrType.STRING,
}


@cache
def known_types() -> list[str]:
    """The types of operators that ``Block.append_op`` knows."""
    return op_types.known()


@cache
def op_proto(name: str) -> OpProto:
    """The slots and attributes of a type. Slots begin with a capital letter."""
    kind = op_types.find(name)
    proto = OpProto(type=name, comment="")
    for parameter in inspect.signature(kind.record).parameters.values():
        if parameter.name[0].isupper() or parameter.name in kind.small_slots:
            slot: Any = proto.inputs.add()
            slot.dispensable = parameter.default is not parameter.empty
            slot.duplicable = parameter.name in kind.lists
        else:
            slot = proto.attrs.add()
            slot.type = _attribute_type(parameter)
        slot.name, slot.comment = parameter.name, ""
    for output in (*kind.outputs, *kind.unused):
        slot = proto.outputs.add()
        slot.name, slot.comment = output, ""
        slot.duplicable, slot.intermediate = output in kind.lists, output in kind.unused
    return proto


def _attribute_type(parameter: inspect.Parameter) -> AttrType:
    if "dtype" in parameter.name:
        return AttrType.INT
    return _BY_ANNOTATION.get(str(parameter.annotation), AttrType.INTS)
