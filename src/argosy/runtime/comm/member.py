"""What a rank tells the others about itself when it joins a job, and whether they fit together.
Pure functions.

Ranks compare the versions on which it depends what they send each other: of argosy, whose messages
change between releases, of torch and of Python, whose numbers and pickles do. A change of what
argosy's own processes send each other without a new release has a number of its own.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from argosy._release import VERSION

# of what the groups of a job send each other: fingerprints, segments, rows of the mesh, parcels
WIRE_FORMAT = 4
_UNKNOWN = "an older argosy"


def versions() -> dict[str, str]:
    """Those of this process that must be equal on all ranks."""
    return {
        "argosy": VERSION,
        "torch": _minor(torch.__version__),
        "python": _minor(platform.python_version()),
        "wire format": str(WIRE_FORMAT),
    }


def describe_self(host: str, pid: int) -> dict[str, Any]:
    """The record of this process; ``host`` is what ``hosts.host_identity`` says."""
    return {"host": host, "pid": pid, "name": platform.node(), "versions": versions()}


def disagreement(members: Sequence[Mapping[str, Any]]) -> str:
    """The versions that differ with the ranks that have each, empty if all agree: ``rank 0, 1 (on
    a): argosy 1.0   rank 2 (on b): argosy 1.1``.
    """
    every = [member.get("versions") or {} for member in members]
    names = [name for name in _names(every) if len({found.get(name) for found in every}) > 1]
    if not names:
        return ""
    ranks_by_text: dict[str, list[int]] = {}
    for rank, found in enumerate(every):
        text = ", ".join(f"{name} {found[name]}" for name in names if name in found) or _UNKNOWN
        ranks_by_text.setdefault(text, []).append(rank)
    return "   ".join(
        f"rank {', '.join(map(str, ranks))} ({_places(members, ranks)}): {text}"
        for text, ranks in ranks_by_text.items()
    )


def _names(every: Sequence[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for found in every for name in found))


def _places(members: Sequence[Mapping[str, Any]], ranks: Sequence[int]) -> str:
    names = dict.fromkeys(str(members[rank].get("name") or "unknown") for rank in ranks)
    return f"on {', '.join(names)}"


def _minor(version: str) -> str:
    """``2.13`` of ``2.13.1+cpu``."""
    return ".".join(version.split(".")[:2])
