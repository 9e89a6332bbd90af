"""Ranks on different hosts that do not do the same thing: every one of them is told by whom, as
inside one host. The hosts are network namespaces.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.hosts import ADDRESSES, launchers_on

SCRIPT = """
import json, os, sys, time
import paddle
import paddle.distributed as dist
import argosy.runtime.comm.member as member
from argosy.foundation.errors import CollectiveMismatch

case, is_second = sys.argv[1], os.environ["PADDLE_CURRENT_ENDPOINT"].startswith(sys.argv[2])
if case == "versions" and is_second:
    member.VERSION = "0.0.1"
begun = None
try:
    dist.init_parallel_env()
    dist.barrier()
    begun = time.monotonic()
    if case == "collectives" and is_second:
        dist.barrier()
    elif case == "dtypes":
        dist.all_reduce(paddle.zeros([8], "float64" if is_second else "float32"))
    elif case == "messages" and dist.get_rank() == 0:
        dist.send(paddle.zeros([4_000_000]), 2)
    elif case == "messages" and is_second:
        dist.recv(paddle.zeros([4_000_000], "int32"), 0)
    elif case == "order":
        groups = [dist.new_group([0, 1, 2]), dist.new_group([0, 1, 2])]
        for group in reversed(groups) if is_second else groups:
            dist.all_reduce(paddle.zeros([8]), group=group)
    elif case == "models":
        paddle.DataParallel(paddle.nn.Linear(4, 3 if is_second else 2))
    else:
        dist.all_reduce(paddle.zeros([8]))
    answer = "nothing"
except CollectiveMismatch as error:
    answer = str(error)
took_s = None if begun is None else time.monotonic() - begun
json.dump([answer, took_s], open(f"answer.{os.environ['PADDLE_TRAINER_ID']}", "w"))
"""
SIDES = {
    "collectives": (
        "rank 0, 1: all_reduce #2 float32[8] SUM",
        "rank 2: barrier #2",
    ),
    "dtypes": ("rank 0, 1: all_reduce #2 float32[8] SUM", "rank 2: all_reduce #2 float64[8] SUM"),
    "messages": ("rank 2 expects int32[4000000], but rank 0 sent float32[4000000]",),
    "order": ("in all_reduce #1 of group 'group 1-1'", "in all_reduce #1 of group 'group 2-2'"),
    "models": ("weight [4, 2] float32' on rank 0", "weight [4, 3] float32' on rank 2"),
    "versions": ("rank 0, 1 (on ", "rank 2 (on ", "argosy 0.0.1"),
}
# a circle is certain once all have looked some times
LIMIT_S = {"order": 10}


@pytest.mark.parametrize("case", SIDES)
def test_ranks_of_all_hosts_see_both_sides(tmp_path, hosts, case):
    (tmp_path / "train.py").write_text(SCRIPT)
    common = ["--nnodes", "2", "--master", f"{ADDRESSES[0]}:29400"]
    lines = [
        [*common, "--rank", rank, "--nproc_per_node", nproc, "--log_dir", f"log{rank}"]
        + ["train.py", case, ADDRESSES[1]]
        for rank, nproc in (("0", "2"), ("1", "1"))
    ]
    with launchers_on(hosts, tmp_path, lines) as launchers:
        outputs = [launcher.communicate(timeout=90)[0] for launcher in launchers]
    for rank in range(3):
        path = tmp_path / f"answer.{rank}"
        assert path.exists(), "\n".join(outputs)
        answer: tuple[str, Any] = json.loads(path.read_text())
        for side in SIDES[case]:
            assert side in answer[0]
        assert answer[1] is None or answer[1] < LIMIT_S.get(case, 2)
