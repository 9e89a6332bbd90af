"""Inference with the tables of parameter servers."""

from __future__ import annotations

import os
from typing import Any

from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.foundation.errors import ConfigError, NotSupported, UsageError
from argosy.static import default_startup_program, load_vars
from argosy.static.files.variables import file_of, is_persistable, valid_program
from argosy.static.ir.program import Program

__all__ = ["DistributedInfer"]


class DistributedInfer:
    """Makes of a program one that reads rows from servers: none is made, none is counted, and
    missing ones are zeros.

    Make it before ``minimize`` changes the program, or in a job that trains. Without servers
    everything happens in this process.

    Example:
        >>> import paddle
        >>> import paddle.distributed.fleet as fleet
        >>> from paddle.distributed.fleet.utils.ps_util import DistributedInfer
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     ids = paddle.static.data("ids", [None, 1], "int64")
        ...     found = paddle.static.nn.sparse_embedding(ids, [10, 2],
        ...         param_attr=paddle.nn.initializer.Constant(0.5))
        ...     loss = found.mean()
        >>> infer, exe = DistributedInfer(main, startup), paddle.static.Executor()
        >>> infer.init_distributed_infer_env(exe, loss)
        >>> [value] = exe.run(infer.get_dist_infer_program(), feed={"ids": [[3]]},
        ...     fetch_list=[loss])
        >>> print(value)
        0.5
        >>> paddle.disable_static()
    """

    def __init__(
        self, main_program: Program | None = None, startup_program: Program | None = None
    ) -> None:
        self.origin_main_program = valid_program("DistributedInfer", main_program).clone()
        self.origin_startup_program = startup_program or default_startup_program()

    def init_distributed_infer_env(
        self, exe: Any, loss: Any, role_maker: Any = None, dirname: str | None = None
    ) -> None:
        """Join the job: servers serve the tables in ``dirname`` until the workers stop, workers are
        ready when this returns.

        ``dirname`` is what ``fleet.save_persistables`` or ``fleet.save_inference_model`` wrote. A
        process that takes part in training already has what it needs, and nothing happens.
        """
        from argosy.distributed.fleet.the_fleet import the_fleet as fleet

        if fleet.servers is not None and fleet.servers.runtime.model is not None:
            if dirname is not None:
                raise UsageError(
                    "init_distributed_infer_env: the servers are training; load tables with "
                    "fleet.load_model"
                )
            return
        fleet.init(role_maker)
        if fleet.servers is None:
            self._start_alone(exe, dirname)
            return
        from argosy.distributed.fleet.servers.saving import load_variables
        from argosy.optimizer import SGD

        strategy = DistributedStrategy()
        strategy.a_sync = True
        program = loss.block.program
        fleet.distributed_optimizer(SGD(), strategy).minimize(loss, self.origin_startup_program)
        if fleet.is_server():
            fleet.init_server(dirname)
            fleet.run_server()
            return
        exe.run(self.origin_startup_program)
        fleet.init_worker()
        if dirname is not None:
            load_variables(fleet.servers.runtime, dirname, program)

    def _start_alone(self, exe: Any, dirname: str | None) -> None:
        exe.run(self.origin_startup_program)
        if dirname is None:
            return
        if os.path.isfile(os.path.join(dirname, "manifest.json")):
            raise NotSupported(
                f"init_distributed_infer_env: {dirname!r} has tables for servers, and this job "
                "has none; "
                "a model of fleet.save_inference_model can be read by one process"
            )
        program = self.origin_main_program
        call = "init_distributed_infer_env"
        kept = [
            v
            for v in program.list_vars()
            if is_persistable(v) and file_of(dirname, v.name, call).is_file()
        ]
        load_vars(exe, dirname, program, kept)

    def get_dist_infer_program(self) -> Program:
        """The program in test mode, with lookups that read from the servers."""
        from argosy.distributed.fleet.the_fleet import the_fleet

        servers = the_fleet.servers
        program = self.origin_main_program.clone(for_test=True)
        if servers is None:
            return program
        from argosy.distributed.fleet.servers.rewrite import Link, forget, rewrite

        model = servers.runtime.model
        if model is None:
            raise ConfigError("get_dist_infer_program: call init_distributed_infer_env first")
        specs = {spec.name: spec for spec in model.sparse}
        for pull in rewrite(program, specs, Link(servers.runtime), tests=True):
            forget(program, pull.table)
        return program
