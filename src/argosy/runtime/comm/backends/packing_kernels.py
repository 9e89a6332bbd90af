"""The compiled loops that pack float32 without loss, and their layout.

Neighbours in a gradient have exponents that lie close together, so a block of 256 numbers says its
largest one, and each number how much lower its own is; sign and fraction stay as they are::

    form      uint8         0: all bits of the block are zero, and nothing follows; 3, 4 or 8
    base      uint8         the largest exponent
    low       uint8 [256]   bits 0 to 7 of each number
    middle    uint8 [256]   bits 8 to 15
    high      uint8 [256]   bits 16 to 22, and the sign above
    codes     uint8 [32 x form]
    escapes   uint8 [...]

A code has as many bits as the form says: base less exponent, or all ones where that is as much or
more, and then the exponent is among the escapes, in their order. With form 8 the codes are the
exponents. Codes lie in strips: a byte has those of numbers that are 32 apart (form 3; three bytes
have eight) or 128 apart (form 4), which is what processors do many at a time. The block at the end
may have fewer than 256 numbers; then its form is 0 or 8. Normal numbers take 85 % of their bytes,
at 3.5 GB/s either way on a core of 3 GHz.

Every pattern of bits comes back as it was. A message of a peer is never trusted: ``unpack`` stays
inside both arrays whatever it reads.
"""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from typing import Any

import numba
import numpy as np

BLOCK = 256
HEAD_BYTES = 2
_FRACTION_BYTES = 3  # of each number
ZEROS, NARROW, _WIDE, WHOLE = 0, 3, 4, 8  # forms
NARROW_BYTES, _WIDE_BYTES = 96, 128
NARROW_ESCAPE, _WIDE_ESCAPE = 7, 15


