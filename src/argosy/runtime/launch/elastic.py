"""A job on several hosts that meet at ``--master host:port``, one of these launchers on each.

torch.distributed.elastic decides who takes part (``DynamicRendezvousHandler``, see ``meeting.py``)
and when to start again (``SimpleElasticAgent``): hosts that come late or are lost, restarts after a
failure. It does so over our own store, which turns away peers that do not know the job's token (see
``job_token.py``), served by the launcher that can listen at ``--master``. Nothing that another host
has stored is unpickled. The workers are started and ended as on one host.

In each round, once the hosts are known, every launcher publishes what it brings (``Node``); ranks
follow from that list, which is the same for all. The launcher of rank 0 serves a fresh store for
the workers. A worker that fails, or a store of the workers that does, is announced to all
launchers, so every host can name it.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import FrameType
from typing import Any, TextIO

from torch.distributed.elastic.agent.server.api import (
    RunResult,
    SimpleElasticAgent,
    Worker,
    WorkerGroup,
    WorkerSpec,
    WorkerState,
)
from torch.distributed.elastic.events.api import Event, EventSource
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.rendezvous import RendezvousError, RendezvousStateError
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import Endpoint, bind_listener, is_loopback, parse
from argosy.foundation.errors import ArgosyError, CommError, ConfigError
from argosy.runtime.comm.store import StoreClient, StoreFailed, StoreServer, TokenRefused
from argosy.runtime.comm.token import make as make_token
from argosy.runtime.launch import host
from argosy.runtime.launch.crew import Crew
from argosy.runtime.launch.job_token import token_of_job
from argosy.runtime.launch.logs import Follower, LogFolder
from argosy.runtime.launch.meeting import make_handler
from argosy.runtime.launch.nodes import Failure, Node, WorkerStore, in_rank_order
from argosy.runtime.launch.process import describe_exit, shell_code
from argosy.runtime.launch.rank_env import Job
from argosy.runtime.launch.spec import LaunchSpec
from argosy.runtime.launch.supervisor import GRACE_S, install_handlers, restore_handlers

_JOIN_S = 600  # how long a host waits for the others
_LOOK_S = 0.1
_LEAVE_S = 5.0
_SILENCE_S = 30.0  # a launcher that has not been heard of for so long is gone
_ANYWHERE = "0.0.0.0"


def run_node(spec: LaunchSpec, out: TextIO) -> int:
    """Take part in the job with this host's processes; returns the exit code for the shell."""
    where = parse(spec.master, "--master")
    command = host.command_of(spec)
    before = install_handlers(_raise_signal)
    try:
        with ExitStack() as stack:
            return _take_part(where, spec, command, stack, out)
    except SignalException as error:
        print(
            f"launch: stopped ({describe_exit(-error.sigval)}); the workers of this host were "
            "ended",
            file=out,
        )
        return 128 + error.sigval
    except StoreFailed:  # has been said
        return 1
    except RendezvousStateError as error:
        print(f"launch: {error}", file=out)
        return 1
    except (RendezvousError, CommError) as error:
        print(f"launch: lost the other hosts at {where}: {error.__cause__ or error}", file=out)
        return 1
    finally:
        restore_handlers(before)


def _take_part(
    where: Endpoint, spec: LaunchSpec, command: Sequence[str], stack: ExitStack, out: TextIO
) -> int:
    listener = _listen(where, spec)
    if listener is not None:
        stack.enter_context(listener)
    token = token_of_job(where, listener is not None, spec.argv, out)
    server = None if listener is None else stack.enter_context(StoreServer(listener, token))
    if server is not None and spec.shows_table:
        print(f"launch: this host serves the meeting point of the hosts at {where}", file=out)
    store = stack.enter_context(_connect(where, token))
    address = spec.host or _own_address(store)
    handler = make_handler(
        store,
        spec.job_id,
        address,
        (spec.min_nodes, spec.max_nodes),
        _JOIN_S,
        spec.elastic_timeout_s,
    )
    agent = _Agent(spec, command, address, handler, store, out, server)
    try:
        result = agent.run()
        handler.shutdown()
    except SignalException:
        handler.shutdown()
        raise
    except (ConfigError, StoreFailed):
        agent.leave()
        raise
    except (RendezvousError, CommError):
        if server is not None:
            _check(server, out)
        raise
    agent.leave()
    return agent.exit_code or int(result is not None and result.is_failed())


