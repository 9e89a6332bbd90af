"""Emitter: writes the function of a program, and the suites of its sub-blocks, line by line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation.errors import ProgramError
from argosy.static.ir.block import Block
from argosy.static.ir.operator import (
    FORWARD,
    ONLY_IF,
    OPTIMIZE,
    Number,
    Operator,
    Ref,
    SubBlock,
    names_in,
)
from argosy.static.ir.rows import dense, row_names, takes_rows
from argosy.static.ir.special import ARRAY_TYPES
from argosy.static.ir.uses import Uses
from argosy.static.ir.variable import Variable
from argosy.static.lower import feed, source
from argosy.static.lower.arrays import emit_array
from argosy.static.lower.control import Lines, emit_cond, emit_while, has_backward
from argosy.static.lower.gradients import (
    emit_backward,
    excluded_names,
    gradients_of,
    is_differentiable,
    unshared,
)
from argosy.static.lower.guard import guarded
from argosy.static.lower.lowered import Adaptation, Lowered
from argosy.static.lower.printing import emit_print
from argosy.static.lower.segments import Segments, recomputed


class Emitter:
    """Writes the function, or the suite of a sub-block in it."""

    def __init__(
        self,
        block: Block,
        operators: list[Operator],
        feeds: list[str],
        fetches: list[str],
        device: torch.device,
        adaptation: Adaptation | None = None,
        parent: Emitter | None = None,
    ) -> None:
        self.block = block
        self.operators = operators
        self.feeds = feeds
        self.fetches = fetches
        self.device = device
        self.adaptation = adaptation
        self.backwards = [i for i, o in enumerate(operators) if o.type == "backward"]
        self.last_backward = max(
            (i for i, o in enumerate(operators) if has_backward(o)), default=-1
        )
        # all of it, because a block around it goes on to a backward operator
        self.is_before_backward = False
        self.repeats = False
        self.lines: Lines = Lines() if parent is None else parent.lines
        self.locals: dict[str, str] = {} if parent is None else parent.locals
        self.globals: dict[str, Any] = _helpers() if parent is None else parent.globals
        self.line_operators: dict[int, Operator] = {} if parent is None else parent.line_operators
        # may be row-sparse
        self.rows: set[str] = row_names(operators) if parent is None else parent.rows
        self.trains: bool = self.last_backward >= 0 if parent is None else parent.trains
        self.detached: set[str] = excluded_names(operators) if parent is None else parent.detached
        # What a run may leave without a value, None, and the operator that could have given it one.
        self.unset: dict[str, Operator] = {} if parent is None else parent.unset
        self.uses = Uses(block, operators, feeds, fetches)

    def is_last_backward(self, index: int) -> bool:
        """Whether no gradient is taken after this operator, so that the graph can go."""
        return index == self.last_backward and not self.is_before_backward and not self.repeats

    def variable(self, name: str) -> Variable:
        found = self.block.find_var_recursive(name)
        assert found is not None  # an operator of the block names it
        return found

    def nested(self, index: int, sub: SubBlock, repeats: bool = False) -> Emitter:
        """What writes a block that the operator at ``index`` runs."""
        block = self.block.program.blocks[sub.index]
        inner = Emitter(
            block, list(block.ops), [], list(sub.results), self.device, self.adaptation, self
        )
        inner.is_before_backward = self.is_before_backward or index < self.last_backward
        inner.repeats = self.repeats or repeats
        return inner

    def emit_suite(self, targets: list[str]) -> None:
        """Write a block; the locals ``targets`` take over its results."""
        done = len(self.lines)
        self._emit_operators(self.uses.ends())
        if targets:
            results = [self.expression(Ref(name)) for name in self.fetches]
            self.lines.append(f"{_tuple(targets)} = {_tuple(results)}")
            own = dict.fromkeys(
                self.local(name) for name in self.fetches if name in self.block.vars
            )
            if own:
                self.lines.append(f"del {', '.join(own)}")
        if len(self.lines) == done:
            self.lines.append("pass")

    def emit(self) -> Lowered:
        state = self.uses.state()
        writes = self.uses.writes()
        self._emit_entry(state)
        self._emit_operators(self.uses.ends(writes))
        fetched = [self._fetched(name) for name in self.fetches]
        self.lines.append(
            f"return {_tuple(fetched)}, {_tuple([self.local(name) for name in writes])}"
        )
        return self._compile(state, writes)

    def _emit_operators(self, last: dict[int, list[str]]) -> None:
        """Write the operators; ``last`` says what is not used any more after each."""
        segments = Segments(self, last)
        for index, operator in enumerate(self.operators):
            self._set_grad(index, operator)
            segments.open(index)
            emit = EMITTERS[operator.type] if operator.op is None else _emit_call
            done = len(self.lines)
            emit(self, index, operator)
            if self.unset and not operator.sub_blocks:
                for name in (
                    self.unset.keys() & set(operator.output_arg_names) & self.block.vars.keys()
                ):
                    del self.unset[name]
            for number in range(done, len(self.lines)):
                # an operator inside of it comes first
                self.line_operators.setdefault(number + 2, operator)
            gone = [
                self.locals[name]
                for name in segments.deletable(last.get(index, ()))
                if name in self.locals
            ]
            if gone:
                self.lines.append(f"del {', '.join(gone)}")
            segments.close(index)
            if index == self.last_backward and self.block.parent is None:
                self._keep_fetches(index)

    def _compile(self, state: list[str], writes: list[str]) -> Lowered:
        text = "def run(feeds, state):\n" + "".join(f"    {line}\n" for line in self.lines)
        run = source.compiled(text, f"<program {self.block.program.id}>", self.globals)
        feeds = feed.feed_specs(self.block, self.feeds, self.operators)
        variables = [self.block.vars[name] for name in state]
        return Lowered(
            run, text, self.line_operators, self.locals, feeds, variables, writes, self.trains
        )

    # -- text
    # ----------------------------------------------------------------------------------------------

    def local(self, name: str) -> str:
        if name not in self.locals:
            self.locals[name] = f"v{len(self.locals)}"
        return self.locals[name]

    def dense_local(self, name: str) -> str:
        return f"dense({self.local(name)})" if name in self.rows else self.local(name)

    def leave_unset(self, names: Sequence[str], writer: Operator) -> None:
        """Let variables of this block be None until ``writer``, which may leave them alone, gives
        them values.
        """
        for name in names:
            # those of enclosing blocks are None since the operator that runs this one
            if name in self.block.vars:
                self.lines.append(f"{self.local(name)} = None")
                self.unset[name] = writer

    def _fetched(self, name: str) -> str:
        conditional = next(
            (o for o in self.operators if o.kwargs.get(ONLY_IF) and o.rebinds(name)), None
        )
        writer = self.unset.get(name, conditional)
        return (
            self.dense_local(name)
            if writer is None
            else self._present(name, writer, "Executor.run: fetch_list reads ")
        )

    def _present(self, name: str, writer: Operator, reader: str = "") -> str:
        problem = (
            f"{reader}{name!r}, which has no value in this run: {writer.describe()} has not "
            "written it"
        )
        return f"present({self.dense_local(name)}, {self.constant(problem)})"

    def constant(self, value: Any, prefix: str = "c") -> str:
        name = f"{prefix}{len(self.globals)}"
        self.globals[name] = value
        return name

    def expression(self, value: Any, keeps_rows: bool = False) -> str:
        if isinstance(value, Ref):
            if value.name in self.unset:
                return self._present(value.name, self.unset[value.name], "it reads ")
            return self.local(value.name) if keeps_rows else self.dense_local(value.name)
        if isinstance(value, Number):
            text = f"{self.local(value.name)}.item()"
            return text if value.scale == 1.0 else f"{text} * {self.expression(value.scale)}"
        if _is_literal(value):
            return repr(value)
        if isinstance(value, torch.device):
            return self.constant(self.device)
        if isinstance(value, (list, tuple)) and names_in(value):
            items = "".join(f"{self.expression(v, keeps_rows)}, " for v in value)
            return f"[{items}]" if isinstance(value, list) else f"({items})"
        return self.constant(value)

    def call(self, operator: Operator) -> str:
        keeps_rows = takes_rows(operator)
        given = [self.expression(a, keeps_rows) for a in operator.args]
        named = {key: a for key, a in operator.kwargs.items() if key != ONLY_IF}
        given += [
            f"{source.keyword(key)}={self.expression(a, keeps_rows)}" for key, a in named.items()
        ]
        assert operator.op is not None  # others have emitters of their own
        if operator.copies_first:
            given[0] += ".clone()"
        function = (
            operator.op.fn if self.adaptation is None else self.adaptation.function(operator.op)
        )
        if self.block.program.is_loaded:
            function = guarded(operator.op, function)
        return f"{self.constant(function, 'f')}({', '.join(given)})"

    def pattern(self, operator: Operator, out: Any) -> str:
        """The left side of the assignment; empty when the operator only works in place."""
        if isinstance(out, Ref):
            return "" if operator.mutates(out.name) else self.local(out.name)
        if isinstance(out, (list, tuple)):
            parts = [self.pattern(operator, item) for item in out]
            return f"[{', '.join(p or '_' for p in parts)}]" if any(parts) else ""
        return ""

    def _emit_entry(self, state: list[str]) -> None:
        if self.feeds:
            self.lines.append(f"{_tuple([self.local(name) for name in self.feeds])} = feeds")
        if state:
            self.lines.append(f"{_tuple([self.local(name) for name in state])} = state")
        changed = {name for o in self.operators for name in o.output_arg_names if o.mutates(name)}
        for name in self.feeds:
            if name in changed:
                # what was fed is the caller's
                self.lines.append(f"{self.local(name)} = {self.local(name)}.clone()")
            if self.trains and is_differentiable(self.block.vars[name]):
                self.lines.append(
                    f"{self.local(name)} = {self.local(name)}.detach().requires_grad_()"
                )

    def _set_grad(self, index: int, operator: Operator) -> None:
        """Have gradients on for what comes before the last backward, except updates, which write to
        parameters.
        """
        reaches = self.is_before_backward or index <= self.last_backward
        wanted = self.trains and reaches and operator.role != OPTIMIZE
        if wanted is not self.lines.has_grad:
            self.lines.append(f"set_grad({wanted})")
            self.lines.has_grad = wanted

    def _keep_fetches(self, index: int) -> None:
        """Detach what was computed so far and is fetched from the memory that the rest of the
        program overwrites.
        """
        done = {
            name for operator in self.operators[: index + 1] for name in operator.output_arg_names
        }
        for name in dict.fromkeys(self.fetches):
            if name in done and name in self.locals and not self.block.vars[name].persistable:
                held = self._fetched(name) if name in self.unset else self.local(name)
                self.lines.append(f"{self.local(name)} = unshared({held})")

    def stops(self, operator: Operator, name: str) -> bool:
        """Whether a gradient that would flow into this output must be stopped."""
        variable = self.variable(name)
        dtype = variable.raw.dtype
        if (
            not self.trains
            or not (dtype.is_floating_point or dtype.is_complex)
            or operator.mutates(name)
        ):
            return False
        if name in self.detached:
            return True
        inputs = [self.variable(n) for n in operator.input_arg_names]
        return variable.stop_gradient and any(is_differentiable(v) for v in inputs)


def _helpers() -> dict[str, Any]:
    """What the text of every program calls."""
    return {
        "set_grad": torch._C._set_grad_enabled,
        "gradients_of": gradients_of,
        "present": _present,
        "unshared": unshared,
        "dense": dense,
        "recomputed": recomputed,
    }


def _is_literal(value: Any) -> bool:
    """Whether a value may stand in the text; all others, strings too, are globals of the
    function.
    """
    kind = type(value)  # exactly: the text of a NumPy number is no Python
    if kind is int:
        return value.bit_length() <= 64  # type: ignore[no-any-return]
    return value is None or kind is bool or (kind is float and math.isfinite(value))


def _present(value: Any, problem: str) -> Any:
    """``value``; None, which stands for none, is refused."""
    if value is None:
        raise ProgramError(problem)
    return value


def _emit_py_func(emitter: Emitter, index: int, operator: Operator) -> None:
    call = emitter.constant(operator.kwargs["func"], "f")
    given = ", ".join(emitter.expression(a) for a in operator.args)
    left = "".join(f"{emitter.local(name)}, " for name in operator.output_arg_names)
    emitter.lines.append(f"[{left}] = {call}({given})" if left else f"{call}({given})")


def _emit_call(emitter: Emitter, index: int, operator: Operator) -> None:
    left, right = emitter.pattern(operator, operator.out), emitter.call(operator)
    conditions = operator.kwargs.get(ONLY_IF)
    if conditions:
        # In this order: what one that does not hold skips may be the next.
        test = " and ".join(f"{emitter.local(condition.name)}.item()" for condition in conditions)
        # What is not computed is None, so that the local can be deleted like any other.
        right = f"{right} if {test} else {_nones(operator.out)}" if left else f"if {test}: {right}"
    emitter.lines.append(f"{left} = {right}" if left else right)
    for name in operator.output_arg_names:
        if operator.role == FORWARD and emitter.stops(operator, name):
            emitter.lines.append(f"{emitter.local(name)} = {emitter.local(name)}.detach()")


# How operators that are not calls of the table are written, by type.
EMITTERS: dict[str, Callable[[Emitter, int, Operator], None]] = {
    "backward": emit_backward,
    "cond": emit_cond,
    "while": emit_while,
    "print": emit_print,
    "py_func": _emit_py_func,
    **dict.fromkeys(ARRAY_TYPES, emit_array),
}


def _nones(out: Any) -> str:
    """The text of a value of the same structure with None for each variable."""
    return (
        f"[{''.join(f'{_nones(item)}, ' for item in out)}]"
        if isinstance(out, (list, tuple))
        else "None"
    )


def _tuple(names: Sequence[str]) -> str:
    return f"({''.join(f'{name}, ' for name in names)})"
