"""Converted functions return what the functions return as they are written."""

import numpy as np
import pytest

import paddle


def early_return(x):
    if x.sum() > 0:
        return x * 2
    y = x - 1
    return -y


def three_ways(x):
    if x.sum() > 5:
        y = x + 1
    elif x.sum() > 0:
        y = x + 2
    else:
        y = x + 3
    return y


def ternary(x):
    return (x + 1 if x.sum() > 0 else x - 1) * 2


def only_one_branch_binds(x):
    if x.sum() > 0:
        y = x * 3
    if x.sum() > 0:
        return y
    return x


def returns_none_sometimes(x):
    if x.sum() > 0:
        return x


def nested_structures(x):
    out = {"a": [x, 1], "b": (x, x)}
    if x.sum() > 0:
        out = {"a": [x + 1, 1], "b": (x, x * 2)}
    return out


def logic(x):
    a, b = x.sum() > 0, x.max() < 100
    if (a and b) or (not a and x.min() > -1):
        return x + 1
    return x - 1


def chained(x):
    if -1 < x.sum() < 10:
        return x + 1
    return x - 1


def counts(x):
    i = 0
    while x.sum() < 50:
        x = x + 1
        i += 1
    return x, i


def leaves_early(x):
    total = paddle.zeros([])
    i = paddle.zeros([], "int64")
    while i < 10:
        i += 1
        if i % 2 == 0:
            continue
        if total > x.sum() + 8:
            break
        total = total + i
    return total, i


def returns_from_a_loop(x):
    i = paddle.zeros([], "int64")
    while i < 10:
        if x.sum() + i > 4:
            return x + i
        i += 1
    return x


def loop_over_rows(x):
    out = paddle.zeros_like(x[0])
    for row in x.reshape([-1, 1]):
        if row.sum() > 1:
            continue
        out = out + row.sum()
    return out


def loop_over_python(x):
    for i, scale in enumerate([1.0, 2.0, 3.0]):
        x = x * scale + i
        if x.sum() > 10:
            break
    else:
        x = -x
    return x


def last_in_a_loop(x):
    i = paddle.zeros([], "int64")
    while i < 4:
        if i < 2:
            last = x + i
        i += 1
    return last


def appends(x):
    found = []
    i = paddle.zeros([], "int64")
    while i < 3:
        found.append(x + i)
        i += 1
    return paddle.concat(found)


def range_of_a_tensor(x):
    n = (x.sum() > 0).astype("int64") + 2
    total = x * 0
    for i in range(n):
        total = total + x * i
    for i in range(1, n, 2):
        total = total - i
    return total


def assigns_parts(x):
    y = x * 1
    if x.sum() > 0:
        y[0] = 7.0
    return y


def inner_function(x):
    def grow(v):
        if v.sum() > 0:
            return v + 10
        return v - 10

    return grow(x) + grow(-x)


def tensors_of_variables(x):
    y = paddle.to_tensor(x) + 1
    z = paddle.to_tensor([x.sum(), 2.0, y.max()])
    return y.sum() + z


class Holder:
    def __init__(self):
        self.a, self.b = 3, 4


def attributes_of_an_object(x):
    holder = Holder()
    i = x.sum()
    while i < 10:
        holder.b = x * 2
        i = i + holder.a
        if holder.b.sum() > 6:
            break
    return holder.b + 0


def bound_for_one_branch_alone(x):
    i = 0
    if x.sum() > 0:
        x = x + 1
        i = i + 1
        y = x + i
    else:
        i = i + 1
        y = x - i
    return y, i


def set_in_a_loop(x):
    res = paddle.zeros([4, 2])
    for i in range(paddle.shape(res)[0]):
        res[i] = x
    return res * x


def augmented(x):
    y = x
    for _ in range(3):
        y += x
    return y


def matched_shape(x):
    return paddle.ones([x.shape[0], 2]) * len(x) + x.sum()


FUNCTIONS = [
    early_return, three_ways, ternary, only_one_branch_binds, returns_none_sometimes,
    nested_structures, logic, chained, counts, leaves_early, returns_from_a_loop, loop_over_rows,
    loop_over_python, last_in_a_loop, appends, range_of_a_tensor, assigns_parts, inner_function,
    augmented, bound_for_one_branch_alone, set_in_a_loop, matched_shape, tensors_of_variables,
    attributes_of_an_object,
]  # fmt: skip

INPUTS = ([1.0, 2.0], [-3.0, 1.0], [4.0, 5.0])


def flat(tree):
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in flat(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in flat(item)]
    if isinstance(tree, paddle.Tensor):
        return [np.asarray(tree.numpy(), "float64")]
    return [None if tree is None else np.asarray(tree, "float64")]


