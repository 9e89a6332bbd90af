"""What ``run`` asks of the rooms above it: programs that run in a way of their own, and hooks
around runs over datasets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from argosy.foundation.places import Place
from argosy.static.ir.attachment import Attachment
from argosy.static.ir.operator import Operator
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope

Part = Callable[[Program, Any, list[str], list[Operator]], Program]


class PreparedProgram(Attachment, ABC):
    """A program with the places it runs on. Attached to a program, it runs in its stead."""

    @property
    @abstractmethod
    def recorded(self) -> Program:
        """The program that it runs."""

    @abstractmethod
    def prepare(self) -> bool:
        """Whether it runs by itself; if not, the recorded program runs as it is."""

    @abstractmethod
    def run(
        self,
        place: Place,
        scope: Scope,
        feed: Any,
        fetch_list: Any,
        return_numpy: bool,
        return_merged: bool,
        use_prune: bool,
        part: Part,
    ) -> list[Any]:
        """One run; the arguments are those of ``Executor.run``. ``part`` makes a program of what is
        to run of this one, fed and fetched so, with these updates.
        """

    @abstractmethod
    def close(self) -> None:
        """End its threads; a later run starts them anew."""


@dataclass(frozen=True)
class LookAhead(Attachment):
    """Is told the feed after the one that runs next; None when there is none."""

    look: Callable[[Any], None]


@dataclass(frozen=True)
class Follows(Attachment):
    """Begins a pass over a dataset, of which some batches may be done already."""

    begin: Callable[[], Any]


@dataclass(frozen=True)
class ForwardPart(Attachment):
    """The operators of a program that compute forward, for one version of it."""

    version: int
    program: Program
