"""``Fleet``: one object through which a script joins a job, learns its role and makes its model and
optimizer distributed.
"""

from __future__ import annotations

import copy
import operator
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from argosy.distributed.fleet import program_files
from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.distributed.fleet.base.role_maker import PaddleCloudRoleMaker, Role, RoleMakerBase
from argosy.distributed.fleet.base.topology import (
    CommunicateTopology,
    HybridCommunicateGroup,
    layout,
)
from argosy.distributed.fleet.base.util_factory import UtilBase
from argosy.distributed.fleet.checkpoints.auto_checkpoint import AutoCheckpoint
from argosy.distributed.fleet.planning.links import Link
from argosy.distributed.fleet.planning.settings import Sharding
from argosy.distributed.fleet.planning.strategy_plan import (
    DYGRAPH,
    STATIC,
    TORCH,
    Facts,
    Plan,
    make_plan,
)
from argosy.distributed.fleet.servers.calls import Servers, server_calls
from argosy.distributed.fleet.stages import layer_optimizer, program_optimizer, torch_optimizer
from argosy.distributed.fleet.stages import model as models
from argosy.distributed.fleet.stages.layer_optimizer import (
    DistributedOptimizer,
    optimized_parameters,
    optimizer_kinds,
)
from argosy.distributed.fleet.stages.optimizer_stages import ScaledLoss
from argosy.distributed.fleet.stages.programs.workers import Workers
from argosy.distributed.fleet.stages.trainee import StagedSteps
from argosy.distributed.fleet.utils import log_util
from argosy.distributed.job import default_group, job
from argosy.distributed.scaler import agree_on_overflow, check_scaler
from argosy.foundation import env
from argosy.foundation.account import account
from argosy.foundation.errors import BadArgument, ConfigError, NotSupported, UsageError
from argosy.framework import in_dynamic_mode
from argosy.optimizer import Optimizer
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.link import measure_link
from argosy.static.amp.decorator import OptimizerWithMixedPrecision
from argosy.tensor.engine import defaults

__all__ = ["Fleet"]

_NO_SERVERS = "fleet.%s does nothing: this job has no parameter servers"


