"""How the processes of a parameter-server job talk to each other: the workers, the servers, or all.

They meet at the launcher's store. Workers that nobody launched tell each other through the servers
where their own store is.
"""

from __future__ import annotations

import atexit
import contextlib
import socket
import time
from collections.abc import Callable
from typing import Any

import torch.distributed as dist

from argosy.distributed.fleet.base.role_facts import Role, RoleFacts
from argosy.foundation import env
from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener, parse
from argosy.foundation.errors import CommError, NotSupported, UsageError
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.rendezvous import SERVED, token_for
from argosy.runtime.comm.session import Session
from argosy.runtime.comm.store import StoreClient
from argosy.runtime.comm.store_server import StoreServer

__all__ = ["ServedWorlds", "describe_workers"]

_AGAIN_S = 0.05
_TIMEOUT_S = 1800.0


class ServedWorlds:
    """The groups ``server`` and ``all`` of a process; made at their first use, where every process
    of the group must come.
    """

    def __init__(self, facts: RoleFacts) -> None:
        self._facts = facts
        self._sessions: dict[str, Session] = {}
        self._stores: list[StoreClient] = []  # of the sessions, which do not close them
        atexit.register(self.close)

    def group(self, world: str, call: str) -> Group:
        facts = self._facts
        is_server, num_servers = facts.role == Role.SERVER, len(facts.server_endpoints)
        if world == "server" and not is_server:
            raise UsageError(f"{call}: comm_world is 'server', but this process is a worker")
        rank = facts.index + (facts.num_workers if world == "all" and is_server else 0)
        size = num_servers + (facts.num_workers if world == "all" else 0)
        if world not in self._sessions:
            prefixed = dist.PrefixStore(  # type: ignore[attr-defined]
                f"argosy/{world}", self._store(call)
            )
            self._sessions[world] = Session(
                rank=rank,
                world_size=size,
                store=prefixed,
                timeout_s=_TIMEOUT_S,
                name=f"fleet {world}",
            )
        return self._sessions[world].world

    def _store(self, call: str) -> StoreClient:
        master = env.get("PADDLE_MASTER")
        if not master or env.get(SERVED) != "1":
            raise NotSupported(
                f"{call}: servers take part only where a launcher serves the job's store; start "
                "the job with fleetrun --server_num ..."
            )
        where = parse(master, "PADDLE_MASTER")
        store = StoreClient(
            where.host, where.port, token_for(where), Deadline.after(_TIMEOUT_S), _TIMEOUT_S
        )
        self._stores.append(store)
        return store

    def close(self) -> None:
        atexit.unregister(self.close)
        while self._sessions:
            self._sessions.popitem()[1].close()
        while self._stores:
            self._stores.pop().close()


def describe_workers(facts: RoleFacts, connect: Callable[[], Any]) -> None:
    """Complete the environment by what a launcher would have said of this worker: who it is, and
    where workers meet.

    ``connect`` makes a client of the servers.
    """
    known = {
        "PADDLE_TRAINER_ID": str(facts.index),
        "PADDLE_TRAINERS_NUM": str(facts.num_workers),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(facts.worker_endpoints),
        "PADDLE_CURRENT_ENDPOINT": facts.endpoint,
    }
    env.update({name: value for name, value in known.items() if value and not env.get(name)})
    if any(env.get(name) for name in ("PADDLE_MASTER", "PADDLE_TRAINER_ENDPOINTS")) or env.get(
        "MASTER_PORT"
    ):
        return
    host = _own_address(facts)
    if not env.get("PADDLE_CURRENT_ENDPOINT"):
        env.update({"PADDLE_CURRENT_ENDPOINT": f"{host}:0"})
    with contextlib.closing(connect()) as client:
        if facts.index == 0:
            listener = bind_listener(host, 0)
            place = f"{host}:{listener.getsockname()[1]}"
            server = StoreServer(listener, token_for(parse(place)))
            atexit.register(server.close)
            client.act("meet", {"place": place})
            env.update({SERVED: "1"})
        else:
            place = _wait_for_place(client)
    env.update({"PADDLE_MASTER": place})


def _wait_for_place(client: Any) -> str:
    deadline = Deadline.after(_TIMEOUT_S)
    while True:
        for answer in client.act("meet", {}):
            if "place" in answer:
                return str(answer["place"])
        if deadline.expired:
            raise CommError(f"worker 0 did not come for {_TIMEOUT_S:g} s")
        time.sleep(_AGAIN_S)


def _own_address(facts: RoleFacts) -> str:
    """The address under which other workers reach this one: the one from which the first server is
    reached.
    """
    server = parse(facts.server_endpoints[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((server.host, server.port))  # sends nothing
        return str(sock.getsockname()[0])
