"""Hosts of this machine: each has a network of its own, all are at one switch and know the others
by name.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

LIMIT_S = 300.0  # for a command that imports torch on a busy machine


def call(*words: str, **options: object) -> str:
    """Run a command to its end and return what it printed; one that fails fails the test."""
    found = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, **options)  # type: ignore[call-overload]
    if found.returncode:
        raise AssertionError(f"{words} ended with {found.returncode}: {found.stdout}{found.stderr}")
    return str(found.stdout)


def on(name: str) -> list[str]:
    """The beginning of a command that is to run on the host ``name``."""
    return [
        *("nsenter", f"--net=/run/netns/{name}"),
        *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "--ipc"),
        *("sh", "-c", 'hostname "$0" && exec "$@"', name),
    ]


@contextlib.contextmanager
def hosts(folder: Path, head: str, address_by_name: Mapping[str, str]) -> Iterator[None]:
    """A switch at the address ``head``, and hosts with cables to it; ``folder`` is for their list.
    Nothing is left of it afterwards.
    """
    with contextlib.ExitStack() as stack:
        call("hostname", "head")
        call("ip", "link", "add", "switch", "type", "bridge")
        stack.callback(call, "ip", "link", "delete", "switch")
        call("ip", "address", "add", f"{head}/24", "dev", "switch")
        call("ip", "link", "set", "switch", "up")
        for name, address in address_by_name.items():
            call("ip", "netns", "add", name)
            stack.callback(call, "ip", "netns", "delete", name)
            cable = f"to-{name}"
            call(*f"ip link add {cable} type veth peer name eth0 netns {name}".split())
            call("ip", "link", "set", cable, "master", "switch", "up")
            call("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                call("ip", "-n", name, "link", "set", device, "up")
        known = {"localhost": "127.0.0.1", "head": head, **address_by_name}
        names = folder / "hosts"
        names.write_text("".join(f"{address} {name}\n" for name, address in known.items()))
        call("mount", "--bind", str(names), "/etc/hosts")
        stack.callback(call, "umount", "/etc/hosts")
        yield
