"""Update groups: parameters that one call of an update op takes.

An update rule sees a group and lists of values. In a step these are torch tensors, and the group
calls the op; where a step is recorded they are variables of a program, and the group records the op
(``static.record.update_group``). What parameters share a group is decided here for both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from argosy.foundation import torch_private as private
from argosy.foundation.errors import UsageError
from argosy.ops.table import Op
from argosy.optimizer.state import LOW_PRECISION, Clock, ParamState
from argosy.tensor.engine import Tensor, wrap

Options = dict[str, Any]

# What an update rule works on: torch tensors, or variables of a program.
Values = list[Any]


def rate_of(param: Tensor) -> Any:
    """The learning-rate multiplier that ParamAttr or the parameter group gave (a Tensor stands for
    the rate itself).
    """
    attributes = getattr(param, "optimize_attr", None)
    return 1.0 if attributes is None else attributes.get("learning_rate", 1.0)


@dataclass(frozen=True, slots=True)
class Shared:
    """What the parameters of a group have in common; ``indices`` are their positions among all."""

    indices: list[int]
    rate: Any
    regularizer: Any
    setting: Any
    options: Options
    keeps_rows: bool  # their gradients are row-sparse and stay so


def alike(
    params: Iterable[Tensor],
    options: Options,
    fallback: Any,
    setting_of: Callable[[Tensor, Options], Hashable],
    row_sparse: Collection[int],
    trait_of: Callable[[int], Hashable],
) -> list[Shared]:
    """Sort parameters by regulariser (``fallback`` for those without), by what the rule says of
    them and by ``trait_of``, which gives what else must be equal in a group, the rate included.
    """
    found: dict[Any, Shared] = {}
    for index, param in enumerate(params):
        own = getattr(param, "regularizer", None)
        regularizer = fallback if own is None else own
        setting, keeps_rows = setting_of(param, options), index in row_sparse
        key = (trait_of(index), id(regularizer), setting, keeps_rows)
        if key not in found:
            found[key] = Shared([], rate_of(param), regularizer, setting, options, keeps_rows)
        found[key].indices.append(index)
    return list(found.values())


class UpdateGroup(ABC):
    """Parameters of equal dtype, device, rate, decay, powers, step count and settings, with their
    state.

    ``slots`` are their accumulators by name, ``clock.tensor`` counts the steps of a rule that asks.
    """

    clock: Any
    slots: dict[str, Values]

    def __init__(self, shared: Shared, params: Values) -> None:
        self.params = params
        self.indices = shared.indices
        self.rate = shared.rate
        self.regularizer = shared.regularizer
        self.setting = shared.setting
        self.options = shared.options
        self.keeps_rows = shared.keeps_rows

    @abstractmethod
    def run(self, op: Op, *args: Any) -> None:
        """Apply an op that updates what ``borrow`` gave."""

    @abstractmethod
    def compute(self, op: Op, *args: Any) -> Any:
        """Apply an op; returns its result."""

    @abstractmethod
    def lr(self, base: Any) -> Any:
        """The learning rate of these parameters, given that of the optimizer."""

    @abstractmethod
    def borrow(self) -> Values:
        """What to update: the parameters, or, where the op cannot work on them, copies that are
        kept as masters or made anew each step.
        """

    @abstractmethod
    def give_back(self, work: Values) -> None:
        """Store what was borrowed and updated in the parameters, if it is not them."""

    @abstractmethod
    def fitted(self, grads: Values, work: Values) -> Values:
        """The gradients in the dtype and layout of what is updated."""

    @abstractmethod
    def dense(self, grads: Values) -> Values:
        """The gradients with every row."""

    @abstractmethod
    def penalized(self, regularizer: Any, params: Values, grads: Values) -> Values:
        """The gradients plus what a regulariser of the script's own says."""


