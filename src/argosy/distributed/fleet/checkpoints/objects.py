"""What a checkpoint holds of a model, its optimizer and what goes with them, of Paddle's, of a
static program's and of PyTorch's.

``take`` asks each object; ranks call it together, because split optimizer states are joined.
``check`` compares a saved state with the objects before ``give`` replaces anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from argosy.distributed.fleet.checkpoints.state_file import SAME, raw_tensor
from argosy.distributed.fleet.stages.trainee import StagedSteps
from argosy.distributed.sharding.sharded_optimizer import ShardedOptimizer
from argosy.foundation.errors import CheckpointError, NotSupported, UsageError
from argosy.runtime.parallel.sharding.sharded_optimizer import (
    ShardedOptimizer as TorchShardedOptimizer,
)
from argosy.static import Program, global_scope
from argosy.static.files.variables import is_persistable

_STAGES = "fleet_stages"
_WRAPPED = ("_inner_opt", "_optim", "inner")  # how our wrappers call the optimizer inside

State = dict[str, Any]


class Own:
    """What a process has of a model by itself, where servers have the rest."""

    def take(self) -> State:
        raise NotImplementedError

    def check(self, state: State) -> None:
        """CheckpointError unless ``state`` can be given."""
        raise NotImplementedError

    def give(self, state: State) -> None:
        raise NotImplementedError


class Objects:
    """The objects whose states make a checkpoint. ``extra``: others, by name, with ``state_dict``
    and ``set_state_dict`` or ``load_state_dict``.

    ``own`` stands for the model where servers train it.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        scaler: Any,
        lr: Any,
        extra: Mapping[str, Any] | None,
        rank: int,
        own: Own | None = None,
    ) -> None:
        self._own = own
        named = {
            "scaler": scaler,
            "lr": lr,
            **{f"extra.{name}": value for name, value in (extra or {}).items()},
        }
        self._plain = {name: value for name, value in named.items() if value is not None}
        for name, value in {"model": model, "optimizer": optimizer, **self._plain}.items():
            if (
                value is not None
                and not isinstance(value, Program)
                and not hasattr(value, "state_dict")
            ):
                raise UsageError(
                    f"auto_checkpoint: {name} has no state_dict(): it is a {type(value).__name__}"
                )
        if isinstance(model, torch.nn.Module) and any(
            hasattr(p, "full_tensor") for p in model.parameters()
        ):
            raise NotSupported(
                "auto_checkpoint: a model whose parameters are split (group_sharded_parallel "
                "with 'p_g_os'); "
                "torch.distributed.checkpoint saves it"
            )
        self._model, self._optimizer, self._is_first = model, optimizer, rank == 0

    def take(self) -> State:
        """The state of every object."""
        state: State = {"kinds": self._kinds()}
        if self._model is not None:
            state["model"] = _model_state(self._model) if self._own is None else self._own.take()
        if self._optimizer is not None:
            state["optimizer"] = _optimizer_state(self._optimizer, self._is_first)
            state["gradients"] = _waiting_gradients(self._optimizer)
        for name, value in self._plain.items():
            state[name] = value.state_dict()
        return state

    def check(self, state: State) -> None:
        """CheckpointError if ``state`` is not one of such objects."""
        try:
            self._check(state)
        except (KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"the checkpoint does not hold the states of such objects: {error!r}"
            ) from error

    def _check(self, state: State) -> None:
        kinds, ours = state["kinds"], self._kinds()
        for name in {**kinds, **ours}:
            if kinds.get(name) != ours.get(name):
                raise CheckpointError(
                    f"the checkpoint was written with {name}: {kinds.get(name, 'none')}, this "
                    f"script has {ours.get(name, 'none')}"
                )
        if self._model is not None:
            if self._own is None:
                _compare(state["model"], _model_state(self._model))
            else:
                self._own.check(state["model"])
        if isinstance(_innermost(self._optimizer), torch.optim.Optimizer):
            saved = [len(g["params"]) for g in state["optimizer"]["state"]["param_groups"]]
            here = [len(g["params"]) for g in self._optimizer.param_groups]
            if saved != here:
                raise CheckpointError(
                    f"the optimizer of the checkpoint has groups of {saved} parameters, this one "
                    f"of {here}"
                )

    def give(self, state: State) -> None:
        """Put back what ``take`` gave, perhaps in a job of another size."""
        if self._model is not None:
            if self._own is None:
                _set_model_state(self._model, state["model"])
            else:
                self._own.give(state["model"])
        if self._optimizer is not None:
            saved = state["optimizer"]
            stages = {_STAGES: saved["stages"]} if saved["stages"] else {}
            _set(self._optimizer, {**saved["state"], **stages})
            for param, grad in zip(
                _raw_parameters(self._optimizer), state["gradients"], strict=False
            ):
                param.grad = None if grad is None else grad.to(param.device)
        for name, value in self._plain.items():
            _set(value, state[name])

    def _kinds(self) -> dict[str, str]:
        found = {name: type(value).__name__ for name, value in self._plain.items()}
        if self._optimizer is not None:
            found["optimizer"] = type(_innermost(self._optimizer)).__name__
        return found


