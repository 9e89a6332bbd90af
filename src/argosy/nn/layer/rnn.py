"""Recurrent layers: cells, RNN and BiRNN that run a cell over time, and the stacked SimpleRNN, LSTM
and GRU.

The stacked layers, and RNN over one of the three cells, run a fused op over the whole sequence. A
cell of the user's own, or one with hooks, is called step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import BadArgument, UsageError
from argosy.framework.mode import switch
from argosy.nn import functional as F
from argosy.nn.layer._rnn_cell import (
    WEIGHT_NAMES,
    GateCell,
    GRUCell,
    LSTMCell,
    RNNCellBase,
    SimpleRNNCell,
)
from argosy.nn.layer.container import LayerList
from argosy.nn.layer.layers import Layer
from argosy.ops.nn import recurrent as ops
from argosy.tensor import manipulation
from argosy.tensor.attribute import shape
from argosy.tensor.engine import Tensor, apply
from argosy.utils.layers_utils import (
    assert_same_structure,
    flatten,
    map_structure,
    pack_sequence_as,
)

__all__ = [
    "RNNCellBase",
    "SimpleRNNCell",
    "LSTMCell",
    "GRUCell",
    "RNN",
    "BiRNN",
    "SimpleRNN",
    "LSTM",
    "GRU",
]


def _is_fusible(cell: Any) -> bool:
    """Whether running ``cell`` step by step does exactly what the fused op does."""
    return type(cell) in (SimpleRNNCell, LSTMCell, GRUCell) and not (
        cell._forward_pre_hooks or cell._forward_post_hooks
    )


def rnn(
    cell: Any,
    inputs: Any,
    initial_states: Any = None,
    sequence_length: Any = None,
    time_major: bool = False,
    is_reverse: bool = False,
    **kwargs: Any,
) -> Any:
    """Run ``cell`` over time and return (outputs, final states).

    ``kwargs`` go to every call of the cell. Past a row's length its states stand still; its outputs
    there are meaningless.
    """
    batch_axis = 1 if time_major else 0
    if sequence_length is None and not kwargs and isinstance(inputs, Tensor) and _is_fusible(cell):
        states = (
            cell.get_initial_states(inputs, batch_dim_idx=batch_axis)
            if initial_states is None
            else initial_states
        )
        out, *final = apply(
            ops.rnn_layer,
            inputs,
            flatten(states),
            list(cell.ordered_weights()),
            cell.kind,
            is_reverse,
            time_major,
        )
        return out, tuple(final) if len(final) > 1 else final[0]
    states = (
        cell.get_initial_states(inputs, batch_dim_idx=batch_axis)
        if initial_states is None
        else initial_states
    )
    if switch.is_static:
        return _recorded(cell, inputs, states, sequence_length, 1 - batch_axis, is_reverse, kwargs)
    time_axis = 1 - batch_axis
    leaves = [manipulation.unbind(x, axis=time_axis) for x in flatten(inputs)]
    num_steps = len(leaves[0])
    outputs: list[Any] = [None] * num_steps
    for t in reversed(range(num_steps)) if is_reverse else range(num_steps):
        outputs[t], new_states = cell(
            pack_sequence_as(inputs, [leaf[t] for leaf in leaves]), states, **kwargs
        )
        if sequence_length is not None:
            new_states = _hold_finished(new_states, states, sequence_length, t)
        states = new_states
    return map_structure(
        lambda *steps: manipulation.stack(list(steps), axis=time_axis), *outputs
    ), states


def _recorded(
    cell: Any,
    inputs: Any,
    states: Any,
    sequence_length: Any,
    time_axis: int,
    is_reverse: bool,
    kwargs: dict[str, Any],
) -> Any:
    """The calls of a cell as a loop of a program, which may learn the number of steps in a run."""
    leaves = flatten(inputs)
    length = leaves[0].shape[time_axis]
    count = manipulation.cast(shape(leaves[0])[time_axis : time_axis + 1], "int64")
    if sequence_length is not None:
        sequence_length = manipulation.cast(sequence_length, "int64")
    made: list[Any] = []

    def step(time: Any, carried: list[Any]) -> Any:
        t = count - 1 - time if is_reverse else time
        row = [
            manipulation.squeeze(manipulation.gather(x, t, axis=time_axis), time_axis)
            for x in leaves
        ]
        old = pack_sequence_as(states, carried)
        outputs, new = cell(pack_sequence_as(inputs, row), old, **kwargs)
        assert_same_structure(old, new, check_types=False)
        if sequence_length is not None:
            new = _hold_finished(new, old, sequence_length - t, 0)
        made[:] = outputs, new
        return flatten(outputs), flatten(new), time + 1 < count

    stacked, last = switch.repeat(step, flatten(states), count > 0, length)

    def placed(x: Any) -> Any:
        x = manipulation.flip(x, [0]) if is_reverse else x
        return x if time_axis == 0 else manipulation.transpose(x, [1, 0, *range(2, x.ndim)])

    outputs, new = made
    return pack_sequence_as(outputs, list(map(placed, stacked))), pack_sequence_as(new, last)


def _hold_finished(new_states: Any, states: Any, sequence_length: Any, t: int) -> Any:
    return map_structure(
        lambda new, old: apply(ops.rnn_hold_finished, new, old, sequence_length, t),
        new_states,
        states,
    )


def birnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_states: Any = None,
    sequence_length: Any = None,
    time_major: bool = False,
    **kwargs: Any,
) -> Any:
    """Run one cell forward and one backward over time; outputs are concatenated, states paired."""
    states_fw, states_bw = (None, None) if initial_states is None else initial_states
    out_fw, states_fw = rnn(
        cell_fw, inputs, states_fw, sequence_length, time_major, False, **kwargs
    )
    out_bw, states_bw = rnn(cell_bw, inputs, states_bw, sequence_length, time_major, True, **kwargs)
    outputs = map_structure(lambda x, y: manipulation.concat([x, y], -1), out_fw, out_bw)
    return outputs, (states_fw, states_bw)


class RNN(Layer):
    """Run a cell over the time axis of its input.

    Example:
        >>> import paddle
        >>> outputs, final = paddle.nn.RNN(paddle.nn.GRUCell(4, 8))(paddle.ones([2, 5, 4]))
        >>> outputs.shape, final.shape
        ([2, 5, 8], [2, 8])
    """

    def __init__(self, cell: Any, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__()
        self.cell = cell
        self.is_reverse = is_reverse
        self.time_major = time_major

    def forward(
        self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any
    ) -> Any:
        return rnn(
            self.cell,
            inputs,
            initial_states,
            sequence_length,
            self.time_major,
            self.is_reverse,
            **kwargs,
        )


class BiRNN(Layer):
    """Run one cell forward and one backward over the time axis; outputs are concatenated, final
    states a pair.
    """

    def __init__(self, cell_fw: Any, cell_bw: Any, time_major: bool = False) -> None:
        super().__init__()
        self.cell_fw = cell_fw
        self.cell_bw = cell_bw
        if cell_fw.input_size != cell_bw.input_size:
            raise UsageError(
                f"BiRNN: the input size of the forward cell ({cell_fw.input_size}) differs from "
                "that of the backward cell "
                f"({cell_bw.input_size})"
            )
        self.time_major = time_major

    def forward(
        self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any
    ) -> Any:
        if isinstance(initial_states, (list, tuple)) and len(initial_states) != 2:
            raise BadArgument(
                f"BiRNN: initial_states should be a pair, but has length {len(initial_states)}"
            )
        return birnn(
            self.cell_fw,
            self.cell_bw,
            inputs,
            initial_states,
            sequence_length,
            self.time_major,
            **kwargs,
        )


class RNNBase(LayerList):
    """Stacked recurrent layers, each an RNN or BiRNN; their parameters are also known as
    ``weight_ih_l0`` and so on.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
    ) -> None:
        super().__init__()
        if direction not in ("forward", "bidirectional", "bidirect"):
            raise UsageError(
                f"{type(self).__name__}: direction should be forward or bidirect (or "
                f"bidirectional), but received {direction!r}"
            )
        if proj_size > 0 and mode != "LSTM":
            raise BadArgument(f"{type(self).__name__}: only LSTM takes a proj_size")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.num_directions = 1 if direction == "forward" else 2
        self.time_major = time_major
        self.dropout = dropout
        self.proj_size = proj_size
        self.state_components = 2 if mode == "LSTM" else 1
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        for layer in range(num_layers):
            width = input_size if layer == 0 else (proj_size or hidden_size) * self.num_directions
            cells = [self._new_cell(width, attrs) for _ in range(self.num_directions)]
            self.append(
                RNN(cells[0], False, time_major)
                if len(cells) == 1
                else BiRNN(cells[0], cells[1], time_major)
            )
        self._name_parameters(attrs)

    def _new_cell(self, width: int, attrs: Sequence[Any]) -> GateCell:
        named = dict(zip((f"{name}_attr" for name in WEIGHT_NAMES), attrs, strict=True))
        if self.mode == "LSTM":
            return LSTMCell(width, self.hidden_size, proj_size=self.proj_size, **named)
        if self.mode == "GRU":
            return GRUCell(width, self.hidden_size, **named)
        return SimpleRNNCell(
            width, self.hidden_size, "relu" if self.mode == "RNN_RELU" else "tanh", **named
        )

    def _cells(self) -> list[Any]:
        """The cells in the order of the fused op's weights: by layer, forward before backward."""
        return [cell for layer in self for cell in layer.children()]

    def _name_parameters(self, attrs: Sequence[Any]) -> None:
        for i, cell in enumerate(self._cells()):
            suffix = "_reverse" if i % self.num_directions else ""
            for name, attr in zip(WEIGHT_NAMES, attrs, strict=True):
                if name.startswith("weight") or attr is not False:
                    setattr(
                        self, f"{name}_l{i // self.num_directions}{suffix}", getattr(cell, name)
                    )

    @property
    def could_use_cudnn(self) -> bool:
        """Whether one kernel could run it: every cell has its two weights and two biases."""
        return len(self.parameters()) == 4 * self.num_layers * self.num_directions

    def flatten_parameters(self) -> None:
        """Kept for Paddle's sake: the fused op takes the parameters as they are."""

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None) -> Any:
        if initial_states is None:
            states = []
        else:
            states = (
                [initial_states] if isinstance(initial_states, Tensor) else list(initial_states)
            )
        cells = self._cells()
        if not all(_is_fusible(cell) for cell in cells):
            return self._forward_by_layer(inputs, states, sequence_length)
        out, *final = apply(
            ops.rnn,
            inputs,
            states,
            [weight for cell in cells for weight in cell.ordered_weights()],
            sequence_length,
            self.mode,
            self.num_layers,
            self.num_directions == 2,
            float(self.dropout),
            self.training,
            self.time_major,
        )
        return out, tuple(final) if len(final) > 1 else final[0]

    def _forward_by_layer(self, inputs: Any, states: list[Any], sequence_length: Any) -> Any:
        """Call the layers one after the other, so that hooks on their cells run."""
        per_stack = list(zip(*[manipulation.unbind(s, axis=0) for s in states], strict=True))
        final: list[Any] = []
        for i, layer in enumerate(self):
            start: Any = None
            if per_stack:
                own = per_stack[i * self.num_directions : (i + 1) * self.num_directions]
                own = [s if self.state_components > 1 else s[0] for s in own]
                start = own[0] if self.num_directions == 1 else own
            if i > 0:
                inputs = F.dropout(inputs, self.dropout, training=self.training)
            inputs, state = layer(inputs, start, sequence_length)
            final.extend(flatten(state))
        parts = [
            manipulation.stack(final[k :: self.state_components])
            for k in range(self.state_components)
        ]
        return inputs, tuple(parts) if len(parts) > 1 else parts[0]

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.time_major:
            text += f", time_major={self.time_major}"
        if self.dropout:
            text += f", dropout={self.dropout}"
        return text


class SimpleRNN(RNNBase):
    """Stacked layers of SimpleRNNCell; returns (outputs, final states)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        if activation not in ("tanh", "relu"):
            raise UsageError(
                f"SimpleRNN: activation should be tanh or relu, but received {activation!r}"
            )
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        mode = f"RNN_{activation.upper()}"
        super().__init__(
            mode, input_size, hidden_size, num_layers, direction, time_major, dropout, *attrs
        )
        self.activation = activation


class LSTM(RNNBase):
    """Stacked layers of LSTMCell; returns (outputs, (final hidden states, final cell states)).

    Example:
        >>> import paddle
        >>> lstm = paddle.nn.LSTM(4, 8, num_layers=2, direction="bidirect")
        >>> outputs, (h, c) = lstm(paddle.ones([3, 5, 4]))
        >>> outputs.shape, h.shape
        ([3, 5, 16], [4, 3, 8])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
        name: str | None = None,
    ) -> None:
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            *attrs,
            proj_size=proj_size,
        )


class GRU(RNNBase):
    """Stacked layers of GRUCell; returns (outputs, final states)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, direction, time_major, dropout, *attrs
        )
