"""Metrics: quantities that accumulate over batches."""

from argosy.metric._accuracy import Accuracy, accuracy
from argosy.metric._base import Metric
from argosy.metric._binary import Auc, Precision, Recall

__all__ = ["Metric", "Accuracy", "Precision", "Recall", "Auc", "accuracy"]
