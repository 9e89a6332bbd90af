"""``dgc``: gradients become the direction of a momentum step of which workers exchange the largest
entries only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from argosy.distributed.fleet.planning.settings import Dgc
from argosy.distributed.fleet.stages.optimizer_stages import CompressedGradients
from argosy.distributed.fleet.stages.programs import points
from argosy.distributed.fleet.stages.programs.gradients import FleetExchange
from argosy.distributed.fleet.stages.programs.trainee import ProgramTrainee
from argosy.distributed.fleet.stages.programs.workers import Workers
from argosy.distributed.fleet.stages.rules import MomentumRule
from argosy.foundation.errors import NotSupported
from argosy.ops.table import Op
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.rows import row_names
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.parallel.exchange import Combiner
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import unique_name

__all__ = ["CompressingExchange"]


class CompressingExchange(FleetExchange):
    """Made while the program is recorded: it adds the velocities, what is not sent yet, and the
    count of steps, as variables.

    Each worker has its own.
    """

    combines_gradients = False
    takes_places = False

    def __init__(
        self,
        workers: Workers,
        settings: Dgc,
        momentum: MomentumRule,
        pairs: Sequence[tuple[Parameter, Variable]],
    ) -> None:
        super().__init__(workers)
        self._settings = settings
        self._momentum = momentum
        parameters = [p for p, _ in pairs]
        rows = row_names(parameters[0].block.ops)
        for param, grad in pairs:
            if grad.name in rows:
                raise NotSupported(
                    f"DistributedStrategy.dgc: parameter {param.name!r} has row-sparse gradients"
                )
            if param.regularizer is not None:
                raise NotSupported(
                    f"DistributedStrategy.dgc: parameter {param.name!r} has a regularizer of its "
                    "own; give weight_decay to Momentum"
                )
        self._u = {p.name: _state(p, "dgc_u") for p in parameters}
        self._v = {p.name: _state(p, "dgc_v") for p in parameters}
        self._step = Ref(
            recorder.new_state(unique_name.generate("dgc_step"), [1], torch.int64, 0).name
        )

    def operators(
        self, operators: list[Operator], fetches: Sequence[str], combiner: Combiner
    ) -> list[Operator]:
        def make(
            params: list[str], grads: list[str], is_merged: bool
        ) -> tuple[Op, tuple[Any, ...], list[str]]:
            lists = (
                [Ref(name) for name in params],
                [self._u[name] for name in params],
                [self._v[name] for name in params],
            )
            return Op("compress_gradients", self._directions), (*lists, self._step), grads

        return points.behind_gradients(operators, self._u, make)

    @torch.no_grad()
    def _directions(
        self,
        grads: list[torch.Tensor],
        params: list[torch.Tensor],
        u: list[torch.Tensor],
        v: list[torch.Tensor],
        step: torch.Tensor,
    ) -> list[torch.Tensor]:
        trainee = ProgramTrainee(self.group, params, grads, momentum=self._momentum)
        stage = CompressedGradients(trainee, self._settings)
        stage.use_state(int(step), u, v)
        stage.before_step(None)
        step.add_(1)
        return trainee.gradients()

    def agree(self, tensors: Mapping[str, torch.Tensor], trainers: Any) -> None:
        own = {ref.name for ref in (*self._u.values(), *self._v.values())}
        super().agree({name: t for name, t in tensors.items() if name not in own}, trainers)


def _state(param: Parameter, label: str) -> Ref:
    return Ref(
        recorder.new_state(
            unique_name.generate(f"{param.name}_{label}"), param.shape, param.raw.dtype, 0.0
        ).name
    )
