"""A program of 1.x in a parameter-server job: what trainers and servers run."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.distributed.fleet.base.role_maker import Role, UserDefinedRoleMaker
from argosy.distributed.fleet.servers.program import ProgramOptimizer
from argosy.distributed.fleet.servers.runtime import PsRuntime
from argosy.fluid.transpiler.details.files import load_tables, save_model, save_variables
from argosy.fluid.transpiler.details.untrained import put_last, take_out_training
from argosy.foundation.errors import BadArgument, UsageError
from argosy.ops.table import Op
from argosy.runtime.ps.worker.worker import Mode
from argosy.static.ir.attachment import ServerJob
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Parameter
from argosy.static.record.recorder import recorder
from argosy.static.run.executor import farewells

__all__ = ["TrainerJob"]


class _Server:
    """What the operators of a server's programs share."""

    def __init__(self, runtime: PsRuntime) -> None:
        self.runtime = runtime

    def __deepcopy__(self, memo: dict[int, Any]) -> _Server:
        return self  # a copy of the program serves the same tables

    def __repr__(self) -> str:
        return f"server {self.runtime.role.server_index()}"  # in the text of its programs


def _make_tables(server: _Server) -> None:
    server.runtime.init_server()


def _serve(server: _Server) -> None:
    server.runtime.run_server()


def _leave_unset(table: str) -> None:
    """The rows of ``table`` are on the servers, so a trainer fills none."""


_TABLES = Op("ps_tables", _make_tables)
_UNSET = Op("fake_init", _leave_unset)
_SERVE = Op("listen_and_serv", _serve)


class TrainerJob(ServerJob):
    """The trainers and servers that train ``program`` together. Making one changes ``program`` and
    ``startup`` into those of a trainer.
    """

    def __init__(
        self,
        program: Program,
        startup: Program,
        endpoints: Sequence[str],
        trainer_id: int,
        trainers: int,
        mode: Mode,
    ) -> None:
        call = "DistributeTranspiler.transpile"
        if program.is_distributed:
            raise UsageError(f"{call}: the program is part of a parameter-server job already")
        self.endpoints = list(endpoints)
        self.program = program
        self.mode = mode
        self._num_trainers = trainers
        self.trainer = self._runtime(Role.WORKER, trainer_id)
        self.origin = program.clone()  # as one process runs it
        before: dict[str, Parameter] = {p.name: p for p in program.all_parameters()}
        training = take_out_training(call, program, startup)
        with _clipping(training.optimizer, training.clip):
            optimizer = ProgramOptimizer(training.optimizer, self.trainer)
            optimizer.minimize(training.loss, startup, training.params, training.no_grad)
            model = self.trainer.known_model("transpile")
            # servers clip as the script did, whatever becomes of the optimizer later
            self.trainer.model = dataclasses.replace(model, optimizer=copy.copy(training.optimizer))
        put_last(program, training.later)
        for spec in model.sparse:
            recorder.append(startup.global_block(), "fake_init", _UNSET, (spec.name,), {}, [])
        self.sizes = {spec.name: int(before[spec.name].shape[0]) for spec in model.sparse}
        program.attachments.put(ServerJob, self)

    def _runtime(self, role: int, number: int) -> PsRuntime:
        place = UserDefinedRoleMaker(
            current_id=number,
            role=role,
            worker_num=self._num_trainers,
            server_endpoints=self.endpoints,
        )
        runtime = PsRuntime(place, DistributedStrategy())
        runtime.mode = self.mode
        return runtime

    # -- trainers
    # ----------------------------------------------------------------------------------------------

    def trainer_program(self) -> Program:
        """The program of a trainer. The process leaves the servers when it closes an Executor."""
        if self.leave not in farewells:
            farewells.append(self.leave)
        return self.program

    def leave(self) -> None:
        """Send what is under way and say goodbye to the servers, who wait for every trainer."""
        if self.leave in farewells:
            farewells.remove(self.leave)
        if self.trainer.known_model("leave").is_ready():
            self.trainer.init_worker()
        self.trainer.stop_worker()

    # -- servers
    # ----------------------------------------------------------------------------------------------

    def server_programs(self, endpoint: str) -> tuple[Program, Program]:
        """The program that serves until all trainers have left, and the one that makes the
        tables.
        """
        if endpoint not in self.endpoints:
            raise BadArgument(
                f"there is no server at {endpoint!r}; the servers are {', '.join(self.endpoints)}"
            )
        runtime = self._runtime(Role.SERVER, self.endpoints.index(endpoint))
        runtime.model = self.trainer.model
        server = _Server(runtime)
        return self._program("listen_and_serv", _SERVE, server), self._program(
            "ps_tables", _TABLES, server
        )

    def _program(self, kind: str, op: Op, server: _Server) -> Program:
        program = Program()
        recorder.append(program.global_block(), kind, op, (server,), {}, [])
        program.attachments.put(ServerJob, ServerFiles(self, server.runtime))
        return program

    # -- files
    # ----------------------------------------------------------------------------------------------

    def save_persistables(self, executor: Any, dirname: str, program: Program) -> None:
        """Write the variables of ``program`` and the rows of its tables; trainer 0 does, the others
        return at once.
        """
        if self.trainer.role.is_first_worker():
            save_variables(self.trainer, self.sizes, executor, dirname, program)

    def save_inference_model(
        self, executor: Any, dirname: str, feed_names: Any, targets: Any
    ) -> None:
        """Write what ``targets`` need, for one process without servers; trainer 0 does, the others
        return at once.
        """
        if self.trainer.role.is_first_worker():
            block = self.origin.global_block()
            feeds = [
                block.var(name)
                for name in ([feed_names] if isinstance(feed_names, str) else feed_names)
            ]
            wanted = [block.var(v.name) for v in targets]
            save_model(self.trainer, self.sizes, executor, dirname, feeds, wanted, self.origin)

    def load_persistables(self, executor: Any, dirname: str, program: Program) -> None:
        raise UsageError(
            "fluid.io.load_persistables: servers load tables, with the program of "
            "get_pserver_program"
        )


class ServerFiles(ServerJob):
    """What ``fluid.io`` does with the program of a server."""

    def __init__(self, job: TrainerJob, runtime: PsRuntime) -> None:
        self._job = job
        self._runtime = runtime

    def save_persistables(self, executor: Any, dirname: str, program: Program) -> None:
        raise UsageError(
            "fluid.io.save_persistables: trainers save, with the program of get_trainer_program"
        )

    def save_inference_model(
        self, executor: Any, dirname: str, feed_names: Any, targets: Any
    ) -> None:
        raise UsageError(
            "fluid.io.save_inference_model: trainers save, with the program of get_trainer_program"
        )

    def load_persistables(self, executor: Any, dirname: str, program: Program) -> None:
        """Take this server's share of what ``save_persistables`` wrote, here or in Paddle or in one
        process.
        """
        load_tables(self._runtime, self._job.sizes, dirname)


@contextlib.contextmanager
def _clipping(optimizer: Any, clip: Any) -> Iterator[None]:
    """Let ``optimizer`` have the clip that was in force in ``minimize``."""
    own = optimizer.clip
    optimizer.clip = clip
    try:
        yield
    finally:
        optimizer.clip = own
