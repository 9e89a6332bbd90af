"""``While``, ``Switch``, arrays and ``StaticRNN`` of 1.x; their values are compared with Paddle's
in tests/conformance.
"""

from __future__ import annotations

import numpy as np
import pytest

from argosy.foundation.errors import NotSupported, OutOfRange, ProgramError, UsageError
from paddle import fluid

layers = fluid.layers


pytestmark = pytest.mark.usefixtures("static_mode")


def run(fetches, **feed):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return [np.asarray(v).tolist() for v in exe.run(feed=feed, fetch_list=fetches)]


def counter(n):
    """An index, its limit and the condition of a loop."""
    i, limit = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", n)
    return i, limit, layers.less_than(i, limit)


def row(*values):
    return np.array(values, "float32")


def test_a_while_loop_leaves_its_last_values_in_the_variables_it_was_given():
    i, limit, _ = counter(3)
    x = fluid.data("x", [1])
    x.stop_gradient = False
    index = layers.fill_constant([1], "int64", 0)
    array = layers.array_write(x, index)

    def body(i, total, array):
        total = layers.elementwise_mul(total, x)
        i = layers.increment(i)
        layers.array_write(total, i, array=array)
        return [i, total, array]

    _, total, same = layers.while_loop(
        lambda i, total, array: layers.less_than(i, limit), body, [i, x, array]
    )
    assert same is array
    last = layers.array_read(array, i)
    fluid.backward.append_backward(last)
    assert run([i, total, last, x.grad_name], x=row(2)) == [[3], [16.0], [16.0], [32.0]]


def test_a_loop_variable_that_is_an_array_stays_the_same_array():
    i, limit, _ = counter(3)
    array = layers.array_write(layers.fill_constant([1], "float32", 0.0), i)
    with pytest.raises(NotSupported, match="write to the array that the body is given"):
        layers.while_loop(
            lambda i, array: layers.less_than(i, limit),
            lambda i, array: [layers.increment(i), layers.create_array("float32")],
            [i, array],
        )


def test_gradients_reach_what_is_computed_of_data_alone():
    x = fluid.data("x", [1])
    doubled, stopped = x * 2.0, x * 3.0
    stopped.stop_gradient = True
    out = layers.cond(x < row(5), lambda: doubled * doubled + stopped, lambda: doubled)
    fluid.backward.append_backward(layers.mean(out))
    block = fluid.default_main_program().global_block()
    assert doubled.grad_name in block.vars
    assert stopped.grad_name not in block.vars
    assert run([doubled.grad_name], x=row(1)) == [[4.0]]
    assert run([doubled.grad_name], x=row(7)) == [[1.0]]


def test_shapes_that_a_while_changes():
    i, limit, cond = counter(3)
    x = layers.fill_constant([1], "float32", 1.0)
    with layers.While(cond).block():
        layers.assign(layers.concat([x, x]), x)
        layers.increment(i)
        layers.less_than(i, limit, cond=cond)
    assert x.shape == [-1]
    assert run([x]) == [[1.0] * 8]


def test_gradients_flow_through_constants_that_a_while_writes():
    x = fluid.data("x", [1])
    x.stop_gradient = False
    total = layers.fill_constant([1], "float32", 1.0)
    i, limit, cond = counter(3)
    with layers.While(cond).block():
        doubled = total * 2.0
        layers.assign(doubled * x, total)
        layers.increment(i)
        layers.less_than(i, limit, cond=cond)
    grads = fluid.gradients([total], [x])
    assert run([total, *grads], x=row(3)) == [[216.0], [216.0]]


def test_a_while_writes_a_variable_that_has_no_value_before():
    i, limit, cond = counter(2)
    out = fluid.default_main_program().global_block().create_var("out", [1], "float32")
    with layers.While(cond).block():
        layers.assign(layers.cast(i, "float32"), out)
        layers.increment(i)
        layers.less_than(i, limit, cond=cond)
    assert run([out]) == [[1.0]]


