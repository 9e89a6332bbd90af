"""What a line of the multi-slot format holds.

A line is, for each slot in order, a count and so many values, separated by blanks: ``3 11 12 13 1
0.5`` is a slot of three ids and a slot of one float.
"""

from __future__ import annotations

from dataclasses import dataclass

from argosy.foundation.errors import UsageError


class BadData(UsageError, RuntimeError):
    """A file, a line or a pipe command is not what the slots ask for; the message says where."""


@dataclass(frozen=True)
class Slot:
    """One field of a sample: floats (float32) or ids (64 bits, unsigned ones wrap). ``shape`` is
    that of a batch, None for sequences.

    One dimension of ``shape`` may be -1: it follows from the number of values.
    """

    name: str
    is_float: bool
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """The slots of a line, and whether texts come before them: the id of the sample, then its
    content (``1 text`` each).
    """

    slots: tuple[Slot, ...]
    has_id: bool = False
    has_content: bool = False

    @property
    def num_texts(self) -> int:
        return int(self.has_id) + int(self.has_content)
