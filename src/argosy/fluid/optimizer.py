"""``fluid.optimizer``: the update rules of ``paddle.optimizer`` with 1.x arguments, defaults and
``minimize``.

In dygraph an optimizer without ``parameter_list`` updates the parameters that were made in the
current ``fluid.dygraph.guard``, and a schedule of ``fluid.dygraph`` as ``learning_rate`` takes a
step with each ``minimize``. In programs rates may be variables, and ``set_gradient_clip`` limits
gradients.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from argosy import optimizer as _current
from argosy.fluid import _older_rules as _rules
from argosy.fluid.clip import clips_of_parameters
from argosy.fluid.dygraph.learning_rate_scheduler import EpochDecay, LearningRateDecay
from argosy.fluid.dygraph.tracer import is_static, tracers
from argosy.fluid.table import constructor
from argosy.foundation.errors import BadArgument, DtypeError, MissingParameters, UsageError
from argosy.optimizer.lars import LarsMomentumOptimizer as _Lars
from argosy.optimizer.update_group import UpdateGroup, Values
from argosy.static.ir.variable import Variable
from argosy.static.record.recorder import program_guard, recorder
from argosy.tensor.engine import Tensor


class Optimizer(_current.Optimizer):
    """What the optimizers of 1.x have in common; a subclass also derives from the update rule."""

    _parameters_argument = "parameters"  # what the update rule calls its list of parameters
    _rate_shape = (1,)
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
        if not isinstance(learning_rate, (float, LearningRateDecay, Variable)):
            raise DtypeError(
                f"{type(self).__name__}: learning rate should be float, LearningRateDecay or a "
                "variable of a program, "
                f"got {learning_rate!r} ({type(learning_rate).__name__}) here"
            )
        if parameter_list is None:
            self._follows_guard = tracers.is_guarded
            parameter_list = ()
        start = learning_rate if isinstance(learning_rate, float) else 0.0
        rule[self._parameters_argument] = parameter_list
        super().__init__(start, grad_clip=grad_clip, name=name, **rule)
        self._learning_rate = learning_rate
        self.regularization = regularization

    def _parameters(self) -> list[Tensor]:
        if self._follows_guard:
            self._parameter_list = self._param_groups = [
                p for p in tracers.current.all_parameters() if p.trainable
            ]
        return super()._parameters()

    def _require_parameters(self) -> None:
        if not self._follows_guard and not self._parameter_list:
            raise MissingParameters(
                f"{type(self).__name__}: parameter_list should not be None outside of "
                "fluid.dygraph.guard(). "
                "Pass parameter_list=model.parameters()."
            )

    def get_lr(self) -> float:
        """The rate of the step that is beginning: a schedule goes on by one."""
        rate = self._learning_rate
        if isinstance(rate, Variable):
            raise UsageError(
                f"{type(self).__name__}: the rate is the variable {rate.name!r} of a program; "
                "fetch it"
            )
        self._last_rate = rate = rate if isinstance(rate, float) else rate.next_rate()
        return rate

    def current_step_lr(self) -> float:
        """The rate of the last step; before the first, the one it will have."""
        rate = self._learning_rate
        if isinstance(rate, (float, Variable)):
            return self.get_lr()
        if self._last_rate is None or isinstance(rate, EpochDecay):
            return float(rate.peek())
        return self._last_rate

    def _global_learning_rate(self, program: Any = None) -> Any:
        """The variable of ``program`` that holds the rate, None before ``minimize``; in dygraph the
        rate as a Tensor.
        """
        if isinstance(self._learning_rate, Variable):
            return self._learning_rate
        found = recorder.rate_of(self, program)
        if found is not None or is_static():
            return found
        return Tensor(np.array([self.current_step_lr()], "float32"))

    def minimize(
        self,
        loss: Tensor,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        grad_clip: Any = None,
    ) -> Any:
        """Record backward and update in the program of ``loss``, or in dygraph update from what
        ``loss.backward()`` left.

        Returns the operators of the update and the (parameter, gradient) pairs. ``grad_clip``,
        which 1.6 and 1.7 pass here, replaces the optimizer's.
        """
        if not isinstance(loss, Variable):
            self._require_parameters()
            self._parameters()
        with self._clipping(grad_clip, loss):
            return super().minimize(loss, startup_program, parameter_list, no_grad_set)

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Any:
        """Pair the parameters with their gradients, which are recorded in a program, and found
        after ``loss.backward()`` in dygraph.
        """
        return super().backward(loss, startup_program, parameter_list, no_grad_set, callbacks)

    def apply_gradients(self, params_grads: Any) -> Any:
        """Clip, regularise and apply the given (parameter, gradient) pairs."""
        with self._clipping(None, params_grads[0][0] if params_grads else None):
            return super().apply_gradients(params_grads)

    def apply_optimize(self, loss: Any, startup_program: Any, params_grads: Any) -> Any:
        """As ``apply_gradients``."""
        if startup_program is None or not isinstance(loss, Variable):
            return self.apply_gradients(params_grads)
        with program_guard(loss.block.program, startup_program):
            return self.apply_gradients(params_grads)

    @contextlib.contextmanager
    def _clipping(self, grad_clip: Any, variable: Any) -> Iterator[None]:
        """Use ``grad_clip``, or the optimizer's, or the limits set on the parameters of the program
        of ``variable``.
        """
        own = self._grad_clip
        self._grad_clip = own if grad_clip is None else grad_clip
        if self._grad_clip is None and isinstance(variable, Variable):
            self._grad_clip = clips_of_parameters(variable.block.program)
        try:
            yield
        finally:
            self._grad_clip = own

    def _run(
        self,
        index: int,
        params: Any,
        raws: Any,
        grads: Any,
        sparse: Any,
        options: Any,
        clip: Any,
        lr: float,
    ) -> None:
        wanted = getattr(clip, "_need_clip", None)
        if wanted is not None:
            grads = clip.apply_raw(
                grads, [getattr(p, "need_clip", True) and bool(wanted(p)) for p in params]
            )
            clip = None
        super()._run(index, params, raws, grads, sparse, options, clip, lr)

    def step(self) -> None:
        """Update every parameter that has a gradient."""
        self._require_parameters()
        self._parameters()
        super().step()

    def state_dict(self) -> dict[str, Any]:
        """Accumulators by their names; with a schedule, ``LR_Scheduler`` and, where it counts
        steps, ``global_step``.
        """
        state = super().state_dict()
        if isinstance(self._learning_rate, LearningRateDecay):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
            if not isinstance(self._learning_rate, EpochDecay):
                state["global_step"] = Tensor(np.array([self._learning_rate.step_num], "int32"))
                state["global_step"].name = "global_step"
        return state

    def set_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what ``state_dict`` gave; before the first step it is kept until then."""
        values = {
            key: value for key, value in state_dict.items() if key != "StructuredToParameterName@@"
        }
        schedule, count = values.pop("LR_Scheduler", None), values.pop("global_step", None)
        if isinstance(self._learning_rate, LearningRateDecay):
            if schedule is None:
                raise BadArgument(
                    f"{type(self).__name__}.set_dict: the state dict has no 'LR_Scheduler', but "
                    "the rate is a schedule"
                )
            self._learning_rate.set_dict(schedule)
            if count is not None and not isinstance(self._learning_rate, EpochDecay):
                self._learning_rate.step_num = int(np.asarray(count).reshape(-1)[0])
        super().set_state_dict(values)

    set_state_dict = set_dict


