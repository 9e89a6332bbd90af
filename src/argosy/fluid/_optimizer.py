"""What the optimizers of 1.x do in dygraph: follow the guard's parameters, ``minimize``, and take schedules as learning rates."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.fluid._tracer import tracers
from argosy.fluid.dygraph._epoch_schedule import EpochDecay
from argosy.fluid.dygraph._schedule import LearningRateDecay
from argosy.foundation.errors import BadArgument, DtypeError, MissingParameters
from argosy.optimizer import Optimizer as _Current
from argosy.tensor._tensor import Tensor


class Optimizer(_Current):
    """What the optimizers of 1.x have in common; a subclass also derives from the update rule."""

    _parameters_argument = "parameters"  # what the update rule calls its list of parameters
    _follows_guard = False
    _last_rate: float | None = None
    _learning_rate: Any

    def _begin(
        self,
        learning_rate: Any,
        parameter_list: Any,
        regularization: Any,
        grad_clip: Any,
        name: str | None,
        **rule: Any,
    ) -> None:
        """Initialise the update rule, then put a schedule in the place of its learning rate."""
        if not isinstance(learning_rate, (float, LearningRateDecay)):
            raise DtypeError(
                f"{type(self).__name__}: learning rate should be float or LearningRateDecay, "
                f"got {learning_rate!r} ({type(learning_rate).__name__}) here"
            )
        if parameter_list is None:
            if not tracers.is_guarded:
                raise MissingParameters(
                    f"{type(self).__name__}: parameter_list should not be None outside of fluid.dygraph.guard(). "
                    "Pass parameter_list=model.parameters()."
                )
            self._follows_guard = True
            parameter_list = ()
        start = learning_rate if isinstance(learning_rate, float) else 0.0
        rule[self._parameters_argument] = parameter_list
        super().__init__(start, grad_clip=grad_clip, name=name, **rule)
        self._learning_rate = learning_rate
        self.regularization = regularization

    def _parameters(self) -> list[Tensor]:
        if self._follows_guard:
            self._parameter_list = self._param_groups = [p for p in tracers.current.all_parameters() if p.trainable]
        return super()._parameters()

    def get_lr(self) -> float:
        """The rate of the step that is beginning: a schedule goes on by one."""
        rate = self._learning_rate
        self._last_rate = rate = rate if isinstance(rate, float) else rate.next_rate()
        return rate

    def current_step_lr(self) -> float:
        """The rate of the last step; before the first, the one it will have."""
        rate = self._learning_rate
        if isinstance(rate, float):
            return rate
        if self._last_rate is None or isinstance(rate, EpochDecay):
            return float(rate.peek())
        return self._last_rate

    def _global_learning_rate(self) -> Tensor:
        """``current_step_lr`` as a Tensor of shape [1]."""
        return Tensor(np.array([self.current_step_lr()], "float32"))

    def minimize(
        self,
        loss: Tensor,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        grad_clip: Any = None,
    ) -> Any:
        """Update from the gradients that ``loss.backward()`` left; returns no ops and the (parameter, gradient) pairs.

        ``grad_clip``, which 1.6 and 1.7 pass here, replaces the optimizer's.
        """
        self._parameters()
        own = self._grad_clip
        self._grad_clip = own if grad_clip is None else grad_clip
        try:
            return super().minimize(loss, startup_program, parameter_list, no_grad_set)
        finally:
            self._grad_clip = own

    def step(self) -> None:
        """Update every parameter that has a gradient."""
        self._parameters()
        super().step()

    def state_dict(self) -> dict[str, Any]:
        """Accumulators by their names; with a schedule, ``LR_Scheduler`` and, where it counts steps, ``global_step``."""
        state = super().state_dict()
        if isinstance(self._learning_rate, LearningRateDecay):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
            if not isinstance(self._learning_rate, EpochDecay):
                state["global_step"] = Tensor(np.array([self._learning_rate.step_num], "int32"))
                state["global_step"].name = "global_step"
        return state

    def set_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what ``state_dict`` gave; before the first step it is kept until then."""
        values = {key: value for key, value in state_dict.items() if key != "StructuredToParameterName@@"}
        schedule, count = values.pop("LR_Scheduler", None), values.pop("global_step", None)
        if isinstance(self._learning_rate, LearningRateDecay):
            if schedule is None:
                raise BadArgument(
                    f"{type(self).__name__}.set_dict: the state dict has no 'LR_Scheduler', but the rate is a schedule"
                )
            self._learning_rate.set_dict(schedule)
            if count is not None and not isinstance(self._learning_rate, EpochDecay):
                self._learning_rate.step_num = int(np.asarray(count).reshape(-1)[0])
        super().set_state_dict(values)

    set_state_dict = set_dict
