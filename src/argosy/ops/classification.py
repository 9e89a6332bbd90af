"""Losses over classes: cross entropies, likelihoods, margins, hierarchical softmaxes and alignments (CTC)."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from argosy.foundation.errors import UsageError
from argosy.ops.loss import reduce
from argosy.ops.table import op

IGNORED = -100  # Paddle's default ignore_index

# torch.nn.functional.cross_entropy without its Python checks; the code 1 is "mean", 2 is "sum".
_fused_cross_entropy = torch._C._nn.cross_entropy_loss

_SMALLEST_LOG = -1e20  # a probability of 0 costs this much rather than infinity, so that 0 * log(0) is 0


@op("mean_cross_entropy")
def mean_cross_entropy(input: Tensor, label: Tensor) -> Tensor:
    """Cross entropy of logits and hard labels, classes in the last axis, averaged over all positions.

    Positions labelled -100 cost nothing but count in the average.
    """
    shape = input.shape
    if label.shape != shape[:-1] and label.shape != (*shape[:-1], 1) or not shape:
        raise UsageError(
            "cross_entropy: label must have the shape of input without its class axis, or with extent 1 there, "
            f"but received input {list(shape)}, label {list(label.shape)}"
        )
    if input.ndim != 2:
        input = input.reshape(-1, shape[-1])
    if label.ndim != 1:
        label = label.reshape(-1)
    if label.dtype is not torch.int64:
        label = label.to(torch.int64)
    loss: Tensor
    size = label.numel()
    if size and label.device.type == "cpu" and label.min().item() >= 0:
        # Nothing is ignored, so torch's average is Paddle's; asking costs less than dividing forwards and backwards.
        loss = _fused_cross_entropy(input, label, None, 1)
        return loss
    loss = _fused_cross_entropy(input, label, None, 2, IGNORED)
    return loss / size if size else loss + math.nan


@op("cross_entropy")
def cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = IGNORED,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy in all its forms; labels get no gradient.

    A mean divides by the weights (or number) of the positions that are not ignored, but counts ignored ones too where
    ``ignore_index`` is negative and there are no weights.
    """
    if ignore_index > 0 and soft_label:
        raise UsageError(f"cross_entropy: with soft_label, ignore_index must be {IGNORED}, but received {ignore_index}")
    is_column = label.ndim == input.ndim
    if not input.ndim or not (is_column or label.ndim == input.ndim - 1):
        raise UsageError(
            "cross_entropy: expected input_dims - 1 == label_dims or input_dims == label_dims, "
            f"but received input {list(input.shape)}, label {list(label.shape)}"
        )
    scores = input.movedim(axis, -1)
    label = label.movedim(axis, -1) if is_column else label.unsqueeze(-1)
    if label_smoothing > 0:
        label = _smooth(label if is_column else _one_hot(label, scores), label_smoothing).to(input.dtype)
        soft_label = is_column = True
    if soft_label:
        loss = _soft_cross_entropy(scores, label, use_softmax)
        sample_weight = None if weight is None else (label.to(weight.dtype) @ weight).unsqueeze(-1)
        counts = label != ignore_index
    else:
        loss = _hard_cross_entropy(scores, label, ignore_index, use_softmax)
        counts = label != ignore_index
        sample_weight = None if weight is None else _gather_weight(weight, scores, label, counts)
    if sample_weight is not None:
        loss = loss * sample_weight
    if reduction == "none":
        loss = loss.movedim(-1, axis)
        return loss if is_column else loss.squeeze(axis)
    if reduction != "mean" or not input.numel() or (sample_weight is None and ignore_index < 0):
        return reduce(loss, reduction, "cross_entropy")
    if sample_weight is None:
        total = torch.sum(counts, dtype=loss.dtype)
    else:
        total = torch.sum(sample_weight * counts if ignore_index >= 0 else sample_weight)
    return torch.sum(loss) / (total + (total == 0))


def _one_hot(label: Tensor, scores: Tensor) -> Tensor:
    return F.one_hot(label.squeeze(-1).long(), scores.shape[-1]).to(scores.dtype)


