"""Recurrent networks: single steps and whole sequences, on torch's fused kernels.

Paddle and torch order the gates alike: input, forget, cell, output for LSTM; reset, update,
candidate for GRU.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from argosy.foundation.errors import UsageError
from argosy.ops.array.creation import full
from argosy.ops.array.manipulation import slice_axes, transpose
from argosy.ops.fluid.shape import shape
from argosy.ops.table import op
from argosy.ops.traits import Record


@op("simple_rnn_cell")
def simple_rnn_cell(
    x: Tensor,
    h: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    activation: str = "tanh",
) -> Tensor:
    step = torch.rnn_tanh_cell if activation == "tanh" else torch.rnn_relu_cell
    return step(x, h, w_ih, w_hh, b_ih, b_hh)


@op("gru_cell")
def gru_cell(
    x: Tensor,
    h: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    return torch.gru_cell(x, h, w_ih, w_hh, b_ih, b_hh)


@op("lstm_cell")
def lstm_cell(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    w_ho: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step; ``w_ho`` [hidden, projected] maps the new hidden state to the projected one."""
    if w_ho is None:
        return torch.lstm_cell(x, (h, c), w_ih, w_hh, b_ih, b_hh)
    gates = torch.nn.functional.linear(x, w_ih, b_ih) + torch.nn.functional.linear(h, w_hh, b_hh)
    i, f, g, o = gates.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return torch.matmul(o.sigmoid() * c.tanh(), w_ho), c


_SEQUENCE_KERNELS: dict[str, Callable[..., Any]] = {
    "LSTM": torch.lstm,
    "GRU": torch.gru,
    "RNN_TANH": torch.rnn_tanh,
    "RNN_RELU": torch.rnn_relu,
}


def _projected_lstm(*args: Any) -> tuple[Tensor, ...]:
    # torch warns that oneDNN has no projections and goes on without it, which is all there is to do
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="LSTM with projections")
        return torch.lstm(*args)


@op("rnn_initial_state")
def rnn_initial_state(
    batch_ref: Tensor, sizes: Sequence[int], value: float, batch_axis: int, dtype: torch.dtype
) -> Tensor:
    """A state of shape [batch, *sizes] filled with ``value``; the batch is that of
    ``batch_ref``.
    """
    return torch.full(
        [batch_ref.shape[batch_axis], *sizes], value, dtype=dtype, device=batch_ref.device
    )


@op("rnn_hold_finished")
def rnn_hold_finished(new: Tensor, old: Tensor, lengths: Tensor, step: int) -> Tensor:
    """``new`` for the rows whose sequence has a step number ``step``, ``old`` for those already at
    their end.
    """
    running = (lengths > step).reshape([-1] + [1] * (new.ndim - 1))
    return torch.where(running.to(new.device), new, old)


@op(
    "time_major_rnn",
    is_random=True,
    test_attrs={"is_test": True},
    types=(
        "rnn(Input, PreState, WeightList, SequenceLength, mode, num_layers, is_bidirec, "
        "dropout_prob, is_test, input_size, hidden_size, seed~0) -> "
        "Out, State*, DropoutState, Reserve",
    ),
)
def time_major_rnn(
    x: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Tensor],
    lengths: Tensor | None,
    mode: str,
    num_layers: int,
    is_bidirectional: bool,
    dropout: float,
    is_test: bool,
    input_size: int,
    hidden_size: int,
) -> tuple[Tensor, ...]:
    """As ``rnn`` with the steps in front; of ``weights`` all matrices stand before all biases."""
    half = len(weights) // 2
    matrices, biases = weights[:half], weights[half:]
    pairs = range(0, half, 2)
    ordered = [w for i in pairs for w in (*matrices[i : i + 2], *biases[i : i + 2])]
    return rnn.fn(
        x, states, ordered, lengths, mode, num_layers, is_bidirectional, dropout, not is_test, True
    )


