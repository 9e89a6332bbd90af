"""The last collectives of a process, in memory that others can read while it hangs.

::

    0       NAMES texts of NAME_BYTES: what is called, by its code; ended by zeros
    4096    call n lies at 4096 + (n % CAPACITY) * CALL_BYTES:
            n, when it began (monotonic clock, ns), bytes of its tensors (-1: not known), code;
            at END: n once more, when it ended; another number there: it is under way

Threads of one process write, any process may read. Calls are numbered from 1 on. Where a frame
counts, who runs a collective writes ``begin`` and ``end`` out (``runtime/comm/work.py``).
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CAPACITY = 64
NAMES, NAME_BYTES = 64, 64
_CALLS = NAMES * NAME_BYTES
_BEGIN, _END, _CALL = struct.Struct("<4q"), struct.Struct("<2q"), struct.Struct("<6q")
pack_begin, pack_end = _BEGIN.pack_into, _END.pack_into
CALL_BYTES, END = _CALL.size, _BEGIN.size
BYTES = _CALLS + CAPACITY * CALL_BYTES
_OTHERS = "another collective"  # when there are more names than places


@dataclass(frozen=True)
class Call:
    """One collective; ``ended_ns`` is 0 while it is under way, ``num_bytes`` -1 if not known."""

    number: int
    began_ns: int
    ended_ns: int
    num_bytes: int
    what: str


class CallLog:
    """The writer's end, on ``memory`` of BYTES. One for the life of a process: who calls keeps the
    codes of its names.
    """

    def __init__(self, memory: memoryview) -> None:
        memory[:BYTES] = bytes(BYTES)
        self._names = memory[:_CALLS]
        self._codes = itertools.count()
        self.memory = memory[_CALLS:BYTES]
        places = itertools.cycle(n % CAPACITY * CALL_BYTES for n in range(1, CAPACITY + 1))
        self.places = zip(itertools.count(1), places, strict=False)  # each for one thread alone

    def code(self, text: str) -> int:
        """A code for what is called."""
        found = min(next(self._codes), NAMES - 1)
        data = (text if found < NAMES - 1 else _OTHERS).encode()[:NAME_BYTES]
        self._names[found * NAME_BYTES : found * NAME_BYTES + len(data)] = data
        return found

    def begin(self, code: int, num_bytes: int, began_ns: int) -> int:
        """A collective begins; returns its number."""
        number, at = next(self.places)
        pack_begin(self.memory, at, number, began_ns, num_bytes, code)
        return number

    def end(self, number: int, ended_ns: int) -> None:
        """It has ended. If others have taken its place meanwhile, its number is not theirs."""
        pack_end(self.memory, number % CAPACITY * CALL_BYTES + END, number, ended_ns)


def size_of(call: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """The bytes that a collective moves: those of its first argument, a tensor or a list of them,
    or of the bucket whose method it is; -1 if they cannot be told.
    """
    first: Any = args[0] if args else getattr(getattr(call, "__self__", None), "tensor", None)
    try:
        return sum(one.nbytes for one in (first if isinstance(first, list) else [first]))
    except (AttributeError, RuntimeError):  # of a tensor that has no memory of its own
        return -1


def read(memory: memoryview) -> list[Call]:
    """The last collectives, the oldest first, without what is just being written."""
    found = []
    for at in range(_CALLS, BYTES, CALL_BYTES):
        fields = _CALL.unpack_from(memory, at)
        if not fields[0] or _CALL.unpack_from(memory, at)[:4] != fields[:4]:
            continue
        number, began_ns, num_bytes, code, ended, ended_ns = fields
        place = code % NAMES * NAME_BYTES
        text = bytes(memory[place : place + NAME_BYTES]).partition(b"\0")[0]
        ended_ns = ended_ns if ended == number else 0
        found.append(Call(number, began_ns, ended_ns, num_bytes, text.decode(errors="replace")))
    return sorted(found, key=lambda call: call.number)
