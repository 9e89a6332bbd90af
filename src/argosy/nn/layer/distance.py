"""Layers that measure distances."""

from __future__ import annotations

from typing import Any

from argosy.nn import functional as F
from argosy.nn.layer.layers import Layer

__all__ = ["PairwiseDistance"]


class PairwiseDistance(Layer):
    """The p-norm of ``x - y + epsilon`` over the last axis.

    Example:
        >>> import paddle
        >>> paddle.nn.PairwiseDistance(p=1.0, epsilon=0.0)(paddle.ones([2, 3]), paddle.zeros([2,
        ...     3])).tolist()
        [3.0, 3.0]
    """

    def __init__(
        self, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None
    ) -> None:
        super().__init__()
        self.p = p
        self.epsilon = epsilon
        self.keepdim = keepdim
        self.name = name

    def forward(self, x: Any, y: Any) -> Any:
        return F.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim, self.name)

    def extra_repr(self) -> str:
        parts = [f"p={self.p}"]
        if self.epsilon != 1e-6:
            parts.append(f"epsilon={self.epsilon}")
        if self.keepdim is not False:
            parts.append(f"keepdim={self.keepdim}")
        if self.name is not None:
            parts.append(f"name={self.name}")
        return ", ".join(parts)

    @property
    def norm(self) -> float:
        """Another name of ``p``."""
        return self.p

    @norm.setter
    def norm(self, value: float) -> None:
        self.p = value

    @property
    def eps(self) -> float:
        """Another name of ``epsilon``."""
        return self.epsilon

    @eps.setter
    def eps(self, value: float) -> None:
        self.epsilon = value
