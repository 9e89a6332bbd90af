"""Dropout followed by a sum."""

from __future__ import annotations

from typing import Any

from argosy.incubate.nn.functional import fused_dropout_add
from argosy.nn import Layer

__all__ = ["FusedDropoutAdd"]


class FusedDropoutAdd(Layer):
    """Dropout of its first input, plus its second.

    Example:
        >>> x = paddle.ones([2])
        >>> paddle.incubate.nn.FusedDropoutAdd(p=0.0)(x, x).tolist()
        [2.0, 2.0]
    """

    def __init__(
        self, p: float = 0.5, mode: str = "upscale_in_train", name: str | None = None
    ) -> None:
        super().__init__()
        self.p = p
        self.mode = mode
        self.name = name

    def forward(self, x: Any, y: Any) -> Any:
        return fused_dropout_add(x, y, self.p, self.training, self.mode, self.name)

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return f"p={self.p}, mode={self.mode}{name}"
