"""Files of shared memory, which have a name in no folder and go with their last process."""

from __future__ import annotations

import fcntl
import os

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def make(name: str, num_bytes: int) -> int:
    """The descriptor of a new one, of zeros, whose size nobody can change: who writes to mapped
    memory behind the end of its file is killed. OSError if there is no room for it.
    """
    fd = os.memfd_create(f"argosy-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, num_bytes)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd


def cannot_shrink(fd: int) -> bool:
    """Whether ``fd`` is a file of shared memory, of whomever, that keeps at least its size."""
    try:
        return bool(fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK)
    except OSError:
        return False  # only files in memory have seals
