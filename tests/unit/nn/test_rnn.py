"""Recurrent layers beyond golden data: the fused path equals the stepwise one, hooks, dropout,
copies.
"""

import copy

import numpy as np
import pytest

import paddle
from paddle import nn

KINDS = {"simple": nn.SimpleRNN, "lstm": nn.LSTM, "gru": nn.GRU}


def hook_cells(layer):
    """Hooks that change nothing force the stepwise path."""
    calls = []
    for cell in layer._cells():
        cell.register_forward_post_hook(lambda *_: calls.append(1))
    return calls


def flat(value):
    return [t.numpy() for t in paddle.utils.flatten(value)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["forward", "bidirect"])
@pytest.mark.parametrize("time_major", [False, True])
def test_fused_equals_stepwise(kind, direction, time_major):
    paddle.seed(2)
    layer = KINDS[kind](3, 4, num_layers=2, direction=direction, time_major=time_major)
    x = paddle.randn([5, 6, 3])
    stacks = 4 if direction == "bidirect" else 2
    start = paddle.randn([stacks, 6 if time_major else 5, 4])
    states = (start, start * 2) if kind == "lstm" else start
    fused = layer(x, states)
    fused[0].sum().backward()
    expected = [p.grad.numpy() for p in layer.parameters()]
    layer.clear_gradients()
    calls = hook_cells(layer)
    stepwise = layer(x, states)
    stepwise[0].sum().backward()
    steps = 5 if time_major else 6
    assert len(calls) == steps * stacks
    for a, b in zip(flat(fused), flat(stepwise), strict=True):
        assert np.allclose(a, b, atol=1e-6)
    for p, grad in zip(layer.parameters(), expected, strict=True):
        assert np.allclose(p.grad.numpy(), grad, atol=1e-4)


def test_projected_fused_equals_stepwise():
    layer = nn.LSTM(3, 5, num_layers=2, direction="bidirect", proj_size=2)
    x = paddle.randn([2, 4, 3])
    fused = layer(x)
    hook_cells(layer)
    for a, b in zip(flat(fused), flat(layer(x)), strict=True):
        assert np.allclose(a, b, atol=1e-6)


def test_padding_does_not_matter_with_lengths():
    layer = nn.LSTM(3, 4, num_layers=2, direction="bidirect")
    x = paddle.randn([3, 6, 3])
    lengths = paddle.to_tensor([2, 6, 4], dtype="int32")
    out, (h, c) = layer(x, sequence_length=lengths)
    for row, n in enumerate([2, 6, 4]):
        alone, (h1, c1) = layer(x[row : row + 1, :n])
        assert np.allclose(out[row, :n].numpy(), alone[0].numpy(), atol=1e-6)
        assert not out[row, n:].numpy().any()
        assert np.allclose(h[:, row].numpy(), h1[:, 0].numpy(), atol=1e-6)
        assert np.allclose(c[:, row].numpy(), c1[:, 0].numpy(), atol=1e-6)


def test_names_are_the_parameters_of_the_cells():
    layer = nn.GRU(3, 4, num_layers=2, direction="bidirect")
    assert layer.weight_ih_l1_reverse is layer[1].cell_bw.weight_ih
    assert len(layer.parameters()) == 16


def test_attribute_false_gives_a_fixed_bias():
    layer = nn.GRU(3, 4, num_layers=2, bias_ih_attr=False)
    out, _ = layer(paddle.randn([2, 5, 3]))
    out.sum().backward()
    assert layer[0].cell.bias_ih.grad is None
    assert not layer[0].cell.bias_ih.numpy().any()
    assert "bias_ih_l0" not in layer.state_dict()
    assert layer.bias_hh_l1 is layer[1].cell.bias_hh


def test_dropout_acts_between_layers_in_training_only():
    x = paddle.randn([2, 5, 3])
    single = nn.GRU(3, 4, dropout=0.5)
    assert np.array_equal(single(x)[0].numpy(), single(x)[0].numpy())
    deep = nn.GRU(3, 4, num_layers=2, dropout=0.5)
    assert not np.array_equal(deep(x)[0].numpy(), deep(x)[0].numpy())
    deep.eval()
    assert np.array_equal(deep(x)[0].numpy(), deep(x)[0].numpy())


def test_backward_works_in_evaluation():
    layer = nn.LSTM(3, 4)
    layer.eval()
    layer(paddle.randn([2, 5, 3]))[0].sum().backward()
    assert layer.weight_hh_l0.grad is not None


def test_copy_shares_names_within_itself_only():
    layer = nn.LSTM(3, 4)
    other = copy.deepcopy(layer)
    assert other.weight_ih_l0 is other[0].cell.weight_ih
    assert other.weight_ih_l0 is not layer.weight_ih_l0


def test_state_dict_round_trip():
    a, b = nn.LSTM(3, 4, num_layers=2), nn.LSTM(3, 4, num_layers=2)
    missing, unexpected = b.set_state_dict(a.state_dict())
    assert not missing
    assert not unexpected
    x = paddle.randn([2, 5, 3])
    assert np.array_equal(a(x)[0].numpy(), b(x)[0].numpy())


def test_default_dtype_of_parameters():
    paddle.set_default_dtype("float64")
    try:
        layer = nn.LSTM(3, 4)
    finally:
        paddle.set_default_dtype("float32")
    out, _ = layer(paddle.randn([2, 5, 3]).astype("float64"))
    assert out.dtype is paddle.float64


def test_cell_with_nested_inputs_and_states():
    class Pair(nn.RNNCellBase):
        input_size = 2

        def forward(self, inputs, states, scale=1.0):
            total, count = states
            total = total + inputs["a"] * scale + inputs["b"]
            return {"sum": total}, (total, count + 1)

        @property
        def state_shape(self):
            return ((2,), (1,))

    x = paddle.ones([3, 4, 2])
    outputs, (total, count) = nn.RNN(Pair())({"a": x, "b": x * 2}, scale=3.0)
    assert outputs["sum"].shape == [3, 4, 2]
    assert total.tolist() == [[20.0, 20.0]] * 3
    assert count.tolist() == [[4.0]] * 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: nn.LSTM(2, 3)(paddle.ones([3, 4, 5])),
            "the input has 5 features, the layer was built for 2",
        ),
        (
            lambda: nn.LSTM(2, 3)(paddle.ones([3, 2])),
            r"expected an input of shape \[batch, time, input_size\]",
        ),
        (
            lambda: nn.GRU(2, 3)(paddle.ones([3, 4, 2]), paddle.ones([2, 3, 3])),
            r"must have shape \[1, 3, hidden_size\]",
        ),
        (lambda: nn.LSTM(2, 3, direction="both"), "direction should be forward or bidirect"),
        (lambda: nn.LSTMCell(2, 3, proj_size=4), r"proj_size must lie in \[0, 3\)"),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()
