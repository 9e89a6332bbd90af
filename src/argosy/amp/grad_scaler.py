"""GradScaler: dynamic loss scaling.

The loss is multiplied by a scale so that float16 gradients do not vanish; before the update the
gradients are divided by it again. When one is infinite or NaN the update is left out and, after
some of those, the scale shrinks; after many good steps it grows.
"""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from argosy.amp.auto_cast import amp_global_state
from argosy.foundation import torch_private as private
from argosy.foundation.errors import BadArgument, CheckpointError, DtypeError, UsageError
from argosy.ops.math.elementwise import multiply
from argosy.ops.training.loss_scaling import check_finite_and_unscale_
from argosy.tensor.engine import Tensor, apply


class OptimizerState(enum.Enum):
    """How far an optimizer has come since the last update()."""

    INIT = 0
    UNSCALED = 1
    STEPPED = 2


class ScalerOrderError(UsageError, RuntimeError):
    """scale, unscale_, step and update were called in an impossible order."""


class EmptyScalerState(CheckpointError, RuntimeError):
    """The state of a disabled scaler was loaded into an enabled one."""


class AmpScaler:
    """Scaling by hand: ``scale`` the loss, then ``minimize``."""

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 2.0**15,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 1000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        self._enable = enable
        self._use_dynamic_loss_scaling = False
        self._init_loss_scaling = 1.0
        if not enable:
            return
        self.set_incr_ratio(incr_ratio)
        self.set_decr_ratio(decr_ratio)
        self.set_init_loss_scaling(init_loss_scaling)
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_count = 0
        self._decr_count = 0
        self._use_dynamic_loss_scaling = use_dynamic_loss_scaling
        self._found_inf: Any = False
        self._cache_found_inf = False
        # with several ranks: what all of them say of an overflow that this one found or did not
        self.found_anywhere: Callable[[bool], bool] | None = None
        self._optimizer_states: dict[int, OptimizerState] = {}

    def scale(self, var: Tensor) -> Tensor:
        """The loss times the scale.

        Dynamic scaling is for float16: when the last auto_cast was for another dtype, it turns
        itself off with a warning.
        """
        if not isinstance(var, Tensor):
            raise DtypeError(
                f"GradScaler.scale: var must be a Tensor, but received {type(var).__name__}"
            )
        dtype = amp_global_state().amp_dtype
        if self._enable and dtype != "float16" and self._use_dynamic_loss_scaling:
            self._enable = False
            self._use_dynamic_loss_scaling = False
            self._init_loss_scaling = 1.0
            warnings.warn(
                f"It is not recommended to use dynamic loss scaling for {dtype}, so GradScaler "
                "is disable by default."
            )
        return apply(multiply, var, self._scale.item()) if self._enable else var

    def minimize(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale, update unless a gradient overflowed, and adapt the scale:
        ``scaler.minimize(optimizer, scaled_loss)``.
        """
        if not self._enable:
            return optimizer.minimize(*args, **kwargs)
        if self._state_of(optimizer) is OptimizerState.INIT:
            self._unscale(optimizer)
        result = (None, None)
        self._cache_found_inf = bool(self._found_inf)
        if not self._cache_found_inf:
            result = optimizer.minimize(*args, **kwargs)
        if self._use_dynamic_loss_scaling:
            self._update()
        self._optimizer_states.clear()
        return result

    def _state_of(self, optimizer: Any) -> OptimizerState:
        return self._optimizer_states.get(id(optimizer), OptimizerState.INIT)

    def _unscale(self, optimizer: Any) -> None:
        if not self._enable:
            return
        state = self._state_of(optimizer)
        if state is OptimizerState.UNSCALED:
            raise ScalerOrderError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state is OptimizerState.STEPPED:
            raise ScalerOrderError("unscale_() is being called after step().")
        grads = [raw for raw in map(_written_grad, optimizer.parameters()) if raw is not None]
        with torch.no_grad():
            self._found_inf = (
                bool(check_finite_and_unscale_.fn(grads, self._scale.raw)) if grads else False
            )
        if self.found_anywhere is not None:
            self._found_inf = self.found_anywhere(self._found_inf)
        self._optimizer_states[id(optimizer)] = OptimizerState.UNSCALED

    def _update(self) -> None:
        if self._cache_found_inf:
            self._incr_count = 0
            self._decr_count += 1
            if self._decr_count == self._decr_every_n_nan_or_inf:
                scale = self._scale.item()
                print(
                    f"Found inf or nan, current scale is: {scale}, decrease to: "
                    f"{scale}*{float(self._decr_ratio)}"
                )
                self._multiply_scale(self._decr_ratio)
                self._decr_count = 0
        else:
            self._decr_count = 0
            self._incr_count += 1
            if self._incr_count == self._incr_every_n_steps:
                self._multiply_scale(self._incr_ratio)
                self._incr_count = 0

    def _multiply_scale(self, ratio: float) -> None:
        self._set_scale(self._scale.item() * ratio)

    def _set_scale(self, value: float) -> None:
        self._scale = Tensor(np.array([value], np.float32))

    def is_enable(self) -> bool:
        return self._enable

    def is_use_dynamic_loss_scaling(self) -> bool:
        return self._use_dynamic_loss_scaling

    def get_init_loss_scaling(self) -> float:
        return self._init_loss_scaling

    def set_init_loss_scaling(self, new_init_loss_scaling: float) -> None:
        self._init_loss_scaling = new_init_loss_scaling
        self._set_scale(new_init_loss_scaling)

    def get_incr_ratio(self) -> float:
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio: float) -> None:
        if not new_incr_ratio > 1.0:
            raise BadArgument(
                f"{type(self).__name__}: The incr_ratio must be > 1.0, but received "
                f"{new_incr_ratio}."
            )
        self._incr_ratio = new_incr_ratio

    def get_decr_ratio(self) -> float:
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio: float) -> None:
        if not new_decr_ratio < 1.0:
            raise BadArgument(
                f"{type(self).__name__}: The decr_ratio must be < 1.0, but received "
                f"{new_decr_ratio}."
            )
        self._decr_ratio = new_decr_ratio

    def get_incr_every_n_steps(self) -> int:
        return self._incr_every_n_steps

    def set_incr_every_n_steps(self, new_incr_every_n_steps: int) -> None:
        self._incr_every_n_steps = new_incr_every_n_steps

    def get_decr_every_n_nan_or_inf(self) -> int:
        return self._decr_every_n_nan_or_inf

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf: int) -> None:
        self._decr_every_n_nan_or_inf = new_decr_every_n_nan_or_inf

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs to go on from here; empty when disabled."""
        if not self._enable:
            return {}
        return {"scale": self._scale.numpy(), **{key: getattr(self, f"_{key}") for key in _STATE}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave; nothing when disabled."""
        if not self._enable:
            return
        if len(state_dict) == 0:
            raise EmptyScalerState(
                "GradScaler.load_state_dict: The input state dict is empty, possibly because it "
                "was saved from a "
                "disabled instance of GradScaler."
            )
        self.set_init_loss_scaling(float(np.asarray(state_dict["scale"]).reshape(-1)[0]))
        for key in _STATE:
            setattr(self, f"_{key}", state_dict[key])


_STATE = (
    "incr_ratio",
    "decr_ratio",
    "incr_every_n_steps",
    "decr_every_n_nan_or_inf",
    "incr_count",
    "decr_count",
    "use_dynamic_loss_scaling",
)


class GradScaler(AmpScaler):
    """Scaling step by step: ``scale`` the loss, ``unscale_`` (to clip by hand), ``step``,
    ``update``.

    Differs from Paddle: it also works on CPU, where Paddle's does nothing.

    Example:
        >>> import paddle
        >>> model = paddle.nn.Linear(4, 2)
        >>> sgd = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
        >>> scaler = paddle.amp.GradScaler(init_loss_scaling=1024, use_dynamic_loss_scaling=False)
        >>> scaler.scale(model(paddle.ones([3, 4])).mean()).backward()
        >>> scaler.step(sgd)
        >>> scaler.update()
        >>> sgd.clear_grad()
    """

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 2.0**16,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 2000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        super().__init__(
            enable, init_loss_scaling, incr_ratio, decr_ratio, incr_every_n_steps,
            decr_every_n_nan_or_inf,
            use_dynamic_loss_scaling,
        )  # fmt: skip

    def step(self, optimizer: Any) -> None:
        """Unscale if that was not done, and update unless a gradient overflowed."""
        if not self._enable:
            optimizer.step()
            return
        state = self._state_of(optimizer)
        if state is OptimizerState.STEPPED:
            raise ScalerOrderError("step() has already been called since the last update().")
        if state is OptimizerState.INIT:
            self._unscale(optimizer)
        self._cache_found_inf = bool(self._found_inf)
        if not self._cache_found_inf:
            optimizer.step()
        self._optimizer_states[id(optimizer)] = OptimizerState.STEPPED
        if not self._use_dynamic_loss_scaling:
            self._optimizer_states.clear()

    def update(self) -> None:
        """Adapt the scale to what the last step found."""
        if self._enable and self._use_dynamic_loss_scaling:
            self._update()
            self._optimizer_states.clear()

    def unscale_(self, optimizer: Any) -> None:
        """Divide the optimizer's gradients by the scale now, once between two updates."""
        self._unscale(optimizer)


def _written_grad(param: Tensor) -> torch.Tensor | None:
    """The tensor that holds the gradient's numbers, or None; cleared gradients need no
    unscaling.
    """
    main = getattr(param, "main_grad", None)
    grad = main.raw if main is not None else param.raw.grad
    return None if grad is None else private.stored(grad)
