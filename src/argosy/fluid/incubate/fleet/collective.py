"""``fluid.incubate.fleet.collective``: the Fleet of 1.x for jobs without servers, whose workers
average gradients.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar

from argosy.distributed.fleet.base.distributed_strategy import (
    DistributedStrategy as _CurrentStrategy,
)
from argosy.distributed.fleet.base.role_maker import PaddleCloudRoleMaker, RoleMakerBase
from argosy.distributed.fleet.fleet import Fleet as _CurrentFleet
from argosy.distributed.fleet.utils.fs import FS, LocalFS
from argosy.distributed.fleet.utils.log_util import logger
from argosy.distributed.job import job
from argosy.fluid import io
from argosy.fluid.contrib.mixed_precision.decorator import decorate
from argosy.fluid.incubate.fleet import checkpoints
from argosy.fluid.incubate.fleet.base.fleet_base import (
    DistributedOptimizer,
    Fleet,
    Mode,
    check_executor,
    check_program,
    named_targets,
)
from argosy.fluid.incubate.fleet.checkpoints import TrainStatus
from argosy.foundation import env
from argosy.foundation.errors import BadArgument, DtypeError, NotSupported, UsageError
from argosy.foundation.process_state import register
from argosy.incubate.optimizer.recompute import RecomputeOptimizer
from argosy.optimizer.optimizer import Optimizer
from argosy.static import (
    BuildStrategy,
    CompiledProgram,
    ExecutionStrategy,
    Program,
    default_startup_program,
)
from argosy.static.amp.decorator import OptimizerWithMixedPrecision
from argosy.static.run.contract import PreparedProgram

__all__ = ["Collective", "CollectiveOptimizer", "DistributedStrategy", "TrainStatus", "fleet"]

_OWN: dict[str, Any] = {
    "use_local_sgd": False,
    "use_dist_fc": False,
    "mode": "nccl2",
    "nccl_comm_num": 1,
    "forward_recompute": False,
    "recompute_checkpoints": [],
    "use_amp": False,
    "amp_loss_scaling": 2**15,
    "_ut4grad_allreduce": False,
}
_FREE = (  # without a type of their own
    "dist_fc_config",
    "collective_mode",
    "exec_strategy",
    "recompute_checkpoints",
)


class DistributedStrategy(BuildStrategy):
    """A BuildStrategy that also says how processes train together.

    ``use_local_sgd`` (average parameters instead of gradients), ``forward_recompute`` with
    ``recompute_checkpoints``, ``use_amp`` with ``amp_loss_scaling``, ``mode`` 'nccl2' or
    'collective' with ``collective_mode`` 'grad_allreduce' or 'local_sgd'. ``use_dist_fc`` is not
    supported.
    """

    _defaults: ClassVar[dict[str, Any]] = {**BuildStrategy._defaults, **_OWN}

    def __init__(self) -> None:
        super().__init__()
        self.dist_fc_config: Any = None
        self.collective_mode: str | None = None
        self.exec_strategy = ExecutionStrategy()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "exec_strategy" and not isinstance(value, ExecutionStrategy):
            raise DtypeError(
                f"DistributedStrategy.exec_strategy must be an ExecutionStrategy, but is {value!r}"
            )
        if name in _FREE:
            object.__setattr__(self, name, value)
        elif name == "amp_loss_scaling":
            object.__setattr__(self, name, float(value))
        else:
            super().__setattr__(name, value)

    @property
    def averages_parameters(self) -> bool:
        """Whether workers average parameters instead of gradients."""
        return self.use_local_sgd or self.collective_mode == "local_sgd"


class Collective(Fleet):
    """The Fleet of jobs without servers. ``main_program`` is compiled for this process's places and
    the other workers.
    """

    def __init__(self) -> None:
        super().__init__(Mode.COLLECTIVE)
        self._transpiled_program: Program | None = None

    def init(self, role_maker: RoleMakerBase | None = None) -> None:
        """Learn this process's role and join the other workers; from the environment without a role
        maker.
        """
        super().init(role_maker)
        if self.role_maker.facts.is_alone and env.world_size() > 1:
            super().init(PaddleCloudRoleMaker(is_collective=True))
        if self.server_num():
            raise UsageError(
                "fleet.init: this job has servers; use fluid.incubate.fleet.parameter_server"
            )
        if self.worker_num() > 1:
            job.promise(self.role_maker.join)
        self._optimizer = self._transpiled_program = None
        self.main_program = self.startup_program = self._origin_program = None

    def init_worker(self) -> None:
        """Nothing: there are no servers to connect to."""
        logger.warning("fleet.init_worker does nothing in a collective job")

    def run_worker(self, main_programs: Any = None, scopes: Any = None) -> None:
        """Nothing: scripts run programs themselves."""
        logger.warning("fleet.run_worker does nothing in a collective job")

    def init_server(self, model_dir: str | None = None) -> None:
        """Nothing: there are no servers."""
        logger.warning("fleet.init_server does nothing in a collective job")

    def run_server(self) -> None:
        """Nothing: there are no servers."""
        logger.warning("fleet.run_server does nothing in a collective job")

    def stop_worker(self) -> None:
        """Nothing: there are no servers to leave."""
        logger.warning("fleet.stop_worker does nothing in a collective job")

    def distributed_optimizer(
        self, optimizer: Any, strategy: DistributedStrategy | None = None
    ) -> CollectiveOptimizer:
        """``optimizer`` whose ``minimize`` makes ``main_program``."""
        made = self._optimizer = CollectiveOptimizer(optimizer, strategy, self)
        return made

    # -- files
    # ----------------------------------------------------------------------------------------------

    def save_inference_model(
        self,
        executor: Any,
        dirname: str,
        feeded_var_names: Any = None,
        target_vars: Any = None,
        main_program: Any = None,
        export_for_deployment: bool = True,
    ) -> None:
        """Write the program that computes ``target_vars`` and its parameters; every worker that
        calls it does.
        """
        check_executor("save_inference_model", executor)
        given = check_program(
            "save_inference_model", self._origin_program if main_program is None else main_program
        )
        args = (dirname, feeded_var_names, named_targets(given, target_vars), executor, given)
        io.save_inference_model(*args, export_for_deployment=export_for_deployment)

    def save_persistables(
        self, executor: Any, dirname: str, main_program: Any = None, filename: str | None = None
    ) -> None:
        """Write all that the program keeps from run to run; every worker that calls it does."""
        check_executor("save_persistables", executor)
        given = check_program(
            "save_persistables", self._origin_program if main_program is None else main_program
        )
        io.save_persistables(executor, dirname, given, filename=filename)

    def save_check_point(
        self,
        executor: Any,
        path: str,
        train_status: TrainStatus,
        main_program: Any = None,
        fs: FS | None = None,
        local_cache_path: str = ".cache",
        remain_all_checkpoint: bool = True,
    ) -> None:
        """Write all variables and ``train_status`` to the next folder in ``path``; worker 0 should
        call it. Without ``remain_all_checkpoint`` older ones go.
        """
        fs = fs or LocalFS()
        program = self._transpiled_program if main_program is None else main_program
        check_executor("save_check_point", executor)
        checkpoints.save(executor, path, train_status, program, fs, local_cache_path)
        if not remain_all_checkpoint:
            self.clean_redundant_check_points(path, fs)

    def load_check_point(
        self,
        executor: Any,
        path: str,
        trainer_id: int,
        main_program: Any = None,
        fs: FS | None = None,
        local_cache_path: str = ".cache",
        ignore_empty: bool = True,
    ) -> TrainStatus | None:
        """Take over the newest checkpoint in ``path``; returns its status, None if there is none
        and ``ignore_empty``.
        """
        fs = fs or LocalFS()
        program = self._transpiled_program if main_program is None else main_program
        check_executor("load_check_point", executor)
        found = checkpoints.load(executor, path, trainer_id, program, fs, local_cache_path)
        if found is None and not ignore_empty:
            raise BadArgument(f"load_check_point: there is no checkpoint in {path!r}")
        return found

    def clean_redundant_check_points(
        self, root_path: str, fs: FS | None = None, checkpoint_num: int = 1
    ) -> None:
        """Delete all but the newest ``checkpoint_num`` checkpoints."""
        checkpoints.clean(root_path, fs or LocalFS(), checkpoint_num)

    # -- the spellings of later 1.8 releases
    # ------------------------------------------------------------------------------

    def save_checkpoint(
        self,
        executor: Any,
        path: str,
        trainer_id: int,
        train_status: TrainStatus,
        fs: FS,
        main_program: Any = None,
        local_cache_path: str = ".cache",
        remain_all_checkpoint: bool = True,
    ) -> None:
        """As ``save_check_point``."""
        args = (
            executor,
            path,
            train_status,
            main_program,
            fs,
            local_cache_path,
            remain_all_checkpoint,
        )
        self.save_check_point(*args)

    def load_checkpoint(
        self,
        executor: Any,
        path: str,
        trainer_id: int,
        train_status: TrainStatus,
        fs: FS,
        main_program: Any = None,
        local_cache_path: str = ".cache",
        ignore_empty: bool = True,
    ) -> bool:
        """As ``load_check_point``, with the status written to ``train_status``; whether there was a
        checkpoint.
        """
        args = (executor, path, trainer_id, main_program, fs, local_cache_path, ignore_empty)
        found = self.load_check_point(*args)
        if found is not None:
            train_status.epoch_no = found.epoch_no
        return found is not None

    clean_redundant_checkpoints = clean_redundant_check_points


fleet = Collective()
register(
    "fleet of 1.x without servers",
    fleet,
    attributes=("_known_role",),
    reset=lambda: Collective.__init__(fleet),
)


class CollectiveOptimizer(DistributedOptimizer):
    """An optimizer whose ``minimize`` compiles the program for all workers."""

    def __init__(
        self,
        optimizer: Any,
        strategy: DistributedStrategy | None = None,
        owner: Collective | None = None,
    ) -> None:
        strategy = DistributedStrategy() if strategy is None else strategy
        if not isinstance(strategy, DistributedStrategy):
            raise DtypeError(
                "distributed_optimizer: strategy must be a DistributedStrategy, but is "
                f"{strategy!r}"
            )
        if not isinstance(strategy.recompute_checkpoints, list):
            raise BadArgument(
                "distributed_optimizer: DistributedStrategy.recompute_checkpoints must be a list, "
                f"but is {strategy.recompute_checkpoints!r}"
            )
        super().__init__(optimizer, strategy)
        self._fleet = fleet if owner is None else owner
        self.print_config = False

    def minimize(
        self,
        loss: Any,
        startup_program: Program | None = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
    ) -> Any:
        """Record training and make ``fleet.main_program``; returns the operators of the update and
        the (parameter, gradient) pairs.
        """
        strategy = self._strategy
        startup = default_startup_program() if startup_program is None else startup_program
        self._check(strategy)
        optimizer = self._wrapped(strategy)
        program = loss.block.program
        if strategy.averages_parameters and self._fleet.worker_num() > 1:
            optimizer = self._averaging(optimizer)
        found = optimizer.minimize(loss, startup, parameter_list, no_grad_set)
        owner = self._fleet
        owner.startup_program, owner._transpiled_program = startup, program
        owner._origin_program = program.clone(for_test=False)
        owner.main_program = self._compiled(strategy, program, loss)
        return found

    def _check(self, strategy: DistributedStrategy) -> None:
        if strategy.use_dist_fc:
            raise NotSupported(
                "DistributedStrategy.use_dist_fc: a fully connected layer split over workers is "
                "not supported"
            )
        if strategy.mode not in ("nccl2", "collective"):
            raise BadArgument(
                "DistributedStrategy.mode must be 'nccl2' or 'collective', but is "
                f"{strategy.mode!r}"
            )
        if strategy.use_local_sgd:
            strategy.mode, strategy.collective_mode = "collective", "local_sgd"
        if strategy._ut4grad_allreduce:
            strategy.mode, strategy.collective_mode = "collective", "grad_allreduce"
        wanted = strategy.collective_mode
        if wanted not in (None, "local_sgd", "grad_allreduce"):
            raise BadArgument(f"DistributedStrategy.collective_mode {wanted!r} is unknown")
        if wanted is not None and strategy.mode != "collective":
            raise BadArgument(
                f"DistributedStrategy.collective_mode {wanted!r} needs mode 'collective'"
            )

    def _wrapped(self, strategy: DistributedStrategy) -> Any:
        """The optimizer with recomputation and mixed precision."""
        optimizer: Any = self._optimizer
        if strategy.forward_recompute:
            if not strategy.recompute_checkpoints:
                raise BadArgument(
                    "DistributedStrategy.forward_recompute needs recompute_checkpoints"
                )
            if isinstance(optimizer, RecomputeOptimizer):
                raise BadArgument(
                    "DistributedStrategy.forward_recompute: the optimizer is a "
                    "RecomputeOptimizer already"
                )
            if isinstance(optimizer, OptimizerWithMixedPrecision):
                raise BadArgument(
                    "DistributedStrategy.forward_recompute: the optimizer has mixed precision "
                    "already; set use_amp"
                )
            optimizer = RecomputeOptimizer(optimizer)
            optimizer._set_checkpoints(strategy.recompute_checkpoints)  # its name in Paddle
        if strategy.use_amp:
            if isinstance(optimizer, OptimizerWithMixedPrecision):
                raise BadArgument(
                    "DistributedStrategy.use_amp: the optimizer has mixed precision already"
                )
            optimizer = decorate(
                optimizer,
                init_loss_scaling=strategy.amp_loss_scaling,
                use_dynamic_loss_scaling=True,
            )
        return optimizer

    def _averaging(self, optimizer: Any) -> Any:
        """The optimizer with parameters that are averaged after every step."""
        if not isinstance(optimizer, Optimizer):
            raise NotSupported(
                "DistributedStrategy.use_local_sgd with use_amp or forward_recompute is not "
                "supported"
            )
        current = _CurrentStrategy()
        current.localsgd = True
        current.localsgd_configs = {"k_steps": 1, "begin_step": 1}
        inner = _CurrentFleet()
        inner.init(self._fleet.role_maker, strategy=current)
        made = inner.distributed_optimizer(optimizer, current)
        plan = inner.plan()
        if plan is None or "localsgd" not in plan:
            raise NotSupported(
                f"DistributedStrategy.use_local_sgd with {type(optimizer).__name__}: SGD and "
                "Momentum can be averaged"
            )
        return made

    def _compiled(self, strategy: DistributedStrategy, program: Program, loss: Any) -> Any:
        owner = self._fleet
        if strategy.averages_parameters:
            return program
        build = copy.copy(strategy)
        build.num_trainers, build.trainer_id = owner.worker_num(), owner.worker_index()
        if strategy.mode == "collective":
            program.attachments.put(PreparedProgram, CompiledProgram(program, build))
            return program
        return CompiledProgram(program).with_data_parallel(loss.name, build, strategy.exec_strategy)
