"""LARS and LAMB for plain PyTorch, with the update rules of ``paddle.optimizer``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from argosy.ops.training import adam_updates, updates
from argosy.ops.training.updates import rounded

__all__ = ["Lamb", "Lars"]


class _Rule(torch.optim.Optimizer):
    """Collects the parameters of a group that have gradients, with their state, and hands them to
    ``_update``.
    """

    _slots: tuple[str, ...] = ()

    def _update(
        self,
        group: dict[str, Any],
        params: list[torch.Tensor],
        grads: list[torch.Tensor],
        slots: dict[str, list[torch.Tensor]],
        step: torch.Tensor,
    ) -> None:
        raise NotImplementedError

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            by_step: dict[float, list[torch.Tensor]] = {}
            for param in group["params"]:
                if param.grad is not None:
                    state = self.state[param]
                    if not state:
                        state["step"] = torch.zeros(())
                        state.update({name: torch.zeros_like(param) for name in self._slots})
                    by_step.setdefault(float(state["step"]), []).append(param)
            for count, params in by_step.items():
                grads = [
                    p.grad.to_dense() if p.grad.is_sparse else p.grad
                    for p in params
                    if p.grad is not None
                ]
                slots = {name: [self.state[p][name] for p in params] for name in self._slots}
                self._update(group, params, grads, slots, torch.tensor(count))
                for param in params:
                    self.state[param]["step"] += 1
        return loss


class Lars(_Rule):
    """Momentum whose rate for each tensor is scaled by ``lars_coeff·‖param‖ / (‖grad‖ +
    lars_weight_decay·‖param‖ + epsilon)``.

    A group with ``lars_weight_decay=0`` gets plain momentum.
    """

    _slots = ("velocity",)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float = 0.9,
        lars_coeff: float = 0.001,
        lars_weight_decay: float = 0.0005,
        epsilon: float = 0.0,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "lars_coeff": lars_coeff,
                "lars_weight_decay": lars_weight_decay,
                "epsilon": epsilon,
            },
        )

    def _update(
        self,
        group: dict[str, Any],
        params: list[torch.Tensor],
        grads: list[torch.Tensor],
        slots: dict[str, list[torch.Tensor]],
        step: torch.Tensor,
    ) -> None:
        updates.lars_momentum_.fn(
            params, grads, slots["velocity"], group["lr"], group["momentum"], group["lars_coeff"],
            group["lars_weight_decay"], group["epsilon"],
        )  # fmt: skip


class Lamb(_Rule):
    """Adam with decay in the direction, and a rate per tensor of ‖param‖ / ‖direction‖.

    A group with ``lamb_weight_decay=0`` keeps the plain rate.
    """

    _slots = ("moment1", "moment2")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        lamb_weight_decay: float = 0.01,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "lamb_weight_decay": lamb_weight_decay}
        )

    def _update(
        self,
        group: dict[str, Any],
        params: list[torch.Tensor],
        grads: list[torch.Tensor],
        slots: dict[str, list[torch.Tensor]],
        step: torch.Tensor,
    ) -> None:
        dtype = torch.float64 if params[0].dtype is torch.float64 else torch.float32
        following = step.item() + 1.0
        powers = (
            adam_updates.power(rounded(beta, dtype), following, dtype) for beta in group["betas"]
        )
        pows = [[torch.tensor([power], dtype=dtype)] for power in powers]
        adam_updates.lamb_.fn(
            params, grads, slots["moment1"], slots["moment2"], *pows, group["lr"], *group["betas"],
            group["eps"],
            group["lamb_weight_decay"],
        )  # fmt: skip
