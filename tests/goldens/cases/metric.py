"""Metrics over batches."""

import numpy as np

from goldens.harness import Cases

cases = Cases("metric")


def over_batches(name, make, inputs):
    @cases.add(name)
    def _(paddle, draw):
        metric = make(paddle)
        values = []
        for arrays in inputs(draw):
            metric.update(*arrays)
            values.append(metric.accumulate())
        metric.reset()
        return [values, metric.accumulate(), metric.name()]


def binary(draw):
    return [(draw.uniform(6, 1), draw.integers(6, 1, high=2)) for _ in range(3)]


def scores(draw):
    return [
        (draw.uniform(50, 2, dtype=dtype), draw.integers(50, 1, high=2))
        for dtype in ("float32", "float64", "float32")
    ]


over_batches("precision", lambda paddle: paddle.metric.Precision(), binary)
over_batches(
    "precision-half",
    lambda paddle: paddle.metric.Precision("p"),
    lambda d: [(np.array([0.5, 0.49]), np.array([1, 1]))],
)
over_batches("recall", lambda paddle: paddle.metric.Recall(), binary)
over_batches(
    "recall-half",
    lambda paddle: paddle.metric.Recall("r"),
    lambda d: [(np.array([0.5, 1.5]), np.array([1, 1]))],
)
over_batches("auc", lambda paddle: paddle.metric.Auc(), scores)
over_batches(
    "auc-few_thresholds", lambda paddle: paddle.metric.Auc(num_thresholds=10, name="a"), scores
)
over_batches(
    "auc-one_class",
    lambda paddle: paddle.metric.Auc(),
    lambda d: [(d.uniform(4, 2), np.ones((4, 1), "int64"))],
)


def accuracy_metric(name, topk, inputs):
    @cases.add(name)
    def _(paddle, draw):
        metric = paddle.metric.Accuracy(topk=topk)
        out = []
        for _ in range(2):
            pred, label = inputs(draw)
            hits = metric.compute(paddle.to_tensor(pred), paddle.to_tensor(label))
            out.append([hits, metric.update(hits), metric.accumulate()])
        return [out, metric.name()]


accuracy_metric("accuracy-column", (1,), lambda d: (d.distinct(6, 5), d.integers(6, 1, high=5)))
accuracy_metric("accuracy-vector", (1,), lambda d: (d.distinct(6, 5), d.integers(6, high=5)))
accuracy_metric("accuracy-topk", (1, 3), lambda d: (d.distinct(6, 5), d.integers(6, 1, high=5)))
accuracy_metric(
    "accuracy-one_hot",
    (1, 2),
    lambda d: (d.distinct(6, 5), np.eye(5, dtype="float32")[d.integers(6, high=5)]),
)
accuracy_metric("accuracy-deep", (2,), lambda d: (d.distinct(2, 3, 5), d.integers(2, 3, 1, high=5)))


def functional(name, k, inputs):
    @cases.add(name)
    def _(paddle, draw):
        pred, label = inputs(draw)
        return paddle.metric.accuracy(paddle.to_tensor(pred), paddle.to_tensor(label), k=k)


functional("functional", 1, lambda d: (d.distinct(8, 4), d.integers(8, 1, high=4)))
functional("functional-top2", 2, lambda d: (d.distinct(8, 4), d.integers(8, 1, high=4)))
functional(
    "functional-int32", 1, lambda d: (d.distinct(8, 4), d.integers(8, 1, high=4, dtype="int32"))
)
functional(
    "functional-float64", 1, lambda d: (d.distinct(8, 4, dtype="float64"), d.integers(8, 1, high=4))
)


@cases.add("functional-counts")
def _(paddle, draw):
    correct, total = paddle.to_tensor([0]), paddle.to_tensor([0])
    share = paddle.metric.accuracy(
        paddle.to_tensor(draw.distinct(8, 4)),
        paddle.to_tensor(draw.integers(8, 1, high=4)),
        2,
        correct,
        total,
    )
    return [share, correct, total]


def wrong(paddle, shape, label_shape, dtype="int64", k=1):
    pred = paddle.to_tensor(np.ones(shape, "float32"))
    return paddle.metric.accuracy(pred, paddle.to_tensor(np.ones(label_shape, dtype)), k=k)


cases.error("functional-flat_label", lambda paddle: wrong(paddle, (3, 2), (3,)))
cases.error("functional-other_rows", lambda paddle: wrong(paddle, (3, 2), (2, 1)))
cases.error("functional-float_label", lambda paddle: wrong(paddle, (3, 2), (3, 1), "float32"))
cases.error("functional-big_k", lambda paddle: wrong(paddle, (3, 2), (3, 1), k=3))
cases.error("precision-list", lambda paddle: paddle.metric.Precision().update([1.0], [1]))
cases.error(
    "auc-outside",
    lambda paddle: paddle.metric.Auc().update(np.array([[0.0, 1.5]]), np.array([[1]])),
)
cases.error("metric-abstract", lambda paddle: paddle.metric.Metric())