def test_a_while_whose_condition_never_changes_is_refused():
    i, _, cond = counter(3)
    with (
        pytest.raises(ProgramError, match="the block does not write the condition"),
        layers.While(cond).block(),
    ):
        layers.increment(i)
    assert fluid.default_main_program().num_blocks == 1
    with pytest.raises(TypeError, match="condition should be a boolean variable"):
        layers.While(i)
    with pytest.raises(TypeError, match="condition should be a variable"):
        layers.While(True)


def test_nested_blocks():
    i, limit, cond = counter(6)
    odd, even = (layers.fill_constant([1], "int64", 0) for _ in range(2))
    one, two = (layers.fill_constant([1], "int64", n) for n in (1, 2))
    with layers.While(cond).block():
        with layers.Switch() as switch:
            with switch.case(layers.equal(i % two, one)):
                layers.assign(odd + i, odd)
            with switch.default():
                layers.assign(even + i, even)
        layers.increment(i)
        layers.less_than(i, limit, cond=cond)
    assert run([odd, even]) == [[9], [6]]


def test_wrong_uses_of_switch():
    _, _, cond = counter(3)
    with pytest.raises(UsageError, match="inside with"), layers.Switch().case(cond):
        pass
    with layers.Switch() as switch:
        with pytest.raises(UsageError, match="at least one case before default"), switch.default():
            pass
        with switch.case(cond):
            pass
        with switch.default():
            pass
        with pytest.raises(UsageError, match="after default"), switch.case(cond):
            pass
        with pytest.raises(UsageError, match="there is one already"), switch.default():
            pass


def test_a_rate_that_a_switch_chooses_trains():
    x, flag = fluid.data("x", [None, 2]), fluid.data("flag", [1], "bool")
    rate = layers.create_global_var([1], 0.0, "float32", persistable=True)
    with layers.Switch() as switch:
        with switch.case(flag):
            layers.assign(layers.fill_constant([1], "float32", 0.5), rate)
        with switch.default():
            layers.assign(layers.fill_constant([1], "float32", 0.25), rate)
    loss = layers.mean(layers.fc(x, 1, bias_attr=fluid.ParamAttr("bias")))
    fluid.optimizer.SGD(rate).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    bias = fluid.global_scope().find_var("bias").get_tensor()
    seen = []
    for value in (True, False):
        exe.run(feed={"x": np.ones((2, 2), "float32"), "flag": np.array([value])})
        seen.append(np.array(bias).tolist())
    assert seen == [[-0.5], [-0.75]]


def test_a_counter_that_a_branch_asks_for_counts_every_run():
    x = fluid.data("x", [1])
    with layers.Switch() as switch, switch.case(x > row(1)):
        steps = layers.autoincreased_step_counter()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    assert [
        exe.run(feed={"x": row(value)}, fetch_list=[steps])[0].item() for value in (0, 2, 0)
    ] == [1, 2, 3]


def test_arrays_refuse():
    i = layers.fill_constant([1], "int64", 3)
    x = layers.fill_constant([2], "float32", 1.0)
    array = layers.create_array("float32")
    with pytest.raises(ProgramError, match="nothing was written"):
        layers.array_read(array, i)
    with pytest.raises(UsageError, match="i must be an integer variable"):
        layers.array_write(x, x, array)
    with pytest.raises(ProgramError, match="use array_length"):
        len(array)
    layers.array_write(x, i, array)
    layers.array_read(array, i - 1)
    with pytest.raises(IndexError, match=r"'read_from_array'.*index 2 of an array of 4 elements"):
        run([x])


def test_arrays_of_dygraph_are_lists():
    with fluid.dygraph.guard():
        zero, one = (fluid.dygraph.to_variable(np.array([n])) for n in (0, 1))
        array = layers.array_write(one, zero)
        layers.array_write(zero, one, array)
        assert int(layers.array_read(array, zero)) == 1
        assert layers.array_length(array) == 2
        with pytest.raises(OutOfRange, match="index 5 of an array of 2"):
            layers.array_read(array, fluid.dygraph.to_variable(np.array([5])))


