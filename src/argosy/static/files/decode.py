"""The JSON of a program's file, read strictly: each kind of node has one function that checks it
and builds what it stands for.

A file may be damaged, or written by someone who means harm. Whatever it says, a node that is not
exactly of the form that ``files.programs`` writes is refused with a CheckpointError that names its
place in the file (``blocks[0].ops[3].kwargs.axis``). What the nodes say together, names that
nothing declares or blocks that run themselves, is for ``files.verify``.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import CheckpointError, ProgramError
from argosy.ops import table
from argosy.static.ir.block import Block
from argosy.static.ir.operator import BACKWARD, FORWARD, OPTIMIZE, Number, Operator, Ref, SubBlock
from argosy.static.ir.variable import OTHER_STAND_IN, Parameter, Variable, samples

# nodes inside of one another; a tensor's index among an operator's arguments is at 10
_DEEPEST = 64
_LONGEST_NAME = 1000
_MOST_DIMENSIONS = 64  # torch's own bound
_LARGEST_TENSOR = 1 << 62  # bytes that a declared variable may have, so that no size overflows
_INTEGERS = -(1 << 63), (1 << 64) - 1  # what torch takes as a number or a seed
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

_DTYPES = {dtype.name: dtype.torch for dtype in dtypes.ALL}
_ARRAY_DTYPES = {
    made.str: made
    for kind in (
        "b1",
        "i1",
        "i2",
        "i4",
        "i8",
        "u1",
        "u2",
        "u4",
        "u8",
        "f2",
        "f4",
        "f8",
        "c8",
        "c16",
    )
    for made in (np.dtype(f"<{kind}"), np.dtype(f">{kind}"))
}

_VARIABLE_FIELDS = ("name", "shape", "dtype", "persistable", "stop_gradient", "is_data", "lod")
_OPERATOR_FIELDS = ("type", "op", "args", "kwargs", "out", "role", "name_scope", "where", "device")


class Node:
    """One value of a file, and its place there."""

    __slots__ = ("_key", "_parent", "_source", "depth", "value")

    def __init__(
        self, value: Any, source: str, parent: Node | None = None, key: str | int = ""
    ) -> None:
        self.value = value
        self._source = source
        self._parent = parent
        self._key = key
        self.depth: int = 0 if parent is None else parent.depth + 1
        if self.depth > _DEEPEST:
            raise self.refused(f"at most {_DEEPEST} values deep")

    @property
    def place(self) -> str:
        """Where it stands, as ``blocks[0].vars[2].name``."""
        around = "" if self._parent is None else self._parent.place
        if isinstance(self._key, int):
            return f"{around}[{self._key}]"
        return f"{around}.{self._key}" if around else self._key

    def refused(self, expected: str) -> CheckpointError:
        """The error that this node is not what it must be."""
        shown = (
            repr(self.value)
            if not isinstance(self.value, (dict, list))
            else f"a {type(self.value).__name__}"
        )
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        return CheckpointError(
            f"{self._source} is damaged: {self.place or 'its contents'} must be {expected}, but "
            f"is {shown}"
        )

    # -- plain values
    # -------------------------------------------------------------------------------------------

    def flag(self) -> bool:
        if type(self.value) not in (bool, int) or self.value not in (0, 1):
            raise self.refused("true or false")
        return bool(self.value)

    def integer(self, low: int = _INTEGERS[0], high: int = _INTEGERS[1]) -> int:
        if type(self.value) is not int or not low <= self.value <= high:
            raise self.refused(f"an integer from {low} to {high}")
        return self.value

    def number(self) -> float:
        if type(self.value) is float:
            return self.value
        return float(self.integer())

    def text(self) -> str:
        if not isinstance(self.value, str) or _SURROGATE.search(self.value):
            raise self.refused("text")
        return self.value

    def label(self) -> str:
        """Text in one line, for whoever reads the program."""
        text = self.text()
        if _CONTROL.search(text):
            raise self.refused("text without control characters")
        return text

    def name(self) -> str:
        """The name of a variable."""
        name = self.label()
        if not 0 < len(name) <= _LONGEST_NAME:
            raise self.refused(f"a name of 1 to {_LONGEST_NAME} characters")
        return name

    def choice(self, known: Sequence[str]) -> str:
        if not isinstance(self.value, str) or self.value not in known:
            raise self.refused(f"one of {', '.join(known)}")
        return self.value

    # -- values of values
    # ---------------------------------------------------------------------------------------

    def items(self) -> list[Node]:
        if not isinstance(self.value, list):
            raise self.refused("a list")
        return [Node(item, self._source, self, i) for i, item in enumerate(self.value)]

    def entries(self) -> dict[str, Node]:
        if not isinstance(self.value, dict):
            raise self.refused("an object")
        return {key: Node(item, self._source, self, key) for key, item in self.value.items()}

    def fields(self, names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Node]:
        """The entries of an object that has exactly these."""
        entries = self.entries()
        for name in names:
            if name not in entries:
                raise self.refused(f"an object with {', '.join(names)} ({name} is missing)")
        unknown = [key for key in entries if key not in names and key not in optional]
        if unknown:
            raise self.refused(f"an object with {', '.join(names)} and no {unknown[0][:60]!r}")
        return entries

    def names(self) -> list[str]:
        return [item.name() for item in self.items()]


def parsed(body: bytes, source: str) -> Node:
    """The JSON in ``body``; ``source`` names the file in messages."""
    try:
        return Node(json.loads(body.decode(), object_pairs_hook=_unique), source)
    except (ValueError, RecursionError) as error:  # of the text itself: nothing was built of it yet
        raise CheckpointError(
            f"{source} is damaged: it is no JSON that can be read ({error})"
        ) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object names an entry twice")
    return found


# -- variables
# --------------------------------------------------------------------------------------------------


def add_variable(block: Block, node: Node) -> None:
    """Add the variable that ``node`` describes to ``block``."""
    fields = node.fields(_VARIABLE_FIELDS, optional=("parameter",))
    name = fields["name"].name()
    if name in block.vars:
        raise fields["name"].refused("a name that the block does not have yet")
    own = fields.get("parameter")
    dtype = dtype_of(fields["dtype"])
    shape = shape_of(fields["shape"], dtype, lowest=-1 if own is None else 0)
    first, second = samples(shape, dtype)
    stops, lod = fields["stop_gradient"].flag(), tuple(fields["lod"].names())
    keeps, is_data = fields["persistable"].flag(), fields["is_data"].flag()
    if own is None:
        made = Variable(
            block, name, first, second, persistable=keeps, stop_gradient=stops, is_data=is_data,
            lod=lod
        )  # fmt: skip
        add(block, made, node)
        return
    settings = own.fields(("rate", "need_clip"))
    parameter = Parameter(block, name, first, not stops)
    parameter.optimize_attr = {"learning_rate": settings["rate"].number()}
    parameter.need_clip = settings["need_clip"].flag()
    add(block, parameter, node)


def add(block: Block, variable: Variable, node: Node) -> None:
    """Add a variable that ``node`` describes to ``block``."""
    try:
        block.add_variable(variable)
    except ProgramError as error:
        raise node.refused(f"a variable of its own ({error})") from error


def dtype_of(node: Node) -> torch.dtype:
    return _DTYPES[node.choice(tuple(_DTYPES))]


def shape_of(node: Node, dtype: torch.dtype, lowest: int) -> list[int]:
    """The shape that a file declares."""
    items = node.items()
    shape = [item.integer(lowest, _LARGEST_TENSOR) for item in items]
    size = math.prod(OTHER_STAND_IN if n < 0 else n for n in shape)
    if len(shape) > _MOST_DIMENSIONS or size * dtype.itemsize > _LARGEST_TENSOR:
        raise node.refused(
            f"a shape of at most {_MOST_DIMENSIONS} dimensions and {_LARGEST_TENSOR} bytes"
        )
    return shape


# -- operators
# --------------------------------------------------------------------------------------------------


def operator_of(block: Block, node: Node) -> Operator:
    """The operator that ``node`` describes; that it can run is for ``files.verify``."""
    fields = node.fields(_OPERATOR_FIELDS)
    name = fields["op"].value
    op = None if name is None else table.named(fields["op"].label())
    if name is not None and (op is None or op.name != name):
        raise fields["op"].refused("an op that this version has")
    return Operator(
        block,
        fields["type"].label(),
        op,
        tuple(value_of(item) for item in fields["args"].items()),
        {key: value_of(item) for key, item in fields["kwargs"].entries().items()},
        value_of(fields["out"]),
        fields["role"].choice((FORWARD, BACKWARD, OPTIMIZE)),
        fields["name_scope"].label(),
        fields["where"].label(),
        fields["device"].label(),
    )


def value_of(node: Node) -> Any:
    """An argument or result of an operator."""
    value = node.value
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return node.integer()
    if isinstance(value, str):
        return node.text()
    items = node.items()
    if not items:
        raise node.refused("a list that begins with the kind of its value")
    kind = items[0].choice(tuple(_KINDS))
    counts, read = _KINDS[kind]
    if counts is not None and len(items) - 1 != counts:
        raise node.refused(f"a {kind} of {counts} items")
    return read(*items[1:])


def _array(dtype: Node, shape: Node, content: Node) -> np.ndarray:
    kind = _ARRAY_DTYPES[dtype.choice(tuple(_ARRAY_DTYPES))]
    extents = [item.integer(0, _LARGEST_TENSOR) for item in shape.items()]
    try:
        raw = base64.b64decode(content.text(), validate=True)
    except (binascii.Error, ValueError) as error:
        raise content.refused("bytes in base64") from error
    if len(extents) > _MOST_DIMENSIONS or math.prod(extents) * kind.itemsize != len(raw):
        raise shape.refused(f"the shape of an array of {len(raw)} bytes")
    return np.frombuffer(raw, kind).reshape(extents).copy()


def _part(node: Node) -> int | None:
    return None if node.value is None else node.integer()


# The kinds of values: how many items follow the name of the kind, None for any number, and what
# reads them.
_KINDS: dict[str, tuple[int | None, Callable[..., Any]]] = {
    "list": (None, lambda *items: [value_of(item) for item in items]),
    "tuple": (None, lambda *items: tuple(value_of(item) for item in items)),
    "ref": (1, lambda name: Ref(name.name())),
    "number": (2, lambda name, scale: Number(name.name(), scale.number())),
    "dtype": (1, dtype_of),
    "device": (0, lambda: torch.device("cpu")),  # any: a run puts its own in place
    "slice": (3, lambda start, stop, step: slice(_part(start), _part(stop), _part(step))),
    "block": (
        2,
        lambda index, results: SubBlock(index.integer(1, 1 << 31), tuple(results.names())),
    ),
    "ellipsis": (0, lambda: Ellipsis),
    "complex": (2, lambda real, imag: complex(real.number(), imag.number())),
    "array": (3, _array),
}
