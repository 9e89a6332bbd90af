"""Servers and workers of a parameter-server job as processes that can be killed, forked from one
process that has torch and the compiled loops loaded.

Run as a program this file is that process: it reads a JSON object per line, forks a child for it
and prints the child's pid.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import numpy as np

TOKEN = "secret"
STEPS = 6
SAVES_AFTER = (1, 3)
NUM_IDS = 40
DEADLINE_S = 30.0
MAX_RESTARTS = 8
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET


def specs():
    from argosy.runtime.ps.tables.dense_table import DenseSpec, Piece
    from argosy.runtime.ps.tables.initial import Initial
    from argosy.runtime.ps.tables.rules import Rule
    from argosy.runtime.ps.tables.spec import SparseSpec

    sparse = SparseSpec(
        "emb", 4, Rule("adam", 0.1), Initial("normal", 0.0, 1.0, seed=5), max_rows=1 << 12
    )
    return sparse, DenseSpec("dense", (Piece("w", (8,), 0, 8),))


def momentum(spec, values, make_state):
    velocities = [
        make_state(p, "velocity", v.shape, 0.0) for p, v in zip(spec.pieces, values, strict=True)
    ]

    def update(grads, learning_rate):
        for value, velocity, grad in zip(values, velocities, grads, strict=True):
            velocity.mul_(0.9).add_(grad)
            value.sub_(velocity, alpha=0.1)

    return update


# -- children
# --------------------------------------------------------------------------------------------------


def serve(order):
    from argosy.runtime.ps.server.service import Service
    from argosy.runtime.ps.server.tables import Tables

    tables = Tables(Path(order["folder"]) / "server", 2, momentum, patience_s=DEADLINE_S)
    Service(f"grpc://{order['host']}:{order['port']}", tables, TOKEN, 2).serve_to_the_end()


def train(order):
    """Six steps, from where the servers are; gradients of a table depend on its own values only, so
    that half a step can be made up for.
    """
    from argosy.runtime.ps.worker.client import Client
    from argosy.runtime.ps.worker.steps import Push

    folder, number, mode = Path(order["folder"]), order["number"], order["mode"]
    sparse, dense = specs()
    with Client([f"127.0.0.1:{order['port']}"], number, TOKEN, 20.0) as client:
        client.join()
        client.create_sparse(sparse, mode)
        client.create_dense([dense], mode)
        for step in range(STEPS):
            ids = np.random.default_rng((number, step)).integers(0, NUM_IDS, 16)
            pushes = []
            if client.sequence("emb") == step:
                pushes.append(Push("emb", client.pull("emb", ids) + number, ids=ids))
            if client.sequence("dense") == step:
                pushes.append(Push("dense", client.pull_dense("dense") + number + 1))
            if pushes:
                client.step(pushes)
            if number == 0 and step in SAVES_AFTER:
                client.save(folder / "saved")
        rows, values = client.pull("emb", np.arange(NUM_IDS)), client.pull_dense("dense")
        with (folder / f"result.{number}.new").open("wb") as file:
            np.savez(
                file,
                rows=rows,
                values=values,
                emb=client.sequence("emb"),
                dense=client.sequence("dense"),
            )
        os.replace(folder / f"result.{number}.new", folder / f"result.{number}")
        client.leave()


def work(order):
    """A worker that says when it is at work: it waits for another, or asks again and again."""
    from argosy.runtime.ps.worker.client import Client

    with Client([f"{order['host']}:{order['port']}"], 0, TOKEN, 10.0) as client:
        client.join()
        client._timeout_s = 1.0
        client.create_sparse(specs()[0], order["mode"])
        ids, grads = np.arange(4), np.ones((4, 4), np.float32)
        logging.getLogger("argosy.ps").warning("ready")
        while True:
            client.push("emb", ids, grads)


def prepare(order):
    """Enter the host of this role, and log with the time of the system's clock."""
    folder, role = Path(order["folder"]), order["role"]
    if order["netns"]:
        with open(f"/var/run/netns/{order['netns']}") as file:
            assert ctypes.CDLL(None).setns(file.fileno(), _NEW_NETWORK) == 0
        handler = logging.FileHandler(folder / f"{role}.log")
        handler.setFormatter(logging.Formatter("%(clock)f %(message)s"))
        handler.addFilter(lambda record: setattr(record, "clock", time.monotonic()) or True)
        logging.getLogger("argosy.ps").addHandler(handler)


def warm_up():
    """Load compiled loops before forking; no thread may be started here."""
    from argosy.runtime.ps.server import checkpoint
    from argosy.runtime.ps.server.steps import push_step
    from argosy.runtime.ps.server.tables import Push, Tables

    with tempfile.TemporaryDirectory() as folder:
        tables = Tables(Path(folder) / "tables", 2, momentum)
        sparse, dense = specs()
        tables.create("sparse", sparse.to_json(), "async")
        tables.create("dense", dense.to_json(), "async")
        ids = np.arange(8)
        tables["emb"].pull(ids, True)
        rows, flat = np.ones((8, 4), np.float32), np.ones(8, np.float32)
        pushes = [(tables["emb"], Push(1, rows, ids=ids)), (tables["dense"], Push(1, flat))]
        push_step(pushes, 0, 1.0)
        tables["emb"].sparse.has(ids)
        checkpoint.save_part(tables, Path(folder), 0)
        tables.close()


