"""Metrics of two classes: precision, recall, area under the ROC curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument, NotSupported
from argosy.metric._base import Metric, as_array


def _pairs(metric: Metric, preds: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and labels, one of each per sample."""
    scores, truth = as_array(metric, "preds", preds), as_array(metric, "labels", labels)
    if scores.size < truth.shape[0] or truth.size != truth.shape[0]:
        raise BadArgument(
            f"{type(metric).__name__}.update: preds of shape {list(scores.shape)} and labels of "
            f"shape {list(truth.shape)} "
            "should have one value per sample"
        )
    return scores.reshape(-1)[: truth.size], truth.reshape(-1)


class Precision(Metric):
    """Share of true ones among the samples predicted as 1, where a prediction counts as 1 from 0.5
    on.

    Example:
        >>> import numpy as np
        >>> metric = paddle.metric.Precision()
        >>> metric.update(np.array([0.1, 0.5, 0.6, 0.7]), np.array([0, 1, 1, 0]))
        >>> round(metric.accumulate(), 4)
        0.6667
    """

    def __init__(self, name: str = "precision", *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._name = name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        scores, truth = _pairs(self, preds, labels)
        is_positive = np.floor(scores + 0.5).astype("int32") == 1
        num_true = int((is_positive & (truth == 1)).sum())
        self.tp += num_true
        self.fp += int(is_positive.sum()) - num_true

    def reset(self) -> None:
        self.tp = 0
        self.fp = 0

    def accumulate(self) -> float:
        found = self.tp + self.fp
        return self.tp / found if found else 0.0

    def name(self) -> str:
        return self._name


class Recall(Metric):
    """Share of the samples of label 1 that are predicted as 1; a prediction of exactly 0.5 rounds
    to 0, as in Paddle.
    """

    def __init__(self, name: str = "recall", *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._name = name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        scores, truth = _pairs(self, preds, labels)
        is_true = truth == 1
        num_found = int((is_true & (np.rint(scores).astype("int32") == 1)).sum())
        self.tp += num_found
        self.fn += int(is_true.sum()) - num_found

    def reset(self) -> None:
        self.tp = 0
        self.fn = 0

    def accumulate(self) -> float:
        wanted = self.tp + self.fn
        return self.tp / wanted if wanted else 0.0

    def name(self) -> str:
        return self._name


class Auc(Metric):
    """Area under the ROC curve, from counts of predictions in ``num_thresholds + 1`` equal buckets
    of [0, 1].

    ``update(preds, labels)`` takes preds of shape [N, 2], of which column 1 is the probability of
    label 1.
    """

    def __init__(
        self,
        curve: str = "ROC",
        num_thresholds: int = 4095,
        name: str = "auc",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if curve != "ROC":
            raise NotSupported(
                f"Auc: only the 'ROC' curve is computed, but received curve={curve!r}"
            )
        self._curve = curve
        self._num_thresholds = num_thresholds
        self._name = name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        truth = as_array(self, "labels", labels).reshape(-1).astype(bool)
        scores = as_array(self, "preds", preds)[: truth.size, 1]
        buckets = (scores * self._num_thresholds).astype("int64")
        if buckets.size and not 0 <= buckets.min() <= buckets.max() <= self._num_thresholds:
            raise BadArgument(
                f"Auc.update: preds must lie in [0, 1], but found {scores.min()} to {scores.max()}"
            )
        self._stat_pos += np.bincount(buckets[truth], minlength=self._num_thresholds + 1)
        self._stat_neg += np.bincount(buckets[~truth], minlength=self._num_thresholds + 1)

    def reset(self) -> None:
        self._stat_pos = np.zeros(self._num_thresholds + 1)
        self._stat_neg = np.zeros(self._num_thresholds + 1)

    @staticmethod
    def trapezoid_area(x1: float, x2: float, y1: float, y2: float) -> float:
        return abs(x1 - x2) * (y1 + y2) / 2.0

    def accumulate(self) -> float:
        """The area; 0.0 while one of the classes has not been seen."""
        true_positives = np.concatenate([[0.0], np.cumsum(self._stat_pos[::-1])])
        false_positives = np.concatenate([[0.0], np.cumsum(self._stat_neg[::-1])])
        num_pos, num_neg = true_positives[-1], false_positives[-1]
        if num_pos == 0 or num_neg == 0:
            return 0.0
        area = np.sum(np.diff(false_positives) * (true_positives[1:] + true_positives[:-1]) / 2.0)
        return float(area / num_pos / num_neg)

    def name(self) -> str:
        return self._name
