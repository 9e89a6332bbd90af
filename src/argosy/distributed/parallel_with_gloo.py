"""A job on CPUs that the script itself describes, without a launcher: three functions of
Paddle's.
"""

from __future__ import annotations

import socket

from argosy.distributed.communication.group import destroy_process_group, is_initialized
from argosy.distributed.job import default_group
from argosy.distributed.parallel import get_rank, get_world_size, init_parallel_env
from argosy.foundation import env
from argosy.foundation.endpoints import parse
from argosy.foundation.errors import BadArgument, UsageError

__all__ = ["gloo_barrier", "gloo_init_parallel_env", "gloo_release"]


def gloo_init_parallel_env(rank_id: int, rank_num: int, server_endpoint: str) -> None:
    """Join the job of ``rank_num`` processes that meet at ``server_endpoint``, which rank 0 serves;
    every one of them calls it.

    A process that has joined a job stays in it: the arguments must then describe this one.
    """
    if not 0 <= rank_id < rank_num or rank_num < 2:
        raise BadArgument(
            "gloo_init_parallel_env: rank_num must be at least 2 and rank_id below it, but they "
            f"are {rank_num} and {rank_id}"
        )
    if not is_initialized():
        master = parse(server_endpoint, "server_endpoint")
        env.update(
            {
                "PADDLE_TRAINER_ID": str(rank_id),
                "PADDLE_TRAINERS_NUM": str(rank_num),
                "MASTER_ADDR": master.host,
                "MASTER_PORT": str(master.port),
                "PADDLE_CURRENT_ENDPOINT": f"{_own_address(master.host, master.port)}:0",
                "PADDLE_DISTRI_BACKEND": env.get("PADDLE_DISTRI_BACKEND", "gloo"),
            }
        )
        init_parallel_env()
    elif (get_rank(), get_world_size()) != (rank_id, rank_num):
        raise UsageError(
            f"gloo_init_parallel_env: this process is rank {get_rank()} of {get_world_size()} "
            f"already, not rank {rank_id} of {rank_num}"
        )


def _own_address(host: str, port: int) -> str:
    """The address from which this host reaches another; nothing is sent."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(kind, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))
        return str(probe.getsockname()[0])


def gloo_barrier() -> None:
    """Wait until every process of the job is here."""
    group = default_group("gloo_barrier")
    group.run(group.transport.barrier)


def gloo_release() -> None:
    """Leave the job."""
    destroy_process_group()
