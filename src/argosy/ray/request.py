"""What a FleetTrainer asks of the cluster. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import ConfigError

Workers = int | tuple[int, int]
_SLACK = 1e-6  # Ray counts in ten thousandths; fractions of floats do not add up to 1


@dataclass(frozen=True, kw_only=True)
class Servers:
    """How many servers, what each takes of its node, and how the name of their placement group
    begins.
    """

    count: int = 0
    resources: Mapping[str, float] | None = None
    group: str = ""

    @property
    def bundles(self) -> list[dict[str, float]]:
        return [dict(self.resources or {"CPU": 1}) for _ in range(self.count)]

    @property
    def options(self) -> dict[str, Any]:
        """The same as arguments of an actor."""
        left = dict(self.resources or {"CPU": 1})
        named = {
            option: left.pop(name)
            for name, option in (("CPU", "num_cpus"), ("GPU", "num_gpus"), ("memory", "memory"))
            if name in left
        }
        return {"num_cpus": 0, **named, **({"resources": left} if left else {})}


def checked_workers(workers: Any) -> Workers:
    """A number of workers, or the least and the most of them."""
    if _is_count(workers, 1):
        count: int = workers
        return count
    if isinstance(workers, tuple | list) and len(workers) == 2:
        least, most = workers
        if _is_count(least, 1) and _is_count(most, least):
            return least, most
    raise ConfigError(
        f"FleetTrainer: workers is {workers!r}, but must be a number of at least 1, or a pair of "
        "them: the least and the most, as in workers=(2, 4)"
    )


def checked_servers(servers: Any, resources: Mapping[str, float] | None) -> Servers:
    if not _is_count(servers, 0):
        raise ConfigError(
            f"FleetTrainer: servers is {servers!r}, but must be a number of at least 0"
        )
    if resources is not None and not servers:
        raise ConfigError("FleetTrainer: resources_per_server is given, but no server is asked for")
    return Servers(count=servers, resources=resources)


def room(
    resources: Mapping[str, Mapping[str, float]],
    taken: Iterable[tuple[str | None, Mapping[str, float]]],
) -> dict[str, dict[str, float]]:
    """What is left of the ``resources`` of each node when ``taken``, pairs of a node and what is
    taken of it, is taken.
    """
    left = {node: dict(has) for node, has in resources.items()}
    for node, bundle in taken:
        if node is not None and node in left:
            for name, amount in bundle.items():
                left[node][name] = left[node].get(name, 0.0) - amount
    return left


def num_fitting(
    resources: Mapping[str, Mapping[str, float]], each: Mapping[str, float]
) -> int | float:
    """How many processes that take ``each`` of their node fit on nodes with ``resources``; inf for
    those that take nothing.
    """
    needed = {name: amount for name, amount in each.items() if amount > 0}
    if not needed:
        return math.inf
    return sum(
        max(0, min(int(has.get(name, 0.0) / amount + _SLACK) for name, amount in needed.items()))
        for has in resources.values()
    )


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
