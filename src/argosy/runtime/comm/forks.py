"""Processes that are forked from a rank, such as the workers of a DataLoader, are not members of
its groups.

Such a child has the rank's memory and open files, but none of its threads: what it wrote into
shared memory or a socket would be taken for the rank's own. So everything that is shared registers
here, and lets go of it in the child before any other code runs there. ``os.register_at_fork`` is
for the whole process and for good, hence the module's only state: weak references to the owners
that live.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

from argosy.foundation.errors import UsageError


class Owner(Protocol):
    """Has something that a forked child must not use."""

    def on_forked(self) -> None:
        """Let go of it; runs in the child, where no other thread exists and locks may be held for
        ever.
        """


_owners: weakref.WeakSet[Owner] = weakref.WeakSet()


def register(owner: Owner) -> None:
    """Call ``owner.on_forked()`` in every child that is forked from now on while ``owner``
    lives.
    """
    _owners.add(owner)


def refusal(call: str, rank: int, group: str) -> UsageError:
    """What a child is told that calls ``call`` on a group of the rank it was forked from."""
    return UsageError(
        f"{call}: this process was forked from rank {rank} and is not a member of group "
        f"{group!r}, as its parent is.\n"
        "  Communicate in the parent, or start a process that is to be a rank of its own with "
        "the start method 'spawn'."
    )


def never_free(thing: Any) -> None:
    """Keep ``thing`` for the life of this process: its destructor would wait for threads that only
    the parent has.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _in_child() -> None:
    _in_child_of(list(_owners))


def _in_child_of(owners: Sequence[Owner]) -> None:
    errors = []
    for owner in owners:
        try:
            owner.on_forked()
        except Exception as error:  # the others must let go all the same
            errors.append(error)
    if errors:
        raise errors[0]


os.register_at_fork(after_in_child=_in_child)
