"""From a program to one Python function over raw torch tensors.

The function is generated as source, one line per operator, with variables as its locals: a run costs the ops and little else. Its shape is

    def run(feeds, state):
        (v0, v1) = feeds              # what the caller feeds
        (v2, v3) = state              # persistable variables that are read, from the scope
        v4 = f0(v0, v2, v3)           # operators; a local is deleted after its last use
        return (v4,), (v5,)           # what is fetched, and persistable variables that were written

Gradients are torch's own: up to the last ``backward`` operator the ops run with gradients on, after it, and for updates, without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation.errors import ProgramError, nearest
from argosy.static._feed import FeedSpec
from argosy.static._operator import FORWARD, OPTIMIZE, Number, Operator, Ref, names_in
from argosy.static._program import Block, Program
from argosy.static._scope import Scope
from argosy.static._variable import Variable


class Lowered:
    """A program made ready for one set of feeds and fetches.

    ``operators`` says which operator a line of ``source`` comes from, ``locals_by_name`` which local holds a variable.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        source: str,
        operators: dict[int, Operator],
        locals_by_name: dict[str, str],
        feeds: list[FeedSpec],
        state: list[Variable],
        writes: list[str],
        trains: bool,
    ) -> None:
        self.run = run
        self.source = source
        self.operators = operators
        self.locals_by_name = locals_by_name
        self.feeds = feeds
        self.writes = writes
        self._state = state
        self._trains = trains
        self._gathered: tuple[Any, int, tuple[torch.Tensor, ...]] = (None, -1, ())

    def state(self, scope: Scope) -> tuple[torch.Tensor, ...]:
        """The tensors that ``scope`` holds for the variables read; gathered anew only when one got other memory."""
        known, version, tensors = self._gathered
        if known is scope and version == scope.version:
            return tensors
        tensors = tuple(self._prepared(v, scope._holding(v.name).tensor) for v in self._state)
        self._gathered = (scope, scope.version, tensors)
        return tensors

    def _prepared(self, variable: Variable, tensor: torch.Tensor | None) -> torch.Tensor:
        assert tensor is not None  # Scope._holding saw to it
        if list(tensor.shape) != list(variable.shape) and -1 not in variable.shape:
            raise ProgramError(
                f"Executor.run: variable {variable.name!r} has shape {list(variable.shape)} in the program, "
                f"{list(tensor.shape)} in the scope"
            )
        if self._trains and _is_differentiable(variable):
            return tensor.requires_grad_()
        return tensor.detach()


def lower(
    program: Program, feeds: Sequence[str], fetches: Sequence[str], device: torch.device, prunes: bool = False
) -> Lowered:
    """Generate the function for a program that is fed and fetched so."""
    block = program.global_block()
    operators = pruned(block.ops, fetches) if prunes else list(block.ops)
    return _Emitter(block, operators, list(feeds), list(fetches), device).emit()


def pruned(operators: Sequence[Operator], targets: Sequence[str]) -> list[Operator]:
    """The operators that ``targets`` depend on."""
    needed, kept = set(targets), []
    for operator in reversed(operators):
        if needed.intersection(operator.output_arg_names):
            needed.update(operator.input_arg_names)
            kept.append(operator)
    return kept[::-1]


def _is_differentiable(variable: Variable) -> bool:
    dtype = variable._t.dtype
    return not variable.stop_gradient and (dtype.is_floating_point or dtype.is_complex)


def gradients_of(
    targets: list[torch.Tensor], inputs: list[torch.Tensor], seeds: Any, keeps_graph: bool, is_twice: bool
) -> list[torch.Tensor]:
    """Gradients of the sum of ``targets``, weighted by ``seeds`` or ones; zeros for inputs that they do not depend on."""
    weights = seeds or [None] * len(targets)
    # Some ops (floor, comparisons) give results without a graph.
    live = [
        (t, torch.ones_like(t) if w is None else w) for t, w in zip(targets, weights, strict=True) if t.requires_grad
    ]
    if not live:
        return [torch.zeros_like(x) for x in inputs]
    found = torch.autograd.grad(
        [t for t, _ in live],
        inputs,
        [w for _, w in live],
        retain_graph=keeps_graph,
        create_graph=is_twice,
        allow_unused=True,
    )
    return [
        torch.zeros_like(x) if g is None else g.to_dense() if g.is_sparse else g
        for x, g in zip(inputs, found, strict=True)
    ]


def unshared(value: torch.Tensor) -> torch.Tensor:
    """A value that the updates of parameters after it do not change."""
    return value.clone() if value._is_view() or value.is_leaf else value


