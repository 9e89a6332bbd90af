"""``fluid.incubate.fleet.base.fleet_base``: what the Fleets of 1.x have in common."""

from __future__ import annotations

import abc
from typing import Any

from argosy.distributed.fleet.base.role_maker import PaddleCloudRoleMaker, RoleMakerBase
from argosy.distributed.fleet.base.util_factory import UtilBase
from argosy.fluid.incubate.fleet.base.mode import Mode
from argosy.foundation.errors import ConfigError, DtypeError
from argosy.foundation.places import CPUPlace
from argosy.incubate.optimizer.recompute import RecomputeOptimizer
from argosy.optimizer.optimizer import Optimizer
from argosy.static import Executor, Program, Variable
from argosy.static.amp.decorator import OptimizerWithMixedPrecision

__all__ = ["DistributedOptimizer", "Fleet", "Mode"]

OPTIMIZERS = (Optimizer, OptimizerWithMixedPrecision, RecomputeOptimizer)  # what scripts pass


class Fleet(abc.ABC):
    """Through which a script of 1.x joins a job, learns its role and makes its optimizer
    distributed.

    ``main_program`` and ``startup_program`` are the programs that this process runs, known after
    ``minimize``.
    """

    def __init__(self, mode: int) -> None:
        self._mode = mode
        self._is_initialized = False
        self._optimizer: Any = None
        self._known_role: RoleMakerBase | None = None
        self._executor: Any = None
        self._util = UtilBase()
        self.main_program: Any = None
        self.startup_program: Program | None = None
        self._origin_program: Program | None = None

    # -- roles
    # ----------------------------------------------------------------------------------------------

    def init(self, role_maker: RoleMakerBase | None = None) -> None:
        """Learn this process's role; from the environment without a role maker."""
        if role_maker is None:
            role_maker = PaddleCloudRoleMaker(is_collective=self._mode == Mode.COLLECTIVE)
        elif not isinstance(role_maker, RoleMakerBase):
            raise DtypeError(
                f"fleet.init: role_maker must be a RoleMakerBase, but is {role_maker!r}"
            )
        role_maker.generate_role()
        self._known_role = role_maker
        self._util.set_role_maker(role_maker)
        self._executor = Executor(CPUPlace())
        self._is_initialized = True

    @property
    def role_maker(self) -> RoleMakerBase:
        if self._known_role is None:
            raise ConfigError(
                "call fleet.init(role_maker) first: it finds out which role this process has"
            )
        return self._known_role

    def is_first_worker(self) -> bool:
        """Whether this is worker 0."""
        return self.role_maker.is_first_worker()

    def worker_index(self) -> int:
        """This worker's number, from 0."""
        return self.role_maker.worker_index()

    def worker_num(self) -> int:
        """How many workers there are."""
        return self.role_maker.worker_num()

    def is_worker(self) -> bool:
        """Whether this process trains."""
        return self.role_maker.is_worker()

    def worker_endpoints(self, to_string: bool = False) -> list[str] | str:
        """The addresses of the workers; joined by commas with ``to_string``."""
        found = self.role_maker.get_trainer_endpoints()
        return ",".join(found) if to_string else found

    def server_num(self) -> int:
        """How many servers there are."""
        return self.role_maker.server_num()

    def server_index(self) -> int:
        """This server's number, from 0."""
        return self.role_maker.server_index()

    def server_endpoints(self, to_string: bool = False) -> list[str] | str:
        """The addresses of the servers; joined by commas with ``to_string``."""
        found = self.role_maker.get_pserver_endpoints()
        return ",".join(found) if to_string else found

    def is_server(self) -> bool:
        """Whether this process is a server."""
        return self.role_maker.is_server()

    def split_files(self, files: list[str]) -> list[str]:
        """This worker's share of ``files``: contiguous, and the first workers get one more if they
        cannot be shared equally.
        """
        return self._util.get_file_shard(files)

    def all_reduce_worker(self, input: Any, output: Any) -> None:
        """Write the sum of ``input`` over the workers into ``output``."""
        self.role_maker.all_reduce_worker(input, output)

    def barrier_worker(self) -> None:
        """Wait until every worker is here."""
        self.role_maker.barrier_worker()

    # -- the rest depends on the kind
    # -----------------------------------------------------------------------------------

    @abc.abstractmethod
    def init_worker(self) -> None: ...

    @abc.abstractmethod
    def init_server(self, model_dir: str | None = None) -> None: ...

    @abc.abstractmethod
    def run_server(self) -> None: ...

    @abc.abstractmethod
    def stop_worker(self) -> None: ...

    @abc.abstractmethod
    def distributed_optimizer(self, optimizer: Any, strategy: Any = None) -> Any: ...

    @abc.abstractmethod
    def save_inference_model(
        self,
        executor: Any,
        dirname: str,
        feeded_var_names: Any,
        target_vars: Any,
        main_program: Any = None,
        export_for_deployment: bool = True,
    ) -> None: ...

    @abc.abstractmethod
    def save_persistables(self, executor: Any, dirname: str, main_program: Any = None) -> None: ...


class DistributedOptimizer(abc.ABC):
    """An optimizer of 1.x with what its Fleet adds in ``minimize``."""

    def __init__(self, optimizer: Any, strategy: Any = None) -> None:
        if not isinstance(optimizer, OPTIMIZERS):
            raise DtypeError(
                f"distributed_optimizer: optimizer must be an Optimizer, but is {optimizer!r}"
            )
        self._optimizer = optimizer
        self._strategy = strategy

    def backward(
        self,
        loss: Any,
        startup_program: Program | None = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Any:
        """Record the backward pass; returns the (parameter, gradient) pairs."""
        return self._optimizer.backward(
            loss, startup_program, parameter_list, no_grad_set, callbacks
        )

    def apply_gradients(self, params_grads: Any) -> Any:
        """Record the update of the pairs."""
        return self._optimizer.apply_gradients(params_grads)

    @abc.abstractmethod
    def minimize(self, loss: Any, *args: Any, **kwargs: Any) -> Any: ...


def check_executor(call: str, executor: Any) -> None:
    """DtypeError unless an Executor was passed."""
    if not isinstance(executor, Executor):
        raise DtypeError(f"fleet.{call}: executor must be an Executor, but is {executor!r}")


def check_program(call: str, program: Any) -> Program:
    """``program``; DtypeError unless it is a Program."""
    if not isinstance(program, Program):
        raise DtypeError(f"fleet.{call}: main_program must be a Program, but is {program!r}")
    return program


def named_targets(program: Program, target_vars: Any) -> list[Variable]:
    """The variables of ``program`` that have the names of ``target_vars``: one, a list, or None for
    none.
    """
    given = [target_vars] if isinstance(target_vars, (str, Variable)) else target_vars or ()
    return [program.global_block().var(v if isinstance(v, str) else v.name) for v in given]
