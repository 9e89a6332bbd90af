"""``fluid.transpiler.distribute_transpiler``: from the program of one process to those of trainers
and servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from argosy.distributed.communication.group import is_initialized
from argosy.distributed.job import job
from argosy.distributed.parallel import init_parallel_env
from argosy.fluid.transpiler.ps_dispatcher import PSDispatcher, RoundRobin
from argosy.foundation import env
from argosy.foundation.errors import (
    BadArgument,
    ConfigError,
    DtypeError,
    NotSupported,
    UsageError,
    nearest,
)
from argosy.static import (
    BuildStrategy,
    CompiledProgram,
    default_main_program,
    default_startup_program,
)
from argosy.static.ir.program import Program
from argosy.static.run.contract import PreparedProgram

if TYPE_CHECKING:
    from argosy.runtime.ps.worker.worker import Mode

_ALONE = "127.0.0.1:6174"


class DistributedMode:
    """How trainers and servers keep in step."""

    SYNC = 0
    ASYNC = 1
    HALF_ASYNC = 2
    GEO = 3


class UnknownField(UsageError, AttributeError):
    """The config has no such field."""


class DistributeTranspilerConfig:
    """The settings of a DistributeTranspiler.

    ``mode`` is 'pserver', 'nccl2' or 'collective' (with ``collective_mode`` 'grad_allreduce');
    ``sync_mode``, ``runtime_split_send_recv``, ``half_async``, ``completely_not_async``,
    ``geo_sgd_mode`` and ``geo_sgd_need_push_nums`` choose how trainers and servers keep in step.
    ``slice_var_up``, ``split_method``, ``min_block_size``, ``nccl_comm_num``, the hierarchical
    fields, ``wait_port`` and ``print_log`` are hints: parameters are always cut over all servers,
    and processes wait for each other.

    Example:
        >>> import paddle.fluid as fluid
        >>> config = fluid.DistributeTranspilerConfig()
        >>> config.sync_mode = False
        >>> config.runtime_split_send_recv = True
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    fields: ClassVar[dict[str, Any]] = {
        "slice_var_up": True,
        "split_method": None,
        "min_block_size": 8192,
        "enable_dc_asgd": False,
        "mode": "pserver",
        "print_log": False,
        "wait_port": True,
        "half_async": False,
        "completely_not_async": False,
        "geo_sgd_mode": False,
        "geo_sgd_need_push_nums": 100,
        "nccl_comm_num": 1,
        "use_hierarchical_allreduce": False,
        "hierarchical_allreduce_inter_nranks": 0,
        "collective_mode": None,
    }
    _modes: ClassVar[tuple[str, ...]] = ("sync_mode", "runtime_split_send_recv")

    def __init__(self) -> None:
        self.__dict__.update(self.fields, _sync_mode=True, _splits=False)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.fields and name not in self._modes:
            raise UnknownField(
                "DistributeTranspilerConfig has no field "
                f"{name!r}.{nearest(name, [*self.fields, *self._modes])}"
            )
        object.__setattr__(self, name, value)

    @property
    def sync_mode(self) -> bool:
        """Whether a step waits for all trainers; excludes ``runtime_split_send_recv``."""
        return bool(self.__dict__["_sync_mode"])

    @sync_mode.setter
    def sync_mode(self, value: bool) -> None:
        _exclude("sync_mode", value, "runtime_split_send_recv", self.runtime_split_send_recv)
        self.__dict__["_sync_mode"] = value

    @property
    def runtime_split_send_recv(self) -> bool:
        """Whether gradients go through a queue instead of waiting for the servers; excludes
        ``sync_mode``.
        """
        return bool(self.__dict__["_splits"])

    @runtime_split_send_recv.setter
    def runtime_split_send_recv(self, value: bool) -> None:
        _exclude("runtime_split_send_recv", value, "sync_mode", self.sync_mode)
        self.__dict__["_splits"] = value

    def __repr__(self) -> str:
        changed = {k: getattr(self, k) for k, v in self.fields.items() if getattr(self, k) != v}
        shown = {
            "sync_mode": self.sync_mode,
            "runtime_split_send_recv": self.runtime_split_send_recv,
            **changed,
        }
        return f"DistributeTranspilerConfig({', '.join(f'{k}={v!r}' for k, v in shown.items())})"


def _exclude(name: str, value: Any, other: str, is_other: bool) -> None:
    """Synchronous training and variables that are split at run time exclude each other, as in
    1.8.
    """
    if value is None:
        raise BadArgument(f"DistributeTranspilerConfig.{name} can't be None")
    if value and is_other:
        raise BadArgument(
            f"DistributeTranspilerConfig: set {other} to False before {name} is set to True"
        )


