"""The workers of a program that is being recorded."""

from __future__ import annotations

from dataclasses import dataclass

from argosy.distributed.job import default_group
from argosy.runtime.comm.group import Group

__all__ = ["Workers"]


@dataclass(frozen=True)
class Workers:
    """How many workers train a program, and which of them this process is. They meet when ``group``
    is first asked for: a program can be recorded where it is never run.
    """

    rank: int
    nranks: int

    @property
    def group(self) -> Group:
        return default_group("fleet")
