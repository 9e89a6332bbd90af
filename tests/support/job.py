"""Whole jobs in the pool: ``run_job`` starts one, ``joined_job`` is how its workers take part."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import Any
from unittest import mock

from support.pool import Pool


def run_job(pool: Pool, target: str, world_size: int, **kwargs: Any) -> list[Any]:
    """Call ``target(rank, world_size, meeting, **kwargs)`` on every rank; ``meeting`` is for
    ``joined_job``.
    """
    from argosy.foundation.endpoints import bind_listener
    from argosy.runtime.comm.store_server import StoreServer

    token = secrets.token_hex(16)
    with StoreServer(bind_listener(), token) as server:
        meeting = {"port": server.port, "token": token}
        return pool.run(target, world_size, meeting=meeting, **kwargs)


@contextlib.contextmanager
def environment(variables: dict[str, str | None]) -> Iterator[None]:
    """Set (or, with None, remove) variables for the block."""
    before = {name: os.environ.get(name) for name in variables}
    _apply(variables)
    try:
        yield
    finally:
        _apply(before)


def _apply(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def job_variables(
    rank: int, world_size: int, meeting: dict[str, Any], backend: str = "auto"
) -> dict[str, str | None]:
    """The environment that the launcher would give this rank."""
    # names only: nobody listens there
    endpoints = [f"127.0.0.1:{20000 + r}" for r in range(world_size)]
    return {
        "PADDLE_TRAINER_ID": str(rank),
        "PADDLE_TRAINERS_NUM": str(world_size),
        "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
        "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        "PADDLE_DISTRI_BACKEND": backend,
        "PADDLE_PG_TIMEOUT": "20000",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(meeting["port"]),
        "ARGOSY_TOKEN": meeting["token"],
        "ARGOSY_STORE_SERVED": "1",
    }


@contextlib.contextmanager
def placed(
    rank: int, world_size: int, meeting: dict[str, Any], backend: str = "auto"
) -> Iterator[None]:
    """The environment of this rank for the block. ``backend`` may be made-up hosts, one letter per
    rank: ``hosts aab``.
    """
    from argosy.runtime.comm import hosts

    word, _, letters = backend.partition(" ")
    with contextlib.ExitStack() as stack:
        if word == "hosts":
            backend, host = "auto", f"host {letters[rank]}"
            stack.enter_context(mock.patch.object(hosts, "host_identity", return_value=host))
        stack.enter_context(environment(job_variables(rank, world_size, meeting, backend)))
        yield


@contextlib.contextmanager
def joined_job(
    rank: int, world_size: int, meeting: dict[str, Any], backend: str = "auto"
) -> Iterator[Any]:
    """Join the job in this worker, ``placed`` as it is, and leave it in the end; gives the group of
    all ranks.
    """
    import paddle.distributed as dist

    with placed(rank, world_size, meeting, backend):
        try:
            yield dist.init_parallel_env()
        finally:
            dist.destroy_process_group()
