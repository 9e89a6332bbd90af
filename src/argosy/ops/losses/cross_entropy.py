"""Cross entropies and likelihoods over classes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from argosy.foundation import torch_private as private
from argosy.foundation.errors import UsageError
from argosy.ops import sketch
from argosy.ops.array.manipulation import squeeze, unsqueeze
from argosy.ops.losses.loss import reduce, reduced
from argosy.ops.nn.softmax import DEEPEST, lowest, softmax
from argosy.ops.table import op
from argosy.ops.traits import FLOATING, Precision, Record

IGNORED = -100  # Paddle's default ignore_index

# torch.nn.functional.nll_loss without its Python checks; the code 0 is "none", 1 is "mean".
_nll_loss = private.nll_loss

# From here on the lowest of all logarithms takes longer than that of the chosen ones.
_FEW = 4_000

# a probability of 0 costs this much rather than infinity, so that 0 * log(0) is 0
_SMALLEST_LOG = -1e20


def _mean_parts(record: Record, input: Any, label: Any) -> Any:
    return _parts(record, input, label)


def _parts(
    record: Record,
    input: Any,
    label: Any,
    weight: Any = None,
    ignore_index: int = IGNORED,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
) -> Any:
    """The operator for logits, and then the reduction, if it is a plain one."""
    is_plain = weight is None and use_softmax and not label_smoothing
    is_column = label.ndim == input.ndim
    if not is_plain or (reduction == "mean" and ignore_index >= 0):
        return NotImplemented
    if reduction not in ("mean", "sum", "none") or not (is_column or label.ndim == input.ndim - 1):
        return NotImplemented  # which refuses it
    column = label if is_column else record.apart(unsqueeze, label, [axis])
    is_last = reduction == "none" and is_column
    call = record if is_last else record.apart
    loss, _ = call(softmax_with_cross_entropy, input, column, soft_label, ignore_index, axis)
    if reduction == "none" and not is_column:
        return record(squeeze, loss, [axis])
    return reduced(record, loss, reduction)


@op(
    "mean_cross_entropy",
    precision={"softmax_with_cross_entropy": Precision.BLACK},
    parts=_mean_parts,
)
def mean_cross_entropy(input: Tensor, label: Tensor) -> Tensor:
    """Cross entropy of logits and hard labels, classes in the last axis, averaged over all
    positions.

    Positions labelled -100 cost nothing but count in the average.
    """
    if input.ndim != 2 or label.ndim != 1:
        input, label = _flatten_positions(input, label)
    if label.dtype is not torch.int64:
        label = label.to(torch.int64)
    size = label.numel()
    logs = torch.log_softmax(input, 1)
    if label.is_cpu and size and label.min().item() >= 0:
        # Nothing is ignored, so torch's average is Paddle's; asking costs less than dividing
        # forwards and backwards. A sum of at most 64 has no part that is more.
        loss = _nll_loss(logs, label, None, 1, IGNORED)
        if loss.item() * size <= DEEPEST or _highest_loss(logs.data, label) <= DEEPEST:
            return loss
    losses = _nll_loss(logs, label, None, 0, IGNORED)
    if _may_exceed(losses, True) and not losses.data.max().item() <= DEEPEST:
        _clip_losses(losses, logs)
    return losses.mean()


def _highest_loss(logs: Tensor, label: Tensor) -> float:
    """An upper bound of the losses: that of the lowest of all logarithms, where finding it costs
    less than choosing.
    """
    if logs.numel() <= _FEW:
        return -lowest(logs).item()
    return _nll_loss(logs, label, None, 0, IGNORED).max().item()


def _clip_losses(losses: Tensor, logs: Tensor) -> None:
    """Limit each loss to 64 more than that of the likeliest class, in place; gradients stay those
    of the softmax.
    """
    values = losses.data
    largest = logs.data.amax(-1).reshape(values.shape)
    torch.minimum(values, DEEPEST - largest, out=values)


def _flatten_positions(input: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    """Logits as [positions, classes] and hard labels as [positions]."""
    shape = input.shape
    if not shape or label.shape not in (shape[:-1], (*shape[:-1], 1)):
        raise UsageError(
            "cross_entropy: label must have the shape of input without its class axis, or with "
            "extent 1 there, "
            f"but received input {list(shape)}, label {list(label.shape)}"
        )
    return input.reshape(-1, shape[-1]), label.reshape(-1)


@op(
    "cross_entropy",
    precision=Precision.BLACK,
    layer="softmax_with_cross_entropy:1 reduction",
    parts=_parts,
)
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

    A mean divides by the weights (or number) of the positions that are not ignored, but counts
    ignored ones too where ``ignore_index`` is negative and there are no weights.
    """
    if ignore_index > 0 and soft_label:
        raise UsageError(
            f"cross_entropy: with soft_label, ignore_index must be {IGNORED}, but received "
            f"{ignore_index}"
        )
    is_column = label.ndim == input.ndim
    if not input.ndim or not (is_column or label.ndim == input.ndim - 1):
        raise UsageError(
            "cross_entropy: expected input_dims - 1 == label_dims or input_dims == label_dims, "
            f"but received input {list(input.shape)}, label {list(label.shape)}"
        )
    scores = input.movedim(axis, -1)
    label = label.movedim(axis, -1) if is_column else label.unsqueeze(-1)
    if label_smoothing > 0:
        label = _smooth(label if is_column else _one_hot(label, scores), label_smoothing).to(
            input.dtype
        )
        soft_label = is_column = True
    if soft_label:
        loss = _soft_cross_entropy(scores, label, use_softmax)
        sample_weight = None if weight is None else (label.to(weight.dtype) @ weight).unsqueeze(-1)
        counts = label != ignore_index
    else:
        loss, logs = _hard_cross_entropy(scores, label, ignore_index, use_softmax)
        if _may_exceed(loss, use_softmax) and not loss.data.max().item() <= DEEPEST:
            _clip_losses(loss, logs)
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
            f"cross_entropy: soft labels must have the shape of input, {list(scores.shape)}, but "
            f"received {list(label.shape)}"
        )
    label = label.detach().to(scores.dtype)
    if not use_softmax:
        return -torch.sum(
            label * torch.clamp(torch.log(scores), min=_SMALLEST_LOG), -1, keepdim=True
        )
    # As in Paddle the gradient is softmax - label, also where a label does not sum to 1: of the
    # log-normaliser's factor sum(label) only 1 takes part in backward.
    scores = scores - scores.detach().amax(-1, keepdim=True)
    if scores.is_cpu:
        scores.data.clamp_(min=-DEEPEST)
    log_normalizer = torch.logsumexp(scores, -1, keepdim=True)
    surplus = (torch.sum(label, -1, keepdim=True) - 1) * log_normalizer.detach()
    return log_normalizer - torch.sum(label * scores, -1, keepdim=True) + surplus


