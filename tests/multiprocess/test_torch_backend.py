"""``torch.distributed.init_process_group("argosy")``: every call, errors with names, training."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from support.pool import Died

HERE = "multiprocess.torch_backend_workers"
LIMIT_S = 110.0  # the first body imports much of torch


@pytest.mark.parametrize("world_size", [2, 3])
def test_every_collective(pool, tmp_path, world_size):
    pool.run(f"{HERE}:collectives", world_size, path=str(tmp_path / "store"), deadline_s=LIMIT_S)


@pytest.mark.parametrize(
    "body",
    [
        "reductions", "messages", "sparse", "futures", "two_orders", "readers", "mismatch", "late",
        "deadlock", "aborted", "other_devices", "again",
    ],
)  # fmt: skip
def test_ranks_of_torch(pool, tmp_path, body):
    pool.run(f"{HERE}:{body}", 2, path=str(tmp_path / "store"), deadline_s=LIMIT_S)


def test_messages_of_three_ranks(pool, tmp_path):
    pool.run(f"{HERE}:messages", 3, path=str(tmp_path / "store"), deadline_s=LIMIT_S)


def test_hosts_that_share_no_memory(pool, tmp_path):
    pool.run(f"{HERE}:two_hosts", 3, path=str(tmp_path / "store"), deadline_s=LIMIT_S)


def test_a_rank_that_exits_is_named(pool, tmp_path):
    results = pool.run(
        f"{HERE}:lost", 2, path=str(tmp_path / "store"), deadline_s=LIMIT_S, may_die=[1]
    )
    assert results == [None, Died(3)]


@pytest.mark.parametrize(
    "feature",
    [
        "ddp", "large buckets", "static graph", "hooks", "unused parameters", "uneven inputs",
        "sparse embedding", "zero", "fully_shard", "tensor parallel", "dtensor", "checkpoint",
        "functional", "compiled",
    ],
)  # fmt: skip
def test_training_gives_the_numbers_of_gloo(pool, tmp_path, feature):
    pool.run(f"{HERE}:train", 2, path=str(tmp_path / "store"), deadline_s=LIMIT_S, feature=feature)


@pytest.fixture(scope="module")
def allocator():
    """What ``argosy build`` compiles."""
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("no C++ compiler")
    from argosy.runtime.torch_backend import native

    return native.build()


@pytest.mark.parametrize(("world_size", "is_mixed"), [(2, False), (2, True), (4, False)])
def test_buckets_of_ddp_in_memory_that_all_ranks_map(
    pool, tmp_path, allocator, world_size, is_mixed
):
    store = str(tmp_path / "store")
    pool.run(
        f"{HERE}:shared_buckets", world_size, path=store, is_mixed=is_mixed, deadline_s=LIMIT_S
    )


@pytest.mark.parametrize("is_native", [False, True])
def test_a_rank_that_exits_in_backward_is_named(pool, tmp_path, allocator, is_native):
    body, store = f"{HERE}:lost_in_backward", str(tmp_path / "store")
    results = pool.run(body, 2, path=store, is_native=is_native, deadline_s=LIMIT_S, may_die=[1])
    assert results == [None, Died(3)]


def test_importing_torch_names_the_backend_and_imports_nothing_of_argosy():
    script = (
        "import sys, torch.distributed as dist; assert dist.Backend('argosy') == 'argosy'; "
        "assert dist.Backend.backend_capability['argosy'] == ['cpu']; "
        "assert 'argosy' not in sys.modules and 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=100)
