"""Shapes and dtypes of what an op returns, found by running the op itself without values.

The op runs on the meta device, or its sketch tells what would come of that (``ops/sketch.py``);
twice if a dimension is dynamic: what differs between the two runs is dynamic too. An op that must
look at values (``nonzero``) runs on a few made-up ones instead, and what differs between these runs
is dynamic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, NotSupported, ProgramError, raise_as
from argosy.ops.table import Op
from argosy.static.ir.operator import leaves, mapped
from argosy.static.ir.variable import OTHER_STAND_IN, STAND_IN, Kind, Variable
from argosy.static.record.compiler import keep_compiler_out
from argosy.tensor.engine import Tensor, explain

_META = torch.device("meta")
_CPU = torch.device("cpu")
_SMALL = 16  # elements up to which constants keep their values while recording
_LARGEST_TRIAL = 1 << 24  # elements that a run on zeros may take
_ERRORS = (RuntimeError, IndexError, TypeError, ValueError, AttributeError)


def infer(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of ``op`` with a ``Kind`` for each tensor; a wrong call raises the error that
    eager mode raises. Variables among the arguments count as what is known of them now; kinds may
    stand in their place.
    """
    args, kwargs = mapped(args, _kind), mapped(kwargs, _kind)
    kinds = [leaf for leaf in leaves([list(args), kwargs]) if isinstance(leaf, Kind)]
    is_dynamic = any(kind.second is not None for kind in kinds)
    try:
        with torch.no_grad():
            try:
                first = _run(op, args, kwargs, False)
                second = _run(op, args, kwargs, True) if is_dynamic else first
            except _ERRORS as error:
                if _needs_values(error):
                    first, second = _run_on_values(op, args, kwargs, kinds)
                elif is_dynamic:
                    first, second = _run_on_one_size(op, args, kwargs, kinds, error)
                else:
                    raise
    except _ERRORS as error:
        raise_as(_explained(op, args, kwargs, error), error)
    return _paired(first, second, op)