def _file_parts(
    record: Record,
    x: Any,
    states: Sequence[Any],
    weights: Sequence[Any],
    lengths: Any,
    mode: str,
    num_layers: int,
    is_bidirectional: bool,
    dropout: float,
    is_training: bool,
    time_major: bool,
) -> Any:
    num_stacks = num_layers * (2 if is_bidirectional else 1)
    if len(weights) != 4 * num_stacks or any(w is None for w in weights):
        return NotImplemented  # Paddle's operator has no projection
    hidden = weights[1].shape[1]
    steps = x if time_major else record(transpose, x, [1, 0, 2])
    if not states:
        batch = record(slice_axes, record(shape, steps), [0], [1], [2], [0])
        first = record(full, [num_stacks, batch, hidden], 0.0, x.raw.dtype, torch.device("cpu"))
        states = [first] * (2 if mode == "LSTM" else 1)
    ordered = [w for i in (0, 2) for n in range(num_stacks) for w in weights[4 * n + i :][:2]]
    out, *final = record(
        time_major_rnn, steps, list(states), ordered, lengths, mode, num_layers, is_bidirectional,
        dropout, not is_training, x.shape[-1], hidden
    )  # fmt: skip
    return (out if time_major else record(transpose, out, [1, 0, 2]), *final)


@op(
    "rnn",
    is_random=True,
    test_attrs={"is_training": False},
    file_parts=_file_parts,
)
def rnn(
    x: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Tensor],
    lengths: Tensor | None,
    mode: str,
    num_layers: int,
    is_bidirectional: bool,
    dropout: float,
    is_training: bool,
    time_major: bool,
) -> tuple[Tensor, ...]:
    """Run stacked layers over whole sequences and return (outputs, *final states).

    ``weights`` holds, per layer and direction, w_ih, w_hh, b_ih, b_hh and, for a projected LSTM,
    w_ho. ``states`` are [layers x directions, batch, hidden]; none means zeros. Past a row's length
    its outputs are zero, and its final states are those of its last step; the backward direction
    starts at that step.
    """
    num_stacks = num_layers * (2 if is_bidirectional else 1)
    kernel = _SEQUENCE_KERNELS[mode]
    if len(weights) > 4 * num_stacks:
        weights = [w.mT if i % 5 == 4 else w for i, w in enumerate(weights)]
        kernel = _projected_lstm
    states = states or _zero_states(x, weights, mode, num_stacks, time_major)
    _check(x, states, weights, mode, num_stacks, time_major)
    if x.is_meta:  # torch would go through the steps, as many as stand for an unknown number
        width = states[0].shape[-1] * num_stacks // num_layers
        return x.new_empty([*x.shape[:2], width]), *(torch.empty_like(state) for state in states)
    # cuDNN needs its training form for any backward; without dropout it computes the same
    keeps_graph = is_training or torch.is_grad_enabled()
    shape = (True, num_layers, dropout if is_training else 0.0, keeps_graph, is_bidirectional)
    if lengths is None:
        hx = tuple(states) if mode == "LSTM" else states[0]
        return tuple(kernel(x, hx, list(weights), *shape, not time_major))
    return _over_lengths(kernel, x, states, list(weights), lengths, shape, time_major)


@op(
    "packed_lstm",
    is_random=True,
    test_attrs={"is_test": True},
    types=(
        "cudnn_lstm(Input, InitH, InitC, W, hidden_size, num_layers, is_bidirec, dropout_prob, "
        "is_test) -> Out, last_h, last_c",
    ),
)
def packed_lstm(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    weight: Tensor,
    hidden_size: int,
    num_layers: int,
    is_bidirectional: bool,
    dropout: float,
    is_test: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """An LSTM over [time, batch, features] whose weights lie in one vector as cuDNN has them: the
    matrices of all layers and directions, for inputs before those for states, then their biases.
    """
    directions = 2 if is_bidirectional else 1
    rows = 4 * hidden_size
    shapes: list[tuple[int, ...]] = []
    for layer in range(num_layers):
        width = x.shape[-1] if layer == 0 else hidden_size * directions
        shapes += [(rows, width), (rows, hidden_size)] * directions
    shapes += [(rows,)] * len(shapes)
    sizes = [math.prod(shape) for shape in shapes]
    if weight.numel() != sum(sizes):
        raise UsageError(
            f"lstm: {num_layers} layers of width {hidden_size} over {x.shape[-1]} features need "
            f"{sum(sizes)} weights, but there are {weight.numel()}"
        )
    parts = [p.reshape(s) for p, s in zip(torch.split(weight, sizes), shapes, strict=True)]
    features, options = x.shape[-1], (num_layers, is_bidirectional, dropout, is_test)
    out, last_h, last_c = time_major_rnn.fn(
        x, [h, c], parts, None, "LSTM", *options, features, hidden_size
    )
    return out, last_h, last_c


@op("rnn_layer")
def rnn_layer(
    x: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Tensor],
    mode: str,
    is_reverse: bool,
    time_major: bool,
) -> tuple[Tensor, ...]:
    """Run one layer in one direction; states are [batch, hidden]."""
    time_axis = 0 if time_major else 1
    steps = x.flip(time_axis) if is_reverse else x
    out, *final = rnn.fn(
        steps,
        [s.unsqueeze(0) for s in states],
        weights,
        None,
        mode,
        1,
        False,
        0.0,
        False,
        time_major,
    )
    return (out.flip(time_axis) if is_reverse else out, *[s.squeeze(0) for s in final])


