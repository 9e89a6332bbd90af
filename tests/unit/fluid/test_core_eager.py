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
