"""``paddle.distributed.fleet.cloud_utils``: a job whose hosts a cluster manager has put into the
environment (PADDLE_TRAINERS, POD_IP, PADDLE_TRAINER_ID, TRAINER_PORTS_NUM).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.distributed.fleet.launch_utils import Cluster, Pod, get_cluster, logger
from argosy.foundation import env
from argosy.foundation.errors import BadArgument

__all__ = ["get_cloud_cluster", "get_trainers_num", "use_paddlecloud"]

_NEEDED = ("PADDLE_TRAINERS", "POD_IP", "PADDLE_TRAINER_ID", "TRAINER_PORTS_NUM")
_FIRST_PORT = 6170


def use_paddlecloud() -> bool:
    """Whether the environment describes the hosts."""
    return not env.missing(_NEEDED)


def get_trainers_num() -> int:
    """The number of trainers, 1 if the environment does not say."""
    return env.world_size()


def get_cloud_cluster(
    args_node_ips: str, device_mode: int, devices_per_proc: Sequence[Any],
    args_port: int | None = _FIRST_PORT,
) -> tuple[Cluster, Pod]:  # fmt: skip
    """The cluster that the environment describes, and this host's pod.

    DISTRIBUTED_TRAINER_ENDPOINTS has the endpoints, TRAINER_PORTS_NUM of them for each host;
    without it they are consecutive ports, from PADDLE_PORT on if there are several hosts.
    """
    for name in env.missing(_NEEDED):
        raise BadArgument(f"{name} should not be None")
    node_ips = env.get("PADDLE_TRAINERS").split(",")
    if args_node_ips not in ("127.0.0.1", ",".join(node_ips)):
        logger.warning(
            "Please NOTE: When using paddlecloud, cluster_node_ips is automatically got from "
            "PADDLE_TRAINERS(multi nodes) or POD_IP(single node). Your input cluster_node_ips: "
            "%s doesn't equals to IPs: %s from paddlecloud environment.",
            args_node_ips,
            node_ips,
        )
    endpoints = _endpoints(node_ips, len(devices_per_proc), args_port)
    cluster, _ = get_cluster(node_ips, env.get("POD_IP"), endpoints, device_mode, devices_per_proc)
    # the number of this host: nobody has been started on it yet
    return cluster, cluster.pods[env.integer("PADDLE_TRAINER_ID", 0)]


def _endpoints(node_ips: list[str], per_host: int, args_port: int | None) -> list[list[str]]:
    num_ports = env.integer("TRAINER_PORTS_NUM", 0)
    listed = env.get("DISTRIBUTED_TRAINER_ENDPOINTS")
    if listed:
        every = listed.split(",")
        if len(every) != len(node_ips) * num_ports:
            raise BadArgument(
                f"DISTRIBUTED_TRAINER_ENDPOINTS has {len(every)} endpoints, but there are "
                f"{len(node_ips)} hosts with {num_ports} ports each"
            )
        return [every[i * num_ports : (i + 1) * num_ports] for i in range(len(node_ips))]
    first = args_port or _FIRST_PORT
    if len(node_ips) > 1 and num_ports >= per_host:
        first = env.integer("PADDLE_PORT", first)
    return [[f"{ip}:{port}" for port in range(first, first + per_host)] for ip in node_ips]
