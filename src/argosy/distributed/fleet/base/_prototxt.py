"""Strategies as protobuf text, the format that Paddle saves them in.

``write`` gives what was set; ``merge`` reads such a text into a Message: scalars replace, lists
grow, groups are merged. Both know the forms that protobuf's own reader takes: comments, quoted
strings with escapes (adjacent ones join), ``[a, b]`` lists, ``{}`` or ``<>`` around groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from argosy.distributed.fleet.base._field import BOOL, DOUBLE, FLOAT, STRING, Field
from argosy.distributed.fleet.base._message import Message
from argosy.foundation.errors import ArgosyError, UsageError

__all__ = ["merge", "write"]

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<mark>[{}<>\[\]:,;])|(?P<word>[-+.\w]+)""",
    re.S,
)
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.S)
_LETTERS = {
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
}
_TRUE, _FALSE = ("true", "True", "t", "1"), ("false", "False", "f", "0")
_CLOSING = {"{": "}", "<": ">"}


def write(message: Message, indent: str = "") -> str:
    """The text of what was set in ``message``."""
    lines: list[str] = []
    for name, value in message.stored().items():
        field = message.field(name)
        for item in value if field.is_list else [value]:
            if isinstance(item, Message):
                lines.append(f"{indent}{name} {{\n{write(item, indent + '  ')}{indent}}}\n")
            else:
                lines.append(f"{indent}{name}: {_literal(field, item)}\n")
    return "".join(lines)


def _literal(field: Field, value: Any) -> str:
    if field.kind == BOOL:
        return "true" if value else "false"
    if field.kind == STRING:
        return '"' + "".join(_quoted(byte) for byte in value.encode()) + '"'
    if field.choices:
        return field.choices[int(value) - field.first_choice]
    return str(repr(value)).removesuffix(".0")


def _quoted(byte: int) -> str:
    char = chr(byte)
    if char in '"\\':
        return "\\" + char
    if char == "\n":
        return "\\n"
    return char if 32 <= byte < 127 else f"\\{byte:03o}"


def merge(text: str, message: Message, source: str) -> None:
    """Read ``text`` into ``message``; an error names ``source`` and the line."""
    _Reader(text, source).read_group(message, None)


class _Reader:
    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._line = 1
        self._tokens = self._split(text)
        self._next: tuple[str, str] | None = next(self._tokens, None)

    def _split(self, text: str) -> Iterator[tuple[str, str]]:
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._error(f"unexpected {text[at]!r}")
            if found.lastgroup != "space":
                yield found.lastgroup or "", found.group()
            at = found.end()
            self._line += found.group().count("\n")

    def _error(self, problem: str) -> UsageError:
        return UsageError(f"{self._source}, line {self._line}: {problem}")

    def _take(self) -> tuple[str, str]:
        if self._next is None:
            raise self._error("the text ends in the middle of a group")
        token, self._next = self._next, None
        self._next = next(self._tokens, None)
        return token

    def _accept(self, mark: str) -> bool:
        if self._next == ("mark", mark):
            self._take()
            return True
        return False

    def read_group(self, message: Message, closing: str | None) -> None:
        while self._next is not None or closing is not None:
            if closing is not None and self._accept(closing):
                return
            kind, name = self._take()
            if kind != "word":
                raise self._error(f"expected the name of a field, but found {name!r}")
            try:
                field = message.field(name)
                self._read_field(message, field)
            except UsageError as error:
                if str(error).startswith(self._source):
                    raise
                raise self._error(str(error)) from None

    def _read_field(self, message: Message, field: Field) -> None:
        self._accept(":")
        if self._accept("["):
            while not self._accept("]"):
                self._read_value(message, field)
                self._accept(",")
        else:
            self._read_value(message, field)
        if not self._accept(","):
            self._accept(";")

    def _read_value(self, message: Message, field: Field) -> None:
        if field.is_group:
            _, mark = self._take()
            if mark not in _CLOSING:
                raise self._error(f"{field.name}: expected '{{', but found {mark!r}")
            self.read_group(
                message.add(field.name) if field.is_list else getattr(message, field.name),
                _CLOSING[mark],
            )
            return
        value = self._scalar(field)
        if field.is_list:
            message.update({field.name: [value]})
        else:
            setattr(message, field.name, value)

    def _scalar(self, field: Field) -> Any:
        kind, text = self._take()
        try:
            if field.kind == STRING and kind == "text":
                parts = [_unquote(text)]
                while self._next is not None and self._next[0] == "text":
                    parts.append(_unquote(self._take()[1]))
                return b"".join(parts).decode()
            if kind == "word":
                return _number(field, text)
        except (ValueError, ArgosyError):
            pass
        raise self._error(f"{field.name}: {text} is not a {field.kind}")


def _unquote(text: str) -> bytes:
    def plain(found: re.Match[bytes]) -> bytes:
        hexadecimal, octal, letter = found.groups()
        if hexadecimal is not None:
            return bytes([int(hexadecimal, 16)])
        if octal is not None:
            return bytes([int(octal, 8)])
        return _LETTERS.get(letter, letter)

    return _ESCAPE.sub(plain, text[1:-1].encode())


def _number(field: Field, text: str) -> Any:
    if field.kind == BOOL:
        if text not in _TRUE + _FALSE:
            raise ValueError(text)
        return text in _TRUE
    if field.kind in (FLOAT, DOUBLE):
        return float(
            text.rstrip("fF") if text[-1:] in "fF" and not text.lower().endswith("inf") else text
        )
    return text if text in field.choices else int(text, 0)
