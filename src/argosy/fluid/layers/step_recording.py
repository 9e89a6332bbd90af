"""What ``StaticRNN`` and ``DynamicRNN`` have in common: a step is recorded once, its memories go on
to the next step, and what it outputs is gathered over all of them.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator
from typing import Any

from argosy import tensor as T
from argosy.fluid.dygraph.tracer import begin_recording
from argosy.foundation.errors import ProgramError, UsageError
from argosy.static.ir.block import Block
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import ArrayVariable, record_array, record_write
from argosy.static.record.control import loop_variable, sub_block
from argosy.static.record.recorder import recorder
from argosy.static.record.reinfer import settle
from argosy.static.record.stepping import record_turns


class StepRecording(abc.ABC):
    """``_face`` is the name that scripts know it by, ``_outside`` what is said of a call outside of
    a step.
    """

    _face: str
    _outside: str

    def __init__(self, name: str | None = None) -> None:
        begin_recording(f"fluid.layers.{self._face}")
        self._parent: Block | None = None  # while the step is recorded
        # what is carried on, and what a step makes of it, by the name that the step knows it by
        self._memories: dict[str, tuple[Variable, Variable | None]] = {}
        self._arrays: list[ArrayVariable] = []
        self._outputs: list[Variable] = []

    @abc.abstractmethod
    def _check_inputs(self) -> None:
        """Refuse a step that lacks what it needs."""

    @abc.abstractmethod
    def _count(self) -> Any:
        """The number of steps."""

    @abc.abstractmethod
    def _gathered(self, array: ArrayVariable) -> Variable:
        """What all steps have written to ``array``."""

    @contextlib.contextmanager
    def _recorded(self) -> Iterator[None]:
        """Record one step."""
        self._parent = recorder.main.current_block()
        self._index = loop_variable(T.zeros([1], "int64"))
        try:
            with sub_block() as block:
                yield
                self._check_inputs()
                pairs = self._checked_updates()
                settle(block, pairs)
            record_turns(block, self._index, self._count, pairs)
        finally:
            self._parent = None
        self._outputs = [self._gathered(array) for array in self._arrays]

    def _checked_updates(self) -> list[tuple[Variable, Variable]]:
        for memory, new in self._memories.values():
            if new is None:
                raise ProgramError(
                    f"{self._face}: update_memory was not called for memory {memory.name!r}"
                )
        return [(memory, new) for memory, new in self._memories.values() if new is not None]

    def _require_step(self, call: str) -> Block:
        if self._parent is None:
            raise UsageError(self._outside.format(call))
        return self._parent

    def _add_output(self, parent: Block, one: Any) -> None:
        with parent.program.in_block(parent.idx):
            array = record_array(one.raw.dtype)
        record_write(array, self._index, one)
        self._arrays.append(array)

    def _results(self) -> Any:
        return self._outputs[0] if len(self._outputs) == 1 else self._outputs
