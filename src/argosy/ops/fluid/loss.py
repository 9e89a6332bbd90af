"""Losses of 1.x: one value per sample or element, which the script averages."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as torch_f

from argosy.ops import composition
from argosy.ops.losses import cross_entropy as entropies
from argosy.ops.losses.cross_entropy import IGNORED
from argosy.ops.table import op
from argosy.ops.traits import Precision


@op(
    "fluid_cross_entropy2",
    fluid="cross_entropy2(X, Label, ignore_index) -> Y, XShape, MatchX",
    layer="cross_entropy2",
    precision={"cross_entropy2": Precision.BLACK},
)
def cross_entropy2(input: Tensor, label: Tensor, ignore_index: int = IGNORED) -> Tensor:
    """Minus the logarithm of the probability of each label, in the shape of ``label``."""
    out: Tensor = entropies.cross_entropy.fn(
        input, label, ignore_index=ignore_index, reduction="none", use_softmax=False
    )
    return out if out.ndim == label.ndim else out.unsqueeze(-1)


@op(
    "fluid_cross_entropy",
    fluid="cross_entropy(X, Label, ignore_index, soft_label=True) -> Y",
    layer="cross_entropy",
    precision={"cross_entropy": Precision.BLACK},
)
def soft_cross_entropy(input: Tensor, label: Tensor, ignore_index: int = IGNORED) -> Tensor:
    """The same with distributions as labels."""
    out: Tensor = entropies.cross_entropy.fn(
        input,
        label,
        ignore_index=ignore_index,
        reduction="none",
        soft_label=True,
        use_softmax=False,
    )
    return out


@op(
    "fluid_sigmoid_cross_entropy",
    fluid="sigmoid_cross_entropy_with_logits(X, Label, ignore_index, normalize)",
    layer="sigmoid_cross_entropy_with_logits",
    precision={"sigmoid_cross_entropy_with_logits": Precision.BLACK},
)
def sigmoid_cross_entropy(
    x: Tensor, label: Tensor, ignore_index: int = IGNORED, normalize: bool = False
) -> Tensor:
    """The binary cross entropy of ``sigmoid(x)``; elements labelled ``ignore_index`` give 0, and
    ``normalize`` divides by the number of the others.
    """
    counts = (label != ignore_index).to(x.dtype)
    loss = torch_f.binary_cross_entropy_with_logits(x, label.detach(), reduction="none") * counts
    return loss / counts.sum().clamp(min=1e-5) if normalize else loss


@op(
    "fluid_smooth_l1_loss",
    fluid="smooth_l1_loss(X, Y, InsideWeight, OutsideWeight, sigma) -> Out, Diff",
    layer="smooth_l1_loss:1",
    file_parts=composition.smooth_l1_loss,
)
def smooth_l1_loss(
    x: Tensor,
    y: Tensor,
    inside_weight: Tensor | None = None,
    outside_weight: Tensor | None = None,
    sigma: float = 1.0,
) -> Tensor:
    """The sum over each row of squared differences below ``1 / sigma ** 2`` and absolute ones
    above, of shape [N, 1].
    """
    limit = 1.0 / sigma**2
    gap = torch.abs(x - y if inside_weight is None else (x - y) * inside_weight)
    loss = torch.where(gap < limit, gap * gap * (0.5 / limit), gap - 0.5 * limit)
    loss = loss if outside_weight is None else loss * outside_weight
    return loss.flatten(1).sum(1, keepdim=True)


@op(
    "fluid_huber_loss",
    fluid="huber_loss(X, Y, delta) -> Out, Residual",
    layer="huber_loss:1",
    precision={"huber_loss": Precision.BLACK},
)
def huber_loss(input: Tensor, label: Tensor, delta: float) -> Tensor:
    """Half the squared difference up to ``delta``, then as steep as there, element by element."""
    gap = torch.abs(label - input)
    return torch.where(gap <= delta, 0.5 * gap * gap, delta * (gap - 0.5 * delta))


@op("rank_loss", types=("rank_loss(Label, Left, Right)",))
def rank_loss(label: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """The cross entropy of the probability, ``sigmoid(left - right)``, that left ranks above
    right.
    """
    gap = left - right
    return torch_f.softplus(gap) - label * gap


@op("margin_rank_loss", types=("margin_rank_loss(Label, X1, X2, margin) -> Out, Activated",))
def margin_rank_loss(label: Tensor, left: Tensor, right: Tensor, margin: float = 0.1) -> Tensor:
    """``max(0, margin - label * (left - right))``."""
    return torch.relu(-label * (left - right) + margin)


@op("bpr_loss", types=("bpr_loss(X, Label) -> Y",))
def bpr_loss(input: Tensor, label: Tensor) -> Tensor:
    """Minus the mean of ``log(sigmoid(score of the label - other score))`` over the other classes,
    of shape [N, 1].
    """
    classes = input.shape[-1]
    chosen = torch.gather(input, 1, label)
    others = 1.0 - torch_f.one_hot(label.squeeze(-1), classes).to(input.dtype)
    return (torch_f.softplus(input - chosen) * others).sum(1, keepdim=True) / (classes - 1.0)


@op("cos_sim", types=("cos_sim(X, Y) -> Out, XNorm, YNorm",), file_parts=composition.cos_sim)
def cos_sim(x: Tensor, y: Tensor) -> Tensor:
    """The cosine of the angle between rows, of shape [N, 1]; ``y`` may have one row for all."""

    def norm(rows: Tensor) -> Tensor:
        return rows.square().sum(1, keepdim=True).sqrt()

    return (x * y).sum(1, keepdim=True) / (norm(x) * norm(y))
