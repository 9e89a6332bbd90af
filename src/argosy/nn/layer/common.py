"""Linear, Embedding, Dropout, Flatten, Pad, Upsample and other everyday layers."""

from __future__ import annotations

from typing import Any

from argosy.nn import functional as F
from argosy.nn.layer.layers import Layer

__all__ = ["Linear"]


class Linear(Layer):
    """``y = x @ weight + bias`` with a weight of shape [in_features, out_features].

    Example:
        >>> import paddle
        >>> paddle.nn.Linear(4, 3)(paddle.ones([2, 4])).shape
        [2, 3]
    """

    def __init__(
        self, in_features: int, out_features: int, weight_attr: Any = None, bias_attr: Any = None, name: str | None = None
    ) -> None:
        super().__init__()
        self._dtype = self._default_dtype()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, input: Any) -> Any:
        own = self._parameters
        return F.linear(input, own["weight"], own.get("bias"))

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._dtype}"
