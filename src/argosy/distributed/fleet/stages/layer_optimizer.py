"""What ``fleet.distributed_optimizer`` returns in dygraph: the script's optimizer with the stages
of the plan around its steps.

``stages.layer_stages`` has the stages. Those that work inside the model (data parallelism, its
16-bit form, synchronised batch norm, recomputation) are made by ``stages.model``, those that
replace the update rule by ``stages.layer_rules``; they need nothing here.
``stages.torch_optimizer`` is the counterpart for torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.distributed.fleet.stages.layer_rules import RULES, adapted, momentum_of
from argosy.distributed.fleet.stages.layer_stages import STAGES, OptimizerStage, Subject
from argosy.distributed.sharding.sharded_optimizer import ShardedOptimizer
from argosy.distributed.sharding.split_optimizer import SplitOptimizer
from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.optimizer import LBFGS, Optimizer
from argosy.runtime.comm.group import Group

__all__ = ["DistributedOptimizer", "make_stages", "optimizer_kinds", "wrapped"]

# methods of what records mixed precision
_MIXED_PRECISION = ("amp_init", "get_loss_scaling", "get_scaled_loss")
_IN_MODEL = ("data_parallel", "sync_batch_norm", "fp16_allreduce", "recompute")


def make_stages(subject: Subject, plan: Plan) -> list[OptimizerStage]:
    """The stages of ``plan`` that take part in the steps of an optimizer, in their order;
    NotSupported for one that nobody makes.
    """
    for stage in plan:
        if stage.name not in _IN_MODEL and stage.name not in RULES and stage.name not in STAGES:
            raise NotSupported(
                f"DistributedStrategy.{stage.name} is not supported in {plan.facts.mode} mode"
            )
    return [kind(subject, plan.settings(name)) for name, kind in STAGES.items() if name in plan]


def wrapped(
    given: Optimizer, plan: Plan, group: Group | None, sharding: tuple[Group, Group | None] | None
) -> Any:
    """The distributed optimizer that stands for ``given``. ``sharding``: the ranks that split its
    state, and those that own the same shard.
    """
    optimizer = adapted(given, plan)
    if (
        "amp" in plan
        and plan.settings("amp")["level"] == "O2"
        and not plan.settings("amp")["use_optimizer_fp16"]
    ):
        optimizer._multi_precision = True
    if sharding is not None:
        if isinstance(optimizer, LBFGS):
            raise NotSupported(
                "DistributedStrategy.sharding: LBFGS, whose update mixes all parameters"
            )
        kind = SplitOptimizer if plan.settings("sharding")["stage"] == 3 else ShardedOptimizer
        optimizer = kind(optimizer, sharding[0])
    subject = Subject(
        optimizer=optimizer,
        params=lambda: [p.raw for p in optimizer._parameters() if not p.stop_gradient],
        lr=lambda: float(optimizer.get_lr()),
        momentum=lambda: momentum_of(given),
        group=group,
        replicas=None if sharding is None else sharding[1],
    )
    return DistributedOptimizer(optimizer, plan, make_stages(subject, plan))


def optimizer_kinds(optimizer: Any) -> tuple[str, ...]:
    """The names, as Paddle calls them, of the optimizer's class and its bases."""
    if isinstance(optimizer, torch.optim.SGD):
        return ("Momentum" if any(g["momentum"] for g in optimizer.param_groups) else "SGD",)
    if isinstance(optimizer, torch.optim.AdamW):
        return ("AdamW",)  # torch derives it from Adam, Paddle does not
    if isinstance(optimizer, torch.optim.Optimizer):
        base = torch.optim.Optimizer
        return tuple(
            c.__name__ for c in type(optimizer).__mro__ if issubclass(c, base) and c is not base
        )
    return tuple(
        c.__name__
        for c in type(optimizer).__mro__
        if issubclass(c, Optimizer) and c is not Optimizer
    )


