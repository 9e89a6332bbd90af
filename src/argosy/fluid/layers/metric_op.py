"""Accuracy of a batch, and the area under the ROC curve of all batches."""

from __future__ import annotations

from typing import Any

from argosy import static
from argosy import tensor as T
from argosy.fluid.dygraph.tracer import is_static
from argosy.fluid.layers import nn
from argosy.fluid.layers.tensor import assign
from argosy.fluid.table import at_least_1d, name_results
from argosy.foundation.errors import UsageError
from argosy.ops.losses import metric as ops
from argosy.static.nn.layer import layer_call
from argosy.tensor.engine import apply


def accuracy(input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None) -> Any:
    """The share of samples whose label is among the ``k`` largest of ``input``, of shape [1].

    ``correct`` and ``total`` are filled with the two counts if given.
    """
    values, indices = nn.topk(input, k)
    with layer_call("accuracy"):
        share, *counts = apply(ops.fluid_accuracy, values, indices, label)
        for given, count in zip((correct, total), counts, strict=True):
            if given is not None:
                assign(T.cast(count, given.dtype), given)
    return share


def auc(
    input: Any,
    label: Any,
    curve: str = "ROC",
    num_thresholds: int = 2**12 - 1,
    topk: int = 1,
    slide_steps: int = 1,
) -> tuple[Any, Any, list[Any]]:
    """Area under the ROC curve of every run so far, of the last ``slide_steps`` runs, both of shape
    [1], and the counts behind them.

    ``input`` is [N, 2], of which column 1 is the probability of label 1. The counts persist in the
    scope; setting them to zero starts anew. Differs from Paddle: the counts of the last runs are
    laid out [slide_steps, num_thresholds + 1].
    """
    if not is_static():
        raise UsageError(
            "fluid.layers.auc: counts over the runs of a static program; in dygraph use "
            "fluid.metrics.Auc"
        )
    total, recent, counts = static.auc(input, label, curve, num_thresholds, topk, slide_steps)
    return at_least_1d(total), at_least_1d(recent), counts


name_results(globals(), "auc auc:0,1", but="accuracy")
