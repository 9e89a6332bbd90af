"""Metrics: messages, Tensors and arrays alike, counts on large streams."""

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported
from argosy.metric import Accuracy, Auc, Metric, Precision, Recall


@pytest.mark.parametrize("kind", [Precision, Recall])
def test_tensors_and_arrays_count_alike(kind):
    preds, labels = np.array([[0.2], [0.7], [0.9]], "float32"), np.array([[0], [1], [0]])
    by_array, by_tensor = kind(), kind()
    by_array.update(preds, labels)
    by_tensor.update(paddle.to_tensor(preds), paddle.to_tensor(labels))
    assert by_array.accumulate() == by_tensor.accumulate() > 0


def test_auc_equals_the_share_of_ordered_pairs():
    rng = np.random.RandomState(0)
    # scores in the middle of distinct buckets: no ties, so that the area is the share of pairs in
    # the right order
    scores = (rng.permutation(1000)[:200] + 0.5) / 1000
    labels = rng.randint(0, 2, 200)
    metric = Auc(num_thresholds=1000)
    for part in np.split(np.arange(200), 4):
        metric.update(np.stack([1 - scores[part], scores[part]], axis=1), labels[part, None])
    pairs = scores[labels == 1][:, None] > scores[labels == 0][None]
    assert metric.accumulate() == pytest.approx(pairs.mean(), abs=1e-12)


def test_auc_messages():
    with pytest.raises(NotSupported, match="curve='PR'"):
        Auc("PR")
    with pytest.raises(AssertionError, match=r"must lie in \[0, 1\], but found -1.0 to 0.5"):
        Auc().update(np.array([[0, -1.0], [0, 0.5]]), np.array([1, 0]))
    with pytest.raises(
        ValueError, match="'labels' must be a numpy ndarray or Tensor, but received list"
    ):
        Auc().update(np.zeros((1, 2)), [1])


def test_shapes_that_do_not_fit():
    with pytest.raises(AssertionError, match="one value per sample"):
        Precision().update(np.zeros(2), np.zeros(3))


def test_accuracy_counts_equal_scores_from_the_first():
    metric = Accuracy()
    hits = metric.compute(paddle.to_tensor(np.zeros((2, 3), "float32")), paddle.to_tensor([0, 1]))
    assert hits.tolist() == [[1.0], [0.0]]


def test_own_metric_passes_through():
    class Mean(Metric):
        def reset(self):
            self.values = []

        def update(self, x, y):
            self.values.append(float(x + y))

        def accumulate(self):
            return sum(self.values)

        def name(self):
            return "mean"

    metric = Mean()
    metric.reset()
    metric.update(*metric.compute(1, 2))
    assert metric.accumulate() == 3
