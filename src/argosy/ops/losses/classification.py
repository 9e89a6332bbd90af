"""Losses over classes by margins, in trees and clusters of classes, and over alignments."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from argosy.foundation.errors import UsageError
from argosy.ops import composition
from argosy.ops.losses.loss import reduce
from argosy.ops.nn.softmax import log_softmax
from argosy.ops.table import op
from argosy.ops.traits import FLOATING, Precision


@op("multi_label_soft_margin_loss", recorded_dtypes={"input": FLOATING, "label": FLOATING})
def multi_label_soft_margin_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Binary cross entropy of logits averaged over the classes in the last axis."""
    if input.shape != label.shape:
        raise UsageError(
            "multi_label_soft_margin_loss: shapes must be equal, but received "
            f"{list(input.shape)} and {list(label.shape)}"
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
    """How far each wrong class comes within ``margin`` of the right one, to the power ``p``, over
    all classes.
    """
    if input.shape[0] != label.shape[0]:
        raise UsageError(
            f"multi_margin_loss: input has {input.shape[0]} samples, label {label.shape[0]}: "
            "they must be equal"
        )
    if weight is not None and weight.shape[0] != input.shape[1]:
        raise UsageError(
            f"multi_margin_loss: weight must have {input.shape[1]} entries, but has "
            f"{weight.shape[0]}"
        )
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
            "multi_label_margin_loss: expected 2-D input and label, but received "
            f"{list(input.shape)}, {list(label.shape)}"
        )
    if (
        not label.is_meta
        and label.numel()
        and (int(label.min()) < -1 or int(label.max()) >= input.shape[1])
    ):
        raise UsageError(f"multi_label_margin_loss: labels must lie in [-1, {input.shape[1]})")
    return reduce(
        F.multilabel_margin_loss(input, label.long(), reduction="none"),
        reduction,
        "multi_label_margin_loss",
    )


@op(
    "ctc_column",
    types=(
        "warpctc(Logits, Label, LogitsLength, LabelLength, blank, norm_by_times) "
        "-> Loss, WarpCTCGrad",
    ),
)
def ctc_column(
    logits: Tensor,
    labels: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    norm_by_times: bool = False,
) -> Tensor:
    """``ctc_loss`` of each sequence, of shape [batch, 1]."""
    lengths = input_lengths, label_lengths
    loss: Tensor = ctc_loss.fn(logits, labels, *lengths, blank, "none", norm_by_times)
    return loss.unsqueeze(1)


@op("ctc_loss", layer="warpctc", file_parts=composition.ctc_loss)
def ctc_loss(
    logits: Tensor,
    labels: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    norm_by_times: bool = False,
) -> Tensor:
    """Negative log-likelihood over all alignments; the softmax over [time, batch, classes] logits
    is inside.

    A sequence too short for its labels costs 0. ``norm_by_times`` divides the gradient, not the
    loss, by the time steps. A mean divides each loss by its label length first.
    """
    if logits.is_meta:  # torch has no shape inference for it
        return reduce(logits.new_empty(logits.shape[1]), reduction, "ctc_loss")
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


