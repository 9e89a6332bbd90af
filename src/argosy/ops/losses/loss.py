"""Losses on values, pairs and triplets. Those over classes are in ``cross_entropy`` and
``classification``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from argosy.foundation import torch_private as private
from argosy.foundation.errors import RankError, UsageError
from argosy.ops import composition, table
from argosy.ops.math import elementwise, promotion, special
from argosy.ops.math import reduction as reductions
from argosy.ops.math.p_norm import p_norm
from argosy.ops.nn.softmax import log_softmax
from argosy.ops.table import Op, op
from argosy.ops.traits import FLOATING, Precision, Record

# torch.nn.functional.mse_loss without its Python checks, which cost as much as the loss itself on
# small batches.
_fused_mse = private.mse_loss
_CODE_BY_REDUCTION = {"none": 0, "mean": 1, "sum": 2}


def reduce(loss: Tensor, reduction: str, call: str) -> Tensor:
    """Finish a loss: its mean, its sum, or itself."""
    if reduction == "mean":
        value: Tensor = reductions.mean.fn(loss)
        return value
    if reduction == "sum":
        return torch.sum(loss)
    if reduction == "none":
        return loss
    raise UsageError(
        f"{call}: the value of 'reduction' should be 'sum', 'mean' or 'none', but received "
        f"{reduction}"
    )


def _check_same_shape(call: str, **tensors: Tensor) -> None:
    shapes = {name: list(t.shape) for name, t in tensors.items()}
    if any(shape != next(iter(shapes.values())) for shape in shapes.values()):
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise UsageError(f"{call}: shapes must be equal, but received {found}")


def _gap(input: Tensor, label: Tensor) -> Tensor:
    x, y = promotion.align(input, label)
    gap: Tensor = x - y
    return gap


def reduced(record: Record, loss: Any, reduction: str) -> Any:
    """How programs finish a loss."""
    if reduction == "none":
        return loss
    return record(reductions.mean if reduction == "mean" else reductions.sum, loss)


def _reduced_apart(own: str) -> Callable[..., Any]:
    """The parts of a loss whose operator has one value per element: it, and then a reduction."""

    def parts(record: Record, *args: Any, **attrs: Any) -> Any:
        op = table.get(own)
        given = op.signature.bind(*args, **attrs)
        given.apply_defaults()
        reduction = given.arguments["reduction"]
        if reduction not in ("mean", "sum"):
            return NotImplemented
        loss = record.apart(op, **given.arguments | {"reduction": "none"})
        return reduced(record, loss, reduction)

    return parts


def _of_gap(finish: Op) -> Callable[..., Any]:
    """The parts of a loss that is a function of the difference."""

    def parts(record: Record, input: Any, label: Any, reduction: str = "mean") -> Any:
        if reduction not in _CODE_BY_REDUCTION:
            return NotImplemented
        gap = record.apart(elementwise.subtract, input, label)
        if reduction == "none":
            return record(finish, gap)
        return reduced(record, record.apart(finish, gap), reduction)

    return parts


def _square_parts(record: Record, input: Any, label: Any) -> Any:
    return record(special.square, record(elementwise.subtract, input, label))


@op(
    "mse_loss",
    parts=_of_gap(special.square),
    precision={"square": Precision.BLACK},
    recorded_dtypes={"input": FLOATING, "label": FLOATING},
)
def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean") -> Tensor:
    code = _CODE_BY_REDUCTION.get(reduction)
    if (
        code is not None
        and input.dtype is label.dtype
        and input.shape == label.shape
        and input.is_floating_point()
    ):
        return _fused_mse(input, label, code)
    return reduce(torch.square(_gap(input, label)), reduction, "mse_loss")


@op(
    "square_error_cost",
    layer="square_error_cost",
    parts=_square_parts,
    precision={"square": Precision.BLACK},
    recorded_dtypes={"input": FLOATING, "label": FLOATING},
)
def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    return torch.square(_gap(input, label))


@op(
    "l1_loss",
    parts=_of_gap(elementwise.abs),
    recorded_dtypes={
        "input": (*FLOATING, "int32", "int64"),
        "label": (*FLOATING, "int32", "int64"),
    },
)
def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean") -> Tensor:
    return reduce(torch.abs(_gap(input, label)), reduction, "l1_loss")


@op(
    "smooth_l1_loss",
    parts=_reduced_apart("smooth_l1_loss"),
    layer="huber_loss:1 reduction",
    precision=Precision.BLACK,
    recorded_dtypes={"input": FLOATING, "label": FLOATING},
    types=("huber_loss(X, Y, -'none', delta, -True) -> Out, Residual",),
)
def smooth_l1_loss(
    input: Tensor, label: Tensor, reduction: str = "mean", delta: float = 1.0, is_huber: bool = True
) -> Tensor:
    """Huber's loss: quadratic up to a gap of ``delta``, linear beyond; divided by delta if not
    ``is_huber``.
    """
    _check_same_shape("smooth_l1_loss", input=input, label=label)
    input, label = promotion.widen(input, label)
    loss = F.huber_loss(input, label, reduction="none", delta=delta)
    return reduce(loss if is_huber else loss / delta, reduction, "smooth_l1_loss")


@op(
    "bce_loss",
    layer="binary_cross_entropy reduction",
    parts=_reduced_apart("bce_loss"),
    types=("bce_loss(X, Label, -, -'none')",),
)
def binary_cross_entropy(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Cross entropy of probabilities; logarithms are cut off at -100. The label gets no
    gradient.
    """
    _check_same_shape("binary_cross_entropy", input=input, label=label)
    loss = F.binary_cross_entropy(input, label.detach(), reduction="none")
    return reduce(loss if weight is None else loss * weight, reduction, "binary_cross_entropy")