def with_gradient(function, values):
    x = paddle.to_tensor(values, stop_gradient=False)
    out = function(x)
    tensors = [leaf for leaf in _tensors(out) if not leaf.stop_gradient]
    if tensors:
        sum(t.sum() for t in tensors).backward()
    return flat(out), flat(x.grad)


def _tensors(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in _tensors(item)]
    return [tree] if isinstance(tree, paddle.Tensor) else []


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_converted_function_computes_what_it_computes_as_written(function):
    converted = paddle.jit.to_static(function, full_graph=True)
    for values in INPUTS:
        for expected, found in zip(
            with_gradient(function, values), with_gradient(converted, values), strict=True
        ):
            assert len(expected) == len(found)
            for a, b in zip(expected, found, strict=True):
                if a is None:
                    assert b is None
                else:
                    np.testing.assert_allclose(b, a, rtol=1e-6)
    assert len(converted.program_cache) == 1


@pytest.mark.parametrize("function", [early_return, counts, matched_shape, loop_over_rows])
def test_one_program_serves_all_sizes_of_a_spec(function):
    spec = [paddle.static.InputSpec([None], "float32", "x")]
    converted = paddle.jit.to_static(function, input_spec=spec, full_graph=True)
    for values in ([1.0, 2.0], [1.0, 2.0, 3.0], [-5.0]):
        x = paddle.to_tensor(values)
        for a, b in zip(flat(function(x)), flat(converted(x)), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-6)
    assert len(converted.program_cache) == 1


def test_values_that_are_known_decide_while_recording():
    taken = []

    @paddle.jit.to_static(full_graph=True)
    def f(x, flag):
        if flag:
            taken.append("then")
            return x + 1
        taken.append("else")
        return x - 1

    x = paddle.ones([2])
    assert f(x, True).tolist() == [2.0, 2.0]
    assert f(x, True).tolist() == [2.0, 2.0]
    assert f(x, False).tolist() == [0.0, 0.0]
    assert taken == ["then", "else"]
    assert [
        o.type for o in f.program_cache.concrete_programs()[0].main_program.global_block().ops
    ] == ["scale"]


def test_casts_of_a_tensor_are_those_of_each_run():
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        return int(x.sum()), float(x.max()), bool(x.sum())

    for values, expected in (([1.5, 2.0], [3, 2.0, True]), ([0.5, -0.5], [0, 0.5, False])):
        assert [value.item() for value in f(paddle.to_tensor(values))] == expected


def test_an_assertion_on_a_tensor_is_checked_in_each_run():
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        assert x.sum() > 0, "must be positive"
        return x

    f(paddle.ones([2]))
    with pytest.raises(AssertionError, match="must be positive"):
        f(-paddle.ones([2]))


def test_a_tensor_is_printed_in_each_run(capfd):
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        print("value", x)
        return x + 1

    f(paddle.ones([2]))
    capfd.readouterr()
    f(paddle.full([2], 5.0))
    assert "[5 5]" in capfd.readouterr().out


def test_branches_of_different_structure_are_an_error_at_the_line_of_the_script():
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        if x.sum() > 0:
            y = [x]
        else:
            y = [x, x]
        return y

    with pytest.raises(
        ValueError, match=r"test_control_flow.py.*line \d+, in f\n +if x.sum\(\) > 0:"
    ):
        f(paddle.ones([2]))


def test_what_cannot_be_recorded_is_an_error_at_the_line_of_the_script():
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        y = x + 1
        return y.tolist()

    with pytest.raises(AssertionError, match=r"line \d+, in f\n +return y.tolist\(\)"):
        f(paddle.ones([2]))


def test_without_full_graph_what_cannot_be_recorded_runs_eagerly(caplog):
    @paddle.jit.to_static
    def f(x):
        return x.numpy() + 1

    assert f(paddle.ones([2])).tolist() == [2.0, 2.0]
    assert "run eagerly" in caplog.text


def test_numpy_of_a_tensor_is_the_tensor_where_all_is_recorded():
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        if x.sum().numpy() > 0:
            return x + 1
        return x

    assert f(paddle.ones([2])).tolist() == [2.0, 2.0]
    assert f(-paddle.ones([2])).tolist() == [-1.0, -1.0]


def test_globals_that_a_branch_binds_are_joined():
    globals()["seen"] = paddle.zeros([2])

    @paddle.jit.to_static(full_graph=True)
    def f(x):
        global seen
        if x.sum() > 0:
            seen = x + 1
        else:
            seen = x - 1
        return seen * 1

    try:
        assert f(paddle.ones([2])).tolist() == [2.0, 2.0]
        assert f(-paddle.ones([2])).tolist() == [-2.0, -2.0]
    finally:
        del globals()["seen"]
