"""Clipping of gradients between backward and the optimizer's update.

A clip is called on ``[(parameter, gradient), ...]``. Optimizers use ``apply_raw`` instead, on torch
tensors. Both leave alone the gradients of parameters with ``need_clip=False``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import BadArgument, DtypeError
from argosy.ops.table import Op
from argosy.ops.training import clipping as ops
from argosy.ops.training import row_updates as row_ops
from argosy.tensor.engine import Tensor, apply, current_mode, wrap

__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"]

ParamsGrads = list[tuple[Any, Any]]


class ClipGradBase:
    """Base class. Subclasses define ``_clip`` and, for recording programs, ``_plan``."""

    def __call__(self, params_grads: ParamsGrads) -> ParamsGrads:
        """Return the pairs with clipped gradients; pairs without a gradient are left out."""
        pairs = [(p, g) for p, g in params_grads if g is not None]
        need_clip = [getattr(p, "need_clip", True) is not False for p, _ in pairs]
        if current_mode() is None:
            clipped = self.apply_raw([g.raw for _, g in pairs], need_clip)
            return [
                (p, g if raw is g.raw else wrap(raw))
                for (p, g), raw in zip(pairs, clipped, strict=True)
            ]
        op, attrs = self._plan()
        chosen = [g for (_, g), need in zip(pairs, need_clip, strict=True) if need]
        new = iter(apply(op, chosen, *attrs) if chosen else ())
        return [
            (p, next(new) if need else g) for (p, g), need in zip(pairs, need_clip, strict=True)
        ]

    def apply_raw(self, grads: list[torch.Tensor], need_clip: Sequence[bool]) -> list[torch.Tensor]:
        """Clip torch tensors; the result has the order of ``grads`` and may share, or have
        overwritten, their memory.
        """
        if all(need_clip):
            chosen = grads
        else:
            chosen = [g for g, need in zip(grads, need_clip, strict=True) if need]
        if not chosen:
            return list(grads)
        with torch.no_grad():
            new = self._clip(ops.merged(chosen))
        if chosen is grads:
            return new
        rest = iter(new)
        return [next(rest) if need else g for g, need in zip(grads, need_clip, strict=True)]

    def _clip(self, grads: list[torch.Tensor]) -> list[torch.Tensor]:
        raise NotImplementedError(f"{type(self).__name__} does not define _clip()")

    def _plan(self) -> tuple[Op, tuple[float, ...]]:
        raise NotImplementedError(f"{type(self).__name__} does not define _plan()")


class ClipGradByValue(ClipGradBase):
    """Limit every element to [min, max]; ``min`` is -max unless given."""

    def __init__(self, max: float, min: float | None = None) -> None:
        if min is None:
            if not max > 0.0:
                raise BadArgument(
                    "ClipGradByValue: max must be positive when min is not given, but received "
                    f"{max}"
                )
            min = -max
        self.max = float(max)
        self.min = float(min)

    def __str__(self) -> str:
        return f"Clip Gradient By Value, min = {self.min:f}, max={self.max:f}"

    def _clip(self, grads: list[torch.Tensor]) -> list[torch.Tensor]:
        return list(ops.clip_grads_by_value(grads, self.min, self.max))

    def _plan(self) -> tuple[Op, tuple[float, ...]]:
        return ops.clip_grads_by_value, (self.min, self.max)


class ClipGradByNorm(ClipGradBase):
    """Scale each gradient whose 2-norm is above ``clip_norm`` down to it."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = float(clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"

    def _clip(self, grads: list[torch.Tensor]) -> list[torch.Tensor]:
        return list(ops.clip_grads_by_norm(grads, self.clip_norm))

    def _plan(self) -> tuple[Op, tuple[float, ...]]:
        return ops.clip_grads_by_norm, (self.clip_norm,)


class ClipGradByGlobalNorm(ClipGradBase):
    """Scale all gradients by one factor when their joint 2-norm is above ``clip_norm``; they are
    scaled in place.

    ``auto_skip_clip`` leaves out the multiplication when the norm is small enough, which gives the
    same values.

    Example:
        >>> import paddle
        >>> x = paddle.create_parameter([2], "float32")
        >>> clip = paddle.nn.ClipGradByGlobalNorm(clip_norm=1.0)
        >>> [(_, grad)] = clip([(x, paddle.to_tensor([3.0, 4.0]))])
        >>> [round(v, 4) for v in grad.tolist()]
        [0.6, 0.8]
    """

    def __init__(
        self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False
    ) -> None:
        if not isinstance(auto_skip_clip, bool):
            raise BadArgument(
                "ClipGradByGlobalNorm: auto_skip_clip must be a bool, but received "
                f"{type(auto_skip_clip).__name__}"
            )
        self.clip_norm = float(clip_norm)
        self.group_name = group_name
        self.auto_skip_clip = auto_skip_clip

    def __str__(self) -> str:
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"

    def _clip(self, grads: list[torch.Tensor]) -> list[torch.Tensor]:
        norm = ops.total_norm(grads)
        if not (self.auto_skip_clip and bool(norm <= self.clip_norm)):
            ops.scale_(grads, ops.shrink_factor(norm, self.clip_norm))
        return grads

    def _plan(self) -> tuple[Op, tuple[float, ...]]:
        return ops.clip_grads_by_global_norm, (self.clip_norm,)


def clip_by_norm(x: Any, max_norm: float, name: str | None = None) -> Any:
    """Scale ``x`` down so that its 2-norm is at most ``max_norm``."""
    if not isinstance(max_norm, (int, float)):
        raise DtypeError(
            f"clip_by_norm: max_norm must be a number, but received {type(max_norm).__name__}"
        )
    return apply(ops.clip_by_norm, x, float(max_norm))


def _squared_l2_norm(x: Any) -> Any:
    """The sum of squares, of shape [1]; hybrid-parallel scripts build their own clipping on it."""
    return apply(ops.squared_l2_norm, x)


def get_tensor_from_selected_rows(x: Any, name: str | None = None) -> Any:
    """The values of a row-sparse gradient, without the numbers of the rows."""
    return apply(row_ops.get_tensor_from_selected_rows, _rows(x, "get_tensor_from_selected_rows"))


def merge_selected_rows(x: Any, name: str | None = None) -> Any:
    """A row-sparse gradient with each row once: those that repeat are summed."""
    return apply(row_ops.merge_selected_rows, _rows(x, "merge_selected_rows"))


def _rows(x: Any, call: str) -> Any:
    if not isinstance(x, Tensor) or x.type != "selected_rows":
        found = x.type if isinstance(x, Tensor) else type(x).__name__
        raise DtypeError(f"{call}: x must be a row-sparse tensor, but received {found}")
    return x


# the names of Paddle 1.x, which later versions keep
GradientClipBase = ClipGradBase
GradientClipByValue = ClipGradByValue
GradientClipByNorm = ClipGradByNorm
GradientClipByGlobalNorm = ClipGradByGlobalNorm
