"""Cells of 1.x, one step of a recurrence each, and ``rnn``, which runs one over padded
sequences.
"""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.fluid.layers.control_flow import StaticRNN
from argosy.fluid.layers.tensor import reverse
from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, NotSupported
from argosy.nn import functional as F
from argosy.tensor.engine import Tensor
from argosy.utils.layers_utils import (
    assert_same_structure,
    flatten,
    map_structure,
    pack_sequence_as,
)

_FLOATS = ("float32", "float64")


def require(call: str, argument: str, value: Any, allowed: tuple[str, ...] = _FLOATS) -> None:
    """Complain of an argument that is no variable of an allowed dtype."""
    if not isinstance(value, Tensor):
        raise DtypeError(
            f"{call}: the type of {argument!r} must be Variable, but received "
            f"{type(value).__name__}"
        )
    if dtypes.name_of(value.raw.dtype) not in allowed:
        raise DtypeError(
            f"{call}: the data type of {argument!r} must be one of {', '.join(allowed)}, but "
            f"received {dtypes.name_of(value.raw.dtype)}"
        )


def _require_settings(call: str, hidden_size: Any, dtype: Any) -> None:
    if not isinstance(hidden_size, int):
        raise DtypeError(f"{call}: hidden_size must be an int, but received {hidden_size!r}")
    if dtypes.name_of(dtypes.to_torch(dtype)) not in _FLOATS:
        raise DtypeError(f"{call}: dtype must be float32 or float64, but received {dtype!r}")


