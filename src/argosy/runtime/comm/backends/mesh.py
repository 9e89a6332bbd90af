"""Connections between every two ranks of a group, through which they tell each other what they are
about to call.

gloo takes what a peer sends for what it expects: another dtype becomes another number, another size
ends the process, another collective waits for ever. So the ranks compare rows of integers before
they begin. Each tells all others its row and hears theirs, one small message for each pair: 50 us
between two namespaces of one machine, where a barrier of gloo takes 180 us and its smallest
all_reduce 450 us. Nobody has heard all before all have told, so an exchange is a barrier too.

Behind a row may come what the collective is about: small tensors reach all other ranks so, in the
time of the exchange alone. They are taken in once the rows have agreed.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from argosy.foundation.errors import CommError
from argosy.runtime.comm import forks
from argosy.runtime.comm.backends import doorway
from argosy.runtime.comm.backends.doorway import bytes_of
from argosy.runtime.comm.backends.joining import connect_all
from argosy.runtime.comm.backends.shm.board import Seat, lonely_seat
from argosy.runtime.comm.backends.shm.care import wait_with_care

_WORD = struct.Struct("<q")
_MAX_WORDS = 1 << 20  # of a row; the largest are the sizes of an all_to_all
_CHUNK = 1 << 16
_MAX_CARRIED_BYTES = 1 << 16  # that a rank sends to all others together


@dataclass
class _Peer:
    """The connection to another rank; ``unread`` has come and was not asked for yet, ``unsent`` is
    what the kernel has not taken yet.
    """

    sock: socket.socket
    unread: bytearray = field(default_factory=bytearray)
    unsent: list[memoryview] = field(default_factory=list)
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

    def read_into(self, view: memoryview) -> int:
        """Take what has come into ``view``; how much that was."""
        count = min(len(self.unread), len(view))
        if count:
            view[:count] = self.unread[:count]
            del self.unread[:count]
        while count < len(view) and not self.is_gone:
            try:
                more = self.sock.recv_into(view[count:], 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                more = 0
            count += more
            self.is_gone = not more
        return count

    def push(self) -> None:
        """Send what the kernel takes; to nobody if the other side is gone, which ``read`` finds."""
        try:
            doorway.push(self.sock, self.unsent)
        except OSError:
            self.unsent.clear()


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
        self._seat = seat = seat or lonely_seat(rank, world_size)
        self._peers: dict[int, _Peer] = {}
        place, prefix = f"joining of group {name!r}", f"argosy/mesh/{name}"
        try:
            socks = connect_all(place, prefix, rank, store, timeout_s, address, seat)
        except BaseException:
            self.close()
            raise
        self._peers.update({r: _Peer(sock) for r, sock in socks.items()})
        forks.register(self)
        if seat.board.distant is not None:
            seat.board.distant.watch(self)

    # -- exchanges
    # --------------------------------------------------------------------------------------------

    def tell(self, activity: str, row: Sequence[int]) -> None:
        """Send ``row`` to all other ranks; one that is gone is found by ``hear``. ``activity`` is
        what errors call the wait.
        """
        message = memoryview(struct.pack(f"<{1 + len(row)}q", len(row), *row))
        self._post(message)

        def look() -> list[int]:
            """Take in what comes: who also tells waits for us."""
            held_up = self._push()
            if held_up:
                self._sleep(self._peers, held_up)
                for peer in self._peers.values():
                    peer.read()
                held_up = self._push()
            return [self._seat.ranks[r] for r in held_up]

        if self._push():
            self._guarded(activity, look)

    def carries(self, tensor: torch.Tensor) -> bool:
        """Whether ``tensor`` is small enough for ``post``."""
        return tensor.nbytes * len(self._peers) <= _MAX_CARRIED_BYTES

    def post(self, tensor: torch.Tensor) -> None:
        """Begin to send the elements of ``tensor``, contiguous and on the CPU, to all other ranks,
        which ``collect`` them; it must not change until this rank has collected theirs.
        """
        self._post(bytes_of(tensor))
        self._push()

    def _post(self, view: memoryview) -> None:
        if view.nbytes:
            for peer in self._peers.values():
                peer.unsent.append(view)

    def _push(self) -> list[int]:
        """Send what the kernel takes; those who have not got all."""
        for peer in self._peers.values():
            if peer.unsent:
                peer.push()
        return [r for r, peer in self._peers.items() if peer.unsent]

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
                self._sleep(missing, self._push())
                take()
            return [self._seat.ranks[r] for r in missing]

        self._guarded(activity, look)
        return rows

    def collect(self, activity: str, like: torch.Tensor) -> list[torch.Tensor]:
        """What each rank has posted, in their order: as many elements as ``like``, which this rank
        has posted.
        """
        tensors = {r: torch.empty_like(like) for r in self._peers}
        views = {r: bytes_of(tensor) for r, tensor in tensors.items()}

        def take() -> set[int]:
            held_up = self._push()
            for r, view in views.items():
                if view.nbytes:
                    views[r] = view[self._peers[r].read_into(view) :]
            return {*held_up, *(r for r, view in views.items() if view.nbytes)}

        def look() -> list[int]:
            missing = take()
            if missing:
                self._sleep(missing, [r for r in missing if self._peers[r].unsent])
                missing = take()
            return [self._seat.ranks[r] for r in missing]

        self._guarded(activity, look)
        return [like if r == self.rank else tensors[r] for r in range(1 + len(self._peers))]

    def _guarded(self, activity: str, look: Callable[[], Sequence[int]]) -> None:
        """Wait until ``look`` finds nobody missing, while another thread may close."""
        # announced before the look: close() sets its flag first and then looks who is inside
        self._is_hearing = True
        try:
            if self._is_closed or look():
                self._wait(f"{activity} of group {self.name!r}", look)
        finally:
            self._is_hearing = False
            if self._is_closed:
                self._free()

    @property
    def is_flushed(self) -> bool:
        """Whether the kernels of the other ranks that are there have all that was told."""
        return not any(
            peer.unsent or doorway.unsent_bytes(peer.sock) for peer in self._peers.values()
        )

    def lost(self) -> list[int]:
        """The ranks of the job whose connections have ended."""
        for peer in self._peers.values():
            peer.read()
        return [self._seat.ranks[r] for r, peer in self._peers.items() if peer.is_gone]

    def _sleep(self, missing: Iterable[int], held_up: Iterable[int]) -> None:
        """Wait a moment for something from those that are missing and not gone, or until one that
        is held up takes something.
        """
        reads = [self._peers[r].sock for r in missing if not self._peers[r].is_gone]
        doorway.nap(reads, [self._peers[r].sock for r in held_up])

    def _wait(self, place: str, look: Callable[[], Sequence[int]]) -> None:
        def missing() -> Sequence[int]:
            if self._is_closed:
                raise CommError(f"{place}: the group was closed meanwhile")
            return look()

        def fates() -> dict[int, str]:
            gone = [self._seat.ranks[r] for r, peer in self._peers.items() if peer.is_gone]
            return dict.fromkeys(gone, "exited or left the group") | self._seat.board.fates()

        wait_with_care(self._seat.board, place, self.timeout_s, missing, fates)

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
        self._seat.leave()

    def on_forked(self) -> None:
        """Let go of the child's copies, which would hide this rank's end from the others."""
        self._is_closed = True
        for peer in self._peers.values():
            peer.sock.close()
