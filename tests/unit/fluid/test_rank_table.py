"""Sequences by rank, the arrays of their steps, ``DynamicRNN`` and ``IfElse``."""

from __future__ import annotations

import numpy as np
import pytest

from paddle import fluid
from paddle.fluid.layers import control_flow

layers = fluid.layers

pytestmark = pytest.mark.usefixtures("static_mode")


def run(fetches, **feed):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetches, return_numpy=False)


def numbers(value):
    return np.asarray(value).reshape(-1).tolist()


def sequences(*lengths):
    rows = np.arange(sum(lengths[-1]), dtype="float32").reshape(-1, 1)
    return fluid.create_lod_tensor(rows, [list(level) for level in lengths], fluid.CPUPlace())


def test_the_steps_of_nested_sequences_have_offsets_of_their_own():
    x = fluid.data("x", [None, 1], lod_level=2)
    table = control_flow.lod_rank_table(x)
    array = control_flow.lod_tensor_to_array(x, table)
    back = control_flow.array_to_lod_tensor(array, table)
    element = layers.array_read(array, layers.fill_constant([1], "int64", 1))
    fed = sequences([2, 3], [3, 6, 2, 6, 3])
    steps, whole, second, longest = run(
        [array, back, element, control_flow.max_sequence_len(table)], x=fed
    )
    assert [numbers(step) for step in steps][::2] == [[9, 10, 0, 1, 2], [17, 18, 19]]
    lengths = [step.recursive_sequence_lengths() for step in steps]
    assert lengths == [[[2, 3]], [[6, 6]], [[3]]]
    assert (numbers(whole), whole.lod()) == (numbers(fed), fed.lod())
    assert second.recursive_sequence_lengths() == [[6, 6]]
    assert numbers(longest) == [3]


def test_gradients_flow_through_the_steps():
    x = fluid.data("x", [None, 1], lod_level=1)
    x.stop_gradient = False
    table = control_flow.lod_rank_table(x)
    array = control_flow.lod_tensor_to_array(x, table)
    first = layers.array_read(array, layers.fill_constant([1], "int64", 0))
    shrunk = control_flow.shrink_memory(first, layers.fill_constant([1], "int64", 2), table)
    loss = layers.reduce_sum(shrunk * shrunk)
    grad = fluid.gradients([loss], [x])[0]
    assert numbers(run([grad], x=sequences([1, 3, 2]))[0]) == [0, 2, 0, 0, 0, 0]


def test_a_dynamic_rnn_with_memory_and_static_input():
    x = fluid.data("x", [None, 1], lod_level=1)
    extra = fluid.data("extra", [None, 1])
    start = fluid.data("start", [None, 1])
    rnn = layers.DynamicRNN()
    with rnn.block():
        row, own = rnn.step_input(x), rnn.static_input(extra)
        total = rnn.memory(init=start, need_reorder=True)
        count = rnn.memory(shape=[1], value=1.0)
        rnn.update_memory(total, total + row * own)
        rnn.update_memory(count, count + 1.0)
        rnn.output(total, count)
    assert rnn()[0].lod_level == 1
    fed = {"x": sequences([1, 3]), "extra": np.array([[1.0], [10.0]], "float32")}
    fed["start"] = np.array([[100.0], [200.0]], "float32")
    totals, counts = run(list(rnn()), **fed)
    assert (numbers(totals), totals.lod()) == ([100, 200, 210, 230], [[0, 1, 4]])
    assert numbers(counts) == [1, 1, 2, 3]


def test_wrong_uses_of_a_dynamic_rnn():
    x = fluid.data("x", [None, 1], lod_level=1)
    rnn = layers.DynamicRNN()
    with pytest.raises(ValueError, match="step_input can only be invoked inside rnn block"):
        rnn.step_input(x)
    with pytest.raises(RuntimeError, match="must be called after step_input"), rnn.block():
        rnn.static_input(x)
    other = layers.DynamicRNN()
    with pytest.raises(TypeError, match="can only take a Variable"), other.block():
        other.step_input([1])


def test_sequences_that_a_mask_divides_come_together_again():
    x = fluid.data("x", [None, 1], lod_level=1)
    mask = fluid.data("mask", [None, 1], "bool")
    chosen, others = control_flow.split_lod_tensor(x, mask)
    whole = control_flow.merge_lod_tensor(chosen, others, x, mask)
    fed = {"x": sequences([2, 1, 3]), "mask": np.array([[True], [False], [True]])}
    got = run([chosen, others, whole], **fed)
    assert [(numbers(v), v.recursive_sequence_lengths()) for v in got] == [
        ([0, 1, 3, 4, 5], [[2, 3]]),
        ([2], [[1]]),
        ([0, 1, 2, 3, 4, 5], [[2, 1, 3]]),
    ]


def test_what_a_conditional_block_writes_has_a_gradient():
    x = fluid.data("x", [None, 2])
    x.stop_gradient = False
    out = layers.create_tensor("float32")
    with control_flow.ConditionalBlock([x]).block():
        layers.assign(x * 3.0, out)
    grad = fluid.gradients([layers.mean(out)], [x])[0]
    assert numbers(run([grad], x=np.ones([1, 2], "float32"))[0]) == [1.5, 1.5]


def test_arrays_that_persist_are_in_the_scope():
    x = fluid.data("x", [None, 1], lod_level=2)
    table = control_flow.lod_rank_table(x, level=1)
    array = control_flow.lod_tensor_to_array(x, table)
    back = control_flow.array_to_lod_tensor(array, table)
    table.persistable = array.persistable = back.persistable = True
    run([], x=sequences([2], [1, 2]))
    scope = fluid.global_scope()
    assert scope.find_var(table.name).get_lod_rank_table().items() == [(1, 2), (0, 1)]
    held = scope.find_var(array.name).get_lod_tensor_array()
    assert [numbers(element) for element in held] == [[1, 0], [2]]
    assert scope.find_var(back.name).get_tensor().recursive_sequence_lengths() == [[2], [1, 2]]


def test_the_elements_of_an_array_in_one_tensor():
    i = layers.fill_constant([1], "int64", 0)
    array = layers.array_write(layers.ones([2, 1], "float32"), i)
    layers.array_write(layers.zeros([2, 2], "float32"), i + 1, array)
    joined, sizes = layers.tensor_array_to_tensor(array, axis=1)
    got = run([joined, sizes])
    assert np.asarray(got[0]).shape == (2, 3)
    assert numbers(got[1]) == [1, 2]


@pytest.mark.parametrize("lengths", [[[2, 1]], [[1, 1], [2, 1]], []])
def test_data_declared_without_sequences_may_have_some(lengths):
    x, by = fluid.layers.data("x", [1]), fluid.layers.data("by", [1])
    x.stop_gradient = False
    table = control_flow.lod_rank_table(by)
    ordered = layers.reorder_lod_tensor_by_rank(x, table)
    grad = fluid.gradients([layers.reduce_sum(ordered)], [x])[0]
    rows = np.arange(3 if lengths else 2, dtype="float32").reshape(-1, 1)
    fed = fluid.create_lod_tensor(rows, lengths, fluid.CPUPlace())
    got, slope = run([ordered, grad], x=fed, by=sequences([1, 2]))
    assert numbers(got) == ([2, 0, 1] if lengths else [1, 0])
    assert got.recursive_sequence_lengths() == [level[::-1] for level in lengths]
    assert slope.recursive_sequence_lengths() == lengths
