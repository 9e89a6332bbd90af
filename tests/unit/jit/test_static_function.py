"""Layers and functions that run as programs: gradients, buffers, modes, programs."""

import copy
import inspect

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.jit.dy2static.program_translator import StaticFunction
from paddle.static import InputSpec


class Gate(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.register_buffer("calls", paddle.zeros([1]))

    def forward(self, x):
        self.calls += 1
        if x.mean() > 0:
            x = paddle.tanh(x)
        return self.linear(x)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1D(8), nn.ReLU(), nn.Dropout(0.5), Gate()
        )

    def forward(self, x):
        return self.body(x)


def pair():
    paddle.seed(7)
    net = Net()
    return net, paddle.jit.to_static(copy.deepcopy(net), full_graph=True)


def step(net, x):
    paddle.seed(11)
    loss = (net(x) ** 2).mean()
    loss.backward()
    return loss


def test_a_layer_trains_as_it_does_eagerly():
    plain, static = pair()
    optimizers = [
        paddle.optimizer.Adam(0.01, parameters=net.parameters()) for net in (plain, static)
    ]
    for seed in range(4):
        paddle.seed(seed)
        x = paddle.randn([6, 4])
        inputs = [x.detach(), x.detach()]
        for i in inputs:
            i.stop_gradient = False
        losses = [step(net, i) for net, i in zip((plain, static), inputs, strict=True)]
        np.testing.assert_allclose(losses[1].numpy(), losses[0].numpy(), rtol=1e-6)
        np.testing.assert_allclose(inputs[1].grad.numpy(), inputs[0].grad.numpy(), atol=1e-7)
        for a, b in zip(plain.parameters(), static.parameters(), strict=True):
            assert (b.grad is None) == (a.grad is None) == a.stop_gradient
            if a.grad is not None:
                np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), rtol=1e-6, atol=1e-7)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.clear_grad()
    for (name, a), b in zip(plain.state_dict().items(), static.state_dict().values(), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-5, atol=1e-6, err_msg=name)
    assert float(static.body[4].calls) == 4.0
    assert len(static.forward.program_cache) == 1


def test_dropout_and_batch_norm_follow_train_and_eval():
    plain, static = pair()
    x = paddle.randn([6, 4])
    for mode in ("eval", "train", "eval"):
        for net in (plain, static):
            getattr(net, mode)()
        outs = [step(net, x) for net in (plain, static)]
        np.testing.assert_allclose(outs[1].numpy(), outs[0].numpy(), rtol=1e-6)
    assert len(static.forward.program_cache) == 2


def test_one_layer_alone_in_another_mode_gets_a_program_of_its_own():
    plain, static = pair()
    x = paddle.randn([6, 4])
    step(plain, x), step(static, x)
    for net in (plain, static):
        net.body[3].eval()
    outs = [step(net, x) for net in (plain, static)]
    np.testing.assert_allclose(outs[1].numpy(), outs[0].numpy(), rtol=1e-6)
    assert len(static.forward.program_cache) == 2


def test_no_grad_outside_needs_no_other_program():
    _, static = pair()
    x = paddle.randn([6, 4])
    static(x)
    with paddle.no_grad():
        assert static(x).stop_gradient
    assert not static(x).stop_gradient
    assert len(static.forward.program_cache) == 1


def test_auto_cast_outside_is_part_of_the_program():
    net = nn.Linear(4, 3)
    static = paddle.jit.to_static(copy.deepcopy(net), full_graph=True)
    x = paddle.randn([2, 4])
    with paddle.amp.auto_cast(dtype="bfloat16"):
        expected, found = net(x), static(x)
    assert found.dtype == expected.dtype == paddle.bfloat16
    assert static(x).dtype == paddle.float32
    np.testing.assert_array_equal(
        found.astype("float32").numpy(), expected.astype("float32").numpy()
    )
    found.astype("float32").sum().backward()
    assert static.weight.grad.dtype == paddle.float32


def test_auto_cast_inside_is_part_of_the_program():
    net = nn.Linear(4, 3)

    def f(x):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            return net(x)

    static = paddle.jit.to_static(f, full_graph=True)
    assert static(paddle.ones([2, 4])).dtype == paddle.bfloat16


def test_hooks_of_inner_layers_take_part():
    _, static = pair()
    static.eval()
    before = static(paddle.ones([6, 4]))
    static.body[0].register_forward_post_hook(lambda layer, inputs, output: output * 2)
    static.forward.program_cache.clear()
    assert not np.allclose(static(paddle.ones([6, 4])).numpy(), before.numpy())


def test_attributes_that_a_method_sets_have_values_afterwards():
    class Keeps(nn.Layer):
        def forward(self, x):
            self.last = x * 2
            return x + 1

    static = paddle.jit.to_static(Keeps(), full_graph=True)
    static(paddle.ones([2]))
    assert static.last.tolist() == [2.0, 2.0]
    static(paddle.full([2], 3.0))
    assert static.last.tolist() == [6.0, 6.0]


def test_instances_have_programs_of_their_own():
    class Scaled(nn.Layer):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        @paddle.jit.to_static(full_graph=True)
        def forward(self, x):
            return x * self.factor

    two, three = Scaled(2), Scaled(3)
    assert isinstance(two.forward, StaticFunction)
    assert two(paddle.ones([1])).tolist() == [2.0]
    assert three(paddle.ones([1])).tolist() == [3.0]
    assert (len(two.forward.program_cache), len(three.forward.program_cache)) == (1, 1)


def add(a, b, c=1):
    return a + b * c


