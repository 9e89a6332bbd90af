"""What another launcher says of this host, as values of our launcher's flags. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.runtime.launch.environments import SIGNS, as_host, is_of_paddle
from argosy.runtime.launch.environments.placement import Placement

# who names hosts on the command line needs nobody else's word for them
_HOSTS = ("nnodes", "master", "rank", "ips", "servers", "workers", "endpoints", "trainers")
_OTHERS = tuple(
    name for name in SIGNS if not name.startswith("PADDLE_") or name == "PADDLE_TRAINERS"
)


def of_surroundings(
    given: Mapping[str, Any], values: Mapping[str, Any], environ: Mapping[str, str]
) -> dict[str, Any]:
    """The flags that a launcher around this one has answered: how many hosts, which one this is,
    where they meet, how many processes each has. ``given`` is what the command line says, which
    wins, as Paddle's own variables do; ``values`` is both.
    """
    if any(name in given for name in _HOSTS) or values["scheduler"] or values["use_paddlecloud"]:
        return {}
    if not any(environ.get(name) for name in _OTHERS):
        return {}
    if is_of_paddle(environ):
        return {}  # a rank of ours, which starts a launcher
    placement = as_host(environ)
    if placement is None or placement.role:
        return {}
    found: dict[str, Any] = {}
    if placement.processes_per_host is not None and values["nproc_per_node"] is None:
        found["nproc_per_node"] = placement.processes_per_host
    return found | _hosts(placement, values, environ)


def _hosts(
    placement: Placement, values: Mapping[str, Any], environ: Mapping[str, str]
) -> dict[str, Any]:
    if not placement.is_several:
        return {}
    least, most = placement.num_hosts, placement.most_hosts
    found: dict[str, Any] = {}
    if not environ.get("PADDLE_NNODES"):
        found["nnodes"] = str(least) if most is None else f"{least}:{most}"
    if not values["master"]:
        found["master"] = placement.master
    if values["rank"] < 0 and placement.this_host is not None and most is None:
        found["rank"] = placement.this_host
    return found
