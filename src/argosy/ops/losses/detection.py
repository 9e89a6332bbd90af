"""The mean average precision of detected boxes, over one batch or over all so far."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from argosy.foundation.errors import UsageError
from argosy.ops.table import op
from argosy.ops.traits import Rows

AP_TYPES = ("integral", "11point")


class _Found:
    """What is counted by class: the boxes that are there, and of those detected the scores with 1
    for the right ones, 0 for the others.
    """

    def __init__(self) -> None:
        self.positives: dict[int, int] = defaultdict(int)
        self.scored: dict[int, list[tuple[float, int]]] = defaultdict(list)

    def resume(self, pos_count: Tensor, true_pos: Tensor, starts: Tensor) -> None:
        self.positives.update(enumerate(pos_count.reshape(-1).tolist()))
        rows = true_pos.tolist()
        for kind, (start, end) in enumerate(pairwise(starts.tolist())):
            self.scored[kind] += [(score, int(right)) for score, right in rows[start:end]]

    def state(self, class_num: int, like: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        counts = [[self.positives.get(kind, 0)] for kind in range(class_num)]
        groups = [self.scored.get(kind, []) for kind in range(class_num)]
        rows = like.new_tensor([pair for group in groups for pair in group]).reshape(-1, 2)
        starts = np.cumsum([0, *map(len, groups)])
        wrong = torch.stack([rows[:, 0], 1 - rows[:, 1]], 1)
        return torch.tensor(counts, dtype=torch.int32), rows, wrong, torch.from_numpy(starts)


@op(
    "detection_map",
    rows=Rows.OTHER,
    layer="detection_map",
    types=(
        "detection_map(DetectRes, Label, -, -, class_num, overlap_threshold, evaluate_difficult, "
        "ap_type, HasState, PosCount, TruePos, FalsePos, -)"
        " -> MAP, AccumPosCount, AccumTruePos, AccumFalsePos",
    ),
)
def detection_map(
    detections: Tensor,
    label: Tensor,
    detection_offsets: Tensor | None,
    label_offsets: Tensor | None,
    class_num: int,
    overlap_threshold: float = 0.3,
    evaluate_difficult: bool = True,
    ap_type: str = "integral",
    has_state: Tensor | None = None,
    pos_count: Tensor | None = None,
    true_pos: Tensor | None = None,
    false_pos: Tensor | None = None,
    starts: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The mean average precision, [1], and the state that the next batch goes on from.

    Rows of ``detections`` are [class, score, x1, y1, x2, y2], those of ``label`` [class, (whether
    it is difficult,) x1, y1, x2, y2], both one sequence per image. Of the state, ``false_pos`` says
    the opposite of ``true_pos``, and ``starts`` where the rows of each class begin in both.
    """
    if detections.is_meta:
        rows = detections.new_empty([detections.shape[0], 2])
        count = torch.empty([class_num, 1], dtype=torch.int32, device="meta")
        begin = torch.empty([class_num + 1], dtype=torch.int64, device="meta")
        return detections.new_empty([1]), count, rows, rows.clone(), begin
    if detection_offsets is None or label_offsets is None:
        raise UsageError("detection_map: feed detections and labels as sequences, one per image")
    if len(detection_offsets) != len(label_offsets):
        raise UsageError(
            "detection_map: the batch_size of Label and of DetectRes must be the same, but there "
            f"are {len(label_offsets) - 1} and {len(detection_offsets) - 1} images"
        )
    found = _Found()
    if has_state is not None and has_state.item():
        assert pos_count is not None
        assert true_pos is not None
        assert starts is not None
        found.resume(pos_count, true_pos, starts)
    images = zip(
        pairwise(detection_offsets.tolist()), pairwise(label_offsets.tolist()), strict=True
    )
    boxes, truth = detections.detach().cpu().numpy(), label.detach().cpu().numpy()
    for (first, last), (start, end) in images:
        _count(found, boxes[first:last], truth[start:end], overlap_threshold, evaluate_difficult)
    mean = _mean(found, ap_type, boxes.dtype)
    return detections.new_tensor([mean]), *found.state(class_num, detections)


def _count(
    found: _Found, boxes: np.ndarray, truth: np.ndarray, threshold: float, with_difficult: bool
) -> None:
    """Add one image."""
    kinds = truth[:, 0].astype(int)
    is_difficult = np.zeros(len(truth), bool) if truth.shape[1] == 5 else abs(truth[:, 1]) >= 1e-6
    is_counted = np.full(len(truth), True) if with_difficult else ~is_difficult
    for kind in kinds[is_counted].tolist():
        found.positives[kind] += 1
    found_kinds = boxes[:, 0].astype(int)
    for kind in np.unique(found_kinds).tolist():
        mine = boxes[found_kinds == kind]
        there = np.flatnonzero(kinds == kind)
        if not len(there):
            found.scored[kind] += [(score, 0) for score in mine[:, 1].tolist()]
            continue
        mine = mine[np.argsort(-mine[:, 1], kind="stable")]
        overlaps = _overlaps(mine[:, 2:].clip(0, 1), truth[there, -4:])
        taken = set[int]()
        for score, row in zip(mine[:, 1].tolist(), overlaps, strict=True):
            best = int(row.argmax())
            if not row[best] > np.float32(threshold):
                found.scored[kind].append((score, 0))
            elif is_counted[there[best]]:
                found.scored[kind].append((score, int(best not in taken)))
                taken.add(best)


def _overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The area that each of ``boxes`` shares with each of ``others``, by the area of both."""
    one, two = boxes[:, None], others[None]
    low, high = np.maximum(one[..., :2], two[..., :2]), np.minimum(one[..., 2:], two[..., 2:])
    shared = (high - low).prod(-1)
    areas = [(b[..., 2:] - b[..., :2]).prod(-1) for b in (one, two)]
    is_apart = (two[..., :2] > one[..., 2:]) | (two[..., 2:] < one[..., :2])
    whole = areas[0] + areas[1] - shared
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(is_apart.any(-1), 0, shared / whole)


def _mean(found: _Found, ap_type: str, dtype: np.dtype) -> float:
    """The mean over the classes that have boxes; Paddle's counts the background class too."""
    precisions = [
        _average(found.scored[kind], count, ap_type, dtype) if kind in found.scored else 0.0
        for kind, count in sorted(found.positives.items())
        if count
    ]
    return sum(precisions) / len(precisions) if precisions else 0.0


def _average(scored: list[tuple[float, int]], count: int, ap_type: str, dtype: np.dtype) -> float:
    """The average precision of one class of ``count`` boxes."""
    ordered = [right for _, right in sorted(scored, key=lambda pair: -pair[0])]
    right = np.cumsum(ordered)
    precision = right.astype(dtype) / np.arange(1, len(right) + 1, dtype=dtype)
    recall = right.astype(dtype) / dtype.type(count)
    if ap_type == "11point":
        at_least = [precision[recall.astype(float) >= j / 10.0] for j in range(11)]
        return sum(float(values.max(initial=0.0)) for values in at_least) / 11
    steps = np.diff(recall, prepend=dtype.type(0))
    return float((precision * np.where(abs(steps) > 1e-6, abs(steps), 0)).sum())
