"""Nested structures of lists, tuples, named tuples and dicts: flatten, map, rebuild. Dicts go in
the order of their sorted keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from argosy.foundation.errors import DtypeError, UsageError

__all__ = [
    "is_sequence",
    "to_sequence",
    "flatten",
    "pack_sequence_as",
    "map_structure",
    "assert_same_structure",
    "convert_to_list",
]


def is_sequence(seq: Any) -> bool:
    """Whether ``seq`` is a structure rather than a leaf."""
    return isinstance(seq, dict) or (isinstance(seq, Sequence) and not isinstance(seq, str))


def to_sequence(nest: Any) -> Any:
    """A leaf in a list, a structure as it is."""
    return nest if is_sequence(nest) else [nest]


def _children(nest: Any) -> list[Any]:
    if not isinstance(nest, dict):
        return list(nest)
    try:
        return [nest[key] for key in sorted(nest)]
    except TypeError:
        raise DtypeError(
            f"a nested dict must have keys that can be sorted, but received {list(nest)}"
        ) from None


def _like(nest: Any, children: list[Any]) -> Any:
    """A structure of the kind of ``nest`` with other children."""
    if isinstance(nest, dict):
        by_key = dict(zip(sorted(nest), children, strict=True))
        return type(nest)((key, by_key[key]) for key in nest)
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*children)
    return type(nest)(children)


def flatten(nest: Any) -> list[Any]:
    """The leaves, depth first.

    Example:
        >>> paddle.utils.flatten({"b": [1, (2, 3)], "a": 0})
        [0, 1, 2, 3]
    """
    return (
        [leaf for child in _children(nest) for leaf in flatten(child)]
        if is_sequence(nest)
        else [nest]
    )


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """Put leaves back into a structure of the same shape as ``structure``."""
    if not is_sequence(flat_sequence):
        raise DtypeError(
            "pack_sequence_as: expected a sequence of leaves, but received "
            f"{type(flat_sequence).__name__}"
        )
    leaves = (
        list(flat_sequence.values()) if isinstance(flat_sequence, dict) else list(flat_sequence)
    )
    wanted = len(flatten(structure))
    if len(leaves) != wanted:
        raise UsageError(
            f"pack_sequence_as: the structure has {wanted} leaves, but received {len(leaves)}: "
            f"{structure}"
        )
    return _pack(structure, iter(leaves))


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_sequence(structure):
        return next(leaves)
    return _like(structure, [_pack(child, leaves) for child in _children(structure)])


def map_structure(func: Callable[..., Any], *structure: Any) -> Any:
    """Apply ``func`` to the leaves that stand in the same place of each structure.

    Example:
        >>> paddle.utils.map_structure(lambda a, b: a + b, [1, {"x": 2}], [10, {"x": 20}])
        [11, {'x': 22}]
    """
    columns = zip(*(flatten(nest) for nest in structure), strict=False)
    return pack_sequence_as(structure[0], [func(*column) for column in columns])


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, skip_if: Callable[[Any], bool] | None = None
) -> None:
    """Raise where the two structures differ in nesting, lengths, keys or, with ``check_types``,
    kinds of containers.
    """
    if skip_if is not None and (skip_if(nest1) or skip_if(nest2)):
        return
    if is_sequence(nest1) != is_sequence(nest2):
        raise UsageError(f"the structures differ: {nest1} against {nest2}")
    if not is_sequence(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise DtypeError(
            f"the structures differ: a {type(nest1).__name__} against a {type(nest2).__name__}"
        )
    if check_types and isinstance(nest1, dict) and set(nest1) != set(nest2):
        raise UsageError(f"the structures differ: keys {sorted(nest1)} against {sorted(nest2)}")
    first, second = _children(nest1), _children(nest2)
    if len(first) != len(second):
        raise UsageError(
            f"the structures differ: {len(first)} elements {nest1} against {len(second)} "
            f"elements {nest2}"
        )
    for a, b in zip(first, second, strict=True):
        assert_same_structure(a, b, check_types, skip_if)


def convert_to_list(value: Any, n: int, name: str, dtype: type = int) -> list[Any]:
    """One number ``n`` times, or a list of ``n`` numbers checked; ``name`` is the argument's, for
    messages.
    """
    if isinstance(value, dtype):
        return [value] * n
    try:
        values = list(value)
    except TypeError:
        raise UsageError(f"The {name}'s type must be list or tuple. Received: {value}") from None
    if len(values) != n:
        raise UsageError(f"The {name}'s length must be {n}. Received: {value}")
    for item in values:
        try:
            dtype(item)
        except (TypeError, ValueError):
            raise UsageError(
                f"The {name} must hold {n} numbers of type {dtype.__name__}. Received: {value}"
            ) from None
    return values
