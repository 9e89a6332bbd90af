"""Group as Paddle shows it, over the runtime's."""

from __future__ import annotations

from typing import Any

from argosy.runtime.comm.group import Group as RuntimeGroup

__all__ = ["Group"]


class Group:
    """Some ranks of the job that communicate among themselves."""

    def __init__(self, inner: RuntimeGroup, name: str | None = None) -> None:
        self._inner = inner
        self._name = name or inner.name

    @property
    def rank(self) -> int:
        """This process's rank inside the group; -1 if it is not a member."""
        return self._inner.rank

    @property
    def ranks(self) -> list[int]:
        """The global ranks of the members."""
        return self._inner.ranks

    @property
    def nranks(self) -> int:
        return self._inner.world_size

    @property
    def world_size(self) -> int:
        """The number of members; -1 if this process is not one."""
        return self._inner.world_size if self._inner.is_member else -1

    @property
    def name(self) -> str:
        return self._name

    @property
    def id(self) -> int:
        return self._inner.id

    @property
    def process_group(self) -> Any:
        """The backend of the group; None if this process is not a member."""
        return self._inner.backend if self._inner.is_member else None

    pg = process_group

    @property
    def backend(self) -> str:
        return self._inner.backend.kind.upper() if self._inner.is_member else ""

    def is_member(self) -> bool:
        """Whether this process is in the group and it has more than one member."""
        return self._inner.is_member and self.nranks > 1

    def get_group_rank(self, rank: int) -> int:
        """The rank inside the group of a global rank; -1 if it is not a member."""
        return self.ranks.index(rank) if rank in self.ranks else -1

    def get_global_rank(self, rank: int) -> int:
        """The global rank of a rank of the group; -1 if this process is not a member."""
        return self.ranks[rank] if self._inner.is_member else -1

    def __repr__(self) -> str:
        return (
            f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: "
            f"{', '.join(map(str, self.ranks))}; name: {self.name}"
        )