def test_a_program_is_recorded_per_kind_of_arguments():
    f = paddle.jit.to_static(add, full_graph=True)
    x, y = paddle.ones([4, 2]), paddle.ones([2])
    f(x, y)
    f(x * 2, y)
    f(x, np.ones([2], "float32"))
    assert f.get_traced_count() == 1
    f(x, y, c=2)
    f(x, y, 2)
    assert f.get_traced_count() == 2
    f(x.astype("float64"), y.astype("float64"))
    f(x[:2], y)
    assert f.get_traced_count() == 4


def test_programs_are_made_of_specs_alone():
    f = paddle.jit.to_static(add, input_spec=[InputSpec([-1, 2], name="a"), InputSpec([2])])
    program = f.concrete_program
    assert [v.name for v in program.inputs] == ["a", "b"]
    assert program.inputs[0].shape == [-1, 2]
    assert len(f.outputs) == 1
    assert [o.type for o in f.main_program.global_block().ops] == [
        "scale",
        "elementwise_add",
    ]
    with pytest.raises(ValueError, match="call it first"):
        paddle.jit.to_static(add).concrete_program  # noqa: B018


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f: f(paddle.ones([1])), TypeError, "missing a required argument"),
        (lambda f: f(paddle.ones([1]), paddle.ones([1]), d=1), TypeError, "unexpected keyword"),
        (lambda f: f(1, 2, 3, 4), ValueError, "takes 3 arguments but received 4"),
    ],
)
def test_wrong_calls_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(paddle.jit.to_static(add, full_graph=True))


def test_rollback_gives_the_function_as_it_was_written():
    net = paddle.jit.to_static(Net(), full_graph=True)
    net(paddle.ones([6, 4]))
    net.forward.rollback()
    assert inspect.ismethod(net.forward)
    assert not isinstance(copy.deepcopy(paddle.jit.to_static(add)), StaticFunction)


def test_functions_run_as_written_while_conversion_is_off():
    f = paddle.jit.to_static(add, full_graph=True)
    paddle.jit.enable_to_static(False)
    try:
        assert f(paddle.ones([1]), paddle.ones([1])).tolist() == [2.0]
    finally:
        paddle.jit.enable_to_static(True)
    assert f.get_traced_count() == 0


def test_not_to_static_leaves_a_function_alone():
    @paddle.jit.not_to_static
    def branch(x):
        if x.sum() > 0:
            return x
        return -x

    @paddle.jit.to_static(full_graph=True)
    def f(x):
        return branch(x)

    with pytest.raises(AssertionError, match="bool"):
        f(paddle.ones([2]))


def test_ignored_modules_are_left_alone():
    from argosy.jit.operators.call import ignored

    module = inspect.getmodule(add)
    before = ignored.modules
    paddle.jit.ignore_module([module])
    try:

        @paddle.jit.to_static(full_graph=True)
        def f(x):
            if x.sum() > 0:
                return x
            return -x

        with pytest.raises(AssertionError):
            f(paddle.ones([2]))
    finally:
        ignored.modules = before
    with pytest.raises(TypeError):
        paddle.jit.ignore_module(["numpy"])


def test_a_method_of_something_that_is_no_layer_is_refused():
    class Plain:
        def f(self, x):
            return x

    with pytest.raises(TypeError, match=r"inherits from nn.Layer"):
        paddle.jit.to_static(Plain().f)


def test_a_converted_function_is_not_called_while_a_program_is_recorded_by_hand():
    f = paddle.jit.to_static(add)
    paddle.enable_static()
    try:
        with pytest.raises(RuntimeError, match="NOT in dynamic mode"):
            f(np.ones(1), np.ones(1))
    finally:
        paddle.disable_static()


def test_private_names_and_super_mean_what_they_mean_in_the_class():
    class Base(nn.Layer):
        def forward(self, x):
            return x + 1

    class Derived(Base):
        def __init__(self):
            super().__init__()
            self.__factor = 3

        def forward(self, x):
            if x.sum() > 0:
                x = super().forward(x)
            return x * self.__factor

    static = paddle.jit.to_static(Derived(), full_graph=True)
    assert static(paddle.ones([2])).tolist() == [6.0, 6.0]
    assert static(-paddle.ones([2])).tolist() == [-3.0, -3.0]


def test_the_translator_gives_programs_code_and_outputs():
    translator = paddle.jit.api.ProgramTranslator.get_instance()
    assert translator is paddle.jit.api.ProgramTranslator()

    def f(x):
        if x.sum() > 0:
            return x + 1
        return x

    assert translator.get_output(f, paddle.ones([2])).tolist() == [2.0, 2.0]
    main, startup, inputs, outputs = translator.get_program(f, paddle.ones([2]))
    assert [v.name for v in inputs] == ["x"]
    assert len(outputs) == 1
    assert not startup.global_block().ops
    assert "_jst.if_(" in translator.get_code(f)
    paddle.enable_static()
    try:
        found = paddle.static.Executor().run(
            main, feed={"x": np.full([2], 4.0, "float32")}, fetch_list=outputs
        )
    finally:
        paddle.disable_static()
    assert found[0].tolist() == [5.0, 5.0]


def test_code_is_shown_when_that_was_asked_for(capsys):
    paddle.jit.set_code_level(100, also_to_stdout=True)
    try:
        paddle.jit.to_static(add, full_graph=True)(paddle.ones([1]), paddle.ones([1]))
    finally:
        from argosy.jit.state import state

        state.code_level, state.logs_to_stdout = -1, False
    assert "def add(a, b, c=1):" in capsys.readouterr().out
