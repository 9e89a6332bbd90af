"""Calls from process to process: bytes there, bytes back.

A ``CallServer`` answers each caller in a thread of its own, in the order in which that caller asks.
Whoever connects proves that it knows the job's token, and is shown the same, before anything else
is read. A ``Caller`` keeps a connection for each call under way; what the bytes mean is the
business of those who use them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

from argosy.foundation import endpoints
from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import Endpoint
from argosy.foundation.errors import CollectiveTimeout, CommError, PeerLost

__all__ = ["CallServer", "Caller"]

_PROOF_S = 30.0  # for the proofs of both sides
_LOST = (OSError, EOFError)


class CallServer:
    """Answers calls at ``endpoint`` with ``answer`` until ``close()``, which waits for those under
    way. ``answer`` must not raise.
    """

    def __init__(
        self, listener: socket.socket, token: str, answer: Callable[[bytes], bytes]
    ) -> None:
        self.endpoint = endpoints.endpoint_of(listener)
        self._listener = listener
        self._key = token.encode()
        self._answer = answer
        self._lock = threading.Lock()
        self._open: dict[threading.Thread, Connection] = {}  # guarded by _lock
        self._idle: set[Connection] = set()  # those that wait for a call; guarded by _lock
        self._is_closing = False  # guarded by _lock
        self._accepting = threading.Thread(target=self._accept, name="argosy-calls", daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            connection = _connection(sock)
            thread = threading.Thread(
                target=self._serve, args=(connection,), name="argosy-call", daemon=True
            )
            with self._lock:
                if self._is_closing:
                    connection.close()
                    return
                self._open[thread] = connection
            thread.start()

    def _serve(self, connection: Connection) -> None:
        try:
            # AuthenticationError, or the peer has gone: nobody of this job
            with contextlib.suppress(multiprocessing.AuthenticationError, *_LOST):
                _prove_server(connection, self._key)
                while True:
                    with self._lock:
                        if self._is_closing:
                            return
                        self._idle.add(connection)
                    request = connection.recv_bytes()
                    with self._lock:
                        self._idle.discard(connection)
                    connection.send_bytes(self._answer(request))
        finally:
            with self._lock:
                self._idle.discard(connection)
                self._open.pop(threading.current_thread(), None)
                connection.close()

    def close(self) -> None:
        """Take no more calls; return when those under way are answered."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept
        self._listener.close()
        self._accepting.join()
        with self._lock:
            self._is_closing = True
            for connection in self._idle:
                _hang_up(connection)
            threads = list(self._open)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join()


class Caller:
    """Calls the server at ``endpoint``; several threads may."""

    def __init__(self, endpoint: Endpoint, token: str, name: str) -> None:
        self.endpoint = endpoint
        self._key = token.encode()
        self._name = name
        self._lock = threading.Lock()
        self._spare: list[Connection] = []  # guarded by _lock

    def call(self, request: bytes, deadline: Deadline) -> bytes:
        """The answer to ``request``; PeerLost if the process has gone, CollectiveTimeout if it does
        not answer in time.
        """
        connection = None
        try:
            connection = self._take(deadline)
            connection.send_bytes(request)
            wait_s = deadline.remaining_s()
            if not connection.poll(None if wait_s == float("inf") else wait_s):
                raise CollectiveTimeout(
                    f"{self._name} at {self.endpoint} did not answer within {deadline.seconds:g} s"
                )
            answer = connection.recv_bytes()
        except CollectiveTimeout:  # an OSError too
            _close(connection)  # a late answer must not be taken for that of another call
            raise
        except multiprocessing.AuthenticationError:
            _close(connection)
            raise CommError(
                f"{self._name} at {self.endpoint} has another token: it is of another job"
            ) from None
        except _LOST as error:
            _close(connection)
            raise PeerLost(
                f"{self._name} at {self.endpoint} is not there, or ended during a call: {error}"
            ) from error
        except BaseException:
            _close(connection)
            raise
        with self._lock:
            self._spare.append(connection)
        return answer

    def _take(self, deadline: Deadline) -> Connection:
        with self._lock:
            if self._spare:
                return self._spare.pop()
        limit_s = min(deadline.remaining_s(), _PROOF_S)
        sock = socket.create_connection((self.endpoint.host, self.endpoint.port), limit_s)
        connection = _connection(sock)
        try:
            _prove_caller(connection, self._key)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        with self._lock:
            spare, self._spare = self._spare, []
        for connection in spare:
            connection.close()


def _connection(sock: socket.socket) -> Connection:
    sock.setblocking(True)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # finds hosts that have gone
    return Connection(sock.detach())


def _prove_server(connection: Connection, key: bytes) -> None:
    if not connection.poll(_PROOF_S):  # callers speak first, so that silent strangers go
        raise EOFError
    answer_challenge(connection, key)
    deliver_challenge(connection, key)


def _prove_caller(connection: Connection, key: bytes) -> None:
    deliver_challenge(connection, key)
    answer_challenge(connection, key)


def _hang_up(connection: Connection) -> None:
    """End a connection that another thread reads from."""
    with contextlib.suppress(OSError):
        sock = socket.socket(fileno=connection.fileno())
        try:
            sock.shutdown(socket.SHUT_RDWR)
        finally:
            sock.detach()


def _close(connection: Connection | None) -> None:
    if connection is not None:
        connection.close()
