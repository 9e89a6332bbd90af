"""ConditionalBlock, and arrays whose elements differ."""

import numpy as np
import pytest

import paddle
from paddle.base import core
from paddle.static.nn.control_flow import ConditionalBlock


@pytest.fixture
def exe():
    return paddle.static.Executor(paddle.CPUPlace())


@pytest.mark.parametrize("rows", [0, 2])
def test_the_block_runs_where_no_input_is_empty(exe, rows):
    x = paddle.static.data("x", [-1, 1])
    out = paddle.full([1], 0.0)
    with ConditionalBlock([x]).block():
        paddle.assign(paddle.full([1], 7.0), out)
    [value] = exe.run(feed={"x": np.ones([rows, 1], "float32")}, fetch_list=[out])
    assert value.tolist() == [7.0 if rows else 0.0]


def test_an_operator_by_hand_runs_a_block_recorded_before(exe):
    main = paddle.static.default_main_program()
    out = paddle.full([1], 0.0)
    inner = main._create_block()
    paddle.assign(paddle.full([1], 3.0), out)
    main._rollback()
    block = main.global_block()
    scope = block.create_var(type=core.VarDesc.VarType.STEP_SCOPES)
    operator = block.append_op(
        type="conditional_block",
        inputs={"Cond": [paddle.full([1], True, "bool")], "Input": []},
        outputs={"Out": [], "Scope": [scope]},
        attrs={"sub_block": inner, "is_scalar_condition": True},
    )
    operator.desc.infer_shape(block.desc)
    [value] = exe.run(fetch_list=[out])
    assert value.tolist() == [3.0]


def test_arrays_have_gaps_and_elements_of_different_kinds(exe):
    x = paddle.static.data("x", [2, 2])
    array = paddle.tensor.create_array("float32", [x, paddle.full([3], 1, "int64")])
    third = paddle.full([1], 3, "int64")
    paddle.tensor.array_write(x + 1.0, third, array)
    assert [list(v.shape) for v in array] == [[2, 2], [3]]
    length = paddle.tensor.array_length(array)
    ones = np.ones([2, 2], "float32")
    count, values = exe.run(feed={"x": ones}, fetch_list=[length, array])
    assert count.tolist() == [4]
    np.testing.assert_array_equal(values[3], ones + 1)
    [values] = exe.run(feed={"x": ones}, fetch_list=[array], return_numpy=False)
    assert isinstance(values, core.LoDTensorArray)


def test_constants_become_operators(exe):
    constant = paddle.to_tensor([1.0, 2.0])
    assert isinstance(constant, paddle.static.Variable)
    [value] = exe.run(fetch_list=[constant])
    assert value.tolist() == [1.0, 2.0]