@constructor("learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None")
class SGDOptimizer(Optimizer, _current.SGD):
    """``param -= lr * grad``

    Example:
        >>> import numpy as np
        >>> import paddle.fluid as fluid
        >>> with fluid.dygraph.guard():
        ...     linear = fluid.dygraph.Linear(2, 1)
        ...     sgd = fluid.optimizer.SGDOptimizer(0.1, parameter_list=linear.parameters())
        ...     loss = fluid.layers.mean(linear(fluid.dygraph.to_variable(np.ones([4, 2],
        ...         "float32"))))
        ...     loss.backward()
        ...     _ = sgd.minimize(loss)
        ...     linear.clear_gradients()
    """


@constructor(
    "learning_rate, momentum, parameter_list=None, use_nesterov=False, regularization=None, "
    "grad_clip=None, name=None"
)
class MomentumOptimizer(Optimizer, _current.Momentum):
    """``velocity = momentum * velocity + grad; param -= lr * velocity``"""


@constructor(
    "learning_rate, momentum, lars_coeff=0.001, lars_weight_decay=0.0005, "
    "parameter_list=None, regularization=None, grad_clip=None, name=None"
)
class LarsMomentumOptimizer(Optimizer, _Lars):
    """Momentum with a rate per layer."""

    _parameters_argument = "parameter_list"


