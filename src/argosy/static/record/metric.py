"""Metrics as operators of a program."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.errors import NotSupported, UsageError
from argosy.ops.losses import metric as ops
from argosy.static.ir.variable import Variable
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import apply, replace, unique_name


def accuracy(input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None) -> Any:
    """Share of rows of ``input`` whose label, of shape [N, 1], is among the ``k`` largest scores.

    ``correct`` and ``total``, where given, become the counts.
    """
    classes = input.shape[-1]
    if classes >= 0 and not 1 <= k <= classes:
        raise UsageError(
            f"static.accuracy: k={k} must lie between 1 and the number of classes, {classes}"
        )
    share, num_correct, num_total = apply(ops.accuracy, input, label, k)
    for given, computed in ((correct, num_correct), (total, num_total)):
        if given is not None:
            replace(given, computed, "static.accuracy")
    return share


def auc(
    input: Any,
    label: Any,
    curve: str = "ROC",
    num_thresholds: int = 4095,
    topk: int = 1,
    slide_steps: int = 1,
    ins_tag_weight: Any = None,
) -> tuple[Variable, Variable, list[Variable]]:
    """Area under the ROC curve of every run so far, of the last ``slide_steps`` runs (0: of all),
    and the counts behind both.

    ``input`` is [N, 2], of which column 1 is the probability of label 1, or [N, 1]. The counts
    persist in the scope; setting them to zero starts anew. ``topk`` changes nothing, as in Paddle.
    Differs from Paddle: the counts of the last runs are laid out [slide_steps, num_thresholds + 1].
    """
    if curve != "ROC":
        raise NotSupported(
            f"static.auc: only the 'ROC' curve is computed, but received curve={curve!r}"
        )
    if ins_tag_weight is not None:
        raise NotSupported("static.auc: ins_tag_weight is not supported")

    def counts(rows: int) -> Variable:
        name = unique_name.generate("_generated_var")
        return recorder.new_state(name, [rows, num_thresholds + 1], torch.int64, 0)

    last = [counts(max(slide_steps, 1)), counts(max(slide_steps, 1))]
    every = [counts(1), counts(1)]
    with torch.no_grad():
        recent = apply(ops.auc_, input, label, *last, slide_steps > 0)
        total = apply(ops.auc_, input, label, *every, False)
    return total, recent, [*last, *every]
