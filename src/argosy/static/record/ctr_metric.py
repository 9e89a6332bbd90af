"""Metrics of click prediction, summed over all runs."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.errors import BadArgument
from argosy.static.ir.variable import Variable
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import unique_name


def ctr_metric_bundle(input: Any, label: Any, ins_tag_weight: Any = None) -> tuple[Variable, ...]:
    """Sums over all runs so far: squared error, absolute error, predictions, their sigmoids,
    positive labels, samples.

    ``input`` are probabilities and ``label`` zeros and ones, both [N, 1]. ``ins_tag_weight``, whose
    first element is 0 for a batch of fake samples, leaves such a batch out of the sums of sigmoids
    and samples. The sums persist in the scope; dividing them by the number of samples gives MAE and
    so on.
    """
    if list(input.shape) != list(label.shape):
        raise BadArgument(
            f"ctr_metric_bundle: input has shape {list(input.shape)}, label {list(label.shape)}; "
            "they must be equal"
        )
    with torch.no_grad():
        label = label.astype("float32")
        error = input - label
        weight = 1.0 if ins_tag_weight is None else ins_tag_weight.flatten()[0]
        batch = [
            (error * error).sum(),
            error.abs().sum(),
            input.sum(),
            input.sigmoid().sum() * weight,
            label.sum(),
            (label * 0.0 + 1.0)[:, 0].sum() * weight,
        ]
        return tuple(_accumulated(value) for value in batch)


def _accumulated(value: Variable) -> Variable:
    total = recorder.new_state(unique_name.generate("ctr_metric_bundle"), [1], torch.float32, 0.0)
    recorder.write(total, total + value.reshape([1]))
    return total
