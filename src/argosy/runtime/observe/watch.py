"""What a launcher learns of the processes that it started: it reads their rings, shows their pace,
keeps their steps, and collects a card when something fails or hangs.

Nothing here waits for a process, but for the stacks of a card, a second at most. Everything happens
in the thread that calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from argosy.foundation.call_log import Call
from argosy.runtime.observe import accounts, stacks, summary
from argosy.runtime.observe.card import ALIVE, Card, Collective, Member
from argosy.runtime.observe.label import is_server
from argosy.runtime.observe.pacing import Paces
from argosy.runtime.observe.run_folder import RunFolder

_LOOK_S = 0.5
_HANG_S = 5.0
_KEPT_COLLECTIVES = 16  # of each process on a card


class Watch:
    """The processes called ``labels``. ``show`` is given their paces now and then, ``say`` prints.

    ``about`` is what cards tell of the job. Steps and cards are kept in ``folder``, the run's,
    which is somebody else's to close; None keeps nothing. ``more_variables`` are for every process.
    """

    def __init__(
        self,
        labels: Sequence[str],
        say: Callable[[str], None],
        show: Callable[[Sequence[summary.Pace], int], None],
        *,
        folder: RunFolder | None = None,
        about: Mapping[str, Any] | None = None,
        more_variables: Mapping[str, str] | None = None,
    ) -> None:
        self._labels = tuple(labels)
        self._say, self._show = say, show
        self._about = dict(about or {})
        self._more_variables = dict(more_variables or {})
        self._accounts = accounts.Accounts(labels)
        self._stacks = stacks.Stacks(labels)
        self._next_s = 0.0
        self._carded: set[tuple[int, str, str]] = set()  # waits that have their card
        self._folder = folder
        self._is_closed = False
        self._is_seen = False  # whether a process has come: a script may be none of ours
        self._paces = Paces(
            labels, self._accounts.readers, None if folder is None else folder.add_steps
        )

    def variables(self, label: str) -> dict[str, str]:
        """What a process needs in its environment to be seen."""
        return {
            accounts.VARIABLE: self._accounts.variable(label),
            stacks.VARIABLE: self._stacks.variable(label),
            **self._more_variables,
        }

    def inherits(self, label: str) -> tuple[int, ...]:
        """The descriptors that go with them."""
        return (self._accounts.fd, self._stacks.fd(label))

    def look(self) -> None:
        """Read what is new, if it is time to; show it; a wait that lasts gets a card."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + _LOOK_S
        if not self._has_come():
            return
        paces, now_ns = self._paces.read(), time.perf_counter_ns()
        if self._folder is not None:
            self._folder.tell_plan(self._paces.plan())
        self._show(paces, now_ns)
        hanging = [
            (pace.wait.since_ns, pace.label, pace.wait.place)
            for pace in paces
            if pace.wait is not None and now_ns - pace.wait.since_ns > _HANG_S * 1e9
        ]
        if not self._carded.issuperset(hanging):
            self._carded.update(hanging)
            since_ns, label, place = min(hanging)
            self.card(f"{label} has waited {(now_ns - since_ns) / 1e9:.0f} s: {place}")

    def _has_come(self) -> bool:
        """Whether there is something to see; from then on there is a folder."""
        if not self._is_seen and self._paces.pids():
            self._is_seen = True
            if self._folder is not None:
                self._folder.expect(self._labels, self._accounts.fd)
        return self._is_seen

    def event(self, kind: str, text: str) -> None:
        """Keep what has happened to the job."""
        if self._folder is not None and (self._is_seen if self._is_closed else self._has_come()):
            self._folder.add_event(kind, text)

    def card(self, cause: str, ends: Mapping[str, str] | None = None) -> Card | None:
        """Collect a card, print it and keep it; None where no process has ever come. ``ends`` says
        how processes have ended that do not run any more, by label.
        """
        ends = ends or {}
        if not self._has_come():
            return None
        paces, now_ns = self._paces.read(), time.perf_counter_ns()
        pids = self._paces.pids()
        asked = {label: pid for label, pid in pids.items() if label not in ends}
        found = self._stacks.ask(asked)
        calls, labels = self._paces.calls(), _labels_by_rank(paces)
        members = []
        for pace in paces:
            wait = pace.wait if pace.label not in ends else None
            awaited = () if wait is None else wait.awaited
            members.append(
                Member(
                    label=pace.label,
                    pid=pids.get(pace.label, 0),
                    state=ends.get(pace.label, ALIVE),
                    num_steps=pace.num_steps,
                    loss=pace.loss,
                    waits_s=0.0 if wait is None else (now_ns - wait.since_ns) / 1e9,
                    waits_at="" if wait is None else wait.place,
                    awaits=tuple(labels.get(rank, f"rank {rank}") for rank in awaited),
                    collectives=_collectives(calls[pace.label], now_ns),
                    stacks=found.get(pace.label, ""),
                )
            )
        at = time.strftime("%Y-%m-%d %H:%M:%S")
        card = Card(
            at=at,
            cause=cause,
            members=tuple(members),
            about=self._about,
            plan=self._paces.plan(),
        )
        self._say(card.text())
        if self._folder is not None:
            path = self._folder.add_card(card.as_json())
            self._folder.add_event("card", cause)
            self._say(f"  all of it: {path}")
        return card

    def close(self) -> None:
        """Keep the last steps, and let go of everything but the folder."""
        self._is_closed = True
        if self._has_come():
            self._paces.read()
            if self._folder is not None:
                self._folder.tell_plan(self._paces.plan())
        self._accounts.close()
        self._stacks.close()


def _labels_by_rank(paces: Sequence[summary.Pace]) -> dict[int, str]:
    """Servers have no rank that anybody waits for."""
    return {pace.rank: pace.label for pace in paces if not is_server(pace.label)}


def _collectives(calls: Sequence[Call], now_ns: int) -> tuple[Collective, ...]:
    return tuple(
        Collective(
            what=call.what,
            num_bytes=call.num_bytes,
            ago_s=max(0, now_ns - call.began_ns) / 1e9,  # it may have begun since
            took_s=(call.ended_ns - call.began_ns) / 1e9 if call.ended_ns else None,
        )
        for call in calls[-_KEPT_COLLECTIVES:]
    )