def most_bytes(count: int) -> int:
    """What ``count`` numbers can take, with room for escapes that turn out to be too many."""
    return 4 * count + HEAD_BYTES * -(-count // BLOCK) + BLOCK


@numba.njit(nogil=True, cache=True)
def pack(words: Any, out: Any) -> int:
    """Write the numbers whose bits are ``words``, uint32, to ``out``, which has ``most_bytes``;
    returns how many bytes that took.
    """
    exponents, codes = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    at = 0
    for start in range(0, words.size, BLOCK):
        block = words[start : min(start + BLOCK, words.size)]
        some, most = np.uint32(0), np.uint32(0)
        for i in range(block.size):
            some |= block[i]
            most = max(most, block[i] & np.uint32(0x7FFFFFFF))
        if some == 0:
            out[at] = ZEROS
            at += 1
            continue
        base = np.uint8(most >> np.uint32(23))
        head = out[at : at + HEAD_BYTES]
        at += HEAD_BYTES
        _put_fractions(block, out[at : at + _FRACTION_BYTES * block.size])
        at += _FRACTION_BYTES * block.size
        few, fewer = np.int32(0), np.int32(0)  # escapes with three bits and with four
        for i in range(block.size):
            exponents[i] = np.uint8(block[i] >> np.uint32(23))
        for i in range(BLOCK):
            codes[i] = base - exponents[i]
        for i in range(BLOCK):
            few += np.int32(codes[i] >= NARROW_ESCAPE)
        for i in range(BLOCK):
            fewer += np.int32(codes[i] >= _WIDE_ESCAPE)
        narrow_bytes, wide_bytes = NARROW_BYTES + few, _WIDE_BYTES + fewer
        head[1] = base
        if block.size < BLOCK or min(narrow_bytes, wide_bytes) >= BLOCK:
            head[0] = WHOLE
            whole = out[at : at + block.size]
            for i in range(block.size):
                whole[i] = exponents[i]
            at += block.size
        elif narrow_bytes <= wide_bytes:
            head[0] = NARROW
            put_narrow(codes, out[at : at + NARROW_BYTES])
            at += NARROW_BYTES
            at += put_escapes(codes, NARROW_ESCAPE, exponents, out[at : at + BLOCK])
        else:
            head[0] = _WIDE
            _put_wide(codes, out[at : at + _WIDE_BYTES])
            at += _WIDE_BYTES
            at += put_escapes(codes, _WIDE_ESCAPE, exponents, out[at : at + BLOCK])
    return at


@numba.njit(nogil=True, cache=True)
def _put_fractions(block: Any, out: Any) -> None:
    # a loop for each byte: together they are not done many at a time
    count = block.size
    low, middle, high = out[:count], out[count : 2 * count], out[2 * count :]
    for i in range(count):
        low[i] = np.uint8(block[i])
    for i in range(count):
        middle[i] = np.uint8(block[i] >> np.uint32(8))
    for i in range(count):
        fraction = (block[i] >> np.uint32(16)) & np.uint32(0x7F)
        high[i] = np.uint8(fraction | ((block[i] >> np.uint32(24)) & np.uint32(0x80)))


@numba.njit(nogil=True, cache=True)
def put_narrow(codes: Any, out: Any) -> None:
    for i in range(BLOCK):
        codes[i] = min(codes[i], np.uint8(NARROW_ESCAPE))
    first, second, third = out[:32], out[32:64], out[64:]
    for j in range(32):
        first[j] = codes[j] | codes[32 + j] << 3 | codes[64 + j] << 6
    for j in range(32):
        second[j] = (
            codes[64 + j] >> 2 | codes[96 + j] << 1 | codes[128 + j] << 4 | codes[160 + j] << 7
        )
    for j in range(32):
        third[j] = codes[160 + j] >> 1 | codes[192 + j] << 2 | codes[224 + j] << 5


@numba.njit(nogil=True, cache=True)
def _put_wide(codes: Any, out: Any) -> None:
    for i in range(BLOCK):
        codes[i] = min(codes[i], np.uint8(_WIDE_ESCAPE))
    for j in range(128):
        out[j] = codes[j] | codes[128 + j] << 4


@numba.njit(nogil=True, cache=True)
def put_escapes(codes: Any, escape: int, exponents: Any, out: Any) -> int:
    """Write the exponents that codes leave out; returns how many there are."""
    count = 0
    for i in range(BLOCK):
        out[count] = exponents[i]  # the next one takes its place, unless this one is to stay
        count += int(codes[i] == escape)
    return count


@numba.njit(nogil=True, cache=True)
def unpack(packed: Any, words: Any) -> int:
    """Read ``words.size`` numbers; returns how many bytes they took, -1 where ``packed`` is no
    such message.
    """
    exponents = np.empty(BLOCK, np.uint8)
    at = 0
    for start in range(0, words.size, BLOCK):
        block = words[start : min(start + BLOCK, words.size)]
        if at >= packed.size:
            return -1
        form = packed[at]
        if form == ZEROS:
            at += 1
            block[:] = 0
            continue
        body = at + HEAD_BYTES
        at = body + _FRACTION_BYTES * block.size
        codes_bytes = _codes_bytes(form, block.size)
        if codes_bytes < 0 or at + codes_bytes > packed.size:
            return -1
        base = packed[body - 1]
        codes = packed[at : at + codes_bytes]
        at += codes_bytes
        if form == WHOLE:
            for i in range(codes.size):
                exponents[i] = codes[i]
        else:
            if form == NARROW:
                take_narrow(codes, exponents)
                used = take_escapes(exponents, NARROW_ESCAPE, base, packed[at:])
            else:
                _take_wide(codes, exponents)
                used = take_escapes(exponents, _WIDE_ESCAPE, base, packed[at:])
            if used < 0:
                return -1
            at += used
        _join(packed[body : body + _FRACTION_BYTES * block.size], exponents, block)
    return at


@numba.njit(nogil=True, cache=True)
def _codes_bytes(form: int, count: int) -> int:
    """-1 where a block of ``count`` numbers has no such form."""
    if form == WHOLE:
        return count
    if count < BLOCK:
        return -1
    if form == NARROW:
        return NARROW_BYTES
    return _WIDE_BYTES if form == _WIDE else -1


@numba.njit(nogil=True, cache=True)
def take_narrow(packed: Any, codes: Any) -> None:
    first, second, third = packed[:32], packed[32:64], packed[64:96]
    for j in range(32):
        codes[j] = first[j] & 7
    for j in range(32):
        codes[32 + j] = (first[j] >> 3) & 7
    for j in range(32):
        codes[64 + j] = first[j] >> 6 | (second[j] << 2) & 7
    for j in range(32):
        codes[96 + j] = (second[j] >> 1) & 7
    for j in range(32):
        codes[128 + j] = (second[j] >> 4) & 7
    for j in range(32):
        codes[160 + j] = second[j] >> 7 | (third[j] << 1) & 7
    for j in range(32):
        codes[192 + j] = (third[j] >> 2) & 7
    for j in range(32):
        codes[224 + j] = third[j] >> 5


@numba.njit(nogil=True, cache=True)
def _take_wide(packed: Any, codes: Any) -> None:
    for j in range(128):
        codes[j] = packed[j] & 15
    for j in range(128):
        codes[128 + j] = packed[j] >> 4


@numba.njit(nogil=True, cache=True)
def take_escapes(codes: Any, escape: int, base: int, escapes: Any) -> int:
    """Turn ``codes`` into exponents; returns how many escapes that took, -1 if there are fewer."""
    count = np.int32(0)
    for i in range(BLOCK):
        count += np.int32(codes[i] == escape)
    if count > escapes.size:
        return -1
    at = 0
    for i in range(BLOCK):
        if codes[i] == escape:
            codes[i] = escapes[at]
            at += 1
        else:
            codes[i] = base - codes[i]
    return at


@numba.njit(nogil=True, cache=True)
def _join(fractions: Any, exponents: Any, block: Any) -> None:
    count = block.size
    low, middle, high = fractions[:count], fractions[count : 2 * count], fractions[2 * count :]
    for i in range(count):
        top = np.uint32(high[i])
        block[i] = (
            np.uint32(low[i])
            | np.uint32(middle[i]) << np.uint32(8)
            | (top & np.uint32(0x7F)) << np.uint32(16)
            | (top & np.uint32(0x80)) << np.uint32(24)
            | np.uint32(exponents[i]) << np.uint32(23)
        )