@constructor(
    "learning_rate, epsilon=1.0e-6, parameter_list=None, regularization=None, grad_clip=None, "
    "name=None, initial_accumulator_value=0.0"
)
class AdagradOptimizer(Optimizer, _current.Adagrad):
    """Divides the rate by the root of the sum of squared gradients."""


@constructor(
    "learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, parameter_list=None, "
    "regularization=None, grad_clip=None, name=None, lazy_mode=False"
)
class AdamOptimizer(Optimizer, _current.Adam):
    """Adam; ``lazy_mode`` updates only the rows that a row-sparse gradient has.

    1.x adds ``epsilon`` to the root of the second moment as it is, later versions to the root
    corrected for its start from zero.
    """

    _plain_epsilon = True


@constructor(
    "learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, parameter_list=None, "
    "regularization=None, grad_clip=None, name=None"
)
class AdamaxOptimizer(Optimizer, _current.Adamax):
    """Adam with the infinity norm of past gradients in place of the second moment."""


@constructor(
    "learning_rate, epsilon=1.0e-6, rho=0.95, parameter_list=None, regularization=None, "
    "grad_clip=None, name=None"
)
class AdadeltaOptimizer(Optimizer, _current.Adadelta):
    """Scales gradients by the ratio of the root mean squares of past updates and past gradients;
    1.x uses no learning rate.

    Differs from Paddle 1.8, whose kernel reads the average of past updates after it has added the
    present one.
    """

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        super()._update(group, params, grads, 1.0, decay)


@constructor(
    "learning_rate, rho=0.95, epsilon=1.0e-6, momentum=0.0, centered=False, "
    "parameter_list=None, regularization=None, grad_clip=None, name=None"
)
class RMSPropOptimizer(Optimizer, _current.RMSProp):
    """Divides gradients by the root of their mean square."""


@constructor(
    "learning_rate, decay=0.95, epsilon=1.0e-6, parameter_list=None, regularization=None, "
    "grad_clip=None, name=None"
)
class DecayedAdagradOptimizer(Optimizer, _rules.DecayedAdagrad):
    """Adagrad with a decaying mean of squares in place of their sum."""


@constructor(
    "learning_rate, l1=0.0, l2=0.0, lr_power=-0.5, parameter_list=None, regularization=None, "
    "grad_clip=None, name=None"
)
class FtrlOptimizer(Optimizer, _rules.Ftrl):
    """Follow the regularised leader; ``l1`` makes parameters sparse.

    Differs from Paddle 1.8, which takes ``l1`` for ``l2`` as well.
    """


@constructor(
    "learning_rate=0.001, clip=0.9, batch_size=0.999, sigma=1e-8, parameter_list=None",
    regularization=None,
    grad_clip=None,
    name=None,
)
class DpsgdOptimizer(Optimizer, _rules.Dpsgd):
    """SGD with clipped gradients and noise, for privacy."""


@constructor(
    "learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-6, "
    "parameter_list=None, regularization=None, grad_clip=None, "
    "exclude_from_weight_decay_fn=None, name=None",
    always_adapt=True,
)
class LambOptimizer(Optimizer, _current.Lamb):
    """Adam with decay in the direction, and a rate per tensor of ‖param‖ / ‖direction‖, also for
    tensors without decay.

    1.x does not correct the moments for their start from zero, nor does it count steps.
    """

    _corrects = False
