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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import ray

from argosy.distributed.fleet.servers.runtime import GROUPED
from argosy.foundation.endpoints import bind_listener
from argosy.foundation.errors import ConfigError
from argosy.ray import folder as run_folder
from argosy.ray.job import JobConfig
from argosy.ray.members import Found, crosses_hosts, of_ranks, of_workers
from argosy.ray.server import Part
from argosy.runtime.comm.store_server import StoreServer
from argosy.runtime.comm.token import make as make_token
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.ps.worker.tape import REFUSED

log = logging.getLogger("argosy.ray")

# a server that was lost with its node waits for room on another one; a new node may have to be made
_ROOM_S = 600.0
_ANSWER_S = 10.0
_PATIENCE_S = 600  # of servers, while Ray finds room for workers that are started again


@dataclass(frozen=True)
class _Generation:
    number: int
    num_workers: int
    store: StoreServer
    rendezvous: Rendezvous = field(repr=False)
    servers: tuple[str, ...] = ()
    progress: str = ""
    certificates: tuple[str, ...] = field(default=(), repr=False)


class FleetJob:
    """Owned by the controller."""

    def __init__(self, config: JobConfig) -> None:
        self._config = config
        self._now: _Generation | None = None

    def begin(self, found: Sequence[Found]) -> tuple[list[dict[str, str]], int, tuple[str, ...]]:
        """The workers have been started, once more perhaps. The variables of each, the number of
        their generation, and the certificates that they are to trust.
        """
        config, before = self._config, self._now
        if before is not None and self._goes_on(before, len(found)):
            log.info("argosy: the servers have kept their tables, and the workers go on with them")
            now = before
        else:
            now = self._now = self._anew(found)
        if config.servers:
            variables = of_workers(config.spec, found, now.servers, now.rendezvous, now.progress)
        else:
            variables = of_ranks(config.spec, found, now.rendezvous)
        if config.run_folder:
            for each in variables:
                each[run_folder.VARIABLE] = config.run_folder
        return variables, now.number, now.certificates

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
        try:
            asked = [server.serves.remote(before.number) for server in config.servers]
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
        endpoints = self._placed()
        uses_tls = crosses_hosts(endpoints) if config.uses_tls is None else config.uses_tls
        made = [server.certificate.remote() for server in config.servers] if uses_tls else []
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
        started = [s.start.remote(part) for s, part in zip(config.servers, parts, strict=True)]
        ray.get(started, timeout=_ROOM_S)
        return _Generation(number, len(found), store, rendezvous, endpoints, progress, certificates)

    def _placed(self) -> tuple[str, ...]:
        """Where the servers are; one that was lost with its node is waited for."""
        servers = self._config.servers
        asked = [server.place.options(max_task_retries=-1).remote() for server in servers]
        try:
            return tuple(ray.get(asked, timeout=_ROOM_S))
        except ray.exceptions.GetTimeoutError:
            waiting = [n for n, a in enumerate(asked) if not ray.wait([a], timeout=0)[0]]
            raise ConfigError(
                f"FleetTrainer: servers {waiting} have no node to run on: each asks for "
                f"{self._config.server_bundle}, and the cluster had no room for {_ROOM_S:g} s.\n"
                "  Add nodes, or ask for less with resources_per_server; then start the job "
                "again: it goes on from its newest checkpoint."
            ) from None
