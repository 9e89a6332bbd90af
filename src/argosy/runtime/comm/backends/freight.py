"""Large exchanges between the first ranks of hosts, made by a thread while the rank computes.

Every two hosts have a connection for it, apart from the one through which they agree (``mesh.py``).
What is sent belongs to a *cargo* (``cargo.py``, ``factor_cargo.py``), by its place among those of
the group. A message is one of its parcels and says which, so hosts may send theirs in any order;
both directions of all connections are used at once. It is encoded when the connection has taken the
one before, and added up when it has come.

::

    place, round, leg, dtype, elements, codec, parcel, is packed, bytes that follow    int64 each

A message whose cargo this host has not made yet, or whose memory is still in use, stays in its
connection until it can be taken in. That always comes: a host sends the next round of a cargo only
when it has finished the last one, for which it needed what this host had sent.

Numbers are packed, without loss (``packing.py``), if the connection was slow when it was last full
and the rank had to wait for the round before: each host finds that for itself. Levels of 8 bits,
whose packing takes longer, only while there is enough on its way. What comes packed lies where its
values are to be, and is unpacked when the rank waits: until then it needs the processor itself.

Whoever works with the connections has the *turn*, a lock: the thread, but while it sleeps. The rank
takes it, if it is free, to send the first messages of a round.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from argosy.foundation.errors import CollectiveMismatch, CollectiveTimeout, CommError, PeerLost
from argosy.runtime.comm import fingerprint, forks
from argosy.runtime.comm.backends import doorway
from argosy.runtime.comm.backends.cargo import Cargo, Parcel
from argosy.runtime.comm.backends.factor_cargo import FactorCargo, FactorParcel
from argosy.runtime.comm.backends.joining import close_all, connect_all
from argosy.runtime.comm.backends.packing import DEAR, Pace, Packer
from argosy.runtime.comm.backends.shm.board import LOOK_S, Seat, lonely_seat

_HEAD = struct.Struct("<9q")
_LOW_BYTES = 1 << 19  # of a large message, to wake for: each time costs some 20 us
# that the rank sends itself: 8 ms of a wire of 1 Gb/s, in which the thread comes
_FIRST_MESSAGES = 2
# What a slow connection is given ahead, as long. What it is not given yet is encoded later, when
# the rank may have nothing better to do.
_AHEAD_BYTES = 1 << 20
_NO_LIMIT = (1 << 31) - 1
_BUSY_BYTES = 1 << 19  # that keep a slow connection busy while the next message is packed
_JOIN_S = 10.0


class _Trip:
    """A cargo and its round. ``is_due`` is set by the rank, before the round is launched, and taken
    back with ``done`` when it is over. ``is_awaited`` is the rank's; the rest belongs to whoever
    has the turn.
    """

    def __init__(self, cargo: Cargo | FactorCargo, num_others: int) -> None:
        self.cargo = cargo
        self.round = 0  # the one that is under way or was the last
        self.is_due = False
        self.is_awaited = False  # the last round was not over when the rank came to wait for it
        self.num_open = 0  # parcels that are under way
        parcels: Sequence[Parcel | FactorParcel] = cargo.parcels
        self.rides = [
            _Ride(self, number, parcel, num_others) for number, parcel in enumerate(parcels)
        ]
        self.done = threading.Event()


class _Ride:
    """A parcel with what has happened to it in this round."""

    def __init__(
        self, trip: _Trip, number: int, parcel: Parcel | FactorParcel, num_others: int
    ) -> None:
        self.trip = trip
        self.number = number
        self.parcel = parcel
        self.num_others = num_others
        self.leg = 0
        self.is_open = False  # between the launch of a round and its end
        self.is_loaded = False
        self.num_unsent = 0  # hosts that have not got all of this leg
        # by leg, the hosts whose part is there
        self.came: list[set[int]] = [set() for _ in range(parcel.num_legs)]
        # by leg, how many of them are packed as they came
        self.num_put_off = [0] * parcel.num_legs


@dataclass(frozen=True)
class _Packed:
    """A packed message that lies where its values are to be."""

    ride: _Ride
    leg: int
    link: _Link
    num_bytes: int


class _Link:
    """The connection to another host: what is to be sent, and the message that is coming."""

    def __init__(self, host: int, sock: socket.socket) -> None:
        self.host = host
        self.sock = sock
        self.outgoing: deque[_Ride] = deque()
        self.leaving: list[memoryview] = []  # what is left of the message at its front
        self.packed_out, self.packed_in = Packer(), Packer()  # the first has what is being sent
        self.head = bytearray()
        self.ride: _Ride | None = None  # whose message comes
        self.leg = 0
        self.packed_bytes = 0  # of the message that comes, 0 if it comes as it is
        self.room = memoryview(b"")
        self.is_held = False  # the message at its front cannot be taken in yet
        self.is_gone = False
        self.pace = Pace()

    @property
    def can_go_on(self) -> bool:
        """Whether a message has begun and there may be room for it now."""
        return len(self.head) == _HEAD.size and not self.is_held

    @property
    def is_idle(self) -> bool:
        return self.ride is None and not self.head

    def push(self) -> bool:
        """Send as much of the message at the front as the kernel takes; whether that was all."""
        began_s, before = time.monotonic(), sum(map(len, self.leaving))
        is_sent = doorway.push(self.sock, self.leaving)
        num_bytes = before - sum(map(len, self.leaving))
        is_last = is_sent and len(self.outgoing) == 1
        was_slow = self.pace.is_slow
        self.pace.note(began_s, time.monotonic(), num_bytes, not is_sent, is_last)
        if self.pace.is_slow != was_slow:
            ahead_bytes = _AHEAD_BYTES if self.pace.is_slow else _NO_LIMIT
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, ahead_bytes)
        return is_sent


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
        self._seat = seat = seat or lonely_seat(host, num_hosts)
        self._error: CommError | None = None  # set once, by the thread or by close
        self._is_closed = False
        self._moved_s = 0.0  # when bytes last came or went
        self._trips: dict[int, _Trip] = {}  # by place; guarded by _lock
        self._started: deque[_Trip] = deque()  # append and popleft are atomic
        self._lock = threading.Lock()
        # held by whoever works with the connections: the thread, but while it sleeps, or the rank
        self._turn = threading.Lock()
        self._is_away = False  # the rank computes: from ``start`` on until it attends
        # packed messages that have come while it did; of whoever has the turn
        self._put_off: deque[_Packed] = deque()
        self._thread: threading.Thread | None = None
        place, prefix = f"joining of group {name!r}", f"argosy/freight/{name}"
        try:
            socks = connect_all(place, prefix, host, store, timeout_s, address, seat)
        except BaseException:
            self._seat.leave()
            raise
        self._links = {h: _Link(h, sock) for h, sock in socks.items()}
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        forks.register(self)

    # -- called by the rank
    # ----------------------------------------------------------------------------------------------

    def add(self, cargo: Cargo | FactorCargo) -> None:
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
        """Begin a round: the values of this host are there, and stay until ``wait`` returns.

        The first messages are sent by the rank itself if nothing else is on its way: where it
        keeps the processor busy, the thread may come to run only milliseconds later, and until
        then the wire would be idle.
        """
        trip = self._trips[place]
        trip.done.clear()
        trip.is_due = True
        self._started.append(trip)
        self._is_away = True
        if self._turn.acquire(blocking=False):
            try:
                self._send_first()
            finally:
                self._turn.release()
        if self._thread is None and not self._is_closed:
            self._thread = threading.Thread(
                target=self._serve, name=f"argosy-freight-{self.name}", daemon=True
            )
            self._thread.start()
        self._ring()

    def _send_first(self) -> None:
        """Give idle connections something to do, with the turn."""
        if self._is_closed or self._error is not None:
            return
        with self._failing():
            self._launch_all()
            for link in self._links.values():
                if not link.leaving:
                    for _ in range(_FIRST_MESSAGES):
                        self._push(link)

    def attend(self, places: Sequence[int]) -> bool:
        """Say that the rank has come to wait for these rounds, so that what was put off is done;
        whether they are over.
        """
        if self._is_away:
            self._is_away = False
            if self._put_off:
                self._ring()
        return all(map(self.is_over, places))

    def is_over(self, place: int) -> bool:
        """Whether the round that was started last is over, and nothing has failed."""
        return self._error is None and self._trips[place].done.is_set()

    def expect(self, places: Sequence[int]) -> None:
        """Say which rounds are about to be waited for. If some are not over, the next ones of all
        should be faster: they are packed where that helps.
        """
        is_awaited = not self.attend(places)
        for place in places:
            self._trips[place].is_awaited = is_awaited

    def wait(self, place: int, activity: str) -> None:
        """Return when the round is over; ``activity`` is what errors call the wait."""
        trip = self._trips[place]
        self.attend([place])
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
        with self._failing():
            poll = select.poll()
            poll.register(self._bell, select.POLLIN)
            wanted: dict[int, int] = {}
            while not self._is_closed and self._error is None:
                with self._turn:
                    self._set_out(poll, wanted)
                    # what could not be taken in, and now can, has its head here already
                    has_more = any(link.can_go_on for link in self._links.values())
                    has_more |= bool(self._put_off) and not self._is_away
                ready = dict(poll.poll(0 if has_more else None))
                with self._turn:
                    self._work(ready)

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Keep an error for whoever waits."""
        try:
            yield
        except CommError as error:
            self._fail(error)
        except Exception as error:
            self._fail(CommError(f"the exchange between hosts failed: {error!r}"))

    def _work(self, ready: dict[int, int]) -> None:
        """Do what can be done for the events that came."""
        if self._bell in ready:
            os.eventfd_read(self._bell)
            for link in self._links.values():
                link.is_held = False
        self._launch_all()
        for link in self._links.values():
            events = ready.get(link.sock.fileno(), 0)
            # a message is encoded before there is room for it
            if events & select.POLLOUT or not link.leaving:
                self._push(link)
            if events & ~select.POLLOUT or link.can_go_on:
                self._take_in(link)
        if self._put_off and not self._is_away:  # one at a time, as above
            self._unpack(self._put_off.popleft())

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

    def _launch_all(self) -> None:
        while self._started:
            self._launch(self._started.popleft())

    def _launch(self, trip: _Trip) -> None:
        trip.round += 1
        trip.num_open = len(trip.rides)
        for ride in trip.rides:
            ride.leg, ride.is_open = 0, True
            self._queue(ride)

    def _queue(self, ride: _Ride) -> None:
        """Have a leg of a parcel sent."""
        ride.num_unsent, ride.is_loaded = ride.num_others, False
        for link in self._links.values():
            if link.is_gone:
                raise self._lost(link)
            link.outgoing.append(ride)

    def _push(self, link: _Link) -> None:
        """Go on with the message at the front. One at a time, so that what comes has its turn."""
        if not link.outgoing:
            return
        ride = link.outgoing[0]
        if not link.leaving:
            link.leaving = self._message(link, ride)
        try:
            is_sent = link.push()
        except OSError:
            raise self._lost(link) from None
        self._moved_s = time.monotonic()
        if is_sent:
            link.outgoing.popleft()
            ride.num_unsent -= 1
            self._proceed(ride)

    def _message(self, link: _Link, ride: _Ride) -> list[memoryview]:
        cargo = ride.trip.cargo
        if not ride.is_loaded:
            ride.parcel.load(ride.leg)
            ride.is_loaded = True
        views = ride.parcel.outgoing(ride.leg, link.host)
        is_packed = False
        dtype = self._packed_as(link, ride.trip)
        if dtype is not None:
            before, _ = ride.parcel.plain_out(ride.leg, link.host)
            packed = link.packed_out.pack(views[0][before:], dtype)
            is_packed = packed is not None
            views = views if packed is None else [views[0][:before], packed, *views[1:]]
        size = sum(map(len, views))
        head = _HEAD.pack(
            cargo.place, ride.trip.round, ride.leg, *cargo.form, ride.number, is_packed, size
        )
        return [memoryview(head), *views]

    def _packed_as(self, link: _Link, trip: _Trip) -> torch.dtype | None:
        """The numbers that are to be packed, if they are."""
        dtype = trip.cargo.packable
        if not (link.pace.is_slow and trip.is_awaited):
            return None
        # an idle wire does not wait for what saves it little time
        is_late = dtype in DEAR and doorway.unsent_bytes(link.sock) < _BUSY_BYTES
        return None if is_late else dtype

    def _proceed(self, ride: _Ride) -> None:
        """If a leg is complete, add up and go on with the next."""
        if not ride.is_open or ride.num_unsent or ride.num_put_off[ride.leg]:
            return
        if len(ride.came[ride.leg]) < ride.num_others:
            return
        ride.parcel.unload(ride.leg)
        ride.came[ride.leg].clear()
        for link in self._links.values():
            link.is_held = False
        trip = ride.trip
        if ride.leg + 1 < trip.cargo.num_legs:
            ride.leg += 1
            self._queue(ride)
            return
        ride.is_open = False
        trip.num_open -= 1
        if not trip.num_open:
            trip.is_due = False
            trip.done.set()

    def _take_in(self, link: _Link) -> None:
        """Read what has come of a message, if there is room for it."""
        if link.is_gone or (link.ride is None and not self._begin_message(link)):
            return
        ride, leg = link.ride, link.leg
        assert ride is not None
        if link.room.nbytes:
            link.room = link.room[self._read(link, link.room) :]
            self._sleep_until_some(link)
            if link.room.nbytes:
                return
        link.ride = None
        ride.came[leg].add(link.host)
        if not link.packed_bytes:
            if not ride.parcel.reads(leg, link.host):
                raise self._unreadable(link)
            self._proceed(ride)
            return
        ride.num_put_off[leg] += 1
        packed = _Packed(ride, leg, link, link.packed_bytes)
        if self._is_away and leg + 1 == ride.trip.cargo.num_legs:
            # it came over a slow connection, for which the rank will wait: now it computes
            self._put_off.append(packed)
        else:
            self._unpack(packed)

    def _unpack(self, packed: _Packed) -> None:
        ride, leg, host = packed.ride, packed.leg, packed.link.host
        dtype, plain = ride.trip.cargo.packable, ride.parcel.plain_in(leg, host)
        room = ride.parcel.incoming(leg, host)
        if (
            dtype is None
            or packed.num_bytes < sum(plain)
            or not packed.link.packed_in.unpack(packed.num_bytes, room, dtype, *plain)
        ):
            raise self._unreadable(packed.link)
        ride.num_put_off[leg] -= 1
        self._proceed(ride)

    def _sleep_until_some(self, link: _Link) -> None:
        """Wake for a good part of the message, not for each packet. A kernel whose buffer is not
        much larger would shrink the window to that part.
        """
        held = link.sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        low = min(link.room.nbytes or _HEAD.size, held // 8, _LOW_BYTES)
        link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low)

    def _begin_message(self, link: _Link) -> bool:
        """Read the head of the next message; False if it has not come, or has to wait."""
        if len(link.head) < _HEAD.size:
            rest = bytearray(_HEAD.size - len(link.head))
            count = self._read(link, memoryview(rest))
            link.head += rest[:count]
            if len(link.head) < _HEAD.size:
                return False
        place, number, leg, *form, parcel, is_packed, size = _HEAD.unpack(link.head)
        with self._lock:
            trip = self._trips.get(place)
        if trip is None:  # the other host is ahead of this one: its message waits
            link.is_held = True
            return False
        if form != trip.cargo.form:
            raise self._mismatch(link, place, number, form)
        if parcel not in range(len(trip.rides)) or leg not in range(trip.cargo.num_legs):
            raise self._unreadable(link)
        ride = trip.rides[parcel]
        if link.host in ride.came[leg]:  # the same
            link.is_held = True
            return False
        room = ride.parcel.incoming(leg, link.host)
        # what is packed is shorter
        if not (0 < size < room.nbytes if is_packed else ride.parcel.expects(leg, link.host, size)):
            raise self._unreadable(link)
        link.head.clear()
        link.ride, link.leg, link.packed_bytes = ride, leg, size if is_packed else 0
        link.room = room[:size]
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

    def _unreadable(self, link: _Link) -> CommError:
        rank = self._seat.ranks[link.host]
        return CommError(f"{self._seat.board.who(rank)} sent a message that cannot be read")

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
        # a rank that sends is done in a moment; if this is a handler of a signal that has stopped
        # it meanwhile, it will not be
        has_turn = self._turn.acquire(timeout=_JOIN_S)
        close_all([link.sock for link in self._links.values()])
        os.close(self._bell)
        self._seat.leave()
        if has_turn:
            self._turn.release()

    def on_forked(self) -> None:
        """Let go of the child's copies, which would hide this rank's end from the others."""
        if self._is_closed:
            return
        self._is_closed = True
        close_all([link.sock for link in self._links.values()])
        os.close(self._bell)
