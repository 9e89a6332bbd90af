"""Losses: regression, classification, pairs and triplets, alignments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy.foundation.errors import RankError, UsageError
from argosy.ops.losses import classification
from argosy.ops.losses import cross_entropy as entropies
from argosy.ops.losses import loss as ops
from argosy.ops.math.linalg import pairwise_distance
from argosy.tensor.engine import apply

__all__ = [
    "adaptive_log_softmax_with_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy", "ctc_loss", "dice_loss", "gaussian_nll_loss", "hinge_embedding_loss",
    "hsigmoid_loss", "kl_div", "l1_loss",
    "log_loss", "margin_ranking_loss", "mse_loss", "multi_label_margin_loss",
    "multi_label_soft_margin_loss",
    "multi_margin_loss", "nll_loss", "npair_loss", "poisson_nll_loss", "rnnt_loss",
    "sigmoid_focal_loss", "smooth_l1_loss",
    "soft_margin_loss", "softmax_with_cross_entropy", "square_error_cost", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def cross_entropy(
    input: Any,
    label: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> Any:
    """Cross entropy between logits (probabilities if not ``use_softmax``) and labels.

    Hard labels are class numbers, with or without an axis of 1 for the classes; soft labels are
    distributions of the shape of ``input``. ``weight`` scales classes. A mean divides by the
    weights of the positions that are not ``ignore_index``; with the default -100 and no weights it
    divides by the number of all positions. With soft labels or labels that have the class axis,
    ``reduction="none"`` keeps that axis with extent 1.

    Example:
        >>> import paddle
        >>> logits = paddle.to_tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> round(float(paddle.nn.functional.cross_entropy(logits, paddle.to_tensor([0, 1]))), 4)
        0.1269
    """
    if (
        weight is None
        and ignore_index == -100
        and reduction == "mean"
        and not soft_label
        and axis == -1
        and use_softmax
        and not label_smoothing
    ):
        return apply(entropies.mean_cross_entropy, input, label)
    return apply(
        entropies.cross_entropy,
        input,
        label,
        weight,
        ignore_index,
        reduction,
        soft_label,
        axis,
        use_softmax,
        label_smoothing,
    )


def softmax_with_cross_entropy(
    logits: Any,
    label: Any,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """The cross entropy of each position, keeping the class axis with extent 1; with
    ``return_softmax`` the softmax too.

    It is always computed in the numerically stable way.
    """
    loss, softmax = apply(
        entropies.softmax_with_cross_entropy, logits, label, soft_label, ignore_index, axis
    )
    return (loss, softmax) if return_softmax else loss


def nll_loss(
    input: Any,
    label: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Negative log-likelihood of class numbers under log-probabilities with the classes in axis
    1.
    """
    return apply(entropies.nll_loss, input, label, weight, ignore_index, reduction)


def mse_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """Squared differences, averaged, summed or as they are."""
    return apply(ops.mse_loss, input, label, reduction)


def l1_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """Absolute differences, averaged, summed or as they are."""
    return apply(ops.l1_loss, input, label, reduction)


def smooth_l1_loss(
    input: Any,
    label: Any,
    reduction: str = "mean",
    delta: float = 1.0,
    is_huber: bool = True,
    name: str | None = None,
) -> Any:
    """Huber's loss: quadratic up to a gap of ``delta``, linear beyond; if not ``is_huber`` divided
    by ``delta``.
    """
    return apply(ops.smooth_l1_loss, input, label, reduction, delta, is_huber)


def square_error_cost(input: Any, label: Any) -> Any:
    """Squared differences, not reduced."""
    return apply(ops.square_error_cost, input, label)


def binary_cross_entropy(
    input: Any, label: Any, weight: Any = None, reduction: str = "mean", name: str | None = None
) -> Any:
    """Cross entropy of probabilities in [0, 1] and labels; ``weight`` broadcasts to the loss."""
    return apply(ops.binary_cross_entropy, input, label, weight, reduction)


def binary_cross_entropy_with_logits(
    logit: Any,
    label: Any,
    weight: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
    name: str | None = None,
) -> Any:
    """Cross entropy of ``sigmoid(logit)`` and labels; ``pos_weight`` scales what positive labels
    cost.

    Differs from Paddle: at a logit of exactly 0 the gradient is ``sigmoid(0) - label``; Paddle's
    CPU kernel is 1 too low.
    """
    return apply(ops.binary_cross_entropy_with_logits, logit, label, weight, reduction, pos_weight)


