"""Recorder: the mode in which ``apply`` adds operators to a program instead of running ops.

It is the one holder of what recording needs to know: the programs that are built now, the role and
the name scope of new operators.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, UsageError
from argosy.foundation.process_state import register
from argosy.framework.mode import switch
from argosy.ops.array import creation as creation_ops
from argosy.ops.array import initialization as initialization_ops
from argosy.ops.table import Op
from argosy.static.ir.filling import fill
from argosy.static.ir.operator import FORWARD, ONLY_IF, Operator, Ref, leaves, mapped
from argosy.static.ir.owner import OwningBlock
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Kind, Parameter, Variable, samples
from argosy.static.record.carry import carry
from argosy.static.record.infer import check_dtypes, infer, is_eager
from argosy.static.record.naming import Names, aside, names_of, plan
from argosy.tensor.engine import (
    current_mode,
    execute_beside,
    pop_mode,
    push_mode,
    unique_name,
)

# Where lines that record operators are, but not those of the script: this package, and what runs
# its ``with`` blocks.
_PACKAGE = Path(__file__).resolve().parents[2]
_NOT_SCRIPTS = (f"{_PACKAGE}{os.sep}", contextlib.__file__)
# Where functions are that Paddle has, whose argument ``name`` is for what they compute.
_FACE = tuple(
    str(_PACKAGE.joinpath(*path)) + os.sep
    for path in (("tensor",), ("nn", "functional"), ("fluid", "layers"), ("static", "nn"))
)


class Recorder:
    """Turns calls of ops into operators of the current main program."""

    records = True  # what makes tensors of values adds operators too

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the programs, as in a fresh process."""
        self.main = Program()
        self.startup = Program()
        self.role = FORWARD
        self.name_scope = ""
        self.name_scopes: dict[str, int] = {}  # how often each was entered
        self.device = ""  # of device_guard
        # without any of which the operators recorded now do not run
        self.conditions: tuple[Variable, ...] = ()
        # of the function of static.nn that is recorded now: its outputs are named after it
        self.layer_name = ""
        # what names results instead of the op, inside of ``naming``
        self.namer: Names | None = None
        # what makes a Tensor with values a variable of the program; by default it is a constant
        self.capture: Callable[[Any], Variable] | None = None
        self.is_apart = False  # what is recorded now is not what the caller named
        self.is_fluid = False  # a function of 1.x is recorded now, with its types

    def described(self) -> tuple[Any, ...]:
        """Equal for two recorders that have recorded nothing and are in the middle of nothing."""
        contents = [
            (len(block.ops), len(block.vars))
            for program in (self.main, self.startup)
            for block in program.blocks
        ]
        seeds = self.main.random_seed, self.startup.random_seed
        return (
            contents,
            seeds,
            self.role,
            self.name_scope,
            dict(self.name_scopes),
            self.device,
            self.conditions,
            self.layer_name,
            self.is_fluid,
        )

    # -- the mode
    # ----------------------------------------------------------------------------------------------

    def __call__(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        if switch.is_foreign:  # one thread records a file, and this is another
            return execute_beside(op, args, attrs)
        args, attrs = mapped(args, self.admit), mapped(attrs, self.admit)
        if op.traits.recorded_dtypes:
            check_dtypes(op, args, attrs)
        if op.traits.parts is not None:
            made = self._record_parts(op, args, attrs)
            if made is not NotImplemented:
                return made
        return self.record(op, args, attrs)

    def _record_parts(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Add the operators that Paddle has in the place of one of ours."""
        assert op.traits.parts is not None
        arguments = dict(zip(op.params, args, strict=False)) | attrs
        layer = op.traits.layer
        kind = "" if not layer or plan(layer).reduces else plan(layer).kind
        if op.traits.type_of is not None:
            kind = op.traits.type_of(arguments)
        is_named = self.is_in_layer or not kind or _caller()[1]
        return op.traits.parts(_Parts(self, "" if is_named else kind), *args, **attrs)

    def record(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Add the operator of a call, whose arguments are admitted."""
        block = self.main.current_block()
        given = {id(v.raw): v for v in leaves([list(args), attrs]) if isinstance(v, Variable)}
        result = infer(op, args, attrs)
        works_in_place = bool(op.traits.mutates)
        stops = not torch.is_grad_enabled() or all(v.stop_gradient for v in given.values())
        where, name = _caller()
        if self.is_apart:
            name = ""
        arguments = dict(zip(op.params, args, strict=False)) | attrs
        kind = self._type_of(op, arguments)
        namer = self.namer or names_of(op, arguments, name, self.layer_name)
        made = itertools.count()

        def output(value: Any) -> Any:
            if not isinstance(value, Kind):
                return value
            if works_in_place and id(value.first) in given:
                changed = given[id(value.first)]
                if changed.stop_gradient and not stops and not changed.persistable:
                    changed.know(changed.kind, False)
                return changed
            is_number = value.first.is_floating_point() or value.first.is_complex()
            return block.add_variable(
                Variable(
                    block,
                    namer(next(made)),
                    value.first,
                    value.second,
                    stop_gradient=stops or not is_number,
                )
            )

        out = mapped(result, output)
        carry(op, given.values(), out)
        self.append(block, kind, op, args, attrs, out, where)
        return out

    def _type_of(self, op: Op, arguments: dict[str, Any]) -> str:
        """Paddle's type of a call."""
        if op.traits.type_of is not None:
            return op.traits.type_of(arguments)
        return op.fluid_type if self.is_fluid else op.type

    def append(
        self,
        block: OwningBlock,
        kind: str,
        op: Op | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Any,
        where: str | None = None,
    ) -> Operator:
        """Add an operator; Variables among its arguments become references."""
        if self.conditions and block is self.conditions[0].block:  # initialisers always run
            kwargs = {**kwargs, ONLY_IF: list(self.conditions)}
        added: Operator = block.append_operator(
            Operator(
                block,
                kind,
                op,
                mapped(args, _reference),
                mapped(kwargs, _reference),
                mapped(out, _reference),
                self.role,
                self.name_scope,
                _caller()[0] if where is None else where,
                self._device_of(kind),
            )
        )
        return added

    def _device_of(self, kind: str) -> str:
        if self.device and kind in _WITHOUT_DEVICE:
            warnings.warn(
                f"The Op({_WITHOUT_DEVICE[kind]}) is not support to set device. device_guard "
                "counts for the operators in its blocks",
                stacklevel=2,
            )
            return ""
        return self.device

    def admit(self, value: Any) -> Any:
        """Let a Tensor with values take part as a constant of the program."""
        if isinstance(value, Variable):
            if value.block.program is not self.main:
                own = self.main.current_block().find_var_recursive(value.name)
                if own is None:
                    raise UsageError(
                        f"Variable {value.name!r} belongs to another program than the one that "
                        "is recorded now; "
                        "build both under one paddle.static.program_guard"
                    )
                return own
            if not value.block.encloses(self.main.current_block()):
                raise UsageError(
                    f"Variable {value.name!r} was made inside block {value.block.idx}, a branch "
                    "or a loop, and has no value outside "
                    "of it; return it from the function of the branch or the body of the loop"
                )
            return value
        if not is_eager(value):
            return value
        if self.capture is not None:
            return self.capture(value)
        known = self.main.constants.get(id(value))
        if known is not None:
            return known[1]
        with self.main.in_block(0):  # for all blocks
            variable = self(initialization_ops.assign_value, (value.numpy(), value.raw.dtype), {})
        self.main.constants[id(value)] = (value, variable)
        return variable

    def write(self, variable: Variable, value: Any) -> None:
        """Record that ``variable`` takes over ``value``."""
        value = self.admit(value)
        if value is variable:
            return
        block = variable.block
        if block.program is self.main:
            block = self.main.current_block()
            self.admit(variable)  # which must be visible there
        self.append(block, "assign", creation_ops.assign, (value,), {}, variable)
        kept = variable.stop_gradient if variable.persistable else value.stop_gradient
        variable.know(value.kind, kept)
        if variable.block is value.block:
            variable.lod_names = value.lod_names

    # -- parameters
    # ---------------------------------------------------------------------------------------------

    def new_parameter(self, shape: Sequence[int], dtype: torch.dtype, name: str) -> Parameter:
        """The parameter ``name`` of the main program; an existing one is shared."""
        block = self.main.global_block()
        known = block.vars.get(name)
        if known is None:
            return block.add_variable(Parameter(block, name, samples(shape, dtype)[0]))
        if (
            not isinstance(known, Parameter)
            or list(known.shape) != list(shape)
            or known.raw.dtype is not dtype
        ):
            raise UsageError(
                f"create_parameter: the program has {known!r} already, which cannot be shared as "
                "a parameter of "
                f"shape {list(shape)} and dtype {dtypes.name_of(dtype)}; give the ParamAttr "
                "another name"
            )
        return known

    def initialize(self, parameter: Variable, initializer: Any) -> None:
        """Add the operator that fills ``parameter`` to the startup program, once."""
        block = self.startup.global_block()
        if parameter.name in block.vars:
            return
        where, _ = _caller()
        operators = fill(block, block.add_variable(parameter.copy_to(block)), initializer)
        made = initializer.shape_made(parameter.shape)
        if made != list(parameter.shape):
            kind = Kind(*samples(made, parameter.raw.dtype))
            parameter.define(kind)
            block.vars[parameter.name].define(kind)
        for operator in operators:
            operator.role, operator.name_scope = self.role, self.name_scope
            operator.where, operator.device = where, self.device

    def initialize_from(
        self, variable: Variable, op: Op, source: Variable, attrs: tuple[Any, ...]
    ) -> None:
        """Add the operator that makes the first values of ``variable`` of those of ``source`` to
        the startup program, once.
        """
        block = self.startup.global_block()
        if variable.name not in block.vars:
            copy = block.add_variable(variable.copy_to(block))
            origin = (
                block.vars[source.name]
                if source.name in block.vars
                else block.add_variable(source.copy_to(block))
            )
            self.append(block, op.name, op, (origin, *attrs), {}, copy)

    def _fill(self, variable: Variable, op: Op, attrs: dict[str, Any]) -> None:
        block = self.startup.global_block()
        if variable.name in block.vars:
            return
        copy = block.add_variable(variable.copy_to(block))
        self.append(block, op.name, op, (), attrs, copy)

    def new_variable(self, name: str, dtype: Any, persistable: bool) -> Variable:
        """A variable of the current block that takes over the shape of what is written to it."""
        block = self.main.current_block()
        return block.create_var(name, [], dtype, persistable=persistable)

    def new_state(
        self, name: str, shape: Sequence[int], dtype: torch.dtype, value: float
    ) -> Variable:
        """A persistable variable that the startup program fills with one value and no gradient
        reaches.
        """
        block = self.main.global_block()
        variable = block.add_variable(
            Variable(block, name, samples(shape, dtype)[0], persistable=True)
        )
        attrs = {"shape": list(shape), "value": value, "dtype": dtype}
        self._fill(variable, initialization_ops.fill_constant, attrs)
        return variable

    def rate_of(self, optimizer: Any, program: Program | None = None) -> Variable | None:
        """The variable of ``program``, by default of the main one, that holds an optimizer's rate;
        None before ``minimize``.
        """
        program = program or self.main
        names = (source.name for source in program.rates if source.optimizer is optimizer)
        name = next(names, None)
        return None if name is None else program.global_block().var(name)

    def duplicate(self, parameter: Parameter, name: str) -> Parameter:
        """A parameter with the settings and the initialiser of another."""
        block = self.main.global_block()
        out = block.add_variable(parameter.copy_to(block, name))
        filler = next(
            (o for o in self.startup.global_block().ops if parameter.name in o.output_arg_names),
            None,
        )
        if filler is not None and filler.op is not None:
            self._fill(out, filler.op, dict(filler.kwargs))
        return out  # type: ignore[return-value]

    # -- scopes of recording
    # ------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def in_role(self, role: str) -> Iterator[None]:
        """Give the operators that are recorded inside a role."""
        old, self.role = self.role, role
        try:
            yield
        finally:
            self.role = old

    @contextlib.contextmanager
    def only_if(self, condition: Variable | None) -> Iterator[None]:
        """Let the operators that are recorded inside run only when ``condition``, of one element,
        is true.

        They may write in place, and to variables that only such operators read.
        """
        old = self.conditions
        if condition is not None:
            self.conditions = (*old, condition)
        try:
            yield
        finally:
            self.conditions = old

    @contextlib.contextmanager
    def capturing(self, capture: Callable[[Any], Variable]) -> Iterator[None]:
        """Let ``capture`` say which variables Tensors with values are inside."""
        old, self.capture = self.capture, capture
        try:
            yield
        finally:
            self.capture = old

    @contextlib.contextmanager
    def in_layer(self, name: str) -> Iterator[None]:
        """Name the variables that are recorded inside after a layer."""
        old, self.layer_name = self.layer_name, name
        try:
            yield
        finally:
            self.layer_name = old

    @property
    def is_in_layer(self) -> bool:
        """Whether a layer function is recorded now."""
        return bool(self.layer_name) or self.namer is not None

    @contextlib.contextmanager
    def naming(self, namer: Names | None) -> Iterator[None]:
        """Let ``namer`` name what is recorded inside; None lets the ops do that again."""
        old, self.namer = self.namer, namer
        try:
            yield
        finally:
            self.namer = old

    @contextlib.contextmanager
    def in_fluid(self) -> Iterator[None]:
        """Give what is recorded inside the types of 1.x."""
        old, self.is_fluid = self.is_fluid, True
        self.main.is_fluid = True
        try:
            yield
        finally:
            self.is_fluid = old

    def as_layer(self, layer: str, name: str, has_act: bool, compute: Callable[[], Any]) -> Any:
        """What ``compute`` returns, named as the results of one layer function of Paddle, whatever
        operators it records; ``layer`` as in ``naming``. An activation is one variable more.
        """
        found = plan(layer)
        base = name or unique_name.generate(found.kind)
        block = self.main.current_block()
        done = len(block.ops)
        with self.naming(aside(base)):
            result = compute()
        outs = [
            leaf
            for leaf in leaves(result)
            if isinstance(leaf, Variable)
            and leaf.block is block
            and leaf.name.startswith(f"{base}.part_")
        ]
        positions = [*found.positions, *range(len(found.positions), len(outs))]
        names = [unique_name.generate(f"{base}.tmp") for _ in range(max(positions, default=-1) + 1)]
        renamed = {}
        if has_act:  # its result is what the function returns
            before = _argument_of(outs[:1], block.ops[done:])
            if before.startswith(f"{base}.part_"):
                renamed[before] = names[positions[0]]
            names.append(unique_name.generate(f"{base}.tmp"))
            positions[0] = len(names) - 1
        renamed |= {v.name: names[p] for v, p in zip(outs, positions, strict=False)}
        block.rename_made(renamed, done)
        return result

    def start(self) -> None:
        push_mode(self)

    def stop(self) -> None:
        if current_mode() is not self:
            raise UsageError(
                "paddle.disable_static() inside an auto_cast block that static mode encloses; "
                "leave it first"
            )
        pop_mode()


class _Parts:
    """What records the parts of an op: under one helper of ``kind``, which the first of them makes,
    if it is not empty.
    """

    def __init__(self, recorder: Recorder, kind: str) -> None:
        self._recorder = recorder
        self._kind = kind
        self._helper = ""

    def __call__(self, op: Op, *args: Any, **attrs: Any) -> Any:
        if not self._kind:
            return self._recorder.record(op, args, attrs)
        self._helper = self._helper or unique_name.generate(self._kind)
        with self._recorder.in_layer(self._helper):
            return self._recorder.record(op, args, attrs)

    def apart(self, op: Op, *args: Any, **attrs: Any) -> Any:
        """Record a part on the way to the result that the caller may have named."""
        self._recorder.is_apart = True
        try:
            return self._recorder.record(op, args, attrs)
        finally:
            self._recorder.is_apart = False


def _argument_of(made: Sequence[Variable], ops: Sequence[Operator]) -> str:
    """The only variable that the operator which made this one takes, if there is one."""
    for operator in reversed(ops):
        if any(v.name in operator.output_arg_names for v in made):
            names = operator.input_arg_names
            return names[0] if len(names) == 1 else ""
    return ""


def _reference(value: Any) -> Any:
    return Ref(value.name) if isinstance(value, Variable) else value


def _caller() -> tuple[str, str]:
    """File and line of the script that called into the package, and the ``name`` that it gave to
    the function of the face that records now, if it gave one.
    """
    frame: Any = sys._getframe(2)
    name = ""
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_SCRIPTS):
        code = frame.f_code
        if not name and "name" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            given = frame.f_locals["name"] if code.co_filename.startswith(_FACE) else ""
            name = given if isinstance(given, str) else ""
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}", name


