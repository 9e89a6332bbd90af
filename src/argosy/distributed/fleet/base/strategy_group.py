"""``paddle.distributed.fleet.base.strategy_group``: the groups that the ranks of a job form for one
way of sharing work.
"""

from __future__ import annotations

from collections.abc import Sequence

from argosy.distributed.collective import new_group
from argosy.distributed.communication.group import Group, is_initialized
from argosy.distributed.fleet.meta_parallel import RNGStatesTracker
from argosy.distributed.parallel import get_rank
from argosy.foundation.errors import BadArgument

__all__ = ["DPGroup", "MPGroup", "PPGroup", "ShardingGroup", "StrategyGroupBase"]


class StrategyGroupBase:
    """A group for each list of ranks in ``list_of_ranks``; every process of the job makes it."""

    def __init__(self, list_of_ranks: Sequence[Sequence[int]]) -> None:
        if not is_initialized():
            raise BadArgument("The global communication group need to be initialized.")
        if not list_of_ranks:
            raise BadArgument("The list_of_ranks can not be empty.")
        self._rank = get_rank()
        self._list_of_ranks = list_of_ranks
        made = [(ranks, new_group(list(ranks))) for ranks in list_of_ranks]
        self.list_of_group = [group for ranks, group in made if self._rank in ranks]
        self.random_states_tracker = RNGStatesTracker()

    def add_random_seed(self, name: str, seed: int) -> None:
        """Keep a state of random numbers, seeded with ``seed``, under ``name``."""
        self.random_states_tracker.add(name, seed)

    def get_random_states_tracker(self) -> RNGStatesTracker:
        """The states of random numbers of this rank."""
        return self.random_states_tracker

    @property
    def world_size(self) -> int | list[int]:
        """The number of ranks of each group; a list if they differ."""
        sizes = [len(ranks) for ranks in self._list_of_ranks]
        return sizes[0] if len(set(sizes)) == 1 else sizes

    @property
    def group(self) -> Group | list[Group] | None:
        """The group that this rank is in; a list if there are several, None if there is none."""
        own = self.list_of_group
        return own if len(own) > 1 else own[0] if own else None

    def __repr__(self) -> str:
        shown = [f"Group[{i}]: {group}; " for i, group in enumerate(self.list_of_group)]
        return "".join(shown) or "No group."


class _OneGroup(StrategyGroupBase):
    """This rank is in one of the groups at most."""

    kind = ""

    def __init__(self, list_of_ranks: Sequence[Sequence[int]]) -> None:
        super().__init__(list_of_ranks)
        if len(self.list_of_group) > 1:
            raise BadArgument(f"Rank {self._rank} belongs to multi {self.kind} groups")


class DPGroup(_OneGroup):
    """Ranks with the same model and other data."""

    kind = "dp"


class MPGroup(_OneGroup):
    """Ranks that share the layers' matrices."""

    kind = "mp"


class ShardingGroup(_OneGroup):
    """Ranks that share the state of training."""

    kind = "sharding"


class PPGroup(_OneGroup):
    """Ranks with consecutive stages of a model, and a group for each way to talk to a neighbour."""

    kind = "pp"

    def __init__(self, list_of_ranks: Sequence[Sequence[int]]) -> None:
        super().__init__(list_of_ranks)
        self.rank_of_next_stage: int | None = None
        self.rank_of_prev_stage: int | None = None
        self._neighbours: dict[str, Group] = {}
        for ranks in list_of_ranks:
            if len(ranks) > 1:
                self._connect(ranks)

    def _connect(self, ranks: Sequence[int]) -> None:
        for place, rank in enumerate(ranks):
            after, before = ranks[(place + 1) % len(ranks)], ranks[place - 1]
            to_next, to_prev = new_group([rank, after]), new_group([before, rank])
            if self._rank == rank:
                self.rank_of_next_stage, self.rank_of_prev_stage = after, before
                self._neighbours.update(send_next=to_next, send_prev=to_prev)
            if self._rank == after:
                self._neighbours["recv_prev"] = to_next
            if self._rank == before:
                self._neighbours["recv_next"] = to_prev

    @property
    def p2p_groups(self) -> tuple[Group | None, ...]:
        """The groups to send to the next and the previous stage, and to receive from them."""
        names = ("send_next", "send_prev", "recv_next", "recv_prev")
        return tuple(self._neighbours.get(name) for name in names)
