"""``fluid.incubate.fleet.parameter_server.distribute_transpiler``: the Fleet of 1.x for jobs with
servers.

Without servers in the environment, a script trains by itself.
"""

from __future__ import annotations

import os
from typing import Any

from argosy.distributed.fleet.base.role_maker import RoleMakerBase
from argosy.fluid import io
from argosy.fluid.incubate.fleet.base.fleet_base import (
    OPTIMIZERS,
    DistributedOptimizer,
    Fleet,
    Mode,
    check_executor,
    check_program,
    named_targets,
)
from argosy.fluid.incubate.fleet.parameter_server.distributed_strategy import (
    AsyncStrategy,
    DistributedStrategy,
    GeoStrategy,
    HalfAsyncStrategy,
    StrategyFactory,
    SyncStrategy,
    TrainerRuntimeConfig,
    strategy_of,
)
from argosy.fluid.optimizer import Optimizer as _OldOptimizer
from argosy.fluid.transpiler.distribute_transpiler import (
    DistributedMode,
    DistributeTranspiler,
    DistributeTranspilerConfig,
    ServerRuntimeConfig,
)
from argosy.foundation.errors import BadArgument, ConfigError, DtypeError, NotSupported, UsageError
from argosy.foundation.process_state import register
from argosy.static import Program, default_startup_program

__all__ = [
    "AsyncStrategy",
    "DistributeTranspilerConfig",
    "DistributedMode",
    "DistributedStrategy",
    "DistributedTranspiler",
    "GeoStrategy",
    "HalfAsyncStrategy",
    "ServerRuntimeConfig",
    "StrategyFactory",
    "SyncStrategy",
    "TrainerRuntimeConfig",
    "TranspilerOptimizer",
    "fleet",
]


class _Transpiler(DistributeTranspiler):
    """A transpiler whose mode is that of a strategy."""

    def __init__(self, strategy: DistributedStrategy) -> None:
        config = strategy.get_program_config()
        if config.mode != "pserver":
            raise ConfigError(
                "fleet.distributed_optimizer: DistributeTranspilerConfig.mode is "
                f"{config.mode!r}, but this job has servers; "
                "leave it 'pserver', or use fluid.incubate.fleet.collective in a job without"
            )
        super().__init__(config)
        self._set_server_config(strategy.get_server_runtime_config())
        self._strategy = strategy

    def _mode(self, sync_mode: bool) -> Any:
        return self._strategy.worker_mode()