def _smooth(label: Tensor, epsilon: float) -> Tensor:
    return (1 - epsilon) * label + epsilon / label.shape[-1]


def _soft_cross_entropy(scores: Tensor, label: Tensor, use_softmax: bool) -> Tensor:
    """Cross entropy with distributions as labels, keeping a last axis of 1."""
    if label.shape != scores.shape:
        raise UsageError(
            f"cross_entropy: soft labels must have the shape of input, {list(scores.shape)}, but received {list(label.shape)}"
        )
    label = label.detach().to(scores.dtype)
    if not use_softmax:
        return -torch.sum(label * torch.clamp(torch.log(scores), min=_SMALLEST_LOG), -1, keepdim=True)
    # As in Paddle the gradient is softmax - label, also where a label does not sum to 1: of the log-normaliser's factor
    # sum(label) only 1 takes part in backward.
    scores = scores - scores.detach().amax(-1, keepdim=True)
    log_normalizer = torch.logsumexp(scores, -1, keepdim=True)
    surplus = (torch.sum(label, -1, keepdim=True) - 1) * log_normalizer.detach()
    return log_normalizer - torch.sum(label * scores, -1, keepdim=True) + surplus


def _hard_cross_entropy(scores: Tensor, label: Tensor, ignore_index: int, use_softmax: bool) -> Tensor:
    """Cross entropy with class numbers as labels, keeping a last axis of 1."""
    if label.shape != (*scores.shape[:-1], 1):
        raise UsageError(
            f"cross_entropy: for input with {list(scores.shape[:-1])} positions of {scores.shape[-1]} classes "
            f"label must hold one class each, but its shape is {list(label.shape)}"
        )
    logs = torch.log_softmax(scores, -1) if use_softmax else torch.clamp(torch.log(scores), min=_SMALLEST_LOG)
    flat = F.nll_loss(
        logs.reshape(-1, scores.shape[-1]), label.reshape(-1).long(), ignore_index=ignore_index, reduction="none"
    )
    return flat.reshape(label.shape)


def _gather_weight(weight: Tensor, scores: Tensor, label: Tensor, counts: Tensor) -> Tensor:
    if weight.shape[-1] != scores.shape[-1]:
        raise UsageError(
            f"cross_entropy: input has {scores.shape[-1]} classes, but weight is for {weight.shape[-1]}: they must be equal"
        )
    return weight[torch.where(counts, label, 0).long()] * counts


@op("softmax_with_cross_entropy", aliases=("cross_entropy_with_softmax",))
def softmax_with_cross_entropy(
    logits: Tensor, label: Tensor, soft_label: bool = False, ignore_index: int = IGNORED, axis: int = -1
) -> tuple[Tensor, Tensor]:
    """The cross entropy of each position, with an axis of 1 for the classes, and the softmax (without gradient)."""
    if not logits.ndim or label.ndim != logits.ndim:
        raise UsageError(
            "softmax_with_cross_entropy: label needs as many dimensions as logits, hard labels with extent 1 in the class "
            f"axis, but received logits {list(logits.shape)}, label {list(label.shape)}"
        )
    scores, label = logits.movedim(axis, -1), label.movedim(axis, -1)
    if soft_label:
        loss = _soft_cross_entropy(scores, label, True)
    else:
        loss = _hard_cross_entropy(scores, label, ignore_index, True)
    return loss.movedim(-1, axis), torch.softmax(logits.detach(), axis)


@op("nll_loss")
def nll_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, ignore_index: int = IGNORED, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood from log-probabilities with classes in axis 1; a mean over nothing is 0."""
    if input.ndim < 2 or label.ndim not in (input.ndim, input.ndim - 1):
        raise UsageError(
            "nll_loss: expected an input of rank 2 or more and a label of its rank or one less, "
            f"but received input {list(input.shape)}, label {list(label.shape)}"
        )
    label = label.reshape(input.shape[0], *input.shape[2:]).long()
    loss = F.nll_loss(input, label, weight, ignore_index=ignore_index, reduction="none")
    if reduction != "mean":
        return reduce(loss, reduction, "nll_loss")
    counts = label != ignore_index
    total = torch.sum(counts if weight is None else weight[torch.where(counts, label, 0)] * counts, dtype=loss.dtype)
    return torch.sum(loss) / (total + (total == 0))


@op("multi_label_soft_margin_loss")
def multi_label_soft_margin_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Binary cross entropy of logits averaged over the classes in the last axis."""
    if input.shape != label.shape:
        raise UsageError(
            f"multi_label_soft_margin_loss: shapes must be equal, but received {list(input.shape)} and {list(label.shape)}"
        )
    loss = -(label * F.logsigmoid(input) + (1 - label) * F.logsigmoid(-input))
    loss = (loss if weight is None else loss * weight).mean(-1)
    return reduce(loss, reduction, "multi_label_soft_margin_loss")


