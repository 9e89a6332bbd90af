"""The dtype of the learning rate in a program."""

from __future__ import annotations

import numpy as np
import pytest

import paddle


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_program_steps_as_far_as_eager_code(dtype):
    start = np.array([1.0, 2.0], dtype)
    paddle.disable_static()
    eager = paddle.create_parameter([2], dtype)
    eager.set_value(start)
    (eager * eager).sum().backward()
    paddle.optimizer.SGD(0.1, parameters=[eager]).step()
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        weight = paddle.create_parameter(
            [2], dtype, default_initializer=paddle.nn.initializer.Assign(start)
        )
        paddle.optimizer.SGD(0.1).minimize((weight * weight).sum())
        exe = paddle.static.Executor()
        exe.run(startup)
        exe.run(main)
        (after,) = exe.run(main.clone(for_test=True), fetch_list=[weight])
        (rate,) = [v for v in main.list_vars() if v.name.startswith("learning_rate")]
    assert str(rate.raw.dtype) == f"torch.{dtype}"
    np.testing.assert_array_equal(after, eager.numpy())