class DistributedTranspiler(Fleet):
    """The Fleet of jobs with servers."""

    def __init__(self) -> None:
        super().__init__(Mode.TRANSPILER)
        self._transpiler: DistributeTranspiler | None = None

    def init(self, role_maker: RoleMakerBase | None = None) -> None:
        """Learn this process's role; from the environment without a role maker."""
        super().init(role_maker)
        self._transpiler = self._optimizer = None
        self.main_program = self.startup_program = self._origin_program = None

    # -- the life of workers and servers
    # --------------------------------------------------------------------------------

    def init_worker(self) -> None:
        """Connect to the servers; before the startup program has run, the first step does."""
        job = self._job("init_worker")
        if job is not None:
            job.trainer.init_worker()

    def stop_worker(self) -> None:
        """Send what is under way and leave the servers."""
        job = self._job("stop_worker")
        if job is not None:
            job.leave()
        self._executor.close()

    def init_server(self, model_dir: str | None = None) -> None:
        """Make the tables of this server, from what ``save_persistables`` wrote to ``model_dir`` if
        it is given; scripts without a model to begin with pass "".
        """
        if model_dir and not os.path.isdir(model_dir):
            raise BadArgument(f"fleet.init_server: there is no directory named {model_dir!r}")
        self._executor.run(self._server_program("init_server", self.startup_program))
        if model_dir:
            io.load_persistables(self._executor, model_dir, self.main_program)

    def run_server(self) -> None:
        """Serve until every worker has called ``stop_worker``."""
        self._executor.run(self._server_program("run_server", self.main_program))

    def _server_program(self, call: str, program: Program | None) -> Program:
        if not self.is_server():
            raise UsageError(f"fleet.{call}: this process is a worker; servers call it")
        if program is None:
            raise BadArgument(
                f"fleet.{call}: call fleet.distributed_optimizer(...).minimize(loss) first"
            )
        return program

    def _job(self, call: str) -> Any:
        """The job with servers; None in a script that trains by itself."""
        if self.is_server():
            raise UsageError(f"fleet.{call}: this process is a server; workers call it")
        if self.server_num() == 0:
            return None
        if self._transpiler is None:
            raise ConfigError(
                f"fleet.{call}: call fleet.distributed_optimizer(...).minimize(loss) first"
            )
        return self._transpiler._job

    # -- training
    # ----------------------------------------------------------------------------------------------

    def distributed_optimizer(self, optimizer: Any, strategy: Any = None) -> TranspilerOptimizer:
        """``optimizer`` whose ``minimize`` makes the programs of this process; ``strategy`` is one
        of StrategyFactory's, or a DistributeTranspilerConfig.
        """
        if not isinstance(optimizer, OPTIMIZERS):
            raise BadArgument(
                f"fleet.distributed_optimizer: optimizer must be an Optimizer, but is {optimizer!r}"
            )
        if not self._is_initialized:
            raise BadArgument("fleet.distributed_optimizer: call fleet.init(role_maker) before")
        made = self._optimizer = TranspilerOptimizer(optimizer, strategy, self)
        return made

    def _transpile(self, strategy: DistributedStrategy, program: Program, startup: Program) -> None:
        self._origin_program = program.clone(for_test=False)
        self.main_program, self.startup_program = program, startup
        if self.server_num() == 0:
            return
        transpiler = self._transpiler = _Transpiler(strategy)
        servers = self.server_endpoints(to_string=True)
        transpiler.transpile(
            self.worker_index() if self.is_worker() else 0,
            program,
            str(servers),
            self.worker_num(),
            sync_mode=False,
            startup_program=startup,
        )
        if self.is_worker():
            self.main_program = transpiler.get_trainer_program()
            self.role_maker.find_each_other(transpiler._job.trainer.connect)
        else:
            endpoint = self.server_endpoints()[self.server_index()]
            self.main_program, self.startup_program = transpiler.get_pserver_programs(endpoint)

    # -- files
    # ----------------------------------------------------------------------------------------------

    def save_persistables(self, executor: Any, dirname: str, main_program: Any = None) -> None:
        """Write the parameters, a file each, and the servers' tables in the folder ``tables``;
        worker 0 does, the others return at once.
        """
        check_executor("save_persistables", executor)
        program = check_program(
            "save_persistables", self.main_program if main_program is None else main_program
        )
        if self.server_num() and not program.is_distributed:
            raise BadArgument(
                "fleet.save_persistables: main_program is not one that trains through servers"
            )
        io.save_persistables(executor, dirname, program)

    def save_inference_model(
        self,
        executor: Any,
        dirname: str,
        feeded_var_names: Any,
        target_vars: Any,
        main_program: Any = None,
        export_for_deployment: bool = True,
    ) -> None:
        """Write the program that computes ``target_vars`` and its parameters, for one process
        without servers; worker 0 does, the others return at once.

        With ``main_program`` it is written as it is, with what this process holds.
        """
        check_executor("save_inference_model", executor)
        given = check_program(
            "save_inference_model", self._origin_program if main_program is None else main_program
        )
        job = self._job("save_inference_model")
        targets = named_targets(given, target_vars)
        if job is None or main_program is not None:
            args = (dirname, feeded_var_names, targets, executor, given)
            io.save_inference_model(*args, export_for_deployment=export_for_deployment)
            return
        if not export_for_deployment:
            raise NotSupported(
                "fleet.save_inference_model: export_for_deployment=False is not supported"
            )
        job.save_inference_model(executor, dirname, feeded_var_names, targets)


class TranspilerOptimizer(DistributedOptimizer):
    """An optimizer whose ``minimize`` also makes the programs of this process."""

    def __init__(
        self, optimizer: Any, strategy: Any = None, owner: DistributedTranspiler | None = None
    ) -> None:
        owner = fleet if owner is None else owner
        if isinstance(strategy, DistributeTranspilerConfig):
            strategy = strategy_of(strategy)
        elif strategy is None and isinstance(optimizer, _OldOptimizer):
            # 2.x wants it said
            strategy = StrategyFactory.create_sync_strategy()
        elif not isinstance(strategy, DistributedStrategy):
            raise DtypeError(
                "fleet.distributed_optimizer: strategy must be a DistributeTranspilerConfig, or "
                f"one of StrategyFactory, but is {strategy!r}"
            )
        super().__init__(optimizer, strategy)
        self._fleet = owner
        self.opt_info: dict[str, Any] = {
            **strategy.get_debug_opt(),
            "mpi_rank": owner.worker_index(),
            "mpi_size": owner.worker_num(),
            "trainer": "MultiTrainer",
            "device_worker": "Hogwild",
        }

    def minimize(
        self,
        loss: Any,
        scopes: Any = None,
        startup_program: Program | None = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
    ) -> Any:
        """Record training, and make of the program of ``loss`` that of this process; returns the
        operators and (parameter, gradient) pairs recorded first.
        """
        for name, value in (("loss", loss), ("startup_program", startup_program)):
            if isinstance(value, list):
                raise DtypeError(f"minimize: {name} must not be a list")
        if scopes is not None:
            raise DtypeError("minimize: scopes must be None")
        found = self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)
        program = loss.block.program
        startup = default_startup_program() if startup_program is None else startup_program
        self._fleet._transpile(self._strategy, program, startup)
        program.run_options = self.opt_info
        return found


fleet = DistributedTranspiler()
register(
    "fleet of 1.x with servers",
    fleet,
    attributes=("_known_role",),
    reset=lambda: DistributedTranspiler.__init__(fleet),
)
