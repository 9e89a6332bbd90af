"""The names of Paddle's second IR, of whose programs there are none here."""

from __future__ import annotations

import numpy as np
import pytest
from paddle.autograd.backward_utils import ValueDict, ValueSet
from paddle.autograd.ir_backward import grad
from paddle.pir_utils import OldIrGuard

import paddle


def test_no_variable_is_a_value() -> None:
    with OldIrGuard(), paddle.static.program_guard(paddle.static.Program()):
        x = paddle.static.data("x", [2])
        assert not isinstance(x, paddle.pir.Value)
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
