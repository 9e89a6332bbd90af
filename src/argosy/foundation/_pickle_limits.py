"""What reading one pickle may cost, and which keys and nests it may make.

Everything is bounded by a constant and the size of the file. The bounds are far from what a file of
plain values needs.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from argosy.foundation.dtypes import DType

MAX_DEPTH = 100  # of containers in each other: a walk by recursion stays within Python's limit
LONG_BYTES = 2**16  # bytes from here on may become the memory of an array, and are no keys
_ARRAY_BYTES = 256
_PATIENCE_S = 3.0  # of processor time, beside 4 us for each byte: a byte takes about 0.3
_KEY_BATCH = 1024
_PLAIN_KEYS = frozenset({str, bytes, int, float, complex, bool, type(None), DType})
_NESTED = frozenset({list, tuple, dict, OrderedDict, defaultdict, Counter, deque})
_CHAINED = (deque, defaultdict)
_MAX_CHAIN = 50


class Damage(Exception):
    """The bytes are no pickle of plain values; the text completes "the file is damaged: "."""


class Limits:
    """The account of one reading. ``key_types`` may be keys beside plain values."""

    def __init__(self, file_bytes: int, key_types: Collection[type]) -> None:
        self._room_bytes = 2**28 + 64 * file_bytes
        self._nodes = 2**24 + 64 * file_bytes
        self._end_s = time.thread_time() + _PATIENCE_S + 4e-6 * file_bytes
        self._unwatched_keys = 0
        self._key_types = frozenset(key_types)
        self._chains: dict[int, tuple[Any, int]] = {}
        self._links: set[int] = set()
        self._taken: dict[int, bytes | bytearray] = {}

    def spend(self, num_bytes: int) -> None:
        """Account for memory that no bytes of the file stand for."""
        self._room_bytes -= num_bytes
        if self._room_bytes < 0:
            raise Damage("it asks for far more memory than its size can mean")

    def spend_copy(self, data: str | bytes | bytearray) -> None:
        """Account for a copy of ``data``: a file of plain values leads to few of each."""
        self.spend(_ARRAY_BYTES + 8 * len(data))

    def take(self, data: bytes | bytearray) -> bool:
        """Whether an array may live in the memory of ``data``.

        It may if ``data`` is long, so that a copy would cost, and not the memory of an array
        already.
        """
        if len(data) < LONG_BYTES or id(data) in self._taken:
            self.spend_copy(data)
            return False
        self._taken[id(data)] = data
        return True

    def check_keys(self, keys: Iterable[Any]) -> None:
        """Keys and members of sets must be plain values or flat tuples of them, quick to hash."""
        kinds = set(map(type, keys))
        if kinds <= _PLAIN_KEYS and bytes not in kinds:
            return
        for key in keys:
            self._check_key(key, 2)

    def _check_key(self, key: Any, depth: int) -> None:
        kind = type(key)
        if kind is tuple and depth:
            self.spend(64 * (1 + len(key)))  # a tuple computes its hash each time
            for item in key:
                self._check_key(item, depth - 1)
        elif kind is bytes and len(key) >= LONG_BYTES:
            raise Damage(f"a key of {len(key)} bytes")
        elif kind not in _PLAIN_KEYS and kind not in self._key_types:
            if not isinstance(key, np.generic) or key.dtype.kind not in "biufc":
                raise Damage(f"a {kind.__name__} as a key or in a set")

    def add_pairs(self, target: dict[Any, Any], keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Put pairs into a dict, an OrderedDict, a defaultdict or a Counter."""
        self.check_keys(keys)
        if type(target) is defaultdict:
            self.chain(target, values)
        update = dict.update if type(target) is Counter else type(target).update
        if len(keys) <= _KEY_BATCH:
            update(target, zip(keys, values, strict=True))
            self._watch(len(keys))
            return
        for i in range(0, len(keys), _KEY_BATCH):
            update(target, zip(keys[i : i + _KEY_BATCH], values[i : i + _KEY_BATCH], strict=True))
            self._watch(_KEY_BATCH)

    def add_members(self, target: set[Any], members: Sequence[Any]) -> None:
        self.check_keys(members)
        for i in range(0, len(members), _KEY_BATCH):
            target.update(members[i : i + _KEY_BATCH])
            self._watch(min(_KEY_BATCH, len(members) - i))

    def _watch(self, num_keys: int) -> None:
        """Notice by the time it takes that numbers were chosen so that all have one hash."""
        self._unwatched_keys += num_keys
        if self._unwatched_keys >= _KEY_BATCH:
            self._unwatched_keys = 0
            if time.thread_time() > self._end_s:
                raise Damage("its keys take far longer to insert than keys do")

    def chain(self, target: Any, values: Sequence[Any]) -> None:
        """Bound how deep a deque or defaultdict holds another.

        CPython frees such a chain by recursion in C, which ends the process if it is long. Whatever
        is in another may not change any more, so that no chain can grow at its inner end.
        """
        length = self._chains.get(id(target), (target, 0))[1]
        if id(target) in self._links:
            raise Damage(f"a {type(target).__name__} that changes after it was put into another")
        if not set(map(type, values)).isdisjoint(_CHAINED):
            for value in values:
                if type(value) in _CHAINED:
                    length = max(length, 1 + self._chains.get(id(value), (value, 0))[1])
                    self._links.add(id(value))
                    self._chains.setdefault(id(value), (value, 0))
        self._chains[id(target)] = (target, length)
        if length > _MAX_CHAIN:
            raise Damage(f"a {type(target).__name__} in another, more than {_MAX_CHAIN} deep")

    def check_nest(self, root: Any) -> None:
        """Containers form a tree of bounded depth and size, if those that occur twice count
        twice.
        """
        size_by_id: dict[int, int] = {}
        # the containers that are being walked, each with those in it
        path: dict[int, list[Any]] = {}
        todo = [[root]]
        while todo:
            value = todo[-1]
            key = id(value)
            if key in path:
                size = 1 + len(value) + sum(size_by_id[id(v)] for v in path.pop(key))
                if size > self._nodes:
                    raise Damage("containers that hold each other many times over")
                size_by_id[key] = size
            if key in size_by_id:
                todo.pop()
                continue
            inner = _containers_in(value, self._taken)
            if not inner:
                size_by_id[key] = 1 + len(value)
                todo.pop()
                continue
            path[key] = inner
            if len(path) > MAX_DEPTH:
                raise Damage(f"containers in each other, more than {MAX_DEPTH} deep")
            if any(id(v) in path for v in inner):
                raise Damage("a container that holds itself")
            todo.extend({id(v): v for v in inner}.values())


def _containers_in(value: Any, taken: Collection[int]) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value
    kinds = set(map(type, items))
    if taken and bytes in kinds and any(id(v) in taken for v in items):
        raise Damage("bytes that are the elements of an array and a value too")
    return [] if kinds.isdisjoint(_NESTED) else [v for v in items if type(v) in _NESTED]
