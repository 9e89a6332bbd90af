"""Recording a function: Tensors with values that it uses become variables that stand for them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from argosy.amp.mode import AutoCast
from argosy.framework.mode import switch
from argosy.nn import Layer
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Parameter, Variable, samples
from argosy.static.record.recorder import program_guard, recorder
from argosy.tensor.engine import Parameter as EagerParameter
from argosy.tensor.engine import Tensor, current_mode, pop_mode, push_mode


class Captures:
    """The Tensors with values that a program uses, and the variables that stand for them.

    They are kept by reference: a run reads what they hold then, writes to them, and its gradients
    reach them.
    """

    def __init__(self, program: Program) -> None:
        self._block = program.global_block()
        self._known: dict[int, tuple[Tensor, Variable]] = {}

    def __call__(self, tensor: Tensor) -> Variable:
        known = self._known.get(id(tensor))
        if known is None:
            known = self._known[id(tensor)] = (tensor, self._variable(tensor))
        return known[1]

    def _variable(self, tensor: Tensor) -> Variable:
        block = self._block
        name = block.free_name(tensor.name)
        raw = tensor.raw
        first = samples(list(raw.shape), raw.dtype)[0]
        if isinstance(tensor, EagerParameter):
            parameter = Parameter(block, name, first, trainable=not tensor.stop_gradient)
            for key in ("optimize_attr", "regularizer", "need_clip"):
                if key in tensor.__dict__:
                    setattr(parameter, key, tensor.__dict__[key])
            return block.add_variable(parameter)
        return block.add_variable(
            Variable(block, name, first, persistable=True, stop_gradient=tensor.stop_gradient)
        )

    def by_name(self) -> dict[str, Tensor]:
        """The Tensors by the names of their variables."""
        return {variable.name: tensor for tensor, variable in self._known.values()}

    def tensors(self) -> list[Tensor]:
        return [tensor for tensor, _ in self._known.values()]


@contextlib.contextmanager
def recording(
    main: Program, startup: Program, capture: Callable[[Any], Variable]
) -> Iterator[None]:
    """Record into ``main`` inside, with the mixed precision that is in force outside.

    Whether gradients are wanted is not recorded: each run decides.
    """
    mode = current_mode()
    with program_guard(main, startup), recorder.capturing(capture), torch.enable_grad():
        switch.enable()
        if isinstance(mode, AutoCast):
            push_mode(mode.around(recorder))
        try:
            yield
        finally:
            if isinstance(mode, AutoCast):
                pop_mode()
            switch.disable()


class LeftBehind:
    """Attributes of layers in which a recorded function left variables: a run puts values there."""

    def __init__(self, layers: list[Layer]) -> None:
        self._stores = [
            store
            for layer in layers
            for store in (layer.__dict__, layer.__dict__.get("_buffers", {}))
        ]
        self._before = [dict(store) for store in self._stores]
        self.places: list[tuple[dict[str, Any], str, Variable]] = []

    def collect(self) -> None:
        """Find what was left, and put back what was there before."""
        for store, before in zip(self._stores, self._before, strict=True):
            for name, value in list(store.items()):
                if not isinstance(value, Variable):
                    continue
                self.places.append((store, name, value))
                if name in before:
                    store[name] = before[name]
                else:
                    del store[name]
