"""What a training run of a program shows to who looks on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from argosy.foundation.witness import Witness
from argosy.static.ir.scope import Scope
from argosy.static.lower.lowered import Lowered


def show_step(
    witness: Witness,
    program: object,
    lowered: Lowered,
    scopes: Sequence[Scope],
    feeds: Sequence[Any],
    fetched: Sequence[Any],
) -> None:
    """A run is over: what was fed and fetched on each place, and every variable that is kept."""
    names = sorted({*lowered.reads, *lowered.writes})

    def values() -> Iterator[tuple[str, Any]]:
        for place, scope in enumerate(scopes):
            for name in names:
                found = scope.find_var(name)
                if found is not None and found.tensor is not None:
                    yield (f"{name} on place {place}" if place else name), found.tensor

    witness.batch(list(feeds))
    witness.result([list(each) for each in fetched])
    witness.end_step(program, values)
