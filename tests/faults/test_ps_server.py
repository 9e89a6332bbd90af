"""A parameter server that is killed at the worst instants: nothing is lost, nothing is applied twice."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from argosy.runtime.ps.client import Client
from argosy.runtime.ps.dense_table import DenseSpec, Piece
from argosy.runtime.ps.initial import Initial
from argosy.runtime.ps.rules import Rule
from argosy.runtime.ps.spec import SparseSpec

SERVER = """
import sys
from pathlib import Path
from argosy.runtime.ps.service import Service
from argosy.runtime.ps.tables import Tables

def momentum(spec, values, make_state):
    velocities = [make_state(p, "velocity", v.shape, 0.0) for p, v in zip(spec.pieces, values, strict=True)]

    def update(grads, learning_rate):
        for value, velocity, grad in zip(values, velocities, grads, strict=True):
            velocity.mul_(0.9).add_(grad)
            value.sub_(velocity, alpha=0.1)

    return update

tables = Tables(Path(sys.argv[1]), 2, momentum)
service = Service(f"grpc://127.0.0.1:{sys.argv[2]}", tables, "secret", 2)
print(service.port, flush=True)
service.stopped.wait()
"""
PLACES = ("ps.rows.made", "ps.journal.kept", "ps.journal.marked", "ps.journal.changed", "ps.journal.applied")
STEPS = 6
EMB = SparseSpec("emb", 4, Rule("adam", 0.1), Initial("normal", 0.0, 1.0, seed=5), max_rows=1 << 12)
DENSE = DenseSpec("dense", (Piece("w", (8,), 0, 8),))


class Server:
    """A server process that is started again, without the plan to die, when it was killed."""

    def __init__(self, folder, fault=""):
        self._folder = folder
        self.num_starts = 0
        self._is_over = False
        self._start(0, fault)
        self._thread = threading.Thread(target=self._supervise, name="supervisor")
        self._thread.start()

    def _start(self, port, fault):
        self.num_starts += 1
        env = {**os.environ, "ARGOSY_FAULT": fault}
        command = [sys.executable, "-c", SERVER, str(self._folder), str(port)]
        self._process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())

    def _supervise(self):
        while self._process.wait() == -9 and not self._is_over:
            self._process.stdout.close()
            self._start(self.port, "")

    def close(self):
        self._is_over = True
        self._process.kill()
        self._thread.join()
        self._process.stdout.close()


def train(port, worker, mode, results):
    with Client([f"127.0.0.1:{port}"], worker, "secret", 30.0) as client:
        client.join()
        client.create_sparse(EMB, mode)
        client.create_dense([DENSE], mode)
        rng = np.random.default_rng(worker)
        for _ in range(STEPS):
            ids = rng.integers(0, 40, 16)
            rows, dense = client.pull("emb", ids), client.pull_dense("dense")
            client.push("emb", ids, rows + worker)
            client.push_dense("dense", dense + worker + 1)
        results[worker] = client.sequence("emb"), client.sequence("dense")
        if worker == 0 or mode == "sync":
            results[f"values {worker}"] = client.pull("emb", np.arange(40)), client.pull_dense("dense")


def run(folder, fault="", mode="sync"):
    server = Server(folder, fault)
    results = {}
    try:
        threads = [threading.Thread(target=train, args=(server.port, w, mode, results)) for w in range(2)]
        for thread in threads:
            thread.start()
            if mode == "async":  # one after the other, so that the outcome is one
                thread.join(60)
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    finally:
        server.close()
    return server.num_starts, results


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_killed_servers_change_nothing(tmp_path, mode):
    starts, expected = run(tmp_path / "whole", mode=mode)
    assert starts == 1
    assert expected[0] == (STEPS, STEPS)
    # the rows of a step are made at once, so few steps make any
    for number, place in enumerate(PLACES):
        for count in (1,) if place == "ps.rows.made" else (2, 3 + number):
            starts, got = run(tmp_path / f"{place}-{count}", f"{place}:{count}", mode)
            assert starts == 2, f"{place}:{count} was not reached"
            assert sorted(map(str, got)) == sorted(map(str, expected))
            for key, value in expected.items():
                for ours, theirs in zip(got[key], value, strict=True):
                    np.testing.assert_array_equal(ours, theirs, err_msg=f"{place}:{count} {key}")
