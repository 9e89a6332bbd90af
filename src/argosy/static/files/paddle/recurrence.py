"""``recurrent`` of Paddle's files, the step of a StaticRNN, as a loop.

Its block is one step. It sees the entry of each input under the name of the input, what a state was
before the step under a name of ``ex_states``, leaves what it becomes under one of ``states``, and
what it puts out under the name that all steps together have outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import tensor as T
from argosy.static.files.paddle.form import Misfit, OpForm
from argosy.static.ir.block import Block
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import ArrayVariable, record_array, record_stack, record_write
from argosy.static.record.control import loop_variable
from argosy.static.record.kinds import without_values
from argosy.static.record.recorder import recorder
from argosy.static.record.stepping import record_turns

RECURRENT = "recurrent"


class Recurrence:
    """One operator ``recurrent``, recorded around its block: ``begin`` before the operators of the
    block are there, ``finish`` after that.

    ``known_inside`` is what the block calls a variable of the file.
    """

    def __init__(
        self, form: OpForm, block: Block, inner: Block, known_inside: Callable[[str], str]
    ) -> None:
        self._block, self._inner, self._known_inside = block, inner, known_inside
        if form.attrs.get("reverse"):
            raise Misfit("has reverse=True, which is not supported")
        self._sources = self._outside(form.inputs.get("inputs", []))
        self._starts = self._outside(form.inputs.get("initial_states", []))
        self._results = self._outside(form.outputs.get("outputs", []))
        if not self._sources or not self._results:
            raise Misfit("must have an input and an output")
        self._entries = self._inside([v.name for v in self._sources])
        self._outputs = self._inside([v.name for v in self._results])
        self._before = self._inside(form.attrs.get("ex_states", []))
        self._after = self._inside(form.attrs.get("states", []))
        if not len(self._starts) == len(self._before) == len(self._after):
            raise Misfit(
                f"has {len(self._before)} ex_states and {len(self._after)} states for "
                f"{len(self._starts)} initial_states"
            )

    def _outside(self, names: list[str]) -> list[Variable]:
        return [self._found(self._block, name) for name in names]

    def _inside(self, names: Any) -> list[Variable]:
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Misfit("has states that are no names")
        found = [self._found(self._inner, self._known_inside(name)) for name in names]
        for variable in found:
            if variable.block is not self._inner:
                raise Misfit(f"has {variable.name!r:.80}, which is no variable of its block")
        return found

    def _found(self, block: Block, name: str) -> Variable:
        found: Variable | None = block.find_var_recursive(name)
        if found is None or isinstance(found, ArrayVariable):
            raise Misfit(f"has {name!r:.80}, which is no variable of the program")
        return found

    def begin(self) -> None:
        self._index: Variable = loop_variable(T.zeros([1], "int64"))
        self._arrays = [record_array(out.raw.dtype) for out in self._outputs]
        self._memories: list[Variable] = []
        for start, before in zip(self._starts, self._before, strict=True):
            memory = loop_variable(start)
            memory.know(without_values(before.kind), memory.stop_gradient)
            self._memories.append(memory)
        with self._block.program.in_block(self._inner.idx):
            for source, entry in zip(self._sources, self._entries, strict=True):
                recorder.write(entry, T.squeeze(T.gather(source, self._index), 0))
            for memory, before in zip(self._memories, self._before, strict=True):
                recorder.write(before, memory)

    def finish(self) -> None:
        with self._block.program.in_block(self._inner.idx):
            for array, out in zip(self._arrays, self._outputs, strict=True):
                record_write(array, self._index, out)
        pairs = list(zip(self._memories, self._after, strict=True))
        record_turns(self._inner, self._index, self._count, pairs)
        for array, result in zip(self._arrays, self._results, strict=True):
            recorder.write(result, record_stack(array))

    def _count(self) -> Any:
        """The number of steps."""
        return T.shape(self._sources[0])[0:1].astype("int64")
