"""decorate: an optimizer whose ``minimize`` rewrites the program for mixed precision and scales the
loss.

The scale and its counts are persistable variables (``loss_scaling_0``, ``num_good_steps_0``,
``num_bad_steps_0``). When a gradient is infinite or NaN, gradients become zero and the Adam family
and Lamb leave out the update altogether, as in Paddle.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.ops.training import loss_scaling as ops
from argosy.optimizer import Lamb
from argosy.optimizer.adam import AdamBase
from argosy.optimizer.optimizer import keep_masters
from argosy.static.amp.fp16_lists import AutoMixedPrecisionLists, check_amp_dtype
from argosy.static.amp.fp16_utils import cast_model_to_fp16, cast_parameters_to_fp16
from argosy.static.ir.operator import OPTIMIZE
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope
from argosy.static.ir.variable import Variable, samples
from argosy.static.record.optimize import RecordedOptimizer
from argosy.static.record.recorder import program_guard, recorder
from argosy.tensor.engine import unique_name

Pairs = list[tuple[Any, Variable]]


class OptimizerWithMixedPrecision:
    """Wraps an optimizer; made by ``decorate``."""

    def __init__(
        self,
        optimizer: Any,
        amp_lists: AutoMixedPrecisionLists,
        level: str,
        dtype: str,
        init_loss_scaling: float,
        use_dynamic_loss_scaling: bool,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int,
        incr_ratio: float,
        decr_ratio: float,
        use_amp_guard: bool | None = None,
        use_master_grad: bool = False,
        use_promote: bool = False,
    ) -> None:
        if dtype == "bfloat16" and use_dynamic_loss_scaling:
            use_dynamic_loss_scaling, init_loss_scaling = False, 1.0
            warnings.warn(
                "static.amp.decorate: dynamic loss scaling for bfloat16 amp training is "
                "disabled, and the "
                "init_loss_scaling is changed to 1.0: bfloat16 has the range of float32.",
                stacklevel=3,
            )
        self._optimizer = optimizer
        self._amp_lists = amp_lists
        self._amp_level = level
        self._amp_dtype = dtype
        self._init_loss_scaling = float(init_loss_scaling)
        self._use_dynamic_loss_scaling = use_dynamic_loss_scaling
        self._schedule = (
            incr_every_n_steps,
            decr_every_n_nan_or_inf,
            float(incr_ratio),
            float(decr_ratio),
        )
        self._use_amp_guard = bool(use_amp_guard) and level == "O2"
        self._use_master_grad = use_master_grad and level == "O2"
        self._use_promote = use_promote
        self._low_names: set[str] = set()
        self._program: Program | None = None
        self._scaled_loss: Variable | None = None
        self._loss_scaling: Variable | None = None
        self._num_good_steps: Variable | None = None
        self._num_bad_steps: Variable | None = None

    @property
    def inner(self) -> Any:
        """The optimizer that updates."""
        return self._optimizer

    @inner.setter
    def inner(self, optimizer: Any) -> None:
        self._optimizer = optimizer

    @property
    def _learning_rate(self) -> Any:
        return self._optimizer._learning_rate

    @property
    def _scales(self) -> bool:
        return self._use_dynamic_loss_scaling or self._init_loss_scaling != 1.0

    def get_loss_scaling(self) -> Variable:
        """The variable that holds the scale."""
        if self._loss_scaling is None:
            raise UsageError(
                "static.amp: Please call minimize() before calling get_loss_scaling()."
            )
        return self._loss_scaling

    def get_scaled_loss(self) -> Variable | None:
        """The loss times the scale, of which the gradients are taken."""
        return self._scaled_loss

    # -- recording
    # ----------------------------------------------------------------------------------------------

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Pairs:
        """Rewrite the program, scale the loss and record its backward pass."""
        self._program = loss.block.program
        with program_guard(self._program, startup_program):
            self._make_state()
            self._low_names = self._cast_model(self._program, startup_program)
            if loss.raw.dtype is not torch.float32:
                loss = loss.astype("float32")
            self._scaled_loss = loss * self._loss_scaling if self._scales else loss
            pairs: Pairs = self._optimizer.backward(
                self._scaled_loss, startup_program, parameter_list, no_grad_set, callbacks
            )
            return pairs

    def _cast_model(self, program: Program, startup_program: Program | None) -> set[str]:
        """Rewrite ``program``; returns the names of the parameters whose values must be cast."""
        return cast_model_to_fp16(
            program,
            self._amp_lists,
            self._use_amp_guard,
            self._amp_dtype,
            self._amp_level,
            self._use_promote,
        )

    def _make_state(self) -> None:
        def state(name: str, dtype: torch.dtype, value: float) -> Variable:
            return recorder.new_state(unique_name.generate(name), [1], dtype, value)

        self._loss_scaling = state("loss_scaling", torch.float32, self._init_loss_scaling)
        if self._use_dynamic_loss_scaling:
            self._num_good_steps = state("num_good_steps", torch.int32, 0)
            self._num_bad_steps = state("num_bad_steps", torch.int32, 0)

    def apply_gradients(self, params_grads: Pairs) -> Any:
        """Record unscaling, the check, the new scale and the update; returns the operators of the
        update.
        """
        pairs = [(p, g) for p, g in params_grads if g is not None]
        if self._use_master_grad:
            with recorder.in_role(OPTIMIZE), torch.no_grad():
                pairs = [
                    (p, g if g.raw.dtype is torch.float32 else g.astype("float32"))
                    for p, g in pairs
                ]
        if not self._scales:
            return self._optimizer.apply_gradients(pairs)
        with recorder.in_role(OPTIMIZE), torch.no_grad():
            found = self._unscale([g for _, g in pairs])
            if self._use_dynamic_loss_scaling:
                self._adapt([g for _, g in pairs], found)
            inner = self._optimizer
            while hasattr(inner, "inner_opt"):
                inner = inner.inner_opt
            if not isinstance(inner, (AdamBase, Lamb)):
                return self._optimizer.apply_gradients(pairs)
            is_finite = found.logical_not()
        if inner is self._optimizer:
            return RecordedOptimizer(inner).apply_gradients(pairs, only_if=is_finite)
        with recorder.only_if(is_finite):
            return self._optimizer.apply_gradients(pairs)

    def _unscale(self, grads: list[Variable]) -> Variable:
        block = grads[0].block
        name = unique_name.generate("find_infinite_scale.tmp")
        found: Variable = block.add_variable(Variable(block, name, samples([1], torch.bool)[0]))
        args = (grads, self._loss_scaling)
        # sums of gradients, which stay what they are in runs that do not update
        if grads[0].persistable:
            recorder.append(
                block, "check_finite_and_unscale", ops.check_finite_and_unscale_, args, {}, found
            )
        else:
            recorder.append(
                block, "check_finite_and_unscale", ops.unscale_gradients, args, {}, (grads, found)
            )
        return found

    def _adapt(self, grads: list[Variable], found: Variable) -> None:
        held = [self._loss_scaling, self._num_good_steps, self._num_bad_steps]
        args = (grads, found, *held, *self._schedule)
        recorder.append(
            found.block, "update_loss_scaling", ops.update_loss_scaling_, args, {}, held
        )

    def apply_optimize(
        self, loss: Variable, startup_program: Program | None, params_grads: Pairs
    ) -> Any:
        with program_guard(loss.block.program, startup_program):
            return self.apply_gradients(params_grads)

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
    ) -> tuple[Any, Pairs]:
        """Record everything; returns the operators of the update and the (parameter, scaled
        gradient) pairs.
        """
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs

    # -- values
    # ----------------------------------------------------------------------------------------------

    def amp_init(
        self,
        place: Any,
        scope: Scope | None = None,
        test_program: Program | None = None,
        use_fp16_test: bool = False,
        rewrite_master_weight: bool = False,
    ) -> None:
        """Cast the parameters in the scope to what the program computes with; call it after the
        startup program has run.

        ``use_fp16_test`` rewrites ``test_program``, made before ``minimize``, in the same way.
        """
        if self._program is None:
            raise UsageError(
                "static.amp: Please call the minimize method before calling amp_init()."
            )
        if self._low_names:
            cast_parameters_to_fp16(
                place,
                self._program,
                scope,
                self._low_names,
                self._amp_dtype,
                rewrite_master_weight,
                self._masters(),
            )
        if use_fp16_test and test_program is not None:
            self._cast_model(test_program, None)

    def _masters(self) -> dict[str, Variable]:
        assert self._program is not None
        variables = self._program.global_block().vars
        return {
            name: variables[key]
            for name in self._low_names
            for key in variables
            if _is_master(key, name)
        }


def _is_master(name: str, parameter: str) -> bool:
    prefix = f"{parameter}_fp32_master_"
    return name.startswith(prefix) and name[len(prefix) :].isdigit()


def decorate(*args: Any, **kwargs: Any) -> OptimizerWithMixedPrecision:
    """Make ``minimize`` of an optimizer train with mixed precision.

    There are two sets of arguments, as in Paddle: ``(optimizer, amp_lists, level, dtype,
    master_weight, master_grad, init_loss_scaling, incr_every_n_steps, decr_every_n_nan_or_inf,
    incr_ratio, decr_ratio, use_dynamic_loss_scaling, use_amp_guard, use_promote)`` and the older
    ``(optimizer, amp_lists, init_loss_scaling, incr_every_n_steps, decr_every_n_nan_or_inf,
    incr_ratio, decr_ratio, use_dynamic_loss_scaling, use_pure_fp16, use_fp16_guard, use_bf16,
    use_promote)``. Names tell which is meant, else whether the third argument is a number.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 4])
        ...     loss = paddle.static.nn.fc(x, 2).mean()
        ...     optimizer = paddle.static.amp.decorate(paddle.optimizer.SGD(0.1), level="O1",
        ...         dtype="bfloat16")
        ...     _ = optimizer.minimize(loss)
        ...     [operator.type for operator in loss.block.ops[:4]]
        ['cast', 'cast', 'mul', 'cast']
        >>> paddle.disable_static()
    """
    old_only = {"use_pure_fp16", "use_fp16_guard", "use_bf16"}
    new_only = {"level", "dtype", "master_weight", "master_grad", "use_amp_guard"}
    if old_only & set(kwargs) and new_only & set(kwargs):
        raise UsageError(
            f"static.amp.decorate: {sorted(old_only & set(kwargs))} and "
            f"{sorted(new_only & set(kwargs))} exclude each other"
        )
    third_is_scale = len(args) >= 3 and isinstance(args[2], (int, float))
    is_old = bool(old_only & set(kwargs)) or (third_is_scale and not new_only & set(kwargs))
    return (_decorate_fp16 if is_old else _decorate_level)(*args, **kwargs)


def _decorate_fp16(
    optimizer: Any,
    amp_lists: AutoMixedPrecisionLists | None = None,
    init_loss_scaling: float = 2**15,
    incr_every_n_steps: int = 1000,
    decr_every_n_nan_or_inf: int = 2,
    incr_ratio: float = 2.0,
    decr_ratio: float = 0.8,
    use_dynamic_loss_scaling: bool = True,
    use_pure_fp16: bool = False,
    use_fp16_guard: bool | None = None,
    use_bf16: bool = False,
    use_promote: bool = False,
) -> OptimizerWithMixedPrecision:
    dtype = "bfloat16" if use_bf16 else "float16"
    return OptimizerWithMixedPrecision(
        optimizer,
        AutoMixedPrecisionLists(dtype=dtype) if amp_lists is None else amp_lists,
        "O2" if use_pure_fp16 else "O1",
        dtype,
        init_loss_scaling,
        use_dynamic_loss_scaling,
        incr_every_n_steps,
        decr_every_n_nan_or_inf,
        incr_ratio,
        decr_ratio,
        use_amp_guard=use_pure_fp16 if use_fp16_guard is None else use_fp16_guard,
        use_promote=use_promote,
    )


def _decorate_level(
    optimizer: Any,
    amp_lists: AutoMixedPrecisionLists | None = None,
    level: str = "O1",
    dtype: Any = "float16",
    master_weight: bool | None = None,
    master_grad: bool = False,
    init_loss_scaling: float = 2**16,
    incr_every_n_steps: int = 2000,
    decr_every_n_nan_or_inf: int = 1,
    incr_ratio: float = 2.0,
    decr_ratio: float = 0.5,
    use_dynamic_loss_scaling: bool | None = None,
    use_amp_guard: bool = False,
    use_promote: bool = False,
) -> OptimizerWithMixedPrecision:
    level = level.upper()
    if level not in ("O0", "OD", "O1", "O2"):
        raise UsageError(
            f"static.amp.decorate: level should be O0, OD, O1 or O2, but received {level!r}."
        )
    name = check_amp_dtype(dtype)
    lists = AutoMixedPrecisionLists(dtype=name) if amp_lists is None else amp_lists
    if level == "O0":
        lists = AutoMixedPrecisionLists(custom_black_list=lists.all_list, dtype=name)
    keep_masters(optimizer, master_weight is not False)
    return OptimizerWithMixedPrecision(
        optimizer,
        lists,
        level,
        name,
        init_loss_scaling,
        name == "float16" if use_dynamic_loss_scaling is None else use_dynamic_loss_scaling,
        incr_every_n_steps,
        decr_every_n_nan_or_inf,
        incr_ratio,
        decr_ratio,
        use_amp_guard=use_amp_guard,
        use_promote=use_promote,
        use_master_grad=master_grad,
    )