class ServerRuntimeConfig:
    """How many threads Paddle's servers use; hints."""

    def __init__(self) -> None:
        for what in ("send", "get", "prefetch"):
            setattr(
                self, f"_rpc_{what}_thread_num", env.integer(f"FLAGS_rpc_{what}_thread_num", 12)
            )


def check_config(config: Any) -> None:
    """Refuse settings that would change what is trained and are not there, and those that are
    nonsense.
    """
    if not isinstance(config, DistributeTranspilerConfig):
        raise ConfigError(
            f"DistributeTranspiler: config must be a DistributeTranspilerConfig, but is {config!r}"
        )
    if config.enable_dc_asgd:
        raise NotSupported(
            "DistributeTranspilerConfig.enable_dc_asgd: delay-compensated updates are not supported"
        )
    if config.mode not in ("pserver", "nccl2", "collective"):
        raise ConfigError(
            "DistributeTranspilerConfig.mode must be 'pserver', 'nccl2' or 'collective', but is "
            f"{config.mode!r}"
        )
    if config.min_block_size < 8192:
        raise BadArgument(
            "DistributeTranspilerConfig.min_block_size must be at least 8192, but is "
            f"{config.min_block_size}"
        )
    method = config.split_method
    if method is not None and not (isinstance(method, type) and issubclass(method, PSDispatcher)):
        raise BadArgument(
            "DistributeTranspilerConfig.split_method must be RoundRobin or HashName, but is "
            f"{method!r}"
        )


def mode_of(config: DistributeTranspilerConfig, sync_mode: bool) -> Mode:
    """How trainers and servers keep in step; ``sync_mode`` is the argument of ``transpile``, which
    can ask for less than the config.
    """
    from argosy.runtime.ps.worker.worker import Mode  # loads what servers need

    if config.completely_not_async:
        return Mode("sync")
    is_sync = sync_mode and config.sync_mode
    if config.geo_sgd_mode:
        if is_sync:
            raise ConfigError(
                "DistributeTranspilerConfig: geo_sgd_mode and sync_mode contradict each other; "
                "set sync_mode to False"
            )
        return Mode("geo", k_steps=int(config.geo_sgd_need_push_nums))
    if is_sync:
        return Mode("sync")
    if config.runtime_split_send_recv and not config.half_async:
        return Mode("async")
    return Mode("half_async")