class _Emitter:
    """Writes the function. ``reads`` says, per operator, which variables its line uses."""

    def __init__(
        self, block: Block, operators: list[Operator], feeds: list[str], fetches: list[str], device: torch.device
    ) -> None:
        self.block = block
        self.operators = operators
        self.feeds = feeds
        self.fetches = fetches
        self.device = device
        self.locals: dict[str, str] = {}
        self.globals: dict[str, Any] = {"set_grad": torch._C._set_grad_enabled, "gradients_of": gradients_of}
        self.globals["unshared"] = unshared
        self.lines: list[str] = []
        self.line_operators: dict[int, Operator] = {}
        self.backwards = [i for i, o in enumerate(operators) if o.type == "backward"]
        self.trains = bool(self.backwards)
        self.has_grad: bool | None = None  # at this point of the function; None: as the caller has it
        self.detached = {name for i in self.backwards for name in operators[i].kwargs.get("no_grad", ())}
        self.reads = [self._reads(i) for i in range(len(operators))]

    # -- what is read when --------------------------------------------------------------------------------------

    def _reads(self, index: int) -> list[str]:
        operator = self.operators[index]
        return operator.input_arg_names if operator.type != "backward" else []

    def wanted_gradients(self, index: int) -> list[tuple[str, str]]:
        """The inputs of a backward operator whose gradients something reads, with those gradients."""
        operator = self.operators[index]
        later = set(self.fetches).union(*(o.input_arg_names for o in self.operators[index + 1 :]))
        inputs, outputs = names_in(operator.args[1]), operator.output_arg_names
        return [(x, g) for x, g in zip(inputs, outputs, strict=True) if g in later or self.block.vars[g].persistable]

    def emit(self) -> Lowered:
        gradients = {i: self.wanted_gradients(i) for i in self.backwards}
        for index, pairs in gradients.items():
            operator = self.operators[index]
            self.reads[index] = names_in([operator.args[0], operator.args[2]]) + [x for x, _ in pairs]
        state = self._state()
        writes = self._writes()
        self._emit_entry(state)
        last = self._last_uses(writes)
        for index, operator in enumerate(self.operators):
            self._set_grad(index, operator)
            emit = EMITTERS[operator.type] if operator.op is None else _emit_call
            done = len(self.lines)
            emit(self, index, operator)
            for number in range(done, len(self.lines)):
                self.line_operators[number + 2] = operator
            gone = [self.locals[name] for name in last.get(index, ()) if name in self.locals]
            if gone:
                self.lines.append(f"del {', '.join(gone)}")
            if self.backwards and index == self.backwards[-1]:
                self._keep_fetches(index)
        fetched = [self.local(name) for name in self.fetches]
        self.lines.append(f"return {_tuple(fetched)}, {_tuple([self.local(name) for name in writes])}")
        return self._compile(state, writes)

    def _compile(self, state: list[str], writes: list[str]) -> Lowered:
        source = "def run(feeds, state):\n" + "".join(f"    {line}\n" for line in self.lines)
        code = compile(source, f"<program {self.block.program.id}>", "exec")
        exec(code, self.globals)
        feeds = [FeedSpec.of(self.block.vars[name]) for name in self.feeds]
        variables = [self.block.vars[name] for name in state]
        return Lowered(
            self.globals["run"], source, self.line_operators, self.locals, feeds, variables, writes, self.trains
        )

    def _state(self) -> list[str]:
        """Persistable variables that are read before anything writes them."""
        written, state = set(self.feeds), dict[str, None]()
        for operator, reads in zip(self.operators, self.reads, strict=True):
            for name in reads:
                if name not in written:
                    self._require_kept(name, operator)
                    state[name] = None
            written.update(operator.output_arg_names)
        for name in self.fetches:
            if name not in written:
                self._require_kept(name, None)
                state[name] = None
        return list(state)

    def _require_kept(self, name: str, operator: Operator | None) -> None:
        variable = self.block.vars.get(name)
        reader = "fetch_list" if operator is None else operator.describe()
        if variable is None:
            raise ProgramError(
                f"Executor.run: {reader} reads {name!r}, which is no variable of the program.{nearest(name, self.block.vars)}"
            )
        if variable.is_data:
            raise ProgramError(
                f"Executor.run: {reader} needs {name!r}, which is not fed. Declared: {variable!r}; fed: {self.feeds}"
            )
        if not variable.persistable:
            raise ProgramError(
                f"Executor.run: {reader} reads {name!r}, but no operator writes it before. "
                "Was it recorded in another program, or does a clone for testing lack the operator?"
            )

    def _writes(self) -> list[str]:
        found = dict[str, None]()
        for operator in self.operators:
            for name in operator.output_arg_names:
                if self.block.vars[name].persistable and not _is_in_place(operator, name):
                    found[name] = None
        return list(found)

    def _last_uses(self, writes: list[str]) -> dict[int, list[str]]:
        """After which operator a variable is not used any more."""
        last: dict[str, int] = {}
        for index, operator in enumerate(self.operators):
            for name in [*self.reads[index], *operator.output_arg_names]:
                last[name] = index
        kept = {*self.fetches, *writes}
        result: dict[int, list[str]] = {}
        for name, index in last.items():
            if name not in kept:
                result.setdefault(index, []).append(name)
        return result

    # -- text ---------------------------------------------------------------------------------------------------

    def local(self, name: str) -> str:
        if name not in self.locals:
            self.locals[name] = f"v{len(self.locals)}"
        return self.locals[name]

    def constant(self, value: Any, prefix: str = "c") -> str:
        name = f"{prefix}{len(self.globals)}"
        self.globals[name] = value
        return name

    def expression(self, value: Any) -> str:
        if isinstance(value, Ref):
            return self.local(value.name)
        if isinstance(value, Number):
            text = f"{self.local(value.name)}.item()"
            return text if value.scale == 1.0 else f"{text} * {value.scale!r}"
        kind = type(value)  # exactly: the text of a NumPy number is no Python
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return repr(value)
        if isinstance(value, torch.device):
            return self.constant(self.device)
        if isinstance(value, (list, tuple)) and names_in(value):
            items = "".join(f"{self.expression(v)}, " for v in value)
            return f"[{items}]" if isinstance(value, list) else f"({items})"
        return self.constant(value)

    def call(self, operator: Operator) -> str:
        given = [self.expression(a) for a in operator.args]
        given += [f"{key}={self.expression(a)}" for key, a in operator.kwargs.items()]
        assert operator.op is not None  # others have emitters of their own
        return f"{self.constant(operator.op.fn, 'f')}({', '.join(given)})"

    def pattern(self, operator: Operator, out: Any) -> str:
        """The left side of the assignment; empty when the operator only works in place."""
        if isinstance(out, Ref):
            return "" if _is_in_place(operator, out.name) else self.local(out.name)
        if isinstance(out, (list, tuple)):
            parts = [self.pattern(operator, item) for item in out]
            return f"[{', '.join(p or '_' for p in parts)}]" if any(parts) else ""
        return ""

    def _emit_entry(self, state: list[str]) -> None:
        if self.feeds:
            self.lines.append(f"{_tuple([self.local(name) for name in self.feeds])} = feeds")
        if state:
            self.lines.append(f"{_tuple([self.local(name) for name in state])} = state")
        changed = {name for o in self.operators for name in o.output_arg_names if _is_in_place(o, name)}
        for name in self.feeds:
            if name in changed:
                self.lines.append(f"{self.local(name)} = {self.local(name)}.clone()")  # what was fed is the caller's
            if self.trains and _is_differentiable(self.block.vars[name]):
                self.lines.append(f"{self.local(name)} = {self.local(name)}.detach().requires_grad_()")

    def _set_grad(self, index: int, operator: Operator) -> None:
        """Have gradients on for what comes before the last backward, except updates, which write to parameters."""
        wanted = self.trains and index <= self.backwards[-1] and operator.role != OPTIMIZE
        if wanted is not self.has_grad:
            self.lines.append(f"set_grad({wanted})")
            self.has_grad = wanted

    def _keep_fetches(self, index: int) -> None:
        """Detach what was computed so far and is fetched from the memory that the rest of the program overwrites."""
        done = {name for operator in self.operators[: index + 1] for name in operator.output_arg_names}
        for name in dict.fromkeys(self.fetches):
            if name in done and name in self.locals and not self.block.vars[name].persistable:
                self.lines.append(f"{self.local(name)} = unshared({self.local(name)})")

    def stops(self, operator: Operator, name: str) -> bool:
        """Whether a gradient that would flow into this output must be stopped."""
        variable = self.block.vars[name]
        dtype = variable._t.dtype
        if not self.trains or not (dtype.is_floating_point or dtype.is_complex) or _is_in_place(operator, name):
            return False
        if name in self.detached:
            return True
        inputs = [self.block.vars[n] for n in operator.input_arg_names]
        return variable.stop_gradient and any(_is_differentiable(v) for v in inputs)