def check_dtypes(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse what Paddle refuses in programs, though the op itself could compute with it."""
    given = dict(zip(op.params, args, strict=False)) | kwargs
    for name, allowed in op.traits.recorded_dtypes.items():
        value = given.get(name)
        if not isinstance(value, (Variable, type(None))):
            raise DtypeError(
                f"{op.type}: {name} must be a Variable, but received {type(value).__name__}"
            )
        if value is not None and dtypes.name_of(value.raw.dtype) not in allowed:
            raise DtypeError(
                f"{op.type}: the data type of {name} must be one of {', '.join(allowed)}, but "
                f"received {dtypes.name_of(value.raw.dtype)}"
            )


def _kind(value: Any) -> Any:
    return value.kind if isinstance(value, Variable) else value


def _run(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], other: bool) -> Any:
    def raw(value: Any) -> Any:
        if isinstance(value, Kind):
            return value.sample(other)
        return _META if isinstance(value, torch.device) else value

    def on_meta(value: Any) -> Any:
        return value.to(_META) if isinstance(value, torch.Tensor) else value

    given, named = mapped(args, raw), mapped(kwargs, raw)
    tensors = [leaf for leaf in leaves([list(given), named]) if isinstance(leaf, torch.Tensor)]
    if not tensors:
        return _constant(op, given, named)
    has_values = any(t.device.type != "meta" for t in tensors)
    if not has_values:
        if op.traits.sketch is not None:
            known = op.traits.sketch(*given, **named)
            if known is not NotImplemented:
                return known
        keep_compiler_out()
        return op.fn(*given, **named)
    try:
        out = op.fn(*given, **named)
    except _ERRORS:
        if all(t.device.type != "meta" for t in tensors):
            raise
        # Real values beside meta tensors, which few ops take: without the values then.
        return op.fn(*mapped(given, on_meta), **mapped(named, on_meta))
    return mapped(out, on_meta) if op.traits.is_random else out


def _constant(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an op without inputs; a small one keeps its values, for use as a shape."""

    def to_cpu(value: Any) -> Any:
        return _CPU if isinstance(value, torch.device) else value

    with _META:
        out = op.fn(*args, **kwargs)
    tensors = [leaf for leaf in leaves(out) if isinstance(leaf, torch.Tensor)]
    if op.traits.is_random or any(t.numel() > _SMALL or t.is_floating_point() for t in tensors):
        return mapped(out, lambda t: t.to(_META) if isinstance(t, torch.Tensor) else t)
    return op.fn(*mapped(args, to_cpu), **mapped(kwargs, to_cpu))


def constant_tensors(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """What an op without inputs returns, without values; none if it needs them. A wrong call raises
    the error of eager mode.
    """

    def on_meta(value: Any) -> Any:
        return _META if isinstance(value, torch.device) else value

    try:
        with torch.no_grad(), _META:
            out = op.fn(*mapped(args, on_meta), **mapped(kwargs, on_meta))
    except (*_ERRORS, LookupError, ArithmeticError, AssertionError, MemoryError) as error:
        if _needs_values(error):
            return []
        raise _explained(op, args, kwargs, error) from error
    return [leaf for leaf in leaves(out) if isinstance(leaf, torch.Tensor)]


def _run_on_one_size(
    op: Op,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    kinds: list[Kind],
    error: Exception,
) -> tuple[Any, Any]:
    """The results of a call whose dynamic dimensions have to be equal, though not all stand for the
    same (one was split, say); or of one that is valid only for a single size, which its other
    inputs or its attributes tell.
    """

    def run(size: int) -> Any:
        def raw(value: Any) -> Any:
            if isinstance(value, Kind):
                return torch.empty(
                    [size if n < 0 else n for n in value.shape], dtype=value.dtype, device=_META
                )
            return _META if isinstance(value, torch.device) else value

        return op.fn(*mapped(args, raw), **mapped(kwargs, raw))

    sizes = ((size, size) for size in _sizes([list(args), kwargs], kinds))
    for size, other in ((STAND_IN, OTHER_STAND_IN), *sizes):
        try:
            first = run(size)
            return first, (first if size == other else run(other))
        except _ERRORS:
            continue
    raise error


def _sizes(arguments: Any, kinds: list[Kind]) -> list[int]:
    """What a dynamic dimension may have to be: a known extent, an attribute, or what makes up a
    shape; 1 last.
    """
    found = [n for kind in kinds for n in kind.shape]
    found += [leaf for leaf in leaves(arguments) if type(leaf) is int]
    shapes = [
        value
        for value in arguments[0]
        if isinstance(value, list) and all(type(n) is int for n in value)
    ]
    for kind in kinds:
        known = math.prod(n for n in kind.shape if n > 0)
        found += [math.prod(shape) // known for shape in shapes if known]
    return [*dict.fromkeys(n for n in found if n > 1), 1]


def _needs_values(error: Exception) -> bool:
    text = str(error)
    return isinstance(error, NotImplementedError) or "meta" in text or "data-dependent" in text


def _run_on_values(
    op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], kinds: list[Kind]
) -> tuple[Any, Any]:
    # Where there is too much to try, only small inputs have values: those that say sizes.
    is_large = sum(kind.sample(True).numel() for kind in kinds) > _LARGEST_TRIAL

    def filled(other: bool, fill: Callable[[torch.Size], torch.Tensor]) -> Any:
        made: list[tuple[torch.Tensor, Kind]] = []

        def raw(value: Any) -> Any:
            if not isinstance(value, Kind):
                return _CPU if isinstance(value, torch.device) else value
            sample = value.sample(other)
            if sample.device.type == "meta" and not (is_large and sample.numel() > _SMALL):
                sample = fill(sample.shape).to(sample.dtype)
            made.append((sample, value))
            return sample

        def given(leaf: Any) -> Any:
            """An input that is returned, as by an op that works in place, is still that input."""
            return next((kind for tensor, kind in made if tensor is leaf), leaf)

        return mapped(op.fn(*mapped(args, raw), **mapped(kwargs, raw)), given)

    trials: list[Any] = []
    for fill in _FILLS:
        try:
            trials.append(filled(bool(trials), fill))
            valid = fill
        except _ERRORS as error:
            reason = error
    if not trials and is_large:
        raise NotSupported(
            f"{op.name}: the shape of its result depends on values, and the inputs are too large "
            "to try it while recording"
        ) from reason
    if not trials:
        raise reason
    if len(trials) == 1:
        trials.append(filled(True, valid))
    return _with_stand_ins(trials, STAND_IN), _with_stand_ins(trials, OTHER_STAND_IN)


def _counted(shape: torch.Size) -> torch.Tensor:
    return torch.arange(shape.numel()).reshape(shape)


# Values to try an op on. Any may be invalid: ones as an index, zeros as a count.
_FILLS: tuple[Callable[[torch.Size], torch.Tensor], ...] = (
    torch.zeros,
    _counted,
    torch.ones,
    lambda shape: torch.full(shape, 2),
)


def _with_stand_ins(trials: list[Any], size: int) -> Any:
    """One result for all: what differs between the trials, or has no elements in any, is of unknown
    size.
    """
    one = trials[0]
    if isinstance(one, (list, tuple)):
        if any(len(other) != len(one) for other in trials):
            raise ProgramError("the number of results depends on values")
        return type(one)(_with_stand_ins(list(items), size) for items in zip(*trials, strict=True))
    if not isinstance(one, torch.Tensor):
        return one
    shapes = zip(*(t.shape for t in trials), strict=True)
    shape = [n[0] if len(set(n)) == 1 and n[0] > 0 else size for n in shapes]
    return torch.empty(shape, dtype=one.dtype, device=_META)


def _paired(first: Any, second: Any, op: Op) -> Any:
    if isinstance(first, (list, tuple)):
        if len(first) != len(second):
            raise ProgramError(
                f"{op.name}: how many tensors it returns depends on a dimension that is only "
                "known when the program runs"
            )
        items = [_paired(a, b, op) for a, b in zip(first, second, strict=True)]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    if not isinstance(first, torch.Tensor):
        return first
    if first is second:
        return Kind(first)
    is_constant = first.shape == second.shape and (
        first.device.type == "meta" or torch.equal(first, second)
    )
    return Kind(first, None if is_constant else second)


class _Shown:
    """A variable in an error message."""

    def __init__(self, kind: Kind) -> None:
        self._text = f"{dtypes.name_of(kind.dtype)}{list(kind.shape)}"

    def __repr__(self) -> str:
        return self._text


def _explained(
    op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> Exception:
    def shown(value: Any) -> Any:
        return _Shown(value) if isinstance(value, Kind) else value

    result = explain(op, mapped(args, shown), mapped(kwargs, shown), error)
    text = str(result)
    plain = re.sub(rf"(?<!\d)({STAND_IN}|{OTHER_STAND_IN})(?!\d)", "-1", text)
    return type(result)(plain) if plain != text else result


def is_eager(value: Any) -> bool:
    """Whether ``value`` is a Tensor with values."""
    return isinstance(value, Tensor) and not isinstance(value, Variable)
