"""Row-sparse gradients in programs: where they stay so, and what comes of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
from argosy.ops.table import Op
from argosy.ops.training import row_updates

F = paddle.nn.functional


def table(rows=5, name="table"):
    initializer = paddle.nn.initializer.Assign(
        np.arange(rows * 2, dtype="float32").reshape(rows, 2) / 10
    )
    return paddle.static.create_parameter(
        [rows, 2], "float32", attr=paddle.ParamAttr(name=name, initializer=initializer)
    )


def run(*fetches, feed=None):
    return paddle.static.Executor().run(feed=feed, fetch_list=list(fetches))


def start():
    paddle.static.Executor().run(paddle.static.default_startup_program())


def lookup(optimizer, rows=5):
    """Minimise the sum of what is looked up, weighted by ``scale``."""
    ids = paddle.static.data("ids", [None], "int64")
    weight = table(rows)
    loss = (F.embedding(ids, weight, sparse=True) ** 2).sum()
    optimizer.minimize(loss)
    start()
    return weight


OPTIMIZERS = {
    "sgd": lambda **own: paddle.optimizer.SGD(0.1, **own),
    "adagrad": lambda **own: paddle.optimizer.Adagrad(0.1, **own),
    "adam": lambda **own: paddle.optimizer.Adam(0.1, **own),
    "lazy adam": lambda **own: paddle.optimizer.Adam(0.1, lazy_mode=True, **own),
    "amsgrad": lambda **own: paddle.optimizer.Adam(0.1, lazy_mode=True, amsgrad=True, **own),
    "adamw": lambda **own: paddle.optimizer.AdamW(0.1, weight_decay=0.2, **own),
    "lazy adamw": lambda **own: paddle.optimizer.AdamW(
        0.1, weight_decay=0.2, lazy_mode=True, **own
    ),
    "momentum": lambda **own: paddle.optimizer.Momentum(0.1, 0.9, **own),
    "lamb": lambda **own: paddle.optimizer.Lamb(0.1, **own),
}
CLIPS = {
    "unclipped": lambda: None,
    "by value": lambda: paddle.nn.ClipGradByValue(0.3),
    "by norm": lambda: paddle.nn.ClipGradByNorm(0.5),
    "by global norm": lambda: paddle.nn.ClipGradByGlobalNorm(0.5),
}
BATCHES = [[1, 1, 3], [0, 3, 3], [4]]


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_trains_as_in_eager_mode(kind, clip):
    weight = lookup(OPTIMIZERS[kind](grad_clip=CLIPS[clip]()))
    for ids in BATCHES:
        run(feed={"ids": np.array(ids)})
    recorded = np.array(weight.get_value())
    paddle.disable_static()
    layer = paddle.nn.Embedding(5, 2, sparse=True)
    layer.weight.set_value(np.arange(10, dtype="float32").reshape(5, 2) / 10)
    optimizer = OPTIMIZERS[kind](parameters=layer.parameters(), grad_clip=CLIPS[clip]())
    for ids in BATCHES:
        (layer(paddle.to_tensor(ids)) ** 2).sum().backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
    paddle.enable_static()
    np.testing.assert_allclose(recorded, layer.weight.numpy(), rtol=1e-6, atol=1e-7)


def layouts_seen(monkeypatch, op: Op):
    """The layouts of the gradients that runs hand to an update."""
    seen = []
    original = op.fn

    def spy(params, grads, *rest):
        seen.extend(grad.layout for grad in grads)
        return original(params, grads, *rest)

    monkeypatch.setattr(op, "fn", spy)
    return seen


def test_a_gradient_stays_sparse_up_to_the_update(monkeypatch):
    seen = layouts_seen(monkeypatch, row_updates.sgd_sparse_)
    lookup(paddle.optimizer.SGD(0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)))
    run(feed={"ids": np.array([1])})
    assert seen == [torch.sparse_coo]


def test_a_fetched_gradient_is_dense_and_leaves_the_update_lazy():
    weight = lookup(paddle.optimizer.Adam(0.1, lazy_mode=True))
    run(feed={"ids": np.array([2])})
    before = np.array(weight.get_value())
    [grad] = run("table@GRAD", feed={"ids": np.array([1, 1])})
    assert grad.shape == (5, 2)
    np.testing.assert_allclose(grad[1], 4 * before[1], rtol=1e-6)
    assert not grad[[0, 2, 3, 4]].any()
    after = np.array(weight.get_value())
    # Row 2 has moments from the first run, which only a lazy update leaves alone.
    np.testing.assert_array_equal(after[[0, 2, 3, 4]], before[[0, 2, 3, 4]])
    assert (after[1] != before[1]).all()


def test_other_readers_get_it_dense():
    ids = paddle.static.data("ids", [None], "int64")
    weight = table()
    loss = F.embedding(ids, weight, sparse=True).sum()
    [(_, grad)] = paddle.static.append_backward(loss)
    doubled = grad * 2.0
    start()
    [value] = run(doubled, feed={"ids": np.array([1, 1])})
    np.testing.assert_array_equal(value[:, 0], [0, 4, 0, 0, 0])


def test_a_table_that_is_also_read_whole_has_a_dense_gradient():
    ids = paddle.static.data("ids", [None], "int64")
    weight = table()
    loss = F.embedding(ids, weight, sparse=True).sum() + weight.sum()
    paddle.optimizer.Adam(0.1).minimize(loss)
    types = [operator.op.name for operator in loss.block.ops if operator.op is not None]
    assert "adam_" in types
    [update] = [o for o in loss.block.ops if o.op is not None and o.op.name == "adam_"]
    assert update.named_args["lead"] == 0.0  # as of updates from rows it is not
    start()
    run(feed={"ids": np.array([1])})
    # A first step of Adam moves by the rate, whatever the gradient.
    np.testing.assert_allclose(
        np.array(weight.get_value()), np.arange(10).reshape(5, 2) / 10 - 0.1, atol=1e-6
    )


def test_decay_makes_it_dense():
    ids = paddle.static.data("ids", [None], "int64")
    weight = table()
    paddle.optimizer.SGD(0.1, weight_decay=0.5).minimize(
        F.embedding(ids, weight, sparse=True).sum()
    )
    start()
    before = np.array(weight.get_value())
    run(feed={"ids": np.array([1])})
    expected = before - 0.1 * (0.5 * before + (np.arange(5) == 1)[:, None])
    np.testing.assert_allclose(np.array(weight.get_value()), expected, rtol=1e-6)
