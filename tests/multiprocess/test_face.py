"""The collectives of ``paddle.distributed`` as scripts call them, between real processes."""

from __future__ import annotations

import secrets

import pytest

from argosy.foundation.endpoints import bind_listener
from argosy.runtime.comm.store_server import StoreServer
from support.job import run_job

HERE = "multiprocess.face_workers"


@pytest.mark.parametrize(("backend", "world_size"), [("shm", 2), ("shm", 4), ("gloo", 3)])
@pytest.mark.parametrize("what", ["reductions", "asynchronous", "exchanges", "messages", "objects"])
def test_collectives(pool, what, backend, world_size):
    run_job(pool, f"{HERE}:{what}", world_size, backend=backend)


@pytest.mark.parametrize(("backend", "world_size"), [("shm", 2), ("gloo", 3)])
def test_collectives_of_programs(pool, backend, world_size):
    run_job(pool, f"{HERE}:programs", world_size, backend=backend, deadline_s=60.0)


@pytest.mark.parametrize(("backend", "world_size"), [("shm", 2), ("gloo", 3)])
def test_parts_of_a_model_compute_what_the_whole_does(pool, backend, world_size):
    run_job(pool, f"{HERE}:model_parallel", world_size, backend=backend, deadline_s=60.0)


def test_process_groups(pool):
    run_job(pool, f"{HERE}:process_groups", 3, backend="gloo")


def test_groups_of_strategies(pool):
    run_job(pool, f"{HERE}:strategies", 4, backend="shm", deadline_s=60.0)


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_groups(pool, backend):
    run_job(pool, f"{HERE}:groups", 3, backend=backend)


def _with_a_second_meeting(pool, what):
    token = secrets.token_hex(16)
    with StoreServer(bind_listener(), token) as server:
        return run_job(pool, f"{HERE}:{what}", 2, second={"port": server.port, "token": token})


def test_init_again_after_destroy(pool):
    assert _with_a_second_meeting(pool, "again") == [[3.0, 3.0]] * 2


def test_nothing_is_left_behind(pool):
    assert _with_a_second_meeting(pool, "leavings") == [(0, 0)] * 2
