"""``core.eager`` and what loaders and reducers take from ``core``."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import paddle
from argosy.fluid import worker_process
from paddle import base

core = base.core


def test_texts_in_a_tensor():
    words = np.array([["a", "long"], ["", "one"]])
    tensor = core.eager.StringTensor(words, name="words")
    copy = core.eager.StringTensor(value=tensor)
    assert (tensor.name, copy.shape, copy.place) == ("words", [2, 2], paddle.CPUPlace())
    assert copy.place._equals(core.CPUPlace())
    assert copy.name.startswith("generated_string_tensor_")
    assert (copy.numpy() == words).all()
    assert core.eager.StringTensor(dims=[2]).numpy().tolist() == ["", ""]
    assert core.eager.StringTensor().numpy() == ""
    with pytest.raises(TypeError, match="array of texts"):
        core.eager.StringTensor(np.ones([2]))


def _tensors(*dtypes):
    return [paddle.ones([50], dtype) for dtype in dtypes]


@pytest.mark.parametrize(
    ("tensors", "sparse", "limits", "indices", "groups"),
    [
        (_tensors("float32", "float64", "float32"), (), [400], (), [[0, 2], [1]]),
        (_tensors(*["float32"] * 4), (), [200, 400], (), [[0], [1, 2], [3]]),
        (_tensors(*["float32"] * 3), (1,), [400], (), [[0, 2], [1]]),
        (_tensors(*["float32"] * 3), (), [400], (2, 0, 1), [[2, 0], [1]]),
    ],
)
def test_groups_of_gradients(tensors, sparse, limits, indices, groups):
    is_sparse = [i in sparse for i in range(len(tensors))]
    assert core.eager_assign_group_by_size(tensors, is_sparse, limits, indices) == groups


@pytest.fixture
def watched():
    """Starts a process that runs a line of Python, waits for its end and watches it."""

    def start(line):
        code = f"import os, signal; {line}"
        child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
        started.append(child)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        core._set_process_pids(1, (child.pid,))

    started = []
    yield start
    core._erase_process_pids(1)
    for child in started:
        child.wait()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("os._exit(3)", "Fatal.*exited unexpectedly with code 3"),
        ("os.kill(os.getpid(), signal.SIGBUS)", "Fatal.*killed by signal: Bus error"),
    ],
)
def test_dead_worker_is_an_error_once(watched, line, message):
    watched(line)
    with pytest.raises(SystemError, match=message):
        core._throw_error_if_process_failed()
    core._throw_error_if_process_failed()


def test_worker_that_ended_well_is_none(watched):
    watched("pass")
    core._throw_error_if_process_failed()


def test_worker_leaves_in_silence_when_told(monkeypatch):
    installed = {}
    monkeypatch.setattr(signal, "signal", installed.__setitem__)
    monkeypatch.setattr(worker_process.faulthandler, "enable", lambda: None)
    core._set_process_signal_handler()
    assert list(installed) == [signal.SIGTERM]


def test_variable_like_a_tensor():
    linear = paddle.nn.Linear(2, 3, paddle.ParamAttr(learning_rate=0.1))
    with paddle.static.program_guard(paddle.static.Program()):
        block = base.default_main_program().global_block()
        for tensor in (paddle.ones([2], "int32"), linear.weight):
            variable = tensor._to_static_var()
            assert tensor.block is variable.block is block
            assert isinstance(variable, type(tensor))
            for name in ("name", "shape", "dtype", "type", "persistable", "stop_gradient"):
                assert getattr(variable, name) == getattr(tensor, name)
        assert variable.optimize_attr == {"learning_rate": 0.1}
        assert isinstance(paddle.ones([2])._to_static_var(to_parameter=True), paddle.nn.Parameter)


def test_products_with_the_second_operand_under_an_axis():
    x, y = paddle.ones([2, 3, 4]), paddle.arange(3, dtype="float32")
    out = paddle.tensor.math._multiply_with_axis(x, y, axis=1)
    assert out.shape == [2, 3, 4]
    assert out[0, :, 0].tolist() == [0.0, 1.0, 2.0]


def test_seed_of_a_program_is_that_of_each_initialiser():
    def weights():
        return [paddle.nn.Linear(3, 3).weight for _ in range(2)]

    paddle.framework.random._manual_program_seed(7)
    try:
        first, second = (weight.numpy() for weight in weights())
        paddle.enable_static()
        with (
            paddle.static.scope_guard(paddle.static.Scope()),
            paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
        ):
            recorded = weights()
            executor = paddle.static.Executor()
            executor.run(paddle.static.default_startup_program())
            values = executor.run(fetch_list=recorded)
    finally:
        paddle.disable_static()
        paddle.framework.random._manual_program_seed(0)
    for value in (second, *values):
        assert (value == first).all()
    paddle.seed(8)
    assert (paddle.nn.Linear(3, 3).weight.numpy() != first).any()


def test_devices_of_executors():
    assert core.DeviceType.CPU == 0
    core._set_prim_backward_blacklist("sum")
    core._clear_prim_vjp_skip_default_ops()


def test_scale_takes_part_in_the_graph_if_asked_to():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    out = core.eager.scale(x, 2.0, 0.5, True, True)
    np.testing.assert_array_equal(out.numpy(), [2.5, 4.5])
    out.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])
    out = core.eager.scale(x, 2.0, 0.5, False, False)
    np.testing.assert_array_equal(out.numpy(), [3.0, 5.0])
    assert out.stop_gradient


def test_a_parameter_may_be_made_by_its_shape():
    made = paddle.base.framework.EagerParamBase(shape=[2, 3], dtype="float64")
    assert (made.shape, made.dtype, made.trainable) == ([2, 3], paddle.float64, True)
    for wrong in ({"shape": None, "dtype": "float32"}, {"shape": [1], "dtype": None}):
        with pytest.raises(ValueError, match="of Parameter should not be None"):
            paddle.base.framework.EagerParamBase(**wrong)
    with pytest.raises(ValueError, match=r"must be greater than 0, but received \[-1\]"):
        paddle.base.framework.EagerParamBase(shape=[-1], dtype="float32")


def test_what_a_parameter_is_told_of_its_training_counts():
    made = paddle.base.framework.EagerParamBase(
        shape=[2], dtype="float32", lod_level=0, optimize_attr={"learning_rate": 0.5}
    )
    made.value().get_tensor().set(np.ones(2, "float32"), paddle.CPUPlace())
    made.sum().backward()
    paddle.optimizer.SGD(0.1, parameters=[made]).step()
    np.testing.assert_allclose(made.numpy(), 0.95, rtol=1e-6)


def test_copy_takes_over_another_shape():
    x = paddle.ones([4, 2])
    x.stop_gradient = False
    x.copy_(paddle.zeros([3]), True)
    assert x.shape == [3]
    assert not x.stop_gradient
    kept = paddle.ones([2])
    kept.persistable = True
    assert kept._copy_to(paddle.CPUPlace(), True).persistable
    assert paddle.Tensor(value=kept).persistable


def test_a_tracer_computes_operators_by_their_type():
    x, out = paddle.to_tensor([2.0]), paddle.to_tensor([0.0])
    paddle.base.framework._dygraph_tracer().trace_op(
        "scale", {"X": x, "Out": out}, {"Out": out}, {"scale": 0.5}
    )
    np.testing.assert_array_equal(out.numpy(), [1.0])


def test_what_backward_begins_with_is_checked():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False) * 2.0
    with pytest.raises(AssertionError, match=r"type of grad_tensor must be paddle\.Tensor"):
        x.backward(np.ones(2, "float32"))
    with pytest.raises(AssertionError, match="Tensor shape not match"):
        x.backward(paddle.ones([3]))


def test_retained_gradients_are_zeros_where_only_a_result_beside_has_one():
    x = paddle.ones([2, 2])
    x.stop_gradient = False
    top, bottom = paddle.split(x * 3.0, 2)
    top.retain_grads()
    bottom.retain_grads()
    top.sum().backward()
    np.testing.assert_array_equal(top.grad.numpy(), [[1.0, 1.0]])
    np.testing.assert_array_equal(bottom.grad.numpy(), [[0.0, 0.0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: paddle.where_(paddle.to_tensor([True]), 1.0, 2.0),
        lambda: paddle.hypot_(1.0, paddle.ones([1])),
        lambda: paddle.tanh_(1.0),
    ],
)
def test_in_place_functions_need_a_tensor_to_change(call):
    with pytest.raises(TypeError, match="x must be tensor type, but got"):
        call()
