"""The serving side of the store: one dictionary, one thread, no thread per client.

Sets of one key are seen by all clients in one order. A ``get`` waits here, without polling, until its keys are there.
"""

from __future__ import annotations

import logging
import math
import secrets
import selectors
import socket
import threading
from collections.abc import Callable

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import Endpoint, endpoint_of
from argosy.foundation.errors import CommError, InternalError, UsageError
from argosy.runtime.comm import frames
from argosy.runtime.comm.frames import BadFrame, Frame

_log = logging.getLogger(__name__)

_HANDSHAKE_S = 5.0  # a stranger may keep a connection open for so long
_READ_BYTES = 1 << 16


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
        self.request: Frame | None = None  # a GET or WAIT whose keys are not all there yet
        self.request_until = Deadline.never()


class StoreServer:
    """Serves the store on ``listener``, which it takes over, until ``close()``. All state belongs to its thread.

    ``token`` must be known to every client; whoever does not know it is turned away and logged.
    """

    def __init__(self, listener: socket.socket, token: str) -> None:
        if not token:
            raise UsageError("StoreServer: the token must not be empty")
        self.endpoint = endpoint_of(listener)
        self._token = token
        self._listener = listener
        self._value_by_key: dict[bytes, bytes] = {}
        self._peers: dict[socket.socket, _Peer] = {}
        self._error: BaseException | None = None
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = socket.socketpair()
        self._is_closing = threading.Event()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name=f"argosy-store-{self.endpoint.port}", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self.endpoint.port

    def close(self) -> None:
        """Stop serving and close every socket; clients get CommError. Raises what the thread died of, if it did."""
        if not self._is_closing.is_set():
            self._is_closing.set()
            self._wake_write.send(b"x")
            self._thread.join()
            self._wake_write.close()
        if self._error is not None:
            raise InternalError(f"the store at {self.endpoint} failed: {self._error!r}") from self._error

    def __enter__(self) -> StoreServer:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- the thread ---------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            while not self._is_closing.is_set():
                for key, events in self._selector.select(self._nap_s()):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj is not self._wake_read:
                        self._attend(self._peers[key.fileobj], events)  # type: ignore[index]
                self._expire()
        except BaseException as error:
            _log.exception("the store at %s stops serving", self.endpoint)
            self._error = error
        finally:
            for peer in list(self._peers.values()):
                self._drop(peer)
            self._selector.close()
            self._listener.close()
            self._wake_read.close()

    def _nap_s(self) -> float | None:
        """How long nothing can happen by itself."""
        waits = [
            p.request_until if p.is_trusted else p.handshake
            for p in self._peers.values()
            if p.request or not p.is_trusted
        ]
        nap_s = min((wait.remaining_s() for wait in waits), default=math.inf)
        return None if math.isinf(nap_s) else nap_s

    def _expire(self) -> None:
        for peer in list(self._peers.values()):
            if not peer.is_trusted and peer.handshake.expired:
                self._turn_away(peer, "it did not prove that it knows the token in time")
            elif peer.request is not None and peer.request_until.expired:
                missing = next(k for k in peer.request.fields if k not in self._value_by_key)
                peer.request = None
                self._reply(peer, Frame(frames.TIMED_OUT, 0, (missing,)))

    def _accept(self) -> None:
        try:
            sock, address = self._listener.accept()
        except OSError as error:  # the peer was gone before we looked, or we are out of descriptors
            _log.warning("the store at %s could not accept a connection: %s", self.endpoint, error)
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = self._peers[sock] = _Peer(sock, str(Endpoint(*address[:2])))
        self._selector.register(sock, selectors.EVENT_READ)
        self._reply(peer, Frame(frames.HELLO, 0, (peer.challenge,)))

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
                peer.received, frames.MAX_FRAME_BYTES if peer.is_trusted else frames.MAX_HANDSHAKE_BYTES
            )
            end = frames.HEADER_BYTES + size
            if len(peer.received) < end:
                return
            frame = frames.unpack(bytes(peer.received[frames.HEADER_BYTES : end]))
            del peer.received[:end]
            if not peer.is_trusted:
                self._examine(peer, frame)
            elif peer.request is not None:
                raise BadFrame("a request was sent while another one waits on the same connection")
            else:
                self._answer(peer, frame)

    def _examine(self, peer: _Peer, frame: Frame) -> None:
        if frame.code != frames.PROOF or len(frame.fields) != 2:
            raise BadFrame("it did not prove that it knows the token")
        theirs, proof = frame.fields
        challenges = (peer.challenge, theirs)
        if not frames.is_proof(proof, self._token, "client", challenges):
            self._turn_away(peer, "it does not know the token", Frame(frames.REFUSED))
            return
        peer.is_trusted = True
        self._reply(peer, Frame(frames.WELCOME, 0, (frames.prove(self._token, "server", challenges),)))

    def _turn_away(self, peer: _Peer, reason: str, farewell: Frame | None = None) -> None:
        _log.warning("the store at %s turned %s away: %s", self.endpoint, peer.name, reason)
        if farewell is not None:
            self._reply(peer, farewell)
        self._drop(peer)

    def _drop(self, peer: _Peer) -> None:
        if self._peers.pop(peer.sock, None) is not None:
            self._selector.unregister(peer.sock)
            peer.sock.close()

    def _reply(self, peer: _Peer, frame: Frame) -> None:
        if peer.sock not in self._peers:
            return
        try:
            peer.unsent += frames.pack(frame)
        except CommError as error:  # several values that are too large together
            peer.unsent += frames.pack(Frame(frames.FAILED, 0, (str(error).encode(),)))
        self._flush(peer)

    def _flush(self, peer: _Peer) -> None:
        try:
            while peer.unsent:
                del peer.unsent[: peer.sock.send(peer.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(peer)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unsent else 0)
        if self._selector.get_key(peer.sock).events != wanted:
            self._selector.modify(peer.sock, wanted)

    # -- operations ---------------------------------------------------------------------------------------------

    def _answer(self, peer: _Peer, frame: Frame) -> None:
        if frame.code in (frames.GET, frames.WAIT):
            peer.request, peer.request_until = frame, Deadline.after(frame.number / 1000)
            self._grant(peer)
            return
        operation = _OPERATIONS.get(frame.code)
        try:
            if operation is None:
                raise BadFrame(f"there is no operation {frame.code}")
            before = len(self._value_by_key)
            self._reply(peer, operation(self._value_by_key, frame))
        except (ValueError, IndexError) as error:
            self._reply(peer, Frame(frames.FAILED, 0, (str(error).encode(),)))
            return
        if len(self._value_by_key) > before:
            for waiting in list(self._peers.values()):
                self._grant(waiting)

    def _grant(self, peer: _Peer) -> None:
        """Answer the waiting request of ``peer`` if its keys are all there."""
        request = peer.request
        if request is not None and all(key in self._value_by_key for key in request.fields):
            peer.request = None
            values = tuple(self._value_by_key[key] for key in request.fields) if request.code == frames.GET else ()
            self._reply(peer, Frame(frames.OK, 0, values))


def _set(values: dict[bytes, bytes], frame: Frame) -> Frame:
    keys, contents = frame.fields[::2], frame.fields[1::2]
    values.update(zip(keys, contents, strict=True))
    return Frame(frames.OK)


def _append(values: dict[bytes, bytes], frame: Frame) -> Frame:
    key, content = frame.fields
    values[key] = values.get(key, b"") + content
    return Frame(frames.OK)


def _add(values: dict[bytes, bytes], frame: Frame) -> Frame:
    (key,) = frame.fields
    current = values.get(key, b"0")
    if not current.removeprefix(b"-").isdigit():
        raise ValueError(f"add: key {key.decode()!r} holds {current[:40]!r}, which is not a counter")
    total = int(current) + frame.number
    if not -(2**63) <= total < 2**63:
        raise ValueError(f"add: key {key.decode()!r} would become {total}, which does not fit into 64 bits")
    values[key] = str(total).encode()
    return Frame(frames.OK, total)


def _check(values: dict[bytes, bytes], frame: Frame) -> Frame:
    return Frame(frames.OK, int(all(key in values for key in frame.fields)))


def _delete(values: dict[bytes, bytes], frame: Frame) -> Frame:
    (key,) = frame.fields
    return Frame(frames.OK, int(values.pop(key, None) is not None))


def _compare_set(values: dict[bytes, bytes], frame: Frame) -> Frame:
    """Return the value that the key has afterwards; as in torch, the expected one if there is no such key."""
    key, expected, desired = frame.fields
    current = values.get(key)
    if current == expected or (current is None and not expected):
        values[key] = current = desired
    return Frame(frames.OK, 0, (expected if current is None else current,))


def _num_keys(values: dict[bytes, bytes], frame: Frame) -> Frame:
    return Frame(frames.OK, len(values))


_OPERATIONS: dict[int, Callable[[dict[bytes, bytes], Frame], Frame]] = {
    frames.SET: _set,
    frames.APPEND: _append,
    frames.ADD: _add,
    frames.CHECK: _check,
    frames.DELETE: _delete,
    frames.COMPARE_SET: _compare_set,
    frames.NUM_KEYS: _num_keys,
}
