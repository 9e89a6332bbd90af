"""Two hosts on this machine: network namespaces, joined by a cable of two virtual ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

ADDRESSES = ("10.213.7.1", "10.213.7.2")


def cable_of(host: str) -> str:
    """The name of the cable's end in a namespace of ``two_hosts``."""
    _, pid, side = host.split("-")
    return f"agy{int(pid) % 100_000}{side}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextlib.contextmanager
def two_hosts() -> Iterator[list[str]]:
    """The names of two namespaces that reach each other at ADDRESSES."""
    for tool in ("ip", "unshare"):
        if shutil.which(tool) is None:
            pytest.skip(f"network namespaces need the command `{tool}`")
    names = [f"argosy-{os.getpid()}-{side}" for side in "ab"]
    ends = [cable_of(name) for name in names]
    made = []
    try:
        for name in names:
            try:
                _ip("netns", "add", name)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"network namespaces are not allowed here: {error.stderr.strip()}")
            made.append(name)
        _ip(
            *("link", "add", ends[0], "netns", names[0]),
            *("type", "veth", "peer", "name", ends[1], "netns", names[1]),
        )
        for name, end, address in zip(names, ends, ADDRESSES, strict=True):
            _ip("-n", name, "address", "add", f"{address}/24", "dev", end)
            _ip("-n", name, "link", "set", end, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in made:
            _ip("netns", "delete", name)  # the cable goes with it
