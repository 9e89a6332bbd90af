"""``paddle.distributed.rpc``: workers with names, and calls between them."""

from __future__ import annotations

import atexit
import contextlib
import json
import math
from collections.abc import Callable
from concurrent import futures
from datetime import timedelta
from typing import Any, NamedTuple

from argosy.distributed.rpc import _messages
from argosy.foundation import endpoints, env
from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import Endpoint
from argosy.foundation.errors import CollectiveTimeout, ConfigError, PeerLost, UsageError, nearest
from argosy.foundation.process_state import register
from argosy.runtime.comm.addresses import own_address
from argosy.runtime.comm.calls import Caller, CallServer
from argosy.runtime.comm.rendezvous import connect
from argosy.runtime.comm.store import StoreClient
from argosy.runtime.comm.token import token_for

_MEET_S = 900.0
_LOOK_S = 5.0  # after which a worker that is waited for is looked at
_NUM_THREADS = 16  # calls of rpc_async that are under way at a time


class WorkerInfo(NamedTuple):
    """Name and rank of a worker, and where it listens."""

    name: str
    rank: int
    ip: str
    port: int

    def __repr__(self) -> str:
        return f"{{name: {self.name}, rank: {self.rank}, ip: {self.ip}, port: {self.port}}}"


class FutureWrapper:
    """What ``rpc_async`` returns."""

    def __init__(self, future: futures.Future[Any]) -> None:
        self._future = future

    def wait(self) -> Any:
        """The result, when it is there; raises what went wrong."""
        return self._future.result()


class _Agent:
    """This process among the workers: answers their calls, and calls them."""

    def __init__(
        self,
        name: str,
        rank: int,
        world_size: int,
        store: StoreClient,
        meeting: int,
        master: Endpoint,
    ) -> None:
        self._store, self._rank, self._world_size = store, rank, world_size
        self._prefix = f"rpc/{meeting}/"
        wanted = env.get("PADDLE_WORKER_ENDPOINT")
        mine = endpoints.parse(wanted) if wanted else Endpoint(own_address(master), 0)
        token = token_for(master)
        self._server = CallServer(
            endpoints.bind_listener(mine.host, mine.port), token, _messages.answer
        )
        self._calling = futures.ThreadPoolExecutor(_NUM_THREADS, "argosy-rpc")
        self._started: set[futures.Future[Any]] = set()  # by rpc_async, and under way
        self._callers: dict[str, Caller] = {}
        try:
            listens = self._server.endpoint
            card = [name, rank, listens.host, listens.port]
            store.set(f"{self._prefix}{rank}", json.dumps(card))
            self.infos = [
                WorkerInfo(*json.loads(store.get(f"{self._prefix}{other}")))
                for other in range(world_size)
            ]
            self.by_name = {info.name: info for info in self.infos}
            if len(self.by_name) < world_size:
                names = [info.name for info in self.infos]
                raise UsageError(f"init_rpc: names of workers must be unique, but are {names}")
        except BaseException:
            self.close()
            raise
        self.own = self.infos[rank]
        self._callers = {
            info.name: Caller(Endpoint(info.ip, info.port), token, f"rpc: worker {info.name!r}")
            for info in self.infos
        }

    def call(self, to: str, message: bytes, deadline: Deadline) -> Any:
        return _messages.result(self._callers[to].call(message, deadline), to)

    def start(self, to: str, message: bytes, deadline: Deadline) -> FutureWrapper:
        future = self._calling.submit(self.call, to, message, deadline)
        self._started.add(future)
        future.add_done_callback(self._started.discard)
        return FutureWrapper(future)

    def leave(self) -> None:
        """Wait until every worker wants to leave and its calls are done; then end."""
        futures.wait(list(self._started))
        try:
            # until all are done, functions that others call here may call on
            self._gather("done")
            self._calling.shutdown()
            # the store lives with rank 0, which must not go while others still ask it
            if self._rank == 0:
                self._gather("gone")
            else:
                self._store.set(f"{self._prefix}gone/{self._rank}", "1")
        finally:
            self.close()

    def _gather(self, what: str) -> None:
        """Say ``what``, and wait until all workers have, however long; PeerLost if one has ended
        without a word.
        """
        keys = [f"{self._prefix}{what}/{info.rank}" for info in self.infos]
        self._store.set(keys[self._rank], "1")
        while True:
            with contextlib.suppress(CollectiveTimeout):
                self._store.wait(keys, timedelta(seconds=_LOOK_S))
                return
            for info, key in zip(self.infos, keys, strict=True):
                listens = endpoints.is_open(Endpoint(info.ip, info.port))
                if what == "done" and not listens and not self._store.check([key]):
                    raise PeerLost(f"shutdown: worker {info.name!r} ended without shutdown()")

    def close(self) -> None:
        self._calling.shutdown(wait=False, cancel_futures=True)
        for caller in self._callers.values():
            caller.close()
        self._server.close()
        self._store.close()


