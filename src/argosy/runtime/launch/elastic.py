"""A job on several hosts that meet at ``--master host:port``, one of these launchers on each.

torch.distributed.elastic decides who takes part (``DynamicRendezvousHandler``, see
``rendezvous.py``) and when to start again (``SimpleElasticAgent``): hosts that come late or are
lost, restarts after a failure. It does so over our own store, which turns away peers that do not
know the job's token (see ``job_token.py``), served by the launcher that can listen at ``--master``.
Nothing that another host has stored is unpickled. A round's processes have a supervisor, as on one
host.

In each round, once the hosts are known, every launcher publishes what it brings (``Host``); ranks
follow from that list, which is the same for all. The launcher of rank 0 serves a fresh store for
the workers. A worker that fails, or a store of the workers that does, is announced to all
launchers, so every host can name it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from contextlib import ExitStack
from types import FrameType
from typing import Any

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
from argosy.foundation.endpoints import Endpoint, bind_listener, parse
from argosy.foundation.errors import ArgosyError, CommError, ConfigError
from argosy.runtime.comm.store import StoreClient, StoreFailed, StoreServer
from argosy.runtime.comm.token import make as make_token
from argosy.runtime.launch import report
from argosy.runtime.launch.hosts import Failure, Host, Rendezvous
from argosy.runtime.launch.machine import this_machine
from argosy.runtime.launch.master import JOIN_S, own_address, reach
from argosy.runtime.launch.observation import Observation
from argosy.runtime.launch.other_paces import NOTHING, OtherPaces
from argosy.runtime.launch.planners import round as round_planner
from argosy.runtime.launch.ports import reserve
from argosy.runtime.launch.process_spec import Job
from argosy.runtime.launch.rendezvous import make_handler
from argosy.runtime.launch.report import Say
from argosy.runtime.launch.spec import LaunchSpec
from argosy.runtime.launch.supervisor import Outcome, Supervisor, install_handlers, restore_handlers

_LOOK_S = 0.1
_LEAVE_S = 5.0
_SILENCE_S = 30.0  # a launcher that has not been heard of for so long is gone
_EVERYONE = "the workers of this host"


def run_host(spec: LaunchSpec, seen: Observation) -> int:
    """Take part in the job with this host's processes; returns the exit code for the shell."""
    where, say = parse(spec.master, "--master"), seen.terminal.print
    signals = _Signals(say)
    before = install_handlers(signals.take)
    try:
        with ExitStack() as stack:
            return _take_part(where, spec, stack, seen, signals)
    except SignalException as error:
        say(report.stopped(-error.sigval, _EVERYONE))
        return 128 + error.sigval
    except StoreFailed:  # has been said
        return 1
    except RendezvousStateError as error:
        say(f"launch: {error}")
        return 1
    except (RendezvousError, CommError) as error:
        say(f"launch: lost the other hosts at {where}: {error.__cause__ or error}")
        return 1
    finally:
        restore_handlers(before)


def _take_part(
    where: Endpoint, spec: LaunchSpec, stack: ExitStack, seen: Observation, signals: _Signals
) -> int:
    say = seen.terminal.print
    point = reach(where, spec, stack, say, is_first=spec.node_rank == 0)
    store, server = point.store, point.server
    address = spec.host or own_address(store)
    num_hosts = (spec.min_nodes, spec.max_nodes)
    handler = make_handler(store, spec.job_id, address, num_hosts, JOIN_S, spec.elastic_timeout_s)
    agent = _Agent(spec, address, handler, store, seen, server, signals)
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
            _check(server, say)
        raise
    agent.leave()
    return agent.exit_code or int(result is not None and result.is_failed())


def _check(server: StoreServer, say: Say) -> None:
    """Raise StoreFailed, and say so at once, if a store that is served here has died."""
    try:
        server.check()
    except StoreFailed as error:
        say(report.store_failed(error, _EVERYONE))
        raise


def _pace_key(arrival: int) -> str:
    """Under which a launcher tells of its processes."""
    return f"pace/{arrival}"