@op(
    "sigmoid_cross_entropy_with_logits",
    precision=Precision.BLACK,
    layer="sigmoid_cross_entropy_with_logits reduction",
    parts=_reduced_apart("sigmoid_cross_entropy_with_logits"),
    types=(
        "sigmoid_cross_entropy_with_logits(X, Label, -, -'none', -, ignore_index=-100, "
        "normalize=False)",
    ),
)
def binary_cross_entropy_with_logits(
    logit: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of ``sigmoid(logit)``; ``pos_weight`` scales the positive part. The label gets
    no gradient.
    """
    if logit.shape != label.shape:
        _check_same_shape("binary_cross_entropy_with_logits", logit=logit, label=label)
    if label.requires_grad:
        label = label.detach()
    code = _CODE_BY_REDUCTION.get(reduction)
    if weight is None and code is not None:
        return torch.binary_cross_entropy_with_logits(logit, label, None, pos_weight, code)
    loss = torch.binary_cross_entropy_with_logits(logit, label, None, pos_weight, 0)
    return reduce(
        loss if weight is None else loss * weight, reduction, "binary_cross_entropy_with_logits"
    )


@op(
    "log_loss",
    precision=Precision.BLACK,
    recorded_dtypes={"input": FLOATING, "label": FLOATING},
    types=("log_loss(Predicted, Labels, epsilon) -> Loss",),
)
def log_loss(input: Tensor, label: Tensor, epsilon: float = 1e-4) -> Tensor:
    """Cross entropy of each probability, with ``epsilon`` inside the logarithms. The label gets no
    gradient.
    """
    _check_same_shape("log_loss", input=input, label=label)
    label = label.detach()
    return -label * torch.log(input + epsilon) - (1 - label) * torch.log(1 - input + epsilon)


@op(
    "kldiv_loss",
    layer="kldiv_loss reduction",
    types=("kldiv_loss(X, Target, reduction, -False) -> Loss",),
)
def kl_div(
    input: Tensor, label: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """Divergence of ``label`` from the log-probabilities ``input``. The label gets no gradient."""
    _check_same_shape("kl_div", input=input, label=label)
    label = label.detach()
    if log_target:
        loss = torch.exp(label) * (label - input)
    else:
        loss = torch.where(label > 0, label * (torch.log(label) - input), 0)
    if reduction == "batchmean":
        return torch.sum(loss) / input.shape[0] if input.ndim else loss
    return reduce(loss, reduction, "kl_div")


@op(
    "margin_ranking_loss",
    recorded_dtypes={"input": FLOATING, "other": FLOATING, "label": FLOATING},
    file_parts=composition.margin_ranking_loss,
)
def margin_ranking_loss(
    input: Tensor, other: Tensor, label: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    gap, sign = promotion.align(_gap(other, input), label)
    return reduce(torch.relu(gap * sign + margin), reduction, "margin_ranking_loss")


@op(
    "hinge_embedding_loss",
    recorded_dtypes={"input": FLOATING, "label": FLOATING},
    file_parts=composition.hinge_embedding_loss,
)
def hinge_embedding_loss(
    input: Tensor, label: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    near = torch.where(label == 1, input, 0)
    far = torch.where(label == -1, torch.relu(margin - input), 0)
    return reduce(near + far, reduction, "hinge_embedding_loss")


_LABELS = (torch.int32, torch.int64, torch.float32, torch.float64)


@op("cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, label: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """``1 - cos`` for label 1, what ``cos`` exceeds ``margin`` by for label -1."""
    _check_same_shape("cosine_embedding_loss", input1=input1, input2=input2)
    if label.ndim != 1 or input1.ndim > 2:
        raise UsageError(
            "cosine_embedding_loss: expected a 1-D label and 1-D or 2-D inputs, but received "
            f"label {list(label.shape)}, inputs {list(input1.shape)}"
        )
    if input1.dtype not in (torch.float32, torch.float64) or label.dtype not in _LABELS:
        raise UsageError(
            "cosine_embedding_loss: expected float32 or float64 inputs and an int32, int64, "
            f"float32 or float64 label, but received {input1.dtype} and {label.dtype}"
        )
    tiny = 1e-11
    squares = (torch.square(input1).sum(-1) + tiny) * (torch.square(input2).sum(-1) + tiny)
    cosine = (input1 * input2).sum(-1) / torch.sqrt(squares)
    loss = torch.where(label == 1, 1 - cosine, 0) + torch.where(
        label == -1, torch.clamp(cosine - margin, min=0), 0
    )
    return reduce(loss, reduction, "cosine_embedding_loss")


@op("triplet_loss_of_distances")
def triplet_loss_of_distances(
    near: Tensor, far: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """How much the distance ``near`` fails to stay ``margin`` below the distance ``far``."""
    if not near.is_meta and bool((near < 0).any() | (far < 0).any()):
        raise UsageError(
            "triplet_margin_with_distance_loss: the distance function returned a negative distance"
        )
    return reduce(torch.clamp(near - far + margin, min=0), reduction, "triplet_margin_loss")


@op("smaller_distance")
def smaller_distance(x: Tensor, y: Tensor) -> Tensor:
    """The smaller of two distances; equal ones share the gradient."""
    return torch.minimum(x, y)


@op(
    "triplet_margin_loss",
    precision=Precision.BLACK,
    recorded_dtypes={"input": FLOATING, "positive": FLOATING, "negative": FLOATING},
)
def triplet_margin_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    epsilon: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    _check_same_shape("triplet_margin_loss", input=input, positive=positive, negative=negative)
    if margin < 0:
        raise UsageError(f"triplet_margin_loss: margin must not be negative, but received {margin}")

    def distance(x: Tensor, y: Tensor) -> Tensor:
        return p_norm(x - y + epsilon, p, -1)

    far = distance(input, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return reduce(
        torch.clamp(distance(input, positive) - far + margin, min=0),
        reduction,
        "triplet_margin_loss",
    )


@op(
    "soft_margin_loss", recorded_dtypes={"input": FLOATING}, file_parts=composition.soft_margin_loss
)
def soft_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-label * input))``, which does not overflow here."""
    _check_same_shape("soft_margin_loss", input=input, label=label)
    return reduce(F.softplus(-label.to(input.dtype) * input), reduction, "soft_margin_loss")


@op("poisson_nll_loss", recorded_dtypes={"input": FLOATING, "label": FLOATING})
def poisson_nll_loss(
    input: Tensor,
    label: Tensor,
    log_input: bool = True,
    full: bool = False,
    epsilon: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts; ``full`` adds Stirling's approximation where the count
    exceeds 1.
    """
    if epsilon <= 0:
        raise UsageError(f"poisson_nll_loss: epsilon should be positive, but received {epsilon}")
    _check_same_shape("poisson_nll_loss", input=input, label=label)
    loss = (
        torch.exp(input) - label * input
        if log_input
        else input - label * torch.log(input + epsilon)
    )
    if full:
        stirling = label * torch.log(label) - label + 0.5 * torch.log(2 * math.pi * label)
        loss = loss + torch.where(label > 1, stirling, 0)
    return reduce(loss, reduction, "poisson_nll_loss")


@op(
    "gaussian_nll_loss",
    recorded_dtypes={"input": FLOATING, "label": FLOATING, "variance": FLOATING},
)
def gaussian_nll_loss(
    input: Tensor,
    label: Tensor,
    variance: Tensor,
    full: bool = False,
    epsilon: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of normal variables. The variance gets no gradient."""
    if variance.shape != input.shape:
        if variance.shape == input.shape[:-1]:
            variance = variance.unsqueeze(-1)
        elif variance.shape[:-1] != input.shape[:-1] or variance.shape[-1] != 1:
            raise UsageError(
                f"gaussian_nll_loss: variance of shape {list(variance.shape)} does not fit input "
                f"{list(input.shape)}"
            )
    for name, t in (("input", input), ("label", label), ("variance", variance)):
        if t.dtype not in (torch.float32, torch.float64):
            raise UsageError(
                f"gaussian_nll_loss: {name} must be float32 or float64, but received {t.dtype}"
            )
    if not variance.is_meta and bool((variance < 0).any()):
        raise UsageError("gaussian_nll_loss: variance has negative entries")
    variance = torch.clamp(variance.detach(), min=epsilon)
    loss = 0.5 * (torch.log(variance) + torch.square(input - label) / variance)
    return reduce(
        loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction, "gaussian_nll_loss"
    )


@op("sigmoid_focal_loss", recorded_dtypes={"logit": FLOATING, "label": FLOATING})
def sigmoid_focal_loss(
    logit: Tensor,
    label: Tensor,
    normalizer: Tensor | None = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
) -> Tensor:
    """Binary cross entropy, weighted down where the prediction is already good."""
    if normalizer is not None and normalizer.ndim > 1:
        raise UsageError(
            "sigmoid_focal_loss: normalizer must be 0-D or 1-D, but its shape is "
            f"{list(normalizer.shape)}"
        )
    _check_same_shape("sigmoid_focal_loss", logit=logit, label=label)
    loss = F.binary_cross_entropy_with_logits(logit, label.detach(), reduction="none")
    chance = torch.sigmoid(logit)
    hit = chance * label + (1 - chance) * (1 - label)
    loss = (alpha * label + (1 - alpha) * (1 - label)) * loss * torch.pow(1 - hit, gamma)
    return reduce(
        loss if normalizer is None else loss / normalizer, reduction, "sigmoid_focal_loss"
    )


@op("dice_loss")
def dice_loss(input: Tensor, label: Tensor, epsilon: float = 1e-5) -> Tensor:
    """One minus twice the overlap over the sum of areas, averaged over samples; ``label`` has a
    last axis of 1.
    """
    if (
        input.ndim < 2
        or label.ndim != input.ndim
        or label.shape[-1] != 1
        or label.shape[:-1] != input.shape[:-1]
    ):
        raise RankError(
            "dice_loss: label must have the shape of input with a last axis of 1, but received "
            f"input {list(input.shape)}, label {list(label.shape)}"
        )
    truth = F.one_hot(label.squeeze(-1).long(), input.shape[-1]).to(input.dtype)
    axes = tuple(range(1, input.ndim))
    overlap = torch.sum(input * truth, axes)
    return torch.mean(1 - 2 * overlap / (torch.sum(input, axes) + torch.sum(truth, axes) + epsilon))


@op(
    "npair_loss",
    recorded_dtypes={
        "anchor": FLOATING,
        "positive": FLOATING,
        "labels": ("float32", "float64", "int64"),
    },
)
def npair_loss(anchor: Tensor, positive: Tensor, labels: Tensor, l2_reg: float = 0.002) -> Tensor:
    """Cross entropy of the similarities of all pairs against equality of labels, plus a penalty on
    both norms.
    """
    if anchor.numel() == 0 or positive.numel() == 0:
        raise UsageError("npair_loss: anchor and positive must not be empty")
    labels = labels.reshape(-1, 1)
    same = (labels == labels.mT).to(torch.float32)
    same = same / same.sum(1, keepdim=True)
    penalty = (
        (torch.square(anchor).sum(1).mean() + torch.square(positive).sum(1).mean()) * 0.25 * l2_reg
    )
    entropy = -torch.sum(same * log_softmax(anchor @ positive.mT, -1), -1, keepdim=True)
    return penalty + torch.sum(same * entropy, 0).mean()
