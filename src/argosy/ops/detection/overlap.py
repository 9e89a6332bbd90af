"""How much boxes overlap, and which of them stay when the best come first. No ops: what the
families of this folder share.

A box is (x1, y1, x2, y2). Where coordinates are pixels both ends belong to it, so that it is by
``edge`` = 1 wider than their difference; else ``edge`` is 0.
"""

from __future__ import annotations

import torch
from torch import Tensor


def area(boxes: Tensor, edge: float = 0.0) -> Tensor:
    """The areas; that of a box with an end before its start is 0."""
    width, height = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    is_box = (width >= 0) & (height >= 0)
    return torch.where(is_box, (width + edge) * (height + edge), torch.zeros_like(width))


def overlap(one: Tensor, others: Tensor, edge: float = 0.0) -> Tensor:
    """Intersection over union, with broadcasting."""
    start = torch.maximum(one[..., :2], others[..., :2])
    end = torch.minimum(one[..., 2:], others[..., 2:])
    meets = (end >= start).all(-1)
    common = torch.where(meets, (end - start + edge).prod(-1), torch.zeros_like(end[..., 0]))
    return common / (area(one, edge) + area(others, edge) - common)


def best_first(boxes: Tensor, threshold: float, eta: float = 1.0, edge: float = 0.0) -> Tensor:
    """The positions of those boxes, in their order, that overlap no earlier one that stays by more
    than the threshold. ``eta`` below 1 lowers it with each that stays, as long as it is above a
    half.
    """
    most = boxes.new_zeros(len(boxes))  # by how much each overlaps those that stay
    kept = []
    for i in range(len(boxes)):
        if bool(most[i] > threshold):
            continue
        kept.append(i)
        found = overlap(boxes[i], boxes[i + 1 :], edge)
        most[i + 1 :] = torch.fmax(most[i + 1 :], found)
        if eta < 1 and threshold > 0.5:
            threshold *= eta
    return torch.tensor(kept, dtype=torch.int64, device=boxes.device)


def center_size(boxes: Tensor, edge: float = 0.0) -> tuple[Tensor, Tensor]:
    """Centers and sizes, as [..., 2] each."""
    size = boxes[..., 2:] - boxes[..., :2] + edge
    return boxes[..., :2] + size / 2, size
