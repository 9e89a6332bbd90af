"""Recomputation: the text of spans whose inner results are dropped after the forward pass and
computed again for the backward pass.

A ``backward`` operator may name checkpoints. The operators up to the last one form spans that
end where a checkpoint is written:

    def s7(v0, v2):
        v4 = f0(v0, v2)
        v5 = f1(v4)
        return (v5, )
    (v5, ) = recomputed(s7, (v0, v2, ), ())
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from argosy.static.ir.operator import CHECKPOINTS, FORWARD, Operator
from argosy.static.lower.lowered import Stream
from argosy.static.lower.text import Text, listed


def recomputed(
    function: Callable[..., Any],
    inputs: tuple[torch.Tensor, ...],
    changed: Sequence[int],
    stream: Stream | None = None,
) -> Any:
    """Call a span so that autograd keeps only its inputs.

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


@dataclass
class Span:
    """The operators from ``start`` to ``end``, both included.

    ``made`` is what they give values, ``outputs`` those of it that are used later; they overwrite
    the ``inputs`` at the positions ``changed``.
    """

    start: int
    end: int
    inputs: list[str]
    made: dict[str, None]
    outputs: list[str]
    changed: list[int]
    gone: list[str] = field(default_factory=list)  # not used any more after the span


def planned(
    operators: Sequence[Operator],
    reads: Sequence[Sequence[str]],
    ends: dict[int, list[str]],
    last_backward: int,
) -> list[Span]:
    """The spans that backward operators ask for; ``reads`` says what each operator reads, ``ends``
    what is not used any more after it.
    """
    wanted = {n for o in operators if o.takes_gradients for n in o.kwargs.get(CHECKPOINTS, ())}
    if not wanted:
        return []
    last = {name: index for index, names in ends.items() for name in names}
    found: list[Span] = []
    start = 0
    for index, operator in enumerate(operators[:last_backward]):
        if operator.role != FORWARD:
            start = index + 1
        elif wanted.intersection(operator.output_arg_names):
            found.append(_span(operators, reads, start, index, last))
            start = index + 1
    return found


def _span(
    operators: Sequence[Operator],
    reads: Sequence[Sequence[str]],
    start: int,
    end: int,
    last: dict[str, int],
) -> Span:
    made: dict[str, None] = {}
    inputs: dict[str, None] = {}
    changed: set[str] = set()
    for index in range(start, end + 1):
        operator = operators[index]
        inputs.update((name, None) for name in reads[index] if name not in made)
        outputs = operator.output_arg_names
        mutated = {name for name in outputs if operator.mutates(name)}
        changed |= mutated - set(made)
        changed |= _silently_changed(operator)
        made.update((name, None) for name in outputs if name not in mutated)
    return Span(
        start,
        end,
        list(inputs),
        made,
        [name for name in made if last.get(name, end + 1) > end],
        [i for i, name in enumerate(inputs) if name in changed],
    )


def _silently_changed(operator: Operator) -> set[str]:
    """The state that an operator changes and that is none of its outputs."""
    found = (operator.block.find_var_recursive(name) for name in operator.changed_in_place)
    return {variable.name for variable in found if variable is not None and variable.persistable}


class Spans:
    """Writes the spans of a block around the lines of its operators."""

    def __init__(self, text: Text, spans: Sequence[Span], stream: Stream | None) -> None:
        self._text = text
        self._starting = {span.start: span for span in spans}
        self._stream = stream
        self._current: Span | None = None

    def open(self, index: int) -> None:
        """Begin the function of a span if one starts at this operator."""
        span = self._current = self._starting.get(index, self._current)
        if span is not None and span.start == index:
            inputs = ", ".join(self._text.local(name) for name in span.inputs)
            self._text.append(f"def s{index}({inputs}):")
            self._text.indent()

    def deletable(self, names: Sequence[str]) -> list[str]:
        """Those of ``names``, not used any more, that can be deleted here; others wait for the end
        of the span.
        """
        span = self._current
        if span is None:
            return list(names)
        inner = [name for name in names if name in span.made and name not in span.outputs]
        span.gone += [name for name in names if name not in inner]
        return inner

    def close(self, index: int) -> None:
        """End the function and call it if the span ends at this operator."""
        span, text = self._current, self._text
        if span is None or span.end != index:
            return
        outputs = listed(text.local(name) for name in span.outputs)
        inputs = listed(text.local(name) for name in span.inputs)
        text.append(f"return ({outputs})")
        text.dedent()
        own = "" if self._stream is None else f", {text.constant(self._stream)}"
        call = f"recomputed(s{span.start}, ({inputs}), {tuple(span.changed)}{own})"
        text.append(f"({outputs}) = {call}" if outputs else call)
        if span.gone:
            text.append(f"del {', '.join(text.local(name) for name in span.gone)}")
        self._current = None