@op("multi_margin_loss")
def multi_margin_loss(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    p: int = 1,
    margin: float = 1.0,
    reduction: str = "mean",
) -> Tensor:
    """How far each wrong class comes within ``margin`` of the right one, to the power ``p``, over all classes."""
    if input.shape[0] != label.shape[0]:
        raise UsageError(f"multi_margin_loss: input has {input.shape[0]} samples, label {label.shape[0]}: they must be equal")
    if weight is not None and weight.shape[0] != input.shape[1]:
        raise UsageError(f"multi_margin_loss: weight must have {input.shape[1]} entries, but has {weight.shape[0]}")
    label = label.reshape(-1, 1).long()
    gaps = torch.pow(torch.clamp(margin - torch.gather(input, 1, label) + input, min=0), p)
    # the right class itself contributed margin ** p
    loss = gaps.mean(1) - margin**p / input.shape[1]
    if weight is not None:
        loss = loss * weight[label].reshape(-1)
    return reduce(loss, reduction, "multi_margin_loss")


@op("multi_label_margin_loss")
def multi_label_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean") -> Tensor:
    """The same for several right classes per sample, listed up to the first -1."""
    if input.ndim != 2 or label.ndim != 2:
        raise UsageError(
            f"multi_label_margin_loss: expected 2-D input and label, but received {list(input.shape)}, {list(label.shape)}"
        )
    if not label.is_meta and label.numel() and (int(label.min()) < -1 or int(label.max()) >= input.shape[1]):
        raise UsageError(f"multi_label_margin_loss: labels must lie in [-1, {input.shape[1]})")
    return reduce(F.multilabel_margin_loss(input, label.long(), reduction="none"), reduction, "multi_label_margin_loss")


@op("ctc_loss", aliases=("warpctc",))
def ctc_loss(
    logits: Tensor,
    labels: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    norm_by_times: bool = False,
) -> Tensor:
    """Negative log-likelihood over all alignments; the softmax over [time, batch, classes] logits is inside.

    A sequence too short for its labels costs 0. ``norm_by_times`` divides the gradient, not the loss, by the time
    steps. A mean divides each loss by its label length first.
    """
    loss = F.ctc_loss(
        torch.log_softmax(logits, -1),
        labels.long(),
        input_lengths.long(),
        label_lengths.long(),
        blank,
        reduction="none",
        zero_infinity=True,
    )
    if norm_by_times:
        slow = loss / input_lengths.to(loss.dtype)
        loss = slow + (loss - slow).detach()
    if reduction == "mean":
        return torch.mean(loss / label_lengths.to(loss.dtype))
    return reduce(loss, reduction, "ctc_loss")


@op("hsigmoid_loss", aliases=("hierarchical_sigmoid",))
def hsigmoid_loss(
    input: Tensor,
    label: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    path_table: Tensor | None,
    path_code: Tensor | None,
    num_classes: int,
) -> Tensor:
    """Binary cross entropy summed along the path to each label's leaf, as a column.

    The default tree is the complete binary tree. As in Paddle a path shorter than the longest one costs log 2 for each
    missing step, which has no gradient.
    """
    if num_classes < 2:
        raise UsageError(f"hsigmoid_loss: num_classes must be at least 2, but received {num_classes}")
    if path_table is None or path_code is None:
        nodes, turns, on_path = _complete_tree(label.reshape(-1).long(), num_classes)
    else:
        on_path = path_table >= 0
        nodes, turns = torch.where(on_path, path_table, 0), path_code
    scores = torch.einsum("nf,nlf->nl", input, weight[nodes])
    if bias is not None:
        scores = scores + bias.reshape(-1)[nodes]
    scores = torch.where(on_path, torch.clamp(scores, -40.0, 40.0), 0)
    return torch.sum(F.softplus(scores, threshold=50.0) - turns * scores, 1, keepdim=True)


