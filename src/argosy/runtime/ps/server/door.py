"""Who may stay at a server's port: connections that have proved themselves, and for a moment a few
that have not.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import resource
import threading
import time
from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote

from argosy.runtime.ps.wire import sockets

log = logging.getLogger("argosy.ps")

_ROUND_S = 1.0
_PAUSE_S = 0.05
UNPROVED_S = 5.0
_NUM_UNPROVED = 64
_PER_WORKER = 4  # connections a worker may open at once


class Door:
    """Looks at the connections of ``port`` every second, from ``watch`` to ``close``.

    A connection none of whose streams has finished its handshake is cut after ``UNPROVED_S``, and
    the oldest of them at once when there are too many. Connections to hosts that have vanished are
    cut too, within 5 s.
    """

    def __init__(self, num_workers: int) -> None:
        self._limit = _NUM_UNPROVED + _PER_WORKER * num_workers
        self._port = 0
        self._lock = threading.Lock()
        # peers that no round has seen since; guarded by _lock
        self._proved_at: dict[str, float] = {}
        # peers of streams in their handshake, oldest first; guarded by _lock
        self._entering: dict[object, str] = {}
        # when a connection was first seen, by inode; the thread's own
        self._since: dict[int, float] = {}
        self._proved: set[int] = set()  # the thread's own
        self._stop = threading.Event()
        # for a round before its time, because there are too many, and for the end
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="argosy-door", daemon=True)

    def watch(self, port: int) -> None:
        self._port = port
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    @contextlib.contextmanager
    def entering(self, peer: str) -> Iterator[None]:
        """Count a stream of ``peer`` (gRPC's text) as one in its handshake; when they are too many,
        the oldest must go.
        """
        key = object()
        with self._lock:
            self._entering[key] = address_of(peer)
            if len(self._entering) > self._limit:
                self._wake.set()
        try:
            yield
        finally:
            with self._lock:
                del self._entering[key]

    def has_proved(self, peer: str) -> None:
        with self._lock:
            self._proved_at[address_of(peer)] = time.monotonic()

    def cut_all(self) -> None:
        for connection in sockets.accepted(self._port):
            connection.cut()

    def _watch(self) -> None:
        while True:
            self._wake.wait(_ROUND_S)
            if self._stop.wait(_PAUSE_S):  # a crowd must not keep this thread busy
                return
            self._wake.clear()
            try:
                self._round()
            # out of descriptors; those that are cut by now will be free in the next round
            except OSError as error:
                log.warning("cannot look at the connections of port %d: %s", self._port, error)

    def _round(self) -> None:
        now = time.monotonic()
        with self._lock:
            proved = set(self._proved_at)
            num_over = max(0, len(self._entering) - self._limit)
            crowd = set(itertools.islice(self._entering.values(), num_over))
        here: set[int] = set()
        seen: set[str] = set()
        strangers: list[tuple[float, int]] = []
        for connection in sockets.accepted(self._port):
            here.add(connection.inode)
            if str(connection.peer) in proved:
                self._proved.add(connection.inode)
                seen.add(str(connection.peer))
            since = self._since.setdefault(connection.inode, now)
            with contextlib.suppress(OSError):  # it ended meanwhile
                if since == now:
                    connection.keep_watch()
                elif connection.is_lost():
                    log.warning(
                        "the host of %s does not answer any more: its connection is cut",
                        connection.peer,
                    )
                    connection.cut()
                if str(connection.peer) in crowd:
                    log.warning(
                        "%s opens too many streams without a proof: its connection is cut",
                        connection.peer,
                    )
                    connection.cut()
            if connection.inode not in self._proved:
                strangers.append((since, connection.inode))
        with self._lock:
            for peer, at in list(self._proved_at.items()):
                if peer in seen or now - at > UNPROVED_S:
                    del self._proved_at[peer]
        self._proved &= here
        self._since = {inode: since for inode, since in self._since.items() if inode in here}
        self._turn_away(sorted(strangers), now)

    def _turn_away(self, strangers: list[tuple[float, int]], now: float) -> None:
        """Cut those of ``strangers``, oldest first, that are over time or over number."""
        num_over = max(0, len(strangers) - self._limit)
        over = {
            inode
            for i, (since, inode) in enumerate(strangers)
            if i < num_over or now - since >= UNPROVED_S - _ROUND_S
        }
        if not over:
            return
        hosts: Counter[str] = Counter()
        for connection in sockets.accepted(self._port):
            if connection.inode in over:
                hosts[connection.peer.host] += 1
                connection.cut()
        told = ", ".join(f"{count} of {host}" for host, count in hosts.most_common(5))
        log.warning("cut connections that did not prove to know the job's token in time: %s", told)


def address_of(peer: str) -> str:
    """``host:port`` of what gRPC calls a peer, such as ``ipv4:127.0.0.1:5`` or
    ``ipv6:%5B::1%5D:5``.
    """
    return unquote(peer).partition(":")[2]


def allow_many_files() -> None:
    """Raise this process's limit of open files as far as it may be: each connection takes one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