def _hard_cross_entropy(
    scores: Tensor, label: Tensor, ignore_index: int, use_softmax: bool
) -> tuple[Tensor, Tensor]:
    """Cross entropy with class numbers as labels, keeping a last axis of 1, and the logarithms."""
    if label.shape != (*scores.shape[:-1], 1):
        raise UsageError(
            f"cross_entropy: for input with {list(scores.shape[:-1])} positions of "
            f"{scores.shape[-1]} classes "
            f"label must hold one class each, but its shape is {list(label.shape)}"
        )
    logs = (
        torch.log_softmax(scores, -1)
        if use_softmax
        else torch.clamp(torch.log(scores), min=_SMALLEST_LOG)
    )
    flat = F.nll_loss(
        logs.reshape(-1, scores.shape[-1]),
        label.reshape(-1).long(),
        ignore_index=ignore_index,
        reduction="none",
    )
    return flat.reshape(label.shape), logs


def _may_exceed(losses: Tensor, use_softmax: bool) -> bool:
    """Whether losses have to be looked at, because Paddle limits what its softmax gives."""
    return use_softmax and losses.is_cpu and losses.numel() > 0


def _gather_weight(weight: Tensor, scores: Tensor, label: Tensor, counts: Tensor) -> Tensor:
    if weight.shape[-1] != scores.shape[-1]:
        raise UsageError(
            f"cross_entropy: input has {scores.shape[-1]} classes, but weight is for "
            f"{weight.shape[-1]}: they must be equal"
        )
    return weight[torch.where(counts, label, 0).long()] * counts


@op(
    "softmax_with_cross_entropy",
    layer="softmax_with_cross_entropy:1,0",
    precision=Precision.BLACK,
    types=(
        "softmax_with_cross_entropy(Logits, Label, soft_label, ignore_index, axis, "
        "use_softmax=True) ->"
        " Loss, Softmax",
        "cross_entropy_with_softmax",
    ),
    sketch=sketch.losses_and_softmax,
)
def softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    soft_label: bool = False,
    ignore_index: int = IGNORED,
    axis: int = -1,
) -> tuple[Tensor, Tensor]:
    """The cross entropy of each position, with an axis of 1 for the classes, and the softmax
    (without gradient).
    """
    if not logits.ndim or label.ndim != logits.ndim:
        raise UsageError(
            "softmax_with_cross_entropy: label needs as many dimensions as logits, hard labels "
            "with extent 1 in the class "
            f"axis, but received logits {list(logits.shape)}, label {list(label.shape)}"
        )
    scores, label = logits.movedim(axis, -1), label.movedim(axis, -1)
    if soft_label:
        loss = _soft_cross_entropy(scores, label, True)
    else:
        loss, logs = _hard_cross_entropy(scores, label, ignore_index, True)
        if _may_exceed(loss, True) and not loss.data.max().item() <= DEEPEST:
            _clip_losses(loss, logs)
    return loss.movedim(-1, axis), softmax(logits.detach(), axis)


@op(
    "nll_loss",
    types=("nll_loss(X, Label, Weight, ignore_index, reduction) -> Out, Total_weight",),
    precision=Precision.BLACK,
    recorded_dtypes={"input": FLOATING, "label": ("int32", "int64")},
)
def nll_loss(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = IGNORED,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood from log-probabilities with classes in axis 1; a mean over nothing is
    0.
    """
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
    total = torch.sum(
        counts if weight is None else weight[torch.where(counts, label, 0)] * counts,
        dtype=loss.dtype,
    )
    return torch.sum(loss) / (total + (total == 0))
