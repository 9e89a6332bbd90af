"""What the learning-rate schedules of 1.x have in common."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import CheckpointError
from argosy.tensor import full


class ScheduleStateMissing(CheckpointError, RuntimeError):
    """A saved schedule lacks an entry."""


class LearningRateDecay:
    """Base class: a subclass defines ``step``, the rate at ``step_num``."""

    def __init__(self, begin: int = 0, step: int = 1, dtype: str = "float32") -> None:
        self.step_num = begin
        self.step_size = step
        self.dtype = dtype

    def step(self) -> Any:
        """The rate at the current step, as a number."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define step(); every schedule must"
        )

    def peek(self) -> float:
        """The rate that the next call gives."""
        return float(self.step())

    def next_rate(self) -> float:
        """The rate at the current step; then go on by one."""
        rate = self.peek()
        self.step_num += self.step_size
        return rate

    def __call__(self) -> Any:
        return self.create_lr_var(self.next_rate())

    def create_lr_var(self, lr: float) -> Any:
        return full([1], float(lr), self.dtype)

    def _state_keys(self) -> None:
        self.keys = ["step_num"]

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs to go on from here."""
        self._state_keys()
        return {key: self.__dict__[key] for key in self.keys if key in self.__dict__}

    def set_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave."""
        self._state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise ScheduleStateMissing(
                    f"{type(self).__name__}.set_dict: Can't find [ {key} ] in state_dict; it has "
                    f"{sorted(state_dict)}"
                )
            self.__dict__[key] = state_dict[key]

    set_state_dict = set_dict
