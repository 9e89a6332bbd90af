"""Readers, loaders and metrics of ``paddle.fluid``."""

import numpy as np
import pytest

import paddle.fluid as fluid


def test_each_rank_reads_its_batches(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "3")
    seen = []
    for rank in range(3):
        monkeypatch.setenv("PADDLE_TRAINER_ID", str(rank))
        seen.append(list(fluid.contrib.reader.distributed_batch_reader(lambda: iter(range(8)))()))
    assert seen == [[0, 3], [1, 4], [2, 5]]


def test_loader_of_a_generator():
    def samples():
        for i in range(5):
            yield np.full([2], i, "float32"), np.array([i])

    with fluid.dygraph.guard():
        loader = fluid.io.DataLoader.from_generator(capacity=2, return_list=True)
        loader.set_sample_list_generator(fluid.io.batch(samples, 2), places=fluid.CPUPlace())
        batches = [(x.shape, y.numpy().ravel().tolist()) for x, y in loader()]
    assert batches == [([2, 2], [0, 1]), ([2, 2], [2, 3]), ([1, 2], [4])]


def test_accuracy_of_batches():
    metric = fluid.metrics.Accuracy()
    with pytest.raises(ValueError, match="update"):
        metric.eval()
    metric.update(np.array([0.5], "float32"), 2)
    metric.update(value=fluid.dygraph.to_variable(np.array([1.0], "float32")), weight=6)
    assert metric.eval() == 0.875
    metric.reset()
    metric.update(0.25, 1)
    assert metric.eval() == 0.25
    with pytest.raises(ValueError, match="negative"):
        metric.update(1.0, -1)


def test_accuracy_fills_its_counts():
    with fluid.dygraph.guard():
        scores = fluid.dygraph.to_variable(np.eye(4, dtype="float32"))
        labels = fluid.dygraph.to_variable(np.array([[0], [1], [0], [0]]))
        correct, total = fluid.layers.zeros([1], "int32"), fluid.layers.zeros([1], "int32")
        share = fluid.layers.accuracy(scores, labels, correct=correct, total=total)
    assert (share.tolist(), correct.tolist(), total.tolist()) == ([0.5], [2], [4])
