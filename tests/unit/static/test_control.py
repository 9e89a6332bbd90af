"""Branches and loops: what is recorded, what runs, gradients, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import BadArgument, ProgramError, UsageError

nn = paddle.static.nn
cond, while_loop = nn.cond, nn.while_loop


def run(fetches, **feed):
    return paddle.static.Executor().run(feed=feed, fetch_list=fetches)


def row(*values):
    return np.array(values, "float32")


def writes(variable, value):
    """A branch that only gives ``variable`` the value of ``value()``."""

    def function():
        paddle.assign(value(), variable)

    return function


def scalar(name, dtype="float32"):
    x = paddle.static.data(name, [1], dtype)
    x.stop_gradient = False
    return x


# -- branches
# --------------------------------------------------------------------------------------------------


def test_only_the_branch_that_is_taken_runs():
    x = scalar("x")
    calls = []

    def noted(name):
        out = paddle.static.default_main_program().current_block().create_var(name, [1], "float32")
        return nn.py_func(lambda x: (calls.append(name), np.array(x))[1], x, out)

    out = cond(x > 0, lambda: noted("yes"), lambda: noted("no"))
    run([out], x=row(1))
    run([out], x=row(-1))
    assert calls == ["yes", "no"]


def test_cond_is_one_operator_with_two_blocks():
    x = scalar("x")
    y = x + 1
    out = cond(x > 0, lambda: x * 2, lambda: y)
    program = paddle.static.default_main_program()
    operator = program.global_block().ops[-1]
    assert operator.type == "cond"
    assert program.num_blocks == 3
    assert [block.idx for block in operator.sub_blocks] == [1, 2]
    assert [o.type for o in program.block(1).ops] == ["scale"]
    assert program.block(1).parent_idx == 0
    assert program.current_block() is program.global_block()
    assert operator.input("Input") == ["x", y.name]
    assert operator.output_arg_names == [out.name]
    assert f"block 2 -> [{y.name}]" in str(program)
    assert "// block 1 in block 0" in str(program)


def test_results_may_be_numbers_none_and_tensors_with_values():
    x = scalar("x")
    paddle.disable_static()
    constant = paddle.to_tensor([5.0])
    paddle.enable_static()
    out = cond(x > 0, lambda: [1, None, "same", x, 2.5], lambda: [2, None, "same", constant, x])
    assert out[1:3] == [None, "same"]
    assert out[0].dtype == paddle.int64
    numbers = [out[0], out[3], out[4]]
    assert [v.tolist() for v in run(numbers, x=row(3))] == [1, [3.0], [2.5]]
    assert [v.tolist() for v in run(numbers, x=row(-3))] == [2, [5.0], [-3.0]]


def test_a_constant_first_used_in_a_branch_can_be_used_outside():
    x = scalar("x")
    paddle.disable_static()
    constant = paddle.to_tensor([5.0])
    paddle.enable_static()
    out = cond(x > 0, lambda: x + constant, lambda: x) + constant
    assert run([out], x=row(-1))[0].tolist() == [4.0]


def test_unknown_extents_of_results():
    x = paddle.static.data("x", [None, 4])
    out = cond(x.sum() > 0, lambda: (x, x[:1], x[:, :2]), lambda: (x * 2, x[:2], x[:, 2:]))
    assert [v.shape for v in out] == [[-1, 4], [-1, 4], [-1, 2]]


def test_branches_of_different_results_are_refused():
    x = scalar("x")
    with pytest.raises(
        UsageError,
        match=r"Incompatible return values of true_fn and false_fn in cond: true fn returns 1 "
        r"vars, but false fn returns 2 vars.* they have 1 and 2 values",
    ):
        cond(x > 0, lambda: [x], lambda: [x, x])
    with pytest.raises(UsageError, match=r"the keys are \['a'\] and \['b'\]"):
        cond(x > 0, lambda: {"a": x}, lambda: {"b": x})
    with pytest.raises(
        UsageError, match=r"in cond: true_fn returns non-None while false_fn returns None"
    ):
        cond(x > 0, lambda: x)
    with pytest.raises(
        UsageError, match=r"result 0 is None in false_fn, but a Tensor float32\[1\] in true_fn"
    ):
        cond(x > 0, lambda: [x], lambda: [None])
    program = paddle.static.default_main_program()
    assert program.num_blocks == 1  # nothing is left behind
    assert program.current_block() is program.global_block()
    program.verify()


def test_branches_of_other_dtypes_or_dimensions_are_recorded_as_the_first():
    x = scalar("x")
    with pytest.warns(
        UserWarning,
        match=r"result 0 is float32\[1\] in true_fn, but int64\[1\] in false_fn: the dtypes",
    ):
        number = cond(x > 0, lambda: x, lambda: x.astype("int64"))
    with pytest.warns(
        UserWarning,
        match=r"float32\[1\] in function 1 of branch_fns, but float32\[1, 1\] in default: the num",
    ):
        shaped = nn.switch_case(x.astype("int64"), {1: lambda: x}, lambda: x.reshape([1, 1]))
    assert number.dtype == paddle.float32
    assert shaped.shape == [1]
    for value, dtype, shape in ((1, "float32", (1,)), (-2, "int64", (1, 1))):
        found = run([number, shaped], x=row(value))
        assert found[0].dtype == dtype
        assert found[1].shape == shape


def test_the_name_of_a_cond_is_a_string():
    x = scalar("x")
    with pytest.raises(TypeError, match="cond: name must be a string or None, but received set"):
        cond(x > 0, lambda: x, lambda: x, set())


def test_gradients_of_a_constant_are_taken_if_the_script_wants_them():
    a, b = paddle.full([1], 3.0), paddle.full([1], 5.0)
    a.stop_gradient = b.stop_gradient = False
    paddle.increment(b)
    out = cond(a < b, lambda: a * b, lambda: b)
    paddle.static.append_backward(out)
    assert [v.tolist() for v in run([out, a.grad_name, b.grad_name])] == [[18.0], [6.0], [3.0]]


def test_the_shape_of_a_variable_equals_a_list_and_a_tuple():
    shape = paddle.static.data("x", [None, 4]).shape
    assert shape == [-1, 4]
    assert shape == (-1, 4)
    assert (-1, 4) == shape
    assert shape != (4, -1)
    assert shape != [4]


def test_an_error_inside_a_branch_leaves_the_program_as_it_was():
    x = scalar("x")
    kept = paddle.zeros([1])

    def fails():
        paddle.assign(x.expand([4]), kept)
        cond(x > 0, lambda: x, lambda: x)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        cond(x > 0, fails, lambda: x)
    assert paddle.static.default_main_program().num_blocks == 1
    assert kept.shape == [1]
    assert run([x + 1], x=row(1))[0].tolist() == [2.0]


def test_what_a_branch_made_is_not_there_outside():
    x = scalar("x")
    leaked = []
    cond(x > 0, lambda: leaked.append(x * 2), lambda: None)
    with pytest.raises(UsageError, match=r"'tmp_2' was made inside block 1, a branch or a loop"):
        leaked[0] + 1
    with pytest.raises(UsageError, match="made inside block 1"):
        cond(x > 0, lambda: leaked[0], lambda: x)
    with pytest.raises(
        ProgramError,
        match=r"reads 'tmp_2', which has a value only inside block 1",
    ):
        run(leaked, x=row(1))


def test_writes_to_variables_outside():
    x = scalar("x")
    either, one = paddle.zeros([2]), paddle.zeros([1])

    def first():
        paddle.assign(x.expand([3]), either)
        paddle.assign(x * 2, one)

    cond(x > 0, first, writes(either, lambda: x.expand([4])))
    assert either.shape == [-1]
    assert [v.tolist() for v in run([either, one], x=row(2))] == [[2, 2, 2], [4]]
    assert [v.tolist() for v in run([either, one], x=row(-2))] == [[-2, -2, -2, -2], [0]]


def test_writes_to_what_persists():
    x = scalar("x")
    count = paddle.static.create_global_var([1], 0.0, "float32", persistable=True, name="count")
    cond(x > 0, writes(count, lambda: count + 1))
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    for value in (1, -1, 1):
        exe.run(feed={"x": row(value)})
    assert np.array(paddle.static.global_scope().find_var("count").get_tensor()).tolist() == [2.0]


def test_case_and_switch_case_are_flat():
    x = scalar("x")
    nn.case([(x < 0, lambda: x), (x < 1, lambda: x * 2), (x < 2, lambda: x * 3)])
    nn.switch_case(x.astype("int64"), {3: lambda: x, 5: lambda: -x}, lambda: x * 2)
    program = paddle.static.default_main_program()
    assert program.num_blocks == 1 + 3 + 3
    assert {block.parent_idx for block in program.blocks[1:]} == {0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: cond(True, lambda: x, lambda: x), "pred must be a Tensor, but received bool"),
        (
            lambda x: cond(x, lambda: x, lambda: x),
            "the dtype of pred must be bool, but received float32",
        ),
        (lambda x: cond(x > 0, 3), "true_fn must be callable, but received int"),
        (lambda x: nn.case(x), "pred_fn_pairs must be a list or tuple"),
        (lambda x: nn.case([x]), "must be tuples, but received Variable"),
        (lambda x: nn.case([(x > 0, 1)]), "must be callable"),
        (
            lambda x: nn.switch_case(x, [lambda: x]),
            "must be uint8 or int32 or int64, but received float32",
        ),
        (lambda x: nn.switch_case(x.astype("int64"), [(0.5, lambda: x)]), "one item is"),
        (lambda x: while_loop(1, lambda y: y, [x]), "cond must be callable"),
        (lambda x: while_loop(lambda y: y, lambda y: y, x), "loop_vars must be a list or tuple"),
        (
            lambda x: while_loop(lambda y: y, lambda y: y, [x]),
            r"must return a bool Tensor, but returned a Tensor float32\[1\]",
        ),
        (
            lambda x: while_loop(lambda y: True, lambda y: y, [x]),
            "must return a bool Tensor, but returned True",
        ),
        (
            lambda x: while_loop(lambda y: y.expand([2]) > 0, lambda y: y, [x]),
            r"one element, but the shape is \[2\]",
        ),
    ],
)
def test_arguments_of_control_flow_that_are_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call(scalar("x"))


def test_wrong_numbers_of_branches():
    x = scalar("x", "int64")
    for call in (
        lambda: nn.case([]),
        lambda: nn.switch_case(x, {}),
        lambda: while_loop(lambda: x, lambda: x, []),
    ):
        with pytest.raises(UsageError, match="is empty"):
            call()
    with pytest.raises(UsageError, match="the number 1 appears twice"):
        nn.switch_case(x, [(1, lambda: x), (1, lambda: x)])


def test_a_condition_of_several_elements_fails_at_its_operator():
    x = paddle.static.data("x", [None])
    out = cond(x > 0, lambda: x, lambda: x)
    with pytest.raises(ValueError, match=r"operator 1 'cond', recorded at .*test_control.py"):
        run([out], x=row(1, 2))


def test_an_error_in_a_branch_names_its_operator():
    x = paddle.static.data("x", [None])
    out = cond(x.sum() > 0, lambda: x.reshape([2, 2]).sum(), lambda: x.sum())
    assert run([out], x=row(-1, -2, -3))[0].tolist() == -6
    with pytest.raises(
        ValueError, match=r"operator 0 'reshape2', recorded at .*test_control.py.*float32\[3\]"
    ):
        run([out], x=row(1, 2, 3))


def test_sequences_on_which_branches_agree():
    x = paddle.static.data("x", [None, 2], lod_level=1)
    flag = paddle.static.data("flag", [1], "bool")
    same, none = cond(flag, lambda: (x * 2, x), lambda: (x * 3, nn.sequence_pool(x, "sum")))
    assert (same.lod_level, none.lod_level) == (1, 0)
    out = nn.sequence_pool(same, "sum")
    fed = (np.arange(6, dtype="float32").reshape(3, 2), [[1, 2]])
    assert run([out], x=fed, flag=np.array([False]))[0].tolist() == [[0, 3], [18, 24]]
    _, carried = count_to(2, lambda i, y: [y * 2], x)
    assert carried.lod_level == 0


# -- loops
# --------------------------------------------------------------------------------------------------


def count_to(n, body, *loop_vars):
    start = paddle.zeros([1], "int64")
    return while_loop(
        lambda i, *rest: i < n, lambda i, *rest: [i + 1, *body(i, *rest)], [start, *loop_vars]
    )


def test_loop_variables_are_replaced_at_once():
    a, b = scalar("a"), scalar("b")
    _, first, second = count_to(3, lambda i, a, b: [b, a], a, b)
    assert [v.tolist() for v in run([first, second, a], a=row(1), b=row(2))] == [[2], [1], [1]]


def test_a_loop_may_not_run_at_all():
    x, n = scalar("x"), scalar("n", "int64")
    i, y = count_to(n, lambda i, y: [y * 2], x)
    assert [v.tolist() for v in run([i, y], x=row(3), n=np.array([0]))] == [[0], [3]]
    assert [v.tolist() for v in run([i, y], x=row(3), n=np.array([2]))] == [[2], [12]]


def test_shapes_that_a_turn_changes_are_unknown():
    x = paddle.static.data("x", [1, 3])
    seen = []

    def body(i, y, z):
        doubled = paddle.concat([y, y])
        seen.append(doubled)
        return [doubled, z]

    _, y, z = count_to(3, body, x, x)
    assert (y.shape, z.shape) == ([-1, 3], [1, 3])
    assert seen[0].shape == [-1, 3]  # found again with what a turn leaves
    assert run([y], x=np.ones((1, 3), "float32"))[0].shape == (8, 3)


def test_shapes_change_through_inner_blocks():
    x = paddle.static.data("x", [1, 3])

    def body(i, y):
        grown = cond(i > 1, lambda: paddle.concat([y, x]), lambda: y * 2)
        return [
            while_loop(
                lambda k, g: k < 1, lambda k, g: [k + 1, g + 1], [paddle.zeros([], "int32"), grown]
            )[1]
        ]

    _, y = count_to(4, body, x)
    assert y.shape == [-1, 3]
    assert run([y], x=np.zeros((1, 3), "float32"))[0][:, 0].tolist() == [5, 2, 1]


def test_what_a_loop_cannot_carry():
    x = scalar("x")
    with pytest.raises(
        TypeError,
        match=r"loop variable 1 is float32\[1\] in loop_vars, but int64\[1\] in what body returns",
    ):
        count_to(3, lambda i, y: [y.astype("int64")], x)
    with pytest.raises(UsageError, match="have 2 and 3 values"):
        count_to(3, lambda i, y: [y, y], x)
    with pytest.raises(
        UsageError,
        match=r"a loop variable is 3 in loop_vars, which cannot change .* body returns 4",
    ):
        count_to(3, lambda i, n: [n + 1], 3)
    with pytest.raises(UsageError, match="body returns None"):
        count_to(3, lambda i, y: [None], x)
    assert paddle.static.default_main_program().num_blocks == 1


def test_a_body_that_changes_its_containers_changes_no_loop_variable():
    x = scalar("x")
    totals = {"x": x}

    def body(i, totals):
        totals["x"] = totals["x"] + 1.0
        return [i + 1, totals]

    i = paddle.zeros([], "int64")
    out = while_loop(lambda i, totals: i < 3, body, [i, totals])
    assert run([out[1]["x"]], x=row(1))[0].tolist() == [4.0]

    def grows(i, totals):
        return [i + 1, totals | {"y": paddle.ones([1])}]

    def grows_in_place(i, totals):
        totals["y"] = paddle.ones([1])
        return [i + 1, totals]

    for wrong in (grows, grows_in_place):
        with pytest.raises(UsageError, match=r"the keys are \['x'\] and \['x', 'y'\]"):
            while_loop(lambda i, totals: i < 3, wrong, [i, totals])


def test_a_body_that_overwrites_its_variable_in_place_settles():
    i = paddle.zeros([1], "int64")

    def body(i):
        paddle.assign(paddle.full([1], 7, "int64"), i)
        return [i]

    [out] = while_loop(lambda i: i < 5, body, [i])
    assert run([out])[0].tolist() == [7]


def test_numbers_pass_through_a_loop():
    x = scalar("x")
    _, y, n = count_to(2, lambda i, y, n: [y * n, n], x, 3)
    assert n == 3
    assert run([y], x=row(1))[0].tolist() == [9]


def test_loop_variables_have_no_values_while_recording():
    i = paddle.zeros([1], "int64")

    def body(i):
        with pytest.raises(ProgramError, match="has no value while the program is recorded"):
            int(i)
        return i + 1

    while_loop(lambda i: i < 3, body, [i])


def test_writes_of_a_loop_to_variables_outside():
    x = scalar("x")
    grown, last = x * 1, x * 1

    def body(i):
        paddle.assign(paddle.concat([grown, x]), grown)
        paddle.assign(x * i.astype("float32"), last)
        return i + 1

    while_loop(lambda i: i < 3, body, [paddle.zeros([1], "int64")])
    assert grown.shape == [-1]
    assert [v.tolist() for v in run([grown, last], x=row(2))] == [[2, 2, 2, 2], [4]]


# -- gradients
# --------------------------------------------------------------------------------------------------


def test_gradients_of_a_cond_in_a_loop_are_those_of_eager_mode():
    def function(x):
        return count_to(5, lambda i, y: [cond(i % 2 == 0, lambda: y * x, lambda: y + x)], x * 1)[1]

    x = scalar("x")
    out = function(x)
    (grad,) = paddle.static.gradients(out, x)
    got = run([out, grad], x=row(1.5))
    paddle.disable_static()
    x = paddle.to_tensor([1.5], stop_gradient=False)
    out = function(x)
    out.backward()
    paddle.enable_static()
    assert [v.tolist() for v in got] == [out.tolist(), x.grad.tolist()]


def test_gradients_reach_constants_that_a_loop_carries():
    x = scalar("x")
    _, total = count_to(3, lambda i, total: [paddle.tanh(total) + x], paddle.zeros([1]))
    (grad,) = paddle.static.gradients(total, x)
    inner = np.tanh(np.tanh(0.3) + 0.3)
    expected = 1 + (1 - inner**2) * (1 + 1 - np.tanh(0.3) ** 2)
    np.testing.assert_allclose(run([grad], x=row(0.3))[0], [expected], rtol=1e-6)


def test_gradients_stop_where_they_are_stopped():
    x = scalar("x")

    def first():
        inner = x * x
        inner.stop_gradient = True
        return inner * x

    out = cond(x > 0, first, lambda: x)
    both = cond(x > 0, lambda: x * 2, lambda: x)
    both.stop_gradient = True
    grads = paddle.static.gradients(out + both, x)
    assert run(grads, x=row(3))[0].tolist() == [9.0]
    assert paddle.static.gradients(cond(x > 0, lambda: x * 5, lambda: x), x, no_grad_set={"x"}) == [
        None
    ]


def test_parameters_of_the_branch_that_is_not_taken_get_zeros():
    x = paddle.static.data("x", [None, 2])
    layers = [paddle.nn.Linear(2, 1, bias_attr=False) for _ in range(2)]
    out = cond(x.sum() > 0, lambda: layers[0](x), lambda: layers[1](x))
    pairs = paddle.static.append_backward(out.mean())
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    grads = {p.name: g for p, g in pairs}
    taken, other = (grads[layer.weight.name] for layer in layers)
    values = exe.run(feed={"x": np.ones((3, 2), "float32")}, fetch_list=[taken, other])
    assert [v.tolist() for v in values] == [[[1], [1]], [[0], [0]]]


def test_updates_inside_a_branch():
    x = paddle.static.data("x", [None, 2])
    flag = paddle.static.data("flag", [1], "bool")
    layer = paddle.nn.Linear(2, 1)

    def train():
        loss = layer(x).mean()
        paddle.optimizer.SGD(0.5).minimize(loss)
        return loss

    loss = cond(flag, train, lambda: layer(x).mean() * 0)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    bias = paddle.static.global_scope().find_var(layer.bias.name).get_tensor()
    seen = []
    for value in (False, True, True):
        exe.run(
            feed={"x": np.ones((3, 2), "float32"), "flag": np.array([value])}, fetch_list=[loss]
        )
        seen.append(np.array(bias).tolist())
    assert seen == [[0.0], [-0.5], [-1.0]]


def test_updates_inside_a_loop():
    x = paddle.static.data("x", [None, 2])
    layer = paddle.nn.Linear(2, 1)
    optimizer = paddle.optimizer.SGD(0.5)

    def body(i, loss):
        loss = layer(x).mean()
        optimizer.minimize(loss)
        return [loss]

    count_to(3, body, paddle.zeros([]))
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    exe.run(feed={"x": np.ones((3, 2), "float32")})
    bias = np.array(paddle.static.global_scope().find_var(layer.bias.name).get_tensor())
    assert bias.tolist() == [-1.5]


def test_assignments_to_elements_do_not_reach_other_values():
    x = paddle.static.data("x", [3])
    x.stop_gradient = False
    same = cond(x.sum() > 0, lambda: x, lambda: x * 2)
    y = x * 1
    view = y.reshape([3, 1])

    def assign():
        y[0] = y[1] * x[2]

    cond(x.sum() > 0, assign)
    zeros = paddle.zeros([3])
    zeros[1] = x[0]
    out = y.sum() + zeros.sum()
    (grad,) = paddle.static.gradients(out, x)
    got = [v.tolist() for v in run([same, view, y, zeros, grad], x=row(1, 2, 3))]
    assert got == [[1, 2, 3], [[1], [2], [3]], [6, 2, 3], [0, 1, 0], [1, 4, 3]]


# -- eager mode
# -------------------------------------------------------------------------------------------------


def test_eager_mode_calls_the_functions():
    paddle.disable_static()
    try:
        x = paddle.to_tensor(3.0)
        calls = []
        out = cond(x > 2, lambda: calls.append("yes") or x * 2, lambda: calls.append("no"))
        assert (float(out), calls) == (6.0, ["yes"])
        assert cond(x > 4, lambda: x) is None
        assert float(nn.case([(x < 1, lambda: x), (x < 2, lambda: -x)])) == -3.0
        assert nn.switch_case(paddle.to_tensor([7]), {1: lambda: "a", 3: lambda: "b"}) == "b"
        assert nn.switch_case(paddle.to_tensor([1]), {1: lambda: "a", 3: lambda: "b"}) == "a"
        i, state = while_loop(
            lambda i, s: i < 3,
            lambda i, s: (i + 1, {"a": s["a"] * 2}),
            [paddle.zeros([]), {"a": x}],
        )
        assert (float(i), float(state["a"])) == (3.0, 24.0)
        with pytest.raises(BadArgument, match="one element"):
            cond(paddle.to_tensor([True, False]), lambda: 1, lambda: 2)
        with pytest.raises(UsageError, match="while_loop: loop_vars and what body returns"):
            while_loop(lambda i: i < 3, lambda i: (i, i), [x * 0])
    finally:
        paddle.enable_static()


def test_a_loop_may_count_with_a_float_and_index_with_it():
    x = paddle.static.data("x", [-1])
    length = paddle.shape(x)[0]
    _, total = while_loop(
        lambda i, total: i < length,
        lambda i, total: (i + 1, total + x[i]),
        [paddle.ones([]), paddle.zeros([])],
    )
    loop = next(o for o in paddle.static.default_main_program().global_block().ops if o.sub_blocks)
    assert loop.input_names == ["Condition", "X"]
    assert set(loop.output("Out")) <= {*loop.input("X"), *loop.input("Condition")}
    assert run([total], x=row(5, 1, 2))[0] == 3