def _zero_states(
    x: Tensor, weights: Sequence[Tensor], mode: str, num_stacks: int, time_major: bool
) -> Sequence[Tensor]:
    batch = x.shape[1 if time_major else 0]
    visible = weights[1].shape[1]
    sizes = [visible, weights[0].shape[0] // 4] if mode == "LSTM" else [visible]
    return [x.new_zeros(num_stacks, batch, size) for size in sizes]


def _check(
    x: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Tensor],
    mode: str,
    num_stacks: int,
    time_major: bool,
) -> None:
    if x.ndim != 3:
        order = "[time, batch, input_size]" if time_major else "[batch, time, input_size]"
        raise UsageError(
            f"{mode}: expected an input of shape {order}, but received {list(x.shape)}"
        )
    if x.shape[2] != weights[0].shape[1]:
        raise UsageError(
            f"{mode}: the input has {x.shape[2]} features, the layer was built for "
            f"{weights[0].shape[1]}"
        )
    num_states = 2 if mode == "LSTM" else 1
    if len(states) != num_states:
        raise UsageError(
            f"{mode}: expected {num_states} initial states, but received {len(states)}"
        )
    batch = x.shape[1 if time_major else 0]
    for state in states:
        if state.ndim != 3 or state.shape[0] != num_stacks or state.shape[1] != batch:
            raise UsageError(
                f"{mode}: initial states must have shape [{num_stacks}, {batch}, hidden_size] "
                "(layers times directions, "
                f"batch), but received {list(state.shape)}"
            )


def _over_lengths(
    kernel: Callable[..., Any],
    x: Tensor,
    states: Sequence[Tensor],
    weights: list[Tensor],
    lengths: Tensor,
    shape: tuple[Any, ...],
    time_major: bool,
) -> tuple[Tensor, ...]:
    batch_first = not time_major
    # packing needs at least one step; rows of length zero run one and are put back below
    steps = lengths.clamp_min(1).to("cpu", torch.int64)
    packed = pack_padded_sequence(x, steps, batch_first=batch_first, enforce_sorted=False)
    order: Any = packed.sorted_indices
    back: Any = packed.unsorted_indices
    ordered = [s.index_select(1, order) for s in states]
    out, *final = kernel(
        packed.data,
        packed.batch_sizes,
        tuple(ordered) if len(ordered) > 1 else ordered[0],
        weights,
        *shape,
    )
    outputs, _ = pad_packed_sequence(
        PackedSequence(out, packed.batch_sizes, order, back),
        batch_first,
        total_length=x.shape[0 if time_major else 1],
    )
    final = [s.index_select(1, back) for s in final]
    empty = (lengths == 0).to(x.device)
    if bool(empty.any()):
        outputs = outputs.masked_fill(empty.reshape([1, -1, 1] if time_major else [-1, 1, 1]), 0.0)
        final = [
            torch.where(empty.reshape(1, -1, 1), start, end)
            for start, end in zip(states, final, strict=True)
        ]
    return (outputs, *final)
