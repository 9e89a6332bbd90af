"""``paddle.distributed.fleet.base.orthogonal_strategy``: several ways of sharing work at once, with
the ranks as the points of a box that has a side for each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from argosy.distributed.fleet.base.strategy_group import StrategyGroupBase
from argosy.distributed.parallel import get_world_size
from argosy.foundation.errors import BadArgument

__all__ = ["OrthogonalStrategy"]


class OrthogonalStrategy:
    """``list_of_strategy`` has (name, degree, class of its groups) of each side, the last one
    changing fastest along ``strategy_rank_list`` (all ranks without it). ``fused_strategy_dict``
    names sides whose ranks are joined to one group.
    """

    def __init__(
        self,
        list_of_strategy: Sequence[tuple[str, int, Any]],
        fused_strategy_dict: Mapping[str, Sequence[str]] | None = None,
        strategy_rank_list: Sequence[int] | None = None,
    ) -> None:
        self._names = [name for name, _, _ in list_of_strategy]
        self._degrees = {name: degree for name, degree, _ in list_of_strategy}
        fused = fused_strategy_dict or {}
        ranks = list(range(get_world_size()) if strategy_rank_list is None else strategy_rank_list)
        self._check(len(ranks), fused)
        points = itertools.product(*(range(self._degrees[name]) for name in self._names))
        self._ranks = dict(zip(points, ranks, strict=True))
        self._groups = {name: make(self._lists([name])) for name, _, make in list_of_strategy}
        self._fused = {name: StrategyGroupBase(self._lists(own)) for name, own in fused.items()}

    def _check(self, num_ranks: int, fused: Mapping[str, Sequence[str]]) -> None:
        if len(self._degrees) != len(self._names):
            raise BadArgument(f"Defined duplicated strategies: {self._names}")
        needed = math.prod(self._degrees.values())
        if needed != num_ranks:
            raise BadArgument(
                f"There are total {num_ranks} ranks, but need {needed} ranks in this strategy."
            )
        for name in itertools.chain.from_iterable(fused.values()):
            if name not in self._degrees:
                raise BadArgument(f"Can not fuse strategy {name} without defined previous.")

    def _lists(self, inner: Sequence[str]) -> list[list[int]]:
        """Ranks that differ in the sides ``inner`` only, a list for each point of the others."""
        outer = [name for name in self._names if name not in inner]

        def points(names: Sequence[str]) -> Any:
            for values in itertools.product(*(range(self._degrees[name]) for name in names)):
                yield dict(zip(names, values, strict=True))

        return [
            [self._ranks[tuple((fixed | moved)[name] for name in self._names)]
             for moved in points(inner)]
            for fixed in points(outer)
        ]  # fmt: skip

    def strategy_group(self, name: str) -> Any:
        """The groups of one side."""
        if name not in self._groups:
            raise BadArgument(f"Strategy group {name} is not created.")
        return self._groups[name]

    def fused_strategy_group(self, name: str) -> StrategyGroupBase:
        """The groups of joined sides."""
        if name not in self._fused:
            raise BadArgument(f"Fused strategy group {name} is not created.")
        return self._fused[name]

    def rank_in_strategy(self, name: str) -> int:
        """This process's rank in its group of one side."""
        rank: int = self.strategy_group(name).group.rank
        return rank
