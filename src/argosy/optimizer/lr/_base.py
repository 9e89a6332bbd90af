"""LRScheduler and the checks its subclasses share."""

from __future__ import annotations

import warnings
from typing import Any

from argosy.foundation.errors import BadArgument, CheckpointError, DtypeError, UsageError
from argosy.tensor.engine import Tensor


class StateMissing(CheckpointError, RuntimeError):
    """A scheduler's saved state lacks an entry."""


def require(condition: bool, message: str) -> None:
    """Refuse a setting as Paddle's assertions do."""
    if not condition:
        raise BadArgument(message)


def require_type(value: Any, kinds: tuple[type, ...], what: str) -> None:
    if not isinstance(value, kinds):
        names = " or ".join(k.__name__ for k in kinds)
        raise DtypeError(f"{what} must be {names}, but received {value!r} ({type(value).__name__})")


def require_callable(value: Any, what: str) -> None:
    if not callable(value):
        raise DtypeError(
            f"{what} must be a function of the epoch, but received {value!r} "
            f"({type(value).__name__})"
        )


class LRScheduler:
    """Base of the schedulers: a subclass defines ``get_lr`` from ``base_lr``, ``last_epoch`` and,
    if need be, ``last_lr``.

    What counts as an epoch is up to the script: one call of ``step()``. A subclass whose ``get_lr``
    depends on the previous rate may define ``_get_closed_form_lr`` for ``step(epoch)``.

    Example:
        >>> import paddle
        >>> class Halving(paddle.optimizer.lr.LRScheduler):
        ...     def get_lr(self):
        ...         return self.base_lr / 2**self.last_epoch
        >>> scheduler = Halving(learning_rate=1.0)
        >>> scheduler.step()
        >>> scheduler()
        0.5
    """

    def __init__(
        self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        require_type(learning_rate, (float, int), f"{type(self).__name__}: learning_rate")
        if learning_rate < 0:
            raise UsageError(
                f"{type(self).__name__}: Invalid learning rate: {learning_rate}; it must not be "
                "negative"
            )
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self._var_name: str | None = None
        self.step()

    def __call__(self) -> float:
        """The current learning rate."""
        return self.last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or to ``epoch``."""
        if epoch is None:
            self.last_epoch += 1
            self.last_lr = self.get_lr()
        else:
            self.last_epoch = epoch
            self.last_lr = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._report()

    def get_lr(self) -> float:
        raise NotImplementedError(
            f"{type(self).__name__} does not define get_lr(); every scheduler must"
        )

    def _report(self) -> None:
        if self.verbose:
            print(
                f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to "
                f"{self.last_lr}."
            )

    def state_keys(self) -> None:
        """Set ``self.keys``, the attributes that ``state_dict`` saves; subclasses may name
        others.
        """
        self.keys = ["last_epoch", "last_lr"]

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs to go on from here."""
        self.state_keys()
        state = {}
        for key in self.keys:
            if key not in self.__dict__:
                continue
            value = self.__dict__[key]
            if isinstance(value, Tensor):
                require(
                    value.size == 1,
                    f"{type(self).__name__}.state_dict: {key} must hold one number, not "
                    f"{value.shape}",
                )
                value = float(value)
            state[key] = value
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave."""
        self.state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise StateMissing(
                    f"{type(self).__name__}.set_state_dict: Can't find [ {key} ] in state_dict; "
                    f"it has {sorted(state_dict)}"
                )
            self.__dict__[key] = state_dict[key]
        if len(state_dict) > len(self.keys):
            extra = sorted(set(state_dict) - set(self.keys))
            warnings.warn(
                f"{type(self).__name__}.set_state_dict: There are some unused values in "
                f"state_dict: {extra}. "
                "Was it saved by another scheduler?"
            )

    set_dict = set_state_dict
