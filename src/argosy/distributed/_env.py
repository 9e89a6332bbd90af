"""ParallelEnv: what the launcher told this process about its place in the job."""

from __future__ import annotations

from argosy.foundation import env
from argosy.foundation.errors import BadArgument

__all__ = ["ParallelEnv"]


class ParallelEnv:
    """Reads the environment once, when it is made.

    Example:
        >>> import paddle.distributed as dist
        >>> dist.ParallelEnv().world_size
        1
    """

    def __init__(self) -> None:
        self._rank = env.rank()
        self._world_size = env.world_size()
        self._device_type = ""
        self._pg_timeout = env.integer("PADDLE_PG_TIMEOUT", 1800000)
        self._device_id = int(env.get("FLAGS_selected_gpus", "0").split(",")[0] or 0)
        self._trainer_endpoints = env.get("PADDLE_TRAINER_ENDPOINTS").split(",")
        self._current_endpoint = env.get("PADDLE_CURRENT_ENDPOINT")
        self._nrings = env.integer("FLAGS_nccl_nrings", 1)
        if not 0 < self._nrings < 9:
            raise BadArgument(
                f"FLAGS_nccl_nrings must be an integer from 1 to 8, but is {self._nrings}."
            )

    @property
    def rank(self) -> int:
        """This process's number, from PADDLE_TRAINER_ID; 0 without it."""
        return self._rank

    @property
    def world_size(self) -> int:
        """The number of processes, from PADDLE_TRAINERS_NUM; 1 without it."""
        return self._world_size

    @property
    def device_id(self) -> int:
        """The card this process uses, the first of FLAGS_selected_gpus; 0 without it."""
        return self._device_id

    @property
    def device_type(self) -> str:
        """The kind of a custom device; empty, for there is none."""
        return self._device_type

    @property
    def current_endpoint(self) -> str:
        """This process's ip:port, from PADDLE_CURRENT_ENDPOINT."""
        return self._current_endpoint

    @property
    def trainer_endpoints(self) -> list[str]:
        """All processes' ip:port in rank order, from PADDLE_TRAINER_ENDPOINTS; ``['']`` without
        it.
        """
        return self._trainer_endpoints

    @property
    def nrings(self) -> int:
        """How many NCCL rings to use, from FLAGS_nccl_nrings: 1 to 8."""
        return self._nrings

    @property
    def pg_timeout(self) -> int:
        """How long a collective may take, in milliseconds, from PADDLE_PG_TIMEOUT; half an hour
        without it.
        """
        return self._pg_timeout

    local_rank = rank
    nranks = world_size
    dev_id = device_id
