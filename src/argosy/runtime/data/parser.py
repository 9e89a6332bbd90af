"""From text to records: one pass over the bytes of a chunk of whole lines, without the
interpreter's lock.
"""

# mypy: disable-error-code="untyped-decorator,call-arg,no-any-return,assignment"
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from argosy.foundation.errors import UsageError
from argosy.runtime.data.records import Records
from argosy.runtime.data.slots import BadData, Layout

_BLANK, _TAB, _RETURN, _NEWLINE = 32, 9, 13, 10
_DOT, _PLUS, _MINUS, _ZERO, _LOWER_E, _UPPER_E = 46, 43, 45, 48, 101, 69

# What a line may suffer from; 0 is a good one.
_NO_COUNT, _ZERO_COUNT, _TOO_SHORT, _NO_ID, _NO_FLOAT, _NO_TEXT = range(1, 7)
_POWERS = 10.0 ** np.arange(23)  # exactly representable


class Parser:
    """Parses lines of one layout.

    Example:
        >>> from argosy.runtime.data.slots import Layout, Slot
        >>> parser = Parser(Layout((Slot("ids", False), Slot("label", True, (-1, 1)))))
        >>> records = parser.parse(b"2 7 8 1 0.5\\n1 9 1 1.0\\n")
        >>> records.column(0)
        (array([7, 8, 9]), array([0, 2, 3]))
    """

    def __init__(self, layout: Layout) -> None:
        if not layout.slots:
            raise UsageError("a dataset needs at least one variable: set use_var")
        self.layout = layout
        self.is_float = np.array([slot.is_float for slot in layout.slots])

    def parse(self, text: bytes, source: str = "the text", first_line: int = 1) -> Records:
        """Records of whole lines, of which blank ones are left out; a bad one is an error with its
        number, counted from ``first_line``.
        """
        data = np.frombuffer(text, np.uint8)
        num_lines = text.count(b"\n") + 1
        counts = np.empty((num_lines, len(self.is_float)), np.int32)
        ids = np.empty(len(data) // 2 + 1, np.int64)  # a value takes two bytes at least
        floats = np.empty(len(ids), np.float32)
        slow = np.empty((len(ids), 3), np.int64)
        keys = np.empty(num_lines if self.layout.has_id else 0, np.uint64)
        texts = self.layout.num_texts
        ends = _parse(data, self.is_float, texts, keys, counts, ids, floats, slow, _POWERS)
        samples, num_ids, num_floats, num_slow, problem, line, slot, at = ends
        # A number that the fast way leaves to Python may be none: it stands before whatever stopped
        # the parse.
        with np.errstate(over="ignore"):  # to infinity
            for place, begin, end in slow[:num_slow]:
                floats[place] = self._number(text, int(begin), int(end), source, first_line)
        if problem:
            raise self._error(problem, source, first_line + line, slot, at, text)
        return Records(
            counts[:samples].copy(),
            ids[:num_ids].copy(),
            floats[:num_floats].copy(),
            keys[:samples],
            self.is_float,
        )

    def _number(self, text: bytes, begin: int, end: int, source: str, first_line: int) -> float:
        token = text[begin:end]
        try:
            if b"_" in token:  # Python's digit groups
                raise ValueError
            return float(token)
        except ValueError:
            line = first_line + text.count(b"\n", 0, begin)
            raise BadData(
                f"{_message(source, line, text, begin)}{_shown(token)} is no number"
            ) from None

    def _error(
        self, problem: int, source: str, line: int, slot: int, at: int, text: bytes
    ) -> BadData:
        token = _shown(text[at:].split(None, 1)[0] if text[at:].strip() else b"")
        name = self.layout.slots[slot].name if slot >= 0 else "the text before the slots"
        what = {
            _NO_COUNT: f"the number of values must come first, but {token} is none",
            _ZERO_COUNT: (
                "the number of ids can not be zero; pad it with a value in the data generator"
            ),
            _TOO_SHORT: "the line ends before all of its values",
            _NO_ID: f"{token} is no integer of 64 bits",
            _NO_FLOAT: f"{token} is no number",
            _NO_TEXT: "a text must be preceded by the number 1",
        }[problem]
        where = f"slot {name!r} ({slot + 1} of {len(self.is_float)})" if slot >= 0 else name
        return BadData(f"{_message(source, line, text, at)}{where}: {what}")


def _shown(token: bytes) -> str:
    return repr(token[:40].decode(errors="replace"))


def _message(source: str, line: int, text: bytes, at: int) -> str:
    begin = text.rfind(b"\n", 0, at) + 1
    end = text.find(b"\n", begin)
    shown = text[begin : len(text) if end < 0 else end].decode(errors="replace")
    return f"{source}, line {line}: {shown[:200] + ('...' if len(shown) > 200 else '')!r}\n  "


@numba.njit(nogil=True, cache=True, inline="always")
def _is_blank(byte: Any) -> Any:
    return byte in (_BLANK, _TAB, _RETURN)


@numba.njit(nogil=True, cache=True)
def _token(data: Any, at: int) -> tuple[int, int]:
    """Where the next token of this line begins and ends; equal at the end of the line."""
    size = data.shape[0]
    while at < size and _is_blank(data[at]):
        at += 1
    begin = at
    while at < size and data[at] != _NEWLINE and not _is_blank(data[at]):
        at += 1
    return begin, at


@numba.njit(nogil=True, cache=True)
def _integer(data: Any, begin: int, end: int) -> tuple[bool, Any]:
    """A signed or unsigned integer of 64 bits, as its bits."""
    is_negative = data[begin] == _MINUS
    if is_negative or data[begin] == _PLUS:
        begin += 1
    if begin == end:
        return False, np.uint64(0)
    value = np.uint64(0)
    for i in range(begin, end):
        digit = np.uint64(data[i]) - np.uint64(_ZERO)
        if digit > np.uint64(9):
            return False, np.uint64(0)
        # 1844674407370955161 * 10 + 5 is the largest
        if value > np.uint64(1844674407370955161) or (
            value == np.uint64(1844674407370955161) and digit > np.uint64(5)
        ):
            return False, np.uint64(0)
        value = value * np.uint64(10) + digit
    return True, np.uint64(0) - value if is_negative else value


@numba.njit(nogil=True, cache=True)
def _decimal(data: Any, begin: int, end: int, powers: Any) -> tuple[bool, float]:
    """A number of at most 15 digits and a small exponent, exactly; others are left to Python."""
    is_negative = data[begin] == _MINUS
    at = begin + 1 if is_negative or data[begin] == _PLUS else begin
    mantissa, exponent, digits, seen = np.int64(0), 0, 0, 0
    has_dot = False
    while at < end:
        byte = data[at]
        if byte == _DOT and not has_dot:
            has_dot = True
        elif _ZERO <= byte <= _ZERO + 9:
            mantissa = mantissa * 10 + np.int64(byte - _ZERO)
            digits += mantissa > 0
            seen += 1
            exponent -= has_dot
            if digits > 15:
                return False, 0.0
        else:
            break
        at += 1
    if seen == 0:
        return False, 0.0
    if at < end:
        if (data[at] != _LOWER_E and data[at] != _UPPER_E) or end - at > 5:
            return False, 0.0
        is_good, power = _integer(data, at + 1, end) if at + 1 < end else (False, np.uint64(0))
        if not is_good:
            return False, 0.0
        exponent += np.int64(power)
    if exponent < -22 or exponent > 22:
        return False, 0.0
    value = mantissa / powers[-exponent] if exponent < 0 else mantissa * powers[exponent]
    return True, -value if is_negative else value


@numba.njit(nogil=True, cache=True)
def _hash(data: Any, begin: int, end: int) -> Any:
    """64 bits of a text (FNV-1a)."""
    value = np.uint64(0xCBF29CE484222325)
    for i in range(begin, end):
        value = (value ^ np.uint64(data[i])) * np.uint64(0x100000001B3)
    return value


@numba.njit(nogil=True, cache=True)
def _parse(
    data: Any,
    is_float: Any,
    num_texts: int,
    keys: Any,
    counts: Any,
    ids: Any,
    floats: Any,
    slow: Any,
    powers: Any,
) -> tuple[int, int, int, int, int, int, int, int]:
    """Fill the arrays; how far each was filled, and the first problem with its line, slot and
    place.
    """
    size, at, line, sample, num_ids, num_floats, num_slow = data.shape[0], 0, 0, 0, 0, 0, 0
    while at < size:
        begin, end = _token(data, at)
        if begin == end:  # a blank line
            at, line = begin + 1, line + 1
            continue
        for text in range(num_texts):
            begin, end = _token(data, at)
            if end - begin != 1 or data[begin] != _ZERO + 1:
                return sample, num_ids, num_floats, num_slow, _NO_TEXT, line, -1, begin
            begin, end = _token(data, end)
            if begin == end:
                return sample, num_ids, num_floats, num_slow, _TOO_SHORT, line, -1, begin
            if text == 0 and keys.shape[0]:
                keys[sample] = _hash(data, begin, end)
            at = end
        for slot in range(is_float.shape[0]):
            begin, at = _token(data, at)
            if begin == at:
                return sample, num_ids, num_floats, num_slow, _TOO_SHORT, line, slot, begin
            is_good, count = _integer(data, begin, at)
            if not is_good or count > np.uint64(0x7FFFFFFF):
                return sample, num_ids, num_floats, num_slow, _NO_COUNT, line, slot, begin
            if count == 0:
                return sample, num_ids, num_floats, num_slow, _ZERO_COUNT, line, slot, begin
            counts[sample, slot] = count
            for _ in range(np.int64(count)):
                begin, at = _token(data, at)
                if begin == at:
                    return sample, num_ids, num_floats, num_slow, _TOO_SHORT, line, slot, begin
                if is_float[slot]:
                    is_good, number = _decimal(data, begin, at, powers)
                    if is_good:
                        floats[num_floats] = number
                    else:
                        slow[num_slow, 0], slow[num_slow, 1], slow[num_slow, 2] = (
                            num_floats,
                            begin,
                            at,
                        )
                        num_slow += 1
                    num_floats += 1
                else:
                    is_good, value = _integer(data, begin, at)
                    if not is_good:
                        return sample, num_ids, num_floats, num_slow, _NO_ID, line, slot, begin
                    ids[num_ids] = np.int64(value)
                    num_ids += 1
        # what follows belongs to slots that nobody asked for
        while at < size and data[at] != _NEWLINE:
            at += 1
        at, line, sample = at + 1, line + 1, sample + 1
    return sample, num_ids, num_floats, num_slow, 0, line, 0, 0
