"""First values of rows: functions of (seed, id, column) alone, so they do not depend on when or
where a row is made.
"""

# mypy: disable-error-code="untyped-decorator,no-any-return,call-arg"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from argosy.foundation.errors import BadArgument
from argosy.runtime.ps.tables.hashing import mix

_CODE_BY_KIND = {"constant": 0, "uniform": 1, "normal": 2, "truncated_normal": 3}
_UNIFORM, _NORMAL, _TRUNCATED = 1, 2, 3
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Initial:
    """How rows begin: ``constant`` a, ``uniform`` in [a, b), ``normal`` and ``truncated_normal``
    (within two b) with mean a and deviation b.

    ``zero_first`` makes the first value of a row 0, as Paddle's tables do for the weight beside an
    embedding.
    """

    kind: str = "constant"
    a: float = 0.0
    b: float = 0.0
    seed: int = 0
    zero_first: bool = False

    def __post_init__(self) -> None:
        if self.kind not in _CODE_BY_KIND:
            raise BadArgument(
                f"Initial: kind must be one of {sorted(_CODE_BY_KIND)}, but received {self.kind!r}"
            )

    @property
    def code(self) -> int:
        return _CODE_BY_KIND[self.kind]


@numba.njit(nogil=True, cache=True, inline="always")
def _unit(state: Any) -> float:
    """A number in (0, 1) from 64 random bits."""
    return (np.float64(state >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


@numba.njit(nogil=True, cache=True)
def _gaussian(state: Any) -> float:
    first, second = _unit(mix(state)), _unit(mix(state + _GOLDEN))
    return math.sqrt(-2.0 * math.log(first)) * math.cos(2.0 * math.pi * second)


@numba.njit(nogil=True, cache=True)
def _draw(kind: int, a: float, b: float, state: Any) -> float:
    if kind == _UNIFORM:
        return a + (b - a) * _unit(mix(state))
    if kind == _NORMAL:
        return a + b * _gaussian(state)
    if kind == _TRUNCATED:
        value = _gaussian(state)
        while value < -2.0 or value > 2.0:
            state = mix(state) + _GOLDEN
            value = _gaussian(state)
        return a + b * value
    return a


@numba.njit(nogil=True, cache=True)
def fill_rows(
    memory: Any,
    rows: Any,
    ids: Any,
    dim: int,
    trained: int,
    kind: int,
    a: float,
    b: float,
    seed: int,
    zero_first: bool,
    state: float,
) -> None:
    """Write the given rows: ``dim`` first values, ``state`` up to ``trained`` numbers, zeros after
    them.
    """
    width = memory.shape[1]
    for i in range(rows.shape[0]):
        row = rows[i]
        start = mix(np.uint64(ids[row]) ^ mix(np.uint64(seed) + _GOLDEN))
        for c in range(dim):
            memory[row, c] = _draw(kind, a, b, start + np.uint64(2 * c + 2) * _GOLDEN)
        if zero_first:
            memory[row, 0] = 0.0
        for c in range(dim, trained):
            memory[row, c] = state
        for c in range(trained, width):
            memory[row, c] = 0.0