def _complete_tree(label: Tensor, num_classes: int) -> tuple[Tensor, Tensor, Tensor]:
    """Inner nodes, turns and a mask of the path to each label; the leaf of class k is number k + num_classes."""
    leaf = (label + num_classes).unsqueeze(1)
    steps = torch.arange((2 * num_classes - 1).bit_length() - 1, device=label.device)
    above = torch.bitwise_right_shift(leaf, steps + 1)
    on_path = above > 0
    turns = torch.bitwise_right_shift(leaf, steps) & 1
    return torch.where(on_path, above - 1, 0), torch.where(on_path, turns, 0), on_path


@op("adaptive_log_softmax_with_loss")
def adaptive_log_softmax_with_loss(
    input: Tensor,
    label: Tensor,
    head_weight: Tensor,
    head_bias: Tensor | None,
    tail_weights: list[list[Tensor]],
    cutoffs: list[int],
) -> tuple[Tensor, Tensor]:
    """Log-probability of each label and their negative mean, with rare classes in clusters behind the head.

    ``cutoffs`` ends with the number of classes; a tail is a pair of matrices applied one after the other.
    """
    if label.ndim > 1 or input.ndim != label.ndim + 1:
        raise UsageError(
            "adaptive_log_softmax_with_loss: expected a 1-D label with 2-D input, or 0-D with 1-D, "
            f"but received label {list(label.shape)}, input {list(input.shape)}"
        )
    rows, classes = (input, label) if label.ndim else (input.unsqueeze(0), label.unsqueeze(0))
    if rows.shape[0] != classes.shape[0]:
        raise UsageError(f"adaptive_log_softmax_with_loss: {rows.shape[0]} inputs for {classes.shape[0]} labels")
    classes = classes.long()
    if not classes.is_meta and classes.numel() and (int(classes.min()) < 0 or int(classes.max()) >= cutoffs[-1]):
        raise UsageError(
            f"adaptive_log_softmax_with_loss: label values should be in [0, {cutoffs[-1] - 1}], but values in range "
            f"[{int(classes.min())}, {int(classes.max())}] were found"
        )
    head = rows @ head_weight
    head_logs = torch.log_softmax(head if head_bias is None else head + head_bias, 1)
    slot = classes
    tail = torch.zeros_like(rows[:, 0])
    for i, (projection, output) in enumerate(tail_weights):
        low, high = cutoffs[i], cutoffs[i + 1]
        inside = (classes >= low) & (classes < high)
        slot = torch.where(inside, cutoffs[0] + i, slot)
        logs = torch.log_softmax(rows @ projection @ output, 1)
        picked = torch.gather(logs, 1, torch.where(inside, classes - low, 0).unsqueeze(1)).squeeze(1)
        tail = torch.where(inside, picked, tail)
    out = torch.gather(head_logs, 1, slot.unsqueeze(1)).squeeze(1) + tail
    return out if label.ndim else out.squeeze(0), -out.mean()


@op("adaptive_log_softmax")
def adaptive_log_softmax(
    input: Tensor, head_weight: Tensor, head_bias: Tensor | None, tail_weights: list[list[Tensor]], cutoffs: list[int]
) -> Tensor:
    """Log-probabilities of all classes under the softmax of ``adaptive_log_softmax_with_loss``."""
    head = input @ head_weight
    head_logs = torch.log_softmax(head if head_bias is None else head + head_bias, 1)
    num_common = cutoffs[0]
    parts = [head_logs[:, :num_common]]
    for i, (projection, output) in enumerate(tail_weights):
        cluster = head_logs[:, num_common + i].unsqueeze(1)
        parts.append(torch.log_softmax(input @ projection @ output, 1) + cluster)
    return torch.cat(parts, 1)
