"""Programs with sub-blocks: copies, checks, pruning, text and files."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported, ProgramError
from argosy.static.files.programs import dumps, loads

F = paddle.nn.functional
nn = paddle.static.nn


def started():
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    return exe


def network():
    """A branch with dropout and batch normalisation, and a loop with a layer, in one program."""
    x = paddle.static.data("x", [None, 4])
    layers = [paddle.nn.Linear(4, 4) for _ in range(2)]

    def normalised():
        return F.dropout(nn.batch_norm(layers[0](x)), 0.5)

    hidden = nn.cond(x.mean() > 0, normalised, lambda: x)

    def body(i, y):
        return [i + 1, paddle.tanh(layers[1](y)) + nn.cond(i > 0, lambda: y * 0.5, lambda: y)]

    _, out = nn.while_loop(lambda i, y: i < 3, body, [paddle.zeros([1], "int64"), hidden])
    return x, out


DATA = np.abs(np.random.RandomState(0).randn(6, 4)).astype("float32")


def test_a_clone_for_testing_switches_inside_branches():
    _, out = network()
    loss = out.mean()
    paddle.optimizer.SGD(0.1).minimize(loss)
    main = paddle.static.default_main_program()
    test = main.clone(for_test=True)
    exe = started()
    state = paddle.static.global_scope().find_var("batch_norm_0.w_1").get_tensor()
    before = np.array(state)
    first, second = (exe.run(test, feed={"x": DATA}, fetch_list=[out])[0] for _ in range(2))
    assert np.array_equal(first, second)  # no dropout
    assert np.array_equal(np.array(state), before)
    exe.run(main, feed={"x": DATA}, fetch_list=[out])
    assert not np.array_equal(np.array(state), before)  # running statistics are those of the scope
    assert not np.array_equal(
        *(exe.run(main, feed={"x": DATA}, fetch_list=[out])[0] for _ in range(2))
    )
    assert "sgd" not in str(test)
    test.verify()
    main.verify()


def test_a_clone_for_testing_forgets_updates_inside_branches():
    x = paddle.static.data("x", [None, 4])
    layer = paddle.nn.Linear(4, 1)

    def train():
        loss = layer(x).mean()
        paddle.optimizer.Adam(0.1).minimize(loss)
        return loss

    loss = nn.cond(x.mean() > 0, train, lambda: layer(x).mean())
    test = paddle.static.default_main_program().clone(for_test=True)
    operator = test.global_block().ops[-1]
    assert sorted(operator.input("Input")) == sorted(["x", layer.weight.name, layer.bias.name])
    assert operator.output_arg_names == [loss.name]
    exe = started()
    weight = np.array(paddle.static.global_scope().find_var(layer.weight.name).get_tensor())
    exe.run(test, feed={"x": DATA}, fetch_list=[loss])
    assert np.array_equal(
        weight, np.array(paddle.static.global_scope().find_var(layer.weight.name).get_tensor())
    )


def test_a_program_comes_back_from_bytes():
    _, out = network()
    program = paddle.static.default_main_program().clone(for_test=True)
    copy, _ = loads(dumps(program), "the bytes")
    assert str(copy) == str(program)
    copy.verify()
    exe = started()
    values = [exe.run(p, feed={"x": DATA}, fetch_list=[out.name])[0] for p in (program, copy)]
    assert np.array_equal(*values)


def test_an_inference_model_has_the_blocks_that_it_needs(tmp_path):
    x, out = network()
    unused = paddle.static.data("unused", [1])
    other = nn.cond(unused > 0, lambda: paddle.nn.Linear(1, 1)(unused), lambda: unused)
    paddle.optimizer.SGD(0.1).minimize(out.mean() + other.sum())
    exe = started()
    test = paddle.static.default_main_program().clone(for_test=True)
    wanted = exe.run(test, feed={"x": DATA, "unused": DATA[0, :1]}, fetch_list=[out])[0]
    paddle.static.save_inference_model(str(tmp_path / "model"), [x], [out], exe)
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, feeds, fetches = paddle.static.load_inference_model(str(tmp_path / "model"), exe)
        assert feeds == ["x"]
        program.verify()
        assert np.array_equal(exe.run(program, feed={"x": DATA}, fetch_list=fetches)[0], wanted)
        assert "linear_2.w_0" not in {v.name for v in program.list_vars()}
        assert paddle.static.global_scope().find_var("linear_2.w_0") is None


def test_pruning_keeps_what_a_branch_reads_and_writes():
    x = paddle.static.data("x", [1])
    inside, needed, unneeded = x * 2, x * 3, x * 4
    kept = paddle.zeros([1])

    def write():
        paddle.assign(inside, kept)

    nn.cond(x > 0, write)
    out = kept + needed
    exe = paddle.static.Executor()
    feed = {"x": np.array([1], "float32")}
    assert exe.run(feed=feed, fetch_list=[out], use_prune=True)[0].tolist() == [5.0]
    lowered = next(iter(paddle.static.default_main_program().lowered.values()))
    assert unneeded.name not in lowered.locals_by_name


def test_verify_looks_into_blocks():
    x = paddle.static.data("x", [1])
    out = nn.cond(x > 0, lambda: (x * 2) + 1, lambda: x)
    program = paddle.static.default_main_program()
    program.verify()
    branch = program.block(1)
    taken = branch.ops.pop(0)
    with pytest.raises(
        ProgramError,
        match=r"'scale'.* reads 'tmp_2' before any operator",
    ):
        program.verify()
    branch.ops = [taken]
    with pytest.raises(ProgramError, match=r"'cond'.* takes \['tmp_3'\], which nothing writes"):
        program.verify()
    assert out.name in program.global_block().vars


def test_blocks_by_hand():
    program = paddle.static.Program()
    block = program._create_block()
    assert (program.current_block(), block.parent_idx, program.num_blocks) == (block, 0, 2)
    inner = program._create_block()
    assert inner.parent_idx == 1
    program._rollback()
    program._rollback()
    assert program.current_block() is program.global_block()


def test_a_name_cannot_hide_that_of_an_enclosing_block():
    x = paddle.static.data("x", [1])

    def branch():
        return paddle.static.default_main_program().current_block().create_var("x", [1], "float32")

    with pytest.raises(ProgramError, match="'x' of block 1 would hide that of an enclosing block"):
        nn.cond(x > 0, branch, lambda: x)


def test_a_python_function_cannot_be_saved(tmp_path):
    x = paddle.static.data("x", [1])
    out = paddle.static.default_main_program().global_block().create_var("out", [1], "float32")
    paddle.static.py_func(lambda x: x, x, out)
    with pytest.raises(
        NotSupported,
        match=r"operator 0 'py_func'.*: an attribute of type HostCall has no form in a file",
    ):
        dumps(paddle.static.default_main_program())


def test_the_generated_text_uses_branches_and_loops():
    x = paddle.static.data("x", [1])
    _, out = nn.while_loop(
        lambda i, y: i < 3,
        lambda i, y: [i + 1, nn.cond(y > 0, lambda: y * x, lambda: y)],
        [paddle.zeros([1]), x],
    )
    paddle.static.Executor().run(feed={"x": np.array([2], "float32")}, fetch_list=[out])
    source = next(iter(paddle.static.default_main_program().lowered.values())).source
    for text in ("    while v", "        if v", "        else:", "            del v"):
        assert text in source


def test_several_places_refuse_gradients_inside_of_branches():
    x = paddle.static.data("x", [None, 4])
    layer = paddle.nn.Linear(4, 1)

    def train():
        loss = layer(x).mean()
        paddle.optimizer.SGD(0.1).minimize(loss)
        return loss

    loss = nn.cond(x.mean() > 0, train, lambda: layer(x).mean())
    exe = started()
    main = paddle.static.default_main_program()
    several = paddle.static.CompiledProgram(main).with_data_parallel(
        loss.name, places=[paddle.CPUPlace()] * 2
    )
    with pytest.raises(NotSupported, match="an optimizer is used in a branch or a loop"):
        exe.run(several, feed={"x": DATA}, fetch_list=[loss])
