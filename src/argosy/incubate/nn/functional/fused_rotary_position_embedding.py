"""Rotary position embedding."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.foundation.errors import BadArgument

__all__ = ["fused_rotary_position_embedding"]


def fused_rotary_position_embedding(
    q: Any,
    k: Any = None,
    v: Any = None,
    sin: Any = None,
    cos: Any = None,
    position_ids: Any = None,
    use_neox_rotary_style: bool = True,
    time_major: bool = False,
    rotary_emb_base: float = 10000.0,
) -> tuple[Any, Any, Any]:
    """``q``, ``k`` and ``v`` [batch, length, heads, size] (length before batch if ``time_major``),
    turned by angles that grow with the position; None for what is None.

    ``use_neox_rotary_style`` turns each two neighbours, else the halves of ``size``. ``sin`` and
    ``cos`` [1, length, 1, size] or [length, size] are the angles', by default those of
    ``rotary_emb_base``; ``position_ids`` [batch, length] says which of them a place takes.

    Example:
        >>> rope = paddle.incubate.nn.functional.fused_rotary_position_embedding
        >>> q, k, _ = rope(paddle.ones([1, 2, 1, 2]), paddle.ones([1, 2, 1, 2]))
        >>> [round(v, 4) for v in q.flatten().tolist()]
        [1.0, 1.0, -0.3012, 1.3818]
    """
    if sin is None or cos is None:
        if position_ids is not None or not use_neox_rotary_style:
            raise BadArgument(
                "fused_rotary_position_embedding: position_ids, and rotate_half "
                "(use_neox_rotary_style=False), without sin/cos is not correctly supported now; "
                "pass sin and cos"
            )
        sin, cos = _angles(q, time_major, rotary_emb_base)
    size = q.shape[-1]
    sin, cos = (_placed(part, position_ids, size, time_major, q.dtype) for part in (sin, cos))
    turn = _neighbours if use_neox_rotary_style else _halves
    outs = [None if x is None else x * cos + turn(x) * sin for x in (q, k, v)]
    return outs[0], outs[1], outs[2]


def _angles(q: Any, time_major: bool, base: float) -> tuple[Any, Any]:
    length, size = q.shape[0 if time_major else 1], q.shape[-1]
    speeds = T.pow(T.full([], base, "float32"), T.arange(0, size, 2, "float32") * (-1.0 / size))
    turned = T.unsqueeze(T.arange(0, length, 1, "float32"), 1) * T.unsqueeze(speeds, 0)
    both = T.reshape(T.stack([turned, turned], -1), [length, size])
    return T.sin(both), T.cos(both)


def _placed(angle: Any, position_ids: Any, size: int, time_major: bool, dtype: Any) -> Any:
    """[1 or batch, length, 1, size], or with length first."""
    flat = T.cast(T.reshape(angle, [-1, size]), dtype)
    if position_ids is None:
        placed = T.unsqueeze(flat, [0, 2])
    else:
        rows = T.gather(flat, T.reshape(position_ids, [-1]))
        placed = T.unsqueeze(T.reshape(rows, [*position_ids.shape, size]), 2)
    return T.transpose(placed, [1, 0, 2, 3]) if time_major else placed


def _neighbours(x: Any) -> Any:
    return T.reshape(T.stack([-x[..., 1::2], x[..., 0::2]], -1), list(x.shape))


def _halves(x: Any) -> Any:
    half = x.shape[-1] // 2
    return T.concat([-x[..., half:], x[..., :half]], -1)
