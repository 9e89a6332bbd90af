"""What Paddle says of each type of operator: slots, attributes, their kinds and defaults.

``operators.txt`` has a line per type: name, input slots, output slots, attributes, separated by
tabs. ``*`` behind a slot: it takes several variables; ``?``: it may take none; ``+``: training
reads it, and some versions must find it all the same. An attribute is ``name:KIND=default``; with
``~`` for ``=`` it says how an operator runs or trains, and files for inference go without it; with
``^`` behind the kind, variables may stand in the place of its numbers. A
type with ``-`` before it was given up after 1.8: it is read, not written; one with ``@2`` behind it
has that version. ``tests/goldens/make_operator_protos.py`` writes the file.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

_MARKS = "*?+"
_ATTR = re.compile(r"(.+?):([A-Z0-9]+)(\^?)(?:([=~])(.*))?")


class AttrProto(NamedTuple):
    """An attribute; without a default it must be given."""

    kind: str
    default: Any
    has_default: bool
    is_extra: bool
    takes_variables: bool


class OpProto(NamedTuple):
    """A type of operators. Slots are as in the file, without marks; ``lists`` take several
    variables, ``optional`` none.
    """

    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lists: frozenset[str]
    optional: frozenset[str]
    attrs: dict[str, AttrProto]
    is_current: bool


@functools.cache
def _lines() -> dict[str, str]:
    text = Path(__file__).with_name("operators.txt").read_text()
    return {
        line.partition("\t")[0].lstrip("-").partition("@")[0]: line for line in text.splitlines()
    }


@functools.cache
def versions() -> dict[str, int]:
    """The versions of types that had others before, as a program notes them."""
    titles = (line.partition("\t")[0].partition("@") for line in _lines().values())
    return {name: int(version) for name, _, version in sorted(titles) if version}


@functools.cache
def find(type: str) -> OpProto | None:
    """What Paddle says of a type; None if it has none of this name."""
    line = _lines().get(type)
    if line is None:
        return None
    name, inputs, outputs, *attrs = line.split("\t")
    slots = [*inputs.split(), *outputs.split()]
    return OpProto(
        type,
        tuple(slot.rstrip(_MARKS) for slot in inputs.split()),
        tuple(slot.rstrip(_MARKS) for slot in outputs.split()),
        frozenset(slot.rstrip(_MARKS) for slot in slots if "*" in slot),
        frozenset(slot.rstrip(_MARKS) for slot in slots if "?" in slot or slot.endswith("*+")),
        dict(map(_attr, attrs)),
        not name.startswith("-"),
    )


def _attr(text: str) -> tuple[str, AttrProto]:
    match = _ATTR.fullmatch(text)
    assert match is not None  # the file is ours
    name, kind, mark, sign, value = match.groups()
    default = json.loads(value) if sign else None
    return name, AttrProto(kind, default, sign is not None, sign == "~", bool(mark))
