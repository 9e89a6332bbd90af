"""Losses: one value per sample, which the script averages with ``fluid.layers.mean``."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.fluid.layers._shape import at_least_1d
from argosy.nn import functional as F

__all__ = [
    "cross_entropy",
    "kldiv_loss",
    "label_smooth",
    "log_loss",
    "mse_loss",
    "sigmoid_cross_entropy_with_logits",
    "softmax_with_cross_entropy",
    "square_error_cost",
]

kIgnoreIndex = -100


def cross_entropy(input: Any, label: Any, soft_label: bool = False, ignore_index: int = kIgnoreIndex) -> Any:
    """Minus the logarithm of the probability that ``input`` gives to the label: [N, 1] for probabilities [N, D].

    ``label`` has shape [N, 1], or that of ``input`` with ``soft_label``.
    """
    out = F.cross_entropy(
        input, label, ignore_index=ignore_index, reduction="none", soft_label=soft_label, use_softmax=False
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
    x: Any, label: Any, ignore_index: int = kIgnoreIndex, name: str | None = None, normalize: bool = False
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
    """The Kullback-Leibler divergence of ``target`` from the distribution whose logarithms ``x`` holds."""
    return at_least_1d(F.kl_div(x, target, reduction))


def label_smooth(
    label: Any, prior_dist: Any = None, epsilon: float = 0.1, dtype: Any = "float32", name: str | None = None
) -> Any:
    """``(1 - epsilon) * label + epsilon * prior``; without a prior every class is as likely."""
    return F.label_smooth(T.cast(label, dtype), prior_dist, epsilon)
