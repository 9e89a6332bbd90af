"""The actors of the servers of a job, for as long as it runs. They are in a placement group of
their own, so that servers stay when workers come and go.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from argosy.foundation.errors import ConfigError
from argosy.ray.request import Servers

_ROOM_S = 120.0
_END_S = 30.0


@contextlib.contextmanager
def hired(wanted: Servers) -> Iterator[tuple[Any, ...]]:
    """Actors for the servers, for as long as the job runs; none if no server is wanted."""
    if not wanted.count:
        yield ()
        return
    import ray
    from ray.util.placement_group import placement_group, remove_placement_group

    group = placement_group(wanted.bundles, strategy="SPREAD", name=wanted.group)
    servers: list[Any] = []
    try:
        if not group.wait(_ROOM_S):
            raise ConfigError(
                f"FleetTrainer: the cluster has no room for {wanted.count} servers, each of which "
                f"asks for {wanted.bundles[0]}; there is {ray.available_resources()}"
            )
        servers += [_actor(wanted, group, number) for number in range(wanted.count)]
        yield tuple(servers)
    finally:
        ended(servers)
        for server in servers:
            ray.kill(server)
        remove_placement_group(group)


def substitute(wanted: Servers, where: Mapping[str, str]) -> Any:
    """An actor for one more server, on a node whose labels fit ``where``, in place of one that was
    lost. It ends with the process that calls this.
    """
    from ray.util.placement_group import placement_group

    name = f"{wanted.group}-{secrets.token_hex(4)}"  # Ray has one group of a name
    group = placement_group(wanted.bundles[:1], name=name, bundle_label_selector=[dict(where)])
    return _actor(wanted, group, 0)


def _actor(wanted: Servers, group: Any, bundle: int) -> Any:
    import ray
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    from argosy.ray.server import Server

    place = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)
    made = ray.remote(Server).options(
        scheduling_strategy=place, max_restarts=-1, max_concurrency=8, **wanted.options
    )
    return made.remote()


def ended(servers: Sequence[Any]) -> list[str]:
    """End the processes of the servers; what was wrong with each."""
    import ray

    asked = [server.close.remote() for server in servers]
    ray.wait(asked, num_returns=len(asked), timeout=_END_S) if asked else None
    problems = []
    for answer in asked:
        try:
            problems.append(ray.get(answer, timeout=0.1))
        except ray.exceptions.RayError as error:
            problems.append(f"its actor does not answer ({type(error).__name__})")
    return problems
