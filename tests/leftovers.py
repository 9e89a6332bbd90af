"""What a test may not leave behind: processes, threads, descriptors, listening ports, shared
memory, temporary folders.

``guard()`` notes what there is, runs its block and fails when there is more afterwards. Helpers
that live as long as the whole run do not count: the pool of worker processes, and multiprocessing's
own forkserver and resource tracker.
"""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import pytest

WAIT_S = 10.0  # for what ends by itself, orphans and connections for example
# in the environment of what is started, orphans included
MARK = f"ARGOSY_TEST_RUN={secrets.token_hex(8)}"
_HELPERS = (b"multiprocessing.forkserver", b"multiprocessing.resource_tracker")
_LISTENING = "0A"

Found = Mapping[object, str]  # what to call each thing in a message


def mark_children() -> None:
    """Have the processes that are started from here on carry the mark."""
    name, _, value = MARK.partition("=")
    os.environ[name] = value


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:  # it has ended, or is another user's
        return b""


def _processes() -> dict[int, str]:
    """Descendants of this process, and orphans of theirs, that run; by pid."""
    parents, marked = {}, set()
    for name in os.listdir("/proc"):
        stat = _read(f"/proc/{name}/stat") if name.isdigit() else b""
        state = stat.rpartition(b")")[2].split()
        if not state or state[0] == b"Z":
            continue
        pid = int(name)
        parents[pid] = int(state[1])
        if MARK.encode() in _read(f"/proc/{name}/environ"):
            marked.add(pid)
    ours = {pid for pid in parents if pid in marked or os.getpid() in _ancestors(pid, parents)} - {
        os.getpid()
    }
    commands = {pid: _read(f"/proc/{pid}/cmdline") for pid in ours}
    pool = {worker.process.pid for worker in _pool_workers()}
    helpers = {pid for pid in ours if any(name in commands[pid] for name in _HELPERS)}
    shown = {pid: commands[pid].replace(b"\0", b" ").decode(errors="replace")[:100] for pid in ours}
    return {pid: f"process {pid} ({shown[pid].strip()})" for pid in sorted(ours - pool - helpers)}


def _ancestors(pid: int, parents: Mapping[int, int]) -> list[int]:
    found = []
    while pid in parents:
        pid = parents[pid]
        found.append(pid)
    return found


def _pool_workers() -> list:
    pool = sys.modules.get("multiprocess.pool")
    return (
        [] if pool is None else [worker for each in pool.POOLS for worker in each._workers.values()]
    )


def _threads() -> Found:
    """Python's own: what it shows as a dummy is a thread of a library, which Python never hears the
    end of.
    """
    own = [
        thread for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread)
    ]
    return {thread: f"thread {thread.name!r}" for thread in own}


def _descriptors() -> Found:
    """By number and target: a number that another file has taken is another descriptor."""
    spared = {fd for worker in _pool_workers() for fd in worker.descriptors()}
    spared |= {resource_tracker._resource_tracker._fd, forkserver._forkserver._forkserver_alive_fd}
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the one that lists them
            target = os.readlink(f"/proc/self/fd/{name}")
            if int(name) not in spared:
                found[name, target] = f"descriptor {name} of {target}"
    return found


def _ports() -> Found:
    """Ports on which this process or one that it has started listens."""
    lines = [
        line.split()
        for kind in ("tcp", "tcp6")
        for line in _read(f"/proc/net/{kind}").decode().splitlines()[1:]
    ]
    port_by_socket = {
        f"socket:[{line[9]}]": int(line[1].rpartition(":")[2], 16)
        for line in lines
        if line[3] == _LISTENING
    }
    found = {}
    for pid in [os.getpid(), *_processes(), *(worker.process.pid for worker in _pool_workers())]:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError, KeyError):
                    port = port_by_socket[os.readlink(f"/proc/{pid}/fd/{name}")]
                    found[pid, port] = f"port {port} of process {pid}"
    return found


def _shared_memory() -> Found:
    with contextlib.suppress(FileNotFoundError):
        return {name: f"/dev/shm/{name}" for name in os.listdir("/dev/shm")}
    return {}


def _is_of_strangers(name: object) -> bool:
    """Whether a process that this run has not started uses a file of /dev/shm, which belongs to the
    whole machine.
    """
    ours = {os.getpid(), *_processes(), *(worker.process.pid for worker in _pool_workers())}
    text = f"/dev/shm/{name}".encode()
    pids = [
        int(entry) for entry in os.listdir("/proc") if entry.isdigit() and int(entry) not in ours
    ]
    return any(text in _read(f"/proc/{pid}/maps") for pid in pids)


def _folders() -> Found:
    return {path: str(path) for path in Path(tempfile.gettempdir()).glob("argosy-*")}


_KINDS: tuple[Callable[[], Found], ...] = (
    _processes,
    _threads,
    _descriptors,
    _ports,
    _shared_memory,
    _folders,
)


def _more(before: list[Found]) -> list[str]:
    found = []
    for kind, known in zip(_KINDS, before, strict=True):
        new = {key: text for key, text in kind().items() if key not in known}
        if kind is _shared_memory:
            new = {key: text for key, text in new.items() if not _is_of_strangers(key)}
        found += new.values()
    return found


def _collect() -> None:
    """Drop what tracebacks and cycles keep, here and in the workers of the pool."""
    gc.collect()
    pool = sys.modules.get("multiprocess.pool")
    for each in [] if pool is None else pool.POOLS:
        each.collect()


@contextlib.contextmanager
def guard(report: Callable[[str, object], None] = lambda name, value: None) -> Iterator[None]:
    """Fail after the block if something is left of it; ``report`` is told what, under the name
    ``left``.
    """
    before = [kind() for kind in _KINDS]
    yield
    deadline = time.monotonic() + WAIT_S
    while (found := _more(before)) and time.monotonic() < deadline:
        _collect()
        time.sleep(0.02)
    report("left", found)
    if found:
        pytest.fail("left behind:\n  " + "\n  ".join(found), pytrace=False)