class RNNCell:
    """One step of a recurrence: a derived class says in ``call`` how inputs and states become
    outputs and new states, and in ``state_shape`` what the states are.
    """

    def call(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        """(outputs, new states)"""
        raise NotSupported("RNNCell must implent the call function.")

    def __call__(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        return self.call(inputs, states, **kwargs)

    def get_initial_states(
        self,
        batch_ref: Any,
        shape: Any = None,
        dtype: Any = "float32",
        init_value: float = 0,
        batch_dim_idx: int = 0,
    ) -> Any:
        """States of ``shape``, or of ``state_shape``, filled with ``init_value``, for as many rows
        as ``batch_ref`` has.
        """
        source = flatten(batch_ref)[0]
        require("RNNCell", "batch_ref", source, (*_FLOATS, "int32", "int64"))
        if dtype is not None:
            _require_settings("RNNCell", 0, dtype)
        batch = T.shape(source)[batch_dim_idx : batch_dim_idx + 1]
        shapes = self.state_shape if shape is None else shape
        kinds = iter(self._dtypes(dtype, shapes))

        def state(extents: Any) -> Any:
            if not _is_shape(extents):
                return type(extents)(state(inner) for inner in extents)
            known = list(extents)[1:] if extents and extents[0] == -1 else list(extents)
            return T.full([batch, *known], float(init_value), next(kinds))

        return state(shapes)

    def _dtypes(self, dtype: Any, shapes: Any) -> list[Any]:
        given = dtype
        if given is None:
            try:
                given = self.state_dtype
            except NotImplementedError:
                given = "float32"
        found = flatten(given)
        return found if len(found) > 1 else found * _count(shapes)

    @property
    def state_shape(self) -> Any:
        """The shape of a state without the batch, or a list of such."""
        raise NotSupported("Please add implementaion for `state_shape` in the used cell.")

    @property
    def state_dtype(self) -> Any:
        """The dtypes of the states."""
        raise NotSupported("Please add implementaion for `state_dtype` in the used cell.")


def _is_shape(value: Any) -> bool:
    return all(isinstance(n, int) for n in value)


def _count(shapes: Any) -> int:
    return 1 if _is_shape(shapes) else sum(_count(shape) for shape in shapes)


class GRUCell(RNNCell):
    """A step of a GRU, whose output is its state."""

    def __init__(
        self,
        hidden_size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        gate_activation: Any = None,
        activation: Any = None,
        dtype: Any = "float32",
        name: str = "GRUCell",
    ) -> None:
        _require_settings("GRUCell", hidden_size, dtype)
        self.hidden_size = hidden_size
        # Its module is above this one: it uses the loops of fluid.layers.
        from argosy.fluid.contrib.layers.rnn_impl import BasicGRUUnit

        self.gru_unit = BasicGRUUnit(
            name, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype
        )

    def call(self, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        for argument, value in (("inputs", inputs), ("states", states)):
            require("GRUCell", argument, value)
        hidden = self.gru_unit(inputs, states)
        return hidden, hidden

    @property
    def state_shape(self) -> Any:
        return [self.hidden_size]


class LSTMCell(RNNCell):
    """A step of an LSTM, whose states are the hidden state, its output, and the cell."""

    def __init__(
        self,
        hidden_size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        gate_activation: Any = None,
        activation: Any = None,
        forget_bias: float = 1.0,
        dtype: Any = "float32",
        name: str = "LSTMCell",
    ) -> None:
        _require_settings("LSTMCell", hidden_size, dtype)
        self.hidden_size = hidden_size
        from argosy.fluid.contrib.layers.rnn_impl import BasicLSTMUnit

        options = gate_activation, activation, forget_bias, dtype
        self.lstm_unit = BasicLSTMUnit(name, hidden_size, param_attr, bias_attr, *options)

    def call(self, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        require("LSTMCell", "inputs", inputs)
        if not isinstance(states, (list, tuple)):
            raise DtypeError(f"LSTMCell: states must be a list, but received {states!r}")
        for i, state in enumerate(states):
            require("LSTMCell", f"states[{i}]", state)
        hidden, cell = self.lstm_unit(inputs, *states)
        return hidden, [hidden, cell]

    @property
    def state_shape(self) -> Any:
        return [[self.hidden_size], [self.hidden_size]]


def rnn(
    cell: Any,
    inputs: Any,
    initial_states: Any = None,
    sequence_length: Any = None,
    time_major: bool = False,
    is_reverse: bool = False,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Run ``cell`` over [batch, steps, ...], or with ``time_major`` over [steps, batch, ...]:
    outputs of all steps, and the states after the last.

    Behind ``sequence_length`` states stay as they were. ``kwargs`` go to the cell.

    Example:
        >>> import paddle
        >>> from paddle import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.data("x", [None, 8, 4])
        ...     outputs, states = fluid.layers.rnn(fluid.layers.GRUCell(5), x)
        ...     list(outputs.shape), list(states.shape)
        ([-1, 8, 5], [-1, 5])
        >>> paddle.disable_static()
    """
    for value in flatten(inputs):
        require("rnn", "inputs", value)
    if initial_states is None:
        initial_states = cell.get_initial_states(inputs, batch_dim_idx=1 if time_major else 0)
    for value in flatten(initial_states):
        require("rnn", "initial_states", value)
    mask = None
    steps = inputs if time_major else map_structure(_swapped, inputs)
    if sequence_length is not None:
        require("rnn", "sequence_length", sequence_length, ("int32", "int64"))
        dtype = dtypes.name_of(flatten(initial_states)[0].raw.dtype)
        count = T.shape(flatten(steps)[0])[0:1]
        mask = T.transpose(F.sequence_mask(sequence_length, maxlen=count, dtype=dtype), [1, 0])
    if is_reverse:
        steps = map_structure(_reversed, steps)
        mask = None if mask is None else _reversed(mask)
    outputs, states = _run(cell, steps, initial_states, mask, kwargs)
    outputs = map_structure(_reversed, outputs) if is_reverse else outputs
    return (outputs if time_major else map_structure(_swapped, outputs)), states


def _swapped(x: Any) -> Any:
    return T.transpose(x, [1, 0, *range(2, x.ndim)])


def _reversed(x: Any) -> Any:
    return reverse(x, 0)


def _run(cell: Any, steps: Any, initial_states: Any, mask: Any, kwargs: Any) -> tuple[Any, Any]:
    loop = StaticRNN()
    with loop.step():
        states = map_structure(loop.memory, initial_states)
        row = map_structure(loop.step_input, steps)
        outputs, news = cell.call(row, states, **kwargs)
        assert_same_structure(states, news)
        if mask is not None:
            step_mask = loop.step_input(mask)
            news = map_structure(lambda old, new: _masked(old, new, step_mask), states, news)
        map_structure(loop.update_memory, states, news)
        for value in (*flatten(outputs), *flatten(news)):
            loop.step_output(value)
    found = loop()
    count = len(flatten(outputs))
    found = found if isinstance(found, list) else [found]
    last = [value[-1] for value in found[count:]]
    return pack_sequence_as(outputs, found[:count]), pack_sequence_as(news, last)


def _masked(old: Any, new: Any, mask: Any) -> Any:
    mask = T.reshape(mask, [-1, *[1] * (new.ndim - 1)])
    return new * mask - old * (mask - 1)