def test_static_rnn_takes_the_number_of_steps_from_its_input():
    x = fluid.data("x", [None, 2, 3])
    start = layers.fill_constant([2, 3], "float32", 10.0)
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        total = rnn.memory(init=start)
        rnn.update_memory(total, total + word)
        rnn.output(total, word)
    before, words = rnn()
    assert (before.shape, word.shape) == ([-1, 2, 3], [2, 3])
    values = np.ones((4, 2, 3), "float32")
    got = run([before, words], x=values)
    assert [step[0][0] for step in got[0]] == [10, 11, 12, 13]
    assert got[1] == values.tolist()


def test_wrong_uses_of_static_rnn():
    x = fluid.data("x", [4, 2, 3])
    with pytest.raises(UsageError, match="You must invoke step_input in rnn block"):
        layers.StaticRNN().step_input(x)
    with pytest.raises(UsageError, match="its outputs are there after"):
        layers.StaticRNN()()
    rnn = layers.StaticRNN()

    def step():
        with rnn.step():
            word = rnn.step_input(x)
            rnn.memory(shape=[-1, 3], batch_ref=word)
            rnn.step_output(word)

    with pytest.raises(ProgramError, match="update_memory was not called"):
        step()
    rnn = layers.StaticRNN()
    with pytest.raises(UsageError, match="needs shape and batch_ref"), rnn.step():
        rnn.memory()


def test_print_of_fluid_has_no_layout(capsys):
    layers.Print(fluid.data("x", [2]), message="here")
    run([], x=row(1, 2))
    assert capsys.readouterr().out.splitlines()[:3] == [
        "Variable: x",
        "  - message: here",
        "  - lod: {}",
    ]


def test_recording_begins_outside_of_a_guard_only():
    with (
        fluid.dygraph.guard(),
        pytest.raises(UsageError, match=r"cannot be built inside of fluid.dygraph.guard"),
    ):
        layers.Switch()


class TestVariablesThatOnlyBlocksWrite:
    """What no operator outside of a branch or loop writes: it has a value in the runs that come
    there, else an error says so.
    """

    @staticmethod
    def variable():
        return fluid.default_main_program().global_block().create_var("out", [1], "float32")

    def test_of_a_branch(self):
        x, out = fluid.data("x", [1]), self.variable()
        with layers.Switch() as switch, switch.case(x > row(1)):
            layers.assign(x * 2, out)
        assert run([out], x=row(3)) == [[6.0]]
        with pytest.raises(
            ProgramError,
            match=r"fetch_list reads 'out', which has no value in this run: .* 'cond', recor",
        ):
            run([out], x=row(1))

    def test_of_a_loop_in_a_loop(self):
        n, out = fluid.data("n", [1], "int64"), self.variable()
        i, limit, go_on = counter(2)
        loop = layers.While(go_on)
        with loop.block():
            inner_go_on = layers.less_than(i, n)
            inner = layers.While(inner_go_on)
            with inner.block():
                layers.assign(layers.cast(i, "float32") + 5.0, out)
                layers.less_than(i, i, cond=inner_go_on)
            layers.increment(i)
            layers.less_than(i, limit, cond=go_on)
        later = out + 1.0
        # the second turn leaves it as it is
        assert run([out, later], n=np.array([1])) == [[5.0], [6.0]]
        with pytest.raises(
            ProgramError,
            match=r"scale.*: it reads 'out'.*no value.* 'while', recorded at \S+py",
        ):
            run([later], n=np.array([0]))

    def test_until_an_operator_outside_writes_it(self):
        x, out = fluid.data("x", [1]), self.variable()
        with layers.Switch() as switch, switch.case(x > row(1)):
            layers.assign(x * 2, out)
        layers.assign(x, out)
        assert run([out], x=row(1)) == [[1.0]]
