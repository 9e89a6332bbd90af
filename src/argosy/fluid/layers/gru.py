"""One step of a GRU, which a layer of dygraph and a function of programs share."""

from __future__ import annotations

from typing import Any

from argosy.static.record.activation import activate
from argosy.tensor import concat, matmul, reshape, split

ACTIVATIONS = {"identity": None, "sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu"}


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
    update, reset = split(activate(gates, ACTIVATIONS[gate_activation]), 2, axis=1)
    reset_hidden = reset * hidden
    candidate = projected_candidate + matmul(reset_hidden, reshape(candidate_weight, [n, n]))
    candidate = activate(candidate, ACTIVATIONS[activation])
    kept, taken = (hidden, candidate) if not origin_mode else (candidate, hidden)
    return kept + update * (taken - kept), reset_hidden, concat([update, reset, candidate], axis=1)


# -- losses: means and sums have shape [1]
