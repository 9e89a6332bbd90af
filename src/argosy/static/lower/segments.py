"""Recomputation: the text of segments whose inner results are dropped after the forward pass and
computed again for the backward pass.

A ``backward`` operator may name checkpoints. The operators up to the last one form segments that
end where a checkpoint is written:

    def s7(v0, v2):
        v4 = f0(v0, v2)
        v5 = f1(v4)
        return (v5, )
    (v5, ) = recomputed(s7, (v0, v2, ), ())
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.checkpoint import checkpoint

from argosy.static.ir.operator import CHECKPOINTS, FORWARD

if TYPE_CHECKING:
    from argosy.static.lower.emitter import Emitter
    from argosy.static.lower.lowered import Stream


def recomputed(
    function: Callable[..., Any],
    inputs: tuple[torch.Tensor, ...],
    changed: Sequence[int],
    stream: Stream | None = None,
) -> Any:
    """Call a segment so that autograd keeps only its inputs.

    Those at the positions ``changed`` are overwritten by it (running statistics): a second pass
    works on copies of what they were. It draws the same random numbers: torch sees to its default
    generator, other threads' draws are in a ``stream``.
    """
    before = {i: inputs[i].detach().clone() for i in changed}
    drawn = None if stream is None else stream.random_state
    is_first = True

    def run(*given: torch.Tensor) -> Any:
        nonlocal is_first
        if is_first:
            is_first = False
            return function(*given)
        given = tuple([before[i].clone() if i in before else t for i, t in enumerate(given)])
        if stream is None:
            return function(*given)
        now, stream.random_state = stream.random_state, drawn
        try:
            return function(*given)
        finally:
            stream.random_state = now

    return checkpoint(run, *inputs, use_reentrant=False, preserve_rng_state=stream is None)


class Segment:
    """The operators from ``start`` to ``end``, both included."""

    def __init__(self, emitter: Emitter, start: int, end: int, last: dict[str, int]) -> None:
        self.start = start
        self.end = end
        made: dict[str, None] = {}
        inputs: dict[str, None] = {}
        changed: set[str] = set()
        for index in range(start, end + 1):
            operator = emitter.operators[index]
            inputs.update((name, None) for name in emitter.uses.reads[index] if name not in made)
            outputs = operator.output_arg_names
            mutated = {name for name in outputs if operator.mutates(name)}
            changed |= mutated - set(made)
            # state that is none of its outputs
            changed.update(
                name for name in operator.changed_in_place if emitter.variable(name).persistable
            )
            made.update((name, None) for name in outputs if name not in mutated)
        self.inputs = list(inputs)
        self.made = made
        self.outputs = [name for name in made if last.get(name, end + 1) > end]
        self.changed = [i for i, name in enumerate(self.inputs) if name in changed]
        self.gone: list[str] = []  # not used any more after the segment


class Segments:
    """Writes the segments of a block around the lines of its operators."""

    def __init__(self, emitter: Emitter, last: dict[int, list[str]]) -> None:
        self._emitter = emitter
        self._ends = {name: index for index, names in last.items() for name in names}
        self._starting = {s.start: s for s in self._plan()}
        self._current: Segment | None = None

    def _plan(self) -> list[Segment]:
        emitter = self._emitter
        wanted = {
            n for i in emitter.backwards for n in emitter.operators[i].kwargs.get(CHECKPOINTS, ())
        }
        if not wanted:
            return []
        found: list[Segment] = []
        start = 0
        for index, operator in enumerate(emitter.operators[: emitter.last_backward]):
            if operator.role != FORWARD:
                start = index + 1
            elif wanted.intersection(operator.output_arg_names):
                found.append(Segment(emitter, start, index, self._ends))
                start = index + 1
        return found

    def open(self, index: int) -> None:
        """Begin the function of a segment if one starts at this operator."""
        segment = self._current = self._starting.get(index, self._current)
        if segment is not None and segment.start == index:
            lines = self._emitter.lines
            lines.append(
                f"def s{index}({', '.join(self._emitter.local(name) for name in segment.inputs)}):"
            )
            lines.depth += 1

    def deletable(self, names: Sequence[str]) -> list[str]:
        """Those of ``names``, not used any more, that can be deleted here; others wait for the end
        of the segment.
        """
        segment = self._current
        if segment is None:
            return list(names)
        segment.gone += [
            name for name in names if name not in segment.made or name in segment.outputs
        ]
        return [name for name in names if name in segment.made and name not in segment.outputs]

    def close(self, index: int) -> None:
        """End the function and call it if the segment ends at this operator."""
        segment = self._current
        if segment is None or segment.end != index:
            return
        emitter, lines = self._emitter, self._emitter.lines
        outputs = "".join(f"{emitter.local(name)}, " for name in segment.outputs)
        inputs = "".join(f"{emitter.local(name)}, " for name in segment.inputs)
        lines.append(f"return ({outputs})")
        lines.depth -= 1
        stream = None if emitter.adaptation is None else emitter.adaptation.stream
        own = "" if stream is None else f", {emitter.constant(stream)}"
        call = f"recomputed(s{segment.start}, ({inputs}), {tuple(segment.changed)}{own})"
        lines.append(f"({outputs}) = {call}" if outputs else call)
        if segment.gone:
            lines.append(f"del {', '.join(emitter.local(name) for name in segment.gone)}")
        self._current = None
