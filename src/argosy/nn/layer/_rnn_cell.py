"""Cells of recurrent layers: one step in time each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.nn import initializer as I
from argosy.nn.layer.layers import Layer
from argosy.ops.nn import recurrent as ops
from argosy.tensor.engine import apply, float_dtype
from argosy.utils.layers_utils import flatten

WEIGHT_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class RNNCellBase(Layer):
    """Base of cells: layers called as ``outputs, new_states = cell(inputs, states)``.

    A subclass of the user's own defines ``forward`` and the property ``state_shape``.
    """

    def get_initial_states(
        self,
        batch_ref: Any,
        shape: Any = None,
        dtype: Any = None,
        init_value: float = 0.0,
        batch_dim_idx: int = 0,
    ) -> Any:
        """Make states filled with ``init_value`` for the batch size of ``batch_ref``, in the
        structure of ``shape``.

        ``shape`` (``state_shape`` unless given) leaves out the batch dimension, or has -1 for it.
        """
        reference = flatten(batch_ref)[0]
        shapes = self.state_shape if shape is None else shape
        if dtype is None:
            try:
                dtype = self.state_dtype
            except NotImplementedError:
                dtype = float_dtype(None)
        kinds = flatten(dtype)

        def fill(extents: Any, kind: Any) -> Any:
            sizes = list(extents[1:]) if extents[0] == -1 else list(extents)
            return apply(
                ops.rnn_initial_state,
                reference,
                sizes,
                float(init_value),
                batch_dim_idx,
                float_dtype(kind),
            )

        def build(nest: Any) -> Any:
            if all(isinstance(n, int) for n in nest):
                return fill(nest, kinds[0] if len(kinds) == 1 else kinds.pop(0))
            return type(nest)(build(child) for child in nest)

        return build(shapes)

    @property
    def state_shape(self) -> Any:
        """Shapes of the states without the batch dimension."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_shape")

    @property
    def state_dtype(self) -> Any:
        """Dtypes of the states."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_dtype")


class GateCell(RNNCellBase):
    """What the three cells share: weights for ``gates`` gates. An attribute of False is a fixed
    weight of 1 or bias of 0.
    """

    def _create_weights(
        self,
        gates: int,
        input_size: int,
        hidden_size: int,
        recurrent_size: int,
        attrs: Sequence[Any],
    ) -> None:
        if hidden_size <= 0:
            raise UsageError(
                f"{type(self).__name__}: hidden_size must be greater than 0, but received "
                f"{hidden_size}"
            )
        self.input_size = input_size
        self.hidden_size = hidden_size
        rows = gates * hidden_size
        shapes = ([rows, input_size], [rows, recurrent_size], [rows], [rows])
        for name, shape, attr in zip(WEIGHT_NAMES, shapes, attrs, strict=True):
            is_bias = name.startswith("bias")
            default: Any = (
                self._default_init() if attr is not False else I.Constant(0.0 if is_bias else 1.0)
            )
            parameter = self.create_parameter(
                shape, None if attr is False else attr, is_bias=is_bias, default_initializer=default
            )
            if attr is False:
                parameter.stop_gradient = True  # type: ignore[union-attr]
            setattr(self, name, parameter)

    def _default_init(self) -> Any:
        bound = 1.0 / math.sqrt(self.hidden_size)
        return I.Uniform(-bound, bound)

    def ordered_weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    @property
    def kind(self) -> str:
        """The name of this cell's recurrence in the ``rnn`` op."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class SimpleRNNCell(GateCell):
    """``h = act(W_ih x + b_ih + W_hh h + b_hh)`` with tanh or relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if activation not in ("tanh", "relu"):
            raise UsageError(
                f"SimpleRNNCell: activation should be tanh or relu, but received {activation!r}"
            )
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self._create_weights(1, input_size, hidden_size, hidden_size, attrs)
        self.activation = activation

    def forward(self, inputs: Any, states: Any = None) -> Any:
        h = self.get_initial_states(inputs) if states is None else states
        h = apply(ops.simple_rnn_cell, inputs, h, *self.ordered_weights(), self.activation)
        return h, h

    @property
    def state_shape(self) -> Any:
        return (self.hidden_size,)

    @property
    def kind(self) -> str:
        return f"RNN_{self.activation.upper()}"

    def extra_repr(self) -> str:
        extra = f", activation={self.activation}" if self.activation != "tanh" else ""
        return super().extra_repr() + extra


class LSTMCell(GateCell):
    """One step of long short-term memory; states are (hidden, cell), gates input, forget, cell,
    output.

    With ``proj_size`` the hidden state is projected to that size.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if hidden_size > 0 and not 0 <= proj_size < hidden_size:
            raise UsageError(
                f"LSTMCell: proj_size must lie in [0, {hidden_size}), but received {proj_size}"
            )
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self._create_weights(4, input_size, hidden_size, proj_size or hidden_size, attrs)
        self.proj_size = proj_size
        if proj_size > 0:
            self.weight_ho = self.create_parameter(
                [hidden_size, proj_size], weight_hh_attr, default_initializer=self._default_init()
            )

    def ordered_weights(self) -> tuple[Any, ...]:
        return (
            (*super().ordered_weights(), self.weight_ho)
            if self.proj_size
            else super().ordered_weights()
        )

    def forward(self, inputs: Any, states: Any = None) -> Any:
        h, c = self.get_initial_states(inputs) if states is None else states
        h, c = apply(ops.lstm_cell, inputs, h, c, *self.ordered_weights())
        return h, (h, c)

    @property
    def state_shape(self) -> Any:
        return ((self.proj_size or self.hidden_size,), (self.hidden_size,))

    @property
    def kind(self) -> str:
        return "LSTM"


class GRUCell(GateCell):
    """One step of a gated recurrent unit; gates reset, update, candidate."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self._create_weights(3, input_size, hidden_size, hidden_size, attrs)

    def forward(self, inputs: Any, states: Any = None) -> Any:
        h = self.get_initial_states(inputs) if states is None else states
        h = apply(ops.gru_cell, inputs, h, *self.ordered_weights())
        return h, h

    @property
    def state_shape(self) -> Any:
        return (self.hidden_size,)

    @property
    def kind(self) -> str:
        return "GRU"
