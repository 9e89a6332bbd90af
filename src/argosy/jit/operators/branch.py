"""``if`` and ``a if b else c``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.jit.convert.returns import VALUE
from argosy.jit.errors import NotConvertible
from argosy.jit.operators.lists import as_arrays
from argosy.jit.operators.slots import NO_SLOTS, Slots, slots_of
from argosy.jit.operators.values import (
    UNDEFINED,
    Pending,
    as_condition,
    as_variable,
    copied,
    has_variable,
    is_missing,
    is_unknown,
)
from argosy.static.ir.operator import leaves, mapped
from argosy.static.ir.variable import Variable
from argosy.static.record.control import Branches, is_same_value, record_branches, record_no_value
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Tensor

Block = Callable[[], Any]


def if_(
    test: Any,
    then: Block,
    otherwise: Block,
    names: Sequence[str],
    live: Sequence[str],
    attributes: Sequence[Any],
    grown: Sequence[str],
) -> None:
    """Run the block that ``test`` chooses, or record both. Of ``names``, which they bind, those of
    ``live`` are read later.
    """
    if not is_unknown(test):
        (then if test else otherwise)()
        return
    kept = slots_of(then, live, attributes, grown)
    local = slots_of(then, [name for name in names if name not in live], (), ())
    record_if(test, then, otherwise, kept, local)


def record_if(
    test: Any, then: Block, otherwise: Block, slots: Slots, local: Slots = NO_SLOTS
) -> None:
    """Record both blocks; afterwards ``slots`` hold what the one that a run takes leaves there, and
    those of ``local`` what they held before.
    """
    condition = as_condition(test)
    as_arrays(slots)
    before, aside = slots.read(), local.read()
    branches = Branches()
    sides = []
    for block in (then, otherwise):
        with branches.branch():
            slots.write([copied(value) for value in before])
            local.write([copied(value) for value in aside])
            block()
            sides.append(slots.read())
    slots.write(before)
    local.write(aside)
    aligned = _Alignment([block.idx for block in branches.blocks], slots.names())
    results = aligned.results(*sides)
    sides_told = ("the branch if true", "else")
    try:
        joined = branches.finish([condition], results, sides_told, "if")
    except UsageError as error:
        what = "number of return value" if "nested alike" in str(error) else "return type"
        raise NotConvertible(f"Your if/else have different {what}. {error}") from error
    slots.write(aligned.filled(joined))


def choose(test: Any, then: Block, otherwise: Block) -> Any:
    """``a if b else c``."""
    if not is_unknown(test):
        return then() if test else otherwise()
    condition = as_condition(test)
    names = ("the value if true", "the value else")
    return record_branches([condition], (then, otherwise), names, "a conditional expression")


class _Alignment:
    """Makes what two blocks leave in slots alike, leaf by leaf.

    What is missing on one side, a name that is not bound or None, becomes a variable without a
    value; what is equal on both sides, or missing on both, is not recorded at all.
    """

    def __init__(self, blocks: Sequence[int], names: Sequence[str]) -> None:
        self._blocks = blocks
        self._names = names
        self._plain: list[tuple[bool, Any]] = []  # per slot: whether it is not recorded, its value

    def results(self, first: list[Any], second: list[Any]) -> list[list[Any]]:
        """What each block is to return."""
        kept: list[list[Any]] = [[], []]
        for name, a, b in zip(self._names, first, second, strict=True):
            is_plain, value = _plain(a, b)
            self._plain.append((is_plain, value))
            if not is_plain:
                for side, made in zip(kept, self._pair(name, a, b), strict=True):
                    side.append(made)
        return kept

    def filled(self, joined: list[Any]) -> list[Any]:
        """The value of each slot, of which ``joined`` were recorded."""
        recorded = iter(joined)
        return [value if is_plain else next(recorded) for is_plain, value in self._plain]

    def _pair(self, name: str, a: Any, b: Any) -> tuple[Any, Any]:
        if is_missing(a):
            return self._like(b, a, 0), self._complete(b, 1)
        if is_missing(b):
            return self._complete(a, 0), self._like(a, b, 1)
        if isinstance(a, dict) and isinstance(b, dict):
            keys = [*a, *(key for key in b if key not in a)]
            pairs = {k: self._pair(name, a.get(k, UNDEFINED), b.get(k, UNDEFINED)) for k in keys}
            return {k: p[0] for k, p in pairs.items()}, {k: p[1] for k, p in pairs.items()}
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            if len(a) != len(b):
                what = "the return value" if name == VALUE else repr(name)
                raise NotConvertible(
                    f"Your if/else have different number of return value. {what} has {len(a)} "
                    f"elements in one branch and {len(b)} in the other; where a Tensor decides, "
                    "both must have as many"
                )
            pairs_of = [self._pair(name, x, y) for x, y in zip(a, b, strict=True)]
            return _rebuilt(a, [p[0] for p in pairs_of]), _rebuilt(a, [p[1] for p in pairs_of])
        return self._leaf(a, b), self._leaf(b, a)

    def _leaf(self, own: Any, other: Any) -> Any:
        """A Tensor that has values is a variable of the program beside anything else."""
        if isinstance(own, Variable) or own is other or not isinstance(own, Tensor):
            return own
        return recorder.admit(own)

    def _complete(self, tree: Any, side: int) -> Any:
        """``tree``, beside which there is nothing, as variables of its block."""
        with recorder.main.in_block(self._blocks[side]):
            return mapped(tree, as_variable)

    def _like(self, tree: Any, missing: Any, side: int) -> Any:
        """Variables without values, like those of ``tree`` on the other side."""

        def absent(leaf: Any) -> Any:
            with recorder.main.in_block(self._blocks[1 - side]):
                variable = as_variable(leaf)
            if not isinstance(variable, Variable):
                return leaf
            if isinstance(missing, Pending):
                return missing.resolved(variable.kind)
            with recorder.main.in_block(self._blocks[side]):
                return record_no_value(variable.kind)

        return mapped(tree, absent)


def _rebuilt(like: Any, items: list[Any]) -> Any:
    if isinstance(like, tuple):
        return type(like)(*items) if hasattr(like, "_fields") else tuple(items)
    return items


def _plain(a: Any, b: Any) -> tuple[bool, Any]:
    """Whether two values need not be recorded, and what stands for both."""
    if is_missing(a) and is_missing(b):
        return True, a if isinstance(a, Pending) else b
    if is_missing(a) or is_missing(b):
        given = b if is_missing(a) else a
        # what no program can hold, as a function, is gone where it may be missing
        holds = has_variable(given) or any(
            isinstance(leaf, (bool, int, float, Tensor)) for leaf in leaves(given)
        )
        return (False, None) if holds and not isinstance(given, str) else (True, UNDEFINED)
    if a is b or (not has_variable(a) and not has_variable(b) and _is_equal(a, b)):
        return True, a
    return False, None


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        return len(a) == len(b) and all(_is_equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_equal(a[key], b[key]) for key in a)
    return is_same_value(a, b) if not isinstance(a, Tensor) else a is b
