"""Noise-contrastive estimation: true classes against a few drawn ones."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from argosy.ops.table import op
from argosy.ops.traits import Rows

SAMPLERS = ("uniform", "log_uniform", "custom_dist")


@op("nce", is_random=True, rows=Rows.OTHER)
def nce(
    x: Tensor,
    label: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    sample_weight: Tensor | None,
    distribution: Tensor | None,
    sampler: str,
    num_negative: int,
    seed: int,
) -> Tensor:
    """The cost of each row, [rows, 1]: how badly its true classes are told from ``num_negative``
    classes that ``sampler`` draws.
    """
    num_classes = weight.shape[0]
    label = label.reshape(x.shape[0], -1)
    if x.is_meta:
        return x.new_empty([x.shape[0], 1])
    drawn = _drawn([x.shape[0], num_negative], num_classes, sampler, distribution, seed)
    classes = torch.cat([label, drawn.to(label)], 1)
    logits = (weight[classes] * x.unsqueeze(1)).sum(2)
    if bias is not None:
        logits = logits + bias.reshape(-1)[classes]
    chance = torch.sigmoid(logits)
    noise = _probability(classes, num_classes, sampler, distribution).to(x.dtype) * num_negative
    is_true = torch.arange(classes.shape[1]) < label.shape[1]
    cost = -torch.log(torch.where(is_true, chance, noise) / (chance + noise))
    total = cost.sum(1, keepdim=True)
    return total if sample_weight is None else total * sample_weight.reshape(-1, 1)


def _drawn(
    shape: list[int], num_classes: int, sampler: str, distribution: Tensor | None, seed: int
) -> Tensor:
    generator = torch.Generator().manual_seed(seed) if seed else None
    if sampler == "uniform":
        return torch.randint(num_classes, shape, generator=generator)
    if sampler == "log_uniform":
        value = torch.exp(torch.rand(shape, generator=generator) * math.log(num_classes))
        return (value.long() - 1) % (num_classes - 1)
    assert distribution is not None
    count = math.prod(shape)
    drawn = torch.multinomial(distribution.float(), count, replacement=True, generator=generator)
    return drawn.reshape(shape)


def _probability(
    classes: Tensor, num_classes: int, sampler: str, distribution: Tensor | None
) -> Tensor:
    if sampler == "uniform":
        return torch.full(classes.shape, 1.0 / num_classes)
    if sampler == "log_uniform":
        value = classes.double()
        return torch.log((value + 2) / (value + 1)) / math.log(num_classes)
    assert distribution is not None
    return distribution[classes]
