"""How every two ranks of a group get a connection: each opens a doorway, connects to the ranks
below it and lets in those above.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import CommError
from argosy.runtime.comm.backends import doorway
from argosy.runtime.comm.backends.doorway import Doorway
from argosy.runtime.comm.backends.shm.board import Seat
from argosy.runtime.comm.backends.shm.care import WARN_S, await_keys, wait_with_care


def connect_all(
    place: str, prefix: str, rank: int, store: Any, timeout_s: float, address: str, seat: Seat
) -> dict[int, socket.socket]:
    """A connection to each other rank of the group whose ranks ``seat`` has, by rank; all ranks
    call it. Their cards are in ``store`` behind ``prefix``; ``place`` is what errors call the wait.
    """
    keys = [f"{prefix}/{r}" for r in range(len(seat.ranks))]
    found: dict[int, socket.socket] = {}
    try:
        with contextlib.closing(Doorway(address)) as door:
            store.set(keys[rank], door.card)
            lower = {seat.ranks[r]: keys[r] for r in range(rank)}
            if lower:
                await_keys(store, lower, seat.board, place, timeout_s)
            for r in range(rank):
                found[r] = _connect(place, store.get(keys[r]), rank, timeout_s, seat)
            _let_in(place, door, set(range(rank + 1, len(keys))), found, timeout_s, seat)
        for sock in found.values():
            doorway.settle(sock)
    except BaseException:
        close_all(list(found.values()))
        raise
    return found


def close_all(socks: Sequence[socket.socket]) -> None:
    for sock in socks:
        sock.close()


def _connect(place: str, card: bytes, rank: int, timeout_s: float, seat: Seat) -> socket.socket:
    host, port = doorway.place_of(card)
    try:
        sock = socket.create_connection((host, port), timeout_s)
    except OSError as error:
        raise CommError(
            f"{place}: rank {seat.board.rank} cannot connect to {host} port {port}, "
            f"where another rank listens: {error.strerror or error}.\n  The hosts of a job "
            "must reach each other at every port."
        ) from error
    sock.sendall(doorway.words_for(card, rank))
    return sock


def _let_in(
    place: str,
    door: Doorway,
    awaited: set[int],
    found: dict[int, socket.socket],
    timeout_s: float,
    seat: Seat,
) -> None:
    """Accept connections until each of ``awaited`` has come."""

    def look() -> list[int]:
        for rank, sock in door.look():
            if rank in awaited:
                awaited.discard(rank)
                found[rank] = sock
            else:
                sock.close()
        return [seat.ranks[r] for r in awaited]

    if awaited:
        wait_with_care(seat.board, place, timeout_s, look, warn_s=WARN_S)
