"""``minimize`` of a distributed optimizer while a program is being recorded: the stages of the plan
become part of the program.

Mixed precision, recomputation and merged gradients are recorded. What workers exchange is not: it
is an ``Exchange`` in the CompiledProgram that is attached to the program, where
``Executor.run(program)`` finds it. So a test copy, or the saved program in one process, runs
without communication.
"""

from __future__ import annotations

import contextlib
from typing import Any

from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.distributed.fleet.planning.settings import (
    AdaptiveLocalSgd,
    Amp,
    Dgc,
    GradientMerge,
    GradientScale,
    LocalSgd,
    Recompute,
    Sharding,
)
from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.distributed.fleet.stages.layer_trainee import momentum_of
from argosy.distributed.fleet.stages.programs.amp import with_mixed_precision
from argosy.distributed.fleet.stages.programs.dgc import CompressingExchange
from argosy.distributed.fleet.stages.programs.gradients import FleetExchange, MergedExchange
from argosy.distributed.fleet.stages.programs.local_sgd import AveragingExchange
from argosy.distributed.fleet.stages.programs.rounding import rounded_gradients
from argosy.distributed.fleet.stages.programs.sharding import ShardedExchange, full_state
from argosy.distributed.fleet.stages.programs.startup import EqualStart
from argosy.distributed.fleet.stages.programs.workers import Workers
from argosy.foundation.errors import NotSupported, UsageError
from argosy.static import BuildStrategy, CompiledProgram
from argosy.static.amp.decorator import OptimizerWithMixedPrecision
from argosy.static.parallel.compiled import attached_exchange
from argosy.static.record.gradient_merge import record_gradient_merge
from argosy.static.record.recompute import recompute_program
from argosy.static.record.recorder import program_guard
from argosy.static.record.recorder import recorder as program_recorder

__all__ = ["ProgramRecorder", "full_state"]

_SCALES = {"sum": "One", "customized": "Customized"}


