"""A linear layer."""

from __future__ import annotations

from typing import Any

from argosy.incubate.nn.functional import fused_linear
from argosy.nn import Layer

__all__ = ["FusedLinear"]


class FusedLinear(Layer):
    """A linear layer, whose weight is stored transposed if ``transpose_weight``.

    Example:
        >>> layer = paddle.incubate.nn.FusedLinear(2, 3, transpose_weight=True)
        >>> layer.weight.shape, layer(paddle.ones([1, 2])).shape
        ([3, 2], [1, 3])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        transpose_weight: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        shape = [out_features, in_features] if transpose_weight else [in_features, out_features]
        self.weight: Any = self.create_parameter(shape, weight_attr)
        self.bias: Any = self.create_parameter([out_features], bias_attr, is_bias=True)
        self.transpose_weight = transpose_weight
        self.name = name

    def forward(self, input: Any) -> Any:
        return fused_linear(input, self.weight, self.bias, self.transpose_weight, self.name)