def log_loss(input: Any, label: Any, epsilon: float = 0.0001, name: str | None = None) -> Any:
    """Cross entropy of each probability, with ``epsilon`` added inside the logarithms; not
    reduced.
    """
    return apply(ops.log_loss, input, label, epsilon)


def kl_div(
    input: Any,
    label: Any,
    reduction: str = "mean",
    log_target: bool = False,
    name: str | None = None,
) -> Any:
    """Kullback-Leibler divergence of ``label`` from the log-probabilities ``input``.

    ``reduction`` may also be "batchmean": the sum divided by the first extent. ``log_target`` says
    that ``label`` holds logarithms too.
    """
    return apply(ops.kl_div, input, label, reduction, log_target)


def margin_ranking_loss(
    input: Any,
    other: Any,
    label: Any,
    margin: float = 0.0,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """What keeps ``input`` from exceeding ``other`` by ``margin`` (label 1), or the reverse (label
    -1).
    """
    return apply(ops.margin_ranking_loss, input, other, label, margin, reduction)


def hinge_embedding_loss(
    input: Any, label: Any, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Any:
    """A distance itself for label 1, what it lacks to ``margin`` for label -1."""
    return apply(ops.hinge_embedding_loss, input, label, margin, reduction)


def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    label: Any,
    margin: float = 0,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """One minus the cosine for label 1, what the cosine exceeds ``margin`` by for label -1."""
    return apply(ops.cosine_embedding_loss, input1, input2, label, margin, reduction)


def triplet_margin_loss(
    input: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    epsilon: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """How much the p-distance to ``positive`` fails to stay ``margin`` below that to ``negative``.

    ``swap`` also considers the distance between ``positive`` and ``negative``.
    """
    return apply(
        ops.triplet_margin_loss, input, positive, negative, margin, p, epsilon, swap, reduction
    )


def triplet_margin_with_distance_loss(
    input: Any,
    positive: Any,
    negative: Any,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """``triplet_margin_loss`` with a distance of your own, Euclidean by default."""
    call = "triplet_margin_with_distance_loss"
    if margin < 0:
        raise UsageError(f"{call}: margin must not be negative, but received {margin}")
    if not input.shape == positive.shape == negative.shape:
        raise UsageError(
            f"{call}: shapes must be equal, but received {input.shape}, {positive.shape}, "
            f"{negative.shape}"
        )
    distance = distance_function or _euclidean
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = apply(ops.smaller_distance, far, distance(positive, negative))
    return apply(ops.triplet_loss_of_distances, near, far, margin, reduction)


def _euclidean(x: Any, y: Any) -> Any:
    return apply(pairwise_distance, x, y)


def soft_margin_loss(
    input: Any, label: Any, reduction: str = "mean", name: str | None = None
) -> Any:
    """``log(1 + exp(-label * input))`` for labels 1 and -1."""
    return apply(ops.soft_margin_loss, input, label, reduction)


def multi_label_soft_margin_loss(
    input: Any, label: Any, weight: Any = None, reduction: str = "mean", name: str | None = None
) -> Any:
    """Binary cross entropy of logits, weighted and averaged over the classes in the last axis."""
    return apply(classification.multi_label_soft_margin_loss, input, label, weight, reduction)


def multi_margin_loss(
    input: Any,
    label: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """How far wrong classes come within ``margin`` of the right one, to the power ``p``, averaged
    over classes.
    """
    return apply(classification.multi_margin_loss, input, label, weight, p, margin, reduction)


def multi_label_margin_loss(
    input: Any, label: Any, reduction: str = "mean", name: str | None = None
) -> Any:
    """``multi_margin_loss`` for several right classes, listed in each row of ``label`` up to the
    first -1.
    """
    return apply(classification.multi_label_margin_loss, input, label, reduction)


def poisson_nll_loss(
    input: Any,
    label: Any,
    log_input: bool = True,
    full: bool = False,
    epsilon: float = 1e-8,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Negative log-likelihood of counts under Poisson rates, given as logarithms unless
    ``log_input`` is False.

    ``full`` adds Stirling's approximation of the factorial where the count exceeds 1.
    """
    return apply(ops.poisson_nll_loss, input, label, log_input, full, epsilon, reduction)


def gaussian_nll_loss(
    input: Any,
    label: Any,
    variance: Any,
    full: bool = False,
    epsilon: float = 1e-6,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Negative log-likelihood under normal distributions; ``full`` adds the constant term.

    As in Paddle no gradient reaches ``variance``.
    """
    return apply(ops.gaussian_nll_loss, input, label, variance, full, epsilon, reduction)


def sigmoid_focal_loss(
    logit: Any,
    label: Any,
    normalizer: Any = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
    name: str | None = None,
) -> Any:
    """Binary cross entropy of logits that counts well-predicted elements less, by the power
    ``gamma``.
    """
    return apply(ops.sigmoid_focal_loss, logit, label, normalizer, alpha, gamma, reduction)


def dice_loss(input: Any, label: Any, epsilon: float = 1e-5, name: str | None = None) -> Any:
    """One minus the Dice coefficient of class probabilities and class numbers (with a last axis of
    1).
    """
    return apply(ops.dice_loss, input, label, epsilon)


def npair_loss(anchor: Any, positive: Any, labels: Any, l2_reg: float = 0.002) -> Any:
    """Softmax loss over the similarities of all anchor-positive pairs, plus an L2 penalty."""
    return apply(ops.npair_loss, anchor, positive, labels, l2_reg)


def ctc_loss(
    log_probs: Any,
    labels: Any,
    input_lengths: Any,
    label_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    norm_by_times: bool = False,
    zero_infinity: bool = False,
) -> Any:
    """Connectionist temporal classification of [time, batch, classes] logits; the softmax is
    inside.

    An impossible alignment costs 0, as in Paddle, so ``zero_infinity`` changes nothing.
    ``norm_by_times`` divides gradients by the time steps; a mean divides each loss by its label
    length first.
    """
    if reduction not in ("mean", "sum", "none"):
        raise RankError(
            f"ctc_loss: reduction must be 'mean', 'sum' or 'none', but received {reduction}"
        )
    return apply(
        classification.ctc_loss,
        log_probs,
        labels,
        input_lengths,
        label_lengths,
        blank,
        reduction,
        norm_by_times,
    )


def rnnt_loss(
    input: Any,
    label: Any,
    input_lengths: Any,
    label_lengths: Any,
    blank: int = 0,
    fastemit_lambda: float = 0.001,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Transducer loss of [batch, time, labels + 1, classes] log-probabilities.

    ``fastemit_lambda`` makes emitting labels count more in the gradient, by that fraction.
    """
    if reduction not in ("mean", "sum", "none"):
        raise RankError(
            f"rnnt_loss: reduction must be 'mean', 'sum' or 'none', but received {reduction}"
        )
    return apply(
        classification.rnnt_loss,
        input,
        label,
        input_lengths,
        label_lengths,
        blank,
        fastemit_lambda,
        reduction,
    )


def hsigmoid_loss(
    input: Any,
    label: Any,
    num_classes: int,
    weight: Any,
    bias: Any = None,
    path_table: Any = None,
    path_code: Any = None,
    is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Hierarchical sigmoid: binary decisions along the path to each label, in a complete or a given
    tree.

    ``path_table`` and ``path_code`` list nodes and turns of each sample's path, padded with
    negative numbers. ``is_sparse`` only concerns how gradients are stored; here they are dense.
    """
    return apply(
        classification.hsigmoid_loss, input, label, weight, bias, path_table, path_code, num_classes
    )


def adaptive_log_softmax_with_loss(
    input: Any,
    label: Any,
    head_weight: Any,
    tail_weights: Sequence[Sequence[Any]],
    cutoffs: Sequence[Any],
    head_bias: Any = None,
    name: str | None = None,
) -> Any:
    """Log-probabilities of the labels and their negative mean under a softmax with clusters for
    rare classes.
    """
    tails = [list(pair) for pair in tail_weights]
    return apply(
        classification.adaptive_log_softmax_with_loss,
        input,
        label,
        head_weight,
        head_bias,
        tails,
        [int(c) for c in cutoffs],
    )