class DistributedOptimizer:
    """Steps the script's optimizer through the stages of ``plan``; everything else is the
    optimizer's own.

    ``record`` does what ``minimize`` means while a program is being recorded.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        plan: Plan,
        stages: Sequence[OptimizerStage] = (),
        record: Any = None,
    ) -> None:
        own = self.__dict__
        own["_inner_opt"] = optimizer
        own["plan"] = plan
        own["_stages"] = list(stages)
        own["_record"] = record
        if not stages and not any(note.switch == "adaptive_localsgd" for note in plan.notes):
            # nothing around them, so nothing is paid for; but step(loss=...) of a script must also
            # work where that has no use
            own["step"], own["clear_grad"] = optimizer.step, optimizer.clear_grad

    def __getattr__(self, name: str) -> Any:
        if name == "_inner_opt":
            raise AttributeError(name)
        if name in _MIXED_PRECISION and self._record is not None:
            return getattr(self._record.mixed_precision, name)
        return getattr(self._inner_opt, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            self.__dict__[name] = value
        else:
            setattr(self._inner_opt, name, value)

    def attach(self, model: Any) -> None:
        """Show a model that this optimizer may train to the stages."""
        # sharding, the last but one, may give the optimizer other parameters
        for stage in reversed(self._stages):
            stage.attach(model)

    def step(self, loss: Any = None) -> None:
        """Update the parameters from their gradients, if the stages agree that it is time.
        ``adaptive_localsgd`` needs the ``loss``.
        """
        for stage in self._stages:
            if not stage.before_step(loss):
                return
        self._inner_opt.step()
        for stage in self._stages:
            stage.after_step(loss)

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        parameters: Any = None,
    ) -> Any:
        """In dygraph: update from the gradients that ``loss.backward()`` left. While recording: add
        backward and update to the loss's program.
        """
        chosen = parameters if parameters is not None else parameter_list
        if getattr(loss, "record_optimizer", None) is not None:
            if self._record is None:
                raise UsageError(
                    "minimize: this distributed optimizer was made in dygraph mode, but the loss "
                    "belongs to a program"
                )
            return self._record(self._inner_opt, loss, startup_program, chosen, no_grad_set)
        if not self._stages:
            return self._inner_opt.minimize(loss, startup_program, chosen, no_grad_set)
        if chosen or no_grad_set:
            raise NotSupported(
                "minimize: parameter_list and no_grad_set cannot be combined with the strategy's "
                "stages; "
                "give the optimizer the parameters it is to update"
            )
        pairs = self._inner_opt.backward(loss, startup_program)
        self.step(loss)
        return [], pairs

    def backward(self, *args: Any, **kwargs: Any) -> Any:
        """As the optimizer's own, where the strategy adds nothing to it."""
        return self._part_of_minimize("backward")(*args, **kwargs)

    def apply_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """As the optimizer's own, where the strategy adds nothing to it."""
        return self._part_of_minimize("apply_gradients")(*args, **kwargs)

    def apply_optimize(self, *args: Any, **kwargs: Any) -> Any:
        """As the optimizer's own, where the strategy adds nothing to it."""
        return self._part_of_minimize("apply_optimize")(*args, **kwargs)

    def _part_of_minimize(self, name: str) -> Any:
        if self._record is not None or self._stages:
            raise NotSupported(
                f"{name} of a distributed optimizer would leave out what the strategy asks for; "
                "use minimize(loss), or step() in dygraph"
            )
        return getattr(self._inner_opt, name)

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Forget the gradients, unless a stage is still adding them up."""
        if not any(stage.keeps_gradients() for stage in self._stages):
            self._inner_opt.clear_grad(set_to_zero)

    clear_gradients = clear_grad

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, and that of stages which have some under ``fleet_stages``."""
        state = self._inner_opt.state_dict()
        own = {type(stage).__name__: stage.state_dict() for stage in self._stages}
        own = {name: values for name, values in own.items() if values}
        return {**state, "fleet_stages": own} if own else state

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take back what ``state_dict``, this one's or the plain optimizer's, gave."""
        if not isinstance(state_dict, Mapping):
            raise DtypeError(f"set_state_dict: expected a state dict, but received {state_dict!r}")
        values = dict(state_dict)
        own = values.pop("fleet_stages", {})
        self._inner_opt.set_state_dict(values)
        for stage in self._stages:
            if type(stage).__name__ in own:
                stage.set_state_dict(own[type(stage).__name__])

    set_dict = load_state_dict = set_state_dict

    def __repr__(self) -> str:
        return (
            f"DistributedOptimizer({type(self._inner_opt).__name__}, stages: "
            f"{[s.name for s in self.plan]})"
        )
