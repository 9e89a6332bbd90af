"""Recurrent layers over sequences that lie one after the other in the rows of a tensor, as in
``sequence``.

A step takes one row of every sequence that is long enough. Sequences are ordered by length, longest
first, so that those of a step are always the first ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from argosy.ops.sequences.sequence import lengths_of
from argosy.ops.table import op
from argosy.ops.traits import Rows

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "identity": lambda x: x,
}
ACTIVATIONS = tuple(_ACTIVATIONS)


def _steps(offsets: Tensor, is_reverse: bool) -> tuple[Tensor, list[Tensor]]:
    """The order of the sequences, and the rows that each step takes, in that order."""
    lengths = lengths_of(offsets)
    order = torch.argsort(lengths, descending=True, stable=True)
    starts = (offsets[1:] - 1 if is_reverse else offsets[:-1])[order]
    counts = lengths[order].tolist()
    rows = []
    for step in range(counts[0] if counts else 0):
        while counts[-1] <= step:
            counts.pop()
        rows.append(starts[: len(counts)] + (-step if is_reverse else step))
    return order, rows


def _by_step(x: Tensor, rows: list[Tensor]) -> tuple[Tensor, ...]:
    """What each step takes of ``x``. It is gathered at once: a gradient of all of ``x`` for every
    step would take time by the square of the length.
    """
    return torch.split(x[torch.cat(rows)], [len(index) for index in rows]) if rows else ()


def _in_rows(steps: list[Tensor], rows: list[Tensor]) -> Tensor:
    """What each step gave, at the rows that it took."""
    return torch.cat(steps)[torch.argsort(torch.cat(rows))]


def _first(state: Tensor | None, order: Tensor, like: Tensor, width: int) -> Tensor:
    return like.new_zeros([order.shape[0], width]) if state is None else state[order]


@op(
    "dynamic_lstm",
    rows=Rows.OTHER,
    types=(
        "lstm(Input, -, Weight, Bias, H0, C0, use_peepholes, is_reverse, gate_activation, "
        "cell_activation, candidate_activation) -> Hidden, Cell, BatchGate, BatchCellPreAct",
    ),
)
def dynamic_lstm(
    x: Tensor,
    offsets: Tensor,
    weight: Tensor,
    bias: Tensor,
    h0: Tensor | None,
    c0: Tensor | None,
    use_peepholes: bool,
    is_reverse: bool,
    gate_activation: str,
    cell_activation: str,
    candidate_activation: str,
) -> tuple[Tensor, Tensor]:
    """Hidden and cell states [rows, D] from projected inputs [rows, 4D]: candidate, input, forget
    and output gate.

    ``bias`` has 4D numbers, and 3D more that multiply the cell in the gates with ``use_peepholes``.
    """
    width = weight.shape[0]
    if x.is_meta:
        return x.new_empty([x.shape[0], width]), x.new_empty([x.shape[0], width])
    gate, cell_act, candidate_act = (
        _ACTIVATIONS[a] for a in (gate_activation, cell_activation, candidate_activation)
    )
    x = x + bias[:, : 4 * width]
    peep_input, peep_forget, peep_output = (
        bias[:, 4 * width :].chunk(3, 1) if use_peepholes else (0.0, 0.0, 0.0)
    )
    order, rows = _steps(offsets, is_reverse)
    hidden, cell = _first(h0, order, x, width), _first(c0, order, x, width)
    hiddens, cells = [], []
    for given in _by_step(x, rows):
        hidden, cell = hidden[: len(given)], cell[: len(given)]
        candidate, into, keep, out = (given + hidden @ weight).chunk(4, 1)
        old = cell
        cell = candidate_act(candidate) * gate(into + old * peep_input) + old * gate(
            keep + old * peep_forget
        )
        hidden = gate(out + cell * peep_output) * cell_act(cell)
        hiddens.append(hidden)
        cells.append(cell)
    if not rows:
        return x[:, :width], x[:, :width]
    return _in_rows(hiddens, rows), _in_rows(cells, rows)


@op("dynamic_lstmp", rows=Rows.OTHER)
def dynamic_lstmp(
    x: Tensor,
    offsets: Tensor,
    weight: Tensor,
    projection: Tensor,
    bias: Tensor,
    h0: Tensor | None,
    c0: Tensor | None,
    use_peepholes: bool,
    is_reverse: bool,
    activations: Sequence[str],
    cell_clip: float,
    projection_clip: float,
) -> tuple[Tensor, Tensor]:
    """As ``dynamic_lstm``, but what goes on to the next step is a projection [D, P] of the hidden
    state: projections [rows, P] and cells [rows, D]; a clip of 0 is none.

    ``activations`` are those of gates, cell, candidate and projection; a projection that has one is
    put through that of the cell, as Paddle does.
    """
    width, size = projection.shape
    if x.is_meta:
        return x.new_empty([x.shape[0], size]), x.new_empty([x.shape[0], width])
    gate, cell_act, candidate_act = (_ACTIVATIONS[a] for a in activations[:3])
    project_act = _ACTIVATIONS["identity"] if activations[3] == "identity" else cell_act
    x = x + bias[:, : 4 * width]
    peep_input, peep_forget, peep_output = (
        bias[:, 4 * width :].chunk(3, 1) if use_peepholes else (0.0, 0.0, 0.0)
    )
    order, rows = _steps(offsets, is_reverse)
    state, cell = _first(h0, order, x, size), _first(c0, order, x, width)
    states, cells = [], []
    for given in _by_step(x, rows):
        state, cell = state[: len(given)], cell[: len(given)]
        candidate, into, keep, out = (given + state @ weight).chunk(4, 1)
        old = cell
        cell = candidate_act(candidate) * gate(into + old * peep_input) + old * gate(
            keep + old * peep_forget
        )
        cell = _clipped(cell, cell_clip)
        hidden = gate(out + cell * peep_output) * cell_act(cell)
        state = _clipped(project_act(hidden @ projection), projection_clip)
        states.append(state)
        cells.append(cell)
    if not rows:
        return x[:, :size], x[:, :width]
    return _in_rows(states, rows), _in_rows(cells, rows)


def _clipped(x: Tensor, limit: float) -> Tensor:
    return x.clamp(-limit, limit) if limit else x


@op(
    "dynamic_gru",
    rows=Rows.OTHER,
    types=(
        "gru(Input, -, Weight, Bias, H0, is_reverse, gate_activation, activation, origin_mode) -> "
        "Hidden, BatchGate, BatchResetHiddenPrev, BatchHidden",
    ),
)
def dynamic_gru(
    x: Tensor,
    offsets: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    h0: Tensor | None,
    is_reverse: bool,
    gate_activation: str,
    candidate_activation: str,
    origin_mode: bool,
) -> Tensor:
    """Hidden states [rows, D] from projected inputs [rows, 3D]: update gate, reset gate, candidate.

    ``weight`` [D, 3D] holds, one after the other in memory, the matrix [D, 2D] of the gates and the
    matrix [D, D] of the candidate.
    """
    width = weight.shape[0]
    if x.is_meta:
        return x.new_empty([x.shape[0], width])
    gate, candidate_act = _ACTIVATIONS[gate_activation], _ACTIVATIONS[candidate_activation]
    x = x if bias is None else x + bias
    flat = weight.reshape(-1)
    gate_weight, candidate_weight = (
        flat[: 2 * width * width].view(width, -1),
        flat[2 * width * width :].view(width, -1),
    )
    order, rows = _steps(offsets, is_reverse)
    hidden = _first(h0, order, x, width)
    hiddens = []
    for given in _by_step(x, rows):
        hidden = hidden[: len(given)]
        update, reset = gate(given[:, : 2 * width] + hidden @ gate_weight).chunk(2, 1)
        candidate = candidate_act(given[:, 2 * width :] + (reset * hidden) @ candidate_weight)
        kept, taken = (candidate, hidden) if origin_mode else (hidden, candidate)
        hidden = kept + update * (taken - kept)
        hiddens.append(hidden)
    return _in_rows(hiddens, rows) if rows else x[:, :width]
