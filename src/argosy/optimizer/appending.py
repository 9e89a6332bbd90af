"""What subclasses of Paddle's optimizers build on: accumulators by name, and an update that they
append for one parameter at a time.

A subclass that defines ``_append_optimize_op(block, (param, grad))`` is updated by it instead of
by an update op, in a step as in a program; ``block`` is None in a step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.optimizer.state import LOW_PRECISION, Power, Slot, StateStore
from argosy.optimizer.update_group import Options, rate_of
from argosy.tensor.engine import Tensor, to_raw, unique_name, wrap

Pairs = list[tuple[Any, Any]]


class Appending:
    """The part of ``Optimizer`` for subclasses that append their update."""

    _name: str | None
    _store: StateStore
    _update_groups: dict[int, Any]
    regularization: Any

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "_append_optimize_op" in cls.__dict__:
            cls._run = cls._run_appended  # type: ignore[attr-defined]

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        raise NotImplementedError

    def get_lr(self) -> float:
        raise NotImplementedError

    @property
    def _accumulators(self) -> dict[str, dict[str, Tensor]]:
        """Accumulators by name, then by parameter: those of steps, or the variables of the program
        that was recorded last.
        """
        return self._store.accumulators or self._store.recorded

    @_accumulators.setter
    def _accumulators(self, value: dict[str, dict[str, Tensor]]) -> None:
        """Forget what is kept; ``value`` takes the place of the recorded ones."""
        self._store, self._update_groups = StateStore(self._name), {}
        self._store.recorded = value

    def _create_accumulators(self, block: Any, parameters: Any) -> None:
        """Make the accumulators of the update rule for each parameter, powers included."""
        for param in parameters:
            for slot in self._slots(param, {}):
                if isinstance(slot, Power):
                    self._add_accumulator(slot.name, param, None, slot.beta, [1])
                else:
                    self._add_accumulator(slot.name, param, slot.dtype, slot.fill, slot.shape)

    def _add_accumulator(
        self,
        name: str,
        param: Any,
        dtype: Any = None,
        fill_value: float = 0.0,
        shape: Any = None,
        type: Any = None,
        device: Any = None,
    ) -> Any:
        """Make an accumulator of a parameter, or return the one that there is."""
        label = f"{self._name}_{name}" if self._name else name
        record = getattr(param, "record_optimizer", None)
        held = (self._store.accumulators if record is None else self._store.recorded).setdefault(
            label, {}
        )
        if record is None and param.name in held:
            return held[param.name]
        kept = param.raw.dtype
        if dtype is not None:
            kept = dtype if isinstance(dtype, torch.dtype) else to_raw(0, dtype).dtype
        elif kept in LOW_PRECISION:
            kept = torch.float32
        slot = Slot(name, fill_value, tuple(param.shape if shape is None else shape), kept)
        full_name = f"{param.name}_{label}"
        if record is not None:
            held[param.name] = record(self).new_accumulator(full_name, param, slot)
        else:
            made = held[param.name] = wrap(torch.full(slot.shape or (), fill_value, dtype=kept))
            made.name, made.persistable = unique_name.generate(full_name), True
        return held[param.name]

    def _get_accumulator(self, name: str, param: Any) -> Any:
        """The accumulator of a parameter."""
        label = f"{self._name}_{name}" if self._name else name
        held = self._accumulators.get(label, {})
        if param.name not in held:
            raise UsageError(f"Accumulator {name} does not exist for parameter {param.name}")
        return held[param.name]

    def _create_param_lr(self, param_and_grad: tuple[Any, Any]) -> Any:
        """The learning rate of a parameter, as a variable of the program or a Tensor."""
        param = param_and_grad[0]
        record = getattr(param, "record_optimizer", None)
        if record is not None:
            return record(self).rate_variable(param)
        return wrap(torch.tensor(self.get_lr() * rate_of(param)))

    def _finish_update(self, block: Any, parameters_and_grads: Pairs) -> None:
        """What a subclass does after the updates of all parameters."""

    def append_regularization_ops(
        self, parameters_and_grads: Any, regularization: Any = None
    ) -> Any:
        """The pairs with the gradients of the penalties added: of each parameter's own regulariser,
        or of ``regularization``.
        """
        pairs = list(parameters_and_grads)
        record = getattr(pairs[0][0], "record_optimizer", None) if pairs else None
        with contextlib.nullcontext() if record is None else record(self).recording(pairs):
            return [(param, _penalized(param, grad, regularization)) for param, grad in pairs]

    def _run_appended(
        self,
        index: int,
        params: list[Tensor],
        raws: list[torch.Tensor],
        grads: list[torch.Tensor],
        sparse: list[int],
        options: Options,
        clip: Any,
        lr: float,
    ) -> None:
        if clip is not None:
            grads = clip.apply_raw(grads, [getattr(p, "need_clip", True) for p in params])
        pairs = [(p, wrap(g)) for p, g in zip(params, grads, strict=True)]
        append_updates(self, None, pairs)


def _penalized(param: Any, grad: Any, fallback: Any) -> Any:
    own = getattr(param, "regularizer", None)
    regularizer = fallback if own is None else own
    if grad is None or regularizer is None:
        return grad
    from argosy.tensor.math import add_n

    with torch.no_grad():
        return add_n([grad, regularizer(param, grad, getattr(param, "block", None))])


def append_updates(optimizer: Any, block: Any, pairs: Pairs) -> None:
    """Let a subclass append the updates of parameters whose gradients are clipped."""
    pairs = optimizer.append_regularization_ops(pairs, optimizer.regularization)
    optimizer._create_accumulators(block, [param for param, _ in pairs])
    for pair in pairs:
        optimizer._append_optimize_op(block, pair)
    optimizer._finish_update(block, pairs)
