"""ParallelExecutor: the data-parallel run of one program, as Paddle had it before
CompiledProgram.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

from argosy.foundation.errors import BadArgument, UsageError
from argosy.foundation.places import CPUPlace, CUDAPlace, Place
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope, global_scope
from argosy.static.parallel.compiled import CompiledProgram
from argosy.static.parallel.strategy import BuildStrategy, ExecutionStrategy
from argosy.static.record.recorder import default_main_program


class ParallelExecutor:
    """Runs a program on all GPUs, or on ``CPU_NUM`` CPU places, each with its part of the batch.

    Parameters are copied to the places at the first run. Each place computes gradients from its
    part; they are added up over the places, and over ``num_trainers`` processes, before each place
    updates. The scope always holds current values. ``close()`` ends the threads; it is also a
    context manager.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     x = paddle.static.data("x", [None, 2])
        ...     loss = paddle.static.nn.fc(x, 1).mean()
        ...     _ = paddle.optimizer.SGD(0.1).minimize(loss)
        >>> _ = paddle.static.Executor(paddle.CPUPlace()).run(startup)
        >>> with paddle.static.ParallelExecutor(False, loss.name, main) as exe:
        ...     [value] = exe.run([loss.name], feed={"x": numpy.ones((4, 2), "float32")})
        >>> value.shape == (exe.device_count,)
        True
        >>> paddle.disable_static()
    """

    def __init__(
        self,
        use_cuda: bool,
        loss_name: str | None = None,
        main_program: Program | None = None,
        share_vars_from: ParallelExecutor | None = None,
        exec_strategy: ExecutionStrategy | None = None,
        build_strategy: BuildStrategy | None = None,
        num_trainers: int = 1,
        trainer_id: int = 0,
        scope: Scope | None = None,
    ) -> None:
        if share_vars_from is not None and not isinstance(share_vars_from, ParallelExecutor):
            raise _WrongSource(
                "ParallelExecutor: share_vars_from must be a ParallelExecutor, but received "
                f"{type(share_vars_from).__name__}"
            )
        build = copy.copy(build_strategy) if build_strategy is not None else BuildStrategy()
        if isinstance(build, BuildStrategy):
            build.num_trainers, build.trainer_id = num_trainers, trainer_id
        self._place: Place = CUDAPlace(0) if use_cuda else CPUPlace()
        self._scope = scope if scope is not None else global_scope()
        program = main_program if main_program is not None else default_main_program()
        self._compiled_program: CompiledProgram = CompiledProgram(program).with_data_parallel(
            loss_name,
            build,
            exec_strategy,
            None if share_vars_from is None else share_vars_from._compiled_program,
        )
        self._num_places = self._compiled_program.serve("ParallelExecutor.run", self._place)

    @property
    def device_count(self) -> int:
        """Number of places."""
        return self._num_places

    def run(
        self, fetch_list: Any, feed: Any = None, feed_dict: Any = None, return_numpy: bool = True
    ) -> list[Any]:
        """Run every operator of the program on all places and return the values of ``fetch_list``.

        The values of a dict ``feed`` are cut on dimension 0 into a part for each place; a list has
        a dict for each. What is fetched is joined on dimension 0. ``feed_dict`` is the old name of
        ``feed``.
        """
        if feed_dict is not None:
            if feed is not None:
                raise UsageError(
                    "ParallelExecutor.run: give feed or its old name feed_dict, not both"
                )
            warnings.warn(
                "`feed_dict` is deprecated. Please use `feed=`", DeprecationWarning, stacklevel=2
            )
            feed = feed_dict
        return self._compiled_program.run(
            self._place, self._scope, feed, fetch_list, return_numpy, return_merged=True
        )

    def drop_local_exe_scopes(self) -> None:
        """Give back at once the memory kept for temporary values, which otherwise happens every
        ``num_iteration_per_drop_scope`` runs.
        """
        self._compiled_program.drop()

    def _need_create_local_exe_scopes(self) -> bool:
        """Whether the next run has to make memory for temporary values."""
        return self._compiled_program.is_empty

    def close(self) -> None:
        """End the threads; a later run starts them anew."""
        self._compiled_program.close()

    def __enter__(self) -> ParallelExecutor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _WrongSource(BadArgument, TypeError):
    """``share_vars_from`` is something else."""
