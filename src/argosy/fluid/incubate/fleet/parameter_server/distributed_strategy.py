"""``...distribute_transpiler.distributed_strategy``: how trainers and servers of 1.8 keep in
step.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

from argosy.distributed.fleet.utils.log_util import logger
from argosy.fluid.transpiler.distribute_transpiler import (
    DistributedMode,
    DistributeTranspilerConfig,
    ServerRuntimeConfig,
    mode_of,
)
from argosy.foundation import env
from argosy.foundation.errors import BadArgument, DtypeError, NotSupported
from argosy.static import BuildStrategy, ExecutionStrategy

if TYPE_CHECKING:
    from argosy.runtime.ps.worker.worker import Mode

__all__ = [
    "AsyncStrategy",
    "DistributedStrategy",
    "GeoStrategy",
    "HalfAsyncStrategy",
    "StrategyFactory",
    "SyncStrategy",
    "TrainerRuntimeConfig",
]


_WAITING = (
    "communicator_max_merge_var_num",
    "communicator_send_wait_times",
    "communicator_thread_pool_size",
    "communicator_send_queue_size",
)
_USED: dict[int | None, tuple[str, ...]] = {
    DistributedMode.SYNC: _WAITING,
    DistributedMode.HALF_ASYNC: _WAITING,
    DistributedMode.GEO: ("communicator_thread_pool_size", "communicator_send_wait_times"),
}  # by mode; async uses all


class TrainerRuntimeConfig:
    """How a trainer sends gradients. ``communicator_send_queue_size`` and
    ``communicator_max_merge_var_num`` have effect, in async mode; the rest are hints.
    """

    _defaults: ClassVar[dict[str, str | None]] = {
        "communicator_max_merge_var_num": None,  # as many as CPU_NUM
        "communicator_send_queue_size": None,
        "communicator_independent_recv_thread": "1",
        "communicator_min_send_grad_num_before_recv": None,
        "communicator_thread_pool_size": "5",
        "communicator_send_wait_times": "5",
        "communicator_is_sgd_optimizer": "1",
        "rpc_deadline": "180000",
        "rpc_retry_times": "3",
    }

    def __init__(self) -> None:
        self.mode: int | None = None
        threads = env.get("CPU_NUM", "1")
        self.runtime_configs = {
            name: env.get(f"FLAGS_{name}") or (threads if value is None else value)
            for name, value in self._defaults.items()
        }

    def get_communicator_flags(self) -> dict[str, str]:
        """The settings that the mode has a use for, as strings. Where a step waits for servers, as
        many gradients are under way as there are threads.
        """
        own = self.runtime_configs
        if self.mode in (DistributedMode.SYNC, DistributedMode.HALF_ASYNC):
            threads = env.get("CPU_NUM", "1")
            for name in ("communicator_max_merge_var_num", "communicator_send_queue_size"):
                if own[name] != threads:
                    logger.warning("%s must be CPU_NUM, %s, but is %s", name, threads, own[name])
                    own[name] = threads
        names = _USED.get(self.mode, own)
        return {name: str(own[name]) for name in names}

    def __repr__(self) -> str:
        flags = ", ".join(f"{k}={v}" for k, v in self.get_communicator_flags().items())
        return f"TrainerRuntimeConfig({flags})"


class DistributedStrategy:
    """What the strategies have in common; ``StrategyFactory`` makes them.

    Each config may be replaced, or changed by a dict of its fields; an unknown field is a
    ValueError.
    """

    _mode: int
    _program: ClassVar[dict[str, Any]] = {}  # what the mode fixes in the program's config

    def __init__(self) -> None:
        if type(self) is DistributedStrategy:
            raise NotSupported("DistributedStrategy: make one of its kinds, with StrategyFactory")
        self._program_config = DistributeTranspilerConfig()
        self._trainer_runtime_config = TrainerRuntimeConfig()
        self._server_runtime_config = ServerRuntimeConfig()
        self._execute_strategy = ExecutionStrategy()
        self._build_strategy = BuildStrategy()
        self._execute_strategy.num_threads = env.integer("CPU_NUM", 1)
        self._execute_strategy.use_thread_barrier = True
        self.debug_opt: dict[str, Any] | None = None
        self._fix()

    def _fix(self) -> None:
        self._program_config.sync_mode = False
        self._program_config.runtime_split_send_recv = True
        for name, value in self._program.items():
            setattr(self._program_config, name, value)
        self._trainer_runtime_config.mode = self._mode
        self._build_strategy.async_mode = True

    def worker_mode(self) -> Mode:
        """How the trainers keep in step."""
        mode = mode_of(self._program_config, sync_mode=False)
        if mode.kind != "async":
            return mode
        settings = self._trainer_runtime_config.runtime_configs
        size, merged = (
            int(settings[f"communicator_{n}"]) for n in ("send_queue_size", "max_merge_var_num")
        )
        return dataclasses.replace(mode, queue_size=size, max_merge=merged)

    def set_debug_opt(self, opt_info: dict[str, Any] | None) -> None:
        """What runs over a dataset should dump; such a run refuses it."""
        self.debug_opt = opt_info

    def get_debug_opt(self) -> dict[str, Any]:
        """What should be dumped, complete; empty if nothing was said."""
        given = self.debug_opt
        if not isinstance(given, dict):
            return {}
        return {
            "dump_slot": bool(given.get("dump_slot", 0)),
            "dump_converter": str(given.get("dump_converter", "")),
            "dump_fields": given.get("dump_fields", []),
            "dump_file_num": given.get("dump_file_num", 16),
            "dump_fields_path": given.get("dump_fields_path", ""),
            "dump_param": given.get("dump_param", []),
        }

    def get_program_config(self) -> DistributeTranspilerConfig:
        return self._program_config

    def set_program_config(self, config: Any) -> None:
        self._program_config = _changed(self._program_config, config)
        self._fix()

    def get_trainer_runtime_config(self) -> TrainerRuntimeConfig:
        return self._trainer_runtime_config

    def set_trainer_runtime_config(self, config: Any) -> None:
        if isinstance(config, dict):
            own = self._trainer_runtime_config.runtime_configs
            _check_keys("TrainerRuntimeConfig", config, own)
            own.update(config)
        else:
            self._trainer_runtime_config = _changed(self._trainer_runtime_config, config)
        self._fix()

    def get_server_runtime_config(self) -> ServerRuntimeConfig:
        return self._server_runtime_config

    def set_server_runtime_config(self, config: Any) -> None:
        self._server_runtime_config = _changed(self._server_runtime_config, config)

    def get_execute_strategy(self) -> ExecutionStrategy:
        return self._execute_strategy

    def set_execute_strategy(self, config: Any) -> None:
        self._execute_strategy = _changed(self._execute_strategy, config)

    def get_build_strategy(self) -> BuildStrategy:
        return self._build_strategy

    def set_build_strategy(self, config: Any) -> None:
        self._build_strategy = _changed(self._build_strategy, config)
        self._fix()


class SyncStrategy(DistributedStrategy):
    """Every step waits for all trainers; servers apply the mean of their gradients."""

    _mode = DistributedMode.SYNC
    _program: ClassVar[dict[str, Any]] = {"half_async": True, "completely_not_async": True}


class AsyncStrategy(DistributedStrategy):
    """Gradients go through a queue, and servers apply them as they come."""

    _mode = DistributedMode.ASYNC


class HalfAsyncStrategy(DistributedStrategy):
    """A trainer waits for the servers, and not for the other trainers."""

    _mode = DistributedMode.HALF_ASYNC
    _program: ClassVar[dict[str, Any]] = {"half_async": True}


class GeoStrategy(DistributedStrategy):
    """Trainers train by themselves and exchange differences every ``update_frequency`` steps."""

    _mode = DistributedMode.GEO
    _program: ClassVar[dict[str, Any]] = {"geo_sgd_mode": True}

    def __init__(self, update_frequency: int = 100) -> None:
        super().__init__()
        self._program_config.geo_sgd_need_push_nums = update_frequency


class StrategyFactory:
    """Makes strategies.

    Example:
        >>> from paddle.fluid.incubate.fleet.parameter_server import distribute_transpiler
        >>> factory = distribute_transpiler.distributed_strategy.StrategyFactory
        >>> strategy = factory.create_geo_strategy(update_frequency=400)
        >>> strategy.get_program_config().geo_sgd_need_push_nums
        400
    """

    @staticmethod
    def create_sync_strategy() -> SyncStrategy:
        return SyncStrategy()

    @staticmethod
    def create_half_async_strategy() -> HalfAsyncStrategy:
        return HalfAsyncStrategy()

    @staticmethod
    def create_async_strategy() -> AsyncStrategy:
        return AsyncStrategy()

    @staticmethod
    def create_geo_strategy(update_frequency: int = 100) -> GeoStrategy:
        return GeoStrategy(update_frequency)


def strategy_of(config: DistributeTranspilerConfig) -> DistributedStrategy:
    """The strategy that a config means."""
    kinds = {"sync": SyncStrategy, "async": AsyncStrategy, "half_async": HalfAsyncStrategy}
    mode = mode_of(config, sync_mode=True)
    strategy = GeoStrategy(mode.k_steps) if mode.kind == "geo" else kinds[mode.kind]()
    settings = {n: getattr(config, n) for n in DistributeTranspilerConfig.fields}
    for name in strategy._program:
        settings.pop(name)
    strategy.set_program_config(settings)
    return strategy


def _changed(own: Any, config: Any) -> Any:
    """``config``, or ``own`` with the fields of a dict."""
    kind = type(own).__name__
    if isinstance(config, type(own)):
        return config
    if not isinstance(config, dict):
        raise DtypeError(f"{kind}: expected one, or a dict of its fields, but received {config!r}")
    _check_keys(kind, config, dir(own))
    for name, value in config.items():
        setattr(own, name, value)
    return own


def _check_keys(kind: str, config: dict[str, Any], known: Any) -> None:
    for name in config:
        if name not in known:
            raise BadArgument(f"{kind} doesn't have key: {name}")