class Fleet:
    """The interface to distributed training. ``paddle.distributed.fleet`` has one, whose methods
    are the module's functions.

    Example:
        >>> import paddle.distributed.fleet as fleet
        >>> _ = fleet.init(is_collective=True)
        >>> fleet.worker_num(), fleet.worker_index(), fleet.is_first_worker()
        (1, 0, True)
    """

    def __init__(self) -> None:
        self._known_role: RoleMakerBase | None = None
        self._is_collective = False
        self._user_defined_strategy = DistributedStrategy()
        self._topology: CommunicateTopology | None = None
        self._laid_out: tuple[Any, HybridCommunicateGroup] | None = None
        self.servers: Servers | None = None  # of a parameter-server job
        self._plan: Plan | None = None
        self._optimizer: Any = None
        self._has_scaler = False  # the script scales losses itself
        # by degree, those that the topology does not have
        self._sharding: dict[int, HybridCommunicateGroup] = {}
        self._link: Link | None = None  # between hosts, if it was measured
        self._models: list[weakref.ref[Any]] = []  # what distributed_model has returned since init
        self.user_defined_optimizer: Any = None
        self._util = UtilBase()

    # -- joining
    # ----------------------------------------------------------------------------------------------

    def init(
        self,
        role_maker: RoleMakerBase | None = None,
        is_collective: bool = False,
        strategy: DistributedStrategy | None = None,
        log_level: int | str = "INFO",
    ) -> Fleet:
        """Learn this process's role and join the job; every process of the job calls it. Returns
        the Fleet.

        Without a role maker the role comes from the environment: that of a collective job if
        ``is_collective``, else that of a parameter-server job; a process that nobody described is
        alone. Differs from Paddle: workers that were started as a collective job, without servers,
        form one even if ``is_collective`` is False; Paddle lets each train by itself.
        """
        log_util.set_log_level(log_level)
        if strategy is not None and not isinstance(strategy, DistributedStrategy):
            raise UsageError(
                "fleet.init: strategy must be a DistributedStrategy, but is a "
                f"{type(strategy).__name__}"
            )
        if not isinstance(is_collective, bool):
            raise UsageError(f"fleet.init: is_collective must be a bool, but is {is_collective!r}")
        if role_maker is None:
            role_maker = PaddleCloudRoleMaker(is_collective=is_collective)
        elif not isinstance(role_maker, RoleMakerBase):
            raise UsageError(
                "fleet.init: role_maker must be a RoleMakerBase, but is a "
                f"{type(role_maker).__name__}"
            )
        role_maker.generate_role()
        if role_maker.facts.is_alone and not role_maker._is_collective and env.world_size() > 1:
            role_maker = PaddleCloudRoleMaker(is_collective=True)
        self._user_defined_strategy = (
            copy.deepcopy(strategy) if strategy is not None else DistributedStrategy()
        )
        self._known_role, self._is_collective = role_maker, role_maker._is_collective
        self._util.set_role_maker(role_maker)
        self._plan = self._optimizer = None
        self._has_scaler, self._link = False, None
        self._models = []
        if self.servers is not None:
            self.servers.runtime.close()
        self.servers = (
            Servers(role_maker, self._user_defined_strategy) if role_maker.server_num() else None
        )
        if self.servers is None:
            if role_maker.worker_num() > 1:
                job.promise(role_maker.join)
            self._lay_out()
        return self

    def _lay_out(self) -> None:
        """Find the topology; ranks that train layers meet for it, those that record programs when
        they run one.
        """
        strategy = self._user_defined_strategy
        names, sizes = layout(
            strategy.hybrid_configs, strategy.hybrid_parallel_order, self.worker_num()
        )
        self._topology = CommunicateTopology(names, sizes)
        if in_dynamic_mode():
            self._groups()

    def _groups(self) -> HybridCommunicateGroup:
        """This process's groups in the topology."""
        topology = self._topology
        assert topology is not None
        self._group()
        shape = (job.session, topology.get_hybrid_group_names(), topology.sizes)
        # making groups is a collective call of all ranks, so it is not repeated
        if self._laid_out is None or self._laid_out[0] != shape:
            self._laid_out = (shape, HybridCommunicateGroup(topology))
            self._sharding = {}
        return self._laid_out[1]

    def _sharding_groups(self, plan: Plan) -> tuple[Group, Group | None] | None:
        """The ranks that split the state among themselves, and those, if any, that own the same
        part of it.
        """
        if "sharding" not in plan or plan.facts.mode == STATIC:
            return None
        degree, hcg = plan[Sharding].degree, self._groups()
        if hcg.topology().get_dim("sharding") != degree:
            if degree not in self._sharding:
                topology = CommunicateTopology(
                    ["data", "sharding"], [self.worker_num() // degree, degree]
                )
                self._sharding[degree] = HybridCommunicateGroup(topology)
            hcg = self._sharding[degree]
        replicas = hcg.groups["data"]
        return hcg.groups["sharding"], replicas if replicas.nranks > 1 else None

    @property
    def _role_maker(self) -> RoleMakerBase:
        if self._known_role is None:
            raise _not_initialised()
        return self._known_role

    def _group(self) -> Group | None:
        """The workers; None if there is one."""
        return default_group("fleet") if self.worker_num() > 1 else None

    def _recorded_for(self) -> Workers | None:
        """The workers of a program; None if there is one."""
        count = self.worker_num()
        return Workers(self.worker_index(), count) if count > 1 else None

    # -- roles
    # ----------------------------------------------------------------------------------------------

    def is_first_worker(self) -> bool:
        """Whether this is worker 0."""
        return self._role_maker.is_first_worker()

    def worker_index(self) -> int:
        """This worker's number, from 0."""
        return self._role_maker.worker_index()

    def worker_num(self) -> int:
        """How many workers there are."""
        return self._role_maker.worker_num()

    def node_num(self) -> int:
        """How many hosts the workers run on."""
        return self._role_maker.facts.num_nodes

    def local_rank(self) -> str:
        """This worker's number among those of its host, as the launcher's text; '0' without one."""
        return self._role_maker.facts.local_rank or "0"

    def local_device_ids(self) -> str | None:
        """The cards of this process, as the launcher's text."""
        return self._role_maker.facts.local_device_ids

    def world_device_ids(self) -> str | None:
        """The cards of all processes, as the launcher's text."""
        return self._role_maker.facts.world_device_ids

    def is_worker(self) -> bool:
        """Whether this process trains."""
        return self._role_maker.is_worker()

    def is_coordinator(self) -> bool:
        """Whether this process coordinates a federated job: never."""
        return self._role_maker.facts.role == Role.COORDINATOR

    def worker_endpoints(self, to_string: bool = False) -> list[str] | str:
        """The addresses of the workers, in order; joined by commas with ``to_string``."""
        return _listed(self._role_maker.get_trainer_endpoints(), to_string)

    def server_num(self) -> int:
        """How many parameter servers there are."""
        return self._role_maker.server_num()

    def server_index(self) -> int:
        """This server's number, from 0."""
        return self._role_maker.server_index()

    def server_endpoints(self, to_string: bool = False) -> list[str] | str:
        """The addresses of the servers; joined by commas with ``to_string``."""
        return _listed(self._role_maker.get_pserver_endpoints(), to_string)

    def is_server(self) -> bool:
        """Whether this process is a parameter server."""
        return self._role_maker.is_server()

    @property
    def util(self) -> UtilBase:
        """Tools for the processes of the job; may be replaced."""
        return self._util

    @util.setter
    def util(self, util: UtilBase) -> None:
        self._util = util

    def barrier_worker(self) -> None:
        """Wait until every worker is here."""
        self._role_maker.barrier("worker")

    def all_reduce(self, input: Any, mode: str = "sum") -> Any:
        """The element-wise sum, max or min of ``input`` over the workers."""
        return self._role_maker.all_reduce(input, mode, "worker")

    # -- the life of workers and servers
    # ------------------------------------------------------------------------------

    def _job_servers(self) -> Servers | None:
        """The parameter servers of the job, if it has any."""
        if self._known_role is None:
            raise _not_initialised()
        return self.servers

    def _trained_servers(self, call: str) -> Servers | None:
        """The parameter servers of the job; without any, static mode needs a program that Fleet's
        optimizer has recorded, as in Paddle.
        """
        servers = self._job_servers()
        record = getattr(self._optimizer, "record", None)
        is_ready = in_dynamic_mode() or (record is not None and record.is_done)
        if servers is None and not is_ready:
            raise ConfigError(
                f"fleet.{call}: Fleet can not find suitable runtime handler; call minimize() of "
                "what fleet.distributed_optimizer() returns first"
            )
        return servers

    def init_worker(self, scopes: Any = None) -> None:
        """Make a worker ready to train, after ``minimize`` in a program. Without servers there is
        nothing to do.
        """
        if scopes is not None:
            raise NotSupported(
                "fleet.init_worker: scopes is not supported; a worker trains in the global scope"
            )
        servers = self._trained_servers("init_worker")
        if servers is not None:
            servers.runtime.init_worker()

    def stop_worker(self) -> None:
        """End a worker's part. Without servers there is nothing to do."""
        servers = self._trained_servers("stop_worker")
        if servers is not None:
            servers.runtime.stop_worker()

    def init_server(self, *args: Any, **kwargs: Any) -> None:
        """Make a server ready; with a folder, from what ``save_persistables`` wrote there. In a job
        without servers it says so and does nothing.
        """
        servers = self._job_servers()
        if servers is None:
            log_util.logger.warning(_NO_SERVERS, "init_server")
        else:
            servers.runtime.init_server(*args, **kwargs)

    def run_server(self) -> None:
        """Serve until the workers have finished. In a job without servers it says so and does
        nothing.
        """
        servers = self._job_servers()
        if servers is None:
            log_util.logger.warning(_NO_SERVERS, "run_server")
        else:
            servers.runtime.run_server()

    # -- training
    # ----------------------------------------------------------------------------------------------

    def distributed_optimizer(
        self, optimizer: Any, strategy: DistributedStrategy | None = None
    ) -> Any:
        """``optimizer`` with what the strategy asks for around its steps; a
        ``torch.optim.Optimizer`` gives a torch one.

        ``strategy`` replaces that of ``init``. In static mode the optimizer may come from
        ``paddle.static.amp.decorate``.
        """
        optimizer, mixed = _without_mixed_precision(optimizer)
        _check_optimizer(optimizer)
        if strategy is not None:
            if not isinstance(strategy, DistributedStrategy):
                raise UsageError(
                    "distributed_optimizer: strategy must be a DistributedStrategy, but is a "
                    f"{type(strategy).__name__}"
                )
            self._user_defined_strategy = copy.deepcopy(strategy)
        self.user_defined_optimizer = optimizer
        if self.servers is not None:
            if mixed is not None:
                raise NotSupported(
                    "distributed_optimizer: mixed precision in a parameter-server job"
                )
            self.servers.use_strategy(self._user_defined_strategy)
            self._optimizer = self.servers.distributed_optimizer(optimizer)
            return self._optimizer
        if strategy is not None:
            self._lay_out()
        is_torch = isinstance(optimizer, torch.optim.Optimizer)
        mode = TORCH if is_torch else DYGRAPH if in_dynamic_mode() else STATIC
        parameters = () if mode == STATIC else optimized_parameters(optimizer)
        plan = self._plan = self._planned(mode, optimizer_kinds(optimizer), parameters)
        log_util.logger.debug(plan.describe())
        account.tell_plan(plan.describe())
        sharding = self._sharding_groups(plan)
        if is_torch:
            self._optimizer = torch_optimizer.wrapped(optimizer, plan, self._group(), sharding)
        elif mode == STATIC:
            record = program_optimizer.ProgramRecorder(
                plan, optimizer, self._user_defined_strategy, self._recorded_for(), mixed
            )
            self._optimizer = layer_optimizer.recording(optimizer, plan, record)
        else:
            self._optimizer = layer_optimizer.wrapped(optimizer, plan, self._group(), sharding)
        if self._has_scaler:
            self._rest_scaling()
        for reference in self._models:
            model = reference()
            if model is not None:
                _bind(self._optimizer, model, plan)
        return self._optimizer

    def distributed_model(self, model: Any) -> Any:
        """``model`` with gradients that are averaged over the workers during backward; a
        ``torch.nn.Module`` gives a torch one.
        """
        if model is None:
            raise BadArgument("distributed_model: model should not be None")
        if self.servers is not None:
            return self.servers.distributed_model(model)
        mode = TORCH if isinstance(model, torch.nn.Module) else DYGRAPH
        kinds = optimizer_kinds(self.user_defined_optimizer) if self._plan is not None else ()
        plan = self._planned(mode, kinds, models.trained_parameters(model))
        wrapped = models.wrap(model, plan, self._group())
        self._models.append(weakref.ref(wrapped))
        if self._optimizer is not None:
            _bind(self._optimizer, wrapped, self._plan)
        return wrapped

    def distributed_scaler(self, scaler: Any) -> Any:
        """``scaler`` (of paddle.amp or torch.amp), which from now on leaves a step out on all
        workers or on none.

        With ``DistributedStrategy.amp`` it takes the place of the scaling that the distributed
        optimizer does by itself.
        """
        group = self._group()
        check_scaler(scaler)
        self._has_scaler = True
        self._rest_scaling()
        return scaler if group is None else agree_on_overflow(scaler, group)

    def _rest_scaling(self) -> None:
        stage = self._loss_scaling()
        if stage is not None:
            stage.rest()

    def _loss_scaling(self) -> ScaledLoss | None:
        steps = getattr(self._optimizer, "steps", None)
        return steps.stage(ScaledLoss) if isinstance(steps, StagedSteps) else None

    def get_loss_scaling(self) -> Any:
        """The factor of the loss under ``DistributedStrategy.amp``: a number, in static mode a
        Variable; 1.0 where nothing is scaled (bfloat16).
        """
        optimizer = self._made_optimizer("get_loss_scaling")
        if self._plan is not None and self._plan.facts.mode == STATIC:
            return optimizer.record.mixed_precision.get_loss_scaling()
        if "amp" not in optimizer.plan:
            raise UsageError("fleet.get_loss_scaling: DistributedStrategy.amp is not on")
        stage = self._loss_scaling()
        return 1.0 if stage is None or stage.scale is None else stage.scale.value

    def amp_init(
        self, place: Any, scope: Any = None, test_program: Any = None, use_fp16_test: bool = False
    ) -> Any:
        """In static mode, after the startup program has run with ``amp`` at level O2: cast the
        parameters. In dygraph the model was cast when it was wrapped.
        """
        optimizer = self._made_optimizer("amp_init")
        if self._plan is not None and self._plan.facts.mode == STATIC:
            return optimizer.record.mixed_precision.amp_init(
                place, scope, test_program, use_fp16_test
            )
        if "amp" not in optimizer.plan:
            raise UsageError("fleet.amp_init: DistributedStrategy.amp is not on")
        return None

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
    ) -> Any:
        """As the method of the distributed optimizer."""
        return self._made_optimizer("minimize").minimize(
            loss, startup_program, parameter_list, no_grad_set
        )

    def step(self) -> None:
        """As the method of the distributed optimizer."""
        self._made_optimizer("step").step()

    def clear_grad(self) -> None:
        """As the method of the distributed optimizer."""
        self._made_optimizer("clear_grad").clear_grad()

    def set_lr(self, value: float) -> None:
        """As the method of the distributed optimizer."""
        self._made_optimizer("set_lr").set_lr(value)

    def get_lr(self) -> float:
        """As the method of the distributed optimizer."""
        return float(self._made_optimizer("get_lr").get_lr())

    def state_dict(self) -> dict[str, Any]:
        """As the method of the distributed optimizer."""
        state: dict[str, Any] = self._made_optimizer("state_dict").state_dict()
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As the method of the distributed optimizer."""
        self._made_optimizer("set_state_dict").set_state_dict(state_dict)

    def _made_optimizer(self, call: str) -> Any:
        if self._optimizer is None:
            raise ConfigError(f"fleet.{call}: call fleet.distributed_optimizer() first")
        return self._optimizer

    # -- plans
    # ----------------------------------------------------------------------------------------------

    def _planned(
        self, mode: str, optimizer: tuple[str, ...], parameters: Iterable[torch.Tensor] = ()
    ) -> Plan:
        # programs meet their workers when they first run
        group = None if mode == STATIC else self._group()
        is_between_hosts = group is not None and group.transport.kind == "hierarchical"
        if group is not None and is_between_hosts and self._link is None:
            if self._user_defined_strategy.is_strict_auto():
                rate, speed = measure_link(group)
                self._link = Link(bytes_per_s=rate, operations_per_s=speed)
        why_no_factors = ""
        if group is not None and self._user_defined_strategy.factored_allreduce:
            why_no_factors = group.run(group.transport.why_no_factors)
        facts = Facts(
            num_workers=self.worker_num(),
            mode=mode,
            optimizer=optimizer,
            is_collective=self._is_collective,
            device=defaults.device.type,
            is_one_host=group is not None and group.transport.kind == "shm",
            link=self._link if is_between_hosts else None,
            gradient_bytes=sum(p.numel() * p.element_size() for p in parameters),
            why_no_factors=why_no_factors,
        )
        return make_plan(self._user_defined_strategy, facts)

    def plan(self) -> Plan | None:
        """What the strategy came to when ``distributed_optimizer`` was last called; None before."""
        return self._plan

    def print_plan(self) -> None:
        """Print the stages that training goes through, and what of the strategy was refused or
        ignored and why.
        """
        print(
            self._plan.describe()
            if self._plan is not None
            else "There is no plan before fleet.distributed_optimizer()."
        )

    def log(self, step: int | None = None, *, loss: Any = None) -> None:
        """Tell the launcher about the step under way, for its panel, ``argosy top`` and the report:
        its number in the script's own count, which goes on after a restart, and its loss, a number
        or a tensor of one element. A step ends with its update; call it before.
        """
        if step is not None:
            account.told = operator.index(step)
        if loss is not None:
            account.loss = float(loss)

    def _final_strategy(self) -> DistributedStrategy:
        """The strategy without the switches that the plan left out."""
        if self.servers is not None:
            return copy.deepcopy(self.servers.runtime.strategy)
        final = copy.deepcopy(self._user_defined_strategy)
        for switch in self._plan.left_out() if self._plan is not None else ():
            setattr(final.strategy, switch, False)
        return final

    def _get_applied_meta_list(self) -> list[str]:
        return self._plan.meta_optimizers() if self._plan is not None else []

    def _get_applied_graph_list(self) -> list[str]:
        return []

    def get_hybrid_communicate_group(self) -> HybridCommunicateGroup:
        """The topology of the job and this process's groups in it."""
        if self._topology is None:
            raise BadArgument("get_hybrid_communicate_group: call fleet.init() first")
        return self._groups()

    def get_hybrid_parallel_topology(self) -> CommunicateTopology:
        if self._topology is None:
            raise BadArgument("get_hybrid_parallel_topology: call fleet.init() first")
        return self._topology

    # -- files
    # ----------------------------------------------------------------------------------------------

    def save_inference_model(
        self,
        executor: Any,
        dirname: str,
        feeded_var_names: Sequence[str],
        target_vars: Sequence[Any],
        main_program: Any = None,
        export_for_deployment: bool = True,
        mode: int = 0,
    ) -> None:
        """Write the part of the program that ``target_vars`` need, and its parameters, into
        ``dirname``. Worker 0 does; the others return at once.

        With parameter servers the rows of its tables become values of the program, so that one
        process can run it, and the tables lie beside it in ``dirname/tables``; ``mode`` chooses
        rows as in ``save_persistables``.
        """
        if not export_for_deployment:
            raise NotSupported(
                "fleet.save_inference_model: export_for_deployment=False is not supported"
            )
        if self.servers is not None:
            self.servers.save_inference_model(
                executor, dirname, feeded_var_names, target_vars, main_program, mode
            )
            return
        is_writer = self.is_first_worker()
        program_files.save_inference_model(
            is_writer, executor, dirname, feeded_var_names, target_vars, main_program
        )

    def save_persistables(
        self, executor: Any, dirname: str, main_program: Any = None, mode: int = 0
    ) -> None:
        """Write what the program keeps between runs into ``dirname``, a file per variable. Worker 0
        does; the others return at once.

        Under ``sharding`` every worker must call it, for each has a part of the optimizer's state.
        With parameter servers: their tables, and what only the worker's program keeps; ``mode`` 0
        all rows, 1 those that changed enough since the last base, 2 the same as a new base.
        """
        if self.servers is not None:
            self.servers.save_persistables(executor, dirname, main_program, mode)
            return
        program_files.save_persistables(self.is_first_worker(), executor, dirname, main_program)

    def load_model(self, path: str, mode: int = 0) -> None:
        """Take back what ``save_persistables`` wrote: without servers, the variables of the default
        program; with servers, their tables.
        """
        if self._job_servers() is not None:
            server_calls(self._job_servers)["load_model"](path, mode)
            return
        program_files.load_persistables(path)

    def auto_checkpoint(
        self,
        directory: str,
        every_n_steps: int,
        *,
        model: Any = None,
        optimizer: Any = None,
        scaler: Any = None,
        lr: Any = None,
        loader: Any = None,
        extra: Mapping[str, Any] | None = None,
        keep: int = 2,
    ) -> AutoCheckpoint:
        """Save everything every ``every_n_steps``, and go on from the newest complete checkpoint in
        ``directory``; every worker calls it.

        ``model`` may be a static program. ``lr`` is a scheduler that the optimizer does not save
        itself (any of torch's). ``loader`` gives the batches. ``extra``:
        more objects with a ``state_dict``, by name. The last ``keep`` checkpoints stay. All workers
        see the same directory.

        With parameter servers the tables are saved too; workers call it after ``init_worker``. A
        worker that is started again goes on at the batch at which it was. With the model alone,
        batches of ``train_from_dataset`` are steps.

        SIGUSR1 and SIGTERM to any process of the job have its loops save after the step under way
        and exit with the code that asks a scheduler to start the job again.

        Example:
            >>> import tempfile
            >>> import paddle.distributed.fleet as fleet
            >>> _ = fleet.init(is_collective=True)
            >>> model = paddle.nn.Linear(2, 1)
            >>> optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
            >>> loader = paddle.io.DataLoader(paddle.io.TensorDataset([paddle.ones([6, 2])]),
            ...     batch_size=2)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     run = fleet.auto_checkpoint(folder, every_n_steps=2, model=model,
            ...         optimizer=optimizer, loader=loader)
            ...     for epoch in run.epochs(2):
            ...         for (x,) in run.batches():
            ...             model(x).mean().backward()
            ...             optimizer.step()
            ...             optimizer.clear_grad()
            ...     fleet.auto_checkpoint(folder, 2, model=model, optimizer=optimizer,
            ...         loader=loader).resumed_from
            6
        """
        if self.servers is not None:
            return self.servers.auto_checkpoint(
                directory, every_n_steps, model=model, optimizer=optimizer, scaler=scaler, lr=lr,
                loader=loader, extra=extra, keep=keep
            )  # fmt: skip
        return AutoCheckpoint(
            directory,
            every_n_steps,
            self._group(),
            model=model,
            optimizer=optimizer,
            scaler=scaler,
            lr=lr,
            loader=loader,
            extra=extra,
            keep=keep,
        )

    def save(
        self, dirname: str, feed: Sequence[Any] = (), fetch: Sequence[Any] = (), **configs: Any
    ) -> None:
        """``save_inference_model`` of the default program if ``feed`` and ``fetch`` name something,
        else ``save_persistables``.
        """
        if configs:
            raise NotSupported(f"fleet.save: the options {sorted(configs)} are not supported")
        if not feed:
            self.save_persistables(None, dirname)
            return
        names = [item if isinstance(item, str) else item.name for item in feed]
        self.save_inference_model(None, dirname, names, fetch)


