"""Sharding stage 3 in a group of one: what layers, parameters and optimizers notice of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import paddle
from paddle.distributed.sharding import group_sharded_parallel


def split(model, optimizer=None, **options):
    optimizer = optimizer or paddle.optimizer.SGD(0.1, parameters=model.parameters())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is one process
        return group_sharded_parallel(model, optimizer, "p_g_os", **{"segment_size": 0, **options})[
            :2
        ]


def trained(make, inputs, is_split, loss_of):
    paddle.seed(1)
    model = make()
    adam = paddle.optimizer.Adam(0.01, parameters=model.parameters())
    if is_split:
        model, adam = split(model, adam)
    losses = []
    for _ in range(3):
        loss = loss_of(model, *inputs)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
    return losses, {key: value.numpy() for key, value in model.state_dict().items()}


def square(model, *inputs):
    out = model(*inputs)
    return (out[0] if isinstance(out, tuple) else out).square().mean()


def gradient_penalty(model, x):
    x = x.detach()
    x.stop_gradient = False
    out = model(x)
    [slope] = paddle.grad([paddle.tanh(out).sum()], [x], create_graph=True)
    return slope.square().sum() + out.square().mean()


def amp(model, x):
    with paddle.amp.auto_cast(dtype="bfloat16"):
        return square(model, x)


X = paddle.to_tensor(np.random.RandomState(0).normal(size=(2, 5, 8)).astype("float32"))
MLP = lambda: paddle.nn.Sequential(paddle.nn.Linear(8, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 4))  # noqa: E731


@pytest.mark.parametrize(
    ("make", "inputs", "loss_of"),
    [
        (lambda: paddle.nn.LSTM(8, 8, 2, direction="bidirect"), (X,), square),
        (lambda: paddle.nn.MultiHeadAttention(8, 2), (X, X, X), square),
        (lambda: paddle.nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0), (X, X), square),
        (lambda: paddle.nn.utils.weight_norm(paddle.nn.Linear(8, 8)), (X,), square),
        (lambda: paddle.nn.utils.spectral_norm(paddle.nn.Linear(8, 8)), (X,), square),
        (
            lambda: paddle.nn.Sequential(paddle.nn.Conv1D(5, 6, 3), paddle.nn.BatchNorm1D(6)),
            (X,),
            square,
        ),
        (lambda: paddle.nn.Bilinear(8, 8, 4), (X[:, 0], X[:, 1]), square),
        (MLP, (X,), gradient_penalty),
        (MLP, (X,), amp),
    ],
)
def test_layers_compute_the_same(make, inputs, loss_of):
    losses, state = trained(make, inputs, False, loss_of)
    found, split_state = trained(make, inputs, True, loss_of)
    assert found == losses
    assert all(np.array_equal(split_state[key], value) for key, value in state.items())


class Counter(paddle.nn.Layer):
    """Writes into its parameter."""

    def __init__(self):
        super().__init__()
        self.count = self.create_parameter(
            [3], default_initializer=paddle.nn.initializer.Constant(0.0)
        )
        self.count.stop_gradient = True
        self.inner = paddle.nn.Linear(3, 3)

    def forward(self, x):
        with paddle.no_grad():
            self.count.add_(paddle.ones([3]))
        return self.inner(x) + self.count

    def described(self):
        return "a counter"


def test_what_a_layer_writes_into_its_parameter_stays():
    model, _ = split(Counter())
    for _ in range(2):
        model(paddle.ones([1, 3]))
    assert model.state_dict()["count"].tolist() == [2.0, 2.0, 2.0]


def test_whole_values_on_request():
    layer = paddle.nn.Linear(4, 4)
    model, sgd = split(layer)
    model.get_all_parameters()
    with paddle.no_grad():
        layer.weight.fill_(1.0)
    layer.bias.set_value(np.zeros(4, "float32"))
    # what was written has reached the parts
    assert model(paddle.ones([1, 4])).tolist() == [[4.0] * 4]
    with pytest.raises(ValueError, match="is split over the ranks"):
        layer.weight.numpy()
    layer.weight.set_value(np.full((4, 4), 2.0, "float32"))
    assert model.state_dict()["weight"].tolist() == [[2.0] * 4] * 4
    with pytest.raises(ValueError, match="needs a value of shape"):
        layer.weight.set_value(np.zeros((2, 2), "float32"))
    model.get_all_parameters()
    model(paddle.ones([1, 4])).sum().backward()
    sgd.step()  # the values that were gathered before are no longer the parameter's
    assert model.state_dict()["weight"].numpy() == pytest.approx(1.9)


def test_freezing_and_thawing():
    layer = paddle.nn.Linear(2, 2)
    model, sgd = split(layer)
    layer.weight.set_value(np.ones((2, 2), "float32"))
    for is_frozen, wanted in ((True, 1.0), (False, 0.9), (True, 0.9)):
        layer.weight.stop_gradient = is_frozen
        model(paddle.ones([1, 2])).sum().backward()
        sgd.step()
        sgd.clear_grad()
        assert model.state_dict()["weight"].numpy() == pytest.approx(wanted)


def test_what_stays_of_a_parameter_and_of_the_layer():
    layer = Counter()
    names = [p.name for p in layer.parameters()]
    model, sgd = split(layer, segment_size=4)
    assert [p.name for p in model.parameters()] == names
    assert [p.shape for p in model.parameters()] == [[3], [3, 3], [3]]
    assert layer.count.tolist() == [0.0, 0.0, 0.0]  # three elements are not more than four
    assert model.described() == "a counter"
    assert [p.name for p in sgd.owned_parameters] == names
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        model.nothing  # noqa: B018


def test_a_layer_may_return_anything():
    class Two(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = paddle.nn.Linear(3, 3)

        def forward(self, x):
            self.seen = self.inner(x)  # the loss is made from what no layer returns
            return None

    layer = Two()
    model, _ = split(layer)
    x = paddle.ones([1, 3])
    x.stop_gradient = False
    model(x)
    layer.seen.sum().backward()
    assert x.grad is not None
