"""Masks from lengths, beams, shifted frames."""

from __future__ import annotations

from typing import Any

from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError
from argosy.nn.functional.window import is_channel_last
from argosy.ops.images import vision as vision_ops
from argosy.ops.nn import embedding as id_ops
from argosy.tensor import diag_embed
from argosy.tensor.engine import Tensor, apply

__all__ = ["diag_embed", "sequence_mask", "gather_tree", "temporal_shift"]


def sequence_mask(x: Any, maxlen: Any = None, dtype: Any = "int64", name: str | None = None) -> Any:
    """Make a row for each length in ``x``: ones up to it, zeros to ``maxlen`` (the largest length
    unless given).

    Example:
        >>> import paddle
        >>> paddle.nn.functional.sequence_mask(paddle.to_tensor([1, 3])).tolist()
        [[1, 0, 0], [1, 1, 1]]
    """
    width = maxlen if isinstance(maxlen, Tensor) else -1 if maxlen is None else int(maxlen)
    return apply(id_ops.sequence_mask, x, width, dtypes.to_torch(dtype))


def gather_tree(ids: Any, parents: Any) -> Any:
    """Read the full sequences of a beam search, [length, batch, beam], back from the last step."""
    if len(ids.shape) != 3 or list(ids.shape) != list(parents.shape):
        raise UsageError(
            "gather_tree: ids and parents must both be [length, batch_size, beam_size], "
            f"but received {list(ids.shape)} and {list(parents.shape)}"
        )
    return apply(id_ops.gather_tree, ids, parents)


def temporal_shift(
    x: Any,
    seg_num: int,
    shift_ratio: float = 0.25,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """Shift a share of the channels of each frame to its neighbours; ``seg_num`` frames make a
    clip.
    """
    last = is_channel_last(data_format, 2, "temporal_shift")
    if isinstance(seg_num, Tensor) or x.shape[0] % seg_num != 0:
        raise UsageError(
            f"temporal_shift: {x.shape[0]} frames are not a multiple of seg_num={seg_num}"
        )
    return apply(vision_ops.temporal_shift, x, seg_num, shift_ratio, last)
