"""The variables of a running program, as stages see them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.distributed.fleet.stages.rules import MomentumRule
from argosy.distributed.fleet.stages.trainee import Trainee
from argosy.runtime.comm.group import Group

__all__ = ["ProgramTrainee"]


class ProgramTrainee(Trainee):
    """What one operator was given: the values of parameters and, where it takes them, gradients,
    which then are in ``param.grad`` of ``parameters()``. Nothing is written into those of the
    program.
    """

    def __init__(
        self,
        group: Group,
        params: Sequence[torch.Tensor],
        grads: Sequence[torch.Tensor] | None = None,
        rate: float = 0.0,
        momentum: MomentumRule = MomentumRule(),
    ) -> None:
        super().__init__(group, momentum=momentum)
        self._params = [p.detach() for p in params]
        self._rate = rate
        if grads is not None:
            for param, grad in zip(self._params, grads, strict=True):
                param.grad = grad.detach()

    def parameters(self) -> list[torch.Tensor]:
        return self._params

    def gradients(self) -> list[torch.Tensor]:
        return [p.grad for p in self._params if p.grad is not None]

    def learning_rate(self) -> float:
        return self._rate
