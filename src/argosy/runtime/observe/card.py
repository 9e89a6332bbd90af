"""A card: everything that is known of a job at the moment at which something failed or hangs. Pure;
who collects it is ``watch.py``.

It is shown as text and kept as JSON. What is in it comes from the launcher, the rings and the
stacks: no environment, no values of variables.
"""

from __future__ import annotations

import math
import re
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from argosy.foundation.quantities import size_text

_FRAME = re.compile(r'^  File "(?P<file>[^"]*)", line (?P<line>\d+) in (?P<name>.*)$')
_THREAD = re.compile(r"^(Current thread|Thread) ")
_SHOWN_FRAMES, _SHOWN_COLLECTIVES = 3, 3
ALIVE = "runs"
# whose calls say less than the script's
_LIBRARIES = (
    str(Path(__file__).parents[2]),
    *(sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")),
)
_SECRET = re.compile(r"(?i)(token|secret|passw|credential|api[-_]?key)")


@dataclass(frozen=True, kw_only=True)
class Collective:
    """One of the last collectives of a process: when it began, in seconds before the card, and how
    long it took, None if it is under way. ``num_bytes`` is -1 if not known.
    """

    what: str
    num_bytes: int
    ago_s: float
    took_s: float | None

    def text(self) -> str:
        size = f", {size_text(self.num_bytes)}" if self.num_bytes >= 0 else ""
        if self.took_s is None:
            return f"{self.what}{size}: under way for {_duration(self.ago_s)}"
        return f"{self.what}{size}: {_duration(self.ago_s)} ago, took {_duration(self.took_s)}"


@dataclass(frozen=True, kw_only=True)
class Member:
    """One process: how far it is, what it waits for, its last collectives, the oldest first, and
    where its threads are. ``awaits`` are the processes that it waits for.
    """

    label: str
    pid: int
    state: str  # ALIVE, or how it ended
    num_steps: int = 0
    loss: float = math.nan
    waits_s: float = 0.0
    waits_at: str = ""
    awaits: tuple[str, ...] = ()
    collectives: tuple[Collective, ...] = ()
    stacks: str = ""


@dataclass(frozen=True, kw_only=True)
class Card:
    """``cause`` is the first cause, in a sentence; ``about`` the versions and the like."""

    at: str
    cause: str
    members: tuple[Member, ...]
    about: Mapping[str, Any]
    plan: str = ""  # how the job trains, in Fleet's words

    def as_json(self) -> dict[str, Any]:
        """Plain values; what is not a number is null."""
        found = asdict(self) | {"who_waits": who_waits(self.members)}
        for member in found["members"]:
            member["loss"] = None if math.isnan(member["loss"]) else member["loss"]
        return found

    def text(self) -> str:
        """What the terminal shows."""
        lines = [f"card: {self.cause}"]
        width = max((len(member.label) for member in self.members), default=0)
        for member in self.members:
            head = f"  {member.label:{width}}  {member.state}"
            if member.num_steps:
                head += f", {member.num_steps} steps"
            if member.waits_at:
                head += f", waits for {member.waits_s:.1f} s in {member.waits_at}"
            lines.append(head)
            shown = [call.text() for call in member.collectives[-_SHOWN_COLLECTIVES:][::-1]]
            lines += [f"  {'':{width}}    {line}" for line in (*innermost(member.stacks), *shown)]
        lines += [f"  {line}" for line in who_waits(self.members)]
        return "\n".join(lines)


def who_waits(members: Sequence[Member]) -> list[str]:
    """Who waits for whom, in sentences: one for each that is waited for."""
    by_label = {member.label: member for member in members}
    waiting: dict[str, list[str]] = {}
    for member in members:
        for awaited in member.awaits:
            waiting.setdefault(awaited, []).append(member.label)
    found = []
    for awaited, labels in waiting.items():
        late = by_label.get(awaited)
        if late is None:
            state = "is not on this host"
        elif late.awaits:
            state = f"waits for {', '.join(late.awaits)}"
        elif late.state != ALIVE:
            state = late.state
        else:
            state = "waits for no rank"
        found.append(f"{', '.join(labels)} wait{'s' * (len(labels) == 1)} for {awaited}, which "
            f"{state}")  # fmt: skip
    return found


def _duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} us"


def innermost(stacks: str) -> list[str]:
    """Where the main thread is: its newest call, and the newest ones of the script, if they are
    others. faulthandler writes the main thread last, and of each thread the newest call first.
    """
    threads: list[list[tuple[str, str]]] = []
    for line in stacks.splitlines():
        if _THREAD.match(line):
            threads.append([])
        elif threads and (found := _FRAME.match(line)):
            file = found["file"]
            threads[-1].append((file, f"{file}:{found['line']} in {found['name']}"))
    if not threads:
        return []
    frames = threads[-1]
    scripts = [frame for frame in frames[1:] if not frame[0].startswith(_LIBRARIES)]
    return [text for _, text in [*frames[:1], *scripts]][:_SHOWN_FRAMES]


def masked(argv: Sequence[str]) -> list[str]:
    """A command line without the values of options whose name speaks of a secret."""
    shown, hides_next = [], False
    for word in argv:
        name, equals, _ = word.partition("=")
        is_secret = word.startswith("-") and bool(_SECRET.search(name))
        if hides_next and not word.startswith("-"):
            shown.append("***")
        else:
            shown.append(f"{name}=***" if is_secret and equals else word)
        hides_next = is_secret and not equals
    return shown
