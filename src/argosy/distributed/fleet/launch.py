"""``python -m paddle.distributed.fleet.launch``: as ``paddle.distributed.launch``, with the log
folder of Paddle 2.0.

``launch_collective`` and its parts are for scripts that have the launcher's arguments in an object
and start the trainers of this host themselves.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from argosy.distributed.fleet import cloud_utils
from argosy.distributed.fleet.launch_utils import (
    Cluster,
    Pod,
    find_free_ports,
    get_cluster,
    get_device_proc_info,
    get_host_name_ip,
    start_local_trainers,
    terminate_local_procs,
    watch_local_trainers,
)
from argosy.foundation import env
from argosy.foundation.errors import BadArgument, NotSupported

__all__ = [
    "get_cluster_from_args",
    "get_cluster_info",
    "get_global_envs",
    "launch",
    "launch_collective",
]

_FIRST_PORT = 6070
_LOOK_S = 0.5


def launch() -> None:
    """Run the job that the command line (``sys.argv``) describes and exit with its code."""
    from argosy.runtime.launch.cli import main

    sys.exit(main(is_fleet=True))


def get_cluster_from_args(
    args: Any, device_mode: int, devices_per_proc: Sequence[Any]
) -> tuple[Cluster, Pod]:
    """The cluster on the hosts of ``args.ips``, and the pod of this one.

    The ports are free ones on a single host, else those from FLAGS_START_PORT (6070) on.
    """
    node_ips = [ip.strip() for ip in args.ips.split(",")]
    node_ip = node_ips[0]
    if len(node_ips) > 1:
        node_ip = args.host or (get_host_name_ip() or ("", ""))[1]
    if node_ip not in node_ips:
        raise BadArgument(f"Can't find your local ip {{{node_ip}}} in node_ips: {{{node_ips}}}")
    count = len(devices_per_proc)
    is_chosen = bool(env.get("FLAGS_START_PORT"))
    if len(node_ips) <= 1 and not is_chosen and not cloud_utils.use_paddlecloud():
        ports = list(find_free_ports(count) or ())
    else:
        first = env.integer("FLAGS_START_PORT", _FIRST_PORT)
        ports = list(range(first, first + count))
    endpoints = [[f"{ip}:{port}" for port in ports] for ip in node_ips]
    return get_cluster(node_ips, node_ip, endpoints, device_mode, devices_per_proc)


def get_cluster_info(args: Any) -> tuple[Cluster, Pod]:
    """The cluster that ``args`` and the environment describe, and the pod of this host."""
    if args.backend == "gloo":
        _check_cpu_job(args)
    if args.enable_auto_mapping:
        raise NotSupported(
            "enable_auto_mapping belongs to automatic parallelism, which is not supported"
        )
    mode, devices = get_device_proc_info(args)
    if cloud_utils.use_paddlecloud() and cloud_utils.get_trainers_num() != 1:
        first = env.integer("FLAGS_START_PORT", 6170)
        return cloud_utils.get_cloud_cluster(args.ips, mode, devices, first)
    return get_cluster_from_args(args, mode, devices)


class _OneHostOnly(BadArgument, RuntimeError):
    """A job on CPUs was described with what only others can have."""


def _check_cpu_job(args: Any) -> None:
    if args.ips and len(args.ips.split(",")) > 1:
        raise _OneHostOnly(
            f"CPUONLY launch only support single trainer, that is len(ips)=1, but got {args.ips}."
        )
    if args.run_mode and args.run_mode != "cpuonly":
        raise BadArgument("CPUONLY launch only support run mode is CPUONLY")
    if args.servers:
        raise _OneHostOnly("CPUONLY launch can't have --servers as arguments.")


def get_global_envs(args: Any, tmp_dir: str) -> dict[str, str]:
    """This process's environment and what every trainer of the job gets."""
    return env.everything() | {
        "PADDLE_WITH_GLOO": env.get("PADDLE_WITH_GLOO", "0"),
        "PADDLE_GLOO_RENDEZVOUS": "3",
        "PADDLE_GLOO_FS_PATH": tmp_dir,
        "PADDLE_DISTRI_BACKEND": args.backend,
    }


def launch_collective(args: Any) -> None:
    """Start the trainers of this host and wait for their end; exits with 1 if one fails."""
    folder = tempfile.mkdtemp()
    try:
        cluster, pod = get_cluster_info(args)
        started = start_local_trainers(
            cluster,
            pod,
            training_script=args.training_script,
            training_script_args=args.training_script_args,
            log_dir=args.log_dir,
            envs=get_global_envs(args, folder),
        )
        try:
            while watch_local_trainers(started, cluster.trainers_nranks()):
                time.sleep(_LOOK_S)
        except BaseException:
            terminate_local_procs(started)
            raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    from argosy.runtime.launch.cli import run

    run(is_fleet=True)
