"""A job seen by the controller of Ray Train: which processes take part now, and whether those that
are started again can go on where they were.

A *generation* has a store, a token and, with servers, their tables. Ranks of a collective job form
a new one each time that they are started; they go on from their checkpoint. Workers of servers that
are all still there, as many workers as before, stay in their generation: tables are kept, and each
worker goes on at its resting point (``runtime/ps/worker/tape.py``). Anything else (a server lost
with its node, another number of workers, a worker that refuses to go on) is a new generation with
empty tables, which ``fleet.auto_checkpoint`` fills from the newest checkpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray

from argosy.distributed.fleet.servers.runtime import GROUPED
from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener, is_refused, parse
from argosy.foundation.errors import ConfigError
from argosy.ray import folder as run_folder
from argosy.ray import nodes
from argosy.ray.hiring import substitute
from argosy.ray.job import JobConfig
from argosy.ray.members import Found, crosses_hosts, of_ranks, of_workers
from argosy.ray.server import Part, Place
from argosy.runtime.comm.store_server import StoreServer
from argosy.runtime.comm.token import make as make_token
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.ps.worker.tape import REFUSED

log = logging.getLogger("argosy.ray")

# a server that was lost with its node waits for room on another one; a new node may have to be made
_ROOM_S = 600.0
_ANSWER_S = 10.0
_LOOK_S = 0.5
_PATIENCE_S = 600  # of servers, while Ray finds room for workers that are started again


@dataclass(frozen=True)
class Start:
    """What workers that have been started are told: the variables of each, the number of their
    generation, its servers (actors, and where each is), and the certificates that they are to
    trust.
    """

    variables: tuple[dict[str, str], ...] = field(repr=False)
    generation: int
    servers: tuple[Any, ...] = ()
    places: tuple[Place, ...] = ()
    certificates: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class _Generation:
    number: int
    num_workers: int
    store: StoreServer
    rendezvous: Rendezvous = field(repr=False)
    places: tuple[Place, ...] = ()
    progress: str = ""
    certificates: tuple[str, ...] = field(default=(), repr=False)


class FleetJob:
    """Owned by the controller."""

    def __init__(self, config: JobConfig) -> None:
        self._config = config
        self._servers = list(config.servers)
        self._raylets: list[str] = []  # of the nodes on which servers were last
        # by number of the server that is lost: what it was asked, and itself
        self._substitutes: dict[int, tuple[Any, Any]] = {}
        self._now: _Generation | None = None

    def begin(self, found: Sequence[Found]) -> Start:
        """The workers have been started, once more perhaps."""
        config, before = self._config, self._now
        if before is not None and self._goes_on(before, len(found)):
            log.info("argosy: the servers have kept their tables, and the workers go on with them")
            now = before
        else:
            now = self._now = self._anew(found)
        if config.servers:
            endpoints = [place.endpoint for place in now.places]
            variables = of_workers(config.spec, found, endpoints, now.rendezvous, now.progress)
        else:
            variables = of_ranks(config.spec, found, now.rendezvous)
        if config.run_folder:
            for each in variables:
                each[run_folder.VARIABLE] = config.run_folder
        return Start(
            tuple(variables), now.number, tuple(self._servers), now.places, now.certificates
        )

    def replace_lost(self) -> None:
        """The workers have ended, perhaps because a server is lost: have another started while
        Ray starts workers again. It is waited for when they are there.
        """
        self._have_replaced(range(len(self._servers)))

    def close(self) -> None:
        now, self._now = self._now, None
        if now is not None:
            now.store.close()

    def _goes_on(self, before: _Generation, num_workers: int) -> bool:
        config = self._config
        if not config.servers or not before.progress or num_workers != before.num_workers:
            return False
        folder = Path(before.progress)
        marks = [folder / f"worker-{n}" / m for n in range(num_workers) for m in (GROUPED, REFUSED)]
        if any(mark.exists() for mark in marks):
            return False
        if any(self._is_lost(number) for number in range(len(self._servers))):
            return False
        try:
            asked = [server.serves.remote(before.number) for server in self._servers]
            return all(ray.get(asked, timeout=_ANSWER_S))
        except ray.exceptions.RayError:
            return False

    def _anew(self, found: Sequence[Found]) -> _Generation:
        config, number = self._config, 1 if self._now is None else self._now.number + 1
        self.close()
        token = make_token()
        store = StoreServer(bind_listener(ray.util.get_node_ip_address()), token)
        rendezvous = Rendezvous(str(store.endpoint), token)
        if not config.servers:
            return _Generation(number, len(found), store, rendezvous)
        if number > 1:
            log.warning(
                "argosy: the servers begin with empty tables; fleet.auto_checkpoint goes on from "
                "its newest checkpoint, a script without it begins again"
            )
        progress = f"{config.progress}/{number}" if config.progress else ""
        places = self._placed()
        endpoints = tuple(place.endpoint for place in places)
        uses_tls = crosses_hosts(endpoints) if config.uses_tls is None else config.uses_tls
        made = [server.certificate.remote() for server in self._servers] if uses_tls else []
        certificates = tuple(ray.get(made, timeout=_ROOM_S))
        parts = [
            Part(
                generation=number,
                number=n,
                spec=config.spec,
                servers=endpoints,
                workers=tuple(f.endpoint for f in found),
                rendezvous=rendezvous,
                function=config.function,
                certificates=certificates,
                patience_s=_PATIENCE_S if progress else 0,
                run_folder=config.run_folder,
                folder=config.folder,
            )
            for n in range(len(endpoints))
        ]
        started = [s.start.remote(part) for s, part in zip(self._servers, parts, strict=True)]
        ray.get(started, timeout=_ROOM_S)
        return _Generation(number, len(found), store, rendezvous, places, progress, certificates)

    def _placed(self) -> tuple[Place, ...]:
        """Where the servers are. One whose actor has ended is started again by Ray, and waited for.
        Where its node is lost, which Ray may not know for a while, another is tried beside it, and
        the first to answer stays.
        """
        deadline = Deadline.after(_ROOM_S)
        waiting = {number: {_asked(s): s} for number, s in enumerate(self._servers)}
        places: dict[int, Place] = {}
        while waiting:
            self._have_replaced(waiting)
            for number in waiting.keys() & self._substitutes.keys():
                waiting[number].update([self._substitutes[number]])
            asked = [answer for candidates in waiting.values() for answer in candidates]
            answered, _ = ray.wait(asked, timeout=_LOOK_S)
            for answer in answered:
                [number] = [n for n, candidates in waiting.items() if answer in candidates]
                candidates = waiting.pop(number)
                places[number] = ray.get(answer)
                self._servers[number] = candidates.pop(answer)
                for other in candidates.values():
                    ray.kill(other)
            if deadline.expired:
                raise ConfigError(
                    f"FleetTrainer: servers {sorted(waiting)} have no node to run on: each asks "
                    f"for {self._config.wanted.bundles[0]}, and the cluster had no room for "
                    f"{_ROOM_S:g} s.\n"
                    "  Add nodes, or ask for less with resources_per_server; then start the job "
                    "again: it goes on from its newest checkpoint."
                )
        self._substitutes.clear()
        found = tuple(place for _, place in sorted(places.items()))
        self._raylets = [place.raylet for place in found]
        return found

    def _have_replaced(self, numbers: Iterable[int]) -> None:
        """Have another started in place of each of these servers whose node is lost."""
        for number in numbers:
            if number not in self._substitutes and self._is_lost(number):
                log.warning("argosy: the node of server %d is lost; another is started", number)
                away = nodes.elsewhere(nodes.silent(nodes.raylets()))
                another = substitute(self._config.wanted, away)
                self._substitutes[number] = _asked(another), another

    def _is_lost(self, number: int) -> bool:
        """Whether the node on which a server was is no more; then it stays lost, also if somebody
        else gets the port of its raylet.
        """
        if number in self._substitutes:
            return True
        return bool(self._raylets) and is_refused(parse(self._raylets[number]))


def _asked(server: Any) -> Any:
    return server.place.options(max_task_retries=-1).remote()
