"""Accuracy, as a function of one batch and as a metric over many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argosy.foundation.errors import UsageError
from argosy.metric._base import Metric, as_array
from argosy.ops.losses import metric as ops
from argosy.tensor.engine import Tensor, apply


def accuracy(
    input: Tensor,
    label: Tensor,
    k: int = 1,
    correct: Tensor | None = None,
    total: Tensor | None = None,
    name: str | None = None,
) -> Any:
    """Share of rows of ``input`` whose label, of shape [N, 1], is among the ``k`` largest scores.

    ``correct`` and ``total``, where given, become the counts.

    Example:
        >>> scores = paddle.to_tensor([[0.1, 0.9], [0.8, 0.2]])
        >>> float(paddle.metric.accuracy(scores, paddle.to_tensor([[1], [1]])))
        0.5
    """
    if len(label.shape) != 2:
        raise UsageError(
            f"accuracy: label's dimensions must be 2, [N, 1], but it has shape {list(label.shape)}"
        )
    if len(input.shape) != 2 or input.shape[0] != label.shape[0]:
        raise UsageError(
            "accuracy: input and label must have as many rows, but have shapes "
            f"{list(input.shape)} and {list(label.shape)}"
        )
    if not label.dtype.is_integer:
        raise UsageError(f"accuracy: label must be int64 or int32, but is {label.dtype.name}")
    if not 1 <= k <= input.shape[1]:
        raise UsageError(
            f"accuracy: k={k} must lie between 1 and the number of classes, {input.shape[1]}"
        )
    share, num_correct, num_total = apply(ops.accuracy, input, label, k)
    for given, computed in ((correct, num_correct), (total, num_total)):
        if given is not None:
            given.raw = computed.raw
    return share


class Accuracy(Metric):
    """Top-k accuracy over batches; ``topk`` may name several k.

    Example:
        >>> metric = paddle.metric.Accuracy()
        >>> scores = paddle.to_tensor([[0.1, 0.9], [0.8, 0.2]])
        >>> float(metric.update(metric.compute(scores, paddle.to_tensor([[1], [1]]))))
        0.5
        >>> float(metric.accumulate())
        0.5
    """

    def __init__(
        self, topk: Sequence[int] = (1,), name: str | None = None, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.topk = topk
        self.maxk = max(topk)
        base = name or "acc"
        self._name = [f"{base}_top{k}" for k in topk] if self.maxk != 1 else [base]
        self.reset()

    def compute(self, pred: Tensor, label: Tensor, *args: Any) -> Any:
        """1.0 where one of the ``max(topk)`` largest classes of a row is its label; labels are [N],
        [N, 1] or one-hot.
        """
        return apply(ops.topk_hits, pred, label, self.maxk)

    def update(self, correct: Any, *args: Any) -> Any:
        """Count a batch of ``compute``'s results; returns the accuracy of the batch, a list for
        several k.
        """
        hits = as_array(self, "correct", correct)
        num_samples = np.prod(np.array(hits.shape[:-1]))
        shares = []
        for i, k in enumerate(self.topk):
            num_correct = hits[..., :k].sum()
            shares.append(float(num_correct) / num_samples)
            self.total[i] += num_correct
            self.count[i] += num_samples
        return shares[0] if len(self.topk) == 1 else shares

    def reset(self) -> None:
        self.total: list[Any] = [0.0] * len(self.topk)
        self.count: list[Any] = [0] * len(self.topk)

    def accumulate(self) -> Any:
        shares = [
            float(t) / c if c > 0 else 0.0 for t, c in zip(self.total, self.count, strict=True)
        ]
        return shares[0] if len(self.topk) == 1 else shares

    def name(self) -> list[str]:
        return self._name