def _add_server_call(name: str, call: Callable[..., Any]) -> None:
    """Give Fleet the method of a call that exists for parameter servers only."""

    def method(self: Fleet, *args: Any, **kwargs: Any) -> Any:
        return server_calls(self._job_servers)[name](*args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Fleet.{name}", call.__doc__
    setattr(Fleet, name, method)


for _name, _call in server_calls(lambda: None).items():
    if not hasattr(Fleet, _name):
        _add_server_call(_name, _call)


def _check_optimizer(optimizer: Any) -> None:
    if isinstance(optimizer, (DistributedOptimizer, torch_optimizer.DistributedTorchOptimizer)):
        raise UsageError(
            "distributed_optimizer: this optimizer is a distributed one already; pass the one it "
            "was made of"
        )
    if not isinstance(optimizer, (Optimizer, torch.optim.Optimizer)):
        raise UsageError(
            "distributed_optimizer: optimizer must be a paddle.optimizer.Optimizer or a "
            "torch.optim.Optimizer, "
            f"but is a {type(optimizer).__name__}"
        )


def _without_mixed_precision(optimizer: Any) -> tuple[Any, OptimizerWithMixedPrecision | None]:
    """The optimizer inside that of ``static.amp.decorate``, and the latter; of others themselves
    and None.
    """
    if isinstance(optimizer, OptimizerWithMixedPrecision) and not in_dynamic_mode():
        return optimizer.inner, optimizer
    return optimizer, None


def _bind(optimizer: Any, model: Any, plan: Plan | None) -> None:
    """Bind a model and an optimizer of one plan, now that both are there; a torch optimizer without
    stages is the script's own and knows nothing.
    """
    if plan is not None and plan.facts.mode != STATIC:
        model.follow(plan)
    if isinstance(optimizer, (DistributedOptimizer, torch_optimizer.DistributedTorchOptimizer)):
        optimizer.steps.bind(model)


def _not_initialised() -> ConfigError:
    return ConfigError("call fleet.init() first: it finds out which role this process has")


def _listed(endpoints: list[str], to_string: bool) -> list[str] | str:
    return ",".join(endpoints) if to_string else endpoints