class ProgramRecorder:
    """Records ``minimize(loss)`` of the optimizer ``given`` as ``plan`` says, for ``workers``, None
    if there is one. After that, ``amp_init`` and the like are those of the
    mixed-precision optimizer: ``mixed``, the script's own, or the plan's.
    """

    def __init__(
        self,
        plan: Plan,
        given: Any,
        strategy: DistributedStrategy,
        workers: Workers | None,
        mixed: OptimizerWithMixedPrecision | None = None,
    ) -> None:
        if mixed is not None and "amp" in plan:
            raise NotSupported(
                "DistributedStrategy.amp: the optimizer has mixed precision from "
                "static.amp.decorate already; use one of the two"
            )
        if "dgc" in plan and "gradient_scale" in plan:
            raise NotSupported(
                "DistributedStrategy.dgc: it averages over workers; gradient_scale_configs must "
                "be 'avg'"
            )
        self._plan = plan
        self._given = given
        self._strategy = strategy
        self._job_workers = workers
        self._mixed: Any = mixed
        self.is_done = False  # whether it has recorded an update

    @property
    def mixed_precision(self) -> Any:
        """The optimizer that has recorded mixed precision."""
        if self._mixed is None:
            has_amp = "amp" in self._plan
            raise UsageError(
                "call minimize() first"
                if has_amp
                else "DistributedStrategy.amp is off, so there is no loss scaling"
            )
        return self._mixed

    def __call__(
        self, optimizer: Any, loss: Any, startup_program: Any, parameters: Any, no_grad_set: Any
    ) -> Any:
        pairs = self.backward(optimizer, loss, startup_program, parameters, no_grad_set)
        return self.apply(optimizer, loss, startup_program, pairs), pairs

    def backward(
        self, optimizer: Any, loss: Any, startup_program: Any, parameters: Any, no_grad_set: Any
    ) -> Any:
        """Record the backward pass; returns the (parameter, gradient) pairs."""
        plan, program = self._plan, loss.block.program
        _refuse_second(plan, program)
        wrapped = self._with_precision(optimizer)
        pairs = wrapped.backward(loss, startup_program, parameters, no_grad_set)
        if "recompute" in plan:
            recompute_program(program, list(plan[Recompute].checkpoints))
        return pairs

    def apply(self, optimizer: Any, loss: Any, startup_program: Any, pairs: Any) -> Any:
        """Record what follows ``backward``; returns the operators of the update."""
        plan, program = self._plan, loss.block.program
        wrapped = optimizer if self._mixed is None else self._mixed
        with program_guard(program, startup_program):
            exchange = self._exchange(pairs, optimizer)
            taken = rounded_gradients(pairs) if "fp16_allreduce" in plan else pairs
            operators = self._update(wrapped, optimizer, taken, exchange)
            if "localsgd" in plan or "adaptive_localsgd" in plan:
                exchange = self._averaged_parameters(pairs, loss, optimizer, program)
            self._attach(program, exchange)
        self.is_done = True
        return operators

    def exchange_gradients(self, program: Any) -> None:
        """Have workers average the gradients of a program that is recorded already."""
        if self._job_workers is not None:
            self._attach(program, FleetExchange(self._job_workers))

    def _with_precision(self, optimizer: Any) -> Any:
        if "amp" in self._plan:
            self._mixed = with_mixed_precision(optimizer, self._plan[Amp])
        elif self._mixed is not None:
            # that of the plan, which may have replaced the rule
            self._mixed.inner = optimizer
        return optimizer if self._mixed is None else self._mixed

    # -- the update
    # ----------------------------------------------------------------------------------------------

    def _update(self, wrapped: Any, optimizer: Any, pairs: Any, exchange: Any) -> Any:
        """Record everything behind the gradients; with sharding, this worker's share of it."""
        shares = exchange if isinstance(exchange, ShardedExchange) else None
        before = set(pairs[0][0].block.vars)

        def apply(found: Any) -> Any:
            return wrapped.apply_gradients(found if shares is None else shares.select(found))

        with contextlib.nullcontext() if shares is None else shares.updating_own(optimizer):
            merge = self._plan.get(GradientMerge)
            operators = (
                apply(pairs)
                if merge is None
                else record_gradient_merge(pairs, merge.k_steps, merge.avg, apply)
            )
        if shares is not None:
            shares.note_state(before, set(pairs[0][0].block.vars))
        return operators

    # -- what workers exchange
    # ------------------------------------------------------------------------------------

    def _exchange(self, pairs: Any, optimizer: Any) -> FleetExchange | None:
        plan, workers = self._plan, self._job_workers
        if workers is None:
            return None
        is_half, is_merged = "fp16_allreduce" in plan, "gradient_merge" in plan
        if "dgc" in plan:
            return CompressingExchange(workers, plan[Dgc], momentum_of(self._given), pairs)
        if "sharding" in plan:
            is_sum = "gradient_scale" in plan
            return ShardedExchange(workers, plan[Sharding], pairs, optimizer, is_sum, is_half)
        return (MergedExchange if is_merged else FleetExchange)(workers, is_half)

    def _averaged_parameters(
        self, pairs: Any, loss: Any, optimizer: Any, program: Any
    ) -> AveragingExchange:
        settings = self._plan.get(AdaptiveLocalSgd) or self._plan[LocalSgd]
        rate = next((s.name for s in program.rates if s.optimizer is optimizer), "")
        if isinstance(settings, AdaptiveLocalSgd) and not rate:
            rate = optimizer.rate.name  # the program computes it
        names = [p.name for p, _ in pairs]
        assert self._job_workers is not None
        return AveragingExchange(self._job_workers, settings, names, loss.name, rate)

    def _attach(self, program: Any, exchange: FleetExchange | None) -> None:
        if exchange is None:
            return
        startup, execution = program_recorder.startup, self._strategy.execution_strategy
        CompiledProgram.attach(program, self._build_strategy(), exchange, execution)
        CompiledProgram.attach(
            startup, self._build_strategy(), EqualStart(exchange.workers, program)
        )

    def _build_strategy(self) -> BuildStrategy:
        """How a run of the program works together with the other workers."""
        plan, workers = self._plan, self._job_workers
        assert workers is not None
        build: BuildStrategy = self._strategy.build_strategy
        build.num_trainers, build.trainer_id = workers.nranks, workers.rank
        build.sync_batch_norm = "sync_batch_norm" in plan
        if "gradient_scale" in plan:
            name = _SCALES[plan[GradientScale].scale_strategy]
            build.gradient_scale_strategy = getattr(BuildStrategy.GradientScaleStrategy, name)
        return build


def _refuse_second(plan: Plan, program: Any) -> None:
    """Two losses of one program can be trained where all that workers exchange are gradients, alike
    for both.
    """
    exchange = attached_exchange(program)
    if exchange is None:
        return
    own = ("dgc", "sharding", "localsgd", "adaptive_localsgd", "gradient_merge")
    if type(exchange) is not FleetExchange or any(name in plan for name in own):
        raise NotSupported(
            "minimize: another loss of this program is trained already; the strategy's dgc, "
            "sharding, localsgd and gradient_merge take one loss per program"
        )
