"""Models in files: ``jit.save``, ``jit.load``, ``TracedLayer``, ``jit.layer.Layer``."""

import os
import pickle

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.static import InputSpec


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1D(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        if x.mean() > 0:
            x = x * 2
        return self.drop(self.norm(self.linear(x)))


SPEC = [InputSpec([None, 4], "float32", "x")]


@pytest.fixture
def net():
    paddle.seed(3)
    return Net()


@pytest.fixture
def saved(net, tmp_path):
    path = str(tmp_path / "folder" / "model")
    paddle.jit.save(net, path, input_spec=SPEC)
    return path


def test_a_loaded_model_evaluates_as_the_saved_one(net, saved):
    loaded = paddle.jit.load(saved)
    net.eval()
    for sign in (1.0, -1.0):
        x = paddle.randn([5, 4]) * sign
        np.testing.assert_array_equal(loaded(x).numpy(), net(x).numpy())
    assert [v.name for v in loaded._input_spec()] == ["x"]
    assert "cond" in [o.type for o in loaded.program().global_block().ops]


def test_a_loaded_model_trains_on_as_the_saved_one(net, saved):
    loaded = paddle.jit.load(saved)
    loaded.train()
    optimizers = [paddle.optimizer.SGD(0.1, parameters=m.parameters()) for m in (net, loaded)]
    for seed in range(3):
        x = paddle.randn([5, 4])
        for model, optimizer in zip((net, loaded), optimizers, strict=True):
            paddle.seed(seed)
            (model(x) ** 2).mean().backward()
            optimizer.step()
            optimizer.clear_grad()
    net.eval(), loaded.eval()
    x = paddle.ones([2, 4])
    np.testing.assert_allclose(loaded(x).numpy(), net(x).numpy(), rtol=1e-6)


def test_a_loaded_model_can_be_converted_and_saved_again(net, saved, tmp_path):
    loaded = paddle.jit.load(saved)
    paddle.jit.save(loaded, str(tmp_path / "again"), input_spec=SPEC)
    x = paddle.randn([3, 4])
    again = paddle.jit.load(str(tmp_path / "again"))
    np.testing.assert_array_equal(again(x).numpy(), loaded(x).numpy())


def test_static_reads_what_jit_saved(net, saved):
    net.eval()
    x = np.ones([2, 4], "float32")
    expected = net(paddle.to_tensor(x)).numpy()
    paddle.enable_static()
    try:
        exe = paddle.static.Executor()
        with paddle.static.scope_guard(paddle.static.Scope()):
            program, feeds, fetches = paddle.static.load_inference_model(saved, exe)
            [found] = exe.run(program, feed={feeds[0]: x}, fetch_list=fetches)
    finally:
        paddle.disable_static()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_information_that_would_run_something_is_refused(saved):
    class Runs:
        def __reduce__(self):
            return os.system, ("false",)

    with open(saved + ".pdiparams.info", "wb") as file:
        pickle.dump({"x": {"y": Runs()}}, file)
    with pytest.raises(Exception, match="system"):
        paddle.jit.load(saved)


def test_a_damaged_program_is_refused(saved):
    with open(saved + ".pdmodel", "r+b") as file:
        file.seek(200)
        file.write(b"#")
    with pytest.raises(ValueError, match="is damaged"):
        paddle.jit.load(saved)


def test_what_is_not_there_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file .*nothing.pdmodel"):
        paddle.jit.load(str(tmp_path / "nothing"))


def test_methods_share_their_variables_in_one_file(tmp_path):
    class Two(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        @paddle.jit.to_static(input_spec=SPEC)
        def forward(self, x):
            return self.b(self.a(x))

        @paddle.jit.to_static(input_spec=SPEC)
        def infer(self, x):
            return self.b(x)

        @paddle.jit.to_static(property=True)
        def width(self):
            return 4

    model, path = Two(), str(tmp_path / "two")
    paddle.jit.save(model, path, combine_params=True)
    layer = paddle.jit.layer.Layer()
    layer.load(path, paddle.CPUPlace())
    x = paddle.randn([2, 4])
    np.testing.assert_allclose(layer.forward(x)[0].numpy(), model(x).numpy(), rtol=1e-6)
    np.testing.assert_allclose(layer.infer(x)[0].numpy(), model.infer(x).numpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="other than 'forward'"):
        paddle.jit.save(model, path, input_spec=SPEC)


def test_a_function_is_saved_with_a_warning(tmp_path):
    @paddle.jit.to_static
    def f(x):
        return paddle.tanh(x)

    x = paddle.randn([3])
    f(x)
    with pytest.warns(UserWarning, match="is a function"):
        paddle.jit.save(f, str(tmp_path / "f"))
    loaded = paddle.jit.load(str(tmp_path / "f"))
    np.testing.assert_array_equal(loaded(x).numpy(), f(x).numpy())


def test_outputs_are_chosen_by_output_spec(tmp_path):
    class Both(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        @paddle.jit.to_static(input_spec=SPEC)
        def forward(self, x):
            y = self.linear(x)
            return y, y.sum()

    net, path = Both(), str(tmp_path / "both")
    paddle.jit.save(net, path, output_spec=net.forward.outputs[:1])
    assert paddle.jit.load(path)(paddle.ones([2, 4])).shape == [2, 4]


def test_hooks_of_the_layer_are_saved_too(net, tmp_path):
    net.register_forward_post_hook(lambda layer, inputs, output: output + 100)
    paddle.jit.save(net, str(tmp_path / "hooked"), input_spec=SPEC)
    net.eval()
    x = paddle.ones([2, 4])
    loaded = paddle.jit.load(str(tmp_path / "hooked"))
    np.testing.assert_allclose(loaded(x).numpy(), net(x).numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda path: paddle.jit.save(3, path), TypeError, "'Layer' or 'Function'"),
        (lambda path: paddle.jit.save(Net(), path + "/"), ValueError, "file_prefix"),
        (lambda path: paddle.jit.save(Net(), path, input_spec=3), TypeError, "'list'"),
        (lambda path: paddle.jit.save(Net(), path, speed=3), ValueError, "not supported"),
        (lambda path: paddle.jit.load(path, speed=3), ValueError, "not supported"),
    ],
)
def test_wrong_calls_are_refused(call, error, words, tmp_path):
    with pytest.raises(error, match=words):
        call(str(tmp_path / "m"))


def test_a_traced_layer_repeats_what_the_values_decided(tmp_path):
    net = Net()
    net.eval()
    x = paddle.ones([2, 4])
    out, traced = paddle.jit.TracedLayer.trace(net, [x])
    np.testing.assert_array_equal(traced([x])[0].numpy(), out.numpy())
    assert "cond" not in [o.type for o in traced.program.global_block().ops]
    negative = -x  # for which the layer itself would take the other branch
    expected = net.norm(net.linear(negative * 2)).numpy()
    np.testing.assert_allclose(traced([negative])[0].numpy(), expected, rtol=1e-6)
    traced.set_strategy(paddle.static.BuildStrategy(), paddle.static.ExecutionStrategy())
    traced.save_inference_model(str(tmp_path / "traced"), feed=range(1), fetch=[0])
    loaded = paddle.jit.load(str(tmp_path / "traced"))
    np.testing.assert_allclose(loaded(x).numpy(), out.numpy(), rtol=1e-6)


def test_two_traces_of_one_layer_are_the_same_program():
    net, x = Net(), paddle.ones([2, 4])
    first, second = (paddle.jit.TracedLayer.trace(net, [x])[1].program for _ in range(2))
    assert str(first) == str(second)


def test_a_traced_layer_refuses_what_it_cannot_trace():
    with pytest.raises(AssertionError, match=r"must be paddle.nn.Layer"):
        paddle.jit.TracedLayer.trace(None, [paddle.ones([1])])
    with pytest.raises(TypeError, match="each element of inputs"):
        paddle.jit.TracedLayer.trace(Net(), [1])


def test_hooks_are_called_before_a_model_is_saved(net, tmp_path):
    from paddle.jit.api import _clear_save_pre_hooks, _register_save_pre_hook

    told = []

    def hook(layer, input_spec, configs):
        told.append((layer, input_spec, configs))

    handle = _register_save_pre_hook(hook)
    _register_save_pre_hook(hook)
    paddle.jit.save(net, str(tmp_path / "once"), input_spec=SPEC, combine_params=False)
    assert told == [(net, SPEC, {"combine_params": False})]
    handle.remove()
    paddle.jit.save(net, str(tmp_path / "again"), input_spec=SPEC)
    assert len(told) == 1
    _register_save_pre_hook(hook)
    _clear_save_pre_hooks()
    paddle.jit.save(net, str(tmp_path / "last"), input_spec=SPEC)
    assert len(told) == 1
