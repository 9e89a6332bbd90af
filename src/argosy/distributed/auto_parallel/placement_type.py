"""How a tensor lies over one dimension of a mesh of processes: plain values. Nothing here acts on
them, since automatic parallelism is not supported.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = ["Partial", "Placement", "ReduceType", "Replicate", "Shard"]


class ReduceType(enum.Enum):
    """How parts of a sum become one."""

    kRedSum = 0
    kRedMax = 1
    kRedMin = 2
    kRedProd = 3
    kRedAvg = 4
    kRedAny = 5
    kRedAll = 6


@dataclass(frozen=True)
class Placement:
    """How a tensor lies over one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is cut, along ``dim`` if that is given."""
        return False

    def is_replicated(self) -> bool:
        return False

    def is_partial(self) -> bool:
        return False


@dataclass(frozen=True)
class Shard(Placement):
    """Every process has a slice along ``dim``."""

    dim: int

    def get_dim(self) -> int:
        return self.dim

    def is_shard(self, dim: int | None = None) -> bool:
        return dim is None or dim == self.dim


@dataclass(frozen=True)
class Replicate(Placement):
    """Every process has all of it."""

    def is_replicated(self) -> bool:
        return True


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """Every process has a summand, or what else ``reduce_type`` brings together."""

    _reduce_type: ReduceType = ReduceType.kRedSum

    def reduce_type(self) -> ReduceType:
        return self._reduce_type

    def is_partial(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Partial(reduce_type={self._reduce_type.name.removeprefix('kRed').upper()})"
