"""What recording knows of a value, and how it is joined where a value has one of several
origins.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.static.ir.operator import leaves
from argosy.static.ir.variable import OTHER_STAND_IN, STAND_IN, Kind, Variable, samples


def without_values(kind: Kind) -> Kind:
    return Kind(kind.first.to("meta"), None if kind.second is None else kind.second.to("meta"))


def is_same_kind(a: Kind, b: Kind) -> bool:
    return a.shape == b.shape and a.first.device == b.first.device


def join(kinds: Sequence[Kind], names: Sequence[str], what: str) -> Kind:
    """The kind of a value that is one of ``kinds``, which come from ``names``: unknown where the
    shapes differ.
    """
    problem = _disagreement(kinds, names, what)
    if problem:
        raise DtypeError(f"{problem} must be equal")
    first = kinds[0].first
    extents: list[set[tuple[int, int]]] = [set() for _ in first.shape]
    for kind in kinds:
        for seen, *pair in zip(extents, kind.first.shape, kind.sample(True).shape, strict=True):
            seen.add((pair[0], pair[1]))
    agreed = [
        next(iter(seen)) if len(seen) == 1 else (STAND_IN, OTHER_STAND_IN) for seen in extents
    ]
    samples = [
        torch.empty([n[i] for n in agreed], dtype=first.dtype, device="meta") for i in (0, 1)
    ]
    return paired(*samples)


def join_branches(kinds: Sequence[Kind], names: Sequence[str], what: str) -> Kind:
    """``join`` for branches, of which a run takes one: where dtypes or numbers of dimensions
    differ, what is recorded after them sees the first, and a warning says so.
    """
    problem = _disagreement(kinds, names, what)
    if not problem:
        return join(kinds, names, what)
    warnings.warn(
        f"{problem} differ, so what is recorded next takes it for {_shown(kinds[0])}, whichever "
        "branch runs",
        stacklevel=2,
    )
    return without_values(kinds[0])


def _disagreement(kinds: Sequence[Kind], names: Sequence[str], what: str) -> str:
    first = kinds[0]
    for other, name in zip(kinds[1:], names[1:], strict=True):
        if other.dtype is first.dtype and other.first.ndim == first.first.ndim:
            continue
        problem = "the dtypes" if other.dtype is not first.dtype else "the numbers of dimensions"
        return f"{what} is {_shown(first)} in {names[0]}, but {_shown(other)} in {name}: {problem}"
    return ""


def paired(first: torch.Tensor, second: torch.Tensor) -> Kind:
    """The kind with these samples, of which one is enough if they are alike."""
    return Kind(first, None if first.shape == second.shape else second)


def _shown(kind: Kind) -> str:
    return f"{dtypes.name_of(kind.dtype)}{list(kind.shape)}"


def require_same_structure(a: Any, b: Any, names: Sequence[str], call: str) -> None:
    """Refuse results that are not nested alike."""
    problem = _difference(a, b)
    if problem:
        raise UsageError(
            f"{call}: {names[0]} and {names[1]} must be nested alike, but {problem}: "
            f"{_outline(a)} and {_outline(b)}"
        )


def require_same_results(results: Sequence[Any], names: Sequence[str], call: str) -> None:
    """Refuse functions of which one returns None and another does not, or whose results are not
    nested alike.
    """
    first = results[0]
    for result, name in zip(results[1:], names[1:], strict=True):
        wrong = f"Incompatible return values of {names[0]} and {name} in {call}: "
        if (first is None) is not (result is None):
            kinds = ["None" if value is None else "non-None" for value in (first, result)]
            raise UsageError(
                f"{wrong}{names[0]} returns {kinds[0]} while {name} returns {kinds[1]}"
            )
        problem = _difference(first, result)
        if problem:
            counts = [len(list(leaves(value))) for value in (first, result)]
            heads = [text.removesuffix("_fn") for text in (names[0], name)]
            raise UsageError(
                f"{wrong}{heads[0]} fn returns {counts[0]} vars, but {heads[1]} fn returns "
                f"{counts[1]} vars, which is not equals; they must be nested alike, but {problem}: "
                f"{_outline(first)} and {_outline(result)}"
            )


def _difference(a: Any, b: Any) -> str:
    if _nesting(a) is not _nesting(b):
        return f"a {_outline(a)} stands against a {_outline(b)}"
    if isinstance(a, dict):
        if sorted(map(str, a)) != sorted(map(str, b)):
            return f"the keys are {list(a)} and {list(b)}"
        return next(filter(None, (_difference(value, b[key]) for key, value in a.items())), "")
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return f"they have {len(a)} and {len(b)} values"
        return next(filter(None, map(_difference, a, b)), "")
    return ""


def _nesting(tree: Any) -> type:
    return dict if isinstance(tree, dict) else list if isinstance(tree, (list, tuple)) else object


def _outline(tree: Any) -> str:
    """The structure of nested values without the values."""
    if isinstance(tree, dict):
        return f"{{{', '.join(f'{key!r}: {_outline(v)}' for key, v in tree.items())}}}"
    if isinstance(tree, (list, tuple)):
        return f"[{', '.join(_outline(v) for v in tree)}]"
    return (
        "None" if tree is None else "Tensor" if isinstance(tree, Variable) else type(tree).__name__
    )


def try_set_static_shape_tensor(tensor: Any, shape: Any) -> None:
    """Give a variable the extents that the values of ``shape``, a variable too, are known to be."""
    if not isinstance(tensor, Variable) or not isinstance(shape, Variable):
        return
    if -1 not in tensor.shape or shape.raw.device.type == "meta":
        return
    first = shape.raw.tolist()
    second = first if shape.alt is None else shape.alt.tolist()
    extents = [a if a == b else -1 for a, b in zip(first, second, strict=True)]
    tensor.define(Kind(*samples(extents, tensor.raw.dtype)))
