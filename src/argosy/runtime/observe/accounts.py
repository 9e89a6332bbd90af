"""The rings of all processes that a launcher starts, in one piece of anonymous shared memory.

The memory has no name and goes with its last process. Children inherit it; ``argosy top`` opens it
through ``/proc``, which only the same user can.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence

from argosy.foundation import memory_file
from argosy.foundation.errors import UsageError
from argosy.runtime.observe.ring import RING_BYTES, RingReader

VARIABLE = "ARGOSY_ACCOUNT"
_PAGE = 4096
SLOT_BYTES = -(-RING_BYTES // _PAGE) * _PAGE


class Accounts:
    """The launcher's end: a ring for each of ``labels``, which name the processes."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        size = max(1, len(self.labels)) * SLOT_BYTES
        self.fd = memory_file.make("account", size)
        self._memory = memoryview(mmap.mmap(self.fd, size))
        self.readers = readers_of(self._memory, len(self.labels))

    def variable(self, label: str) -> str:
        """The value of VARIABLE for a process: the number of the file, which it inherits, the file
        itself, so that nobody takes another one for it, and its slot.
        """
        slot = self.labels.index(label)
        return f"{self.fd}:{os.fstat(self.fd).st_ino}:{slot}"

    def close(self) -> None:
        self.readers = []
        self._memory.release()
        os.close(self.fd)


def readers_of(memory: memoryview, count: int) -> list[RingReader]:
    """A reader for each slot."""
    return [
        RingReader(memory[slot * SLOT_BYTES : slot * SLOT_BYTES + RING_BYTES])
        for slot in range(count)
    ]


def own_slot(value: str) -> memoryview | None:
    """The memory that ``value`` of VARIABLE gives to this process; None if it has not inherited
    it.
    """
    try:
        fd, inode, slot = (int(part) for part in value.split(":"))
    except ValueError:
        raise UsageError(
            f"{VARIABLE} is set by the launcher and looks like 5:1234:0, but is {value!r}"
        ) from None
    try:
        found = os.fstat(fd)
    except OSError:
        return None
    if found.st_ino != inode or found.st_size < (slot + 1) * SLOT_BYTES or slot < 0:
        return None
    return memoryview(mmap.mmap(fd, SLOT_BYTES, offset=slot * SLOT_BYTES))
