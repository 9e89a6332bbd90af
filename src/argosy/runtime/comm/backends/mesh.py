"""Connections between every two ranks of a group, through which they tell each other what they are
about to call.

gloo takes what a peer sends for what it expects: another dtype becomes another number, another size
ends the process, another collective waits for ever. So the ranks compare rows of integers before
they begin. Each tells all others its row and hears theirs, one small message for each pair: 50 us
between two namespaces of one machine, where a barrier of gloo takes 180 us and its smallest
all_reduce 450 us. Nobody has heard all before all have told, so an exchange is a barrier too.

The store, which only those who know the job's token can read, hands out addresses, each with a
secret; whoever connects without it is not let in.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import select
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from argosy.foundation.endpoints import bind_listener
from argosy.foundation.errors import CommError
from argosy.runtime.comm import forks
from argosy.runtime.comm.backends.shm.board import LOOK_S, Board, Seat, board_bytes
from argosy.runtime.comm.backends.shm.care import WARN_S, await_keys, wait_with_care
from argosy.runtime.comm.backends.shm.segment import Segment

_SECRET_BYTES = 32
_PASS = struct.Struct(f"<{_SECRET_BYTES}sq")  # the listener's secret, the rank that comes
_WORD = struct.Struct("<q")
_MAX_WORDS = 1 << 20  # of a row; the largest are the sizes of an all_to_all
_CHUNK = 1 << 16
_MAX_STRANGERS = 64  # the oldest has to go


@dataclass
class _Peer:
    """The connection to another rank; ``unread`` has come and was not asked for yet."""

    sock: socket.socket
    unread: bytearray = field(default_factory=bytearray)
    is_gone: bool = False

    def take(self) -> list[int] | None:
        """Its next row, None if that has not come whole."""
        row = self._parse()
        if row is None:
            self.read()
            row = self._parse()
        return row

    def _parse(self) -> list[int] | None:
        if len(self.unread) < _WORD.size:
            return None
        (count,) = _WORD.unpack_from(self.unread)
        if not 0 <= count <= _MAX_WORDS:
            raise CommError(f"a peer announced a row of {count} numbers; at most {_MAX_WORDS}")
        end = _WORD.size * (1 + count)
        if len(self.unread) < end:
            return None
        row = list(struct.unpack_from(f"<{count}q", self.unread, _WORD.size))
        del self.unread[:end]
        return row

    def read(self) -> None:
        """Take in what has come, and notice the end."""
        if self.is_gone:
            return
        try:
            data = self.sock.recv(_CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:  # reset: by a rank that is gone
            data = b""
        self.unread += data
        self.is_gone = not data


class Mesh:
    """One rank's connections. ``tell`` and ``hear`` are called by one thread at a time, ``close``
    by any.

    ``seat`` says who the ranks are in their job; without it they have no other names.
    """

    def __init__(
        self,
        name: str,
        rank: int,
        world_size: int,
        store: Any,
        timeout_s: float,
        address: str,
        seat: Seat | None = None,
    ) -> None:
        self.name = name
        self.rank = rank
        self.timeout_s = timeout_s
        self._is_closed = False
        self._is_hearing = False
        self._own_board: Board | None = None
        if seat is None:
            segment = Segment.create("board", board_bytes(world_size))
            self._own_board = Board(segment, 0, rank, world_size)
            segment.close()  # the board keeps the memory
            seat = Seat(self._own_board, range(world_size))
        self._seat = seat
        self._peers: dict[int, _Peer] = {}
        try:
            self._join(store, world_size, address)
        except BaseException:
            self.close()
            raise
        forks.register(self)

    # -- joining
    # ----------------------------------------------------------------------------------------------

    def _join(self, store: Any, world_size: int, address: str) -> None:
        """Connect to the ranks below this one, and let in those above."""
        place = f"joining of group {self.name!r}"
        keys = [f"argosy/mesh/{self.name}/{r}" for r in range(world_size)]
        secret = secrets.token_bytes(_SECRET_BYTES)
        with bind_listener(address) as listener:
            store.set(keys[self.rank], json.dumps([*listener.getsockname()[:2], secret.hex()]))
            lower = {self._seat.ranks[r]: keys[r] for r in range(self.rank)}
            if lower:
                await_keys(store, lower, self._seat.board, place, self.timeout_s)
            for r in range(self.rank):
                self._peers[r] = _Peer(self._connect(place, *json.loads(store.get(keys[r]))))
            self._let_in(place, listener, secret, set(range(self.rank + 1, world_size)))
        for peer in self._peers.values():
            # with a timeout, Python would wait in spite of MSG_DONTWAIT
            peer.sock.setblocking(True)
            peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
            peer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _connect(self, place: str, host: str, port: int, secret: str) -> socket.socket:
        try:
            sock = socket.create_connection((host, port), self.timeout_s)
        except OSError as error:
            raise CommError(
                f"{place}: rank {self._seat.board.rank} cannot connect to {host} port {port}, "
                f"where another rank listens: {error.strerror or error}.\n  The hosts of a job "
                "must reach each other at every port."
            ) from error
        sock.sendall(_PASS.pack(bytes.fromhex(secret), self.rank))
        return sock

    def _let_in(
        self, place: str, listener: socket.socket, secret: bytes, awaited: set[int]
    ) -> None:
        """Accept connections until each of ``awaited`` has shown the secret on one."""
        strangers: list[socket.socket] = []

        def look() -> list[int]:
            poll = select.poll()
            for sock in (listener, *strangers):
                poll.register(sock, select.POLLIN)
            ready = {fd for fd, _ in poll.poll(LOOK_S * 1000)}
            for sock in [s for s in strangers if s.fileno() in ready]:
                rank = _rank_of(sock, secret)
                if rank is None:
                    continue
                strangers.remove(sock)
                if rank in awaited:
                    awaited.discard(rank)
                    self._peers[rank] = _Peer(sock)
                else:
                    sock.close()
            if listener.fileno() in ready:
                sock, _ = listener.accept()
                # to wake for nothing less
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _PASS.size)
                strangers.append(sock)
                if len(strangers) > _MAX_STRANGERS:
                    strangers.pop(0).close()
            return [self._seat.ranks[r] for r in awaited]

        try:
            if awaited:
                self._wait(place, look, WARN_S)
        finally:
            for sock in strangers:
                sock.close()

    # -- exchanges
    # --------------------------------------------------------------------------------------------

    def tell(self, row: Sequence[int]) -> None:
        """Send ``row`` to all other ranks; one that is gone is found by ``hear``."""
        message = struct.pack(f"<{1 + len(row)}q", len(row), *row)
        for peer in self._peers.values():
            with contextlib.suppress(OSError):
                peer.sock.sendall(message)

    def hear(self, activity: str) -> dict[int, list[int]]:
        """The rows that the other ranks tell, by rank; ``activity`` is what errors call the
        wait.
        """
        rows: dict[int, list[int]] = {}
        missing = set(self._peers)

        def take() -> bool:
            for r in list(missing):
                row = self._peers[r].take()
                if row is not None:
                    rows[r] = row
                    missing.discard(r)
            return not missing

        def look() -> list[int]:
            if not take():
                self._sleep(missing)
                take()
            return [self._seat.ranks[r] for r in missing]

        # announced before the look: close() sets its flag first and then looks who is inside
        self._is_hearing = True
        try:
            if self._is_closed or look():
                self._wait(f"{activity} of group {self.name!r}", look)
        finally:
            self._is_hearing = False
            if self._is_closed:
                self._free()
        return rows

    def lost(self) -> list[int]:
        """The ranks of the job whose connections have ended."""
        for peer in self._peers.values():
            peer.read()
        return [self._seat.ranks[r] for r, peer in self._peers.items() if peer.is_gone]

    def _sleep(self, missing: set[int]) -> None:
        """Wait a moment for something from those that are missing and not gone."""
        poll = select.poll()
        for r in missing:
            if not self._peers[r].is_gone:
                poll.register(self._peers[r].sock, select.POLLIN)
        poll.poll(LOOK_S * 1000)

    def _wait(
        self, place: str, look: Callable[[], Sequence[int]], warn_s: float | None = None
    ) -> None:
        def missing() -> Sequence[int]:
            if self._is_closed:
                raise CommError(f"{place}: the group was closed meanwhile")
            return look()

        def fates() -> dict[int, str]:
            gone = [self._seat.ranks[r] for r, peer in self._peers.items() if peer.is_gone]
            return dict.fromkeys(gone, "exited or left the group") | self._seat.board.fates()

        wait_with_care(self._seat.board, place, self.timeout_s, missing, fates, warn_s)

    # -- the end
    # ----------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Take no further part: the others hear what this rank has told, then that it is gone. A
        wait of another thread ends.
        """
        self._is_closed = True
        for peer in self._peers.values():
            with contextlib.suppress(OSError):
                peer.sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Leave and free everything."""
        self.leave()
        if not self._is_hearing:  # else that call does it
            self._free()

    def _free(self) -> None:
        for peer in self._peers.values():
            peer.sock.close()
        if self._own_board is not None:
            self._own_board.close()

    def on_forked(self) -> None:
        """Let go of the child's copies, which would hide this rank's end from the others."""
        self._is_closed = True
        for peer in self._peers.values():
            peer.sock.close()


def _rank_of(sock: socket.socket, secret: bytes) -> int | None:
    """The rank that has come through ``sock``, -1 if it does not know the secret; None while it
    has not said enough.
    """
    try:
        said = sock.recv(_PASS.size, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        if said and len(said) < _PASS.size:
            return None
        sock.recv(len(said), socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:
        said = b""
    if len(said) < _PASS.size:
        return -1
    shown, rank = _PASS.unpack(said)
    return int(rank) if hmac.compare_digest(shown, secret) else -1
