"""py_func, Print and device_guard."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import DtypeError, ProgramError, UsageError

static = paddle.static
X = np.array([[1.0, 2.5], [-3.0, 1e-7]], "float32")


def made(name, shape, dtype="float32"):
    return static.default_main_program().current_block().create_var(name, shape, dtype)


def data(name="x", dtype="float32"):
    x = static.data(name, [None, 2], dtype)
    x.stop_gradient = False
    return x


def run(fetches=(), **feed):
    return static.Executor().run(feed=feed or {"x": X}, fetch_list=list(fetches))


# -- py_func
# --------------------------------------------------------------------------------------------------


def test_the_function_gets_values_and_lods():
    x = static.data("x", [None, 1], "float32", lod_level=1)
    out = made("out", [1], "int64")
    seen = []

    def function(x):
        seen.append((np.array(x).tolist(), x.lod(), x.shape()))
        return [np.array([7])]

    assert static.py_func(function, x, out) is out
    rows = paddle.static.ir.lod.LoDTensor()
    rows.set(np.arange(3, dtype="float32").reshape(3, 1))
    rows.set_lod([[0, 1, 3]])
    assert run([out], x=rows)[0].tolist() == [7]
    assert seen == [([[0.0], [1.0], [2.0]], [[0, 1, 3]], [3, 1])]


def test_a_function_without_outputs_runs_for_its_effect():
    calls = []
    static.py_func(lambda x: calls.append(np.array(x).shape), data(), None)
    run()
    assert calls == [(2, 2)]


def test_no_gradient_flows_without_a_backward_function():
    x = data()
    out = static.py_func(lambda x: np.array(x) * 2, x, made("out", [-1, 2]))
    assert out.stop_gradient
    assert static.gradients(out, x) == [None]


def test_a_gradient_may_be_none():
    x, y = data("x"), data("y")
    out = static.py_func(
        lambda x, y: np.array(x) + np.array(y),
        [x, y],
        made("out", [-1, 2]),
        lambda *given: (given[-1], None),
    )
    grads = static.gradients(out, [x, y])
    assert [g.tolist() for g in run(grads, x=X, y=X)] == [
        np.ones((2, 2)).tolist(),
        np.zeros((2, 2)).tolist(),
    ]


def test_what_functions_may_not_do():
    x = data()
    static.py_func(lambda x: [x, x], x, made("one", [-1, 2]))
    with pytest.raises(
        ProgramError,
        match=r"operator 0 'py_func'.* must return values for \['one'\], but returned 2",
    ):
        run()
    with pytest.raises(UsageError, match="one is not found in forward inputs and outputs"):
        static.py_func(
            lambda x: x,
            x,
            made("two", [-1, 2]),
            lambda *a: a[0],
            static.default_main_program().global_block().var("one"),
        )
    with pytest.raises(DtypeError, match="func and backward_func must be callable"):
        static.py_func(3, x, None)
    with pytest.raises(
        DtypeError, match="out must be a Variable or a list of them, but received str"
    ):
        static.py_func(lambda x: x, x, "out")
    paddle.disable_static()
    try:
        with pytest.raises(UsageError, match=r"call paddle.enable_static"):
            static.py_func(lambda x: x, x, None)
    finally:
        paddle.enable_static()


def test_an_error_of_the_function_names_the_operator():
    static.py_func(lambda x: np.ones(2) + np.ones(3), data(), made("out", [2]))
    with pytest.raises(
        ValueError, match=r"operator 0 'py_func', recorded at .*test_control_host.py.*broadcast"
    ):
        run()


# -- Print
# --------------------------------------------------------------------------------------------------

TEXT = """\
Variable: x
  - message: here
  - lod: {}
  - place: Place(cpu)
  - shape: [2, 2]
  - layout: NCHW
  - dtype: float32
  - data: [1 2.5 -3 1e-07]
