"""What ``fleet`` does in a parameter-server job: making models and optimizers that train through servers, the life of both roles, care of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.distributed.fleet.base.role_maker import RoleMakerBase
from argosy.foundation.errors import ConfigError, NotSupported
from argosy.framework import in_dynamic_mode

__all__ = ["Servers", "server_calls"]


class Servers:
    """The parameter-server side of a Fleet; pyarrow and numba are loaded with it, not before."""

    def __init__(self, role: RoleMakerBase, strategy: DistributedStrategy) -> None:
        from argosy.distributed.fleet._ps_runtime import PsRuntime

        self._role = role
        self._model: Any = None
        self._optimizer: Any = None
        self.runtime = PsRuntime(role, strategy)

    # -- models and optimizers --------------------------------------------------------------------------------------

    def use_strategy(self, strategy: DistributedStrategy) -> None:
        """Take the mode of another strategy; nothing may have been started."""
        from argosy.distributed.fleet._ps_runtime import mode_of

        self.runtime.mode = mode_of(strategy)

    def distributed_model(self, model: Any) -> Any:
        """``model`` with its sparse embeddings on the servers; once the optimizer is known too."""
        self._model = model
        self._combine()
        return model

    def distributed_optimizer(self, optimizer: Any) -> Any:
        """``optimizer`` with steps that go through the servers."""
        from argosy.distributed.fleet._ps_model import PsOptimizer, torch_optimizer

        if isinstance(optimizer, torch.optim.Optimizer):
            self._optimizer = torch_optimizer(optimizer, self.runtime)
        elif in_dynamic_mode():
            self._optimizer = PsOptimizer(optimizer, self.runtime)
        else:
            from argosy.distributed.fleet._ps_program import ProgramOptimizer

            return ProgramOptimizer(optimizer, self.runtime)
        self._combine()
        return self._optimizer

    def _combine(self) -> None:
        if self._model is None or self._optimizer is None:
            return
        from argosy.distributed.fleet._ps_model import convert

        inner = getattr(self._optimizer, "_inner_opt", self._optimizer)
        _, lookups = convert(self._model, inner, self.runtime)
        if isinstance(self._optimizer, torch.optim.Optimizer):
            self._optimizer.__dict__["_lookups"] = lookups
        else:
            self._optimizer.attach(lookups)

    # -- care of tables -----------------------------------------------------------------------------------------------

    def save_persistables(self, dirname: str, mode: int = 0) -> None:
        """Write all tables, as the servers have them, to ``dirname``; worker 0 does, the others return at once."""
        if self._role._is_first_worker():
            self.runtime.save(dirname, mode)

    def load_model(self, path: str, mode: int = 0) -> None:
        """Take all tables from what ``save_persistables`` wrote; worker 0 does, the others return at once."""
        if mode != 0:
            raise NotSupported(
                f"fleet.load_model: mode {mode!r} is not supported; a checkpoint is loaded as it was saved (mode 0)"
            )
        if self._role._is_first_worker():
            self.runtime.load(path)

    def shrink(self, threshold: Any = None) -> None:
        """Drop rows that are worth too little, as the tables' own settings say."""
        if threshold is not None:
            raise NotSupported(
                "fleet.shrink: threshold is not supported; tables have delete_threshold and delete_after_unseen_days"
            )
        if self._role._is_first_worker():
            self.runtime.shrink()

    def set_date(self, table_id: Any, day: str) -> None:
        """Another day has begun for a table, given by its name or its number in the order of the model."""
        name = self._table_name(table_id, "set_date")
        if self._role._is_first_worker():
            self.runtime.end_day(name)

    def print_table_stat(self, table_id: Any = None) -> None:
        """Print what the servers say of a table, given by its name or its number in the order of the model; of all without one."""
        name = None if table_id is None else self._table_name(table_id, "print_table_stat")
        for row in self.runtime.status():
            if name in (None, row["table"]):
                print(", ".join(f"{key}: {value}" for key, value in row.items()))

    def _table_name(self, table_id: Any, call: str) -> str:
        return str(self.runtime.known_model(call).sparse[table_id].name) if isinstance(table_id, int) else str(table_id)


# functions of ``fleet`` that exist for parameter servers only, and those of them that are not there
_CALLS = ("load_model", "shrink", "set_date", "print_table_stat")
_REFUSED: Sequence[str] = (
    "check_save_pre_patch_done",
    "get_fl_client",
    "init_coordinator",
    "load_inference_model",
    "load_one_table",
    "make_fl_strategy",
    "save_cache_model",
    "save_cache_table",
    "save_dense_params",
    "save_one_table",
)


def server_calls(find: Callable[[], Servers | None]) -> dict[str, Callable[..., Any]]:
    """The functions of ``fleet`` that exist for parameter servers only; ``find`` gives the servers of the Fleet."""

    def make(name: str) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            if name in _REFUSED:
                raise NotSupported(
                    f"fleet.{name} is not supported; save_persistables and load_model save and load all tables"
                )
            servers = find()
            if servers is None:
                raise ConfigError(f"fleet.{name}: this job has no parameter servers")
            return getattr(servers, name)(*args, **kwargs)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = (
            f"``{name}`` of a parameter-server job. Not supported."
            if name in _REFUSED
            else getattr(Servers, name).__doc__
        )
        return function

    return {name: make(name) for name in (*_CALLS, *_REFUSED)}
