"""Boxes: which of them stay, and boxes relative to others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.ops.detection import anchors, proposals
from argosy.ops.detection import boxes as ops
from argosy.tensor.engine import Tensor, apply


def nms(
    boxes: Any,
    iou_threshold: float = 0.3,
    scores: Any = None,
    category_idxs: Any = None,
    categories: Sequence[int] | None = None,
    top_k: int | None = None,
) -> Any:
    """Positions of the boxes that overlap no better one by more than ``iou_threshold``. Better is
    what has the higher score, without scores what comes first.

    With ``category_idxs`` only boxes of one of the ``categories`` compete, and at most ``top_k``
    are given.

    Example:
        >>> import paddle
        >>> boxes = [[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [3.0, 3.0, 4.0, 4.0]]
        >>> paddle.vision.ops.nms(paddle.to_tensor(boxes)).tolist()
        [0, 2]
    """
    if scores is None:
        return apply(ops.nms, boxes, iou_threshold)
    if category_idxs is None:
        return apply(ops.scored_nms, boxes, scores, None, None, iou_threshold, None)
    if top_k is not None and top_k > scores.shape[0] >= 0:
        raise BadArgument(f"nms: top_k is {top_k}, expected at most {scores.shape[0]}, the boxes")
    if categories is None:
        raise BadArgument("nms: with category_idxs, categories must be given, the list of them all")
    kinds = [int(category) for category in categories]
    return apply(ops.scored_nms, boxes, scores, category_idxs, kinds, iou_threshold, top_k)


def matrix_nms(
    bboxes: Any,
    scores: Any,
    score_threshold: float,
    post_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    use_gaussian: bool = False,
    gaussian_sigma: float = 2.0,
    background_label: int = 0,
    normalized: bool = True,
    return_index: bool = False,
    return_rois_num: bool = True,
    name: str | None = None,
) -> Any:
    """Lower the scores of boxes by their overlap with better ones of the class, all at once, and
    keep those above ``post_threshold``: (class, score, box) of each, how many are of each image,
    and their positions; None stands for what is not asked for.
    """
    out, index, count = apply(
        ops.matrix_nms,
        bboxes,
        scores,
        score_threshold,
        nms_top_k,
        keep_top_k,
        post_threshold,
        use_gaussian,
        gaussian_sigma,
        background_label,
        normalized,
    )
    return out, count if return_rois_num else None, index if return_index else None


def box_coder(
    prior_box: Any,
    prior_box_var: Any,
    target_box: Any,
    code_type: str = "encode_center_size",
    box_normalized: bool = True,
    axis: int = 0,
    name: str | None = None,
) -> Any:
    """Boxes relative to priors ("encode_center_size"), or out of such ("decode_center_size")."""
    if code_type not in ("encode_center_size", "decode_center_size"):
        raise UsageError(
            "box_coder: code_type must be 'encode_center_size' or 'decode_center_size', but is "
            f"{code_type!r}"
        )
    if isinstance(prior_box_var, Tensor):
        variance: list[float] = []
    elif isinstance(prior_box_var, (list, tuple)):
        if len(prior_box_var) != 4:
            raise BadArgument(
                f"box_coder: prior_box_var must have 4 numbers, but has {len(prior_box_var)}"
            )
        variance, prior_box_var = [float(v) for v in prior_box_var], None
    else:
        raise DtypeError(
            "box_coder: prior_box_var must be a Tensor or a list of 4 numbers, but is "
            f"{type(prior_box_var).__name__}"
        )
    options = (code_type, box_normalized, axis, variance)
    return apply(ops.box_coder, prior_box, prior_box_var, target_box, *options)


def _numbers(value: Any) -> list[float]:
    return [float(v) for v in (value if isinstance(value, (list, tuple)) else [value])]


def prior_box(
    input: Any,
    image: Any,
    min_sizes: Any,
    max_sizes: Any = None,
    aspect_ratios: Any = [1.0],  # noqa: B006
    variance: Any = [0.1, 0.1, 0.2, 0.2],  # noqa: B006
    flip: bool = False,
    clip: bool = False,
    steps: Any = [0.0, 0.0],  # noqa: B006
    offset: float = 0.5,
    min_max_aspect_ratios_order: bool = False,
    name: str | None = None,
) -> Any:
    """Boxes of several sizes and shapes around the place of each pixel of ``input`` in ``image``,
    [H, W, boxes, 4] as parts of its sides; and the variances for each.
    """
    places = _numbers(steps)
    if len(places) != 2:
        raise UsageError(f"prior_box: steps should be (step_w, step_h), but is {steps!r}")
    largest = [] if max_sizes is None else _numbers(max_sizes)
    return apply(
        anchors.prior_box,
        input,
        image,
        _numbers(min_sizes),
        largest,
        _numbers(aspect_ratios),
        _numbers(variance),
        flip,
        clip,
        *places,
        offset,
        min_max_aspect_ratios_order,
    )


def distribute_fpn_proposals(
    fpn_rois: Any,
    min_level: int,
    max_level: int,
    refer_level: int,
    refer_scale: int,
    pixel_offset: bool = False,
    rois_num: Any = None,
    name: str | None = None,
) -> Any:
    """Regions by the level of a pyramid that fits their size; where each has gone, when all levels
    stand one after the other; how many of each image are at each level.
    """
    levels = max_level - min_level + 1
    if min_level <= 0 or not 1 < levels < 100:
        raise BadArgument(
            f"distribute_fpn_proposals: the levels {min_level} to {max_level} should be above 0, "
            "and more than 1 and less than 100"
        )
    if rois_num is None:
        raise BadArgument("distribute_fpn_proposals: rois_num should not be None")
    options = (min_level, max_level, refer_level, refer_scale, pixel_offset)
    found = apply(proposals.distribute_fpn_proposals, fpn_rois, rois_num, *options)
    return list(found[:levels]), found[-1], list(found[levels:-1])


def generate_proposals(
    scores: Any,
    bbox_deltas: Any,
    img_size: Any,
    anchors: Any,
    variances: Any,
    pre_nms_top_n: int = 6000,
    post_nms_top_n: int = 1000,
    nms_thresh: float = 0.5,
    min_size: float = 0.1,
    eta: float = 1.0,
    pixel_offset: bool = False,
    return_rois_num: bool = False,
    name: str | None = None,
) -> Any:
    """Boxes that are worth a look: the best of each image that do not overlap; their scores, and
    how many there are of each image, or None.
    """
    boxes, probabilities, count = apply(
        proposals.generate_proposals,
        scores,
        bbox_deltas,
        img_size,
        anchors,
        variances,
        int(pre_nms_top_n),
        int(post_nms_top_n),
        nms_thresh,
        min_size,
        eta,
        pixel_offset,
    )
    return boxes, probabilities, count if return_rois_num else None
