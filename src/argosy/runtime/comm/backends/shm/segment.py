"""A segment: memory that several processes of one host map, without a name in any file system.

The creator makes an anonymous memory file (memfd) and tells the others ``(pid, fd)``; they open it through
``/proc/<pid>/fd``. Nothing can be left behind: the kernel frees the memory with the last mapping, after SIGKILL too, and the
size is not bound by that of ``/dev/shm``.
"""

from __future__ import annotations

import mmap
import os

import numpy as np
import numpy.typing as npt

from argosy.foundation.errors import CommError


class Segment:
    """A mapped segment. ``close()`` unmaps it; views handed out by ``array`` must be gone by then."""

    def __init__(self, fd: int, num_bytes: int) -> None:
        self._fd = fd
        self.num_bytes = num_bytes
        self._map = mmap.mmap(fd, num_bytes)
        self.bytes: npt.NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)
        self.address = int(self.bytes.ctypes.data)

    @classmethod
    def create(cls, name: str, num_bytes: int) -> Segment:
        """Make a new one; ``handle`` is what others attach by."""
        fd = os.memfd_create(f"argosy-{name}", os.MFD_CLOEXEC)
        try:
            os.ftruncate(fd, num_bytes)
            return cls(fd, num_bytes)
        except OSError as error:
            os.close(fd)
            raise CommError(
                f"cannot make a shared-memory segment of {num_bytes} bytes for {name!r}: {error}"
            ) from error

    @classmethod
    def attach(cls, handle: str) -> Segment:
        """Map the segment that ``handle`` names."""
        pid, fd, num_bytes = (int(part) for part in handle.split(":"))
        try:
            own = os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise CommError(
                f"cannot open the shared memory of process {pid}: {error.strerror}. The ranks of a shared-memory group must run on "
                "one host, under one user, in one pid namespace; use backend='gloo' otherwise."
            ) from error
        return cls(own, num_bytes)

    @property
    def handle(self) -> str:
        return f"{os.getpid()}:{self._fd}:{self.num_bytes}"

    def array(self, offset: int, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
        """A view of part of the segment."""
        count = int(np.prod(shape))
        return np.frombuffer(self._map, dtype, count, offset).reshape(shape)

    def release_name(self) -> None:
        """Close the file descriptor once everybody has attached; the mapping stays."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def is_closed(self) -> bool:
        return self.bytes.size == 0

    def close(self) -> None:
        self.release_name()
        self.bytes = np.empty(0, np.uint8)
        try:
            self._map.close()
        except BufferError:
            # a caller still holds a view; the mapping goes with it
            return
