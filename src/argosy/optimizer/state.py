"""What an optimizer remembers of each parameter: accumulators under Paddle's names, float32
masters, step counts.

Adam and its relatives keep the powers of their decay rates for each parameter. Parameters that one
call updates share the memory of theirs, which are equal, so that a step moves two numbers on and
not two per parameter; whoever is given a state dict is given powers apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import CheckpointError, NotSupported, nearest
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
    """An accumulator that holds ``beta`` to the power of the next step, shape [1]."""

    name: str
    beta: float


class Clock:
    """The step count of some parameters, for rules that do something every few steps."""

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
    powers: dict[str, Tensor] = field(default_factory=dict)

    def take_powers_apart(self) -> None:
        """Let the powers have memory of their own, so that they can be written."""
        for tensor in self.powers.values():
            tensor.raw = tensor.raw.clone()


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
            tensor = state.powers[slot.name] = wrap(torch.full((1,), slot.beta, dtype=dtype))
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
        """Every accumulator under its name, masters under ``master_weights``; groups that were
        made before are not to be used any more.
        """
        self._take_apart()
        saved: dict[str, Any] = {
            t.name: t for named in self.accumulators.values() for t in named.values()
        }
        if not saved:
            saved.update(self.waiting)
        if self.masters or self.waiting_masters:
            saved["master_weights"] = {**self.waiting_masters, **self.masters}
        return saved

    def _take_apart(self) -> None:
        for state in self.by_param.values():
            state.take_powers_apart()

    def load(self, values: dict[str, Any], masters: dict[str, Any]) -> None:
        """Overwrite what exists; keep the rest until the first step of the parameter it belongs
        to.
        """
        existing = [t for named in self.accumulators.values() for t in named.values()]
        for tensor in existing:
            if tensor.name not in values:
                raise StateMismatch(_not_found(tensor.name, values))
        self._take_apart()
        for tensor in existing:
            _fill(tensor, values[tensor.name], tensor.name)
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
