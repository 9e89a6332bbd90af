"""What a test may not leave behind.

Two guards note what there is, run a block and fail when there is more afterwards:

- ``quick_guard()`` stands around every test and costs some 0.1 ms: state of the process that is
  registered with ``foundation.process_state``, settings of torch, the working directory, variables
  of the environment, threads, children, descriptors, files in /dev/shm;
- ``guard()`` stands around tests of faults: also descendants, orphans included, the ports on which
  any of them listens, and temporary folders.

Helpers that live as long as the whole run do not count: the pool of worker processes, and
multiprocessing's own forkserver and resource tracker.
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
from collections.abc import Callable, Collection, Iterator, Mapping
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import pytest
import torch

from argosy.foundation import process_state

WAIT_S = 10.0  # for what ends by itself, orphans and connections for example
QUICK_WAIT_S = 3.0
# in the environment of what is started, orphans included
MARK = f"ARGOSY_TEST_RUN={secrets.token_hex(8)}"
_HELPERS = (b"multiprocessing.forkserver", b"multiprocessing.resource_tracker")
_LISTENING = "0A"
# gRPC keeps those of its pollers for later calls
_OF_GRPC = {"anon_inode:[eventfd]", "anon_inode:[eventpoll]"}
# pytest sets it before each phase of a test, torch those of its compiler when it imports that
_OF_LIBRARIES = (b"PYTEST_CURRENT_TEST", b"TORCHINDUCTOR_", b"_TORCHINDUCTOR_", b"TRITON_")

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


def _is_helper(command: bytes) -> bool:
    return any(name in command for name in _HELPERS)


def _shown(pid: int, command: bytes) -> str:
    words = command.replace(b"\0", b" ").decode(errors="replace")
    return f"process {pid} ({words[:100].strip()})"


def _children() -> Found:
    """Processes that this one has started and not awaited; by pid."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # none at all, as a rule
        return {}
    pool = {worker.process.pid for worker in _pool_workers()}
    pids = [
        int(pid)
        for task in os.listdir("/proc/self/task")
        for pid in _read(f"/proc/self/task/{task}/children").split()
    ]
    commands = {pid: _read(f"/proc/{pid}/cmdline") for pid in pids if pid not in pool}
    return {
        pid: _shown(pid, command) for pid, command in commands.items() if not _is_helper(command)
    }


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
    return {
        pid: _shown(pid, commands[pid])
        for pid in sorted(ours - pool)
        if not _is_helper(commands[pid])
    }


def _ancestors(pid: int, parents: Mapping[int, int]) -> list[int]:
    found = []
    while pid in parents:
        pid = parents[pid]
        found.append(pid)
    return found


def _pool_workers() -> list:
    pool = sys.modules.get("support.pool")
    return (
        [] if pool is None else [worker for each in pool.POOLS for worker in each._workers.values()]
    )


def _threads() -> Found:
    """Python's own: what it shows as a dummy is a thread of a library, which Python never hears the
    end of. torch's compiler keeps pools without a name; those of the package have one.
    """
    own = [
        thread
        for thread in threading.enumerate()
        if not isinstance(thread, threading._DummyThread)
        and not thread.name.startswith("ThreadPoolExecutor-")
    ]
    return {thread: f"thread {thread.name!r}" for thread in own}


def _spared_descriptors() -> set[int]:
    spared = {fd for worker in _pool_workers() for fd in worker.descriptors()}
    return spared | {
        resource_tracker._resource_tracker._fd,
        forkserver._forkserver._forkserver_alive_fd,
    }


def _target(fd: str) -> str | None:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:  # the one that lists them
        return None


def _descriptors() -> dict[tuple[str, str], str]:
    """By number and target: a number that another file has taken is another descriptor."""
    spared = _spared_descriptors()
    targets = {fd: _target(fd) for fd in os.listdir("/proc/self/fd") if int(fd) not in spared}
    return {(fd, to): f"descriptor {fd} of {to}" for fd, to in targets.items() if to is not None}


def _descriptor_numbers() -> Found:
    """By number alone, which takes a tenth of the time."""
    return dict.fromkeys(os.listdir("/proc/self/fd"), "descriptor")


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


def _variables() -> dict[bytes, bytes]:
    return os.environ._data.copy()  # type: ignore[attr-defined]  # all of them decoded takes 50 us


def _changed_variables(before: dict[bytes, bytes]) -> list[str]:
    now = _variables()
    names = sorted({name for name, _ in now.items() ^ before.items()})
    return [
        f"environment variable {os.fsdecode(name)}"
        for name in names
        if not name.startswith(_OF_LIBRARIES)
    ]


def _settings() -> dict[str, object]:
    """Of torch and of the process, which tests may change but must put back."""
    return {
        "working directory": os.getcwd(),
        "torch.is_grad_enabled()": torch.is_grad_enabled(),
        "torch.get_default_dtype()": torch.get_default_dtype(),
        "torch.get_num_threads()": torch.get_num_threads(),
    }


def _changed_settings(before: dict[str, object]) -> list[str]:
    now = _settings()
    return [f"{name}: {now[name]} for {before[name]}" for name in now if now[name] != before[name]]


Kinds = tuple[Callable[[], Found], ...]
_KINDS: Kinds = (_processes, _threads, _descriptors, _ports, _shared_memory, _folders)
_QUICK: Kinds = (_threads, _children, _descriptor_numbers, _shared_memory)


def _noted(kinds: Kinds) -> list[Found]:
    return [kind() for kind in kinds]


def _more(kinds: Kinds, before: list[Found]) -> list[str]:
    found = []
    for kind, known in zip(kinds, before, strict=True):
        new = {key: text for key, text in kind().items() if key not in known}
        if kind is _descriptor_numbers and new:
            new = {
                (fd, to): text
                for (fd, to), text in _descriptors().items()
                if fd in new and to not in _OF_GRPC
            }
        elif kind is _shared_memory:
            new = {key: text for key, text in new.items() if not _is_of_strangers(key)}
        found += new.values()
    return found


def _collect() -> None:
    """Drop what tracebacks and cycles keep, here and in the workers of the pool."""
    gc.collect()
    pool = sys.modules.get("support.pool")
    for each in [] if pool is None else pool.POOLS:
        each.collect()


def _left(kinds: Kinds, before: list[Found], wait_s: float) -> list[str]:
    """What there is more of now, once what ends by itself has had its time."""
    deadline = time.monotonic() + wait_s
    while (found := _more(kinds, before)) and time.monotonic() < deadline:
        _collect()
        time.sleep(0.02)
    return found


def _fail(found: list[str]) -> None:
    if found:
        pytest.fail("left behind:\n  " + "\n  ".join(found), pytrace=False)


@contextlib.contextmanager
def guard(report: Callable[[str, object], None] = lambda name, value: None) -> Iterator[None]:
    """Fail after the block if something is left of it; ``report`` is told what, under the name
    ``left``.
    """
    before = _noted(_KINDS)
    yield
    found = _left(_KINDS, before, WAIT_S)
    report("left", found)
    _fail(found)


@contextlib.contextmanager
def quick_guard(own: Collection[str] = ()) -> Iterator[None]:
    """Fail after the block if something is left of it, but for the state that ``own`` names, and
    put the process's state back.
    """
    variables, settings, things = _variables(), _settings(), _noted(_QUICK)
    yield
    changed = process_state.changed()
    if changed:
        process_state.reset_all()
    found = [f"process state {name!r}" for name in changed if name not in own]
    found += _changed_variables(variables) + _changed_settings(settings)
    _fail(found + _left(_QUICK, things, QUICK_WAIT_S))
