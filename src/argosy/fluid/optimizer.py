"""The optimizers of 1.x in dygraph: the update rules of ``paddle.optimizer`` with 1.x arguments,
defaults and ``minimize``.

Without ``parameter_list`` an optimizer updates the parameters that were made in the current
``fluid.dygraph.guard``. A schedule of ``fluid.dygraph`` as ``learning_rate`` takes a step with each
``minimize``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import optimizer as _current
from argosy.fluid._optimizer import Optimizer
from argosy.fluid.missing import missing_names
from argosy.incubate.optimizer.recompute import RecomputeOptimizer
from argosy.optimizer.lars import LarsMomentumOptimizer as _Lars
from argosy.optimizer.update_group import UpdateGroup, Values
from argosy.static import ExponentialMovingAverage
from argosy.tensor.engine import Tensor

__all__ = [
    "Adadelta",
    "AdadeltaOptimizer",
    "Adagrad",
    "AdagradOptimizer",
    "Adam",
    "AdamOptimizer",
    "Adamax",
    "AdamaxOptimizer",
    "ExponentialMovingAverage",
    "Lamb",
    "LambOptimizer",
    "LarsMomentum",
    "LarsMomentumOptimizer",
    "Momentum",
    "MomentumOptimizer",
    "Optimizer",
    "RMSProp",
    "RMSPropOptimizer",
    "RecomputeOptimizer",
    "SGD",
    "SGDOptimizer",
]


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

    def __init__(
        self,
        learning_rate: Any,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._begin(learning_rate, parameter_list, regularization, grad_clip, name)


class MomentumOptimizer(Optimizer, _current.Momentum):
    """``velocity = momentum * velocity + grad; param -= lr * velocity``"""

    def __init__(
        self,
        learning_rate: Any,
        momentum: float,
        parameter_list: Any = None,
        use_nesterov: bool = False,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._begin(
            learning_rate,
            parameter_list,
            regularization,
            grad_clip,
            name,
            momentum=momentum,
            use_nesterov=use_nesterov,
        )


class LarsMomentumOptimizer(Optimizer, _Lars):
    """Momentum with a rate per layer."""

    _parameters_argument = "parameter_list"

    def __init__(
        self,
        learning_rate: Any,
        momentum: float,
        lars_coeff: float = 0.001,
        lars_weight_decay: float = 0.0005,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._begin(
            learning_rate,
            parameter_list,
            regularization,
            grad_clip,
            name,
            momentum=momentum,
            lars_coeff=lars_coeff,
            lars_weight_decay=lars_weight_decay,
        )


class AdagradOptimizer(Optimizer, _current.Adagrad):
    """Divides the rate by the root of the sum of squared gradients."""

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1.0e-6,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        self._begin(
            learning_rate,
            parameter_list,
            regularization,
            grad_clip,
            name,
            epsilon=epsilon,
            initial_accumulator_value=initial_accumulator_value,
        )


class AdamOptimizer(Optimizer, _current.Adam):
    """Adam; ``lazy_mode`` updates only the rows that a row-sparse gradient has.

    1.x adds ``epsilon`` to the root of the second moment as it is, later versions to the root
    corrected for its start from zero.
    """

    _plain_epsilon = True

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: float = 1e-8,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        lazy_mode: bool = False,
    ) -> None:
        self._begin(
            learning_rate,
            parameter_list,
            regularization,
            grad_clip,
            name,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            lazy_mode=lazy_mode,
        )


class AdamaxOptimizer(Optimizer, _current.Adamax):
    """Adam with the infinity norm of past gradients in place of the second moment."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._begin(
            learning_rate,
            parameter_list,
            regularization,
            grad_clip,
            name,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
        )


class AdadeltaOptimizer(Optimizer, _current.Adadelta):
    """Scales gradients by the ratio of the root mean squares of past updates and past gradients;
    1.x uses no learning rate.

    Differs from Paddle 1.8, whose kernel reads the average of past updates after it has added the
    present one.
    """

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1.0e-6,
        rho: float = 0.95,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._begin(
            learning_rate, parameter_list, regularization, grad_clip, name, epsilon=epsilon, rho=rho
        )

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        super()._update(group, params, grads, 1.0, decay)


class RMSPropOptimizer(Optimizer, _current.RMSProp):
    """Divides gradients by the root of their mean square."""

    def __init__(
        self,
        learning_rate: Any,
        rho: float = 0.95,
        epsilon: float = 1.0e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._begin(
            learning_rate,
            parameter_list,
            regularization,
            grad_clip,
            name,
            rho=rho,
            epsilon=epsilon,
            momentum=momentum,
            centered=centered,
        )


class LambOptimizer(Optimizer, _current.Lamb):
    """Adam with decay in the direction, and a rate per tensor of ‖param‖ / ‖direction‖, also for
    tensors without decay.

    1.x does not correct the moments for their start from zero, nor does it count steps.
    """

    _corrects = False

    def __init__(
        self,
        learning_rate: Any = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        exclude_from_weight_decay_fn: Callable[[Tensor], bool] | None = None,
        name: str | None = None,
    ) -> None:
        self._begin(
            learning_rate,
            parameter_list,
            regularization,
            grad_clip,
            name,
            lamb_weight_decay=lamb_weight_decay,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            exclude_from_weight_decay_fn=exclude_from_weight_decay_fn,
            always_adapt=True,
        )


SGD = SGDOptimizer
Momentum = MomentumOptimizer
LarsMomentum = LarsMomentumOptimizer
Adagrad = AdagradOptimizer
Adam = AdamOptimizer
Adamax = AdamaxOptimizer
Adadelta = AdadeltaOptimizer
RMSProp = RMSPropOptimizer
Lamb = LambOptimizer

__getattr__ = missing_names(__name__, globals())
