"""Traces of hosts whose clocks differ, on one clock."""

from __future__ import annotations

import secrets
import subprocess
import sys

import pytest

from argosy.jobs import trace as command
from support.hosts import ADDRESSES, start_launcher
from support.traces import checked, spans_of

AHEAD_S = 5000  # a namespace of times makes the second host's clock another one
SCRIPT = """
import paddle, paddle.distributed as dist

dist.init_parallel_env()
model = paddle.DataParallel(paddle.nn.Linear(8, 1))
optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
for _ in range(20):
    model(paddle.ones([2, 8])).mean().backward()
    optimizer.step()
    optimizer.clear_grad()
    dist.barrier()
"""


def _need_clocks() -> None:
    if subprocess.run(["unshare", "--time", "true"], check=False, capture_output=True).returncode:
        pytest.skip("namespaces of times are not allowed here")


@pytest.fixture
def traces(tmp_path, hosts):
    """The traces that a job of one rank on each host has left."""
    _need_clocks()
    (tmp_path / "train.py").write_text(SCRIPT)
    common = ["--nnodes", "2", "--master", f"{ADDRESSES[0]}:29400", "--backend", "gloo"]
    token, launchers = secrets.token_hex(16), []
    try:
        for number, host in enumerate(hosts):
            flags = ["--rank", str(number), "--log_dir", f"log{number}"]
            variables = {"ARGOSY_TRACE": f"traces{number}"}
            launchers.append(
                start_launcher(host, tmp_path, token, *common, *flags, "train.py",
                    clock_ahead_s=AHEAD_S * number, **variables)
            )  # fmt: skip
        said = [launcher.communicate(timeout=90)[0] for launcher in launchers]
    finally:
        for launcher in launchers:
            launcher.kill()
            if launcher.returncode is None:
                launcher.communicate()
    assert [launcher.returncode for launcher in launchers] == [0, 0], "\n".join(said)
    return [next((tmp_path / f"traces{number}").iterdir()) for number in (0, 1)]


def test_two_hosts_on_one_clock(tmp_path, traces):
    out = tmp_path / "all.json"
    assert command.main(["--join", *map(str, traces), "--output", str(out)]) == 0
    trace = checked(out)  # arrows lead forward in time, also from host to host
    assert trace["otherData"]["missing"] == []
    clocks = trace["otherData"]["clocks"]
    assert [clock["is_aligned"] for clock in clocks] == [True, True]
    assert clocks[0]["offset_us"] == 0
    assert 0 < clocks[1]["error_us"] < 5000
    assert abs(clocks[1]["offset_us"] + AHEAD_S * 1e6) <= clocks[1]["error_us"]
    ends = {e["id"]: e["pid"] for e in trace["traceEvents"] if e["ph"] == "s"}
    pairs = {(ends[e["id"]], e["pid"]) for e in trace["traceEvents"] if e["ph"] == "f"}
    assert pairs == {(0, 0), (0, 1), (1, 0), (1, 1)}
    # nobody leaves a barrier before all are in it
    barriers = [
        [e for e in spans_of(trace, rank, "collective") if e["name"] == "barrier"]
        for rank in (0, 1)
    ]
    assert [len(each) for each in barriers] == [20, 20]
    error_us = clocks[1]["error_us"]
    for one, two in zip(*barriers, strict=True):
        assert one["ts"] <= two["ts"] + two["dur"] + error_us
        assert two["ts"] <= one["ts"] + one["dur"] + error_us


CLIENT = """
import sys
from argosy.foundation.clock import compare
from argosy.foundation.deadline import Deadline
from argosy.runtime.comm.store import StoreClient

client = StoreClient("127.0.0.1", int(sys.argv[1]), sys.argv[2], Deadline.after(30))
print(*compare(client.clock))
client.close()
"""


@pytest.mark.parametrize("ahead_s", [0, AHEAD_S])
def test_the_clock_of_the_stores_host(ahead_s):
    from argosy.foundation.endpoints import bind_listener
    from argosy.runtime.comm.store_server import StoreServer

    namespace = ["unshare", "--time", "--monotonic", str(ahead_s)] if ahead_s else []
    if namespace:
        _need_clocks()
    token = secrets.token_hex(16)
    with StoreServer(bind_listener("127.0.0.1", 0), token) as server:
        words = [*namespace, sys.executable, "-c", CLIENT, str(server.port), token]
        done = subprocess.run(words, stdout=subprocess.PIPE, timeout=60, check=True)
    found_ns, error_ns = map(int, done.stdout.split())
    if not ahead_s:
        assert (found_ns, error_ns) == (0, 0)
        return
    assert abs(found_ns + ahead_s * 10**9) <= error_ns
    assert error_ns < 2_000_000