def fork_children():
    import torch

    from argosy.foundation import faultpoint
    from argosy.runtime.ps.server import service  # noqa: F401  loaded once, not in every child
    from argosy.runtime.ps.tables.hashing import split_by_server
    from argosy.runtime.ps.worker import client  # noqa: F401  loaded once, not in every child

    torch.set_num_threads(1)
    split_by_server(np.arange(4), 1)
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid:
            print(pid, flush=True)
            continue
        code = 1
        try:
            name, _, count = order["fault"].partition(":")
            faultpoint._plan.name, faultpoint._plan.left = name, int(count or 1)
            prepare(order)
            act = serve if order["role"] == "server" else work if order["netns"] else train
            act(order)
            code = 0
        except BaseException as error:
            traceback.print_exc()
            logging.getLogger("argosy.ps").error("%s: %s", type(error).__name__, error)
        finally:
            sys.stderr.flush()
            os._exit(code)


# -- the test's side
# --------------------------------------------------------------------------------------------


class Zygote:
    """Forks servers and workers on request."""

    def __init__(self, log):
        self._log = open(log, "wb")  # noqa: SIM115  closed by close()
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self._process.stdout.readline() == "ready\n"
        self._lock = threading.Lock()

    def fork(self, order):
        with self._lock:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._log.close()


class Told:
    """What the processes of a job have logged."""

    def __init__(self, folder):
        self._folder = folder

    def until(self, role, words):
        """Wait until ``role`` has logged ``words``; when that was."""
        deadline = time.monotonic() + DEADLINE_S
        path = self._folder / f"{role}.log"
        while True:
            lines = path.read_text().splitlines() if path.exists() else []
            for line in lines:
                if words in line:
                    return float(line.split()[0])
            assert time.monotonic() < deadline, f"{role} did not say {words!r}, but {lines}"
            time.sleep(0.05)


class Job:
    """One server and two workers in ``folder``; who dies is started again, without a plan to die,
    as a launcher does.
    """

    def __init__(self, zygote, folder, mode, faults):
        self._zygote = zygote
        self._folder = folder
        self._mode = mode
        self._faults = dict(faults)  # by role
        self.num_starts = {"server": 0, "worker 0": 0, "worker 1": 0}
        self._fds = {}  # role by pidfd
        self.pids = {}  # of those that were started last, by role
        self._host = "127.0.0.1"  # of the server
        self._netns = {}  # network namespaces by role
        folder.mkdir(parents=True)

    @contextlib.contextmanager
    def serving(self):
        """The server at work; gives its endpoint."""
        with socket.socket() as holder:  # keeps the port, as a launcher does
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(("127.0.0.1", 0))
            self._port = holder.getsockname()[1]
            try:
                self._start("server")
                yield f"127.0.0.1:{self._port}"
            finally:
                self._end()

    @contextlib.contextmanager
    def on_hosts(self, names, addresses, port):
        """The server on one host and worker 0 on another (network namespaces); gives what they
        log.
        """
        self._netns = {"server": names[0], "worker 0": names[1]}
        self._host, self._port = addresses[0], port
        try:
            self._start("server")
            self._start("worker 0")
            yield Told(self._folder)
        finally:
            self._end()

    @contextlib.contextmanager
    def frozen(self):
        """The server stopped, until the block ends."""
        os.kill(self.pids["server"], signal.SIGSTOP)
        try:
            while not all(  # each thread stops when it notices
                stat.read_text().rpartition(")")[2].split()[0] == "T"
                for stat in Path(f"/proc/{self.pids['server']}/task").glob("*/stat")
            ):
                time.sleep(0.001)
            yield
        finally:
            os.kill(self.pids["server"], signal.SIGCONT)

    def revive(self):
        """Start the server, which must have died, again."""
        [fd] = self._fds
        assert select.select([fd], [], [], DEADLINE_S)[0], "the server has not died"
        os.close(fd)
        del self._fds[fd]
        self._start("server")

    def run(self):
        """Until both workers have finished; what they found at the end."""
        with self.serving():
            groups = (
                [["worker 0", "worker 1"]] if self._mode == "sync" else [["worker 0"], ["worker 1"]]
            )
            for workers in groups:  # one after the other in async, so that the outcome is one
                for role in workers:
                    self._start(role)
                self._wait(workers)
        return {role: dict(np.load(self._result(role))) for role in ("worker 0", "worker 1")}

    def _result(self, role):
        return self._folder / f"result.{role[-1]}"

    def _start(self, role):
        assert self.num_starts[role] <= MAX_RESTARTS, f"{role} dies again and again"
        self.num_starts[role] += 1
        order = {
            "role": role.split()[0],
            "folder": str(self._folder),
            "port": self._port,
            "mode": self._mode,
        }
        order |= {
            "number": int(role[-1]) if role != "server" else 0,
            "fault": self._faults.pop(role, ""),
        }
        order |= {"host": self._host, "netns": self._netns.get(role, "")}
        pid = self.pids[role] = self._zygote.fork(order)
        try:
            self._fds[os.pidfd_open(pid)] = role
        except ProcessLookupError:
            self._ended(role)

    def _ended(self, role):
        workers = ("worker 0", "worker 1") if role == "server" else (role,)
        # a server ends by itself when both have gone
        if not all(self._result(worker).exists() for worker in workers):
            self._start(role)

    def _wait(self, workers):
        deadline = time.monotonic() + DEADLINE_S
        while not all(self._result(role).exists() for role in workers):
            assert time.monotonic() < deadline, f"the job did not end: {self.num_starts}"
            for fd in select.select(list(self._fds), [], [], 0.5)[0]:
                role = self._fds.pop(fd)
                os.close(fd)
                self._ended(role)

    def _end(self):
        for fd in self._fds:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            select.select([fd], [], [], DEADLINE_S)
            os.close(fd)
        self._fds.clear()


if __name__ == "__main__":
    fork_children()
