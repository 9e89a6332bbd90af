"""static_pylayer: results of one function, gradients of another."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.static.nn.static_pylayer import StaticPyLayerBlock

ONES = np.ones(2, "float32")


def data(name="x", shape=(2,), stops=False):
    made = paddle.static.data(name, list(shape))
    made.stop_gradient = stops
    return made


def run(*fetches, **feed):
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    return exe.run(feed=feed or {"x": ONES}, fetch_list=list(fetches))


def test_gradients_are_those_of_the_backward_function():
    x = data()
    y = paddle.static.nn.static_pylayer(lambda x: 3 * x, [x], lambda dy: -5 * dy)
    [dx] = paddle.static.gradients((y * y).sum(), x)
    out, grad = run(y, dx)
    np.testing.assert_allclose(out, 3 * ONES)
    np.testing.assert_allclose(grad, -5 * 2 * 3 * ONES)


def test_nested_results_keep_their_structure_and_plain_values():
    x, y = data("x"), data("y")
    first, [second, word] = paddle.static.nn.static_pylayer(
        lambda a, b: (a, [a * b, "w"]), [x, y], lambda da, dab: (da, 2 * dab)
    )
    assert word == "w"
    grads = paddle.static.gradients([first.sum() + second.sum()], [x, y])
    outs = run(first, second, *grads, x=2 * ONES, y=3 * ONES)
    np.testing.assert_allclose(outs, [2 * ONES, 6 * ONES, ONES, 2 * ONES])


def test_without_a_backward_function_nothing_flows():
    x = data(stops=True)
    y = paddle.static.nn.static_pylayer(lambda x: paddle.exp(x), [x])
    assert y.stop_gradient
    np.testing.assert_allclose(run(y)[0], np.exp(ONES), rtol=1e-6)
    assert paddle.static.nn.static_pylayer(lambda x: None, [x]) is None


def test_both_functions_see_the_variables_around_them():
    x = data()
    scale = paddle.full([2], 4.0)
    y = paddle.static.nn.static_pylayer(lambda x: x * scale, [x], lambda dy: dy + scale)
    [dx] = paddle.static.gradients(y, x)
    outs = run(y, dx)
    np.testing.assert_allclose(outs, [4 * ONES, 5 * ONES])


def test_branches_inside():
    x = data(shape=(1,))
    cond = paddle.static.nn.cond
    y = paddle.static.nn.static_pylayer(
        lambda x: cond(x < 5.0, lambda: x + x, lambda: x - x),
        [x],
        lambda dy: cond(dy < 0.0, lambda: -dy, lambda: dy * 7.0),
    )
    [dx] = paddle.static.gradients(y * 2.0, x)
    outs = run(y, dx, x=np.array([3.0], "float32"))
    np.testing.assert_allclose(outs, [[6.0], [14.0]])


def test_parameters_inside_are_not_trained_and_those_before_are():
    x = data(shape=(2, 3), stops=True)
    h = paddle.static.nn.fc(x, 2, name="before")
    y = paddle.static.nn.static_pylayer(
        lambda h: paddle.static.nn.fc(h, 2, name="inside"), [h], lambda dy: dy
    )
    _, pairs = paddle.optimizer.SGD(0.5).minimize(y.sum())
    assert [param.name for param, _ in pairs] == ["before.w_0", "before.b_0"]
    scope, exe = paddle.static.global_scope(), paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())

    def value(name):
        return np.array(scope.find_var(name).get_tensor())

    before, inside = value("before.w_0"), value("inside.w_0")
    exe.run(feed={"x": np.ones((2, 3), "float32")})
    np.testing.assert_allclose(value("before.w_0"), before - 0.5 * 2.0, rtol=1e-6)
    np.testing.assert_array_equal(value("inside.w_0"), inside)


def test_blocks_can_be_recorded_one_by_one():
    x = data(shape=(4, 1))
    layer = StaticPyLayerBlock(inputs=[x])
    out = paddle.tensor.create_tensor(dtype="float32")
    with layer.block(is_backward_block=False) as mgr:
        paddle.assign(paddle.static.nn.fc(x, 3), out)
        mgr.fwd_outputs = [out]
    with layer.block(is_backward_block=True) as mgr:
        constant = paddle.full([4, 1], 2.0)
        mgr.var_old_to_new[constant.name] = f"{x.name}@GRAD"
    paddle.static.append_backward(paddle.mean(out))
    outs = run(out, x.grad_name, x=np.ones((4, 1), "float32"))
    assert outs[0].shape == (4, 3)
    np.testing.assert_array_equal(outs[1], np.full((4, 1), 2.0))


def test_a_copy_of_the_program_and_its_file_compute_the_same(tmp_path):
    x = data()
    y = paddle.static.nn.static_pylayer(lambda x: 3 * x, [x], lambda dy: -5 * dy)
    [dx] = paddle.static.gradients(y, x)
    main = paddle.static.default_main_program()
    again = paddle.static.Program.parse_from_string(main.desc.serialize_to_string())
    for program in (main.clone(), again):
        outs = paddle.static.Executor().run(program, {"x": ONES}, [y.name, dx.name])
        np.testing.assert_allclose(outs, [3 * ONES, -5 * ONES])


def test_wrong_calls_are_refused():
    x = data()
    with pytest.raises(ValueError, match="expected to be True, when ``backward_fn == None``"):
        paddle.static.nn.static_pylayer(lambda x: x, [x])
    with pytest.raises(AssertionError, match="must be a list"):
        paddle.static.nn.static_pylayer(lambda x: x, x, lambda dy: dy)
    with pytest.raises(TypeError):
        paddle.static.nn.static_pylayer(lambda x: (x, x), [x], lambda dy: dy)
    with pytest.raises(ValueError, match="a gradient for each of 1 inputs, but returned 2"):
        paddle.static.nn.static_pylayer(lambda x: x, [x], lambda dy: (dy, dy))
    paddle.disable_static()
    with pytest.raises(AssertionError, match="PyLayer"):
        paddle.static.nn.static_pylayer(lambda x: x, [])
    paddle.enable_static()
