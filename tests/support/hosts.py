"""Hosts on this machine: network namespaces, joined by virtual cables."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

ADDRESSES = ("10.213.7.1", "10.213.7.2", "10.213.7.3", "10.213.7.4")
_SWITCH = "switch"


def cable_of(host: str) -> str:
    """The name of the cable's end in a namespace of ``joined_hosts``."""
    _, pid, side = host.split("-")
    return f"agy{int(pid) % 100_000}{side}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextlib.contextmanager
def joined_hosts(count: int) -> Iterator[list[str]]:
    """The names of up to four namespaces that reach each other at ADDRESSES."""
    for tool in ("ip", "unshare"):
        if shutil.which(tool) is None:
            pytest.skip(f"network namespaces need the command `{tool}`")
    names = [f"argosy-{os.getpid()}-{side}" for side in "abcd"[:count]]
    with contextlib.ExitStack() as stack:
        for name in names:
            try:
                _add(name, stack)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"network namespaces are not allowed here: {error.stderr.strip()}")
        _join(names, stack)
        for name, address in zip(names, ADDRESSES, strict=False):
            _ip("-n", name, "address", "add", f"{address}/24", "dev", cable_of(name))
            _ip("-n", name, "link", "set", cable_of(name), "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield names


def _add(name: str, stack: contextlib.ExitStack) -> None:
    _ip("netns", "add", name)
    stack.callback(_ip, "netns", "delete", name)  # the cable goes with it


def _join(names: list[str], stack: contextlib.ExitStack) -> None:
    """Two hosts by one cable; more by a switch, which is a namespace too."""
    ends = [cable_of(name) for name in names]
    if len(names) == 2:
        _ip(
            *("link", "add", ends[0], "netns", names[0]),
            *("type", "veth", "peer", "name", ends[1], "netns", names[1]),
        )
        return
    switch = f"argosy-{os.getpid()}-{_SWITCH}"
    _add(switch, stack)
    _ip("-n", switch, "link", "add", _SWITCH, "type", "bridge")
    _ip("-n", switch, "link", "set", _SWITCH, "up")
    for name, end in zip(names, ends, strict=True):
        _ip(
            *("link", "add", end, "netns", name),
            *("type", "veth", "peer", "name", end, "netns", switch),
        )
        _ip("-n", switch, "link", "set", end, "master", _SWITCH)
        _ip("-n", switch, "link", "set", end, "up")


def held_to(rate: str, hosts: Sequence[str]) -> None:
    """Let the cables of ``hosts`` carry no more than ``rate``, as ``tc`` writes it, each way."""
    for host in hosts:
        # queues of 20 ms, as those of a switch
        how = f"root tbf rate {rate} burst 128kb latency 20ms".split()
        words = ["tc", "-n", host, "qdisc", "add", "dev", cable_of(host), *how]
        subprocess.run(words, check=True, capture_output=True, text=True)


def cut_off(host: str) -> None:
    """Pull the cable of a host: nothing arrives there any more, and nobody is told."""
    _ip("-n", host, "link", "set", cable_of(host), "down")


def start_launcher(
    host: str,
    folder: Path,
    token: str,
    *argv: str,
    names: Mapping[str, str] | None = None,
    clock_ahead_s: int = 0,
    **variables: str,
) -> subprocess.Popen[str]:
    """On a host of its own: network, process numbers and /proc; ``names`` are the addresses that it
    finds by name, ``clock_ahead_s`` is what its monotonic clock is ahead of the machine's.
    """
    clock = ["--time", "--monotonic", str(clock_ahead_s)] if clock_ahead_s else []
    knows = []
    if names:
        table = folder / "hosts"
        lines = [f"{address} {name}\n" for name, address in names.items()]
        table.write_text("".join(["127.0.0.1 localhost\n", *lines]))
        # seen by this launcher alone: it has mounts of its own
        knows = ["sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(table)]
    path = os.pathsep.join(
        [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    return subprocess.Popen(
        ["ip", "netns", "exec", host, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
         *clock, *knows, sys.executable, "-m", "paddle.distributed.launch", *argv],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "ARGOSY_TOKEN": token, "OMP_NUM_THREADS": "1",
             **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip


@contextlib.contextmanager
def launchers_on(
    hosts: Sequence[str], folder: Path, lines: Sequence[Sequence[str]], **variables: str
) -> Iterator[list[subprocess.Popen[str]]]:
    """One launcher on each host, with its own command line and its own temporary files in ``tmpN``,
    and a common token. A host that is killed has no time to clean up.
    """
    token, started = secrets.token_hex(16), []
    try:
        for number, (host, line) in enumerate(zip(hosts, lines, strict=True)):
            own = {**variables, "TMPDIR": str(folder / f"tmp{number}")}
            (folder / f"tmp{number}").mkdir()
            started.append(start_launcher(host, folder, token, *line, **own))
        yield started
    finally:
        for launcher in started:
            launcher.kill()
            if launcher.stdout is not None and not launcher.stdout.closed:
                launcher.communicate()
