"""``paddle.incubate.hapi.loss``: losses of lists of outputs and labels."""

from __future__ import annotations

from typing import Any

from argosy import nn
from argosy.tensor import mean
from argosy.tensor import sum as total

__all__ = ["CrossEntropy", "Loss", "SoftmaxWithCrossEntropy"]


class Loss:
    """Base of losses: ``forward`` gives one per output, of which the mean, or without ``average``
    the sum, counts.
    """

    def __init__(self, average: bool = True) -> None:
        self.average = average

    def forward(self, outputs: list[Any], labels: list[Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.forward")

    def __call__(self, outputs: Any, labels: Any = None) -> list[Any]:
        losses = self.forward(as_list(outputs), as_list(labels))
        return [(mean if self.average else total)(loss) for loss in as_list(losses)]


class CrossEntropy(Loss):
    """Of probabilities."""

    def forward(self, outputs: list[Any], labels: list[Any]) -> list[Any]:
        return _cross_entropies(outputs, labels, takes_scores=False)


class SoftmaxWithCrossEntropy(Loss):
    """Of scores."""

    def forward(self, outputs: list[Any], labels: list[Any]) -> list[Any]:
        return _cross_entropies(outputs, labels, takes_scores=True)


def _cross_entropies(outputs: list[Any], labels: list[Any], takes_scores: bool) -> list[Any]:
    return [
        nn.functional.cross_entropy(output, label, reduction="none", use_softmax=takes_scores)
        for output, label in zip(outputs, labels, strict=False)
    ]


def as_list(value: Any) -> list[Any]:
    """A list or tuple as a list, None as an empty one, anything else as a list of one."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
