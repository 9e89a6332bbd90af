"""Large exchanges between the first ranks of hosts, made by a thread while the rank computes.

Every two hosts have a connection for it, apart from the one through which they agree (``mesh.py``).
What is sent belongs to a *cargo* (``cargo.py``), by its place among those of the group. Each
message says which, so hosts may send theirs in any order; both directions of all connections are
used at once.

::

    place, round, leg, dtype, elements, codec, bytes that follow      int64 each

A message whose cargo this host has not made yet, or whose memory is still in use, stays in its
connection until it can be taken in. That always comes: a host sends the next round of a cargo only
when it has finished the last one, for which it needed what this host had sent.

An error ends the thread and is raised wherever somebody waits.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import threading
import time
from collections import deque
from typing import Any

from argosy.foundation.errors import CollectiveMismatch, CollectiveTimeout, CommError, PeerLost
from argosy.runtime.comm import fingerprint, forks
from argosy.runtime.comm.backends import doorway
from argosy.runtime.comm.backends.cargo import Cargo
from argosy.runtime.comm.backends.joining import close_all, connect_all
from argosy.runtime.comm.backends.shm.board import LOOK_S, Board, Seat, lonely_seat

_HEAD = struct.Struct("<7q")
_LOW_BYTES = 1 << 17  # of a large message, to wake for: each time costs some 20 us
_JOIN_S = 10.0


class _Trip:
    """A cargo with what has happened to it in this round. ``is_due`` is set by the rank, before
    the thread has seen the round, and taken back with ``done`` by the thread, which owns the rest.
    """

    def __init__(self, cargo: Cargo, num_others: int) -> None:
        self.cargo = cargo
        self.num_others = num_others
        self.round = 0  # the one that is under way or was the last
        self.leg = 0
        self.is_due = False
        self.is_open = False  # between the launch of a round and its end
        self.num_unsent = 0  # hosts that have not got all of this leg
        # by leg, the hosts whose part is there
        self.came: list[set[int]] = [set() for _ in range(cargo.num_legs)]
        self.done = threading.Event()


class _Link:
    """The connection to another host: what is to be sent, and the message that is coming."""

    def __init__(self, host: int, sock: socket.socket) -> None:
        self.host = host
        self.sock = sock
        self.outgoing: deque[tuple[_Trip, list[memoryview]]] = deque()
        self.head = bytearray()
        self.trip: _Trip | None = None  # whose message comes
        self.leg = 0
        self.room = memoryview(b"")
        self.is_held = False  # the message at its front cannot be taken in yet
        self.is_gone = False

    @property
    def can_go_on(self) -> bool:
        """Whether a message has begun and there may be room for it now."""
        return len(self.head) == _HEAD.size and not self.is_held

    @property
    def is_idle(self) -> bool:
        return self.trip is None and not self.head


class Freight:
    """One host's end. ``add``, ``start``, ``wait`` and ``drop`` are called by one thread at a time,
    ``close`` by any.
    """

    def __init__(
        self,
        name: str,
        host: int,
        num_hosts: int,
        store: Any,
        timeout_s: float,
        address: str,
        seat: Seat | None = None,
    ) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self._host = host
        self._own_board: Board | None = None
        if seat is None:
            self._own_board, seat = lonely_seat(host, num_hosts)
        self._seat = seat
        self._error: CommError | None = None  # set once, by the thread or by close
        self._is_closed = False
        self._moved_s = 0.0  # when bytes last came or went
        self._trips: dict[int, _Trip] = {}  # by place; guarded by _lock
        self._started: deque[_Trip] = deque()  # append and popleft are atomic
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        place, prefix = f"joining of group {name!r}", f"argosy/freight/{name}"
        try:
            socks = connect_all(place, prefix, host, store, timeout_s, address, seat)
        except BaseException:
            self._free_board()
            raise
        self._links = {h: _Link(h, sock) for h, sock in socks.items()}
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        forks.register(self)

    # -- called by the rank
    # ----------------------------------------------------------------------------------------------

    def add(self, cargo: Cargo) -> None:
        """Take in what comes for ``cargo`` from now on."""
        with self._lock:
            self._trips[cargo.place] = _Trip(cargo, len(self._links))
        self._ring()

    def drop(self, place: int) -> None:
        """Forget a cargo, which no host will send any more."""
        with self._lock:
            trip = self._trips.pop(place, None)
        if trip is not None and not trip.is_due:
            trip.cargo.drop()

    def start(self, place: int) -> None:
        """Begin a round: the values of this host are there, and stay until ``wait`` returns."""
        trip = self._trips[place]
        trip.done.clear()
        trip.is_due = True
        self._started.append(trip)
        if self._thread is None and not self._is_closed:
            self._thread = threading.Thread(
                target=self._serve, name=f"argosy-freight-{self.name}", daemon=True
            )
            self._thread.start()
        self._ring()

    def wait(self, place: int, activity: str) -> None:
        """Return when the round is over; ``activity`` is what errors call the wait."""
        trip = self._trips[place]
        self._moved_s = max(self._moved_s, time.monotonic())
        while not trip.done.wait(LOOK_S):
            if self._error is not None:
                raise type(self._error)(f"{activity} of group {self.name!r}: {self._error}")
            if time.monotonic() - self._moved_s > self.timeout_s:
                raise CollectiveTimeout(
                    f"{activity} of group {self.name!r}: nothing came from the other hosts for "
                    f"{self.timeout_s:g} s"
                )
        if self._error is not None and trip.is_due:
            raise type(self._error)(f"{activity} of group {self.name!r}: {self._error}")

    def _ring(self) -> None:
        with contextlib.suppress(OSError):  # closed meanwhile
            os.eventfd_write(self._bell, 1)

    # -- the thread
    # ----------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            poll = select.poll()
            poll.register(self._bell, select.POLLIN)
            wanted: dict[int, int] = {}
            while not self._is_closed:
                self._set_out(poll, wanted)
                # what could not be taken in, and now can, has its head here already
                has_more = any(link.can_go_on for link in self._links.values())
                ready = dict(poll.poll(0 if has_more else None))
                if self._bell in ready:
                    os.eventfd_read(self._bell)
                    for link in self._links.values():
                        link.is_held = False
                while self._started:
                    self._launch(self._started.popleft())
                for link in self._links.values():
                    self._push(link)
                    self._take_in(link)
        except CommError as error:
            self._fail(error)
        except Exception as error:
            self._fail(CommError(f"the thread between hosts failed: {error!r}"))

    def _set_out(self, poll: Any, wanted: dict[int, int]) -> None:
        """Tell ``poll`` what each connection is waited for."""
        for link in self._links.values():
            events = 0 if link.is_held or link.is_gone else select.POLLIN
            if link.outgoing:
                events |= select.POLLOUT
            if wanted.get(link.host) != events:
                wanted[link.host] = events
                if events:
                    poll.register(link.sock, events)
                elif link.sock.fileno() >= 0:
                    with contextlib.suppress(KeyError):
                        poll.unregister(link.sock)

    def _launch(self, trip: _Trip) -> None:
        trip.round += 1
        trip.leg, trip.is_open = 0, True
        self._load(trip)

    def _load(self, trip: _Trip) -> None:
        """Put a leg of a cargo on its way."""
        cargo = trip.cargo
        trip.num_unsent = trip.num_others
        for host, views in cargo.outgoing(trip.leg).items():
            link = self._links[host]
            if link.is_gone:
                raise self._lost(link)
            size = sum(view.nbytes for view in views)
            head = _HEAD.pack(cargo.place, trip.round, trip.leg, *cargo.form, size)
            link.outgoing.append((trip, [memoryview(head), *views]))
            self._push(link)
        self._proceed(trip)

    def _push(self, link: _Link) -> None:
        while link.outgoing:
            trip, views = link.outgoing[0]
            try:
                is_sent = doorway.push(link.sock, views)
            except OSError:
                raise self._lost(link) from None
            self._moved_s = time.monotonic()
            if not is_sent:
                return
            link.outgoing.popleft()
            trip.num_unsent -= 1
            self._proceed(trip)

    def _proceed(self, trip: _Trip) -> None:
        """If a leg is complete, add up and go on with the next."""
        if not trip.is_open or trip.num_unsent or len(trip.came[trip.leg]) < trip.num_others:
            return
        trip.cargo.unload(trip.leg)
        trip.came[trip.leg].clear()
        for link in self._links.values():
            link.is_held = False
        if trip.leg + 1 < trip.cargo.num_legs:
            trip.leg += 1
            self._load(trip)
        else:
            trip.is_open = trip.is_due = False
            trip.done.set()

    def _take_in(self, link: _Link) -> None:
        """Read what has come, as long as there is room for it."""
        while not link.is_gone:
            if link.trip is None and not self._begin_message(link):
                return
            assert link.trip is not None
            if link.room.nbytes:
                count = self._read(link, link.room)
                if not count:
                    return
                link.room = link.room[count:]
                self._sleep_until_some(link)
                if link.room.nbytes:
                    return  # less than there was room for: nothing is left
            trip, leg = link.trip, link.leg
            link.trip, link.room = None, memoryview(b"")
            trip.came[leg].add(link.host)
            self._proceed(trip)

    def _sleep_until_some(self, link: _Link) -> None:
        """Wake for a good part of the message, not for each packet. A kernel whose buffer is not
        much larger would shrink the window to that part.
        """
        held = link.sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        low = min(link.room.nbytes, held // 8, _LOW_BYTES) or 1
        link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low)

    def _begin_message(self, link: _Link) -> bool:
        """Read the head of the next message; False if it has not come, or has to wait."""
        if len(link.head) < _HEAD.size:
            rest = bytearray(_HEAD.size - len(link.head))
            count = self._read(link, memoryview(rest))
            link.head += rest[:count]
            if len(link.head) < _HEAD.size:
                return False
        place, number, leg, *form, size = _HEAD.unpack(link.head)
        with self._lock:
            trip = self._trips.get(place)
        # a host that is ahead of this one: its message waits
        if trip is None or leg not in range(trip.cargo.num_legs) or link.host in trip.came[leg]:
            link.is_held = True
            return False
        room = trip.cargo.incoming(leg, link.host)
        if form != trip.cargo.form or size != room.nbytes:
            raise self._mismatch(link, place, number, form)
        link.head.clear()
        link.trip, link.leg, link.room = trip, leg, room
        return True

    def _read(self, link: _Link, view: memoryview) -> int:
        try:
            count = link.sock.recv_into(view, 0, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except OSError:  # reset: by a host that is gone
            count = 0
        self._moved_s = time.monotonic()
        if not count:
            link.is_gone = True
            with self._lock:
                is_awaited = any(trip.is_due for trip in self._trips.values())
            if is_awaited or not link.is_idle:
                raise self._lost(link)
        return count

    def _lost(self, link: _Link) -> PeerLost:
        rank = self._seat.ranks[link.host]
        return PeerLost(f"{self._seat.board.who(rank)} exited or left the group")

    def _mismatch(
        self, link: _Link, place: int, number: int, form: list[int]
    ) -> CollectiveMismatch:
        own = self._trips[place].cargo.form

        def side(rank: int, said: list[int]) -> str:
            how = "as they are" if said[2] < 0 else f"in form {said[2]}"
            return f"rank {rank}: {fingerprint.tensor_text(said[0], said[1])} {how}"

        mine, theirs = self._seat.ranks[self._host], self._seat.ranks[link.host]
        return CollectiveMismatch(
            f"bucket {place} in round {number}: hosts exchange different things.\n  "
            f"{side(mine, own)}   {side(theirs, form)}"
        )

    # -- the end
    # ----------------------------------------------------------------------------------------------

    def _fail(self, error: CommError) -> None:
        if self._error is None:
            self._error = error
        with self._lock:
            trips = list(self._trips.values())
        for trip in trips:
            trip.done.set()  # whoever waits finds the error

    def close(self) -> None:
        """Leave: waits end with CommError, those of the other hosts with PeerLost."""
        if self._is_closed:
            return
        self._is_closed = True
        self._fail(CommError("the group was closed meanwhile"))
        self._ring()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_JOIN_S)
        close_all([link.sock for link in self._links.values()])
        os.close(self._bell)
        self._free_board()

    def _free_board(self) -> None:
        if self._own_board is not None:
            self._own_board.close()

    def on_forked(self) -> None:
        """Let go of the child's copies, which would hide this rank's end from the others."""
        if self._is_closed:
            return
        self._is_closed = True
        close_all([link.sock for link in self._links.values()])
        os.close(self._bell)