class _Membership:
    """The agent of this process, None outside ``init_rpc`` and ``shutdown``; one, because Paddle's
    API is process-wide.
    """

    def __init__(self) -> None:
        self.agent: _Agent | None = None
        self.num_meetings = 0

    def of(self, call: str) -> _Agent:
        if self.agent is None:
            raise ConfigError(f"{call}: call paddle.distributed.rpc.init_rpc() first")
        return self.agent

    def end(self) -> None:
        agent, self.agent = self.agent, None
        if agent is not None:
            agent.close()


_member = register("rpc worker", _Membership(), attributes=("agent",))
atexit.register(_member.end)


def init_rpc(
    name: str,
    rank: int | None = None,
    world_size: int | None = None,
    master_endpoint: str | None = None,
) -> None:
    """Become the worker ``name``; returns when all ``world_size`` workers have met.

    Rank 0 serves the meeting at ``master_endpoint``, ``host:port``. What is not given comes from
    the launcher (``--run_mode rpc``). Workers run the functions that others name, so all must know
    the job's token, which on one host needs no setting (docs/launch.md).

    Differs from Paddle: an error of a function is raised where it was called, and ends no worker.

    Example:
        >>> import paddle.distributed.rpc as rpc
        >>> from paddle.distributed.utils import find_free_ports
        >>> rpc.init_rpc("worker0", 0, 1, f"127.0.0.1:{find_free_ports(1).pop()}")
        >>> rpc.rpc_sync("worker0", max, args=(2, 3))
        3
        >>> rpc.shutdown()
    """
    if _member.agent is not None:
        raise UsageError(f"init_rpc: this process is worker {_member.agent.own.name!r} already")
    rank = int(_needed("PADDLE_TRAINER_ID")) if rank is None else rank
    world_size = int(_needed("PADDLE_TRAINERS_NUM")) if world_size is None else world_size
    if not 0 <= rank < world_size:
        raise UsageError(f"init_rpc: rank is {rank}, but must be below world_size={world_size}")
    given = master_endpoint or env.get("PADDLE_MASTER_ENDPOINT")
    master = endpoints.parse(given or _launchers_master(), "the master endpoint")
    # the store of a launcher is served by it, any other by rank 0
    store = connect(str(master), rank, _MEET_S, is_served=None if not given else False)
    _member.num_meetings += 1
    _member.agent = _Agent(name, rank, world_size, store, _member.num_meetings, master)


def _launchers_master() -> str:
    address = env.get("MASTER_ADDR")
    return f"{address}:{_needed('MASTER_PORT')}" if address else _needed("PADDLE_MASTER")


def _needed(variable: str) -> str:
    value = env.get(variable)
    if not value:
        raise ConfigError(
            f"init_rpc: {variable} is not set. Give rank, world_size and master_endpoint, or start "
            "the script with `python -m paddle.distributed.launch --run_mode rpc`."
        )
    return value


def rpc_sync(
    to: str, fn: Callable[..., Any], args: Any = None, kwargs: Any = None, timeout: float = -1
) -> Any:
    """Run ``fn(*args, **kwargs)`` on worker ``to`` and return the result. ``fn`` travels by the
    name of its module and its own; arguments and results are numbers, strings, containers, arrays
    and Tensors. ``timeout`` is in seconds, for ever if not positive.
    """
    agent, message, deadline = _prepared("rpc_sync", to, fn, args, kwargs, timeout)
    return agent.call(to, message, deadline)


def rpc_async(
    to: str, fn: Callable[..., Any], args: Any = None, kwargs: Any = None, timeout: float = -1
) -> FutureWrapper:
    """As ``rpc_sync``, but return at once; ``wait()`` on what is returned gives the result."""
    agent, message, deadline = _prepared("rpc_async", to, fn, args, kwargs, timeout)
    return agent.start(to, message, deadline)


def _prepared(
    call: str, to: str, fn: Callable[..., Any], args: Any, kwargs: Any, timeout: float
) -> tuple[_Agent, bytes, Deadline]:
    agent = _member.of(call)
    _known(agent, call, to)
    limit_s = timeout if timeout > 0 else math.inf
    return agent, _messages.request(fn, args, kwargs), Deadline.after(limit_s)


def _known(agent: _Agent, call: str, name: str) -> WorkerInfo:
    if name not in agent.by_name:
        raise UsageError(f"{call}: there is no worker {name!r}.{nearest(name, agent.by_name)}")
    return agent.by_name[name]


def shutdown() -> None:
    """Wait until all workers call this and all calls are done, then leave."""
    try:
        _member.of("shutdown").leave()
    finally:
        _member.agent = None


def get_worker_info(name: str) -> WorkerInfo:
    """Name, rank, ip and port of the worker ``name``."""
    return _known(_member.of("get_worker_info"), "get_worker_info", name)


def get_all_worker_infos() -> list[WorkerInfo]:
    """Those of all workers, by rank."""
    return list(_member.of("get_all_worker_infos").infos)


def get_current_worker_info() -> WorkerInfo:
    """Those of this process."""
    return _member.of("get_current_worker_info").own
