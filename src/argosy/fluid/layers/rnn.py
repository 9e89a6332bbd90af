"""Recurrent layers over sequences, and single steps of them."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.fluid.layers.gru import gru_step
from argosy.fluid.layers.nn import fc
from argosy.fluid.layers.rnn_cell import require
from argosy.foundation.errors import BadArgument, DtypeError, NotSupported, UsageError
from argosy.nn import functional as F
from argosy.ops.nn.recurrent import packed_lstm
from argosy.ops.sequences import sequence_rnn as ops
from argosy.static.nn.layer import layer_call, require_bias
from argosy.static.nn.sequence_lod import with_sequences
from argosy.tensor.engine import apply


def _require_activations(call: str, *names: str) -> None:
    for name in names:
        if name not in ops.ACTIVATIONS:
            raise UsageError(
                f"fluid.layers.{call}: activations can be {ops.ACTIVATIONS}, but received {name!r}"
            )


def _require_sequences(call: str, input: Any, h_0: Any, c_0: Any = None) -> None:
    for argument, value in (("input", input), ("h_0", h_0), ("c_0", c_0)):
        if argument == "input" or value is not None:
            require(call, argument, value)


def dynamic_lstm(
    input: Any,
    size: int,
    h_0: Any = None,
    c_0: Any = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_peepholes: bool = True,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    candidate_activation: str = "tanh",
    dtype: Any = "float32",
    name: str | None = None,
) -> tuple[Any, Any]:
    """An LSTM over sequences of inputs that ``fc`` projected to ``size``, four times its width;
    returns hidden and cell states.

    ``h_0`` and ``c_0`` have a row for each sequence.
    """
    require_bias("dynamic_lstm", bias_attr)
    _require_sequences("dynamic_lstm", input, h_0, c_0)
    _require_activations("dynamic_lstm", gate_activation, cell_activation, candidate_activation)
    width = size // 4
    with layer_call("lstm", name) as helper:
        weight = helper.create_parameter(param_attr, [width, 4 * width], dtype)
        bias = helper.create_parameter(
            bias_attr, [1, (7 if use_peepholes else 4) * width], dtype, is_bias=True
        )
        hidden, cell = with_sequences(
            "dynamic_lstm", ops.dynamic_lstm, input, weight, bias, h_0, c_0, use_peepholes,
            is_reverse,
            gate_activation, cell_activation, candidate_activation,
        )  # fmt: skip
        return hidden, cell


def lstm(
    input: Any,
    init_h: Any,
    init_c: Any,
    max_len: int,
    hidden_size: int,
    num_layers: int,
    dropout_prob: float = 0.0,
    is_bidirec: bool = False,
    is_test: bool = False,
    name: str | None = None,
    default_initializer: Any = None,
    seed: int = -1,
) -> tuple[Any, Any, Any]:
    """Stacked layers of an LSTM over [time, batch, features]: outputs of the last layer, and the
    last hidden states and cells of all, [layers x directions, batch, hidden_size].

    All weights are one parameter. ``dropout_prob`` is for what goes from one layer to the next.
    Differs from Paddle, whose kernel is for GPUs only; ``max_len`` changes nothing.
    """
    for argument, value in (("input", input), ("init_h", init_h), ("init_c", init_c)):
        require("lstm", argument, value)
    for argument, number in (
        ("max_len", max_len),
        ("hidden_size", hidden_size),
        ("num_layers", num_layers),
    ):
        if not isinstance(number, int):
            raise DtypeError(f"lstm: {argument} must be an int, but received {number!r}")
    if seed != -1 and dropout_prob:
        raise NotSupported(f"lstm: dropout of its own seed ({seed}) is not supported; leave it -1")
    directions = 2 if is_bidirec else 1
    widths = [input.shape[-1], *[hidden_size * directions] * (num_layers - 1)]
    size = sum(4 * hidden_size * directions * (width + hidden_size + 2) for width in widths)
    with layer_call("cudnn_lstm", name) as helper:
        weight = helper.create_parameter(
            None, [size], input.dtype, default_initializer=default_initializer
        )
        options = hidden_size, num_layers, is_bidirec, float(dropout_prob), is_test
        out, h, c = apply(packed_lstm, input, init_h, init_c, weight, *options)
        return out, h, c


def dynamic_lstmp(
    input: Any,
    size: int,
    proj_size: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_peepholes: bool = True,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    candidate_activation: str = "tanh",
    proj_activation: str = "tanh",
    dtype: Any = "float32",
    name: str | None = None,
    h_0: Any = None,
    c_0: Any = None,
    cell_clip: float | None = None,
    proj_clip: float | None = None,
) -> tuple[Any, Any]:
    """As ``dynamic_lstm``, but what goes on to the next step is a projection of the hidden state to
    ``proj_size``; returns projections and cell states.

    ``h_0`` [sequences, proj_size] and ``c_0`` have a row for each sequence.
    """
    require_bias("dynamic_lstmp", bias_attr)
    _require_sequences("dynamic_lstmp", input, h_0, c_0)
    activations = [gate_activation, cell_activation, candidate_activation, proj_activation]
    _require_activations("dynamic_lstmp", *activations)
    for argument, clip in (("cell_clip", cell_clip), ("proj_clip", proj_clip)):
        if clip is not None and clip < 0:
            raise BadArgument(f"{argument} should not be negative.")
    width = size // 4
    with layer_call("lstmp", name) as helper:
        weight = helper.create_parameter(param_attr, [proj_size, 4 * width], dtype)
        projection = helper.create_parameter(param_attr, [width, proj_size], dtype)
        bias = helper.create_parameter(
            bias_attr, [1, (7 if use_peepholes else 4) * width], dtype, is_bias=True
        )
        projected, cell = with_sequences(
            "dynamic_lstmp", ops.dynamic_lstmp, input, weight, projection, bias, h_0, c_0,
            use_peepholes, is_reverse, activations, float(cell_clip or 0.0),
            float(proj_clip or 0.0),
        )  # fmt: skip
        return projected, cell


def dynamic_gru(
    input: Any,
    size: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    candidate_activation: str = "tanh",
    h_0: Any = None,
    origin_mode: bool = False,
) -> Any:
    """A GRU of width ``size`` over sequences of inputs that ``fc`` projected to three times that;
    returns hidden states.

    ``h_0`` has a row for each sequence.
    """
    _require_sequences("dynamic_gru", input, h_0)
    _require_activations("dynamic_gru", gate_activation, candidate_activation)
    with layer_call("gru") as helper:
        weight = helper.create_parameter(param_attr, [size, 3 * size], input.dtype)
        bias = helper.create_parameter(bias_attr, [1, 3 * size], input.dtype, is_bias=True)
        return with_sequences(
            "dynamic_gru", ops.dynamic_gru, input, weight, bias, h_0, is_reverse, gate_activation,
            candidate_activation, origin_mode,
        )  # fmt: skip


def gru_unit(
    input: Any,
    hidden: Any,
    size: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    activation: str = "tanh",
    gate_activation: str = "sigmoid",
    origin_mode: bool = False,
) -> tuple[Any, Any, Any]:
    """One step of a GRU of width ``size / 3``: the new hidden state, the old one after the reset
    gate, and gates with candidate.
    """
    for argument, value in (("input", input), ("hidden", hidden)):
        require("gru_unit", argument, value)
    if not isinstance(size, int):
        raise DtypeError(f"gru_unit: size must be an int, but received {size!r}")
    _require_activations("gru_unit", activation, gate_activation)
    width = size // 3
    with layer_call("gru_unit") as helper:
        weight = helper.create_parameter(param_attr, [width, 3 * width], input.dtype)
        bias = helper.create_parameter(bias_attr, [1, 3 * width], input.dtype, is_bias=True)
        return gru_step(input, hidden, weight, bias, activation, gate_activation, origin_mode)


def lstm_unit(
    x_t: Any,
    hidden_t_prev: Any,
    cell_t_prev: Any,
    forget_bias: float = 0.0,
    param_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """One step of an LSTM whose gates come from one ``fc`` of the input and the hidden state;
    returns hidden state and cell.
    """
    given = {"x_t": x_t, "hidden_t_prev": hidden_t_prev, "cell_t_prev": cell_t_prev}
    for argument, value in given.items():
        require("lstm_unit", argument, value)
    shapes = [list(x.shape) for x in given.values()]
    if any(len(shape) != 2 for shape in shapes) or shapes[1][1] != shapes[2][1]:
        raise UsageError(
            "fluid.layers.lstm_unit: x_t, hidden_t_prev and cell_t_prev must be matrices, the "
            "last two of one width, "
            f"but their shapes are {shapes}"
        )
    gates = fc(
        T.concat([x_t, hidden_t_prev], 1),
        4 * shapes[2][1],
        param_attr=param_attr,
        bias_attr=bias_attr,
    )
    into, keep, out, candidate = T.split(gates, 4, 1)
    cell = F.sigmoid(keep + forget_bias) * cell_t_prev + F.sigmoid(into) * F.tanh(candidate)
    return F.sigmoid(out) * F.tanh(cell), cell