"""


def test_print_shows_a_value_and_its_gradient(capsys):
    x = data()
    out = static.Print(x, message="here")
    assert out.name == "print_0.tmp_0"
    assert out.shape == [-1, 2]
    grads = static.gradients(out * 2, x)
    assert run([out, *grads])[1].tolist() == [[2.0, 2.0], [2.0, 2.0]]
    gradient = TEXT.replace("x\n", "print_0.tmp_0@GRAD\n", 1).replace(
        "[1 2.5 -3 1e-07]", "[2 2 2 2]"
    )
    assert capsys.readouterr().out == TEXT + gradient


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"print_tensor_name": False}, "Variable"),
        ({"print_tensor_lod": False}, "lod"),
        ({"print_tensor_shape": False}, "shape"),
        ({"print_tensor_layout": False}, "layout"),
        ({"print_tensor_type": False}, "dtype"),
        ({"message": None}, "message"),
    ],
)
def test_print_leaves_out_what_is_not_wanted(capsys, options, missing):
    static.Print(data(), **{"message": "here", **options})
    run()
    lines = [line for line in TEXT.splitlines() if missing not in line]
    assert capsys.readouterr().out.splitlines() == lines


def test_print_limits(capsys):
    x = data(dtype="int64")
    static.Print(x, first_n=2, summarize=3)
    for _ in range(3):
        run(x=np.arange(6).reshape(3, 2))
    assert capsys.readouterr().out.count("data: [0 1 2]\n") == 2
    static.Print(x > 1, summarize=-1)
    static.Print(x, summarize=0)
    run(x=np.arange(6).reshape(3, 2))
    out = capsys.readouterr().out
    assert "data: [0 0 1 1 1 1]\n" in out
    assert "data: []\n" in out


@pytest.mark.parametrize(
    ("phase", "name"), [("forward", "Variable: x"), ("backward", "Variable: print_0.tmp_0@GRAD")]
)
def test_print_of_one_phase(capsys, phase, name):
    x = data()
    run(static.gradients(static.Print(x, print_phase=phase) * 2, x))
    out = capsys.readouterr().out
    assert out.startswith(name)
    assert out.count("Variable") == 1


def test_print_refuses():
    x = data()
    with pytest.raises(UsageError, match="print_phase must be"):
        static.Print(x, print_phase="sideways")
    with pytest.raises(DtypeError, match="but received uint8"):
        static.Print(x.astype("uint8"))
    with pytest.raises(DtypeError, match="input must be a Variable"):
        static.Print(3)


# -- device_guard
# -----------------------------------------------------------------------------------------------


def test_device_guard_is_noted_on_operators():
    x = data()
    with static.device_guard("gpu:1"):
        y = x * 2
        with static.device_guard("cpu"):
            z = y + 1
        out = z - 1
    last = out * 1
    ops = static.default_main_program().global_block().ops
    assert [o.all_attrs()["op_device"] for o in ops] == ["gpu:1", "cpu", "gpu:1", ""]
    copy = static.default_main_program().clone()
    assert [o.device for o in copy.global_block().ops] == ["gpu:1", "cpu", "gpu:1", ""]
    np.testing.assert_allclose(run([last])[0], X * 2, atol=1e-6)


def test_operators_that_run_blocks_have_no_device():
    x = static.data("x", [1], "int64")
    with static.device_guard("cpu"):
        with pytest.warns(UserWarning, match=r"Op\(while\) is not support to set device"):
            static.nn.while_loop(lambda i: i < 3, lambda i: [i + 1], [x])
        with pytest.warns(UserWarning, match=r"Op\(conditional_block\)"):
            static.nn.cond(x < 3, lambda: x + 1, lambda: x)
    block = static.default_main_program().global_block()
    devices = {op.type: op.attr("op_device") for op in block.ops}
    assert devices["while"] == ""
    assert devices["less_than"] == "cpu"


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("tpu", "should be one of cpu, gpu"),
        ("cpu:0", "Should not set device id"),
        ("gpu:x", "should be one of"),
        (0, "must be a string"),
    ],
)
def test_device_guard_refuses(device, message):
    with pytest.raises(UsageError, match=message), static.device_guard(device):
        pass
