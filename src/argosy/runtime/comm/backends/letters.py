"""Messages between two ranks of a gloo group, each with a head that the receiver compares with what
it expects.

gloo writes whatever comes into the receiver's memory: another dtype becomes another number, another
size ends the process. So messages have connections of their own, one for each ordered pair of ranks
that uses it, which the sender opens with its first. A receiver that waits for that opens its own to
the sender meanwhile, whose end shows that the sender is gone. Different peers and directions are
independent and may be used by different threads at once. What the kernel's buffers hold is sent
before the receiver asks for it.

::

    head, int64: code of the dtype, number of elements
    the elements
"""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from argosy.foundation.errors import CollectiveMismatch, CommError, PeerLost
from argosy.runtime.comm import fingerprint, forks
from argosy.runtime.comm.arguments import describe
from argosy.runtime.comm.backends import doorway
from argosy.runtime.comm.backends.doorway import Doorway, bytes_of
from argosy.runtime.comm.backends.shm.board import LOOK_S, Seat, lonely_seat
from argosy.runtime.comm.backends.shm.care import await_keys, wait_with_care

_HEAD = struct.Struct("<2q")


class Letters:
    """One rank's ends of the connections. ``send`` and ``recv`` are called by one thread per peer
    and direction, ``close`` by any.
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
        self._rank = rank
        self._store = store
        self.timeout_s = timeout_s
        self._seat = seat = seat or lonely_seat(rank, world_size)
        self._lock = threading.Lock()
        self._to: dict[int, socket.socket] = {}  # guarded by _lock
        self._from: dict[int, socket.socket] = {}  # guarded by _lock
        # one connection to each rank: its sender, and who receives from it, may both want it
        self._connecting = [threading.Lock() for _ in range(world_size)]
        self._num_inside = 0  # guarded by _lock
        self._is_closed = False
        self._door = Doorway(address)
        store.set(self._card_key(rank), self._door.card)
        forks.register(self)
        if seat.board.distant is not None:
            seat.board.distant.watch(self)

    def _card_key(self, rank: int) -> str:
        return f"argosy/letters/{self.name}/{rank}"

    def _complaint_key(self, src: int, dst: int) -> str:
        return f"argosy/letters/{self.name}/{src}/{dst}"

    # -- messages
    # --------------------------------------------------------------------------------------------

    def send(self, tensor: torch.Tensor, raw: torch.Tensor, dst: int) -> None:
        """Send ``raw``, the bytes of ``tensor``."""
        activity = f"send to rank {dst}"
        with self._inside(activity):
            sock = self._connected(activity, dst)
            head = _HEAD.pack(fingerprint.CODE_BY_DTYPE[tensor.dtype], tensor.numel())
            views = [memoryview(head), bytes_of(raw)]
            is_gone = False

            def look() -> list[int]:
                nonlocal is_gone
                try:
                    if doorway.push(sock, views):
                        return []
                    if not is_gone:
                        doorway.nap((), [sock])
                except OSError:
                    is_gone = True
                return [dst]

            self._wait(activity, look, lambda: self._refused(dst) if is_gone else [])

    def _refused(self, dst: int) -> list[int]:
        """Rank ``dst``, which has hung up; CollectiveMismatch if it has said why."""
        key = self._complaint_key(self._rank, dst)
        if self._store.check([key]):
            raise CollectiveMismatch(self._store.get(key).decode())
        return [dst]

    def recv(self, tensor: torch.Tensor, raw: torch.Tensor, src: int) -> None:
        """Fill ``raw``, the bytes of ``tensor``."""
        activity = f"recv from rank {src}"
        with self._inside(activity):
            sock = self._from.get(src) or self._accept(activity, src)
            head = bytearray(_HEAD.size)
            self._fill(activity, sock, memoryview(head), src)
            dtype, count = _HEAD.unpack(head)
            if (dtype, count) != (fingerprint.CODE_BY_DTYPE[tensor.dtype], tensor.numel()):
                text = (
                    f"{activity}: rank {self._rank} expects {describe(tensor)}, but rank {src} "
                    f"sent {fingerprint.tensor_text(dtype, count)}"
                )
                # before this rank leaves, which may break a send under way
                self._store.set(self._complaint_key(src, self._rank), text)
                raise CollectiveMismatch(text)
            self._fill(activity, sock, bytes_of(raw), src)

    def _fill(self, activity: str, sock: socket.socket, view: memoryview, src: int) -> None:
        is_gone = False

        def look() -> list[int]:
            nonlocal view, is_gone
            while view.nbytes and not is_gone:
                try:
                    count = sock.recv_into(view, 0, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    doorway.nap([sock])
                    return [src]
                except OSError:  # reset: by a rank that is gone
                    count = 0
                view = view[count:]
                is_gone = not count
            return [src] if view.nbytes else []

        self._wait(activity, look, lambda: [src] if is_gone else [])

    # -- connections
    # -----------------------------------------------------------------------------------------

    def _connected(self, activity: str, dst: int) -> socket.socket:
        """The connection through which this rank sends to ``dst``."""
        with self._connecting[dst]:
            if dst not in self._to:
                self._connect(activity, dst)
            return self._to[dst]

    def _connect(self, activity: str, dst: int) -> None:
        place = f"{activity} in group {self.name!r}"
        key = self._card_key(dst)
        await_keys(
            self._store, {self._seat.ranks[dst]: key}, self._seat.board, place, self.timeout_s
        )
        card = self._store.get(key)
        host, port = doorway.place_of(card)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            self._await_connection(activity, sock, (host, port), dst)
            doorway.settle(sock)
            # fits into the buffer of a new connection
            sock.sendall(doorway.words_for(card, self._rank))
        except BaseException:
            sock.close()
            raise
        self._keep(self._to, dst, sock)

    def _await_connection(
        self, activity: str, sock: socket.socket, where: tuple[str, int], dst: int
    ) -> None:
        failure = sock.connect_ex(where)

        def look() -> list[int]:
            nonlocal failure
            if failure == errno.EINPROGRESS:
                poll = select.poll()
                poll.register(sock, select.POLLOUT)
                if poll.poll(LOOK_S * 1000):
                    failure = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if failure not in (0, errno.EINPROGRESS, errno.ECONNREFUSED, errno.ECONNRESET):
                raise CommError(
                    f"{activity} in group {self.name!r}: rank {self._seat.board.rank} cannot "
                    f"connect to {where[0]} port {where[1]}, where rank {dst} listens: "
                    f"{errno.errorcode.get(failure, failure)}.\n  The hosts of a job must reach "
                    "each other at every port."
                )
            return [dst] if failure else []

        # nobody listens any more where a rank of the group did
        hung_up = (errno.ECONNREFUSED, errno.ECONNRESET)
        self._wait(activity, look, lambda: [dst] if failure in hung_up else [])

    def _accept(self, activity: str, src: int) -> socket.socket:
        def look() -> list[int]:
            if src not in self._from:
                for rank, sock in self._door.look():
                    doorway.settle(sock)
                    self._keep(self._from, rank, sock)
            return [] if src in self._from else [src]

        def has_come() -> bool:
            """It comes in, then it says who it is; also one that has gone since."""
            return not look() or not look()

        if has_come():
            return self._from[src]
        try:
            line = self._connected(activity, src)
        except PeerLost:
            if has_come():
                return self._from[src]
            raise
        self._wait(
            activity, look, lambda: [src] if doorway.has_ended(line) and not has_come() else []
        )
        return self._from[src]

    def _keep(self, ends: dict[int, socket.socket], rank: int, sock: socket.socket) -> None:
        with self._lock:
            if rank in ends:
                sock.close()
            else:
                ends[rank] = sock

    @property
    def is_flushed(self) -> bool:
        """Whether the kernels of the receivers have all that was sent."""
        with self._lock:
            return not any(map(doorway.unsent_bytes, self._to.values()))

    # -- waiting
    # ---------------------------------------------------------------------------------------------

    def _wait(
        self,
        activity: str,
        look: Callable[[], Sequence[int]],
        gone: Callable[[], Sequence[int]] | None = None,
    ) -> None:
        """Wait with care until ``look`` returns no rank of the group. ``gone`` has those that have
        left where a connection knows it: what an exited process has sent still comes.
        """
        ranks, board = self._seat.ranks, self._seat.board
        place = f"{activity} of group {self.name!r}"

        def missing() -> list[int]:
            if self._is_closed:
                raise CommError(f"{place}: the group was closed meanwhile")
            return [ranks[r] for r in look()]

        def fates() -> dict[int, str]:
            if gone is None:
                return board.fates()
            return {ranks[r]: "exited or left the group" for r in gone()}

        if missing():
            wait_with_care(board, place, self.timeout_s, missing, fates)

    @contextlib.contextmanager
    def _inside(self, activity: str) -> Iterator[None]:
        with self._lock:
            if self._is_closed:
                raise CommError(f"{activity} of group {self.name!r}: the group is closed")
            self._num_inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._num_inside -= 1
                is_last = self._is_closed and not self._num_inside
            if is_last:
                self._free()

    # -- the end
    # ---------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Hang up; calls of other threads end with CommError."""
        with self._lock:
            self._is_closed = True
            is_last = not self._num_inside
        if is_last:  # else the last call does it
            self._free()

    def _free(self) -> None:
        self._door.close()
        with self._lock:
            for sock in (*self._to.values(), *self._from.values()):
                sock.close()
        self._seat.leave()

    def on_forked(self) -> None:
        """Let go of the child's copies, which would hide this rank's end from the others."""
        self._lock = threading.Lock()  # another thread may have held it
        self._is_closed = True
        self._door.on_forked()
        for sock in (*self._to.values(), *self._from.values()):
            sock.close()
