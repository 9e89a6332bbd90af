"""``torch.distributed.init_process_group("argosy")``: every call, errors with names, training."""

from __future__ import annotations

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


def test_importing_torch_names_the_backend_and_imports_nothing_of_argosy():
    script = (
        "import sys, torch.distributed as dist; assert dist.Backend('argosy') == 'argosy'; "
        "assert dist.Backend.backend_capability['argosy'] == ['cpu']; "
        "assert 'argosy' not in sys.modules and 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=100)
