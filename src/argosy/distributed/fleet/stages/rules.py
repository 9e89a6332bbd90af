"""Rules that take the place of the optimizer's own: ``lars`` and ``dgc`` that of Momentum, ``lamb``
that of Adam. What they are asked for and what they refuse; the adapters build them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.foundation.errors import NotSupported

__all__ = ["RULES", "MomentumRule", "refuse", "replaced"]

RULES = ("lars", "lamb")


@dataclass(frozen=True, kw_only=True)
class MomentumRule:
    """The momentum that ``dgc`` takes over, with decay and clipping; what is left of the optimizer
    is a step along the direction that it gives.
    """

    momentum: float = 0.0
    use_nesterov: bool = False
    clip_norm: float | None = None
    weight_decay: float = 0.0


def replaced(plan: Plan, optimizer: Any, builders: Mapping[str, Callable[..., Any]]) -> Any:
    """The optimizer that does what ``plan`` says in the place of ``optimizer``, made by the builder
    for its rule; ``optimizer`` itself where no stage replaces the rule. Such stages exclude each
    other.
    """
    for stage in plan:
        if stage.name in builders:
            return builders[stage.name](optimizer, stage)
    return optimizer


def refuse(switch: str, optimizer: Any, options: Mapping[str, Any]) -> None:
    """NotSupported for the first of ``options`` of the optimizer that is set: the rule of
    ``switch`` has nothing for it.
    """
    for option, value in options.items():
        if value:
            raise NotSupported(
                f"DistributedStrategy.{switch}: {type(optimizer).__name__}({option}={value!r}) "
                "has no counterpart in its rule"
            )
