"""Which other processes of the group are still alive."""

from __future__ import annotations

import os
import select


class Peers:
    """Watches processes through pidfds: no race with reused pids, no polling of /proc. Any thread
    may ask.
    """

    def __init__(self) -> None:
        self._rank_by_fd: dict[int, int] = {}
        self._known: set[int] = set()
        self._gone: set[int] = set()

    def watch(self, rank: int, pid: int) -> None:
        """Watch process ``pid`` from now on; a rank that is watched already stays as it is."""
        if rank in self._known:
            return
        self._known.add(rank)
        try:
            self._rank_by_fd[os.pidfd_open(pid)] = rank
        except ProcessLookupError:
            self._gone.add(rank)

    def lost(self) -> set[int]:
        """Ranks whose process has exited."""
        # an object per call: one poll object refuses to serve two threads at a time
        poll = select.poll()
        for fd in list(self._rank_by_fd):
            poll.register(fd, select.POLLIN)
        return self._gone | {self._rank_by_fd[fd] for fd, _ in poll.poll(0)}

    def close(self) -> None:
        for fd in self._rank_by_fd:
            os.close(fd)
        self._rank_by_fd.clear()
