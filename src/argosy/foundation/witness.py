"""Who looks on while this process trains, so that two runs can be compared bit for bit.

Whoever hands out a batch, computes a loss or updates parameters shows it here. In an ordinary run
nobody looks on, and showing costs a comparison; ``argosy prove`` seats a recorder
(``runtime/prove``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from argosy.foundation import env
from argosy.foundation.process_state import register

VARIABLE = "ARGOSY_PROOF"
Values = Callable[[], Iterable[tuple[str, Any]]]


class Witness(Protocol):
    """What is shown must not be changed, nor kept without a copy."""

    def batch(self, batch: Any) -> None:
        """A loader, or the script by a feed, has delivered this."""

    def result(self, value: Any) -> None:
        """A loss, or what a training run of a program has fetched."""

    def end_step(self, owner: object, values: Values) -> None:
        """The parameters of ``owner``, an optimizer or a program, are updated; ``values`` gives
        them, by name, now and later.
        """

    def at_end(self, values: Iterable[tuple[str, Any]]) -> None:
        """What this process has in the end, where it has no steps: the tables of a server."""


class Seat:
    """``witness`` is who looks on, None as a rule."""

    def __init__(self) -> None:
        self.witness: Witness | None = None


seat = register("witness of training", Seat())


def own_folder(directory: str | os.PathLike[str]) -> Path:
    """``directory``; in a run that is being proved a folder of that run in its place, for no run
    may go on from what another has kept.
    """
    proof = env.get(VARIABLE)
    if not proof:
        return Path(directory)
    return Path(proof) / "kept" / quote(os.path.abspath(directory), safe="")
