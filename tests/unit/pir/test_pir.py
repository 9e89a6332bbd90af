"""The names of Paddle's second IR, of whose programs there are none here."""

from __future__ import annotations

import numpy as np
import pytest
from paddle.autograd.backward_utils import ValueDict, ValueSet
from paddle.autograd.ir_backward import grad
from paddle.pir_utils import DygraphOldIrGuard, IrGuard, OldIrGuard, test_with_pir_api

import paddle


def test_the_guards_set_the_flag_and_the_mode() -> None:
    flag = "FLAGS_enable_pir_api"
    before = paddle.get_flags(flag)
    for guard, value in ((IrGuard, True), (OldIrGuard, False)):
        with guard():
            assert not paddle.in_dynamic_mode()
            assert paddle.get_flags(flag)[flag] is value
            assert not paddle.framework.in_pir_mode()
        assert paddle.in_dynamic_mode()
    with DygraphOldIrGuard():
        assert paddle.in_dynamic_mode()
    assert paddle.get_flags(flag) == before


def test_a_test_runs_with_both() -> None:
    modes = []
    test_with_pir_api(lambda: modes.append(paddle.in_dynamic_mode()))()
    assert modes == [True, False]


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
