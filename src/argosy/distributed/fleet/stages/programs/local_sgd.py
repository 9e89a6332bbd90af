"""``localsgd`` and ``adaptive_localsgd``: workers update on their own, and take the mean of their
parameters now and then.

The counts are a variable of the program, so that what saves and loads variables saves and loads
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from argosy.distributed.fleet.stages.programs import points
from argosy.distributed.fleet.stages.programs.gradients import FleetExchange
from argosy.ops.table import Op
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.local_sgd import AdaptiveLocalSGD, LocalSGD
from argosy.static.ir.operator import Number, Operator, Ref
from argosy.static.parallel.exchange import Combiner
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import unique_name

__all__ = ["AveragedParameters"]

_COUNTS = ("num_steps", "last_meeting", "k_steps")
_FIRST = ("first_loss", "first_lr")


class AveragedParameters(FleetExchange):
    """No gradients are exchanged. ``loss`` and ``rate`` are variables that only the adaptive form
    reads.

    Made while the program is recorded: it adds the variable that holds the counts.
    """

    combines_gradients = False
    takes_places = False

    def __init__(
        self,
        group: Group,
        settings: Mapping[str, Any],
        is_adaptive: bool,
        parameters: Sequence[str],
        loss: str,
        rate: str,
    ) -> None:
        super().__init__(group)
        self._settings = settings
        self._is_adaptive = is_adaptive
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
        made = self._made(params)
        values = dict(zip(self._names, state.tolist(), strict=True))
        if values["num_steps"]:
            made.load_state_dict(values)
        if isinstance(made, AdaptiveLocalSGD):
            loss, rate = read
            made.step(loss.reshape(()), rate)
        else:
            made.step()
        kept = made.state_dict()
        state.copy_(torch.tensor([kept[name] for name in self._names], dtype=state.dtype))

    def _made(self, params: list[torch.Tensor]) -> LocalSGD | AdaptiveLocalSGD:
        begin = self._settings["begin_step"]
        if self._is_adaptive:
            return AdaptiveLocalSGD(params, self.group, self._settings["init_k_steps"], begin)
        return LocalSGD(params, self.group, self._settings["k_steps"], begin)
