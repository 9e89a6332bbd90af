"""``while`` and ``for``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.jit.errors import NotConvertible
from argosy.jit.operators.branch import record_if
from argosy.jit.operators.iteration import Sized, sized
from argosy.jit.operators.lists import as_arrays
from argosy.jit.operators.logic import and_, not_
from argosy.jit.operators.slots import BoxSlot, Slots, slots_of
from argosy.jit.operators.values import (
    UNDEFINED,
    Pending,
    as_condition,
    as_variable,
    copied,
    is_unknown,
)
from argosy.static.ir.block import Block
from argosy.static.ir.operator import leaves, mapped
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import ArrayVariable
from argosy.static.record.control import (
    as_carried,
    checked_condition,
    loop_variable,
    record_loop,
    record_no_value,
    sub_block,
)
from argosy.static.record.kinds import require_same_structure
from argosy.static.record.recorder import recorder
from argosy.static.record.reinfer import settle
from argosy.tensor import assign, full
from argosy.tensor.engine import Tensor


def while_(
    test: Callable[[], Any],
    body: Callable[[], Any],
    names: Sequence[str],
    attributes: Sequence[Any],
    grown: Sequence[str],
) -> None:
    """Run ``body`` while ``test()`` is known to be true; from where only a run knows it, record."""
    while True:
        goes_on = test()
        if is_unknown(goes_on):
            record_while(test, body, slots_of(body, names, attributes, grown))
            return
        if not goes_on:
            return
        body()


def for_(
    iterable: Any,
    body: Callable[[Any], Any],
    names: Sequence[str],
    attributes: Sequence[Any],
    grown: Sequence[str],
    stopped: Callable[[], Any] | None,
) -> None:
    """Run ``body`` for each item. How many there are is known, or a loop is recorded."""
    items = sized(iterable)
    if items is not None:
        _record_for(items, body, slots_of(body, names, attributes, grown), stopped)
        return
    for item in iterable:
        halted = False if stopped is None else stopped()
        if is_unknown(halted):
            slots = slots_of(body, names, attributes, grown)
            record_if(not_(halted), _with(body, item), _nothing, slots)
        elif halted:
            return
        else:
            body(item)


def _with(body: Callable[[Any], Any], item: Any) -> Callable[[], Any]:
    return lambda: body(item)


def _nothing() -> None:
    return None


def _record_for(
    items: Sized, body: Callable[[Any], Any], slots: Slots, stopped: Callable[[], Any] | None
) -> None:
    position = BoxSlot(0)

    def goes_on() -> Any:
        inside: Callable[[], Any] = lambda: position.value < items.length  # noqa: E731
        if stopped is None:
            return inside()
        return and_(lambda: not_(stopped()), inside)

    def turn() -> None:
        body(items.item(position.value))
        position.value = position.value + 1

    record_while(goes_on, turn, slots.with_box(position))


def record_while(test: Callable[[], Any], body: Callable[[], Any], slots: Slots) -> None:
    """Record a loop that goes on from what ``slots`` hold; afterwards they hold what it leaves."""
    as_arrays(slots)
    current = recorder.main.current_block()
    before = slots.read()
    carried = [
        _entering(name, copied(value)) for name, value in zip(slots.names(), before, strict=True)
    ]
    slots.write(carried)
    known = set(current.vars)
    condition = checked_condition(as_condition(test()))
    if condition.block is not current or condition.name in known:  # the loop writes it
        condition = assign(condition)
    with sub_block() as block:
        body()
        turned = [
            _turned(name, _refitted(block, first, old, new), new)
            for name, first, old, new in zip(
                slots.names(), before, carried, slots.read(), strict=True
            )
        ]
        slots.write([new for _, new, _ in turned])
        again = checked_condition(as_condition(test()))
        pairs = [pair for *_, own in turned for pair in own]
        settle(block, pairs)
    record_loop(
        block,
        condition,
        [old for old, _ in pairs] + [condition],
        [new for _, new in pairs] + [again],
    )
    slots.write([old for old, *_ in turned])


def _refitted(block: Block, first: Any, old: Any, new: Any) -> Any:
    """What stands in front of the loop for the number ``first``; if a turn does not read it and
    makes a tensor of another kind of it, it is a variable of that kind.
    """
    if type(first) not in (bool, int, float) or not isinstance(new, Variable):
        return old
    is_alike = old.raw.dtype is new.raw.dtype and old.raw.ndim == new.raw.ndim
    if is_alike or any(old.name in operator.input_arg_names for operator in block.ops):
        return old
    with recorder.main.in_block(block.parent_idx):
        if -1 in new.shape:
            return record_no_value(new.kind)
        number: Variable = full(list(new.shape), first, new.dtype)
        return loop_variable(number)


def _entering(name: str, value: Any) -> Any:
    """What a slot holds at the beginning of a turn."""
    if value is UNDEFINED:
        return Pending(name, recorder.main.current_block().idx)
    return mapped(value, _carried)


def _carried(leaf: Any) -> Any:
    variable = as_variable(leaf)
    if not isinstance(variable, Variable) or isinstance(variable, ArrayVariable):
        return leaf
    return loop_variable(variable)


def _turned(name: str, old: Any, new: Any) -> tuple[Any, Any, list[tuple[Variable, Variable]]]:
    """What a slot holds before and after a turn, and the variables of which the one becomes the
    other.
    """
    if old is new or isinstance(old, ArrayVariable):
        return old, new, []
    if isinstance(old, Pending) or old is None:
        pending = old if old is not None else _outside(name)
        if isinstance(new, Pending) or new is None or new is UNDEFINED:
            return UNDEFINED if isinstance(old, Pending) else None, new, []
        new = mapped(new, as_variable)
        old = _resolved(pending, new)
    if new is UNDEFINED:
        raise NotConvertible(
            f"{name!r} has a value before a loop over Tensors and none after a turn"
        )
    require_same_structure(old, new, ("before the loop", "after a turn"), f"loop variable {name!r}")
    new = mapped(new, lambda leaf: recorder.admit(leaf) if isinstance(leaf, Tensor) else leaf)
    pairs = []
    values = []
    for var, made in zip(leaves(old), leaves(new), strict=True):
        value = made if var is made else _checked(name, var, made)
        values.append(value)
        if isinstance(var, Variable) and not isinstance(var, ArrayVariable):
            pairs.append((var, value))
    made_of = iter(values)
    return old, mapped(new, lambda leaf: next(made_of)), pairs


def _outside(name: str) -> Pending:
    """A name that is None before the loop whose body is recorded now."""
    return Pending(name, recorder.main.current_block().parent_idx)


def _resolved(pending: Pending, tree: Any) -> Any:
    """Variables in front of the loop, like those of ``tree``, without values."""
    is_single = not isinstance(tree, (list, tuple, dict))

    def absent(leaf: Any) -> Any:
        if not isinstance(leaf, Variable):
            return leaf
        return (pending if is_single else _outside(repr(pending))).resolved(leaf.kind)

    return mapped(tree, absent)


def _checked(name: str, old: Any, new: Any) -> Any:
    try:
        return as_carried(old, new)
    except UsageError as error:
        raise NotConvertible(f"loop variable {name!r}: {error}") from error
