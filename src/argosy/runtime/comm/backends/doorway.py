"""How ranks of a group connect to each other: each listens at a doorway and lets in those that know
its secret.

The store, which only those who know the job's token can read, hands out addresses, each with a
secret; whoever connects without it is not let in.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import hmac
import json
import secrets
import select
import socket
import struct
import termios
import threading
from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.endpoints import bind_listener
from argosy.runtime.comm.backends.shm.board import LOOK_S

_SECRET_BYTES = 32
_PASS = struct.Struct(f"<{_SECRET_BYTES}sq")  # the listener's secret, the rank that comes
_MAX_STRANGERS = 64  # the oldest has to go
_TCP_CLOSED = 7  # the first byte of TCP_INFO


class Doorway:
    """Where one rank can be reached. ``look`` may be called by several threads at once."""

    def __init__(self, address: str) -> None:
        self._listener = bind_listener(address)
        self._listener.setblocking(False)
        self._secret = secrets.token_bytes(_SECRET_BYTES)
        self._lock = threading.Lock()
        self._strangers: list[socket.socket] = []  # guarded by _lock

    @property
    def card(self) -> str:
        """What ``knock`` needs, for the store."""
        return json.dumps([*self._listener.getsockname()[:2], self._secret.hex()])

    def look(self) -> list[tuple[int, socket.socket]]:
        """Wait a moment; those who have come meanwhile and know the secret, with their ranks."""
        poll = select.poll()
        with self._lock:
            for sock in (self._listener, *self._strangers):
                poll.register(sock, select.POLLIN)
        poll.poll(LOOK_S * 1000)
        known: list[tuple[int, socket.socket]] = []
        with self._lock:
            waiting, self._strangers = self._strangers, []
            for sock in waiting:
                self._sort(sock, known)
            # all that have come: a rank may have hung up after its last word, behind the others
            with contextlib.suppress(OSError):
                while True:
                    sock, _ = self._listener.accept()
                    # to wake for nothing less
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _PASS.size)
                    self._sort(sock, known)
        return known

    def _sort(self, sock: socket.socket, known: list[tuple[int, socket.socket]]) -> None:
        rank = _rank_of(sock, self._secret)
        if rank is None:
            self._strangers.append(sock)
            if len(self._strangers) > _MAX_STRANGERS:
                self._strangers.pop(0).close()
        elif rank >= 0:
            known.append((rank, sock))
        else:
            sock.close()

    def close(self) -> None:
        with self._lock:
            for sock in (self._listener, *self._strangers):
                sock.close()
            self._strangers = []

    def on_forked(self) -> None:
        """Close the child's copies; a thread of the parent may have held the lock."""
        for sock in (self._listener, *self._strangers):
            sock.close()


def place_of(card: bytes | str) -> tuple[str, int]:
    """Where the doorway with this card is."""
    host, port, _ = json.loads(card)
    return host, port


def words_for(card: bytes | str, rank: int) -> bytes:
    """What rank ``rank`` says first when it has connected to the doorway with this card."""
    return _PASS.pack(bytes.fromhex(json.loads(card)[2]), rank)


def settle(sock: socket.socket) -> None:
    """Set up a connection between two ranks that know each other."""
    # with a timeout, Python would wait in spite of MSG_DONTWAIT
    sock.setblocking(True)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def push(sock: socket.socket, views: list[memoryview]) -> bool:
    """Send as much of ``views`` as the kernel takes, drop that from them, and say whether that was
    all. OSError if the other side is gone.
    """
    while views:
        try:
            count = sock.sendmsg(views, [], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except BlockingIOError:
            return False
        while views and count >= len(views[0]):  # empty ones too
            count -= len(views.pop(0))
        if views:
            views[0] = views[0][count:]
    return True


def nap(reads: Sequence[socket.socket], writes: Sequence[socket.socket] = ()) -> None:
    """Sleep a moment, or until one of ``reads`` has something or one of ``writes`` takes
    something.
    """
    poll = select.poll()
    for sock in reads:
        poll.register(sock, select.POLLIN | (select.POLLOUT if sock in writes else 0))
    for sock in writes:
        if sock not in reads:
            poll.register(sock, select.POLLOUT)
    poll.poll(LOOK_S * 1000)


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The memory of a contiguous tensor of the CPU."""
    flat = tensor.detach().view(-1)
    memory: Any = flat.view(torch.uint8).numpy() if flat.numel() else b""
    return memoryview(memory)


def unsent_bytes(sock: socket.socket) -> int:
    """How much of what was sent the other side has not confirmed, 0 when nobody is there."""
    try:
        fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, answer := array.array("i", [0]))
        state: Any = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    except (OSError, ValueError):  # closed meanwhile
        return 0
    return 0 if state[0] == _TCP_CLOSED else answer[0]


def has_ended(sock: socket.socket) -> bool:
    """Whether the other side of a connection through which it sends nothing is gone."""
    try:
        return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


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
