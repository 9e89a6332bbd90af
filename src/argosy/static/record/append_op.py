"""``Block.append_op``: operators added by hand, by Paddle's type with its slots and attributes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from argosy.foundation.errors import NotSupported, ProgramError, UsageError
from argosy.framework.mode import switch
from argosy.static.ir.block import Block
from argosy.static.ir.operator import ROLES_BY_NUMBER, Operator, mapped
from argosy.static.ir.sub_blocks import renamed
from argosy.static.ir.variable import Variable
from argosy.static.record import (
    adam_types,  # noqa: F401  it defines types, as ``update_types`` does
    op_types,
    update_types,  # noqa: F401
)
from argosy.static.record.control import record_conditional_block
from argosy.static.record.op_types import OpType
from argosy.static.record.recorder import program_guard, recorder


def append_op(
    block: Block,
    type: str,
    inputs: Mapping[str, Any] | None,
    outputs: Mapping[str, Any] | None,
    attrs: Mapping[str, Any] | None,
) -> Operator:
    """Record an operator of ``type`` whose results are the variables ``outputs``, made beforehand;
    returns the operator that writes the last one.
    """
    call = f"append_op(type={type!r})"
    if not switch.is_static:
        raise UsageError(
            f"{call}: it records an operator of a program; call paddle.enable_static() first"
        )
    if type == "conditional_block":
        return _conditional_block(block, call, inputs or {}, attrs or {})
    kind = op_types.find(type)
    named = {key: value for key, value in (attrs or {}).items() if key not in op_types.HINTS}
    role = int(named.pop("op_role", 0))
    if role not in ROLES_BY_NUMBER:
        raise NotSupported(f"{call}: op_role={role}; {sorted(ROLES_BY_NUMBER)} are known")
    slots = {slot: _variables(block, call, value) for slot, value in (inputs or {}).items()}
    given = {
        slot: values[0] if len(values) == 1 else values for slot, values in slots.items() if values
    }
    targets = {slot: _variables(block, call, value) for slot, value in (outputs or {}).items()}
    _check_names(call, kind, [*given, *named], list(targets))
    done = len(block.ops)
    with (
        program_guard(block.program),
        block.program.in_block(block.idx),
        recorder.in_role(ROLES_BY_NUMBER[role]),
    ):
        results = kind.record(**given, **named)
        by_slot = dict(
            zip(kind.outputs, results if isinstance(results, tuple) else (results,), strict=True)
        )
        for slot, variables in targets.items():
            if slot not in kind.unused and by_slot[slot] is not None:
                _give_out(block, call, by_slot[slot], variables, done)
    last = block.ops[-1]
    if len(block.ops) == done + 1:
        last.type = type
    return last


def run_op(
    type: str,
    inputs: Mapping[str, Any] | None,
    outputs: Mapping[str, Any] | None,
    attrs: Mapping[str, Any] | None,
) -> None:
    """Compute an operator of ``type`` at once; the Tensors ``outputs`` take over its results."""
    kind = op_types.find(type)
    targets = {slot: _listed(value) for slot, value in (outputs or {}).items()}
    results = compute_op(type, inputs or {}, attrs or {}, list(targets))
    by_slot = dict(zip(kind.outputs, results, strict=True))
    for slot, tensors in targets.items():
        if slot not in kind.unused and by_slot[slot] is not None:
            for target, value in zip(tensors, _listed(by_slot[slot]), strict=True):
                target.raw = value.raw


def compute_op(
    type: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any], outputs: list[str] | None = None
) -> tuple[Any, ...]:
    """The results of an operator of ``type``, one for each of its outputs."""
    kind = op_types.find(type)
    named = {key: value for key, value in attrs.items() if key not in op_types.HINTS}
    named.pop("op_role", None)
    slots = {slot: _listed(value) for slot, value in inputs.items()}
    given = {
        slot: values[0] if len(values) == 1 else values for slot, values in slots.items() if values
    }
    _check_names(f"append_op(type={type!r})", kind, [*given, *named], outputs or [])
    results = kind.record(**given, **named)
    return results if isinstance(results, tuple) else (results,)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _conditional_block(
    block: Block, call: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any]
) -> Operator:
    if not attrs.get("is_scalar_condition"):
        raise NotSupported(f"{call}: is_scalar_condition=False; use ConditionalBlock")
    [condition] = _variables(block, call, inputs["Cond"])
    with program_guard(block.program), block.program.in_block(block.idx):
        return record_conditional_block(condition, attrs["sub_block"])


def _variables(block: Block, call: str, value: Any) -> list[Variable]:
    """The variables of ``block`` that a slot names."""
    found = []
    for item in value if isinstance(value, (list, tuple)) else [value]:
        name = item if isinstance(item, str) else item.name
        variable = block.find_var_recursive(name)
        if variable is None:
            raise ProgramError(
                f"{call}: block {block.idx} has no variable {name!r}; make it with create_var first"
            )
        found.append(variable)
    return found


def _check_names(call: str, kind: OpType, given: list[str], outputs: list[str]) -> None:
    parameters = inspect.signature(kind.record).parameters
    unknown = [name for name in given if name not in parameters]
    missing = [name for name, p in parameters.items() if p.default is p.empty and name not in given]
    if unknown or missing:
        problem = f"{unknown} are not known" if unknown else f"{missing} are missing"
        raise NotSupported(f"{call}: its inputs and attributes are {list(parameters)}; {problem}")
    others = [slot for slot in outputs if slot not in (*kind.outputs, *kind.unused)]
    if others:
        raise NotSupported(
            f"{call}: its outputs are {[*kind.outputs, *kind.unused]}, but received {others}"
        )


def _give_out(block: Block, call: str, result: Any, targets: list[Variable], done: int) -> None:
    made = result if isinstance(result, list) else [result]
    if len(made) != len(targets):
        raise UsageError(f"{call}: it has {len(made)} results for {[t.name for t in targets]}")
    for value, target in zip(made, targets, strict=True):
        if value is target:
            continue
        if not any(value.name in o.output_arg_names for o in block.ops[done:]):
            recorder.write(target, value)
        elif _is_unused(block, target):
            _take_place(block, value, target, done)
            target.define(value.kind, target.stop_gradient or value.stop_gradient)
            target.lod_names = value.lod_names
        elif _is_overwritten(block, value, target, done):
            _take_place(block, value, target, done)
        else:
            recorder.write(target, value)


def _is_unused(block: Block, variable: Variable) -> bool:
    """Whether a variable waits for its first value, so that it can be the very result of an
    operator.
    """
    used = (name for o in block.ops for name in (*o.input_arg_names, *o.output_arg_names))
    return variable.block is block and not variable.is_leaf and variable.name not in used


def _is_overwritten(block: Block, made: Variable, target: Variable, done: int) -> bool:
    """Whether ``made``, the new value of a parameter or a state, can be written by its own
    operator: nothing recorded after that still reads the old one.
    """
    if not target.persistable or made.raw.dtype is not target.raw.dtype:
        return False
    names = [o.output_arg_names for o in block.ops[done:]]
    maker = next(i for i, outputs in enumerate(names) if made.name in outputs)
    return not any(target.name in o.input_arg_names for o in block.ops[done + maker + 1 :])


def _take_place(block: Block, made: Variable, target: Variable, done: int) -> None:
    """Let ``target`` be what the operators from ``done`` on made."""
    names = {made.name: target.name}
    for operator in block.ops[done:]:
        operator.args = mapped(operator.args, lambda leaf: renamed(leaf, names))
        operator.kwargs = mapped(operator.kwargs, lambda leaf: renamed(leaf, names))
        operator.out = mapped(operator.out, lambda leaf: renamed(leaf, names))
    del block.vars[made.name]
    block.program.changed()
