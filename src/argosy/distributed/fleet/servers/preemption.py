"""Requests to save and to leave in a job with parameter servers: they travel by the notes that
workers leave with the servers.

Any worker or server may be asked. Servers stay until all workers have saved and said goodbye, and
end with the workers' exit code.
"""

from __future__ import annotations

from typing import Any, NoReturn

from argosy.distributed.fleet.checkpoints.last_point import Board
from argosy.foundation.preemption import Watcher, requests, requeue_code
from argosy.runtime.ps.server.tables import Tables
from argosy.runtime.ps.worker.client import Client

__all__ = ["NotesBoard", "ServerWatch", "say_departure"]

# notes: a worker has a loop that can save; somebody is asked; where it was saved
_LOOP, _ASKED, _LEFT_AT = "loop", "asked", "left_at"
_END = "end"


def say_departure(client: Client, num_steps: int) -> None:
    """Tell the servers that this worker has saved and is to be started again."""
    client.act("notes", {_LEFT_AT: num_steps})


class NotesBoard(Board):
    """Workers, by their notes; the first server's count."""

    def __init__(self, client: Client, worker: int, num_workers: int) -> None:
        self._client = client
        self._mine = f"goes_on.{worker}"
        self._all = [f"goes_on.{number}" for number in range(num_workers)]
        self._notes(**{_LOOP: True})

    def _notes(self, **fresh: Any) -> dict[str, Any]:
        notes: dict[str, Any] = self._client.act("notes", fresh)[0]["notes"]
        return notes

    def is_asked(self) -> bool:
        return _ASKED in self._notes()

    def ask(self) -> None:
        self._notes(**{_ASKED: True})

    def say(self, point: int) -> list[int] | None:
        # a process before this one may have gone further, and what it pushed counts
        furthest = max(point, self._notes().get(self._mine, point))
        notes = self._notes(**{self._mine: furthest})
        return [notes[key] for key in self._all] if notes.keys() >= set(self._all) else None

    def settle(self, point: int) -> int:
        return int(self._client.act("settle", {"name": _END, "value": point})[0]["value"])


class ServerWatch(Watcher):
    """A server: passes requests on to the workers, if they can save."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._is_announced = False
        self._is_asked = False
        self._left_at: int | None = None
        requests.watch(self, is_announced=False)
        self._take_in(tables.notes({}))

    def notes(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer the action of this name; in any thread."""
        asked = {_ASKED: True} if self._is_asked else {}
        found = self._tables.notes({**body, **asked})
        self._take_in(found)
        return {"notes": found}

    def settle(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer the action of this name."""
        return {"value": self._tables.settle(str(body["name"]), body["value"])}

    def _take_in(self, notes: dict[str, Any]) -> None:
        self._left_at = notes.get(_LEFT_AT, self._left_at)
        if _LOOP in notes and not self._is_announced:
            self._is_announced = True
            requests.announce()

    def takes(self, number: int) -> bool:
        return self._is_announced

    def on_request(self, number: int) -> None:
        # The tables have a lock, which this thread may hold: another signal may come while it has
        # it. So they hear of it with the workers' next look.
        self._is_asked = True

    def end(self) -> None:
        """The workers have gone: go as they did."""
        if self._left_at is None:
            requests.leave(self)
            return
        self._leave(self._left_at)

    def _leave(self, num_steps: int) -> NoReturn:
        requests.depart(num_steps)
        raise SystemExit(requeue_code())
