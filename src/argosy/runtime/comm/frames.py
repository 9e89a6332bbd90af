"""Messages of the store on the wire, and the proof that a peer knows the job's token. Pure
functions over bytes.

A frame::

    0    length of what follows, 4 bytes, big-endian, at most MAX_FRAME_BYTES
    4    code, 1 byte: an operation or a status
    5    number, 8 bytes, signed: an amount, a timeout in milliseconds, a result
    13   fields, each 4 bytes of length and the bytes

Handshake, before anything else, with fresh random numbers on both sides (so that an overheard proof
is of no use again)::

    server -> client   HELLO    server's challenge
    client -> server   PROOF    client's challenge, proof of "client" over both challenges
    server -> client   WELCOME  proof of "server" over both challenges,   or REFUSED, or FULL

Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from argosy.foundation.errors import CommError

MAX_FRAME_BYTES = 64 << 20
MAX_HANDSHAKE_BYTES = 256  # what a stranger may make the server read
MAX_FIELDS = 1 << 17  # of one frame; each costs its receiver more than its bytes
CHALLENGE_BYTES = 32

HELLO, PROOF, WELCOME, REFUSED, FULL = 1, 2, 3, 4, 5
SET, GET, WAIT, ADD, CHECK, DELETE, COMPARE_SET, NUM_KEYS, APPEND, CLOCK = range(10, 20)
OK, TIMED_OUT, FAILED = 30, 31, 32

_LENGTH = struct.Struct("!I")
_HEAD = struct.Struct("!Bq")
HEADER_BYTES = _LENGTH.size


class BadFrame(CommError):
    """The peer sent something that is not a frame of this protocol."""


@dataclass(frozen=True)
class Frame:
    """One message."""

    code: int
    number: int = 0
    fields: tuple[bytes, ...] = ()


def pack(frame: Frame) -> bytes:
    """The frame as bytes, with its length in front."""
    size = _HEAD.size + sum(_LENGTH.size + len(field) for field in frame.fields)
    if size > MAX_FRAME_BYTES or len(frame.fields) > MAX_FIELDS:
        raise CommError(
            f"a message of {size} bytes in {len(frame.fields)} parts is too large for the store; "
            "at most "
            f"{MAX_FRAME_BYTES} bytes in {MAX_FIELDS} parts are allowed"
        )
    parts = [_LENGTH.pack(size), _HEAD.pack(frame.code, frame.number)]
    for field in frame.fields:
        parts += (_LENGTH.pack(len(field)), field)
    return b"".join(parts)


def body_bytes(header: bytes | bytearray | memoryview, limit: int = MAX_FRAME_BYTES) -> int:
    """The length of the body that the first four bytes announce, checked against ``limit``."""
    (size,) = _LENGTH.unpack(bytes(header[:HEADER_BYTES]))
    if not _HEAD.size <= size <= limit:
        raise BadFrame(
            f"a frame of {size} bytes was announced; {_HEAD.size} to {limit} are allowed"
        )
    return int(size)


def unpack(body: bytes) -> Frame:
    """Read a body; lengths that do not add up are an error."""
    if len(body) < _HEAD.size:
        raise BadFrame(f"a frame of {len(body)} bytes is shorter than its head")
    code, number = _HEAD.unpack_from(body)
    fields = []
    at = _HEAD.size
    while at < len(body):
        if at + HEADER_BYTES > len(body):
            raise BadFrame("a frame ends inside the length of a field")
        (size,) = _LENGTH.unpack_from(body, at)
        at += HEADER_BYTES
        if at + size > len(body):
            raise BadFrame(f"a field of {size} bytes does not fit into its frame of {len(body)}")
        fields.append(body[at : at + size])
        at += size
        if len(fields) > MAX_FIELDS:
            raise BadFrame(f"a frame has more than {MAX_FIELDS} fields")
    return Frame(code, number, tuple(fields))


def prove(token: str, role: str, challenges: Sequence[bytes]) -> bytes:
    """The keyed hash that only a holder of ``token`` can make for these challenges and this
    role.
    """
    return hmac.new(
        token.encode(), b"|".join((b"argosy-store", role.encode(), *challenges)), hashlib.sha256
    ).digest()


def is_proof(proof: bytes, token: str, role: str, challenges: Sequence[bytes]) -> bool:
    """Whether ``proof`` is right, in time that does not depend on where it differs."""
    return hmac.compare_digest(proof, prove(token, role, challenges))
