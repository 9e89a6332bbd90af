from __future__ import annotations

import random
import weakref

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported
from paddle import nn
from paddle.distributed.fleet.recompute import (
    custom_state_manager,
    recompute,
    recompute_hybrid,
    recompute_sequential,
)


def block(size=4):
    return nn.Sequential(nn.Linear(size, size), nn.Tanh(), nn.Dropout(0.5), nn.Linear(size, size))


def gradients_of(layer, run):
    layer.clear_gradients()
    paddle.seed(5)
    np.random.seed(5)
    random.seed(5)
    x = paddle.to_tensor(np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4), stop_gradient=False)
    out = run(x)
    out.square().sum().backward()
    after = [paddle.rand([2]).numpy(), np.random.rand(2), np.array([random.random()])]
    return [out.numpy(), x.grad.numpy(), *(p.grad.numpy() for p in layer.parameters()), *after]


def assert_same(layer, plain, again):
    for a, b in zip(gradients_of(layer, plain), gradients_of(layer, again), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_numbers_and_random_state(use_reentrant):
    layer = block()

    def run(x):
        noise = np.random.rand() + random.random()
        return layer(x) * noise

    assert_same(layer, run, lambda x: recompute(run, x, use_reentrant=use_reentrant))


def test_without_preserved_random_state_numbers_differ():
    layer = block()
    with_state = gradients_of(layer, layer)
    without = gradients_of(layer, lambda x: recompute(layer, x, preserve_rng_state=False))
    np.testing.assert_array_equal(with_state[0], without[0])
    assert any(not np.array_equal(a, b) for a, b in zip(with_state[1:6], without[1:6], strict=True))


def test_nested():
    inner, outer = block(), block()
    both = nn.LayerList([inner, outer])
    assert_same(
        both,
        lambda x: outer(inner(x)),
        lambda x: recompute(lambda y: outer(recompute(inner, y)), x),
    )


def test_mixed_precision_is_repeated():
    layer = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    dtypes = []

    def run(x):
        hidden = layer[0](x)
        dtypes.append(hidden.dtype)
        return layer[2](layer[1](hidden))

    def cast(function):
        def call(x):
            with paddle.amp.auto_cast(dtype="bfloat16"):
                out = function(x)
            return out.astype("float32")  # backward is outside of auto_cast

        return call

    assert_same(layer, cast(run), cast(lambda x: recompute(run, x)))
    assert dtypes == [paddle.bfloat16] * 3


def test_arguments_and_outputs_of_every_kind():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = paddle.to_tensor([3.0, 4.0], stop_gradient=False)

    def function(a, pair, *, other, factor=2, flag=None):
        return {"product": a * other * factor, "flag": flag}, [pair[0] * a, 7, None]

    first, (second, seven, none) = recompute(
        function, x, (y, "text"), other=y, factor=3, flag="set"
    )
    assert (first["flag"], seven, none) == ("set", 7, None)
    (first["product"].sum() + second.sum()).backward()
    assert x.grad.tolist() == [4 * 3.0, 4 * 4.0]
    assert y.grad.tolist() == [4 * 1.0, 4 * 2.0]


def test_parameters_get_gradients_without_an_input_that_needs_one():
    layer = nn.Linear(2, 1)
    recompute(layer, paddle.ones([1, 2])).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("recomputes", [False, True])
def test_activations_are_not_kept(recomputes):
    layer = nn.Linear(4, 4)
    alive, runs = [], []

    def function(x):
        hidden = paddle.exp(layer(x))  # backward of exp needs its result
        alive.append(weakref.ref(hidden.raw))
        runs.append(1)
        return (hidden * hidden).sum()

    x = paddle.ones([2, 4])
    x.stop_gradient = False
    out = recompute(function, x) if recomputes else function(x)
    assert (alive[0]() is None) == recomputes
    assert len(runs) == 1
    out.backward()
    assert len(runs) == (2 if recomputes else 1)


def test_fewer_tensors_are_saved():
    def count(run):
        saved = []
        with paddle.autograd.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
            run()
        return len(saved)

    layers = [block() for _ in range(3)]
    x = paddle.ones([2, 4])
    x.stop_gradient = False

    def plain():
        return layers[2](layers[1](layers[0](x)))

    # outside hooks do not see what the recomputed part would have saved
    assert count(plain) >= 9
    assert count(lambda: recompute(plain)) == 0


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_sequential(segments):
    layer = nn.Sequential(*block(), *block())
    assert_same(layer, layer, lambda x: recompute_sequential({"segments": segments}, layer, x))
    assert_same(
        layer,
        layer,
        lambda x: recompute_sequential({"segments": segments}, list(layer), x, use_reentrant=False),
    )


def test_sequential_segments_are_recomputed():
    calls = []

    def step(name):
        def run(x):
            calls.append(name)
            return paddle.tanh(x)

        return run

    x = paddle.ones([2])
    x.stop_gradient = False
    recompute_sequential({"segments": 2}, [step(i) for i in range(5)], x).sum().backward()
    assert calls == [0, 1, 2, 3, 4, 0, 1]
    with pytest.raises(ValueError, match="segments must be from 1 to the 2 functions, but is 3"):
        recompute_sequential({"segments": 3}, [step(0), step(1)], x)


def test_custom_state(monkeypatch):
    state = {"value": 1}
    monkeypatch.setattr(custom_state_manager, "custom_get_state_func", None)
    monkeypatch.setattr(custom_state_manager, "custom_set_state_func", None)
    custom_state_manager.set_custom_get_state_func(lambda: state["value"])
    custom_state_manager.set_custom_set_state_func(lambda value: state.update(value=value))
    with pytest.raises(AssertionError, match="does not support duplicate settings"):
        custom_state_manager.set_custom_get_state_func(lambda: None)
    seen = []

    def function(x):
        seen.append(state["value"])
        return paddle.exp(x)

    x = paddle.ones([1])
    x.stop_gradient = False
    out = recompute(function, x)
    state["value"] = 2
    out.backward()
    assert seen == [1, 1]
    assert state["value"] == 2


def test_hybrid_and_refusals():
    layer = nn.Linear(4, 4)
    assert_same(layer, layer, lambda x: recompute_hybrid({"mp_group": None}, layer, x))
    with pytest.raises(AssertionError, match="ctx must contain mp_group"):
        recompute_hybrid({}, layer, paddle.ones([1, 4]))
    with pytest.raises(NotSupported, match=r"ctx\['partition'\]=True"):
        recompute_hybrid({"mp_group": None, "partition": True}, layer, paddle.ones([1, 4]))
    with pytest.raises(NotSupported, match="offload_indices"):
        recompute(layer, paddle.ones([1, 4]), offload_indices=[0])


def test_under_no_grad_it_only_runs():
    layer = block()
    with paddle.no_grad():
        out = recompute(layer, paddle.ones([1, 4]))
    assert out.stop_gradient
