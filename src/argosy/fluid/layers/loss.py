"""Losses: one value per sample, which the script averages with ``fluid.layers.mean``."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.fluid.layers._shape import at_least_1d
from argosy.fluid.layers.layer_call import layer_call
from argosy.fluid.missing import missing_names
from argosy.foundation.errors import UsageError
from argosy.nn import functional as F

__all__ = [
    "bpr_loss",
    "cross_entropy",
    "hsigmoid",
    "huber_loss",
    "kldiv_loss",
    "label_smooth",
    "log_loss",
    "margin_rank_loss",
    "mse_loss",
    "npair_loss",
    "rank_loss",
    "sigmoid_cross_entropy_with_logits",
    "smooth_l1",
    "softmax_with_cross_entropy",
    "square_error_cost",
]

kIgnoreIndex = -100


def cross_entropy(
    input: Any, label: Any, soft_label: bool = False, ignore_index: int = kIgnoreIndex
) -> Any:
    """Minus the logarithm of the probability that ``input`` gives to the label: [N, 1] for
    probabilities [N, D].

    ``label`` has shape [N, 1], or that of ``input`` with ``soft_label``.
    """
    out = F.cross_entropy(
        input,
        label,
        ignore_index=ignore_index,
        reduction="none",
        soft_label=soft_label,
        use_softmax=False,
    )
    return out if out.ndim == input.ndim else T.unsqueeze(out, [-1])


def softmax_with_cross_entropy(
    logits: Any,
    label: Any,
    soft_label: bool = False,
    ignore_index: int = kIgnoreIndex,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """The cross entropy of the softmax of ``logits`` along ``axis``, which stays with length 1."""
    return F.softmax_with_cross_entropy(
        logits, label, soft_label, ignore_index, numeric_stable_mode, return_softmax, axis
    )


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
    is_counted = T.cast(T.not_equal(label, float(ignore_index)), x.dtype)
    out = F.binary_cross_entropy_with_logits(x, label, reduction="none") * is_counted
    return out / T.clip(T.sum(is_counted), 1e-5) if normalize else out


def square_error_cost(input: Any, label: Any) -> Any:
    """The squared difference, element by element."""
    return F.square_error_cost(input, label)


def mse_loss(input: Any, label: Any) -> Any:
    """The mean squared difference, of shape [1]."""
    return at_least_1d(F.mse_loss(input, label))


def log_loss(input: Any, label: Any, epsilon: float = 1e-4, name: str | None = None) -> Any:
    """The binary cross entropy of probabilities, element by element."""
    return F.log_loss(input, label, epsilon)


def kldiv_loss(x: Any, target: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """The Kullback-Leibler divergence of ``target`` from the distribution whose logarithms ``x``
    holds.
    """
    return at_least_1d(F.kl_div(x, target, reduction))


def label_smooth(
    label: Any,
    prior_dist: Any = None,
    epsilon: float = 0.1,
    dtype: Any = "float32",
    name: str | None = None,
) -> Any:
    """``(1 - epsilon) * label + epsilon * prior``; without a prior every class is as likely."""
    return F.label_smooth(T.cast(label, dtype), prior_dist, epsilon)


def huber_loss(input: Any, label: Any, delta: float) -> Any:
    """Half the squared difference up to ``delta``, then as steep as there, element by element."""
    gap = T.abs(label - input)
    return T.where(gap <= delta, 0.5 * gap * gap, delta * (gap - 0.5 * delta))


def smooth_l1(
    x: Any,
    y: Any,
    inside_weight: Any = None,
    outside_weight: Any = None,
    sigma: float | None = None,
) -> Any:
    """The sum over each row of squared differences below ``1 / sigma ** 2`` and absolute ones
    above, of shape [N, 1].
    """
    limit = 1.0 / (1.0 if sigma is None else sigma) ** 2
    gap = T.abs((x - y) if inside_weight is None else (x - y) * inside_weight)
    out = T.where(gap < limit, gap * gap * (0.5 / limit), gap - 0.5 * limit)
    out = out if outside_weight is None else out * outside_weight
    return T.sum(T.flatten(out, 1), 1, keepdim=True)


def rank_loss(label: Any, left: Any, right: Any, name: str | None = None) -> Any:
    """The cross entropy of the probability, ``sigmoid(left - right)``, that left ranks above
    right.
    """
    return F.softplus(left - right) - label * (left - right)


def margin_rank_loss(
    label: Any, left: Any, right: Any, margin: float = 0.1, name: str | None = None
) -> Any:
    """``max(0, margin - label * (left - right))``."""
    return F.relu(-label * (left - right) + margin)


def bpr_loss(input: Any, label: Any, name: str | None = None) -> Any:
    """Minus the mean of ``log(sigmoid(score of the label - other score))`` over the other classes,
    of shape [N, 1].
    """
    right = T.take_along_axis(input, label, 1)
    each = F.softplus(input - right) * (1.0 - F.one_hot(T.squeeze(label, [-1]), input.shape[-1]))
    return T.sum(each, 1, keepdim=True) / (input.shape[-1] - 1.0)


def npair_loss(anchor: Any, positive: Any, labels: Any, l2_reg: float = 0.002) -> Any:
    """How far anchors are from positives with the same label and from the others, plus ``l2_reg``
    on both, of shape [1].
    """
    return at_least_1d(F.npair_loss(anchor, positive, labels, l2_reg))


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


__getattr__ = missing_names(__name__, globals())
