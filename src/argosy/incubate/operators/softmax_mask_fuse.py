"""Functions that Paddle fuses."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.nn import functional as F

__all__ = ["softmax_mask_fuse", "softmax_mask_fuse_upper_triangle"]


def softmax_mask_fuse(x: Any, mask: Any, name: str | None = None) -> Any:
    """``softmax(x + mask)`` over the last dimension.

    Example:
        >>> x, mask = paddle.zeros([1, 1, 1, 2]), paddle.to_tensor([[[[0.0, -10000.0]]]])
        >>> paddle.incubate.softmax_mask_fuse(x, mask).numpy().round(3).tolist()
        [[[[1.0, 0.0]]]]
    """
    return F.softmax(x + mask, axis=-1)


def softmax_mask_fuse_upper_triangle(x: Any) -> Any:
    """Softmax over the last dimension of what is not above the diagonal; zero above it.

    Example:
        >>> paddle.incubate.softmax_mask_fuse_upper_triangle(paddle.zeros([1, 1, 2, 2])).tolist()
        [[[[1.0, 0.0], [0.5, 0.5]]]]
    """
    size = list(x.shape)[-2:]
    above = T.triu(T.ones(size, dtype=x.dtype), 1)
    return F.softmax(x * (1 - above) - above * 10000.0, axis=-1) * (1 - above)
