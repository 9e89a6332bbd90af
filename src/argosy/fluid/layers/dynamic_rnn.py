"""``DynamicRNN``: a step for each row of sequences of different lengths."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from argosy import tensor as T
from argosy.fluid.layers.rank_table import (
    array_to_lod_tensor,
    lod_rank_table,
    lod_tensor_to_array,
    max_sequence_len,
    reorder_lod_tensor_by_rank,
    shrink_memory,
)
from argosy.fluid.layers.step_recording import StepRecording
from argosy.foundation.errors import DtypeError, ProgramError, UsageError
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import ArrayVariable, record_read
from argosy.static.record.control import loop_variable


class CalledTooEarly(ProgramError, RuntimeError):
    """A method needs what another one gives."""


class DynamicRNN(StepRecording):
    """Runs a step for all sequences of its inputs at once, of which fewer and fewer are left; what
    it outputs is sequences again.

    Example:
        >>> import numpy, paddle
        >>> from paddle import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.data("x", [None, 1], lod_level=1)
        ...     rnn = fluid.layers.DynamicRNN()
        ...     with rnn.block():
        ...         row = rnn.step_input(x)
        ...         total = rnn.memory(shape=[1])
        ...         new = total + row
        ...         rnn.update_memory(total, new)
        ...         rnn.output(new)
        ...     fed = {"x": (numpy.ones((5, 1), "float32"), [[2, 3]])}
        ...     out = fluid.Executor(fluid.CPUPlace()).run(feed=fed, fetch_list=[rnn()],
        ...         return_numpy=False)
        >>> out[0].numpy().reshape(-1).tolist()
        [1.0, 2.0, 1.0, 2.0, 3.0]
        >>> paddle.disable_static()
    """

    _face = "DynamicRNN"
    _outside = "{} can only be invoked inside rnn block: `with rnn.block():`"

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self._table: Any = None
        self._first: ArrayVariable | None = None  # the steps of the first input

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Record one step."""
        if self._outputs:
            raise UsageError("DynamicRNN.block: rnn.block() can only be invoked once")
        with self._recorded():
            yield

    def _check_inputs(self) -> None:
        if self._table is None:
            raise ProgramError("DynamicRNN: a step needs a step_input")

    def _count(self) -> Any:
        return max_sequence_len(self._table)

    def _gathered(self, array: ArrayVariable) -> Variable:
        made: Variable = array_to_lod_tensor(array, self._table)
        return made

    def step_input(self, x: Any, level: int = 0) -> Any:
        """The rows of this step of ``x``, whose sequences on ``level`` are gone through."""
        parent = self._require_step("step_input")
        if not isinstance(x, Variable):
            raise DtypeError(
                f"DynamicRNN.step_input: step_input() can only take a Variable as its input, but "
                f"received {type(x).__name__}"
            )
        with parent.program.in_block(parent.idx):
            if self._table is None:
                self._table = lod_rank_table(x, level)
            array = lod_tensor_to_array(x, self._table)
        self._first = self._first or array
        return record_read(array, self._index)

    def static_input(self, x: Any) -> Any:
        """Of ``x``, which has a row or a sequence for each sequence of the input, those whose
        sequences have this step.
        """
        parent = self._require_step("static_input")
        if not isinstance(x, Variable):
            raise DtypeError(
                "DynamicRNN.static_input: static_input() can only take a Variable as its input, "
                f"but received {type(x).__name__}"
            )
        if self._table is None:
            raise CalledTooEarly("static_input() must be called after step_input().")
        with parent.program.in_block(parent.idx):
            ordered = reorder_lod_tensor_by_rank(x, self._table)
        return shrink_memory(ordered, self._index, self._table)

    def memory(
        self,
        init: Any = None,
        shape: Any = None,
        value: float = 0.0,
        need_reorder: bool = False,
        dtype: Any = "float32",
    ) -> Any:
        """What one step leaves for the next; it starts as ``init``, a row for each sequence, or as
        ``value`` in rows of ``shape``.

        ``need_reorder`` says that the rows of ``init`` stand in the order of the sequences.
        """
        parent = self._require_step("memory")
        if init is not None and not isinstance(init, Variable):
            raise DtypeError(
                "DynamicRNN.memory: The input arg `init` of memory() must be a Variable, but "
                f"received {type(init).__name__}"
            )
        if self._first is None:
            raise UsageError(
                "memory(shape=shape, value=value) should be invoked after step_input()"
                if init is None
                else "DynamicRNN.memory: call step_input() first"
            )
        with parent.program.in_block(parent.idx):
            if init is None:
                first = record_read(self._first, T.zeros([1], "int64"))
                init = T.full([T.shape(first)[0:1], *(shape or [])], value, dtype)
            elif need_reorder:
                init = reorder_lod_tensor_by_rank(init, self._table)
            memory = loop_variable(init)
        step = shrink_memory(memory, self._index, self._table)
        self._memories[step.name] = (memory, None)
        return step

    def update_memory(self, ex_mem: Any, new_mem: Any) -> None:
        """Let ``new_mem`` be the memory ``ex_mem`` of the next step."""
        self._require_step("update_memory")
        for argument, given in (("ex_mem", ex_mem), ("new_mem", new_mem)):
            if not isinstance(given, Variable):
                raise DtypeError(
                    f"DynamicRNN.update_memory: The input arg `{argument}` of update_memory() must "
                    f"be a Variable, but received {type(given).__name__}"
                )
        if ex_mem.name not in self._memories:
            raise UsageError("Please invoke memory before update_memory")
        self._memories[ex_mem.name] = (self._memories[ex_mem.name][0], new_mem)

    def output(self, *outputs: Any) -> None:
        """Let the rows that ``outputs`` have in each step be outputs."""
        parent = self._require_step("output")
        for one in outputs:
            self._add_output(parent, one)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs of all steps."""
        if not self._outputs:
            raise UsageError(
                "Output of the dynamic RNN can only be visited outside the rnn block, after it"
            )
        return self._results()