class EagerGroup(UpdateGroup):
    """A group of a step: ops run at once, on torch tensors."""

    def __init__(
        self, shared: Shared, params: list[torch.Tensor], states: list[ParamState]
    ) -> None:
        super().__init__(shared, params)
        self.clock = Clock(states[0].clock.count, params[0].device)
        for state in states:
            state.clock = self.clock
        self.is_direct = all(is_direct(raw) for raw in params)
        self.masters = [s.master.raw for s in states if s.master is not None]
        self.slots = {name: [s.tensors[name].raw for s in states] for name in states[0].tensors}
        for name, power in states[0].powers.items():
            joint = power.raw.clone()
            for state in states:
                state.powers[name].raw = joint
            self.slots[name] = [joint]

    def run(self, op: Op, *args: Any) -> None:
        op.fn(*args)

    def compute(self, op: Op, *args: Any) -> Any:
        return op.fn(*args)

    def lr(self, base: float) -> float:
        return float(self.rate) if isinstance(self.rate, Tensor) else base * self.rate

    def borrow(self) -> list[torch.Tensor]:
        if self.is_direct:
            return self.params
        return self.masters or [_plain(raw) for raw in self.params]

    def give_back(self, work: list[torch.Tensor]) -> None:
        if not self.is_direct:
            private.foreach_copy_(self.params, work)

    def fitted(self, grads: list[torch.Tensor], work: list[torch.Tensor]) -> list[torch.Tensor]:
        dtype = work[0].dtype
        if not self.is_direct:
            return [g.to(dtype, memory_format=torch.contiguous_format) for g in grads]
        return grads if grads[0].dtype is dtype else [g.to(dtype) for g in grads]

    def dense(self, grads: list[torch.Tensor]) -> list[torch.Tensor]:
        return [g.to_dense() for g in grads]

    def penalized(self, regularizer: Any, params: Values, grads: Values) -> Values:
        pairs = zip(params, grads, strict=True)
        return [g + regularizer(wrap(p), wrap(g), None).raw for p, g in pairs]


def is_direct(raw: torch.Tensor) -> bool:
    """Whether an update may work on the parameter's own memory."""
    return raw.dtype not in LOW_PRECISION and raw.is_contiguous()


def _plain(raw: torch.Tensor) -> torch.Tensor:
    dtype = torch.float32 if raw.dtype in LOW_PRECISION else raw.dtype
    return raw.detach().to(dtype, memory_format=torch.contiguous_format, copy=True)


class EagerGroups:
    """The groups of one parameter group of an optimizer, and what they were built from.

    Building compares names, dtypes and settings; a step only asks whether what was built ``fits``
    the parameters that have gradients now, and builds anew when they, their settings or their
    tensors have changed.
    """

    def __init__(
        self,
        params: list[Tensor],
        raws: list[torch.Tensor],
        sparse: Sequence[int],
        options: Options,
    ) -> None:
        self.raws = raws
        self.traits = [(rate_of(p), p.__dict__.get("regularizer")) for p in params]
        self.sparse = list(sparse)
        self.options = dict(options)
        self.need_clip = [getattr(p, "need_clip", True) for p in params]
        self.groups: list[EagerGroup] = []

    def fits(
        self, params: list[Tensor], raws: list[torch.Tensor], sparse: list[int], options: Options
    ) -> bool:
        """Whether nothing that the groups rest on has changed."""
        if len(raws) != len(self.raws) or sparse != self.sparse or options != self.options:
            return False
        for param, raw, own, (rate, regularizer) in zip(
            params, raws, self.raws, self.traits, strict=True
        ):
            if raw is not own:
                return False
            fields = param.__dict__
            if fields.get("regularizer") is not regularizer:
                return False
            attributes = fields.get("optimize_attr")
            now = 1.0 if attributes is None else attributes.get("learning_rate", 1.0)
            if now is not rate and (
                isinstance(now, Tensor) or isinstance(rate, Tensor) or now != rate
            ):
                return False
        return True

    def fill(
        self,
        params: list[Tensor],
        states: list[ParamState],
        fallback: Any,
        setting_of: Callable[[Tensor, Options], Hashable],
    ) -> None:
        """Sort the parameters into groups."""

        def trait(index: int) -> Hashable:
            raw, rate = self.raws[index], self.traits[index][0]
            if not isinstance(rate, (int, float, Tensor)):
                raise UsageError(
                    f"Optimizer: the learning rate of parameter {params[index].name!r} must be a "
                    "number or a Tensor, "
                    f"but is {type(rate).__name__}"
                )
            rate = id(rate) if isinstance(rate, Tensor) else float(rate)
            state = states[index]
            powers = tuple(power.raw.item() for power in state.powers.values())
            return raw.dtype, raw.device, is_direct(raw), rate, state.clock.count, powers

        for shared in alike(params, self.options, fallback, setting_of, self.sparse, trait):
            raws = [self.raws[i] for i in shared.indices]
            self.groups.append(EagerGroup(shared, raws, [states[i] for i in shared.indices]))
