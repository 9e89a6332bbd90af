"""A process's part in a parameter-server job: what it serves or trains with, and its life from
``init_server``/``init_worker`` to the end.

Every role runs the same script, so servers know the model and the optimizer too: they make the
tables themselves, and find them again after a restart.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from argosy.distributed.fleet.servers.d2sum import d2sum_update, replaces
from argosy.distributed.fleet.servers.passes import Passes
from argosy.distributed.fleet.servers.preemption import ServerWatch, say_departure
from argosy.distributed.fleet.servers.rules import (
    dense_update,
    needs_all_in_one_place,
    needs_whole,
    rate_of,
)
from argosy.distributed.fleet.servers.shown import contents
from argosy.distributed.fleet.servers.tables import check_strategy
from argosy.foundation import env
from argosy.foundation.endpoints import is_open, parse
from argosy.foundation.errors import ConfigError, UsageError
from argosy.foundation.witness import seat
from argosy.runtime.comm.rendezvous import token_for
from argosy.runtime.ps.server import checkpoint
from argosy.runtime.ps.server.service import Action, Service
from argosy.runtime.ps.server.tables import Tables
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.runtime.ps.wire import tls
from argosy.runtime.ps.wire.pulse import PATIENCE_S
from argosy.runtime.ps.worker.client import Client
from argosy.runtime.ps.worker.placement import place_dense
from argosy.runtime.ps.worker.tape import Tape
from argosy.runtime.ps.worker.worker import DENSE, WAY_OUT, Mode, Worker

if TYPE_CHECKING:
    from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
    from argosy.distributed.fleet.base.role_maker import RoleMakerBase

__all__ = ["GROUPED", "TABLES", "Model", "PsRuntime", "checkpoint_in", "mode_of"]

_PATIENCE = "ARGOSY_PS_PATIENCE"
GROUPED = "grouped"  # a file in the folder of a worker that has talked to others
TABLES = "tables"  # the folder of tables beside an inference model


def mode_of(strategy: DistributedStrategy) -> Mode:
    """How ``a_sync`` and ``a_sync_configs`` want workers and servers to keep in step.

    A strategy that nobody touched (``k_steps`` -1) trains asynchronously: Paddle 2.x would not
    train at all.
    """
    configs = strategy.a_sync_configs
    if configs["half_async"]:
        if not strategy.a_sync or configs["k_steps"] > 0:
            raise UsageError("a_sync_configs['half_async'] needs a_sync=True and k_steps 0")
        return Mode("half_async")
    if not strategy.a_sync:
        if configs["k_steps"] > 0:
            raise UsageError(
                f"a_sync_configs['k_steps'] is {configs['k_steps']}, which is geo mode, but "
                "a_sync is False; set a_sync first: it sets k_steps to 0"
            )
        return Mode("sync")
    if configs["k_steps"] > 0:
        return Mode("geo", k_steps=configs["k_steps"])
    return Mode(
        "async", queue_size=configs["send_queue_size"], max_merge=configs["max_merge_var_num"]
    )


@dataclass(frozen=True)
class Model:
    """What a job trains. ``rows`` gives tables their first rows, by name: pairs of ids and values,
    for tables that do not begin by their rule.

    ``tensors`` gives the memory that the dense parameters have now, once ``is_ready``.
    """

    sparse: tuple[SparseSpec, ...]
    shapes: Mapping[str, tuple[int, ...]]  # of the dense parameters, by name
    tensors: Callable[[], Mapping[str, torch.Tensor]]
    params: Sequence[Any]  # the script's dense parameters, in the order of ``shapes``
    optimizer: Any
    rows: dict[str, tuple[np.ndarray, np.ndarray]]
    is_ready: Callable[[], bool] = lambda: True
    own_rates: frozenset[str] = frozenset()  # tables that the script's learning rate does not reach
    multipliers: Mapping[str, float] = field(default_factory=dict)  # of the rate, by table

    def rate(self, table: str, rate: float) -> float | None:
        """The learning rate of a table where the script's is ``rate``; None for its own."""
        return None if table in self.own_rates else rate * self.multipliers.get(table, 1.0)


