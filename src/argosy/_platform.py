"""Where argosy runs: on Linux."""

from __future__ import annotations

import sys

_INSTEAD = {
    "darwin": ("macOS", "a Linux container or virtual machine"),
    "win32": ("Windows", "WSL 2 (`wsl --install`)"),
    "cygwin": ("Windows", "WSL 2 (`wsl --install`)"),
}


def require(platform: str = sys.platform) -> None:
    """Raise ImportError where argosy cannot run: its processes meet in shared memory of Linux's
    (``/dev/shm``, futexes), and are watched through its process descriptors.
    """
    if platform.startswith("linux"):
        return
    name, instead = _INSTEAD.get(platform, (platform, "Linux"))
    raise ImportError(
        f"argosy runs on Linux only, and this is {name}: processes meet in Linux's shared memory "
        f"and are watched through its process descriptors. Use it in {instead}.",
        name="argosy",
    )
