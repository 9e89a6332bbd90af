"""The key-value store through which the processes of a job find each other.

``StoreServer`` (see ``store_server.py``) serves a dictionary over TCP; ``StoreClient`` is a
``torch.distributed.Store``, so torch's process groups take it as it is. Peers prove that they know
the job's token before anything they say is looked at (see ``frames.py``).
"""

from __future__ import annotations

import math
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

import torch.distributed as dist

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import Endpoint
from argosy.foundation.errors import CollectiveTimeout, CommError, UsageError
from argosy.runtime.comm import forks, frames
from argosy.runtime.comm.frames import BadFrame, Frame
from argosy.runtime.comm.store_server import StoreFailed, StoreServer

__all__ = ["StoreClient", "StoreFailed", "StoreServer", "TokenRefused"]

_RETRY_S = 0.02
_FOREVER_S = 1e9
_LONGEST_WAIT_S = 1e6  # of one call; a socket counts milliseconds in 32 bits
_GRACE_S = 5.0  # how much longer than the server a client waits for a reply that the server owes it


class TokenRefused(CommError):
    """The store belongs to another job, or the two sides were given different tokens."""


class StoreClient(dist.Store):  # type: ignore[name-defined,misc]
    """A process's door to the store; any number of threads may use it at once.

    A call takes an idle connection or opens one, so a blocked ``get`` holds up nobody. ``deadline``
    bounds the first connection, which is tried again until the server is there; ``set_timeout``
    what ``get`` and ``wait`` wait for a key.
    """

    def __init__(
        self, host: str, port: int, token: str, deadline: Deadline, timeout_s: float = 300.0
    ) -> None:
        super().__init__()
        self.endpoint = Endpoint(host, port)
        self._token = token
        self._lock = threading.Lock()
        self._idle: list[socket.socket] = []  # guarded by _lock
        self._all: set[socket.socket] = set()  # guarded by _lock
        self._is_closed = False  # guarded by _lock
        self.set_timeout(timedelta(seconds=timeout_s))
        forks.register(self)
        self._release(self._connect(deadline, is_patient=True))

    # -- operations
    # ---------------------------------------------------------------------------------------------

    def set(self, key: str, value: str | bytes) -> None:
        """Give ``key`` a value and wake those who wait for it."""
        self._call(Frame(frames.SET, 0, (_bytes(key), _bytes(value))))

    def get(self, key: str) -> bytes:
        """Return the value of ``key``, waiting until it is there; CollectiveTimeout if it does not
        come.
        """
        return self._call_and_wait(frames.GET, [key], self.timeout.total_seconds())[0]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all ``keys`` are there."""
        self._call_and_wait(
            frames.WAIT, keys, (self.timeout if timeout is None else timeout).total_seconds()
        )

    def add(self, key: str, value: int) -> int:
        """Add to the counter ``key``, which starts at 0, and return the sum."""
        return self._call(Frame(frames.ADD, value, (_bytes(key),))).number

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all ``keys`` are there."""
        return bool(self._call(Frame(frames.CHECK, 0, tuple(map(_bytes, keys)))).number)

    def delete_key(self, key: str) -> bool:
        """Remove ``key``; False if it was not there."""
        return bool(self._call(Frame(frames.DELETE, 0, (_bytes(key),))).number)

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        """Set ``key`` if its value is the expected one (empty: not there yet); return the value it
        then has.
        """
        fields = (_bytes(key), _bytes(expected_value), _bytes(desired_value))
        return self._fields(self._call(Frame(frames.COMPARE_SET, 0, fields)), 1)[0]

    def num_keys(self) -> int:
        return self._call(Frame(frames.NUM_KEYS)).number

    def clock(self) -> tuple[int, str]:
        """What the clock of the process that serves the store reads (see foundation/clock.py), and
        whose it is.
        """
        reply = self._call(Frame(frames.CLOCK))
        return reply.number, self._fields(reply, 1)[0].decode(errors="replace")

    def append(self, key: str, value: str | bytes) -> None:
        """Extend the value of ``key``, which starts empty."""
        self._call(Frame(frames.APPEND, 0, (_bytes(key), _bytes(value))))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of ``keys`` in one round trip, waiting until all are there."""
        return list(self._call_and_wait(frames.GET, keys, self.timeout.total_seconds()))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys in one round trip; all become visible at once."""
        if len(keys) != len(values):
            raise UsageError(f"multi_set: {len(keys)} keys, but {len(values)} values")
        pairs = zip(map(_bytes, keys), map(_bytes, values), strict=True)
        self._call(Frame(frames.SET, 0, tuple(part for pair in pairs for part in pair)))

    def has_extended_api(self) -> bool:
        return True

    # the names under which torch's C++ code looks for these two
    deleteKey = delete_key
    getNumKeys = num_keys

    # -- connections
    # --------------------------------------------------------------------------------------------

    def _call_and_wait(self, code: int, keys: Sequence[str], timeout_s: float) -> tuple[bytes, ...]:
        fields = tuple(map(_bytes, keys))
        reply = self._call(
            Frame(code, math.ceil(min(timeout_s, _FOREVER_S) * 1000), fields), timeout_s
        )
        if reply.code == frames.TIMED_OUT:
            raise CollectiveTimeout(
                f"the store at {self.endpoint}: waited {timeout_s:g} s for key {_text(reply)!r}, "
                "which nobody has set"
            )
        return self._fields(reply, len(fields) if code == frames.GET else 0)

    def _call(self, request: Frame, timeout_s: float = 0.0) -> Frame:
        message = frames.pack(request)
        deadline = Deadline.after(timeout_s + _GRACE_S)
        sock = self._acquire(deadline)
        try:
            _send(sock, message, deadline)
            reply = _receive(sock, deadline)
        except (OSError, BadFrame) as error:
            self._discard(sock)
            raise self._gone(error) from error
        except BaseException:
            self._discard(sock)  # interrupted half-way: the reply to come belongs to nobody
            raise
        self._release(sock)
        if reply.code == frames.FAILED:
            raise UsageError(f"the store at {self.endpoint}: {_text(reply)}")
        return reply

    def _fields(self, reply: Frame, count: int) -> tuple[bytes, ...]:
        if len(reply.fields) != count:
            raise CommError(
                f"the store at {self.endpoint} answered with {len(reply.fields)} values, but "
                f"{count} were asked for"
            )
        return reply.fields

    def _gone(self, error: Exception) -> CommError:
        if self._is_closed:
            return CommError(f"the client of the store at {self.endpoint} is closed")
        if isinstance(error, TimeoutError):
            return CommError(
                f"the store at {self.endpoint} does not answer; its host may be down, or its "
                "process stopped"
            )
        return CommError(
            f"the store at {self.endpoint} has gone away: {error}. The process that serves it "
            "has probably exited."
        )

    def _acquire(self, deadline: Deadline) -> socket.socket:
        with self._lock:
            if self._is_closed:
                raise CommError(f"the client of the store at {self.endpoint} is closed")
            if self._idle:
                return self._idle.pop()
        return self._connect(deadline, is_patient=False)

    def _release(self, sock: socket.socket) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(sock)
                return
        self._discard(sock)

    def _discard(self, sock: socket.socket) -> None:
        with self._lock:
            self._all.discard(sock)
        sock.close()

    def _connect(self, deadline: Deadline, is_patient: bool) -> socket.socket:
        """Open a connection and shake hands; with ``is_patient`` try again until the deadline if
        nobody listens yet.
        """
        while True:
            try:
                sock = socket.create_connection(
                    (self.endpoint.host, self.endpoint.port), _wait_s(deadline)
                )
            except OSError as error:
                if not is_patient:
                    raise self._gone(error) from error
                if deadline.remaining_s() < _RETRY_S:
                    raise CollectiveTimeout(
                        f"no store answers at {self.endpoint} after {deadline.seconds:g} s: "
                        f"{error}. Is the process that serves it "
                        "running, and is the address right?"
                    ) from error
                time.sleep(_RETRY_S)
                continue
            try:
                # the kernel chose the port we knock at for our end
                if sock.getsockname() == sock.getpeername():
                    raise ConnectionRefusedError("nobody listens there yet")
                self._shake_hands(sock, deadline)
                break
            except BaseException as error:
                sock.close()
                # hung up on: the server may just have begun or ended, or have been flooded by
                # strangers
                if not isinstance(error, ConnectionError) or deadline.remaining_s() < _RETRY_S:
                    raise self._not_welcome(error, deadline) from error
                time.sleep(_RETRY_S)
        with self._lock:
            if not self._is_closed:
                self._all.add(sock)
                return sock
        sock.close()
        raise CommError(f"the client of the store at {self.endpoint} is closed")

    def _not_welcome(self, error: BaseException, deadline: Deadline) -> BaseException:
        if isinstance(error, TimeoutError):
            return CollectiveTimeout(
                f"what listens at {self.endpoint} took the connection, but did not answer within "
                f"{deadline.seconds:g} s; "
                "its process may be stopped, or it is not the store of a job"
            )
        if isinstance(error, ConnectionError):
            return self._gone(error)
        if isinstance(error, (OSError, BadFrame)):
            return CommError(
                f"what listens at {self.endpoint} is not the store of this job: {error!r}"
            )
        return error

    def _shake_hands(self, sock: socket.socket, deadline: Deadline) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        hello = _receive(sock, deadline, frames.MAX_HANDSHAKE_BYTES)
        if hello.code != frames.HELLO or [len(field) for field in hello.fields] != [
            frames.CHALLENGE_BYTES
        ]:
            raise BadFrame(f"expected a greeting, but received code {hello.code}")
        challenges = (hello.fields[0], secrets.token_bytes(frames.CHALLENGE_BYTES))
        proof = Frame(
            frames.PROOF, 0, (challenges[1], frames.prove(self._token, "client", challenges))
        )
        _send(sock, frames.pack(proof), deadline)
        reply = _receive(sock, deadline, frames.MAX_HANDSHAKE_BYTES)
        if reply.code == frames.REFUSED:
            raise TokenRefused(
                f"the store at {self.endpoint} refused this process: its token is that of "
                "another job"
            )
        if reply.code == frames.FULL:
            raise CommError(
                f"the store at {self.endpoint} has no room for another connection; raise `ulimit "
                "-n` where it is served"
            )
        is_welcome = reply.code == frames.WELCOME and len(reply.fields) == 1
        if not is_welcome or not frames.is_proof(
            reply.fields[0], self._token, "server", challenges
        ):
            raise CommError(f"what listens at {self.endpoint} does not know the token of this job")

    def close(self) -> None:
        """Close every connection; calls under way in other threads end with CommError."""
        with self._lock:
            self._is_closed = True
            idle, busy = self._idle, self._all.difference(self._idle)
            self._idle, self._all = [], set()
        for sock in idle:
            sock.close()
        for sock in busy:
            # its thread closes it; this only wakes the thread
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def on_forked(self) -> None:
        """In a forked child: what it said on these connections would be taken for the parent's."""
        self._lock = threading.Lock()  # another thread may have held it
        self._is_closed = True
        for sock in self._all:
            sock.close()
        self._idle, self._all = [], set()

    def __enter__(self) -> StoreClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


