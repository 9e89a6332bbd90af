"""The serving side of the store: one dictionary, one thread, no thread per client.

Sets of one key are seen by all clients in one order. A ``get`` waits here, without polling, until
its keys are there.

What others can make this thread hold is bounded: connections by number, those of strangers also by
time, values and replies by bytes. If the thread dies all the same, ``check`` tells its owner why.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import resource
import secrets
import selectors
import socket
import threading
import time

from argosy.foundation import clock
from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import Endpoint, endpoint_of
from argosy.foundation.errors import CommError, UsageError
from argosy.runtime.comm import forks, frames, store_values
from argosy.runtime.comm.frames import BadFrame, Frame
from argosy.runtime.comm.store_values import Values

_log = logging.getLogger(__name__)

_HANDSHAKE_S = 5.0  # a stranger may keep a connection open for so long
_MAX_STRANGERS = 64  # at once; a member is a stranger for one round trip
_SEND_S = 60.0  # a member that takes nothing of its reply for so long is dropped
_MAX_UNSENT_BYTES = 1 << 30  # of all replies together that wait for their readers
_LARGE_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_LONGEST_NAP_S = 3600.0  # epoll counts milliseconds in 32 bits
_PAUSE_S = 0.25  # before the next attempt to accept when descriptors have run out
_NOTES_S = 10.0
_MAX_NOTES = 20  # lines of the log in that time
_PEER_IS_GONE = (errno.ECONNABORTED, errno.EAGAIN, errno.EINTR, errno.EPROTO)


class StoreFailed(CommError):
    """The thread that serves the store has died; the message has the reason."""


class _Peer:
    """One connection on the server's side."""

    def __init__(self, sock: socket.socket, name: str) -> None:
        self.sock = sock
        self.name = name
        self.challenge = secrets.token_bytes(frames.CHALLENGE_BYTES)
        self.is_trusted = False
        self.handshake = Deadline.after(_HANDSHAKE_S)
        self.received = bytearray()
        self.unsent = bytearray()
        self.unsent_until = Deadline.never()
        self.request: Frame | None = None  # a GET or WAIT whose keys are not all there yet
        self.request_until = Deadline.never()

    @property
    def next_event(self) -> Deadline:
        """When something is due for this peer by itself."""
        if not self.is_trusted:
            return self.handshake
        return self.unsent_until if self.unsent else self.request_until


class _Notes:
    """Warnings about peers, at most a few in a while: a flood of strangers is not to become one of
    lines.
    """

    def __init__(self) -> None:
        self._until = Deadline.after(_NOTES_S)
        self._num_said = self._num_unsaid = 0

    def warn(self, line: str) -> None:
        if self._until.expired:
            self.flush()
            self._until, self._num_said = Deadline.after(_NOTES_S), 0
        if self._num_said == _MAX_NOTES:
            self._num_unsaid += 1
            return
        self._num_said += 1
        _log.warning("%s", line)

    def flush(self) -> None:
        if self._num_unsaid:
            _log.warning("%d more warnings like these were left out", self._num_unsaid)
        self._num_unsaid = 0


