"""Joining the job before a Model is made, as scripts of older Paddle do by hand."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import Any

from argosy.distributed.parallel import (
    ParallelStrategy,
    build_parallel_strategy,
    init_parallel_env,
    parallel_env,
)
from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import BadArgument
from argosy.foundation.places import to_place

_PAUSE_S = 0.2


def prepare_distributed_context(place: Any = None) -> ParallelStrategy | None:
    """Join the job that the environment describes; None in a process that is alone."""
    if place is not None:
        to_place(place)  # a place that there is none of is an error here as later
    if parallel_env().nranks < 2:
        return None
    init_parallel_env()
    return build_parallel_strategy()


def wait_server_ready(endpoints: Sequence[str]) -> None:
    """Wait until something listens at every endpoint, ``host:port`` each; as long as a collective
    may take.
    """
    if isinstance(endpoints, str):
        raise BadArgument(f"wait_server_ready: expected a list of endpoints, not {endpoints!r}")
    deadline = Deadline.after(parallel_env().pg_timeout / 1000)
    for endpoint in endpoints:
        host, _, port = endpoint.rpartition(":")
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as there:
                there.settimeout(2)
                if there.connect_ex((host, int(port))) == 0:
                    break
            deadline.check(f"wait_server_ready: a server at {endpoint}")
            time.sleep(_PAUSE_S)
