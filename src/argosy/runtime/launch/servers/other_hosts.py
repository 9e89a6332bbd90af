"""The other hosts of a parameter-server job, seen by a launcher through the job's store: that they
live, that their workers have ended, and what went wrong on them.

A process that is killed is its own launcher's affair. What a launcher cannot mend it announces, and
all others end their processes with the same exit code. A launcher that falls silent is announced by
who notices first. A request to save and to leave reaches all, if a process of any host has said
that it can.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import CommError
from argosy.foundation.preemption import SIGNALS
from argosy.runtime.comm.store import StoreClient, StoreServer
from argosy.runtime.launch import report
from argosy.runtime.launch.hosts import Failure, wrong
from argosy.runtime.launch.other_paces import OtherPaces
from argosy.runtime.launch.roster import Roster
from argosy.runtime.launch.supervisor import EndedElsewhere, Outcome

PREFIX = "argosy/servers"
_FAILED = f"{PREFIX}/failed"
_SAVES, _ASKED, _REQUEUED = (f"{PREFIX}/{word}" for word in ("saves", "asked", "requeued"))
_ASK_S = 0.1
_BEAT_S = 1.0
_SILENCE_S = 15.0  # a launcher that has not been heard of for so long is gone
_LEAVE_S = 5.0


def beat_key(host: int) -> str:
    """Under which a launcher shows that it lives."""
    return f"{PREFIX}/beat/{host}"


def pace_key(host: int) -> str:
    """Under which a launcher tells of its processes."""
    return f"{PREFIX}/pace/{host}"


class OtherHosts:
    """``addresses`` are those of all hosts, by the number that members have in ``roster``;
    ``server`` is the store if it is served here.
    """

    def __init__(
        self,
        store: StoreClient,
        server: StoreServer | None,
        addresses: Sequence[str],
        roster: Roster,
    ) -> None:
        self._store = store
        self._server = server
        self._addresses = addresses
        self._roster = roster
        self._me = roster.this_host
        self._next_look_s = self._next_beat_s = 0.0
        self._num_beats = 0
        self._heard = {i: (b"", time.monotonic()) for i in range(len(addresses)) if i != self._me}
        self._told: set[str] = set()  # keys
        self._asked = 0
        self._done: set[str] = set()

    def paces(self) -> OtherPaces:
        """What launchers tell each other of their processes; the first host hears of all."""
        keys = [pace_key(host) for host in range(len(self._addresses))]
        return OtherPaces(self._store, keys, self._me, reads=self._me == 0)

    def check(self, *, is_urgent: bool = False) -> int:
        """Show that this launcher lives; raise EndedElsewhere if the job is over or a host is
        lost, StoreFailed if the store that is served here is. The signal by which the job was asked
        to save and to leave, 0 if it was not.
        """
        if self._server is not None:
            self._server.check()
        now = time.monotonic()
        if now < self._next_look_s and not is_urgent:
            return self._asked
        self._next_look_s = now + _ASK_S
        with self._asking():
            if self._store.check([_FAILED]):
                self._end()
            if now >= self._next_beat_s:
                is_late = self._num_beats > 0 and now > self._next_beat_s + _SILENCE_S / 3
                self._next_beat_s = now + _BEAT_S
                self._listen(now, is_late)
                if not self._asked and self._store.check([_ASKED]):
                    self._asked = _signal(self._store.get(_ASKED))
        return self._asked

    def _listen(self, now: float, is_late: bool) -> None:
        """Beat, and hear the others' beats; who ``is_late`` itself could not have heard them."""
        self._num_beats += 1
        self._store.set(beat_key(self._me), str(self._num_beats))
        hosts = list(self._heard)
        beats = self._store.multi_get([beat_key(host) for host in hosts])
        for host, beat in zip(hosts, beats, strict=True):
            last, since_s = self._heard[host]
            if beat != last or is_late:
                self._heard[host] = (beat, now)
            elif now - since_s > _SILENCE_S and not self._store.check([self._key("done", host)]):
                self._announce(f"{self._label(host)} is lost: nothing was heard from its launcher "
                    f"for {_SILENCE_S:g} s", 1)  # fmt: skip
                self._end()

    def _label(self, host: int) -> str:
        members = [m.label for m in self._roster.members if m.host == host]
        return f"the host {self._addresses[host]} ({', '.join(members)})"

    def are_workers_done(self) -> bool:
        """Let them know that no worker runs here any more; whether none does anywhere."""
        return self._is_everywhere("workers-done")

    def are_done(self) -> bool:
        """Let them know that nothing runs here any more; whether nothing does anywhere."""
        return self.are_workers_done() and self._is_everywhere("done")

    def _is_everywhere(self, what: str) -> bool:
        if what in self._done:
            return True
        with self._asking():
            self._tell(what)
            keys = [self._key(what, host) for host in range(len(self._addresses))]
            if self._store.check(keys):
                self._done.add(what)
        return what in self._done

    def _tell(self, what: str) -> None:
        self._set_once(self._key(what, self._me), "")

    def _set_once(self, key: str, value: str) -> None:
        if key not in self._told:
            self._told.add(key)
            self._store.set(key, value)

    def can_save(self, number: int) -> None:
        """Let them know that a process here saves when it is asked by this signal."""
        with self._asking():
            self._set_once(f"{_SAVES}/{int(number)}", "")

    def ask(self, number: int) -> bool:
        """Have the whole job asked by a signal; False if nobody has said that it can save."""
        with self._asking():
            if self._store.check([f"{_SAVES}/{int(number)}"]):
                self._set_once(_ASKED, str(int(number)))
                self._asked = self._asked or int(number)
        return bool(self._asked)

    def requeue(self) -> None:
        """Let them know that the job has saved and is to be started again."""
        with self._asking():
            self._set_once(_REQUEUED, "")

    def is_requeued(self) -> bool:
        """Whether somebody has let the others know that."""
        with self._asking():
            return self._store.check([_REQUEUED])

    def tell(self, outcome: Outcome) -> None:
        """Let them know how it ended here, before the processes are ended."""
        here = f"on {self._addresses[self._me]}"
        with contextlib.suppress(CommError):  # the store may be what has gone
            if outcome.failed is not None:
                label = f"{outcome.failed.member.label} {here}"
                self._announce(report.end_of(label, outcome.exit_code), outcome.exit_code)
            elif outcome.exit_code < 0:
                words = report.end_of(f"the launcher {here}", outcome.exit_code)
                self._announce(words, outcome.exit_code)
            elif outcome.exit_code == 0 or outcome.was_asked:
                self._tell("done")

    def _announce(self, reason: str, exit_code: int) -> None:
        address = self._addresses[self._me]
        self._store.compare_set(_FAILED, "", Failure(-1, exit_code, address, reason).to_json())

    def _end(self) -> None:
        failure = Failure.from_json(self._store.get(_FAILED), _FAILED)
        raise EndedElsewhere(failure.reason, report.shell_code(failure.exit_code))

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        """Calls to the store, whose end is the end of the job here."""
        try:
            yield
        except EndedElsewhere:
            raise
        except CommError as error:
            if self._server is not None:
                self._server.check()
            raise EndedElsewhere(f"lost the other hosts: {error}", 1) from error

    def _key(self, what: str, host: int) -> str:
        return f"{PREFIX}/{what}/{host}"


def _signal(value: bytes) -> int:
    """The signal of a request, as another launcher has stored it."""
    found = next((number for number in SIGNALS if value == str(int(number)).encode()), None)
    if found is None:
        raise wrong(_ASKED, "something that is not a request")
    return int(found)


def leave(store: StoreClient, server: StoreServer | None, num_hosts: int) -> None:
    """Stay a moment if the store is served here, for the others to learn how the job ended."""
    deadline = Deadline.after(0 if server is None else _LEAVE_S)
    with contextlib.suppress(CommError):
        num_left = store.add(f"{PREFIX}/left", 1)
        while num_left < num_hosts and not deadline.expired:
            time.sleep(_ASK_S)
            num_left = store.add(f"{PREFIX}/left", 0)