recorder = Recorder()
register("default programs", recorder, state=recorder.described, reset=recorder.reset)
switch.install(
    recorder.start,
    recorder.stop,
    recorder.new_parameter,
    startup_seed=lambda: recorder.startup.random_seed,
    new_variable=recorder.new_variable,
)


def default_main_program() -> Program:
    """The program that is recorded now."""
    return recorder.main


def default_startup_program() -> Program:
    """The program that fills the parameters of the main one."""
    return recorder.startup


@contextlib.contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Record into ``main_program``, and initialisers into ``startup_program`` if it is given."""
    old = recorder.main, recorder.startup
    new = main_program, recorder.startup if startup_program is None else startup_program
    for argument, value in zip(("main_program", "startup_program"), new, strict=True):
        if not isinstance(value, Program):
            raise UsageError(
                f"program_guard: {argument} must be a Program, but received {type(value).__name__}"
            )
    recorder.main, recorder.startup = new
    try:
        yield
    finally:
        recorder.main, recorder.startup = old


@contextlib.contextmanager
def name_scope(prefix: str | None = None) -> Iterator[None]:
    """Note ``prefix`` on the operators recorded inside, for whoever reads the program; entered
    again, the scope is numbered.
    """
    if not prefix:
        raise BadArgument("name_scope: prefix can not be None or empty")
    old = recorder.name_scope
    path = f"{old}/{prefix}" if old else prefix
    times = recorder.name_scopes.get(path, 0)
    recorder.name_scopes[path] = times + 1
    recorder.name_scope = f"{path}_{times}" if times else path
    try:
        yield
    finally:
        recorder.name_scope = old


# What an operator may be put on; an index selects one of several.
# operators that only run blocks, and Paddle's types of them
_WITHOUT_DEVICE = {"while": "while", "cond": "conditional_block"}
_DEVICES = ("cpu", "gpu", "xpu", "npu", "mlu")


@contextlib.contextmanager
def device_guard(device: str | None = None) -> Iterator[None]:
    """Note on the operators recorded inside where they are to run: ``cpu``, ``gpu``, ``gpu:1``,
    ``gpu:all``; None leaves it to the run.

    Pipelines read it to divide a program; on the place of an Executor, where all of a program runs,
    it changes nothing.
    """
    if device is not None and not isinstance(device, str):
        raise UsageError(
            f"device_guard: device must be a string or None, but received {type(device).__name__}"
        )
    kind, _, index = (device or "").partition(":")
    if device and (kind not in _DEVICES or (index and not index.isdigit() and index != "all")):
        raise UsageError(
            f"device_guard: The Attr(device) should be one of {', '.join(_DEVICES)}, with or "
            "without an index, or None, "
            f"but received {device!r}"
        )
    if kind == "cpu" and index:
        raise UsageError("device_guard: Should not set device id for cpu.")
    old, recorder.device = recorder.device, device or ""
    try:
        yield
    finally:
        recorder.device = old
