"""``paddle.base.proto.framework_pb2``: the messages that describe operators.

Programs are not kept in these messages here (``static/files``); they are what scripts build to name
an operator (``OpDesc``) and what tells them its slots and attributes (``OpProto``).
"""

from __future__ import annotations

import enum
from typing import Any, ClassVar

from argosy.fluid.proto._message import DecodeError, Field, Message

__all__ = ["Complex", "DecodeError", "OpDesc", "OpProto", "Scalar"]


class AttrType(enum.IntEnum):
    """What an attribute holds."""

    INT = 0
    FLOAT = 1
    STRING = 2
    INTS = 3
    FLOATS = 4
    STRINGS = 5
    BOOLEAN = 6
    BOOLEANS = 7
    BLOCK = 8
    LONG = 9
    BLOCKS = 10
    LONGS = 11
    FLOAT64S = 12
    VAR = 13
    VARS = 14
    FLOAT64 = 15
    SCALAR = 16
    SCALARS = 17


globals().update({member.name: int(member) for member in AttrType})


def _fields(text: str, **messages: Any) -> dict[str, Field]:
    """Fields from lines ``name number kind``, of which ``kind*`` repeats and ``kind!`` must be
    there; a kind that is none of the simple ones is a message.
    """
    fields = {}
    for line in text.strip().splitlines():
        name, number, kind = line.split()
        simple = kind.rstrip("*!")
        message = messages.get(simple)
        fields[name] = Field(
            int(number),
            "message" if message is not None else simple,
            kind.endswith("*"),
            message,
            kind.endswith("!"),
        )
    return fields


class Complex(Message):
    FIELDS: ClassVar = _fields("r 1 double!\n i 2 double!")


class Scalar(Message):
    """A number with its type."""

    class Type(enum.IntEnum):
        BOOLEAN = 1
        LONG = 2
        FLOAT64 = 3
        COMPLEX128 = 4

    FIELDS: ClassVar = _fields(
        """
        type 1 int!
        b 2 bool
        i 3 int
        r 4 double
        c 5 Complex
        """,
        Complex=Complex,
    )


class OpDesc(Message):
    """One operator: its type, the names of its variables by slot, its attributes."""

    class Attr(Message):
        FIELDS: ClassVar = _fields(
            """
            name 1 string!
            type 2 int!
            i 3 int
            f 4 float
            s 5 string
            ints 6 int*
            floats 7 float*
            strings 8 string*
            b 10 bool
            bools 11 bool*
            block_idx 12 int
            l 13 int
            blocks_idx 14 int*
            longs 15 int*
            float64s 16 double*
            var_name 17 string
            vars_name 18 string*
            float64 19 double
            scalar 20 Scalar
            scalars 21 Scalar*
            """,
            Scalar=Scalar,
        )

    class Var(Message):
        FIELDS: ClassVar = _fields("parameter 1 string!\n arguments 2 string*")

    FIELDS: ClassVar = _fields(
        """
        inputs 1 Var*
        outputs 2 Var*
        type 3 string!
        attrs 4 Attr*
        is_target 5 bool
        """,
        Var=Var,
        Attr=Attr,
    )


class OpProto(Message):
    """A type of operators: its slots and attributes."""

    class Var(Message):
        FIELDS: ClassVar = _fields(
            """
            name 1 string!
            comment 2 string!
            duplicable 3 bool
            intermediate 4 bool
            dispensable 5 bool
            extra 6 bool
            quant 7 bool
            """
        )

    class Attr(Message):
        FIELDS: ClassVar = _fields(
            """
            name 1 string!
            type 2 int!
            comment 3 string!
            generated 4 bool
            extra 5 bool
            quant 6 bool
            support_tensor 7 bool
            """
        )

    FIELDS: ClassVar = _fields(
        """
        type 1 string!
        inputs 2 Var*
        outputs 3 Var*
        attrs 4 Attr*
        comment 5 string!
        """,
        Var=Var,
        Attr=Attr,
    )
