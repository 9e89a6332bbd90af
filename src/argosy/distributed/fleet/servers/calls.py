"""What ``fleet`` does in a parameter-server job: making models and optimizers that train through
servers, the life of both roles, care of tables.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.distributed.fleet.base.role_maker import RoleMakerBase
from argosy.distributed.fleet.checkpoints.auto_checkpoint import AutoCheckpoint
from argosy.foundation.errors import ConfigError, NotSupported, UsageError
from argosy.framework import in_dynamic_mode
from argosy.static import default_main_program, global_scope
from argosy.static.files.variables import valid_program

__all__ = ["Servers", "server_calls"]


class Servers:
    """The parameter-server side of a Fleet; pyarrow and numba are loaded with it, not before.

    Calls that care for tables are worker 0's: other workers may make them too, and go on at once.
    """

    def __init__(self, role: RoleMakerBase, strategy: DistributedStrategy) -> None:
        from argosy.distributed.fleet.servers.runtime import PsRuntime

        self._role = role
        self._model: Any = None
        self._optimizer: Any = None
        self._is_program = False
        self.runtime = PsRuntime(role, strategy)
        role.find_each_other(self.runtime.connect)

    # -- models and optimizers
    # --------------------------------------------------------------------------------------

    def use_strategy(self, strategy: DistributedStrategy) -> None:
        """Take the mode of another strategy; nothing may have been started."""
        self.runtime.use_strategy(strategy)

    def distributed_model(self, model: Any) -> Any:
        """``model`` with its sparse embeddings on the servers; once the optimizer is known too."""
        self._model = model
        self._combine()
        return model

    def distributed_optimizer(self, optimizer: Any) -> Any:
        """``optimizer`` with steps that go through the servers."""
        from argosy.distributed.fleet.servers.model import PsOptimizer, torch_optimizer

        self._is_program = False
        if isinstance(optimizer, torch.optim.Optimizer):
            self._optimizer = torch_optimizer(optimizer, self.runtime)
        elif in_dynamic_mode():
            self._optimizer = PsOptimizer(optimizer, self.runtime)
        else:
            from argosy.distributed.fleet.servers.program import ProgramOptimizer

            self._is_program = True
            return ProgramOptimizer(optimizer, self.runtime)
        self._combine()
        return self._optimizer

    def _combine(self) -> None:
        if self._model is None or self._optimizer is None:
            return
        from argosy.distributed.fleet.servers.model import convert

        inner = getattr(self._optimizer, "_inner_opt", self._optimizer)
        _, lookups = convert(self._model, inner, self.runtime)
        if isinstance(self._optimizer, torch.optim.Optimizer):
            self._optimizer.__dict__["_lookups"] = lookups
        else:
            self._optimizer.attach(lookups)

    # -- files
    # ----------------------------------------------------------------------------------------------

    def save_persistables(
        self, executor: Any, dirname: str, main_program: Any = None, mode: int = 0
    ) -> None:
        """Write all tables, as the servers have them, to ``dirname``, and what only the worker's
        program keeps.
        """
        from argosy.distributed.fleet.servers import saving

        program = (
            valid_program("fleet.save_persistables", main_program) if self._is_program else None
        )
        if self._is_first():
            saving.save_persistables(self.runtime, executor, dirname, program, mode)

    def save_inference_model(
        self,
        executor: Any,
        dirname: str,
        feeded_var_names: Sequence[str],
        target_vars: Sequence[Any],
        main_program: Any = None,
        mode: int = 0,
    ) -> None:
        """Write a program for inference with its rows, and the tables beside it."""
        from argosy.distributed.fleet.servers import saving

        self._need_program("save_inference_model", "save_persistables writes the tables of a model")
        program = valid_program("fleet.save_inference_model", main_program)
        if self._is_first():
            args = (executor, dirname, feeded_var_names, target_vars, program, mode)
            saving.save_inference_model(self.runtime, *args)

    def save_dense_params(
        self,
        executor: Any,
        dirname: str,
        scope: Any = None,
        program: Any = None,
        var_names: Any = None,
    ) -> None:
        """Write the dense parameters, as they are now, or the variables of ``var_names``, into one
        file; ``dirname`` is its path, as in Paddle.
        """
        from argosy.distributed.fleet.servers import saving

        self._need_program(
            "save_dense_params",
            "paddle.save(model.state_dict(), path) writes the parameters of a model",
        )
        program = valid_program("fleet.save_dense_params", program)
        if self._is_first():
            args = (
                executor,
                dirname,
                global_scope() if scope is None else scope,
                program,
                var_names,
            )
            saving.save_dense_params(self.runtime, *args)

    def save_one_table(self, table_id: Any, path: str, mode: int = 0) -> None:
        """Write one table, by its name or number, into the checkpoint ``path``; other tables in it
        stay.
        """
        from argosy.distributed.fleet.servers import saving

        name = self._table_name(table_id, "save_one_table")
        if self._is_first():
            saving.save_one_table(self.runtime, name, path, mode)

    def auto_checkpoint(self, directory: str, every_n_steps: int, **objects: Any) -> AutoCheckpoint:
        """``fleet.auto_checkpoint`` of a worker."""
        from argosy.distributed.fleet.servers.served_checkpoint import ServedCheckpoint

        if self._role.is_server():
            raise UsageError(
                "fleet.auto_checkpoint: this process is a server; workers call it, after "
                "fleet.init_worker()"
            )
        return ServedCheckpoint(self.runtime, self._role, directory, every_n_steps, **objects)

    def load_model(self, path: str, mode: int = 0) -> None:
        """Take everything from what ``save_persistables`` wrote. Other workers see the dense values
        after their next step.
        """
        from argosy.distributed.fleet.servers import saving

        _check_load_mode("load_model", mode)
        if self._is_first():
            saving.load_tables(self.runtime, path)
        if self._is_program:
            saving.load_variables(self.runtime, path, default_main_program())

    def load_one_table(self, table_id: Any, path: str, mode: int = 0) -> None:
        """Take one table, by its name or number, from a checkpoint."""
        from argosy.distributed.fleet.servers import saving

        _check_load_mode("load_one_table", mode)
        name = self._table_name(table_id, "load_one_table")
        if self._is_first():
            saving.load_one_table(self.runtime, name, path)

    def load_inference_model(self, path: str, mode: int = 0) -> None:
        """Take the tables from what ``save_inference_model`` wrote, into the servers."""
        from argosy.distributed.fleet.servers import saving

        _check_load_mode("load_inference_model", mode)
        if self._is_first():
            saving.load_tables(self.runtime, path)

    def _need_program(self, call: str, instead: str) -> None:
        if not self._is_program:
            raise NotSupported(f"fleet.{call}: it is for static programs; {instead}")

    # -- care of tables
    # ----------------------------------------------------------------------------------------------

    def shrink(self, threshold: Any = None) -> None:
        """Drop rows that are worth too little, as the tables' own settings say."""
        if threshold is not None:
            warnings.warn(
                "fleet.shrink: threshold is not used; sparse_table_configs has delete_threshold "
                "and delete_after_unseen_days",
                stacklevel=3,
            )
        if self._is_first():
            self.runtime.shrink()

    def set_date(self, table_id: Any, day_id: str) -> None:
        """``day_id`` (YYYYMMDD) has begun for a table: the days since the one it was told last have
        passed, none if that was this one or a later one.
        """
        name = self._table_name(table_id, "set_date")
        try:
            day = datetime.datetime.strptime(str(day_id), "%Y%m%d").date()
        except ValueError:
            raise UsageError(
                f"fleet.set_date: day_id must be a day as YYYYMMDD, but is {day_id!r}"
            ) from None
        if self._is_first():
            self.runtime.end_day(name, day.toordinal())

    def print_table_stat(self, table_id: Any = None) -> None:
        """Print what the servers say of a table, of all without one: rows, bytes, pulls, pushes,
        and the staleness observed.
        """
        name = None if table_id is None else self._table_name(table_id, "print_table_stat")
        for row in self.runtime.status():
            if name in (None, row["table"]):
                print(", ".join(f"{key}: {value}" for key, value in row.items()))

    def _table_name(self, table_id: Any, call: str) -> str:
        """The name of a table given by it, or by its number: sparse tables in the order of the
        model, then the dense one.
        """
        names = self.runtime.table_names(call)
        if isinstance(table_id, int) and 0 <= table_id < len(names):
            return names[table_id]
        if table_id not in names:
            raise UsageError(
                f"fleet.{call}: there is no table {table_id!r}; there are {dict(enumerate(names))}"
            )
        return str(table_id)

    def _is_first(self) -> bool:
        if self._role.is_server():
            raise UsageError(
                "fleet: this process is a server; workers save, load and care for tables"
            )
        return self._role.is_first_worker()


