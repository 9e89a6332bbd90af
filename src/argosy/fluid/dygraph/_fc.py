"""FC, the fully connected layer of 1.5 and 1.6, which learns the width of its input at its first
call.
"""

from __future__ import annotations

import math
from typing import Any

from argosy.fluid.dygraph.layers import Layer
from argosy.static.record.activation import activate
from argosy.static.record.folding import mul


class FC(Layer):
    """``act(sum of flattened inputs @ weights + bias)``; axes from ``num_flatten_dims`` on are
    joined into the columns.

    ``forward`` takes one input or a list of them; each has a weight of its own. The parameters
    exist after the first call.
    """

    def __init__(
        self,
        name_scope: str,
        size: int,
        num_flatten_dims: int = 1,
        param_attr: Any = None,
        bias_attr: Any = None,
        act: str | None = None,
        is_test: bool = False,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(name_scope, dtype)
        self._size, self._num_flatten_dims, self._act = size, num_flatten_dims, act
        self._param_attr, self._bias_attr = param_attr, bias_attr
        self._b: Any = None

    def _build_once(self, input: Any) -> None:
        for i, one in enumerate(_listed(input)):
            shape = [math.prod(one.shape[self._num_flatten_dims :]), self._size]
            self.add_parameter(
                f"_w{i}", self.create_parameter(shape, self._param_attr, self._dtype)
            )
        self._b = self.create_parameter([self._size], self._bias_attr, self._dtype, is_bias=True)

    @property
    def weight(self) -> Any:
        """The weight, or the list of weights if the layer takes several inputs."""
        weights = [p for name, p in self._parameters.items() if name.startswith("_w")]
        return weights[0] if len(weights) == 1 else weights

    @property
    def bias(self) -> Any:
        return self._b

    def forward(self, input: Any) -> Any:
        own = self._parameters
        products = [
            mul(one, own[f"_w{i}"], self._num_flatten_dims) for i, one in enumerate(_listed(input))
        ]
        out = sum(products[1:], products[0])
        return activate(out if self._b is None else out + self._b, self._act)


def _listed(input: Any) -> list[Any]:
    return list(input) if isinstance(input, (list, tuple)) else [input]
