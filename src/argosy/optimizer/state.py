"""What an optimizer remembers of each parameter: accumulators under Paddle's names, float32
masters, step counts.

Paddle stores a running power of each beta per parameter. Here the step count is stored, in a
``Clock`` that parameters with equal counts share, and powers are computed when a state dict is
asked for; loading turns powers back into counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import CheckpointError, NotSupported, nearest
from argosy.ops.training.adam_updates import power
from argosy.ops.training.updates import rounded
from argosy.tensor.engine import Tensor, to_raw, unique_name, wrap

LOW_PRECISION = (torch.float16, torch.bfloat16)


class StateMismatch(CheckpointError, AssertionError):
    """A state dict does not belong to this optimizer."""


@dataclass(frozen=True)
class Slot:
    """One accumulator of an optimizer: zeros (or ``fill``) of the parameter's shape (or ``shape``)
    and dtype.
    """

    name: str
    fill: float = 0.0
    shape: tuple[int, ...] | None = None
    dtype: torch.dtype | None = None


@dataclass(frozen=True)
class Power:
    """An accumulator that holds ``beta`` to the number of steps plus one, shape [1]."""

    name: str
    beta: float


class Clock:
    """The step count of some parameters, as the 0-d tensor that fused kernels read."""

    __slots__ = ("tensor",)

    def __init__(self, count: float, device: torch.device) -> None:
        self.tensor = torch.tensor(count, dtype=torch.float32, device=device)

    @property
    def count(self) -> float:
        return self.tensor.item()


@dataclass
class ParamState:
    """Everything remembered of one parameter."""

    clock: Clock
    master: Tensor | None = None
    tensors: dict[str, Tensor] = field(default_factory=dict)
    powers: dict[str, tuple[Tensor, float]] = field(default_factory=dict)

    def refresh_powers(self) -> None:
        """Write the powers that belong to the step count."""
        for tensor, beta in self.powers.values():
            tensor.raw.fill_(power(beta, self.clock.count + 1.0, tensor.raw.dtype))

    def restart_clock(self) -> None:
        """Take the step count from the powers."""
        if self.powers:
            count = steps_from_powers(
                [(beta, tensor.raw.item()) for tensor, beta in self.powers.values()]
            )
            self.clock = Clock(count, self.clock.tensor.device)


def steps_from_powers(powers: Sequence[tuple[float, float]]) -> float:
    """The step count n for which every ``beta ** (n + 1)`` is the given power.

    The largest beta tells most: its power is the last to vanish. A power that no whole number of
    steps gives, as another program may have stored, gives a fraction.
    """
    beta, stored = max(powers)
    if beta <= 0.0 or stored >= 1.0:
        return 0.0
    if stored <= 0.0:
        return 1e7  # so late that no bias is left to correct
    steps = max(math.log(stored) / math.log(beta) - 1.0, 0.0)
    whole = float(round(steps))
    near = [
        n for n in (whole, whole + 1.0, whole - 1.0) if n >= 0.0 and power(beta, n + 1.0) == stored
    ]
    if near:
        return near[0]
    return whole if abs(steps - whole) < 1e-2 else steps


class StateStore:
    """The states of an optimizer's parameters by name, with the loaded values that wait for their
    first step.
    """

    def __init__(self, prefix: str | None) -> None:
        self._prefix = prefix
        self.by_param: dict[str, ParamState] = {}
        self.accumulators: dict[str, dict[str, Tensor]] = {}
        self.recorded: dict[str, dict[str, Any]] = {}  # variables of the last program
        self.masters: dict[str, Tensor] = {}
        self.waiting: dict[str, Any] = {}
        self.waiting_masters: dict[str, Any] = {}

    def get(self, param: Tensor, slots: Sequence[Slot | Power], keep_master: bool) -> ParamState:
        """The state of ``param``, made at its first step."""
        state = self.by_param.get(param.name)
        raw = param.raw
        needs_master = keep_master and raw.dtype in LOW_PRECISION
        if state is not None and (state.master is not None) == needs_master:
            return state
        if param.rebind is not None:
            raise NotSupported(
                f"parameter {param.name!r} belongs to a static program, in which this optimizer "
                "cannot work; "
                "those of paddle.optimizer do, through minimize(loss)"
            )
        state = ParamState(Clock(0.0, raw.device))
        owner = param.name
        if needs_master:
            state.master = self._make_master(param)
            owner = state.master.name
        for slot in slots:
            self._make(state, owner, slot, raw)
        state.restart_clock()
        self.by_param[param.name] = state
        return state

    def _make_master(self, param: Tensor) -> Tensor:
        master = wrap(
            param.raw.detach().to(torch.float32, memory_format=torch.contiguous_format, copy=True)
        )
        loaded = self.waiting_masters.pop(param.name, None)
        name = getattr(loaded, "_name", None)
        master.name = name or unique_name.generate(f"{param.name}_fp32_master")
        if loaded is not None:
            _fill(master, loaded, master.name)
        self.masters[param.name] = master
        return master

    def _make(self, state: ParamState, owner: str, slot: Slot | Power, raw: torch.Tensor) -> None:
        label = f"{self._prefix}_{slot.name}" if self._prefix else slot.name
        dtype = torch.float32 if raw.dtype in LOW_PRECISION else raw.dtype
        if isinstance(slot, Power):
            beta = rounded(slot.beta, dtype)
            tensor = wrap(torch.full((1,), beta, dtype=dtype))
            state.powers[slot.name] = tensor, beta
        else:
            shape = raw.shape if slot.shape is None else slot.shape
            tensor = wrap(
                torch.full(shape, slot.fill, dtype=slot.dtype or dtype, device=raw.device)
            )
            state.tensors[slot.name] = tensor
        tensor.name = unique_name.generate(f"{owner}_{label}")
        tensor.persistable = True
        if self.waiting:
            if tensor.name not in self.waiting:
                raise StateMismatch(_not_found(tensor.name, self.waiting))
            _fill(tensor, self.waiting.pop(tensor.name), tensor.name)
        self.accumulators.setdefault(label, {})[owner] = tensor

    def save(self) -> dict[str, Any]:
        """Every accumulator under its name, masters under ``master_weights``."""
        for state in self.by_param.values():
            state.refresh_powers()
        saved: dict[str, Any] = {
            t.name: t for named in self.accumulators.values() for t in named.values()
        }
        if not saved:
            saved.update(self.waiting)
        if self.masters or self.waiting_masters:
            saved["master_weights"] = {**self.waiting_masters, **self.masters}
        return saved

    def load(self, values: dict[str, Any], masters: dict[str, Any]) -> None:
        """Overwrite what exists; keep the rest until the first step of the parameter it belongs
        to.
        """
        existing = [t for named in self.accumulators.values() for t in named.values()]
        for tensor in existing:
            if tensor.name not in values:
                raise StateMismatch(_not_found(tensor.name, values))
        for tensor in existing:
            _fill(tensor, values[tensor.name], tensor.name)
        for state in self.by_param.values():
            state.restart_clock()
        known = {tensor.name for tensor in existing}
        self.waiting = {name: value for name, value in values.items() if name not in known}
        self.waiting_masters = {}
        for name, value in masters.items():
            if name in self.masters:
                _fill(self.masters[name], value, self.masters[name].name)
            else:
                self.waiting_masters[name] = value


def _not_found(name: str, values: dict[str, Any]) -> str:
    return (
        f"Optimizer.set_state_dict: optimizer Tensor {name} not found in the state dict."
        f"{nearest(name, values)} Keys carry the parameters' names, and a number that counts the "
        "optimizers built on them."
    )


def _fill(tensor: Tensor, value: Any, name: str) -> None:
    raw = value.raw if isinstance(value, Tensor) else value
    if not isinstance(raw, torch.Tensor):
        raw = to_raw(np.asarray(raw))
    if raw.numel() != tensor.raw.numel() or (raw.ndim and raw.shape != tensor.raw.shape):
        raise StateMismatch(
            f"Optimizer.set_state_dict: {name} has shape {list(raw.shape)} in the state dict, "
            f"here {tensor.shape}"
        )
    with torch.no_grad():
        tensor.raw.copy_(raw.view(tensor.raw.shape))