class PsRuntime:
    """The servers' side and the workers' side of one process; ``model`` must be known before either
    begins.
    """

    def __init__(self, role: RoleMakerBase, strategy: DistributedStrategy) -> None:
        self.role = role
        self.use_strategy(strategy)
        self.model: Model | None = None
        self._tables: Tables | None = None
        self._worker: Worker | None = None
        self._folder: str | None = None
        self.num_passes = 0  # over datasets that this process has begun
        self.has_loop = False  # of auto_checkpoint, which tells where in its data the worker is
        # over datasets, which a loop of auto_checkpoint counts in place of its own steps
        self.passes: Passes | None = None
        self._left_at: int | None = None  # steps; it has saved, and is to be started again
        atexit.register(self.close)

    # -- both
    # ----------------------------------------------------------------------------------------------

    def use_strategy(self, strategy: DistributedStrategy) -> None:
        """Take the settings of a strategy; nothing may have been started."""
        check_strategy(strategy)
        self.strategy = strategy
        self.mode = mode_of(strategy)

    @property
    def _bound(self) -> int | None:
        """How many pushes a worker may be ahead: what the environment says, else the strategy."""
        bound = env.integer(
            "ARGOSY_PS_STALENESS", int(self.strategy.a_sync_configs["max_staleness"])
        )
        return None if bound < 0 else bound

    @property
    def _token(self) -> str:
        return token_for(parse(self.role.get_pserver_endpoints()[0]))

    def _own_folder(self) -> Path:
        """Where tables lie: the launcher's choice, else a temporary folder that goes with this
        process.
        """
        given = env.get("ARGOSY_PS_FOLDER")
        if given:
            return Path(given)
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="argosy-ps-")
        return Path(self._folder)

    def known_model(self, call: str) -> Model:
        if self.model is None:
            raise ConfigError(
                f"fleet.{call}: the model is not known yet; call "
                "fleet.distributed_optimizer(...).minimize(loss), or fleet.distributed_model "
                "and "
                "fleet.distributed_optimizer, before it, in servers too"
            )
        return self.model

    def close(self) -> None:
        """Let go of everything without a goodbye; a second call does nothing."""
        atexit.unregister(self.close)
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        if self._tables is not None:
            self._tables.close()
            self._tables = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    # -- servers
    # ----------------------------------------------------------------------------------------------

    def init_server(self, dirname: str | None = None, var_names: Any = None) -> None:
        """Make the tables, or find them after a restart, and load what ``fleet.save_persistables``
        wrote to ``dirname``.
        """
        if self.role.is_worker():
            raise UsageError("fleet.init_server: this process is a worker; servers call it")
        if var_names is not None:
            raise UsageError(
                "fleet.init_server: var_names is not needed: a checkpoint has all tables"
            )
        model = self.known_model("init_server")
        number, count = self.role.server_index(), self.role.server_num()

        def update(*args: Any) -> Any:
            if self.strategy.adam_d2sum and replaces(model.optimizer):
                return d2sum_update(model.optimizer)(*args)
            return dense_update(model.optimizer, model.params)(*args)

        patience_s = env.integer(_PATIENCE, 0)
        if self._tables is not None:
            self._tables.close()
        self._tables = Tables(
            self._own_folder(), self.role.worker_num(), update, self._bound, patience_s
        )
        is_new = not self._tables.items()
        for spec in table_specs(model, self.mode):
            self._tables.create("sparse", spec.to_json(), self.mode.on_servers)
        if model.shapes:
            self._tables.create(
                "dense", dense_specs(model, count)[number].to_json(), self.mode.on_servers
            )
        if dirname and is_new:  # scripts without a model to start from pass ""
            checkpoint.load_part(self._tables, checkpoint_in(dirname), number, count, is_first=True)

    @property
    def tables(self) -> Tables:
        """The tables of this server; made at the first use."""
        if self._tables is None:
            self.init_server()
        assert self._tables is not None
        return self._tables

    def run_server(self) -> None:
        """Serve until every worker has called ``stop_worker``."""
        tables = self.tables
        endpoint = self.role.get_pserver_endpoints()[self.role.server_index()]
        watch = ServerWatch(tables)
        service = Service(
            f"{tls.scheme()}://{endpoint}",
            tables,
            self._token,
            self.role.worker_num(),
            tls_certificates=tls.server_certificates(),
            actions=self._actions(tables) | {"notes": watch.notes, "settle": watch.settle},
        )
        try:
            if seat.witness is not None:
                service.stopped.wait()
                seat.witness.at_end(contents(tables))
            service.serve_to_the_end()
        except KeyboardInterrupt:
            tables.close()
            service.end()
        self.close()
        watch.end()

    def _actions(self, tables: Tables) -> dict[str, Action]:
        """What servers of a Fleet do beside serving tables: care of one table, and telling workers
        where they meet.
        """
        number, count = self.role.server_index(), self.role.server_num()
        rendezvous: dict[str, str] = {}

        def save(body: dict[str, Any]) -> dict[str, Any]:
            return {
                "files": checkpoint.save_part(
                    tables, Path(body["path"]), number, body["mode"], body["table"]
                )
            }

        def load(body: dict[str, Any]) -> dict[str, Any]:
            checkpoint.load_part(tables, Path(body["path"]), number, count, body["table"])
            return {}

        def meet(body: dict[str, Any]) -> dict[str, Any]:
            if "place" in body:
                rendezvous["place"] = body["place"]
            return dict(rendezvous)

        def give_up(body: dict[str, Any]) -> dict[str, Any]:
            tables.give_up(str(body["reason"]))
            return {}

        return {
            "save_table": save,
            "load_table": load,
            "meet": meet,
            "give_up": give_up,
        }

    # -- workers
    # ----------------------------------------------------------------------------------------------

    def connect(self) -> Client:
        """A client of all servers."""
        endpoints = self.role.get_pserver_endpoints()
        # 0, which servers take as "wait for no lost worker", would leave no server the time to
        # answer
        patience_s = env.integer(_PATIENCE, 0) or PATIENCE_S
        number, root = self.role.worker_index(), tls.root_certificates()
        return Client(endpoints, number, self._token, tls_root=root, patience_s=patience_s)

    def init_worker(self) -> None:
        """Connect to the servers and take over the parameters they have; worker 0's if they have
        none. A second call does nothing.

        Where the startup program has not filled the parameters yet, or the strategy has no
        ``launch_barrier``, this happens in the first step.
        """
        if not self.role.is_worker():
            raise UsageError("fleet.init_worker: this process is a server; workers call it")
        self.known_model("init_worker")
        if self._is_awaited:
            self._join()

    @property
    def _is_awaited(self) -> bool:
        """Whether ``init_worker`` waits until the servers are there."""
        wanted = bool(self.strategy.a_sync_configs["launch_barrier"])
        return wanted and env.integer("FLAGS_LAUNCH_BARRIER", 1) != 0

    def _join(self) -> None:
        model = self.known_model("init_worker")
        if self._worker is not None or not model.is_ready():
            return
        number = self.role.worker_index()
        folder = self._own_folder() / f"worker-{number}" if self.mode.kind == "geo" else None
        kept = env.get("ARGOSY_PS_PROGRESS")  # of a launcher that starts workers again
        tape = Tape(Path(kept), self.mode.is_exact) if kept else None
        worker = Worker(self.connect, self.role.worker_num(), self.mode, folder, tape)
        try:
            self._start(worker, model, number)
            if tape is not None:
                self._check_return(worker, tape)
        except BaseException:
            worker.close()
            raise
        self._worker = worker

    def _check_return(self, worker: Worker, tape: Tape) -> None:
        """End the job if this worker was started again and cannot go on."""
        if (tape.folder / GROUPED).exists():
            worker.refuse(
                f"fleet.init_worker: {worker.again()}, but was in a group with the other workers "
                "(fleet.barrier_worker, fleet.util, fleet.metrics, "
                "global_shuffle), which it cannot join again.\n  Start the whole job again from "
                "a checkpoint."
            )
        if self.mode.kind == "sync" and worker.num_steps_before and worker.resting_point is None:
            worker.refuse(f"fleet.init_worker: {worker.lost()}.\n  {WAY_OUT}")

    def _start(self, worker: Worker, model: Model, number: int) -> None:
        worker.start(
            model.sparse,
            model.tensors,
            keeps_whole=needs_whole(model.optimizer),
            is_together=needs_all_in_one_place(model.optimizer),
        )
        if number == 0:
            for name, (ids, values) in model.rows.items():
                worker.client.fill_rows(name, ids, values)
        for name in model.rows:
            worker.client.wait_rows(name)
        model.rows.clear()  # from now on the servers have them

    @property
    def is_connected(self) -> bool:
        """Whether this process is a worker that has joined the servers."""
        return self._worker is not None

    @property
    def worker(self) -> Worker:
        """This process's worker; connected at the first use."""
        if self._worker is None:
            self._join()
        if self._worker is None:
            raise UsageError(
                "the parameters have no values yet; run the startup program first: "
                "exe.run(paddle.static.default_startup_program())"
            )
        return self._worker

    def served(self) -> dict[str, torch.Tensor]:
        """The dense parameters, by name, as the servers have them; none before the worker has
        joined them.
        """
        return {} if self._worker is None else self._worker.served()

    def stop_worker(self) -> None:
        """Send what is under way, say goodbye to the servers and forget them."""
        if self._worker is None and not self._is_awaited and self._are_listening():
            self._join()  # the servers wait for the goodbye of a worker that never asked them
        worker, self._worker = self._worker, None
        try:
            if worker is not None:
                if self._left_at is not None:
                    say_departure(worker.client, self._left_at)
                worker.stop()
        finally:
            self.close()

    def stop_at_exit(self, num_steps: int) -> None:
        """This worker has saved, and its process ends; it says goodbye when nothing is under way
        any more.
        """
        self._left_at = num_steps
        atexit.register(self._stop_unless_stopped)

    def _stop_unless_stopped(self) -> None:
        if self._worker is not None:
            self.stop_worker()

    def _are_listening(self) -> bool:
        """Whether all servers can be reached now."""
        return all(is_open(parse(text)) for text in self.role.get_pserver_endpoints())

    def rate(self) -> float:
        """The learning rate of this step."""
        return rate_of(self.known_model("step").optimizer)

    # -- care of tables
    # ----------------------------------------------------------------------------------------------

    def shrink(self) -> int:
        """Drop rows that are worth too little, in every table that counts shows; how many."""
        sparse = self.known_model("shrink").sparse
        kept = [spec.name for spec in sparse if spec.show_click is not None]
        if sparse and not kept:
            raise UsageError(
                "fleet.shrink: no table counts shows and clicks, so none can tell which rows to "
                "drop"
            )
        return sum(
            a["dropped"] for name in kept for a in self.worker.client.act("shrink", {"table": name})
        )

    def end_day(self, table: str, day: int) -> None:
        """``day``, an ordinal of the calendar, has begun for ``table``."""
        self.worker.client.act("end_day", {"table": table, "day": day})

    def table_names(self, call: str) -> list[str]:
        """The tables in the order of their numbers."""
        model = self.known_model(call)
        return [*(spec.name for spec in model.sparse), *([DENSE] if model.shapes else [])]

    def status(self) -> list[dict[str, Any]]:
        """What the servers say of their tables."""
        return [row for answer in self.worker.client.act("status", {}) for row in answer["tables"]]


def checkpoint_in(dirname: str) -> Path:
    """The folder of tables in what ``save_persistables`` or ``save_inference_model`` wrote."""
    inner = Path(dirname) / TABLES
    return inner if (inner / checkpoint.MANIFEST).is_file() else Path(dirname)


def table_specs(model: Model, mode: Mode) -> list[SparseSpec]:
    """The sparse tables as servers keep them."""
    from argosy.runtime.ps.worker.geo import on_server

    return [on_server(spec) if mode.kind == "geo" else spec for spec in model.sparse]


def dense_specs(model: Model, num_servers: int) -> list[Any]:
    """The part of the dense parameters that each server keeps."""
    shapes = dict(model.shapes)
    together = needs_all_in_one_place(model.optimizer)
    return place_dense(
        DENSE, shapes, num_servers, keeps_whole=needs_whole(model.optimizer), is_together=together
    )
