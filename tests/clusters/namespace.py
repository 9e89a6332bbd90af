"""A command in namespaces of its own: processes, network, mounts, shared memory and name.

Packages below ROOT appear in /usr as if they were installed, /run and /dev/shm are empty, the
network has a loopback device and nothing else. When the command ends, however it does, the kernel
ends whatever it has started and drops what it has mounted.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from clusters.install import CannotBeHad

_NAMESPACES = ("--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child")
_EMPTY = ("/run", "/dev/shm")


def command(root: Path | None, words: list[str]) -> list[str]:
    """The command line that runs ``words`` in new namespaces, with what is below ``root``."""
    said = ""
    for as_whom in ((), ("--user", "--map-root-user")):
        start = ["unshare", *as_whom, *_NAMESPACES, "--mount-proc"]
        said = _failure([*start, "true"])
        if not said:
            return [*start, sys.executable, "-m", __name__, str(root or ""), *words]
    raise CannotBeHad(f"namespaces are not allowed here: {said}")


def _failure(words: list[str]) -> str:
    """What a command says that fails; empty if it does not."""
    try:
        subprocess.run(words, check=True, capture_output=True, text=True, timeout=30)
    except subprocess.CalledProcessError as error:
        return error.stderr.strip() or str(error)
    except OSError as error:
        return str(error)
    return ""


def _enter(root: str) -> None:
    """Furnish the namespaces that this process is the first one of."""
    orders = [["mount", "--make-rprivate", "/"]]
    if root:
        layers = f"lowerdir={root}/usr:/usr"
        orders.append(["mount", "-t", "overlay", "overlay", "-o", layers, "/usr"])
    orders += [["mount", "-t", "tmpfs", "tmpfs", folder] for folder in _EMPTY]
    orders.append(["ip", "link", "set", "lo", "up"])
    for words in orders:
        subprocess.run(words, check=True)


def _be_first(words: list[str]) -> int:
    """Run a command, and bury what others in these namespaces leave; its exit code."""
    process = subprocess.Popen(words)
    while True:
        pid, status = os.wait()
        if pid == process.pid:
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    _enter(sys.argv[1])
    sys.exit(_be_first(sys.argv[2:]))
