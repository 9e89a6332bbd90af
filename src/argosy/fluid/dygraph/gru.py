"""GRUUnit: one step of a gated recurrent unit on inputs that were projected before."""

from __future__ import annotations

from typing import Any

from argosy.fluid.dygraph._scope import takes_scope
from argosy.fluid.dygraph.layers import Layer
from argosy.foundation.errors import UsageError
from argosy.static.record.activation import activate
from argosy.tensor import concat, matmul, reshape, split

_ACTIVATIONS = {"identity": None, "sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu"}


@takes_scope()
class GRUUnit(Layer):
    """``hidden = (1 - u) * hidden + u * candidate`` with ``size // 3`` units; ``origin_mode`` swaps
    ``u`` and ``1 - u``.

    The weight of shape [D, 3D] holds, one after the other in memory, the matrix [D, 2D] of the
    update and reset gates and the matrix [D, D] of the candidate, as files of 1.x have it.
    """

    def __init__(
        self,
        size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        activation: str = "tanh",
        gate_activation: str = "sigmoid",
        origin_mode: bool = False,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        for name in (activation, gate_activation):
            if name not in _ACTIVATIONS:
                raise UsageError(
                    f"GRUUnit: activations can be {', '.join(_ACTIVATIONS)}, but received {name!r}"
                )
        self._activation, self._gate_activation = activation, gate_activation
        self._origin_mode = origin_mode
        self._num_units = size // 3
        self.weight = self.create_parameter(
            [self._num_units, 3 * self._num_units], param_attr, dtype
        )
        self.bias = self.create_parameter([1, 3 * self._num_units], bias_attr, dtype, is_bias=True)

    def forward(self, input: Any, hidden: Any) -> tuple[Any, Any, Any]:
        """Return the new hidden state, the old one after the reset gate, and gates with candidate:
        [N, D], [N, D], [N, 3D].
        """
        return gru_step(
            input,
            hidden,
            self.weight,
            self.bias,
            self._activation,
            self._gate_activation,
            self._origin_mode,
        )


def gru_step(
    input: Any,
    hidden: Any,
    weight: Any,
    bias: Any,
    activation: str,
    gate_activation: str,
    origin_mode: bool,
) -> tuple[Any, Any, Any]:
    """What ``GRUUnit`` returns, from its weight and bias."""
    n = weight.shape[0]
    if bias is not None:
        input = input + bias
    gate_weight, candidate_weight = split(reshape(weight, [-1]), [2 * n * n, n * n])
    projected_gates, projected_candidate = split(input, [2 * n, n], axis=1)
    gates = projected_gates + matmul(hidden, reshape(gate_weight, [n, 2 * n]))
    update, reset = split(activate(gates, _ACTIVATIONS[gate_activation]), 2, axis=1)
    reset_hidden = reset * hidden
    candidate = projected_candidate + matmul(reset_hidden, reshape(candidate_weight, [n, n]))
    candidate = activate(candidate, _ACTIVATIONS[activation])
    kept, taken = (hidden, candidate) if not origin_mode else (candidate, hidden)
    return kept + update * (taken - kept), reset_hidden, concat([update, reset, candidate], axis=1)
