"""The names of Paddle's second IR, of whose programs there are none here."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.autograd.backward_utils import ValueDict, ValueSet
from paddle.autograd.ir_backward import grad
from paddle.pir_utils import IrGuard, OldIrGuard


def test_no_variable_is_a_value() -> None:
    with OldIrGuard(), paddle.static.program_guard(paddle.static.Program()):
        x = paddle.static.data("x", [2])
        assert not isinstance(x, (paddle.pir.Value, paddle.pir.OpResult, paddle.pir.Block))
    with pytest.raises(NotImplementedError, match=r"paddle\.static"):
        paddle.pir.Program()


def test_gradients_and_sets_of_variables() -> None:
    with OldIrGuard(), paddle.static.program_guard(paddle.static.Program()):
        x = paddle.static.data("x", [2])
        x.stop_gradient = False
        y = x * x
        (dx,) = grad(y, [x])
        assert x in ValueSet([x])
        assert y not in ValueSet([x])
        assert ValueDict({x: 1})[x] == 1
        exe = paddle.static.Executor()
        out = exe.run(feed={"x": np.float32([1, 3])}, fetch_list=[dx])[0]
    assert out.tolist() == [2, 6]


def test_results_inside_the_guard_do_not_count_among_layers() -> None:
    names = {}
    for guard in (IrGuard, OldIrGuard):
        with (
            guard(),
            paddle.utils.unique_name.guard(),
            paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
        ):
            x = paddle.static.data("x", [None, 4])
            layers = [paddle.nn.Linear(4, 4), paddle.nn.LayerNorm(4)]
            for layer in layers:
                x = layer(x)
            layers += [paddle.nn.Linear(4, 4), paddle.nn.LayerNorm(4)]
            names[guard] = [layer.weight.name for layer in layers]
    first = ["linear_0.w_0", "layer_norm_0.w_0"]
    assert names[IrGuard] == [*first, "linear_1.w_0", "layer_norm_1.w_0"]
    assert names[OldIrGuard] == [*first, "linear_2.w_0", "layer_norm_2.w_0"]
