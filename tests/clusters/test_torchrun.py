"""torchrun on two hosts, each with a network and processes of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters import network
from clusters.one_model import assert_one_model, hosts, write

# in the order of these names torch does not number hosts: it sorts n10 before n9
ADDRESS_BY_HOST = {"n9": "10.215.0.9", "n10": "10.215.0.10"}
LIMIT_S = 240
MEETINGS = {
    "c10d": ["--rdzv_backend", "c10d", "--rdzv_id", "job", "--rdzv_endpoint", "n9:29400"],
    "static": ["--master_addr", "n9", "--master_port", "29400"],
}


@pytest.fixture(scope="module", autouse=True)
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with network.hosts(tmp_path_factory.mktemp("network"), "10.215.0.100", ADDRESS_BY_HOST):
        yield


def run(
    folder: Path, meeting: list[str], by_number: bool = False, **variables: str
) -> list[tuple[int, str]]:
    """The codes of torchrun on both hosts, and what they said. ``by_number``: each is told which
    host it is.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    words = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2"]
    words += ["--nproc_per_node", "2", *meeting]
    with contextlib.ExitStack() as stack:
        started = []
        for number, name in enumerate(ADDRESS_BY_HOST):
            own = ["--node_rank", str(number)] if by_number else []
            process = subprocess.Popen(
                [*network.on(name), *words, *own, "train.py"], cwd=folder, env=environment,
                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            stack.callback(process.wait)
            stack.callback(process.kill)
            started.append(process)
        said = [process.communicate(timeout=LIMIT_S)[0] for process in started]
    return [(process.returncode, text) for process, text in zip(started, said, strict=True)]


@pytest.mark.parametrize("meeting", MEETINGS)
def test_four_ranks_on_two_hosts_train_one_model(tmp_path, alone, meeting):
    secret = write(tmp_path)
    ended = run(
        tmp_path, MEETINGS[meeting], by_number=meeting == "static", ARGOSY_TOKEN_FILE=str(secret)
    )
    assert [code for code, _ in ended] == [0, 0], ended
    found = hosts(tmp_path, 4)
    assert found in (["n9", "n9", "n10", "n10"], ["n10", "n10", "n9", "n9"])
    assert_one_model(tmp_path, 4, alone)
    assert not os.listdir("/dev/shm")


def test_hosts_without_a_token_say_what_is_missing(tmp_path):
    write(tmp_path)
    ended = run(tmp_path, MEETINGS["c10d"])
    assert all(code != 0 for code, _ in ended)
    assert any("ARGOSY_TOKEN_FILE" in text for _, text in ended), ended
    assert not list(tmp_path.glob("final.*"))