def _connect(where: Endpoint, token: str) -> StoreClient:
    try:
        return StoreClient(where.host, where.port, token, Deadline.after(_JOIN_S))
    except TokenRefused as error:
        raise ConfigError(
            f"launch: the launcher that serves the meeting point {where} has another token than "
            "this one; start this host with "
            "the ARGOSY_TOKEN that it was given, or that it printed"
        ) from error


def _check(server: StoreServer, out: TextIO) -> None:
    """Raise StoreFailed, and say so at once, if a store that is served here has died."""
    try:
        server.check()
    except StoreFailed as error:
        print(f"launch: {error}; the workers of this host are ended", file=out, flush=True)
        raise


def _raise_signal(number: int, frame: FrameType | None) -> None:
    raise SignalException(f"received signal {number}", signal.Signals(number))


def _listen(where: Endpoint, spec: LaunchSpec) -> socket.socket | None:
    """Listen at ``where`` if this host can and no other launcher does."""
    # a host's own name often stands for a loopback address there, and the first host's address may
    # be one that is forwarded to it
    addresses = [_ANYWHERE if _is_name_of_loopback(where.host) else where.host]
    if spec.node_rank == 0:
        addresses.append(_ANYWHERE)
    for address in addresses:
        with contextlib.suppress(ConfigError):
            return bind_listener(address, where.port)
    return None


def _is_name_of_loopback(name: str) -> bool:
    if is_loopback(name):
        return False
    with contextlib.suppress(OSError):
        return socket.gethostbyname(name).startswith("127.")
    return False


def _own_address(store: StoreClient) -> str:
    """The address from which this host reaches the master."""
    where = store.endpoint
    if _is_name_of_loopback(where.host):
        raise ConfigError(
            f"launch: here {where.host} is a loopback address, which other hosts cannot reach; "
            "name this host's with --host"
        )
    with socket.socket(
        socket.AF_INET6 if ":" in where.host else socket.AF_INET, socket.SOCK_DGRAM
    ) as probe:
        probe.connect((where.host, where.port))  # sends nothing
        address: str = probe.getsockname()[0]
        return address


