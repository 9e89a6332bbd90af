"""The step count of Adam and its relatives in Paddle's files: powers of the decay rates, kept for
each parameter.

Where a program here counts the steps of a group of parameters in one variable, Paddle keeps ``beta1
** (steps + 1)`` and the like of each parameter. These are written beside, or instead of, the count,
and read where the count is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import CheckpointError
from argosy.ops.training.adam_updates import power
from argosy.ops.training.updates import rounded
from argosy.optimizer.state import steps_from_powers
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope


@dataclass(frozen=True, slots=True)
class Powers:
    """The variables of Paddle's that stand for one step count: by parameter, the name and the rate
    of each.
    """

    step: str
    by_parameter: dict[str, list[tuple[str, float]]]
    dtype: torch.dtype = torch.float32

    def __iter__(self) -> Iterator[str]:
        return (name for pairs in self.by_parameter.values() for name, _ in pairs)

    def values(self, steps: float) -> dict[str, np.ndarray]:
        """The powers after ``steps`` steps."""
        kind = np.float64 if self.dtype is torch.float64 else np.float32
        return {
            name: np.array([power(rounded(rate, self.dtype), steps + 1.0, self.dtype)], kind)
            for pairs in self.by_parameter.values()
            for name, rate in pairs
        }

    def steps(self, values: Mapping[str, Any], source: str) -> float:
        """How many steps lead to these powers."""
        counts = {
            parameter: steps_from_powers(
                [
                    (rounded(rate, self.dtype), float(np.asarray(values[name]).item()))
                    for name, rate in pairs
                ]
            )
            for parameter, pairs in self.by_parameter.items()
        }
        if len(set(counts.values())) > 1:
            raise CheckpointError(
                f"{source}: the powers say that parameters were updated different numbers of "
                f"times, {counts}; "
                f"in the program they share the count {self.step!r}"
            )
        return next(iter(counts.values()))


def step_powers(program: Program) -> dict[str, Powers]:
    """What stands in Paddle's files for the step counts of ``program``, by the name of the
    count.
    """
    found = (_powers_of(operator) for block in program.blocks for operator in block.ops)
    return {powers.step: powers for powers in found if powers is not None}


def written_powers(program: Program, scope: Scope) -> dict[str, np.ndarray]:
    """The powers that belong to the step counts in ``scope``, by Paddle's names."""
    found: dict[str, np.ndarray] = {}
    for powers in step_powers(program).values():
        found.update(powers.values(scope.holding(powers.step).get_tensor().raw_tensor().item()))
    return found


def with_counts(
    program: Program, state: Mapping[str, np.ndarray], source: str
) -> dict[str, np.ndarray]:
    """``state`` with the step counts that Paddle's own lacks."""
    full = dict(state)
    for powers in step_powers(program).values():
        if powers.step not in full and all(name in full for name in powers):
            full[powers.step] = np.array(powers.steps(full, source), np.float32)
    return full


def _powers_of(operator: Operator) -> Powers | None:
    named = operator.named_args
    step, params = named.get("step"), named.get("params") or ()
    moments = named.get("moment1s") or named.get("moments") or ()
    has_both = "moment1s" in named  # Adamax keeps the powers of its first rate only
    if not isinstance(step, Ref) or not moments or len(moments) != len(params):
        return None
    if not all(isinstance(named.get(r), float) for r in ("beta1", "beta2")[: 1 + has_both]):
        return None
    label = "moment1" if has_both else "moment"
    rates = [(1, named["beta1"]), (2, named["beta2"])] if has_both else [(1, named["beta1"])]
    held = operator.block.find_var_recursive(moments[0].name)
    assert held is not None  # an operator of the block names it
    return Powers(
        step.name,
        {
            parameter.name: [
                (
                    parameter.name
                    + moment.name[len(parameter.name) :].replace(label, f"beta{i}_pow_acc", 1),
                    rate,
                )
                for i, rate in rates
            ]
            for parameter, moment in zip(params, moments, strict=True)
        },
        held.raw.dtype,
    )