def _text(reply: Frame) -> str:
    """What a reply says, for a message."""
    return reply.fields[0].decode(errors="replace") if reply.fields else ""


def _wait_s(deadline: Deadline) -> float:
    """What is left of ``deadline``, as a socket takes it; never 0, which would mean not to wait."""
    return min(max(deadline.remaining_s(), 0.001), _LONGEST_WAIT_S)


def _send(sock: socket.socket, message: bytes, deadline: Deadline) -> None:
    sock.settimeout(_wait_s(deadline))  # sendall takes it for the whole message
    sock.sendall(message)


def _receive(sock: socket.socket, deadline: Deadline, limit: int = frames.MAX_FRAME_BYTES) -> Frame:
    size = frames.body_bytes(_receive_exactly(sock, frames.HEADER_BYTES, deadline), limit)
    return frames.unpack(_receive_exactly(sock, size, deadline))


def _receive_exactly(sock: socket.socket, size: int, deadline: Deadline) -> bytes:
    data = bytearray(size)
    view, have = memoryview(data), 0
    while have < size:
        if deadline.expired:
            raise TimeoutError("timed out")
        sock.settimeout(_wait_s(deadline))
        try:
            count = sock.recv_into(view[have:])
        except TimeoutError:
            # the loop looks at the deadline, which may be further away than a socket can wait
            continue
        if not count:
            raise ConnectionResetError("the connection was closed")
        have += count
    return bytes(data)