def _check_load_mode(call: str, mode: int) -> None:
    if mode != 0:
        raise NotSupported(
            f"fleet.{call}: mode {mode!r} is not supported; a checkpoint is loaded as it was "
            "saved (mode 0)"
        )


# functions of ``fleet`` that exist for parameter servers only, and why some are not there
_CALLS = (
    "load_model", "shrink", "set_date", "print_table_stat", "save_dense_params", "save_one_table",
    "load_one_table",
    "load_inference_model",
)  # fmt: skip
_FEDERATED = "federated training is not built"
_CACHES = (
    "tables have no caches beside them: all rows lie in the servers' memory, and "
    "save_persistables writes them"
)
_REFUSED = {
    "check_save_pre_patch_done": "a save is complete when it returns",
    "get_fl_client": _FEDERATED,
    "init_coordinator": _FEDERATED,
    "make_fl_strategy": _FEDERATED,
    "save_cache_model": _CACHES,
    "save_cache_table": _CACHES,
}


def server_calls(find: Callable[[], Servers | None]) -> dict[str, Callable[..., Any]]:
    """The functions of ``fleet`` that exist for parameter servers only; ``find`` gives the servers
    of the Fleet.
    """

    def make(name: str) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            if name in _REFUSED:
                raise NotSupported(f"fleet.{name} is not supported: {_REFUSED[name]}")
            servers = find()
            if servers is None:
                raise ConfigError(f"fleet.{name}: this job has no parameter servers")
            return getattr(servers, name)(*args, **kwargs)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = (
            f"``{name}`` of a parameter-server job. Not supported: {_REFUSED[name]}."
            if name in _REFUSED
            else getattr(Servers, name).__doc__
        )
        return function

    return {name: make(name) for name in (*_CALLS, *_REFUSED)}
