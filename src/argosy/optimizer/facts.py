"""What packages above may ask of an optimizer, and change in it: its base, so that they need none
of its attributes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from argosy.optimizer.state import ParamState, Power, Slot, StateStore
from argosy.optimizer.update_group import EagerGroups
from argosy.tensor.engine import Tensor

__all__ = ["OptimizerFacts", "RowRule"]

ClipChange = Callable[[Any, int | None], Any]


@dataclass(frozen=True)
class RowRule:
    """An update that parameter servers can do row by row: the name of their rule, its settings, and
    what a row's state begins with.
    """

    name: str
    settings: dict[str, float] = field(default_factory=dict)
    initial_state: float = 0.0


class OptimizerFacts:
    """The interior face of an optimizer; scripts see that of ``Optimizer``."""

    _name: str | None
    _learning_rate: Any
    _grad_clip: Any
    _parameter_list: list[Any]
    _param_groups: list[Any]
    _multi_precision: bool
    _master_grad: bool
    _store: StateStore
    _update_groups: dict[int, EagerGroups]

    @property
    def _has_groups(self) -> bool:
        raise NotImplementedError

    def _parameters(self) -> list[Tensor]:
        raise NotImplementedError

    def _slots(self, param: Tensor, options: dict[str, Any]) -> Sequence[Slot | Power]:
        raise NotImplementedError

    def _missing_grad(self, param: Tensor) -> torch.Tensor | None:
        raise NotImplementedError

    # -- questions
    # ----------------------------------------------------------------------------------------------

    def parameters(self) -> list[Tensor]:
        """Those it updates, of all groups."""
        return self._parameters()

    @property
    def has_groups(self) -> bool:
        return self._has_groups

    @property
    def has_master_grad(self) -> bool:
        """Whether gradients wait in ``param.main_grad``, as float32."""
        return self._master_grad

    @property
    def clip(self) -> Any:
        """How it clips gradients; groups may have their own."""
        return self._grad_clip

    @clip.setter
    def clip(self, clip: Any) -> None:
        self._grad_clip = clip

    def without_clip(self) -> Any:
        """This optimizer, with all its state in common, but for the clip: it has none."""
        kind = type(self)
        twin: Any = object.__new__(type(kind.__name__, (kind,), {"clip": property(lambda _: None)}))
        twin.__dict__ = self.__dict__
        return twin

    @property
    def rate(self) -> Any:
        """The learning rate as it was given: a number, a scheduler, or a variable."""
        return self._learning_rate

    def given(self) -> dict[str, Any]:
        """What an optimizer that takes the place of this one is made with, whatever its rule;
        ``parameters`` as the script passed them.
        """
        return {
            "parameters": self._parameter_list or None,
            "learning_rate": self._learning_rate,
            "grad_clip": self._grad_clip,
            "name": self._name,
            "multi_precision": self._multi_precision,
        }

    def hyperparameters(self) -> dict[str, Any]:
        """The settings of the rule, under the names of the constructor."""
        return {}

    def gradients(self, group: int | None = None) -> list[tuple[Tensor, torch.Tensor]]:
        """The parameters that a step would update, with their gradients, of one group or of an
        optimizer without groups.
        """
        params = self._param_groups if group is None else self._param_groups[group]["params"]
        pairs = []
        for param in params:
            grad = param.raw.grad if param.raw.grad is not None else self._missing_grad(param)
            if grad is not None and param.raw.requires_grad:
                pairs.append((param, grad))
        return pairs

    def row_rule(self, param: Any) -> RowRule | None:
        """The rule by which servers update rows of ``param`` as this optimizer would; None if they
        have none.
        """
        return None

    def state_of(self, param: Tensor) -> ParamState:
        """What is kept of one of its parameters; made if there is nothing yet."""
        return self._store.get(param, self._slots(param, {}), False)

    def over(self, params: list[Tensor]) -> Any:
        """An optimizer with the same settings for other parameters, of which nothing is kept
        yet.
        """
        twin = copy.copy(self)
        twin._parameter_list = twin._param_groups = params
        twin._store, twin._update_groups = StateStore(None), {}
        return twin

    # -- changes
    # ----------------------------------------------------------------------------------------------

    def keep_masters(self, keeps: bool = True) -> None:
        """Keep float32 copies of parameters in low precision."""
        self._multi_precision = keeps

    def keep_master_grads(self, keeps: bool) -> None:
        """Take gradients from ``param.main_grad``, where they are float32."""
        self._master_grad = keeps

    def use_rate(self, rate: float) -> None:
        """Take the next steps with this learning rate."""
        self._learning_rate = rate

    def change_clips(self, change: ClipChange) -> None:
        """Replace each clip by ``change(clip, number of its group)``; the number is None without
        groups.
        """
        if self._has_groups:
            for index, group in enumerate(self._param_groups):
                group["grad_clip"] = change(group["grad_clip"], index)
        else:
            self._grad_clip = change(self._grad_clip, None)
        self._update_groups.clear()

    def change_parameters(self, change: Callable[[list[Tensor]], list[Tensor]]) -> None:
        """Replace the list of parameters, or that of each group."""
        if self._has_groups:
            for group in self._param_groups:
                group["params"] = change(group["params"])
        else:
            self._param_groups = self._parameter_list = change(self._parameter_list)
        self._update_groups.clear()

    def change_state(
        self,
        kept: Callable[[str, torch.Tensor], torch.Tensor],
        waiting: Callable[[str, Any], Any],
    ) -> None:
        """Replace what is kept of each parameter by ``kept(parameter, tensor)``, and what was
        loaded and waits for a first step by ``waiting(key, value)``.
        """
        store = self._store
        for name, state in store.by_param.items():
            for tensor in (*state.tensors.values(), *([state.master] if state.master else ())):
                tensor.raw = kept(name, tensor.raw)
        store.waiting = {key: waiting(key, value) for key, value in store.waiting.items()}
        store.waiting_masters = {
            name: waiting(name, value) for name, value in store.waiting_masters.items()
        }
