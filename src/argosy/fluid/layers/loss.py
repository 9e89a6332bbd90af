"""Losses: one value per sample, which the script averages with ``fluid.layers.mean``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from argosy import tensor as T
from argosy.fluid.layers import nn
from argosy.fluid.table import define, name_results
from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.nn import functional as F
from argosy.ops.fluid import loss as ops
from argosy.ops.losses.nce import SAMPLERS
from argosy.ops.losses.nce import nce as nce_op
from argosy.static.nn.layer import layer_call
from argosy.tensor.engine import Tensor, apply

kIgnoreIndex = -100

if TYPE_CHECKING:  # the names of the table

    def __getattr__(name: str) -> Any: ...


define(
    globals(),
    """
kldiv_loss(x, target, reduction='mean', name=None)
  -> nn.functional.kl_div(x, target, reduction), as [1]
npair_loss(anchor, positive, labels, l2_reg=0.002)
  -> nn.functional.npair_loss(anchor, positive, labels, l2_reg), as [1]
softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100,
  numeric_stable_mode=True, return_softmax=False, axis=-1)
  -> nn.functional.softmax_with_cross_entropy(logits, label, soft_label, ignore_index,
  numeric_stable_mode, return_softmax, axis)
""",
)


def square_error_cost(input: Any, label: Any) -> Any:
    """The squared differences, element by element."""
    return F.square_error_cost(input, label)


def mse_loss(input: Any, label: Any) -> Any:
    """The mean of the squared differences, of shape [1]."""
    return nn.reduce_mean(square_error_cost(input, label))


def cross_entropy(
    input: Any, label: Any, soft_label: bool = False, ignore_index: int = kIgnoreIndex
) -> Any:
    """Minus the logarithm of the probability that ``input``, [N, D], gives to the label, in the
    shape of ``label``: [N, 1] or [N]. With ``soft_label`` it has that of ``input``, the result
    [N, 1].
    """
    op = ops.soft_cross_entropy if soft_label else ops.cross_entropy2
    with layer_call("cross_entropy" if soft_label else "cross_entropy2"):
        return apply(op, input, label, ignore_index)


def sigmoid_cross_entropy_with_logits(
    x: Any,
    label: Any,
    ignore_index: int = kIgnoreIndex,
    name: str | None = None,
    normalize: bool = False,
) -> Any:
    """The binary cross entropy of ``sigmoid(x)``, element by element.

    Elements labelled ``ignore_index`` give 0; ``normalize`` divides by the number of the others.
    """
    return apply(ops.sigmoid_cross_entropy, x, label, ignore_index, normalize)


def huber_loss(input: Any, label: Any, delta: float) -> Any:
    """Half the squared difference up to ``delta``, then as steep as there, element by element."""
    return apply(ops.huber_loss, input, label, float(delta))


def rank_loss(label: Any, left: Any, right: Any, name: str | None = None) -> Any:
    """The cross entropy of the probability, ``sigmoid(left - right)``, that left ranks above
    right.
    """
    return apply(ops.rank_loss, label, left, right)


def margin_rank_loss(
    label: Any, left: Any, right: Any, margin: float = 0.1, name: str | None = None
) -> Any:
    """``max(0, margin - label * (left - right))``."""
    return apply(ops.margin_rank_loss, label, left, right, float(margin))


def bpr_loss(input: Any, label: Any, name: str | None = None) -> Any:
    """Minus the mean of ``log(sigmoid(score of the label - other score))`` over the other classes,
    of shape [N, 1].
    """
    return apply(ops.bpr_loss, input, label)


def hsigmoid(
    input: Any,
    label: Any,
    num_classes: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
    path_table: Any = None,
    path_code: Any = None,
    is_custom: bool = False,
    is_sparse: bool = False,
) -> Any:
    """The cross entropy of the decisions on the way to the label in a tree of classes, of shape [N,
    1].

    The tree is complete and binary unless ``is_custom``, where ``path_table`` and ``path_code``
    give the ways.
    """
    if is_custom != (path_table is not None) or is_custom != (path_code is not None):
        raise UsageError(
            "fluid.layers.hsigmoid: path_table and path_code belong to is_custom=True, and both "
            "are needed there"
        )
    if not is_custom and num_classes < 2:
        raise UsageError(
            f"fluid.layers.hsigmoid: num_classes must be at least 2, but received {num_classes}"
        )
    rows = num_classes if is_custom else num_classes - 1
    with layer_call("hierarchical_sigmoid", name) as helper:
        weight = helper.create_parameter(param_attr, [rows, input.shape[1]], input.dtype)
        bias = helper.create_parameter(bias_attr, [rows, 1], input.dtype, is_bias=True)
        return F.hsigmoid_loss(
            input, label, num_classes, weight, bias, path_table, path_code, is_sparse
        )


def nce(
    input: Any,
    label: Any,
    num_total_classes: int,
    sample_weight: Any = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    num_neg_samples: int | None = None,
    name: str | None = None,
    sampler: str = "uniform",
    custom_dist: Any = None,
    seed: int = 0,
    is_sparse: bool = False,
) -> Any:
    """The noise-contrastive loss of each row, [N, 1]: true classes ``label`` [N, true classes]
    against ``num_neg_samples`` (10 if not given) that ``sampler`` draws.

    ``sampler`` is "uniform", "log_uniform", or "custom_dist", which draws by the probabilities
    ``custom_dist``. A ``seed`` other than 0 draws the same each time. ``is_sparse`` only says how
    Paddle keeps the gradient of the weight.
    """
    if not isinstance(input, Tensor) or not input.is_floating_point():
        raise DtypeError(f"nce: input must be a Variable of float32 or float64, not {input!r:.80}")
    if not isinstance(label, Tensor) or label.raw.dtype is not torch.int64:
        raise DtypeError(f"nce: label must be a Variable of int64, not {label!r:.80}")
    if sampler not in SAMPLERS:
        raise UsageError(f"nce: Unsupported sampler type {sampler!r}; there are {SAMPLERS}")
    if sampler == "custom_dist" and custom_dist is None:
        raise BadArgument("nce: sampler='custom_dist' needs custom_dist")
    count = 10 if num_neg_samples is None else int(num_neg_samples)
    with layer_call("nce", name) as helper:
        weight = helper.create_parameter(
            param_attr, [num_total_classes, input.shape[1]], input.dtype
        )
        bias = helper.create_parameter(bias_attr, [num_total_classes, 1], input.dtype, is_bias=True)
        chances = None
        if sampler == "custom_dist":
            chances = T.assign(np.asarray(custom_dist, "float32"))
        cost = apply(
            nce_op, input, label, weight, bias, sample_weight, chances, sampler, count, int(seed)
        )
        return cost / float(count + 1)


name_results(
    globals(),
    """
""",
    but="cross_entropy hsigmoid nce npair_loss mse_loss",
)