class StoreServer:
    """Serves the store on ``listener``, which it takes over, until ``close()``. All state belongs
    to its thread.

    ``token`` must be known to every client; whoever does not know it is turned away and logged. The
    owner looks at ``check()`` now and then; ``sentinel`` is a descriptor that becomes readable when
    the thread ends.
    """

    def __init__(self, listener: socket.socket, token: str) -> None:
        if not token:
            raise UsageError("StoreServer: the token must not be empty")
        self.endpoint = endpoint_of(listener)
        self._token = token
        self._listener = listener
        self._held = Values()
        self._peers: dict[socket.socket, _Peer] = {}
        # those of _peers that are not trusted, oldest first
        self._strangers: dict[socket.socket, _Peer] = {}
        # those that wait for a key, or for the rest of a reply
        self._busy: dict[socket.socket, _Peer] = {}
        self._max_strangers, self._max_members = _room()
        self._listen_again: Deadline | None = None  # the listener rests until then
        self._notes = _Notes()
        self._error: BaseException | None = None
        self._is_told = False
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = socket.socketpair()
        self.sentinel = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._is_closing = threading.Event()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._thread = threading.Thread(
            target=self._serve, name=f"argosy-store-{self.endpoint.port}", daemon=True
        )
        self._thread.start()
        forks.register(self)

    @property
    def port(self) -> int:
        return self.endpoint.port

    def check(self) -> None:
        """Raise StoreFailed if the thread has died; costs nothing."""
        if self._error is not None:
            self._is_told = True
            raise StoreFailed(
                f"the store of the job at {self.endpoint} failed: {self._error!r}"
            ) from self._error

    def close(self) -> None:
        """Stop serving and close every socket; clients get CommError. Raises StoreFailed if
        ``check`` has not done so before.
        """
        if not self._is_closing.is_set():
            self._is_closing.set()
            with contextlib.suppress(OSError):  # a thread that died has closed the other end
                self._wake_write.send(b"x")
            self._thread.join()
            self._wake_write.close()
            os.close(self.sentinel)
        if not self._is_told:
            self.check()

    def on_forked(self) -> None:
        """In a child that was forked from the server's process: the parent serves on, and a port is
        not kept by the child.
        """
        self._is_closing.set()
        self._is_told = True
        self._listener.close()
        self._wake_write.close()
        self._wake_read.close()

    def __enter__(self) -> StoreServer:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- the thread
    # ---------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            while not self._is_closing.is_set():
                for key, events in self._selector.select(self._nap_s()):
                    self._turn_to(key.fileobj, events)
                self._expire()
        except BaseException as error:
            self._error = error
            _log.exception("the store at %s stops serving", self.endpoint)
        finally:
            self._notes.flush()
            for peer in list(self._peers.values()):
                self._drop(peer)
            self._selector.close()
            self._listener.close()
            self._wake_read.close()
            os.eventfd_write(self.sentinel, 1)

    def _turn_to(self, source: object, events: int) -> None:
        if source is self._listener:
            self._accept()
            return
        # none: the wake-up call, or a peer that another one's event of this round has ended
        peer = self._peers.get(source)  # type: ignore[call-overload]
        if peer is not None:
            self._attend(peer, events)

    def _nap_s(self) -> float:
        """How long nothing can happen by itself."""
        waits = [peer.next_event for peer in (*self._strangers.values(), *self._busy.values())]
        if self._listen_again is not None:
            waits.append(self._listen_again)
        return min([_LONGEST_NAP_S, *(wait.remaining_s() for wait in waits)])

    def _expire(self) -> None:
        if self._listen_again is not None and self._listen_again.expired:
            self._listen_again = None
            self._selector.register(self._listener, selectors.EVENT_READ)
        late = [
            p for p in (*self._strangers.values(), *self._busy.values()) if p.next_event.expired
        ]
        for peer in late:
            if not peer.is_trusted:
                self._turn_away(peer, "it did not prove that it knows the token in time")
            elif peer.unsent:
                self._turn_away(peer, f"it took nothing of its reply for {_SEND_S:g} s")
            elif peer.request is not None:
                missing = next((k for k in peer.request.fields if k not in self._held), b"")
                self._end_wait(peer)
                self._reply(peer, Frame(frames.TIMED_OUT, 0, (missing,)))

    def _accept(self) -> None:
        try:
            sock, address = self._listener.accept()
        except OSError as error:
            if error.errno not in _PEER_IS_GONE:
                self._pause(error)
            return
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        except OSError:  # reset meanwhile
            sock.close()
            return
        if len(self._strangers) >= self._max_strangers:
            oldest = next(iter(self._strangers.values()))
            self._turn_away(
                oldest, f"{self._max_strangers} strangers were there, and it was the first to come"
            )
        peer = self._peers[sock] = self._strangers[sock] = _Peer(sock, str(Endpoint(*address[:2])))
        self._selector.register(sock, selectors.EVENT_READ)
        self._reply(peer, Frame(frames.HELLO, 0, (peer.challenge,)))

    def _pause(self, error: OSError) -> None:
        """Stop listening for a moment: what cannot be accepted stays readable, and the loop would
        spin.
        """
        self._notes.warn(
            f"the store at {self.endpoint} cannot accept connections: {error}; it tries again. "
            "If descriptors have run out, raise `ulimit -n`."
        )
        self._selector.unregister(self._listener)
        self._listen_again = Deadline.after(_PAUSE_S)

    def _attend(self, peer: _Peer, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._flush(peer)
        if not events & selectors.EVENT_READ or peer.sock not in self._peers:
            return
        try:
            data = peer.sock.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(peer)
            return
        peer.received += data
        try:
            self._take_frames(peer)
        except BadFrame as error:
            self._turn_away(peer, str(error))

    def _take_frames(self, peer: _Peer) -> None:
        while len(peer.received) >= frames.HEADER_BYTES and peer.sock in self._peers:
            size = frames.body_bytes(
                peer.received,
                frames.MAX_FRAME_BYTES if peer.is_trusted else frames.MAX_HANDSHAKE_BYTES,
            )
            end = frames.HEADER_BYTES + size
            if len(peer.received) < end:
                return
            frame = frames.unpack(bytes(peer.received[frames.HEADER_BYTES : end]))
            del peer.received[:end]
            if not peer.is_trusted:
                self._examine(peer, frame)
            elif peer.request is not None or peer.unsent:
                raise BadFrame("a request was sent while another one waits on the same connection")
            else:
                self._answer(peer, frame)

    def _examine(self, peer: _Peer, frame: Frame) -> None:
        if (
            frame.code != frames.PROOF
            or len(frame.fields) != 2
            or len(frame.fields[0]) != frames.CHALLENGE_BYTES
        ):
            raise BadFrame("it did not prove that it knows the token")
        theirs, proof = frame.fields
        challenges = (peer.challenge, theirs)
        if not frames.is_proof(proof, self._token, "client", challenges):
            self._turn_away(peer, "it does not know the token", Frame(frames.REFUSED))
            return
        if len(self._peers) - len(self._strangers) >= self._max_members:
            self._turn_away(
                peer,
                f"{self._max_members} connections are open; `ulimit -n` bounds them",
                Frame(frames.FULL),
            )
            return
        peer.is_trusted = True
        del self._strangers[peer.sock]
        self._reply(
            peer, Frame(frames.WELCOME, 0, (frames.prove(self._token, "server", challenges),))
        )

    def _turn_away(self, peer: _Peer, reason: str, farewell: Frame | None = None) -> None:
        self._notes.warn(f"the store at {self.endpoint} turned {peer.name} away: {reason}")
        if farewell is not None:
            self._reply(peer, farewell)
        self._drop(peer)

    def _drop(self, peer: _Peer) -> None:
        self._strangers.pop(peer.sock, None)
        self._busy.pop(peer.sock, None)
        if self._peers.pop(peer.sock, None) is not None:
            self._selector.unregister(peer.sock)
            peer.sock.close()

    def _reply(self, peer: _Peer, frame: Frame) -> None:
        if peer.sock not in self._peers:
            return
        try:
            message = frames.pack(frame)
            self._make_sure_of_room(len(message))
        except CommError as error:  # several values that are too large together
            message = frames.pack(Frame(frames.FAILED, 0, (str(error).encode(),)))
        peer.unsent += message
        self._flush(peer)

    def _make_sure_of_room(self, num_bytes: int) -> None:
        if num_bytes < _LARGE_BYTES:
            return
        waiting_bytes = sum(len(peer.unsent) for peer in self._busy.values())
        if waiting_bytes + num_bytes > _MAX_UNSENT_BYTES:
            raise CommError(
                f"{waiting_bytes} bytes of replies wait for readers that are too slow; at most "
                f"{_MAX_UNSENT_BYTES} are allowed"
            )

    def _flush(self, peer: _Peer) -> None:
        try:
            while peer.unsent:
                del peer.unsent[: peer.sock.send(peer.unsent)]
                peer.unsent_until = Deadline.after(_SEND_S)
        except BlockingIOError:
            self._busy[peer.sock] = peer
        except OSError:
            self._drop(peer)
            return
        if not peer.unsent and peer.request is None:
            self._busy.pop(peer.sock, None)
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unsent else 0)
        if self._selector.get_key(peer.sock).events != wanted:
            self._selector.modify(peer.sock, wanted)

    # -- operations
    # ---------------------------------------------------------------------------------------------

    def _answer(self, peer: _Peer, frame: Frame) -> None:
        if frame.code in (frames.GET, frames.WAIT):
            peer.request, peer.request_until = frame, Deadline.after(frame.number / 1000)
            self._busy[peer.sock] = peer
            self._grant(peer)
            return
        if frame.code == frames.CLOCK:
            reading = (clock.identity().encode(),)
            self._reply(peer, Frame(frames.OK, time.perf_counter_ns(), reading))
            return
        before = len(self._held)
        try:
            reply = store_values.operate(self._held, frame)
        except ValueError as error:
            reply = Frame(frames.FAILED, 0, (str(error).encode(),))
        self._reply(peer, reply)
        if len(self._held) > before:
            for waiting in list(self._busy.values()):
                self._grant(waiting)

    def _grant(self, peer: _Peer) -> None:
        """Answer the waiting request of ``peer`` if its keys are all there."""
        request = peer.request
        if request is not None and all(key in self._held for key in request.fields):
            self._end_wait(peer)
            values = (
                tuple(self._held[key] for key in request.fields)
                if request.code == frames.GET
                else ()
            )
            self._reply(peer, Frame(frames.OK, 0, values))

    def _end_wait(self, peer: _Peer) -> None:
        peer.request, peer.request_until = None, Deadline.never()
        self._busy.pop(peer.sock, None)


def _room() -> tuple[int, int]:
    """How many connections of strangers and of members this process may hold; the rest of its
    descriptors is for others.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        limit = 1 << 20
    return max(1, min(_MAX_STRANGERS, limit // 8)), max(1, limit * 3 // 4)