class _Signals:
    """What signals do: they are requests to a round whose processes can save, else they end this
    launcher. SIGUSR1 alone ends nobody; it is kept for the next round.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._round: Supervisor | None = None
        self._is_kept = False

    def take(self, number: int, frame: FrameType | None) -> None:
        if self._round is not None and (self._round.show_card(number) or self._round.ask(number)):
            return
        if number != signal.SIGUSR1:
            raise SignalException(f"received signal {number}", signal.Signals(number))
        self._is_kept = True

    def begin(self, supervisor: Supervisor) -> None:
        """Processes run."""
        self._round = supervisor
        if self._is_kept:
            supervisor.ask(signal.SIGUSR1)

    def end(self) -> None:
        self._round = None


class _Agent(SimpleElasticAgent):
    """Has the processes of this host started and ended when torch's agent says so."""

    def __init__(
        self,
        spec: LaunchSpec,
        address: str,
        handler: DynamicRendezvousHandler,
        store: StoreClient,
        seen: Observation,
        server: StoreServer | None,
        signals: _Signals,
    ) -> None:
        super().__init__(
            WorkerSpec(
                role="worker",
                local_world_size=spec.nproc,
                rdzv_handler=handler,
                entrypoint=spec.command[0],
                max_restarts=spec.max_restart,
                monitor_interval=_LOOK_S,
            )
        )
        self._launch = spec
        self._address = address
        self._seen = seen
        self._say = seen.terminal.print
        self._signals = signals
        self._round = ExitStack()
        self._supervisor: Supervisor | None = None  # of this round
        self._outcome: Outcome | None = None  # of its processes
        self._is_first = True
        self._num_rounds = self._num_hosts = 0
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
        self.exit_code = 0
        self._is_through = False
        job = self._agree(worker_group.store, worker_group)
        self._tell_round(job, worker_group.group_world_size or 1)
        self._is_first = False
        self._supervisor = Supervisor(
            job,
            self._say,
            check=self._check_stores,
            terminal=self._seen.terminal.over(sys.stdout.buffer),
            watch=self._seen.watch(job, self._paces(worker_group)),
        )
        pids = self._supervisor.start()
        self._signals.begin(self._supervisor)
        for worker, process in zip(worker_group.workers, job.processes, strict=True):
            worker.global_rank = process.member.rank
        return dict(enumerate(pids))

    def _agree(self, store: Any, worker_group: WorkerGroup) -> Job:
        """Exchange what the hosts bring; the first one serves the workers' store."""
        spec = self._launch
        arrival, count = worker_group.group_rank, worker_group.group_world_size
        assert arrival is not None
        assert count is not None
        endpoints = reserve(self._round, self._address, spec.start_port, spec.nproc)
        mine = Host(self._address, spec.node_rank, endpoints, spec.devices)
        store.set(_pace_key(arrival), NOTHING)
        store.set(f"node/{arrival}", mine.to_json())
        hosts = [Host.from_json(store.get(f"node/{i}"), f"node/{i}") for i in range(count)]
        if round_planner.in_rank_order(hosts, spec.sorts_hosts)[0] == arrival:
            token = make_token()
            self._round_server = self._round.enter_context(
                StoreServer(bind_listener(self._address), token)
            )
            store.set("job", Rendezvous(str(self._round_server.endpoint), token).to_json())
        where = Rendezvous.from_json(store.get("job"), "job")
        return round_planner.plan(
            spec, hosts, arrival, where, this_machine(), is_first=self._is_first
        )

    def _tell_round(self, job: Job, num_hosts: int) -> None:
        """Keep that the job goes on with these hosts, if it is not just starting."""
        self._num_rounds += 1
        ranks = ", ".join(str(process.member.rank) for process in job.processes)
        changed = f", {self._num_hosts} before" if num_hosts != self._num_hosts else ""
        if self._num_rounds > 1:
            self._seen.event(
                "round",
                f"round {self._num_rounds} begins with {num_hosts} hosts{changed}; this host has "
                f"the ranks {ranks}",
            )
        self._num_hosts = num_hosts

    def _paces(self, group: WorkerGroup) -> OtherPaces | None:
        """The processes of all hosts, for the host of rank 0."""
        count, arrival = group.group_world_size or 1, group.group_rank or 0
        if count == 1:
            return None
        keys = [_pace_key(host) for host in range(count)]
        # it serves the workers' store
        return OtherPaces(group.store, keys, arrival, reads=self._round_server is not None)

    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        assert self._supervisor is not None
        self._outcome = self._supervisor.look(0)
        if self._outcome is not None and self._outcome.failed is not None:
            rank = self._outcome.failed.member.rank
            self._announce(Failure(rank, self._outcome.exit_code, self._address))
        elif self._outcome is not None and self._outcome.exit_code < 0:
            number, self._outcome = signal.Signals(-self._outcome.exit_code), None
            raise SignalException("the time to save is over", number)
        if self._has_failed():
            if self._supervisor.is_asked:
                self._remaining_restarts = 0  # the place is wanted for somebody else
            return RunResult(WorkerState.FAILED)
        self._beat()
        if self._outcome is None or not self._are_all_through():
            return RunResult(WorkerState.HEALTHY)
        return RunResult(
            WorkerState.SUCCEEDED,
            return_values={worker.global_rank: None for worker in worker_group.workers},
        )

    def _check_stores(self) -> None:
        if self._server is not None:
            _check(self._server, self._say)
        if self._round_server is not None:
            try:
                _check(self._round_server, self._say)
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
                error = StoreFailed(reason)
                self._say(report.store_failed(error, _EVERYONE))
                raise error
        return self._failure is not None

    @property
    def _round_store(self) -> Any:
        return self._worker_group.store

    def _stop_workers(self, worker_group: WorkerGroup) -> None:
        self._end_round()

    def _shutdown(self, death_sig: signal.Signals = signal.SIGTERM, timeout: int = 30) -> None:
        self._end_round()

    def _end_round(self) -> None:
        """End this host's processes and say how, if they have not just come to their end."""
        self._signals.end()
        supervisor, self._supervisor = self._supervisor, None
        failure, self._failure = self._failure, None
        self._round_server = None
        with self._round:
            if supervisor is not None:
                supervisor.end()
        if supervisor is not None and failure is None and self._outcome is not None:
            supervisor.report_end(self._outcome)
            self.exit_code = report.shell_code(self._outcome.exit_code)
        if supervisor is None or failure is None or failure.rank < 0:
            return
        self.exit_code = report.shell_code(failure.exit_code)
        mine = self._outcome
        if mine is not None and mine.failed is not None and mine.failed.member.rank == failure.rank:
            supervisor.report(mine)
            return
        label = f"rank {failure.rank} on {failure.address}"
        words = report.end_of(label, failure.exit_code, f"{_EVERYONE} were ended")
        self._say(f"launch: {words}")
        self._seen.event("failure", words)

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