def _set(target: Any, state: Any) -> None:
    setter = getattr(target, "set_state_dict", None) or target.load_state_dict
    setter(state)


# -- models
# --------------------------------------------------------------------------------------------------


def _model_state(model: Any) -> State:
    if isinstance(model, Program):
        return {v.name: held(v.name) for v in model.list_vars() if is_persistable(v)}
    return dict(model.state_dict())


def held(name: str) -> torch.Tensor:
    """The value of a program's variable."""
    return global_scope().holding(name).get_tensor().raw_tensor()


def _set_model_state(model: Any, state: State) -> None:
    if not isinstance(model, Program):
        _set(model, state)
        return
    set_held(state)


def set_held(state: State) -> None:
    """Give variables of a program their values, by name."""
    for name, raw in state.items():
        slot = global_scope().var(name)
        slot.store(raw if slot.tensor is None else raw.to(slot.tensor.device), copies=False)


def _compare(saved: State, ours: State) -> None:
    for name in [*ours, *saved]:
        if name not in saved or name not in ours:
            where = "the model" if name in ours else "the checkpoint"
            raise CheckpointError(f"only {where} has {name!r}: the checkpoint is of another model")
        theirs, mine = raw_tensor(saved[name]), raw_tensor(ours[name])
        if (
            theirs is not None
            and mine is not None
            and (theirs.shape, theirs.dtype) != (mine.shape, mine.dtype)
        ):
            raise CheckpointError(
                f"{name!r} is {tuple(theirs.shape)} of {theirs.dtype} in the checkpoint, "
                f"{tuple(mine.shape)} of {mine.dtype} in the model"
            )


# -- optimizers
# --------------------------------------------------------------------------------------------------


def _optimizer_state(optimizer: Any, is_first: bool) -> State:
    """The optimizer's state, joined from all ranks if it is split, and apart from it that of
    fleet's stages, which each rank has its own of.
    """
    state = dict(optimizer.state_dict())
    stages = state.pop(_STAGES, {})
    if not any(
        isinstance(layer, (ShardedOptimizer, TorchShardedOptimizer)) for layer in _layers(optimizer)
    ):
        return {"state": state, "stages": stages}
    whole = dict(optimizer.full_state_dict(dst=0))
    whole.pop(_STAGES, None)
    return {"state": whole if is_first else SAME, "stages": stages}


def _waiting_gradients(optimizer: Any) -> list[torch.Tensor | None]:
    """Gradients that a stage is still adding up."""
    steps = getattr(optimizer, "steps", None)
    if not isinstance(steps, StagedSteps) or not steps.keeps_gradients():
        return []
    grads = [param.grad for param in _raw_parameters(optimizer)]
    return [grad.to_dense() if grad is not None and grad.is_sparse else grad for grad in grads]


def _raw_parameters(optimizer: Any) -> list[torch.Tensor]:
    if isinstance(optimizer, torch.optim.Optimizer):
        return [p for group in optimizer.param_groups for p in group["params"]]
    return [p.raw for p in optimizer.parameters()]


def _innermost(optimizer: Any) -> Any:
    return None if optimizer is None else _layers(optimizer)[-1]


def _layers(optimizer: Any) -> list[Any]:
    """The optimizer and what it wraps, from the outside in."""
    found = [optimizer]
    while inner := next(
        (vars(found[-1])[name] for name in _WRAPPED if name in vars(found[-1])), None
    ):
        found.append(inner)
    return found
