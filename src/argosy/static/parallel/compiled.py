"""CompiledProgram: a program with the places it runs on and the way in which they work together."""

from __future__ import annotations

import copy
from typing import Any

from argosy.foundation.errors import (
    BadArgument,
    DtypeError,
    NotSupported,
    ProgramError,
    UsageError,
    nearest,
)
from argosy.foundation.places import Place, to_place
from argosy.static.ir.attachment import ServerJob
from argosy.static.ir.operator import OPTIMIZE
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope
from argosy.static.lower.fetch import given_out
from argosy.static.lower.pruning import part_of
from argosy.static.parallel.data_parallel import DataParallelRun
from argosy.static.parallel.exchange import Exchange
from argosy.static.parallel.places import default_places, given_places
from argosy.static.parallel.replicas import Replicas
from argosy.static.parallel.rewrite import has_training
from argosy.static.parallel.split import merged, num_fed, split_feed
from argosy.static.parallel.strategy import BuildStrategy, ExecutionStrategy, RunSpec
from argosy.static.run.call import fetch_names
from argosy.static.run.contract import Part, PreparedProgram
from argosy.static.run.readers import next_feeds


class CompiledProgram(PreparedProgram):
    """A program to be run with a ``build_strategy``; after ``with_data_parallel``, on several
    places at once.

    Give it to ``Executor.run``. It belongs to the scope of its first run. ``close()`` ends its
    threads.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main):
        ...     x = paddle.static.data("x", [None, 1])
        ...     y = x * 2.0
        >>> places = paddle.static.cpu_places(2)
        >>> parallel = paddle.static.CompiledProgram(main).with_data_parallel(places=places)
        >>> exe = paddle.static.Executor(paddle.CPUPlace())
        >>> exe.run(parallel, feed={"x": numpy.ones((3, 1), "float32")}, fetch_list=[y],
        ...     return_merged=False)[0]
        [array([[2.]], dtype=float32), array([[2.],
               [2.]], dtype=float32)]
        >>> exe.close()
        >>> paddle.disable_static()
    """

    def __init__(self, program_or_graph: Any, build_strategy: BuildStrategy | None = None) -> None:
        if not isinstance(program_or_graph, Program):
            raise DtypeError(
                "CompiledProgram: expected a Program, but received "
                f"{type(program_or_graph).__name__}"
            )
        _check_type("CompiledProgram", "build_strategy", build_strategy, BuildStrategy)
        self._program = program_or_graph
        self._build_strategy = build_strategy
        self._exec_strategy: ExecutionStrategy | None = None
        self._loss_name: str | None = None
        self._share_vars_from: CompiledProgram | None = None
        self._places: list[Place] | None = None
        self._is_data_parallel = False
        self._exchange = Exchange()
        self._call = "Executor.run"  # in messages
        self._runner: DataParallelRun | None = None
        self._bound: tuple[Scope, Place] | None = None
        self._checked_version = -1  # of the program, whose loss was looked for

    @classmethod
    def attach(
        cls,
        program: Program,
        build_strategy: BuildStrategy,
        exchange: Exchange,
        exec_strategy: ExecutionStrategy | None = None,
    ) -> None:
        """Have every run of ``program`` work with other processes through ``exchange``."""
        compiled = cls(program, build_strategy)
        compiled._exchange = exchange
        compiled._exec_strategy = exec_strategy
        program.attachments.put(PreparedProgram, compiled)

    def with_data_parallel(
        self,
        loss_name: str | None = None,
        build_strategy: BuildStrategy | None = None,
        exec_strategy: ExecutionStrategy | None = None,
        share_vars_from: CompiledProgram | None = None,
        places: Any = None,
    ) -> CompiledProgram:
        """Run on ``places``: by default the GPUs, or ``CPU_NUM`` CPU places if the Executor's place
        is the CPU.

        ``loss_name`` is needed to train. ``share_vars_from``, which must have run, gives its
        variables on the places to this program.
        """
        call = "CompiledProgram.with_data_parallel"
        if self._is_data_parallel:
            raise BadArgument(f"{call}: it has been called on this program already")
        _check_type(call, "build_strategy", build_strategy, BuildStrategy)
        _check_type(call, "exec_strategy", exec_strategy, ExecutionStrategy)
        _check_type(call, "share_vars_from", share_vars_from, CompiledProgram)
        self._is_data_parallel = True
        self._loss_name = loss_name
        self._build_strategy = build_strategy or self._build_strategy
        self._exec_strategy = exec_strategy
        self._share_vars_from = share_vars_from
        self._places = None if places is None else given_places(call, places)
        return self

    def serve(self, call: str, place: Place) -> int:
        """Run for ``call``, which errors then name, on the places that go with ``place``; returns
        how many they are.
        """
        self._call = call
        return len(self._choose_places(place))

    @property
    def is_empty(self) -> bool:
        """Whether the next run has to make memory for temporary values."""
        return self._runner is None or self._runner.is_empty

    def drop(self) -> None:
        """Give back the memory that is kept for temporary values between runs."""
        if self._runner is not None:
            self._runner.drop()

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()

    @property
    def _has_servers(self) -> bool:
        return self._program.attachments.get(ServerJob) is not None

    # -- running
    # ----------------------------------------------------------------------------------------------

    @property
    def recorded(self) -> Program:
        return self._program

    def prepare(self) -> bool:
        self._follow()
        return not self._is_plain

    def _follow(self) -> None:
        """Train with the other workers, if the program was set up for that (by Fleet): that belongs
        to the program, however it is compiled.
        """
        attached = self._program.attachments.get(PreparedProgram)
        if (
            not isinstance(attached, CompiledProgram)
            or attached is self
            or self._exchange is attached._exchange
        ):
            return
        workers = attached._build_strategy
        if workers is None or workers.num_trainers <= 1:
            return
        if self._runner is not None:
            raise UsageError(
                f"{self._call}: the program was set up for several workers after this "
                "CompiledProgram had run it; make a new one"
            )
        build = copy.copy(self._build_strategy) or BuildStrategy()
        build.num_trainers, build.trainer_id = workers.num_trainers, workers.trainer_id
        build.sync_batch_norm |= workers.sync_batch_norm
        if workers.gradient_scale_strategy != BuildStrategy.GradientScaleStrategy.CoeffNumDevice:
            build.gradient_scale_strategy = workers.gradient_scale_strategy
        self._build_strategy, self._exchange = build, attached._exchange

    @property
    def _is_plain(self) -> bool:
        """Whether the program runs as if it were not compiled."""
        build = self._build_strategy
        if self._is_data_parallel or build is None:
            return not self._is_data_parallel
        return (
            build.num_trainers <= 1 and not build.enable_auto_fusion and not build.build_cinn_pass
        )

    def run(
        self,
        place: Place,
        scope: Scope,
        feed: Any,
        fetch_list: Any,
        return_numpy: bool,
        return_merged: bool,
        use_prune: bool = False,
        part: Part = part_of,
    ) -> list[Any]:
        self._follow()
        runner = self._prepared(place, scope)
        fetches = fetch_names(fetch_list)
        if runner.spec.is_dry:
            if fetches:
                raise UsageError(
                    f"{self._call}: with ExecutionStrategy._dry_run nothing is computed, so "
                    f"there is nothing to fetch, but fetch_list names {list(fetches)}"
                )
            return []
        results = runner.run(self._feeds(runner, feed), fetches, use_prune, part)
        if not self._is_data_parallel:
            return given_out(results[0], return_numpy)
        by_fetch = list(zip(*results, strict=True))
        if not return_merged:
            return [given_out(values, return_numpy) for values in by_fetch]
        names = [name for name in fetches if isinstance(name, str)]
        whole = (
            merged(self._call, name, values) for name, values in zip(names, by_fetch, strict=True)
        )
        return given_out(whole, return_numpy)

    def _feeds(self, runner: DataParallelRun, feed: Any) -> list[dict[str, Any]]:
        """A feed for each place; fewer, if there is less to feed and places may be left idle."""
        count = len(runner.places)
        feed = {} if feed is None else feed
        is_whole = isinstance(feed, dict) and not self._is_data_parallel
        if not is_whole and 0 < (enough := num_fed(self._program, feed)) < count:
            count = enough if self._may_leave_places_idle else count
        feeds = [feed] if is_whole else split_feed(self._call, self._program, feed, count)
        read = next_feeds(self._program, feeds[0], count) if self._program.readers else []
        if read and len(read) != count:
            if feed or not self._may_leave_places_idle:
                raise UsageError(
                    f"{self._call}: the DataLoader of the program has {len(read)} batches left "
                    f"for {count} places; "
                    "make it with drop_last=True"
                )
            return read
        return [{**own, **batch} for own, batch in zip(feeds, read, strict=True)] if read else feeds

    @property
    def _may_leave_places_idle(self) -> bool:
        """Whether the places combine nothing: the program does not train."""
        return self._is_data_parallel and not has_training(self._program.global_block().ops)

    def _prepared(self, place: Place, scope: Scope) -> DataParallelRun:
        runner = self._runner
        if runner is None:
            runner = self._runner = self._new_runner(place, scope)
        elif runner.replicas.scopes[0] is not scope:
            if not self._is_data_parallel:  # one place, whose variables are the scope's own
                runner.close()
                self._runner = self._new_runner(place, scope)
                return self._runner
            raise UsageError(
                f"{self._call}: this CompiledProgram belongs to the scope of its first run; make "
                "another for this scope"
            )
        self._check_loss()
        return runner

    def _compile(self, scope: Scope, place: Any) -> CompiledProgram:
        """Bind the program to a scope and a place before its first run; it cannot be bound to
        others later.
        """
        bound = (scope, to_place(place))
        if self._bound is not None and (self._bound[0] is not scope or self._bound[1] != bound[1]):
            raise UsageError(
                "CompiledProgram._compile: it has been compiled for another scope or place; make "
                "another CompiledProgram"
            )
        self._bound = bound
        self._require_shareable()
        return self

    def _new_runner(self, place: Place, scope: Scope) -> DataParallelRun:
        build, execution = (
            self._build_strategy or BuildStrategy(),
            self._exec_strategy or ExecutionStrategy(),
        )
        self._check_loss()
        places = self._choose_places(place) if self._is_data_parallel else [place]
        has_one_party = self._has_servers or (len(places) == 1 and build.num_trainers <= 1)
        spec = RunSpec.of(build, execution, has_one_party)
        if len(places) > 1 and not self._exchange.takes_places:
            raise NotSupported(
                f"{self._call}: the strategy of this program exchanges more than gradients "
                "between workers, so a worker runs it on one place, "
                f"not on {len(places)}; run the program itself, or start a worker per place"
            )
        if len(places) > 1 and self._has_servers:
            raise NotSupported(
                f"{self._call}: a program that trains through parameter servers runs on one "
                f"place, but {len(places)} were given; start more workers"
            )
        if len(places) > 1 and _updates_in_branches(self._program):
            raise NotSupported(
                f"{self._call}: an optimizer is used in a branch or a loop of the program, where "
                f"gradients cannot be averaged over {len(places)} places; run it on one place"
            )
        return DataParallelRun(
            self._program, places, self._replicas(places, scope), spec, self._exchange
        )

    def _choose_places(self, place: Place) -> list[Place]:
        if self._places is None and self._has_servers:
            self._places = [place]  # one step of the program is one step of the worker
        elif self._places is None:
            self._places = default_places(place.is_gpu_place())
        return self._places

    def _replicas(self, places: list[Place], scope: Scope) -> Replicas:
        source = self._share_vars_from
        devices = [p.device for p in places]
        if source is None:
            return Replicas(scope, devices)
        self._require_shareable()
        if source._runner is None:
            assert source._bound is not None  # it is compiled
            source._runner = source._new_runner(source._bound[1], source._bound[0])
        shared = source._runner.replicas
        if shared.devices != devices or shared.scopes[0] is not scope:
            raise UsageError(
                f"{self._call}: share_vars_from runs on {source._runner.places} in its own "
                f"scope, this program on {places}; "
                "both must have the same places and scope"
            )
        return shared

    def _require_shareable(self) -> None:
        source = self._share_vars_from
        if source is None:
            return
        if not source._is_data_parallel:
            raise UsageError(
                f"{self._call}: share_vars_from is not data parallel, so it has no variables on "
                "places to share; call with_data_parallel() on it first"
            )
        if source._runner is None and source._bound is None:
            raise UsageError(
                f"{self._call}: share_vars_from has not run yet, so it has no variables on its "
                "places to share; run it once first"
            )

    def _check_loss(self) -> None:
        if not self._is_data_parallel or self._checked_version == self._program.version:
            return
        variables = self._program.global_block().vars
        if self._loss_name is None:
            if has_training(self._program.global_block().ops):
                raise BadArgument(
                    f"{self._call}: the program has backward operators, so loss_name must be set "
                    "to the name of its loss"
                )
        elif self._loss_name not in variables:
            raise ProgramError(
                f"{self._call}: loss_name {self._loss_name!r} is no variable of the program."
                f"{nearest(str(self._loss_name), variables)}"
            )
        self._checked_version = self._program.version


def attached_exchange(program: Program) -> Exchange | None:
    """How the processes that train ``program`` together exchange what they must; None if it is
    trained alone.
    """
    attached = program.attachments.get(PreparedProgram)
    return attached._exchange if isinstance(attached, CompiledProgram) else None


def _check_type(call: str, argument: str, value: Any, wanted: type) -> None:
    if value is not None and not isinstance(value, wanted):
        raise DtypeError(
            f"{call}: {argument} must be a {wanted.__name__}, but received {type(value).__name__}"
        )


def _updates_in_branches(program: Program) -> bool:
    inner = (operator for block in program.blocks[1:] for operator in block.ops)
    return any(operator.role == OPTIMIZE for operator in inner)
