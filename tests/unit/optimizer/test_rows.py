"""Row-sparse gradients: which rows move."""

import numpy as np
import pytest
import torch

import paddle


def table(rows=6):
    layer = paddle.nn.Embedding(rows, 2, sparse=True)
    layer.weight.set_value(np.ones([rows, 2], "float32"))
    return layer


def look_up(layer, ids):
    layer(paddle.to_tensor(ids)).sum().backward()


def moved(layer, before):
    return np.flatnonzero((layer.weight.numpy() != before).any(1)).tolist()


def train(layer, optimizer, *batches):
    """The rows that each batch moved."""
    seen = []
    for ids in batches:
        before = layer.weight.numpy()
        look_up(layer, ids)
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        seen.append(moved(layer, before))
    return seen


@pytest.mark.parametrize(
    "make",
    [
        lambda p: paddle.optimizer.SGD(0.1, parameters=p),
        lambda p: paddle.optimizer.Adagrad(0.1, parameters=p),
        lambda p: paddle.optimizer.Adam(0.1, parameters=p, lazy_mode=True),
        lambda p: paddle.optimizer.Adam(0.1, parameters=p, lazy_mode=True, amsgrad=True),
        lambda p: paddle.optimizer.AdamW(0.1, parameters=p, lazy_mode=True),
    ],
)
def test_only_rows_of_the_batch_move(make):
    layer = table()
    assert train(layer, make(layer.parameters()), [4, 1, 4], [2, 1]) == [[1, 4], [1, 2]]


@pytest.mark.parametrize("kind", ["Momentum", "Adam", "RMSProp"])
def test_other_rows_count_as_zero_gradients(kind):
    layer = table()
    settings = {"momentum": 0.9} if kind != "Adam" else {}
    optimizer = getattr(paddle.optimizer, kind)(
        learning_rate=0.1, parameters=layer.parameters(), **settings
    )
    assert train(layer, optimizer, [4, 1], [2]) == [[1, 4], [1, 2, 4]]


def test_repeated_rows_are_summed():
    layer = table()
    sgd = paddle.optimizer.SGD(0.5, parameters=layer.parameters())
    train(layer, sgd, [3, 0, 3])
    np.testing.assert_array_equal(layer.weight.numpy()[:, 0], [0.5, 1, 1, 0, 1, 1])


def test_lazy_adamw_decays_only_its_rows():
    layer = table()
    adamw = paddle.optimizer.AdamW(
        0.1, parameters=layer.parameters(), lazy_mode=True, weight_decay=0.5
    )
    train(layer, adamw, [2])
    np.testing.assert_allclose(layer.weight.numpy()[:, 0], [1, 1, 0.95 - 0.1, 1, 1, 1], rtol=1e-5)


def test_decay_makes_the_gradient_dense():
    layer = table()
    sgd = paddle.optimizer.SGD(0.1, parameters=layer.parameters(), weight_decay=0.5)
    assert train(layer, sgd, [2]) == [[0, 1, 2, 3, 4, 5]]


def test_explicit_row_gradients():
    layer = table()
    sgd = paddle.optimizer.SGD(0.5, parameters=layer.parameters())
    look_up(layer, [5])
    before = layer.weight.numpy()
    sgd.apply_gradients([(layer.weight, layer.weight.grad)])
    assert moved(layer, before) == [5]
    assert layer.weight.raw.grad.layout is torch.sparse_coo
