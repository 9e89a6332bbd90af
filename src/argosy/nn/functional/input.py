"""Functions of ids."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import UsageError
from argosy.ops.nn import embedding as ops
from argosy.tensor.engine import apply

__all__ = ["embedding", "embedding_renorm_", "one_hot"]


def one_hot(x: Any, num_classes: Any = -1, name: str | None = None) -> Any:
    """Turn ids into float32 rows with a single one; -1 makes them as wide as the largest id
    needs.
    """
    return apply(ops.one_hot, x, int(num_classes))


def embedding_renorm_(x: Any, weight: Any, max_norm: float, norm_type: float = 2.0) -> Any:
    """Scale down, in place, the rows of ``weight`` named in ``x`` whose norm exceeds ``max_norm``;
    returns ``weight``.
    """
    apply(ops.embedding_renorm_, x, weight, float(max_norm), float(norm_type))
    return weight


def embedding(
    x: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    sparse: bool = False,
    scale_grad_by_freq: bool = False,
    name: str | None = None,
) -> Any:
    """Look up rows of ``weight``.

    The row ``padding_idx`` (negative counts from the end) reads as zeros and gets no gradient. With
    ``sparse`` the gradient of ``weight`` is row-sparse. With ``max_norm`` the rows that are read
    are first scaled down in place.

    Differs from Paddle: with ``sparse`` the padding row gets a zero gradient too, and a negative id
    is an error.

    Example:
        >>> import paddle
        >>> weight = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> paddle.nn.functional.embedding(paddle.to_tensor([1, 0]), weight,
        ...     padding_idx=-1).tolist()
        [[0.0, 0.0], [1.0, 2.0]]
    """
    padding = -1
    if padding_idx is not None:
        rows = weight.shape[0]
        padding = padding_idx if padding_idx >= 0 else rows + padding_idx
        if not 0 <= padding < rows:
            raise UsageError(
                f"embedding: padding_idx must be within [-{rows}, {rows}), but received "
                f"{padding_idx}"
            )
    if max_norm:
        weight = embedding_renorm_(x, weight, max_norm, norm_type)
    if scale_grad_by_freq and sparse:
        raise UsageError(
            "embedding: scale_grad_by_freq = True is not supported with sparse update."
        )
    return apply(ops.embedding, x, weight, padding, sparse, scale_grad_by_freq)
