"""What a script of 1.x says about the way its program is distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from argosy.fluid.transpiler.ps_dispatcher import PSDispatcher
from argosy.foundation import env
from argosy.foundation.errors import BadArgument, ConfigError, NotSupported, UsageError, nearest

if TYPE_CHECKING:
    from argosy.runtime.ps.worker import Mode

__all__ = ["DistributeTranspilerConfig", "DistributedMode", "ServerRuntimeConfig"]


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

    _fields: ClassVar[dict[str, Any]] = {
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
        self.__dict__.update(self._fields, _sync_mode=True, _splits=False)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields and name not in self._modes:
            raise UnknownField(
                "DistributeTranspilerConfig has no field "
                f"{name!r}.{nearest(name, [*self._fields, *self._modes])}"
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
        changed = {k: getattr(self, k) for k, v in self._fields.items() if getattr(self, k) != v}
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
    from argosy.runtime.ps.worker import Mode  # loads what servers need

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
