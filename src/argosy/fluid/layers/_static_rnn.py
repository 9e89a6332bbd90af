"""StaticRNN: one step of a recurrent network recorded as a block, repeated for each row of its
inputs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from argosy import tensor as T
from argosy.fluid._mode import begin_recording
from argosy.foundation.errors import ProgramError, UsageError
from argosy.static.ir.block import Block
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import ArrayVariable, record_array, record_stack, record_write
from argosy.static.record.control import loop_variable, record_loop, sub_block
from argosy.static.record.recorder import recorder
from argosy.static.record.reinfer import settle


class StaticRNN:
    """Runs a step for each entry of the first dimension of its inputs; what it outputs is stacked.

    Example:
        >>> import paddle
        >>> from paddle import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.data("x", [4, 2, 3])
        ...     rnn = fluid.layers.StaticRNN()
        ...     with rnn.step():
        ...         word = rnn.step_input(x)
        ...         total = rnn.memory(shape=[-1, 3], batch_ref=word)
        ...         new = total + word
        ...         rnn.update_memory(total, new)
        ...         rnn.step_output(new)
        ...     rnn().shape
        [4, 2, 3]
        >>> paddle.disable_static()
    """

    def __init__(self, name: str | None = None) -> None:
        begin_recording("fluid.layers.StaticRNN")
        self._parent: Block | None = None  # while the step is recorded
        self._sources: dict[str, Variable] = {}  # of the inputs of a step
        self._updates: dict[str, tuple[Variable, Variable | None]] = {}
        self._arrays: list[ArrayVariable] = []
        self._outputs: list[Variable] = []
        self._length = -1

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Record one step."""
        if self._outputs:
            raise UsageError("StaticRNN.step: the step is recorded already")
        self._parent = recorder.main.current_block()
        self._index = loop_variable(T.zeros([1], "int64"))
        try:
            with sub_block() as block:
                yield
                pairs = self._checked_updates()
                following = self._index + 1
                again = following < self._count()
                settle(block, pairs)
            condition = self._index < self._count()
            pairs += [(self._index, following), (condition, again)]
            record_loop(
                block, condition, [target for target, _ in pairs], [result for _, result in pairs]
            )
        finally:
            self._parent = None
        self._outputs = [record_stack(array, self._length) for array in self._arrays]

    def _count(self) -> Any:
        """The number of steps."""
        return T.shape(next(iter(self._sources.values())))[0:1].astype("int64")

    def _checked_updates(self) -> list[tuple[Variable, Variable]]:
        if not self._sources or not self._arrays:
            raise ProgramError("StaticRNN: a step needs a step_input and an output")
        for memory, new in self._updates.values():
            if new is None:
                raise ProgramError(
                    f"StaticRNN: update_memory was not called for memory {memory.name!r}"
                )
        return [(memory, new) for memory, new in self._updates.values() if new is not None]

    def step_input(self, x: Any) -> Any:
        """The entry of this step of ``x``, whose first dimension are the steps."""
        self._require_step("step_input")
        if self._length not in (-1, x.shape[0]) and x.shape[0] != -1:
            raise UsageError(
                f"StaticRNN.step_input: {x.name!r} has {x.shape[0]} steps, an input before it "
                f"{self._length}"
            )
        self._length = max(self._length, x.shape[0])
        entry = T.squeeze(T.gather(x, self._index), 0)
        self._sources[entry.name] = x
        return entry

    def memory(
        self,
        init: Any = None,
        shape: Any = None,
        batch_ref: Any = None,
        init_value: float = 0.0,
        init_batch_dim_idx: int = 0,
        ref_batch_dim_idx: int = 1,
    ) -> Any:
        """What one step leaves for the next; it starts as ``init``, or as ``init_value`` in
        ``shape``, as many rows as ``batch_ref`` has.
        """
        parent = self._require_step("memory")
        with parent.program.in_block(parent.idx):
            if init is None:
                if shape is None or batch_ref is None:
                    raise UsageError(
                        "StaticRNN.memory: if init is None, memory at least needs shape and "
                        "batch_ref"
                    )
                source = self._sources.get(batch_ref.name, batch_ref)
                extents: list[Any] = list(shape)
                extents[init_batch_dim_idx] = T.shape(source)[ref_batch_dim_idx]
                init = T.full(extents, init_value, batch_ref.dtype)
            memory = loop_variable(init)
        self._updates[memory.name] = (memory, None)
        return memory

    def update_memory(self, mem: Any, var: Any) -> None:
        """Let ``var`` be the memory ``mem`` of the next step."""
        self._require_step("update_memory")
        if mem.name not in self._updates:
            raise UsageError(f"StaticRNN.update_memory: {mem.name!r} was not made by memory()")
        self._updates[mem.name] = (mem, var)

    def step_output(self, o: Any) -> None:
        """Let the values that ``o`` has in each step be an output."""
        parent = self._require_step("step_output")
        with parent.program.in_block(parent.idx):
            array = record_array(o.raw.dtype)
        record_write(array, self._index, o)
        self._arrays.append(array)

    def output(self, *outputs: Any) -> None:
        """``step_output`` for each."""
        for one in outputs:
            self.step_output(one)

    def __call__(self) -> Any:
        """The outputs of all steps."""
        if not self._outputs:
            raise UsageError("StaticRNN: its outputs are there after `with rnn.step():`")
        return self._outputs[0] if len(self._outputs) == 1 else self._outputs

    def _require_step(self, call: str) -> Block:
        if self._parent is None:
            raise UsageError(f"You must invoke {call} in rnn block: inside `with rnn.step():`")
        return self._parent