class DistributeTranspiler:
    """Turns a program with an optimizer into those of the processes of a job.

    With servers (``config.mode`` 'pserver') the program that was given becomes that of a trainer;
    lookups with ``is_sparse`` pull rows, gradients are pushed, and servers run the optimizer. With
    'nccl2' the processes join, and ParallelExecutor or CompiledProgram with ``num_trainers``
    averages gradients over them.

    Example:
        >>> import paddle.fluid as fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.layers.data("x", [2])
        ...     loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        ...     _ = fluid.optimizer.SGD(0.1).minimize(loss)
        ...     transpiler = fluid.DistributeTranspiler()
        ...     transpiler.transpile(0, pservers="127.0.0.1:6174,127.0.0.1:6175", trainers=2)
        ...     trainer = fluid.default_main_program()  # what get_trainer_program gives
        ...     server = transpiler.get_pserver_program("127.0.0.1:6174")
        >>> trainer.global_block().ops[-1].type, server.global_block().ops[0].type
        ('send_barrier', 'listen_and_serv')
        >>> paddle.disable_static()
    """

    def __init__(self, config: DistributeTranspilerConfig | None = None) -> None:
        self.config = DistributeTranspilerConfig() if config is None else config
        check_config(self.config)
        if self.config.split_method is None:
            self.config.split_method = RoundRobin
        self._set_server_config()
        self._job: Any = None
        self._served: dict[str, tuple[Program, Program]] = {}  # by endpoint

    def _set_server_config(self, server_config: ServerRuntimeConfig | None = None) -> None:
        if server_config is not None and not isinstance(server_config, ServerRuntimeConfig):
            raise DtypeError(
                "DistributeTranspiler: server_config must be a ServerRuntimeConfig, but is "
                f"{server_config!r}"
            )
        self.server_config = server_config or ServerRuntimeConfig()

    def transpile(
        self,
        trainer_id: int,
        program: Program | None = None,
        pservers: str = _ALONE,
        trainers: int | str = 1,
        sync_mode: bool = True,
        startup_program: Program | None = None,
        current_endpoint: str = _ALONE,
    ) -> None:
        """Change ``program`` and ``startup_program`` into those of trainer ``trainer_id``; servers
        call it too, with any number.

        ``pservers`` are the servers' endpoints, separated by commas; ``trainers`` is the number of
        trainers, in mode 'nccl2' their endpoints.
        """
        program = default_main_program() if program is None else program
        startup = default_startup_program() if startup_program is None else startup_program
        self.origin_program, self.startup_program = program, startup
        self.trainer_id, self.trainer_num, self.sync_mode = trainer_id, trainers, sync_mode
        if self.config.mode == "pserver":
            self._transpile_servers(trainer_id, program, pservers, trainers, sync_mode, startup)
        else:
            self._transpile_collective(trainer_id, program, trainers, current_endpoint)

    def _transpile_servers(
        self,
        trainer_id: int,
        program: Program,
        pservers: str,
        trainers: Any,
        sync_mode: bool,
        startup: Program,
    ) -> None:
        from argosy.fluid.transpiler.details.job import TrainerJob  # loads what servers need

        if not isinstance(trainers, int) or isinstance(trainers, bool) or trainers < 1:
            raise BadArgument(
                f"transpile: trainers must be the number of trainers, but is {trainers!r}"
            )
        self.pserver_endpoints = _endpoints(pservers, "pservers")
        mode = self._mode(sync_mode)
        self._job = TrainerJob(program, startup, self.pserver_endpoints, trainer_id, trainers, mode)
        self._served.clear()

    def _mode(self, sync_mode: bool) -> Any:
        return mode_of(self.config, sync_mode)

    def _transpile_collective(
        self, trainer_id: int, program: Program, trainers: Any, current_endpoint: str
    ) -> None:
        endpoints = _endpoints(trainers, "trainers")
        if not isinstance(trainer_id, int) or not 0 <= trainer_id < len(endpoints):
            raise BadArgument(
                f"transpile: trainer_id must be a number below {len(endpoints)}, but is "
                f"{trainer_id!r}"
            )
        if endpoints[trainer_id] != current_endpoint:
            raise BadArgument(
                f"transpile: current_endpoint is {current_endpoint!r}, but trainers has "
                f"{endpoints[trainer_id]!r} for trainer {trainer_id}"
            )
        wanted = self.config.collective_mode
        if self.config.mode == "collective" and wanted != "grad_allreduce":
            raise NotSupported(
                f"DistributeTranspilerConfig.collective_mode {wanted!r} is not supported; "
                "'grad_allreduce' is"
            )
        join(trainer_id, endpoints)
        if self.config.mode == "collective":
            build = BuildStrategy()
            build.num_trainers, build.trainer_id = len(endpoints), trainer_id
            program.attachments.put(PreparedProgram, CompiledProgram(program, build))

    # -- programs
    # ----------------------------------------------------------------------------------------------

    def get_trainer_program(self, wait_port: bool = True) -> Program:
        """The program of a trainer: the one that was transpiled. The first run waits for the
        servers, whatever ``wait_port`` says.
        """
        program: Program = self._transpiled("get_trainer_program").trainer_program()
        return program

    def get_pserver_programs(self, endpoint: str) -> tuple[Program, Program]:
        """The main and the startup program of the server at ``endpoint``: always the same two,
        which share its tables.
        """
        job = self._transpiled("get_pserver_programs")
        if endpoint not in self._served:
            self._served[endpoint] = job.server_programs(endpoint)
        return self._served[endpoint]

    def get_pserver_program(self, endpoint: str) -> Program:
        """The program of the server at ``endpoint``; running it serves until every trainer has left
        (``Executor.close``).
        """
        return self.get_pserver_programs(endpoint)[0]

    def get_startup_program(
        self,
        endpoint: str,
        pserver_program: Program | None = None,
        startup_program: Program | None = None,
    ) -> Program:
        """The startup program of the server at ``endpoint``, which makes its tables. Their first
        values come from trainer 0.
        """
        main, startup = self.get_pserver_programs(endpoint)
        if pserver_program is not None and pserver_program is not main:
            raise UsageError(
                "get_startup_program: pserver_program is not the one that get_pserver_program "
                f"gives for {endpoint!r}"
            )
        return startup

    def _transpiled(self, call: str) -> Any:
        if self._job is None:
            raise UsageError(
                f"DistributeTranspiler.{call}: call transpile(), in mode 'pserver', first"
            )
        return self._job


def join(rank: int, endpoints: list[str]) -> None:
    """Join the other processes when a program first needs them, unless this one is alone or has
    done so; what the environment does not say, the arguments do.
    """
    if len(endpoints) < 2 or is_initialized():
        return
    given = {
        "PADDLE_TRAINER_ID": str(rank),
        "PADDLE_TRAINERS_NUM": str(len(endpoints)),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
    }
    env.update({name: given[name] for name in env.missing(tuple(given))})
    job.promise(init_parallel_env)


def _endpoints(text: Any, argument: str) -> list[str]:
    if not isinstance(text, str) or not text:
        raise BadArgument(
            f"transpile: {argument} must be endpoints separated by commas, but is {text!r}"
        )
    found = [part.strip() for part in text.split(",")]
    if len(set(found)) != len(found) or not all(":" in part for part in found):
        raise BadArgument(
            f"transpile: {argument} must be different endpoints ip:port, but is {text!r}"
        )
    return found