def _emit_call(emitter: _Emitter, index: int, operator: Operator) -> None:
    left = emitter.pattern(operator, operator.out)
    emitter.lines.append(f"{left} = {emitter.call(operator)}" if left else emitter.call(operator))
    for name in operator.output_arg_names:
        if operator.role == FORWARD and emitter.stops(operator, name):
            emitter.lines.append(f"{emitter.local(name)} = {emitter.local(name)}.detach()")


def _emit_backward(emitter: _Emitter, index: int, operator: Operator) -> None:
    pairs = emitter.wanted_gradients(index)
    if not pairs:
        return
    is_last = index == emitter.backwards[-1]
    inputs = "".join(f"{emitter.local(x)}, " for x, _ in pairs)
    outputs = "".join(f"{emitter.local(g)}, " for _, g in pairs)
    targets, seeds = emitter.expression(operator.args[0]), emitter.expression(operator.args[2])
    emitter.lines.append(f"[{outputs}] = gradients_of({targets}, [{inputs}], {seeds}, {not is_last}, {not is_last})")


# How operators that are not calls of the table are written, by type.
EMITTERS: dict[str, Callable[[_Emitter, int, Operator], None]] = {"backward": _emit_backward}


def _is_in_place(operator: Operator, name: str) -> bool:
    """Whether the operator writes ``name`` through the tensor that it was given."""
    return operator.op is not None and operator.op.name.endswith("_") and name in operator.input_arg_names


def _tuple(names: Sequence[str]) -> str:
    return f"({''.join(f'{name}, ' for name in names)})"
