"""``localsgd`` and ``adaptive_localsgd``: workers update on their own, and take the mean of their
parameters now and then.

The counts are a variable of the program, so that what saves and loads variables saves and loads
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.distributed.fleet.planning.settings import AdaptiveLocalSgd, LocalSgd
from argosy.distributed.fleet.stages.optimizer_stages import (
    AdaptivelyAveragedParameters,
    AveragedParameters,
)
from argosy.distributed.fleet.stages.programs import points
from argosy.distributed.fleet.stages.programs.gradients import FleetExchange
from argosy.distributed.fleet.stages.programs.trainee import ProgramTrainee
from argosy.distributed.fleet.stages.programs.workers import Workers
from argosy.ops.table import Op
from argosy.static.ir.operator import Number, Operator, Ref
from argosy.static.parallel.exchange import Combiner
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import unique_name

__all__ = ["AveragingExchange"]

_COUNTS = ("num_steps", "last_meeting", "k_steps")
_FIRST = ("first_loss", "first_lr")


class AveragingExchange(FleetExchange):
    """No gradients are exchanged. ``loss`` and ``rate`` are variables that only the adaptive form
    reads.

    Made while the program is recorded: it adds the variable that holds the counts.
    """

    combines_gradients = False
    takes_places = False

    def __init__(
        self,
        workers: Workers,
        settings: LocalSgd | AdaptiveLocalSgd,
        parameters: Sequence[str],
        loss: str,
        rate: str,
    ) -> None:
        super().__init__(workers)
        self._settings = settings
        is_adaptive = isinstance(settings, AdaptiveLocalSgd)
        self._parameters = [Ref(name) for name in parameters]
        self._read = (Ref(loss), Number(rate)) if is_adaptive else ()
        self._names = _COUNTS + (_FIRST if is_adaptive else ())
        state = recorder.new_state(
            unique_name.generate("local_sgd_counts"), [len(self._names)], torch.float64, 0.0
        )
        self._state = Ref(state.name)

    def operators(
        self, operators: list[Operator], fetches: Sequence[str], combiner: Combiner
    ) -> list[Operator]:
        operators = points.behind_overflow_checks(operators, self.overflow_op())
        args = (self._parameters, self._state, *self._read)
        op = Op("average_parameters_", self._step, mutates=("params", "state"))
        return points.behind_updates(operators, op, args, [*self._parameters, self._state])

    @torch.no_grad()
    def _step(self, params: list[torch.Tensor], state: torch.Tensor, *read: Any) -> None:
        """Count a step, and average if it is time to; ``state`` holds the counts between steps."""
        loss, rate = read or (None, 0.0)
        trainee = ProgramTrainee(self.group, params, rate=rate)
        stage = (
            AdaptivelyAveragedParameters(trainee, self._settings)
            if isinstance(self._settings, AdaptiveLocalSgd)
            else AveragedParameters(trainee, self._settings)
        )
        values = dict(zip(self._names, state.tolist(), strict=True))
        if values["num_steps"]:
            stage.set_state_dict(values)
        stage.after_step(None if loss is None else loss.reshape(()))
        kept = stage.state_dict()
        state.copy_(torch.tensor([kept[name] for name in self._names], dtype=state.dtype))
