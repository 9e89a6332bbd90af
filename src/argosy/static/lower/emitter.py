"""Emitter: writes the function of a program, and the suites of its sub-blocks, line by line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation import torch_private as private
from argosy.foundation.errors import ProgramError
from argosy.foundation.registry import Registry
from argosy.ops.array.creation import assign
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
from argosy.static.ir.uses import Uses
from argosy.static.ir.variable import Variable
from argosy.static.lower import feed, source
from argosy.static.lower.fetch import with_lod
from argosy.static.lower.gradients import (
    excluded_names,
    gradients_of,
    has_backward,
    is_differentiable,
    tracked,
    unshared,
)
from argosy.static.lower.guard import guarded
from argosy.static.lower.joining import joined
from argosy.static.lower.lowered import Adaptation, Lowered
from argosy.static.lower.spans import Spans, planned, recomputed
from argosy.static.lower.text import Text, listed


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
        joins_graph: bool = False,
    ) -> None:
        self.block = block
        self.operators = operators
        self.feeds = feeds
        self.fetches = fetches
        self.device = device
        self.adaptation = adaptation
        self.last_backward = max(
            (i for i, o in enumerate(operators) if has_backward(o)), default=-1
        )
        # all of it, because a block around it goes on to a backward operator
        self.is_before_backward = False
        self.repeats = False
        self.text: Text = Text(_helpers()) if parent is None else parent.text
        # may be row-sparse
        self.rows: set[str] = row_names(operators) if parent is None else parent.rows
        # whether it runs inside of the caller's graph, who says whether gradients are on
        self.joins_graph: bool = joins_graph if parent is None else parent.joins_graph
        self.trains: bool = (
            joins_graph or self.last_backward >= 0 if parent is None else parent.trains
        )
        self.detached: set[str] = excluded_names(operators) if parent is None else parent.detached
        # What a run may leave without a value, None, and the operator that could have given it one.
        self.unset: dict[str, Operator] = {} if parent is None else parent.unset
        # of these, what the operator that is written now leaves so
        self.kept_unset: dict[str, Operator] = {}
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
        operators = joined(block, list(block.ops), [], list(sub.results))
        inner = Emitter(block, operators, [], list(sub.results), self.device, self.adaptation, self)
        inner.is_before_backward = self.is_before_backward or index < self.last_backward
        inner.repeats = self.repeats or repeats
        return inner

    def emit_suite(self, targets: list[str]) -> None:
        """Write a block; the locals ``targets`` take over its results."""
        done = len(self.text.lines)
        self._emit_operators(self.uses.ends())
        if targets:
            results = [self.dense_local(name) for name in self.fetches]
            self.text.append(f"{_tuple(targets)} = {_tuple(results)}")
            own = dict.fromkeys(
                self.text.local(name) for name in self.fetches if name in self.block.vars
            )
            if own:
                self.text.append(f"del {', '.join(own)}")
        if len(self.text.lines) == done:
            self.text.append("pass")

    def emit(self) -> Lowered:
        state = self.uses.state()
        writes = self.uses.writes()
        offsets = [name for held in writes for name in self._known_lod(held, state)]
        self._emit_entry(state)
        self._emit_operators(self.uses.ends([*writes, *offsets]))
        fetched = [self._fetched(name) for name in self.fetches]
        written = [self._written(name, self._known_lod(name, state)) for name in writes]
        self.text.append(f"return {_tuple(fetched)}, {_tuple(written)}")
        return self._compile(state, writes)

    def _known_lod(self, name: str, state: list[str]) -> tuple[str, ...]:
        """The offsets of a variable, if the run has them."""
        lod = self.variable(name).lod_names
        if not lod:  # most have none, and programs may write thousands of variables
            return ()
        known = {*self.feeds, *state}.union(*(o.output_arg_names for o in self.operators))
        return lod if known.issuperset(lod) else ()

    def _written(self, name: str, lod: tuple[str, ...]) -> str:
        """What is kept of a variable: its value, with its offsets if there are any."""
        held = self.text.local(name)
        if not lod:
            return held
        return f"with_lod({held}, [{listed(self.text.local(level) for level in lod)}])"

    def _emit_operators(self, last: dict[int, list[str]]) -> None:
        """Write the operators; ``last`` says what is not used any more after each."""
        stream = None if self.adaptation is None else self.adaptation.stream
        found = planned(self.operators, self.uses.reads, last, self.last_backward)
        spans = Spans(self.text, found, stream)
        for index, operator in enumerate(self.operators):
            self._set_grad(index, operator)
            spans.open(index)
            done = len(self.text.lines)
            emit = _emit_call if operator.op is not None else _emitters.get(operator.type)
            emit(self, index, operator)
            if self.unset and not operator.sub_blocks:
                for name in (
                    self.unset.keys() & set(operator.output_arg_names) & self.block.vars.keys()
                ):
                    del self.unset[name]
            if self.kept_unset:
                self.unset.update(self.kept_unset)
                self.kept_unset.clear()
            self.text.comes_from(operator, done)
            held = self.text.locals
            gone = [held[name] for name in spans.deletable(last.get(index, ())) if name in held]
            if gone:
                self.text.append(f"del {', '.join(gone)}")
            spans.close(index)
            if index == self.last_backward and self.block.parent is None and not self.joins_graph:
                self._keep_fetches(index)

    def _compile(self, state: list[str], writes: list[str]) -> Lowered:
        text = self.text.function()
        run = source.compiled(text, f"<program {self.block.program.id}>", self.text.globals)
        feeds = feed.feed_specs(self.block, self.feeds, self.operators)
        variables = [self.block.vars[name] for name in state]
        return Lowered(
            run, text, self.text.operators, self.text.locals, feeds, variables, writes, self.trains,
            self._shared(state),
        )  # fmt: skip

    def _shared(self, state: list[str]) -> list[list[str]]:
        """The lists of variables that may share a tensor: one operator changes them, and no
        other.
        """
        operators = {id(o): o for o in (*self.operators, *self.text.operators.values())}.values()
        changes = Counter(
            name
            for operator in operators
            for name in {*operator.output_arg_names, *operator.changed_in_place}
        )
        kept = set(state)
        return [
            names
            for names in self.text.alike
            if len(names) > 1 and kept.issuperset(names) and all(changes[n] == 1 for n in names)
        ]

    # -- text
    # ----------------------------------------------------------------------------------------------

    def dense_local(self, name: str) -> str:
        return f"dense({self.text.local(name)})" if name in self.rows else self.text.local(name)

    def leave_unset(self, names: Sequence[str], writer: Operator) -> None:
        """Let variables of this block be None until ``writer``, which may leave them alone, gives
        them values.
        """
        for name in names:
            # those of enclosing blocks are None since the operator that runs this one
            if name in self.block.vars:
                self.text.append(f"{self.text.local(name)} = None")
                self.unset[name] = writer

    def _fetched(self, name: str) -> str:
        conditional = next(
            (o for o in self.operators if o.kwargs.get(ONLY_IF) and o.rebinds(name)), None
        )
        writer = self.unset.get(name, conditional)
        return (
            self.dense_local(name)
            if writer is None or self.joins_graph
            else self._present(name, writer, "Executor.run: fetch_list reads ")
        )

    def _present(self, name: str, writer: Operator, reader: str = "") -> str:
        problem = (
            f"{reader}{name!r}, which has no value in this run: {writer.describe()} has not "
            "written it"
        )
        return f"present({self.dense_local(name)}, {self.text.constant(problem)})"

    def expression(self, value: Any, keeps_rows: bool = False) -> str:
        if isinstance(value, Ref):
            if value.name in self.unset:
                return self._present(value.name, self.unset[value.name], "it reads ")
            return self.text.local(value.name) if keeps_rows else self.dense_local(value.name)
        if isinstance(value, Number):
            text = f"{self.text.local(value.name)}.item()"
            return text if value.scale == 1.0 else f"{text} * {self.expression(value.scale)}"
        if _is_literal(value):
            return repr(value)
        if isinstance(value, torch.device):
            return self.text.constant(self.device)
        if isinstance(value, (list, tuple)) and names_in(value):
            items = "".join(f"{self.expression(v, keeps_rows)}, " for v in value)
            return f"[{items}]" if isinstance(value, list) else f"({items})"
        return self.text.constant(value)

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
        for param in operator.op.traits.alike:
            self.text.alike.append(names_in(operator.named_args[param]))
        function = (
            operator.op.fn if self.adaptation is None else self.adaptation.function(operator.op)
        )
        if self.block.program.is_loaded:
            function = guarded(operator.op, function)
        return f"{self.text.constant(function, 'f')}({', '.join(given)})"

    def pattern(self, operator: Operator, out: Any) -> str:
        """The left side of the assignment; empty when the operator only works in place."""
        if isinstance(out, Ref):
            return "" if operator.mutates(out.name) else self.text.local(out.name)
        if isinstance(out, (list, tuple)):
            parts = [self.pattern(operator, item) for item in out]
            return f"[{', '.join(p or '_' for p in parts)}]" if any(parts) else ""
        return ""

    def _emit_entry(self, state: list[str]) -> None:
        if self.feeds:
            self.text.append(f"{_tuple([self.text.local(name) for name in self.feeds])} = feeds")
        if state:
            self.text.append(f"{_tuple([self.text.local(name) for name in state])} = state")
        changed = {name for o in self.operators for name in o.output_arg_names if o.mutates(name)}
        for name in self.feeds:
            if name in changed:
                # what was fed is the caller's
                self.text.append(f"{self.text.local(name)} = {self.text.local(name)}.clone()")
            takes_gradients = self.trains and not self.joins_graph
            if takes_gradients and is_differentiable(self.block.vars[name]):
                self.text.append(
                    f"{self.text.local(name)} = {self.text.local(name)}.detach().requires_grad_()"
                )

    def _set_grad(self, index: int, operator: Operator) -> None:
        """Have gradients on for what comes before the last backward, except updates, which write to
        parameters.
        """
        if self.joins_graph:
            return
        reaches = self.is_before_backward or index <= self.last_backward
        wanted = self.trains and reaches and operator.role != OPTIMIZE
        if wanted is not self.text.has_grad:
            self.text.append(f"set_grad({wanted})")
            self.text.has_grad = wanted

    def _keep_fetches(self, index: int) -> None:
        """Detach what was computed so far and is fetched from the memory that the rest of the
        program overwrites.
        """
        done = {
            name for operator in self.operators[: index + 1] for name in operator.output_arg_names
        }
        for name in dict.fromkeys(self.fetches):
            if name in done and name in self.text.locals and not self.block.vars[name].persistable:
                held = self._fetched(name) if name in self.unset else self.text.local(name)
                self.text.append(f"{self.text.local(name)} = unshared({held})")

    def detach(self, name: str) -> None:
        """Let no gradient flow into a variable from here on."""
        held = self.text.local(name)
        stopped = f"{held}.detach()"
        if name in self.unset:
            stopped = f"None if {held} is None else {stopped}"
        self.text.append(f"{held} = {stopped}")

    def hands_on(self, operator: Operator) -> bool:
        """Write an ``assign`` of what may have no value: nothing is assigned then. Whether it was
        one.
        """
        source = operator.args[0] if operator.args else None
        if not isinstance(source, Ref) or source.name not in self.unset:
            return False
        held, writer = self.text.local(source.name), self.unset[source.name]
        copy = f"{self.text.constant(assign.fn, 'f')}({held})"
        [out] = operator.output_arg_names
        self.text.append(f"{self.text.local(out)} = None if {held} is None else {copy}")
        self.kept_unset[out] = writer
        return True

    def starts(self, operator: Operator, name: str) -> bool:
        """Whether gradients may end at this output: the script wants them of it."""
        variable = self.variable(name)
        if not (self.trains and variable.is_source and is_differentiable(variable)):
            return False
        # one of a branch may have no value
        return ONLY_IF not in operator.kwargs and name not in self.detached

    def track(self, name: str) -> None:
        """Let gradients of a variable be taken from here on; operators may still write it."""
        local = self.text.local(name)
        self.text.append(f"{local} = tracked({local})")

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
        "set_grad": private.set_grad_enabled,
        "gradients_of": gradients_of,
        "tracked": tracked,
        "present": _present,
        "unshared": unshared,
        "dense": dense,
        "with_lod": with_lod,
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


# What writes an operator of an emitter, given its position.
Emit = Callable[[Emitter, int, Operator], None]

_emitters: Registry[Emit] = Registry("special operator")


def emits(*types: str) -> Callable[[Emit], Emit]:
    """Let the function below write the special operators of these types."""

    def register(emit: Emit) -> Emit:
        for type in types:
            _emitters.add(type, emit)
        return emit

    return register


def _emit_call(emitter: Emitter, index: int, operator: Operator) -> None:
    left, right = emitter.pattern(operator, operator.out), emitter.call(operator)
    conditions = operator.kwargs.get(ONLY_IF)
    if operator.op is assign and emitter.hands_on(operator):
        return
    if conditions:
        # In this order: what one that does not hold skips may be the next.
        test = " and ".join(f"{emitter.text.local(ref.name)}.item()" for ref in conditions)
        # What is not computed is None, so that the local can be deleted like any other.
        right = f"{right} if {test} else {_nones(operator.out)}" if left else f"if {test}: {right}"
    emitter.text.append(f"{left} = {right}" if left else right)
    for name in operator.output_arg_names:
        if operator.role != FORWARD:
            continue
        if emitter.stops(operator, name):
            emitter.detach(name)
        elif emitter.starts(operator, name):
            emitter.track(name)


def _nones(out: Any) -> str:
    """The text of a value of the same structure with None for each variable."""
    return (
        f"[{''.join(f'{_nones(item)}, ' for item in out)}]"
        if isinstance(out, (list, tuple))
        else "None"
    )


def _tuple(names: Sequence[str]) -> str:
    return f"({listed(names)})"
