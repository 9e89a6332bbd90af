"""``fluid.metrics``: quantities over batches, counted on the host from what runs fetch; one counts
in the program.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from argosy.fluid.detection_map import DetectionMAP as DetectionMAP
from argosy.foundation.errors import DtypeError, UsageError


class MetricBase:
    """What metrics share: a name, and ``reset``, which sets every number that counts back to
    zero.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = str(name) if name is not None else type(self).__name__

    def __str__(self) -> str:
        return self._name

    def reset(self) -> None:
        for key, value in self.__dict__.items():
            if key.startswith("_"):
                continue
            if isinstance(value, (int, float)):
                setattr(self, key, type(value)(0))
            elif isinstance(value, np.ndarray):
                value[...] = 0

    def get_config(self) -> dict[str, Any]:
        """The name and the numbers that count."""
        states = {
            key: copy.deepcopy(value)
            for key, value in self.__dict__.items()
            if not key.startswith("_")
        }
        return {"name": self._name, "states": states}

    def update(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define update()")

    def eval(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define eval()")


def _one(value: Any) -> float:
    return float(np.asarray(value).reshape(-1)[0])


class Accuracy(MetricBase):
    """The mean of the accuracies of batches, weighted by their sizes.

    Example:
        >>> import paddle.fluid as fluid
        >>> metric = fluid.metrics.Accuracy()
        >>> metric.update(value=1.0, weight=3)
        >>> metric.update(value=0.5, weight=1)
        >>> metric.eval()
        0.875
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.value = self.weight = 0.0

    def update(self, value: Any, weight: Any) -> None:
        """Add a batch: its accuracy and its size, as numbers, arrays or Tensors of one element."""
        size = _one(weight)
        if size < 0:
            raise UsageError(f"Accuracy.update: weight can not be negative, but received {size:g}")
        self.value += _one(value) * size
        self.weight += size

    def eval(self) -> float:
        """The mean so far."""
        if self.weight == 0:
            raise UsageError(
                "Accuracy.eval: there is no data; call update() with the accuracy of a batch first"
            )
        return self.value / self.weight


class _Binary(MetricBase):
    """Counts predictions, rounded to 0 or 1, against labels."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.tp = 0

    def _count(self, preds: Any, labels: Any) -> tuple[int, int, int]:
        """How many are predicted and right, predicted, and to be predicted."""
        if not (isinstance(preds, np.ndarray) and isinstance(labels, np.ndarray)):
            raise UsageError(f"{self._name}.update: 'preds' and 'labels' must be numpy arrays")
        predicted = np.rint(preds).astype("int32").reshape(-1) == 1
        true = labels.reshape(-1)[: predicted.size] == 1
        return int((predicted & true).sum()), int(predicted.sum()), int(true.sum())


class Precision(_Binary):
    """The share of what is predicted as 1 that is 1."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.fp = 0

    def update(self, preds: Any, labels: Any) -> None:
        hits, predicted, _ = self._count(preds, labels)
        self.tp += hits
        self.fp += predicted - hits

    def eval(self) -> float:
        seen = self.tp + self.fp
        return self.tp / seen if seen else 0.0


class Recall(_Binary):
    """The share of what is 1 that is predicted as 1."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.fn = 0

    def update(self, preds: Any, labels: Any) -> None:
        hits, _, true = self._count(preds, labels)
        self.tp += hits
        self.fn += true - hits

    def eval(self) -> float:
        seen = self.tp + self.fn
        return self.tp / seen if seen else 0.0


class ChunkEvaluator(MetricBase):
    """Precision, recall and F1 of chunks from the counts that ``chunk_eval`` gives for each batch.

    Example:
        >>> import paddle.fluid as fluid
        >>> metric = fluid.metrics.ChunkEvaluator()
        >>> metric.update(10, 8, 6)
        >>> [round(v, 3) for v in metric.eval()]
        [0.6, 0.75, 0.667]
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.num_infer_chunks = self.num_label_chunks = self.num_correct_chunks = 0

    def update(self, num_infer_chunks: Any, num_label_chunks: Any, num_correct_chunks: Any) -> None:
        """Add the counts of a batch: chunks found, chunks there, chunks found rightly."""
        self.num_infer_chunks += int(_one(num_infer_chunks))
        self.num_label_chunks += int(_one(num_label_chunks))
        self.num_correct_chunks += int(_one(num_correct_chunks))

    def eval(self) -> tuple[float, float, float]:
        """Precision, recall and their harmonic mean."""
        hits = self.num_correct_chunks
        precision = hits / self.num_infer_chunks if self.num_infer_chunks else 0.0
        recall = hits / self.num_label_chunks if self.num_label_chunks else 0.0
        return precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0


class EditDistance(MetricBase):
    """The mean distance of sequences, and the share of sequences that are wrong."""

    def __init__(self, name: str | None) -> None:
        super().__init__(name)
        self.total_distance = 0.0
        self.seq_num = self.instance_error = 0

    def update(self, distances: Any, seq_num: Any) -> None:
        """Add a batch: the distance of each sequence, and how many there are."""
        given, count = np.asarray(distances), int(_one(seq_num))
        self.total_distance += float(given.sum())
        self.seq_num += count
        self.instance_error += count - int((given == 0).sum())

    def eval(self) -> tuple[float, float]:
        if self.seq_num == 0:
            raise UsageError(
                "EditDistance.eval: there is no data; call update() with the distances of a "
                "batch first"
            )
        return self.total_distance / self.seq_num, self.instance_error / self.seq_num


class Auc(MetricBase):
    """The area under the ROC curve, from counts of scores in ``num_thresholds`` steps.

    Example:
        >>> import numpy as np
        >>> import paddle.fluid as fluid
        >>> metric = fluid.metrics.Auc("auc")
        >>> metric.update(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([[0], [1], [0]]))
        >>> metric.eval()
        1.0
    """

    def __init__(self, name: str | None, curve: str = "ROC", num_thresholds: int = 4095) -> None:
        super().__init__(name)
        if curve != "ROC":
            raise UsageError(
                f"fluid.metrics.Auc: only the 'ROC' curve is computed, but received {curve!r}"
            )
        self._num_thresholds = num_thresholds
        self._stat_pos = np.zeros(num_thresholds + 1)
        self._stat_neg = np.zeros(num_thresholds + 1)

    def reset(self) -> None:
        self._stat_pos[:] = 0
        self._stat_neg[:] = 0

    def update(self, preds: Any, labels: Any) -> None:
        """Add a batch: [N, 2] probabilities, of which column 1 is that of label 1, and [N, 1]
        labels, both arrays.
        """
        if not (isinstance(preds, np.ndarray) and isinstance(labels, np.ndarray)):
            raise UsageError("Auc.update: 'preds' and 'labels' must be numpy arrays")
        steps = (preds[:, 1] * self._num_thresholds).astype("int64")
        is_positive = labels.reshape(-1) != 0
        for counts, chosen in ((self._stat_pos, is_positive), (self._stat_neg, ~is_positive)):
            counts += np.bincount(steps[chosen], minlength=counts.size)

    def eval(self) -> float:
        """The area so far; 0 while a class is missing."""
        true, false = self._stat_pos[::-1].cumsum(), self._stat_neg[::-1].cumsum()
        heights = true + np.concatenate([[0.0], true[:-1]])
        widths = np.diff(false, prepend=0.0)
        whole = true[-1] * false[-1]
        return float((heights * widths).sum() / 2.0 / whole) if whole > 0.0 else 0.0


class CompositeMetric(MetricBase):
    """Several metrics over the same predictions and labels."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self._metrics: list[MetricBase] = []

    def add_metric(self, metric: MetricBase) -> None:
        if not isinstance(metric, MetricBase):
            raise DtypeError(
                "CompositeMetric.add_metric: expected a metric, but received "
                f"{type(metric).__name__}"
            )
        self._metrics.append(metric)

    def reset(self) -> None:
        for metric in self._metrics:
            metric.reset()

    def update(self, preds: Any, labels: Any) -> None:
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self) -> list[Any]:
        return [metric.eval() for metric in self._metrics]
