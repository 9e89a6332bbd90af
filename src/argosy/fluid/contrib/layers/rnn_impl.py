"""GRU and LSTM made of basic operators: single steps as layers, and several layers of them over
padded sequences in both directions.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from argosy import tensor as T
from argosy.fluid.dygraph.layers import Layer
from argosy.fluid.layers.control_flow import StaticRNN
from argosy.fluid.layers.nn import dropout, matmul
from argosy.foundation.errors import BadArgument
from argosy.nn import functional as F

Activation = Callable[[Any], Any]


def _named(attr: Any, suffix: str) -> Any:
    """An attribute whose name, if it has one, is continued."""
    if attr is None or getattr(attr, "name", None) is None:
        return attr
    attr = copy.deepcopy(attr)
    attr.name += suffix
    return attr


class _Unit(Layer):
    """What both units are given."""

    def __init__(
        self,
        name_scope: str,
        hidden_size: int,
        param_attr: Any,
        bias_attr: Any,
        gate_activation: Activation | None,
        activation: Activation | None,
        dtype: Any,
    ) -> None:
        super().__init__(f"{name_scope}/{type(self).__name__}", dtype)
        self._hidden_size = hidden_size
        self._attrs = param_attr, bias_attr
        self._gate_activation = gate_activation or F.sigmoid
        self._activation = activation or T.tanh

    def _parameters_of(self, input: Any, width: int, suffix: str = "") -> tuple[Any, Any]:
        """Weight and bias for the input beside the hidden state."""
        if input.shape[-1] <= 0:
            raise BadArgument(
                f"{type(self).__name__}: the width of the input must be known, but its shape is "
                f"{list(input.shape)}"
            )
        rows, dtype = input.shape[-1] + self._hidden_size, self._dtype
        param_attr, bias_attr = (_named(attr, suffix) for attr in self._attrs)
        return (
            self.create_parameter([rows, width], param_attr, dtype),
            self.create_parameter([width], bias_attr, dtype, is_bias=True),
        )


class BasicGRUUnit(_Unit):
    """One step of a GRU: ``unit(input, pre_hidden)`` is the new hidden state."""

    def __init__(
        self,
        name_scope: str,
        hidden_size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        gate_activation: Activation | None = None,
        activation: Activation | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(
            name_scope, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype
        )

    def _build_once(self, input: Any, pre_hidden: Any) -> None:
        width = self._hidden_size
        self._gate_weight, self._gate_bias = self._parameters_of(input, 2 * width, "_gate")
        self._candidate_weight, self._candidate_bias = self._parameters_of(
            input, width, "_candidate"
        )

    def forward(self, input: Any, pre_hidden: Any) -> Any:
        gates = matmul(T.concat([input, pre_hidden], 1), self._gate_weight) + self._gate_bias
        reset, update = T.split(self._gate_activation(gates), 2, 1)
        candidate = matmul(T.concat([input, reset * pre_hidden], 1), self._candidate_weight)
        candidate = self._activation(candidate + self._candidate_bias)
        return update * pre_hidden + (1 - update) * candidate


class BasicLSTMUnit(_Unit):
    """One step of an LSTM: ``unit(input, pre_hidden, pre_cell)`` is the new hidden state and
    cell.
    """

    def __init__(
        self,
        name_scope: str,
        hidden_size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        gate_activation: Activation | None = None,
        activation: Activation | None = None,
        forget_bias: float = 1.0,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(
            name_scope, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype
        )
        self._forget_bias = forget_bias

    def _build_once(self, input: Any, pre_hidden: Any, pre_cell: Any) -> None:
        self._weight, self._bias = self._parameters_of(input, 4 * self._hidden_size)

    def forward(self, input: Any, pre_hidden: Any, pre_cell: Any) -> tuple[Any, Any]:
        gate = self._gate_activation
        gates = matmul(T.concat([input, pre_hidden], 1), self._weight) + self._bias
        into, candidate, keep, out = T.split(gates, 4, -1)
        cell = pre_cell * gate(keep + self._forget_bias) + gate(into) * self._activation(candidate)
        return self._activation(cell) * gate(out), cell


def basic_gru(
    input: Any,
    init_hidden: Any,
    hidden_size: int,
    num_layers: int = 1,
    sequence_length: Any = None,
    dropout_prob: float = 0.0,
    bidirectional: bool = False,
    batch_first: bool = True,
    param_attr: Any = None,
    bias_attr: Any = None,
    gate_activation: Activation | None = None,
    activation: Activation | None = None,
    dtype: Any = "float32",
    name: str = "basic_gru",
) -> tuple[Any, Any]:
    """Layers of GRU over padded sequences: the hidden states of the last one in each step, and the
    last of each layer and direction.
    """

    def unit(scope: str, suffix: str) -> Any:
        attrs = _named(param_attr, suffix.format("w")), _named(bias_attr, suffix.format("b"))
        return BasicGRUUnit(scope, hidden_size, *attrs, gate_activation, activation, dtype)

    out, [hidden] = _run_layers(
        input,
        None if init_hidden is None else [init_hidden],
        _layers_of(unit, name, num_layers, bidirectional),
        hidden_size,
        1,
        sequence_length,
        (dropout_prob, "downgrade_in_infer"),
        batch_first,
    )
    return out, hidden


def basic_lstm(
    input: Any,
    init_hidden: Any,
    init_cell: Any,
    hidden_size: int,
    num_layers: int = 1,
    sequence_length: Any = None,
    dropout_prob: float = 0.0,
    bidirectional: bool = False,
    batch_first: bool = True,
    param_attr: Any = None,
    bias_attr: Any = None,
    gate_activation: Activation | None = None,
    activation: Activation | None = None,
    forget_bias: float = 1.0,
    dtype: Any = "float32",
    name: str = "basic_lstm",
) -> tuple[Any, Any, Any]:
    """Layers of LSTM over padded sequences: the hidden states of the last one in each step, and the
    last hidden states and cells of each layer and direction.
    """

    def unit(scope: str, suffix: str) -> Any:
        attrs = _named(param_attr, suffix.format("w")), _named(bias_attr, suffix.format("b"))
        return BasicLSTMUnit(
            scope, hidden_size, *attrs, gate_activation, activation, forget_bias, dtype
        )

    out, [hidden, cell] = _run_layers(
        input,
        None if init_hidden is None else [init_hidden, init_cell],
        _layers_of(unit, name, num_layers, bidirectional),
        hidden_size,
        2,
        sequence_length,
        (dropout_prob, "upscale_in_train"),
        batch_first,
    )
    return out, hidden, cell


def _layers_of(
    unit: Callable[[str, str], Any], name: str, num_layers: int, bidirectional: bool
) -> list[list[Any]]:
    """The units of each direction."""
    scopes = [("layers", "fw"), ("reverse_layers", "bw")][: 2 if bidirectional else 1]
    return [
        [unit(f"{name}_{scope}_{i}", f"_{way}_{{}}_{i}") for i in range(num_layers)]
        for scope, way in scopes
    ]


def _run_layers(
    input: Any,
    inits: Sequence[Any] | None,
    directions: list[list[Any]],
    hidden_size: int,
    num_states: int,
    sequence_length: Any,
    drops: tuple[float, str],
    batch_first: bool,
) -> tuple[Any, list[Any]]:
    """The outputs of the last layer, and each state of all layers at the end."""
    num_layers = len(directions[0])
    x = T.transpose(input, [1, 0, 2]) if batch_first else input
    mask = None
    if sequence_length is not None:
        mask = F.sequence_mask(sequence_length, maxlen=T.shape(x)[0], dtype="float32")
        mask = T.transpose(mask, [1, 0])
    if inits is not None:
        shape = [num_layers, len(directions), -1, hidden_size]
        inits = [T.reshape(init, shape) for init in inits]
    outs, lasts = [], []
    for way, units in enumerate(directions):
        given = [v if v is None or way == 0 else T.flip(v, [0]) for v in (x, mask)]
        out, last = _run_direction(
            given[0], given[1], units, inits, way, hidden_size, num_states, drops
        )
        outs.append(T.flip(out, [0]) if way else out)
        lasts.append(last)
    whole = [num_layers * len(directions), -1, hidden_size]
    states = [T.reshape(T.concat(list(parts), 1), whole) for parts in zip(*lasts, strict=True)]
    out = outs[0] if len(outs) == 1 else T.concat(outs, 2)
    return (T.transpose(out, [1, 0, 2]) if batch_first else out), states


def _run_direction(
    x: Any,
    mask: Any,
    units: list[Any],
    inits: Sequence[Any] | None,
    way: int,
    hidden_size: int,
    num_states: int,
    drops: tuple[float, str],
) -> tuple[Any, list[Any]]:
    """The outputs of all layers in one direction, and each state at the end, a row per layer."""
    # outside of the step, where memories begin
    starts = [[init[i, way] for init in inits or ()] for i in range(len(units))]
    rnn = StaticRNN()
    with rnn.step():
        step = rnn.step_input(x)
        step_mask = None if mask is None else T.unsqueeze(rnn.step_input(mask), [1])
        for i, unit in enumerate(units):
            olds = [
                rnn.memory(batch_ref=x, shape=[-1, hidden_size])
                if inits is None
                else rnn.memory(init=starts[i][k])
                for k in range(num_states)
            ]
            news = unit(step, *olds)
            for old, new in zip(olds, news if num_states > 1 else [news], strict=True):
                if step_mask is not None:  # behind its end a sequence stays as it was
                    new = new * step_mask - old * (step_mask - 1)
                rnn.update_memory(old, new)
                rnn.step_output(new)
                step = new if old is olds[0] else step
            if drops[0]:
                step = dropout(step, drops[0], dropout_implementation=drops[1])
        rnn.step_output(step)
    *kept, out = rnn()
    shape = [len(units), -1, hidden_size]
    lasts = [
        T.reshape(T.concat([state[-1] for state in kept[k::num_states]], 0), shape)
        for k in range(num_states)
    ]
    return out, lasts