class _Agent(SimpleElasticAgent):
    """Starts and ends the workers of this host when torch's agent says so."""

    def __init__(
        self,
        spec: LaunchSpec,
        command: Sequence[str],
        address: str,
        handler: DynamicRendezvousHandler,
        store: StoreClient,
        out: TextIO,
        server: StoreServer | None,
    ) -> None:
        super().__init__(
            WorkerSpec(
                role="worker",
                local_world_size=spec.nproc,
                rdzv_handler=handler,
                entrypoint=command[0],
                max_restarts=spec.max_restart,
                monitor_interval=_LOOK_S,
            )
        )
        self._launch = spec
        self._command = command
        self._address = address
        self._out = out
        self._round = ExitStack()
        self._crew: Crew | None = None
        self._job: Job | None = None
        self._logs: LogFolder | None = None
        self._follower: Follower | None = None
        self._is_first = True
        # torch's rounds keep the C++ half of a Python store alive, not the Python half
        self._python_store = store
        self._server = server  # of the meeting point, if it is served here
        self._round_server: StoreServer | None = None  # of the workers, if it is
        self._next_beat_s = 0.0
        self._is_through = False
        self._failure: Failure | None = None  # what ended this round
        self._heard = (-1, 0.0)  # sum of the other launchers' beats, and when it last grew
        self.exit_code = 0

    # -- a round
    # ----------------------------------------------------------------------------------------------

    def _rendezvous(self, worker_group: WorkerGroup) -> None:
        """Meet the other hosts. Ranks of workers are agreed on when they are started, not here as
        in torch.
        """
        try:
            info = worker_group.spec.rdzv_handler.next_rendezvous()
        except ArgosyError:
            raise
        except ValueError as error:  # torch reads MASTER_ADDR and MASTER_PORT, which nobody needs
            raise CommError(
                f"what another host has stored as MASTER_PORT is refused: {error}"
            ) from error
        group: Any = worker_group  # torch's annotations allow its fields nothing but None
        group.store = info.store
        group.group_rank, group.group_world_size = info.rank, info.world_size
        group.workers = [Worker(local_rank=i) for i in range(self._launch.nproc)]

    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        store: Any = worker_group.store
        self.exit_code = 0
        self._is_through = False
        job = self._job = self._agree(store, worker_group)
        self._logs = host.open_logs(self._launch, self._is_first)
        self._is_first = False
        self._crew = self._round.enter_context(Crew())
        if self._logs is not None:
            self._follower = self._round.enter_context(
                Follower(self._logs.worker(0), sys.stdout.buffer)
            )
        host.start_workers(self._crew, job, self._launch, self._command, self._logs)
        if self._launch.shows_table:
            print(host.table(job, self._crew.workers, self._command, self._logs), file=self._out)
        for worker in worker_group.workers:
            worker.global_rank = job.first_rank + worker.local_rank
        return {worker.rank - job.first_rank: worker.pid for worker in self._crew.workers}

    def _agree(self, store: Any, worker_group: WorkerGroup) -> Job:
        """Exchange what the hosts bring; the first one serves the workers' store."""
        spec = self._launch
        arrival, count = worker_group.group_rank, worker_group.group_world_size
        assert arrival is not None
        assert count is not None
        endpoints = host.reserve(self._round, self._address, spec.start_port, spec.nproc)
        store.set(
            f"node/{arrival}",
            Node(self._address, spec.node_rank, tuple(endpoints), spec.devices).to_json(),
        )
        nodes = [Node.from_json(store.get(f"node/{i}"), f"node/{i}") for i in range(count)]
        order = in_rank_order(nodes, spec.sorts_hosts)
        if order[0] == arrival:
            token = make_token()
            self._round_server = self._round.enter_context(
                StoreServer(bind_listener(self._address), token)
            )
            store.set("job", WorkerStore(str(self._round_server.endpoint), token).to_json())
        place = WorkerStore.from_json(store.get("job"), "job")
        before = [nodes[i] for i in order[: order.index(arrival)]]
        devices = [card for i in order for card in nodes[i].devices]
        all_endpoints = [endpoint for i in order for endpoint in nodes[i].endpoints]
        return host.make_job(
            spec,
            endpoints=all_endpoints,
            master=place.endpoint,
            token=place.token,
            devices=devices if len(devices) == len(all_endpoints) else (),
            num_nodes=count,
            first_rank=sum(len(node.endpoints) for node in before),
        )

    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        assert self._crew is not None
        if self._follower is not None:
            self._follower.pump()
        failed = self._crew.wait(0)
        self._check_stores()  # before a worker is blamed that failed for want of a store
        if failed is not None:
            self._announce(Failure(failed.rank, failed.poll() or 0, self._address))
        if self._has_failed():
            return RunResult(WorkerState.FAILED)
        self._beat()
        if self._crew.is_running or not self._are_all_through():
            return RunResult(WorkerState.HEALTHY)
        return RunResult(
            WorkerState.SUCCEEDED,
            return_values={worker.global_rank: None for worker in worker_group.workers},
        )

    def _check_stores(self) -> None:
        if self._server is not None:
            _check(self._server, self._out)
        if self._round_server is not None:
            try:
                _check(self._round_server, self._out)
            except StoreFailed as error:
                self._announce(Failure(-1, 1, self._address, str(error)))
                raise

    def _beat(self) -> None:
        """Let the other launchers know that this one lives."""
        now = time.monotonic()
        if now >= self._next_beat_s:
            self._next_beat_s = now + 1.0
            self._round_store.add(f"beat/{self._worker_group.group_rank}", 1)

    def _are_all_through(self) -> bool:
        """Whether the workers of every host have ended well; until then this host stays, to start
        again if one fails.
        """
        if not self._is_through:
            self._is_through = True
            self._round_store.add("through", 1)
            self._heard = (-1, time.monotonic())
        count = self._worker_group.group_world_size or 1
        if int(self._round_store.add("through", 0)) == count:
            return True
        beats = sum(
            int(self._round_store.add(f"beat/{i}", 0))
            for i in range(count)
            if i != self._worker_group.group_rank
        )
        last, at_s = self._heard
        if beats != last:
            self._heard = (beats, time.monotonic())
        elif time.monotonic() - at_s > _SILENCE_S:
            raise CommError(
                f"nothing was heard from them for {_SILENCE_S:g} s, after the workers of this "
                "host had ended well"
            )
        return False

    def _announce(self, failure: Failure) -> None:
        self._round_store.compare_set("failed", "", failure.to_json())

    def _has_failed(self) -> bool:
        if self._failure is None and self._round_store.check(["failed"]):
            self._failure = Failure.from_json(self._round_store.get("failed"), "failed")
            if self._failure.rank < 0:
                reason = f"{self._failure.reason} (on {self._failure.address})"
                print(
                    f"launch: {reason}; the workers of this host are ended",
                    file=self._out,
                    flush=True,
                )
                raise StoreFailed(reason)
        return self._failure is not None

    @property
    def _round_store(self) -> Any:
        return self._worker_group.store

    def _stop_workers(self, worker_group: WorkerGroup) -> None:
        self._end_round()

    def _shutdown(self, death_sig: signal.Signals = signal.SIGTERM, timeout: int = 30) -> None:
        self._end_round()

    def _end_round(self) -> None:
        """End this host's workers and, if the round has failed, say who failed first."""
        if self._crew is None:
            return
        crew, self._crew = self._crew, None
        self._round_server = None
        with self._round:
            crew.end(GRACE_S)
            crew.close()
            if self._follower is not None:
                self._follower.pump()
                self._follower = None
        if self._failure is not None and self._failure.rank >= 0:
            self._report(self._failure.rank, self._failure.exit_code, self._failure.address)
        self._failure = None
        self._round = ExitStack()

    def _report(self, rank: int, exit_code: int, address: str) -> None:
        assert self._job is not None
        self.exit_code = shell_code(exit_code)
        if 0 <= rank - self._job.first_rank < self._job.nproc:
            host.report_failure(rank, exit_code, self._job, self._logs, self._out)
        else:
            print(
                f"launch: rank {rank} on {address} {describe_exit(exit_code)}; the workers of "
                "this host were ended",
                file=self._out,
            )

    def _exit_barrier(self) -> None:
        """Nothing to wait for: a host is through only when all are. ``leave`` comes in the end,
        whatever that is.
        """

    def leave(self) -> None:
        """Stay a moment if the store is served here, for the others to learn how the job ended."""
        if self._round_store is None:
            return
        count = self._worker_group.group_world_size or 1
        deadline = Deadline.after(0 if self._server is None else _LEAVE_S)
        with contextlib.suppress(CommError):
            self._round_store.add("left", 1)
            while int(self._round_store.add("left", 0)) < count and not deadline.expired:
                time.sleep(_LOOK_S)

    def _construct_event(self, state: str, source: EventSource, *args: Any, **kwargs: Any) -> Event:
        """Spare the look-up of this host's name, which takes seconds where no name server answers:
        nobody reads these.
        """
        return Event(f"torchelastic.worker.status.{state}", source=source)