@op("rnnt_loss", types=("warprnnt",))
def rnnt_loss(
    log_probs: Tensor,
    labels: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    fastemit_lambda: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood over all alignments of a transducer, from [batch, time, labels + 1,
    classes] log-probabilities.

    ``fastemit_lambda`` strengthens the gradient, not the loss, of emitting labels.
    """
    num_labels = log_probs.shape[2] - 1
    stay = log_probs[..., blank]
    index = labels[:, :num_labels].long()[:, None, :, None].expand(-1, log_probs.shape[1], -1, 1)
    emit = torch.gather(log_probs[:, :, :num_labels], 3, index).squeeze(3)
    emit = emit + fastemit_lambda * (emit - emit.detach())
    # Within a time step labels follow each other: with e the running sum of emit,
    # alpha[u] = log sum over v <= u of exp(arrived[v] + e[u] - e[v]).
    emitted = F.pad(torch.cumsum(emit, 2), (1, 0))
    alphas = [emitted[:, 0]]
    for t in range(1, log_probs.shape[1]):
        arrived = alphas[-1] + stay[:, t - 1]
        alphas.append(emitted[:, t] + torch.logcumsumexp(arrived - emitted[:, t], 1))
    batch = torch.arange(log_probs.shape[0], device=log_probs.device)
    end = (batch, input_lengths.long() - 1, label_lengths.long())
    loss = -(torch.stack(alphas, 1)[end] + stay[end])
    return reduce(loss, reduction, "rnnt_loss")


@op(
    "hsigmoid_loss",
    types=(
        "hierarchical_sigmoid(X, Label, W, Bias, PathTable, PathCode, num_classes) -> Out, PreOut",
    ),
    precision={"hsigmoid_loss": Precision.BLACK},
)
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

    The default tree is the complete binary tree. As in Paddle a path shorter than the longest one
    costs log 2 for each missing step, which has no gradient.
    """
    if num_classes < 2:
        raise UsageError(
            f"hsigmoid_loss: num_classes must be at least 2, but received {num_classes}"
        )
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
    """Inner nodes, turns and a mask of the path to each label; the leaf of class k is number k +
    num_classes.
    """
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
    """Log-probability of each label and their negative mean, with rare classes in clusters behind
    the head.

    ``cutoffs`` ends with the number of classes; a tail is a pair of matrices applied one after the
    other.
    """
    if label.ndim > 1 or input.ndim != label.ndim + 1:
        raise UsageError(
            "adaptive_log_softmax_with_loss: expected a 1-D label with 2-D input, or 0-D with 1-D, "
            f"but received label {list(label.shape)}, input {list(input.shape)}"
        )
    rows, classes = (input, label) if label.ndim else (input.unsqueeze(0), label.unsqueeze(0))
    if rows.shape[0] != classes.shape[0]:
        raise UsageError(
            f"adaptive_log_softmax_with_loss: {rows.shape[0]} inputs for {classes.shape[0]} labels"
        )
    classes = classes.long()
    if (
        not classes.is_meta
        and classes.numel()
        and (int(classes.min()) < 0 or int(classes.max()) >= cutoffs[-1])
    ):
        raise UsageError(
            f"adaptive_log_softmax_with_loss: label values should be in [0, {cutoffs[-1] - 1}], "
            "but values in range "
            f"[{int(classes.min())}, {int(classes.max())}] were found"
        )
    head = rows @ head_weight
    head_logs = log_softmax(head if head_bias is None else head + head_bias, 1)
    slot = classes
    tail = torch.zeros_like(rows[:, 0])
    for i, (projection, output) in enumerate(tail_weights):
        low, high = cutoffs[i], cutoffs[i + 1]
        inside = (classes >= low) & (classes < high)
        slot = torch.where(inside, cutoffs[0] + i, slot)
        logs = log_softmax(rows @ projection @ output, 1)
        picked = torch.gather(logs, 1, torch.where(inside, classes - low, 0).unsqueeze(1)).squeeze(
            1
        )
        tail = torch.where(inside, picked, tail)
    out = torch.gather(head_logs, 1, slot.unsqueeze(1)).squeeze(1) + tail
    return out if label.ndim else out.squeeze(0), -out.mean()


@op("adaptive_log_softmax")
def adaptive_log_softmax(
    input: Tensor,
    head_weight: Tensor,
    head_bias: Tensor | None,
    tail_weights: list[list[Tensor]],
    cutoffs: list[int],
) -> Tensor:
    """Log-probabilities of all classes under the softmax of ``adaptive_log_softmax_with_loss``."""
    head = input @ head_weight
    head_logs = log_softmax(head if head_bias is None else head + head_bias, 1)
    num_common = cutoffs[0]
    parts = [head_logs[:, :num_common]]
    for i, (projection, output) in enumerate(tail_weights):
        cluster = head_logs[:, num_common + i].unsqueeze(1)
        parts.append(log_softmax(input @ projection @ output, 1) + cluster)
    return torch.cat(parts, 1)
