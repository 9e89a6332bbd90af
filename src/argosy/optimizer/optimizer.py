"""Optimizer: the base of the update rules.

It gathers the gradients, clips them, adds weight decay and hands lists of raw tensors to the update
op that a subclass names. A subclass says which accumulators it keeps (``_slots``) and how an
update group is updated (``_update``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from argosy.foundation import torch_private as private
from argosy.foundation.account import account
from argosy.foundation.errors import BadArgument, DtypeError, MissingParameters, UsageError
from argosy.foundation.witness import seat
from argosy.framework.mode import switch
from argosy.nn.clip import ClipGradBase
from argosy.ops.training import updates
from argosy.optimizer.appending import Appending
from argosy.optimizer.facts import OptimizerFacts
from argosy.optimizer.lr import LambdaDecay, LRScheduler
from argosy.optimizer.state import Power, Slot, StateMismatch, StateStore
from argosy.optimizer.update_group import EagerGroups, Options, UpdateGroup, Values, is_direct
from argosy.regularizer import L1Decay, L2Decay
from argosy.tensor.engine import Tensor, current_mode, wrap

__all__: list[str] = []

Params = Sequence[Tensor] | Sequence[dict[str, Any]] | None

_NO_OPTIONS: Options = {}


class ScheduledRate(UsageError, RuntimeError):
    """The learning rate was set by hand although a scheduler owns it."""


class Optimizer(Appending, OptimizerFacts):
    """Base class of the optimizers.

    ``parameters`` is a list of parameters, or of dicts with ``params`` and settings of their own:
    ``weight_decay``, ``learning_rate`` (multiplies the optimizer's), ``grad_clip`` (clips the group
    by itself) and the update rule's own. ``weight_decay`` as a number means ``L2Decay``; a
    regulariser in a parameter's ParamAttr replaces it.
    """

    type = "optimizer"
    _couples_decay = False  # the update op adds L2 decay to the gradient by itself
    _multi_precision = False
    _rate_shape: Sequence[int] = ()  # of the variable that holds the learning rate in a program

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        parameters: Params = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._name = name
        self._parameter_list = _read_parameters(parameters, type(self).__name__)
        if not isinstance(learning_rate, (float, LRScheduler)):
            raise DtypeError(
                f"{type(self).__name__}: learning rate should be float or LRScheduler, "
                f"got {learning_rate!r} ({type(learning_rate).__name__}) here"
            )
        if grad_clip is not None and not isinstance(grad_clip, ClipGradBase):
            raise DtypeError(
                f"{type(self).__name__}: 'grad_clip' should be an instance of GradientClipBase's "
                "derived class, "
                f"but received {type(grad_clip).__name__}"
            )
        self._learning_rate = learning_rate
        self._grad_clip = grad_clip
        self.regularization = _as_regularizer(weight_decay)
        # set by amp.decorate: gradients wait in param.main_grad, as float32
        self._master_grad = False
        self._store = StateStore(name)
        self._update_groups: dict[int, EagerGroups] = {}
        self._default_dict: dict[str, Any] = {
            "weight_decay": self.regularization,
            "grad_clip": grad_clip,
        }
        self._param_groups: list[Any] = self._parameter_list
        if self._has_groups:
            self._param_groups = []
            for group in self._parameter_list:
                if "params" not in group:
                    raise BadArgument(
                        f"{type(self).__name__}: a parameter group must have 'params'; it has "
                        f"{sorted(group)}"
                    )
                self._add_param_group(dict(group))

    # -- what a subclass defines
    # --------------------------------------------------------------------------------

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        """The accumulators of ``param``, in the order of the state dict."""
        return ()

    def _setting(self, param: Tensor, options: Options) -> Hashable:
        """What, beyond the usual, must be equal for parameters to be updated together."""
        return None

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        """Update ``params`` and the group's state; ``decay`` is the L2 coefficient to add, if the
        op couples it.
        """
        raise NotImplementedError(
            'Class "Optimizer" cannot be used directly as an optimizer, please use its '
            'subclasses such as "Adam"'
        )

    def _takes_rows(self, options: Options) -> bool:
        """Whether row-sparse gradients go to ``_update_rows`` instead of being made dense."""
        return False

    def _update_rows(self, group: UpdateGroup, params: Values, grads: Values, lr: Any) -> None:
        raise NotImplementedError

    # -- parameters
    # ---------------------------------------------------------------------------------------------

    @property
    def _has_groups(self) -> bool:
        return bool(self._parameter_list) and isinstance(self._parameter_list[0], dict)

    def _add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; its weight decay and learning rate are noted on its parameters, as Paddle
        does.
        """
        params = param_group["params"]
        if isinstance(params, set):
            raise DtypeError(
                f"{type(self).__name__}: optimizer parameters should be in ordered collections, "
                "but received set; "
                "please use list instead"
            )
        param_group["params"] = params = [params] if isinstance(params, Tensor) else list(params)
        for key, value in self._default_dict.items():
            param_group.setdefault(key, value)
        known = {id(p) for group in self._param_groups for p in group["params"]}
        if any(id(p) in known for p in params):
            raise UsageError(
                f"{type(self).__name__}: some parameters appear in more than one parameter group"
            )
        self._note_group(param_group)
        for param in params:
            _attributes(param)["learning_rate"] = param_group.get("learning_rate", 1.0)
        self._param_groups.append(param_group)

    def _note_group(self, param_group: dict[str, Any]) -> None:
        for param in param_group["params"]:
            param.regularizer = _as_regularizer(param_group["weight_decay"])

    def _parameters(self) -> list[Tensor]:
        if self._has_groups:
            return [p for group in self._param_groups for p in group["params"]]
        return self._param_groups

    # -- learning rate
    # ------------------------------------------------------------------------------------------

    def get_lr(self) -> float:
        """The current learning rate."""
        rate = self._learning_rate
        return rate if isinstance(rate, float) else rate()

    def set_lr(self, value: float) -> None:
        """Set the learning rate; not possible while a scheduler owns it."""
        if not isinstance(value, (int, float)):
            raise DtypeError(
                "The type of 'value' in optimizer.set_lr must be float, but received "
                f"{type(value).__name__}."
            )
        if isinstance(self._learning_rate, LRScheduler):
            raise ScheduledRate(
                "optimizer's learning rate can't be LRScheduler when invoke this API, because "
                "this will lead to conflict. "
                f"It is a {type(self._learning_rate).__name__}; use set_lr_scheduler, or build "
                "the optimizer with a number."
            )
        self._learning_rate = float(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Let ``scheduler`` give the learning rate from now on."""
        if not isinstance(scheduler, LRScheduler):
            raise DtypeError(
                "The type of 'scheduler' in optimizer.set_lr_scheduler must be LRScheduler, "
                f"but received {type(scheduler).__name__}."
            )
        self._learning_rate = scheduler

    # -- stepping
    # ----------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Update every parameter that has a gradient."""
        lr, _ = current_rate(self)
        # Three times cheaper than entering torch.no_grad(), in a call that small models make
        # thousands of times a second.
        was_enabled = torch.is_grad_enabled()
        private.set_grad_enabled(False)
        try:
            if self._has_groups:
                for index, group in enumerate(self._param_groups):
                    self._step_group(index, group["params"], group, group["grad_clip"], lr)
            else:
                self._step_group(0, self._param_groups, _NO_OPTIONS, self._grad_clip, lr)
        finally:
            private.set_grad_enabled(was_enabled)
        if seat.witness is not None:
            seat.witness.end_step(self, lambda: ((p.name, p.raw) for p in self._parameters()))
        account.end_step()

    def _step_group(
        self, index: int, params: Iterable[Tensor], options: Options, clip: Any, lr: float
    ) -> None:
        live: list[Tensor] = []
        raws: list[torch.Tensor] = []
        grads: list[torch.Tensor] = []
        sparse: list[int] = []
        for param in params:
            raw = param.raw
            grad = raw.grad
            if grad is None:
                grad = self._missing_grad(param)
                if grad is None:
                    continue
            elif grad.is_sparse:
                if self._keeps_rows(param, options):
                    sparse.append(len(raws))
                else:
                    grad = grad.to_dense()
            if not raw.requires_grad:
                continue
            live.append(param)
            raws.append(raw)
            grads.append(grad)
        if raws:
            self._run(index, live, raws, grads, sparse, options, clip, lr)

    def _missing_grad(self, param: Tensor) -> torch.Tensor | None:
        """The gradient of a parameter whose torch tensor has none: cleared ones count as zero."""
        if self._master_grad:
            main: Tensor | None = getattr(param, "main_grad", None)
            if main is not None:
                return main.raw
        return torch.zeros_like(param.raw) if param.is_grad_cleared else None

    def _keeps_rows(self, param: Tensor, options: Options) -> bool:
        regularizer = getattr(param, "regularizer", None) or self.regularization
        return regularizer is None and is_direct(param.raw) and self._takes_rows(options)

    def _run(
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
        held = self._update_groups.get(index)
        if held is None or not held.fits(params, raws, sparse, options):
            held = self._update_groups[index] = EagerGroups(params, raws, sparse, options)
            states = [
                self._store.get(p, self._slots(p, options), self._multi_precision) for p in params
            ]
            held.fill(params, states, self.regularization, self._setting)
        if clip is not None:
            grads = clip.apply_raw(grads, held.need_clip)
        for group in held.groups:
            chosen = grads if len(held.groups) == 1 else [grads[i] for i in group.indices]
            update(self, group, chosen, lr)

    def _run_explicit(self, params_grads: Iterable[tuple[Tensor, Tensor | None]]) -> None:
        """Update from gradients that are given instead of read from the parameters."""
        pairs = [(p, g) for p, g in params_grads if g is not None and not p.stop_gradient]
        if not pairs:
            return
        lr, _ = current_rate(self)
        sparse: list[int] = []
        grads: list[torch.Tensor] = []
        for param, grad in pairs:
            raw = grad.raw.detach()
            if raw.is_sparse and not self._keeps_rows(param, _NO_OPTIONS):
                raw = raw.to_dense()
            elif raw.is_sparse:
                sparse.append(len(grads))
            grads.append(raw)
        self._update_groups.clear()  # their powers and clocks are about to be replaced
        with torch.no_grad():
            params = [p for p, _ in pairs]
            self._run(
                -1, params, [p.raw for p in params], grads, sparse, _NO_OPTIONS, self._grad_clip, lr
            )
        self._update_groups.clear()

    # -- the older way to step
    # ----------------------------------------------------------------------------------

    def backward(
        self,
        loss: Tensor,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> list[tuple[Tensor, Tensor]]:
        """Pair parameters with the gradients that ``loss.backward()`` left in them."""
        record = getattr(loss, "record_optimizer", None)
        if record is not None:
            recorded: list[tuple[Tensor, Tensor]] = record(self).backward(
                loss, startup_program, parameters, no_grad_set, callbacks
            )
            return recorded
        excluded = {getattr(item, "name", item) for item in no_grad_set or ()}
        chosen = parameters if parameters else self._parameters()
        if parameters and isinstance(next(iter(parameters)), str):
            wanted = set(parameters)
            chosen = [p for p in self._parameters() if p.name in wanted]
        pairs = []
        for param in chosen:
            grad = param.grad if param.raw.grad is not None else self._wrapped_missing_grad(param)
            if grad is not None and param.name not in excluded:
                pairs.append((param, grad))
        return pairs

    def _wrapped_missing_grad(self, param: Tensor) -> Tensor | None:
        raw = self._missing_grad(param)
        return None if raw is None else wrap(raw)

    def apply_gradients(self, params_grads: Sequence[tuple[Tensor, Tensor]]) -> list[Any]:
        """Clip, regularise and apply the given (parameter, gradient) pairs."""
        record = getattr(params_grads[0][0], "record_optimizer", None) if params_grads else None
        if record is not None:
            operators: list[Any] = record(self).apply_gradients(params_grads)
            return operators
        self._run_explicit(sorted(params_grads, key=lambda pair: pair[0].name))
        return []

    def minimize(
        self,
        loss: Tensor,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
    ) -> tuple[list[Any], list[tuple[Tensor, Tensor]]]:
        """Update from the gradients that ``loss.backward()`` left; returns no ops and the
        (parameter, gradient) pairs.
        """
        if not isinstance(loss, Tensor):
            raise BadArgument(
                f"{type(self).__name__}.minimize: The loss should be an Tensor, not "
                f"{type(loss).__name__}."
            )
        record = getattr(loss, "record_optimizer", None)
        if record is not None:
            operators, recorded = record(self).minimize(
                loss, startup_program, parameters, no_grad_set
            )
            return operators, recorded
        pairs = self.backward(loss, startup_program, parameters, no_grad_set)
        if parameters or no_grad_set:
            self._run_explicit(pairs)
        else:
            self.step()
        return [], pairs

    @property
    def _dtype(self) -> Any:
        """The dtype of the first parameter; None if the optimizer was given none."""
        params = self._parameters()
        return params[0].dtype if params else None

    def _global_learning_rate(self, program: Any = None) -> Any:
        """The variable of ``program`` that holds the rate, None before ``minimize``; in dygraph the
        rate as a Tensor.
        """
        find = getattr(current_mode(), "rate_of", None)
        return wrap(torch.tensor(self.get_lr())) if find is None else find(self, program)

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Forget the gradients; by default they then count as zeros, as in Paddle, without being
        stored.
        """
        for param in self._parameters():
            raw = param.raw
            if raw.grad is not None:
                if raw.requires_grad:
                    raw.grad = None
                    if param.is_grad_cleared is not set_to_zero:
                        param.is_grad_cleared = set_to_zero
            elif param.is_grad_cleared and not set_to_zero:
                param.is_grad_cleared = False
        if self._master_grad:
            for param in self._parameters():
                param.main_grad = None

    clear_gradients = clear_grad

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.clear_grad(set_to_zero=not set_to_none)

    # -- state
    # ----------------------------------------------------------------------------------------------

    @property
    def _master_weights(self) -> dict[str, Tensor]:
        return self._store.masters

    def get_opti_var_name_list(self) -> list[str]:
        return [t.name for named in self._store.accumulators.values() for t in named.values()]

    def state_dict(self) -> dict[str, Any]:
        """Accumulators by their names, ``master_weights`` and ``LR_Scheduler`` if there are any;
        empty before the first step.
        """
        state = self._store.save()
        self._update_groups.clear()
        if isinstance(self._learning_rate, LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what ``state_dict`` gave; before the first step it is kept until then."""
        values = dict(state_dict)
        schedule = values.pop("LR_Scheduler", None)
        if isinstance(self._learning_rate, LRScheduler):
            if schedule:
                self._learning_rate.set_state_dict(schedule)
            elif not isinstance(self._learning_rate, LambdaDecay):
                raise StateMismatch(
                    f"{type(self).__name__}.set_state_dict: LR_Scheduler state must be included "
                    "in the state dict, "
                    f"because the learning rate is a {type(self._learning_rate).__name__}"
                )
        self._store.load(values, values.pop("master_weights", None) or {})
        self._update_groups.clear()

    load_state_dict = set_dict = set_state_dict


def update(optimizer: Optimizer, group: UpdateGroup, grads: Values, rate: Any) -> None:
    """Update one group from its gradients, in a step as in its record; ``rate`` is that of the
    optimizer.
    """
    lr = group.lr(rate)
    if group.keeps_rows:
        optimizer._update_rows(group, group.params, grads, lr)
        return
    work = group.borrow()
    grads = group.fitted(grads, work)
    decay = 0.0
    regularizer = group.regularizer
    if regularizer is not None:
        kind = type(regularizer)
        if kind is L2Decay and optimizer._couples_decay:
            decay = regularizer.coeff
        elif kind is L2Decay or kind is L1Decay:
            op = updates.l2_decay if kind is L2Decay else updates.l1_decay
            grads = group.compute(op, grads, work, regularizer.coeff)
        else:
            grads = group.penalized(regularizer, work, grads)
    optimizer._update(group, work, grads, lr, decay)
    group.give_back(work)


@dataclass(frozen=True, slots=True)
class Rule:
    """What the record of an optimizer's step needs to know of it."""

    label: str  # that its accumulators carry; empty if it has no name of its own
    keeps_masters: bool  # of low-precision parameters
    rate: Any  # as it was given: a number, a scheduler or a variable of a program
    rate_shape: Sequence[int]
    clip: Any
    parameters: Callable[[], list[Tensor]]
    slots: Callable[[Tensor, Options], Sequence[Slot | Power]]
    setting: Callable[[Tensor, Options], Hashable]
    takes_rows: Callable[[Options], bool]
    appends: bool  # a subclass appends the update itself
    recorded: dict[str, dict[str, Any]]  # accumulators of programs, by name and parameter


def rule_of(optimizer: Optimizer) -> Rule:
    return Rule(
        optimizer._name or "",
        optimizer._multi_precision,
        optimizer._learning_rate,
        optimizer._rate_shape,
        optimizer._grad_clip,
        optimizer._parameters,
        optimizer._slots,
        optimizer._setting,
        optimizer._takes_rows,
        hasattr(optimizer, "_append_optimize_op"),
        optimizer._store.recorded,
    )


def keep_masters(optimizer: Any, keeps: bool) -> None:
    """Say whether an optimizer that knows float32 masters keeps them for low-precision
    parameters.
    """
    if hasattr(optimizer, "_multi_precision"):
        optimizer._multi_precision = keeps


def param_groups_of(optimizer: Optimizer) -> list[tuple[list[Tensor] | None, Options, Any]]:
    """The parameters, options and clip of each parameter group; an optimizer without groups has one
    that takes all parameters, None.
    """
    if optimizer._has_groups:
        return [(g["params"], g, g["grad_clip"]) for g in optimizer._param_groups]
    return [(None, {}, optimizer._grad_clip)]


def scheduler_of(optimizer: Optimizer) -> Any:
    """What gives the learning rate at each step; None if it is a number."""
    return optimizer._learning_rate if callable(optimizer._learning_rate) else None


def current_rate(optimizer: Optimizer) -> tuple[float, bool]:
    """The learning rate, which must be finite, and whether a scheduler gives it."""
    lr = optimizer.get_lr()
    if not math.isfinite(lr):
        raise UsageError(
            f"{type(optimizer).__name__}.step: the learning rate is {lr}; parameters would become "
            "NaN. "
            f"It comes from {type(optimizer._learning_rate).__name__}."
        )
    return lr, callable(optimizer._learning_rate)


def _read_parameters(parameters: Any, owner: str) -> list[Any]:
    if parameters is None:
        if switch.is_static:
            return []  # the program that minimize() is called on knows its parameters
        raise MissingParameters(
            f"{owner}: parameters argument given to the Optimizer should not be None in dygraph "
            "mode. "
            "Pass parameters=model.parameters()."
        )
    if isinstance(parameters, Tensor):
        raise DtypeError(
            f"{owner}: parameters should be an iterable of paddle Tensors, but received one Tensor"
        )
    if isinstance(parameters, dict):
        raise DtypeError(
            f"{owner}: parameters should not be a dict; for parameter groups pass a list of dict"
        )
    return list(parameters)


def _attributes(param: Tensor) -> dict[str, Any]:
    attributes = getattr(param, "optimize_attr", None)
    if attributes is None:
        attributes = param.optimize_attr = {"learning_rate": 1.0}
    return attributes


def _as_regularizer(weight_decay: Any) -> Any:
    return L2Decay(float(weight_decay)) if isinstance(weight_decay, (int, float)) else weight_decay
