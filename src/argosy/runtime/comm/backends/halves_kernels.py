"""The compiled loops that pack 16-bit floats without loss, and their layout: that of
``packing_kernels.py`` with the bits that such numbers have.

::

    form      uint8         0: all bits of the block are zero, and nothing follows; 3 or 8
    base      uint8         the largest exponent

    low       uint8 [256]   form 3, float16: bits 0 to 7 of each number
    high      uint8 [96]      bits 8 and 9 and, above, the sign: three bits each, in strips
    low       uint8 [256]   form 3, bfloat16: bits 0 to 6, and the sign above
    codes     uint8 [96]    form 3: base less exponent, or 7, in strips
    escapes   uint8 [...]     the exponents whose codes are 7

    low       uint8 [256]   form 8: bits 0 to 7
    high      uint8 [256]     bits 8 to 15

The block at the end may have fewer than 256 numbers; then its form is 0 or 8. Normal numbers take
90 % of their bytes as float16 and 71 % as bfloat16.

The loops that find a block's largest exponent, codes and escapes stand in both modules: as
functions of both each made packing slower, by 1 to 4 % (exponents) and 4 to 15 % (escapes).
"""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from argosy.runtime.comm.backends.packing_kernels import (
    BLOCK,
    HEAD_BYTES,
    NARROW,
    NARROW_BYTES,
    NARROW_ESCAPE,
    WHOLE,
    ZEROS,
    put_escapes,
    put_narrow,
    take_escapes,
    take_narrow,
)


def most_bytes(count: int) -> int:
    """What ``count`` numbers can take, with room for escapes that turn out to be too many."""
    return 2 * count + HEAD_BYTES * -(-count // BLOCK) + 2 * BLOCK


@numba.njit(nogil=True, cache=True)
def pack(words: Any, is_bfloat: bool, out: Any) -> int:
    """Write the numbers whose bits are ``words``, uint16, to ``out``, which has ``most_bytes``;
    returns how many bytes that took.
    """
    exponents, codes = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    high = np.empty(BLOCK, np.uint8)
    shift = np.uint16(7 if is_bfloat else 10)
    mask = np.uint16(0xFF if is_bfloat else 0x1F)
    fraction_bytes = BLOCK if is_bfloat else BLOCK + NARROW_BYTES
    at = 0
    for start in range(0, words.size, BLOCK):
        block = words[start : min(start + BLOCK, words.size)]
        some, most = np.uint16(0), np.uint16(0)
        for i in range(block.size):
            some |= block[i]
            most = max(most, block[i] & np.uint16(0x7FFF))
        if some == 0:
            out[at] = ZEROS
            at += 1
            continue
        base = np.uint8(most >> shift)
        for i in range(block.size):
            exponents[i] = np.uint8((block[i] >> shift) & mask)
        for i in range(BLOCK):
            codes[i] = base - exponents[i]
        few = np.int32(0)
        for i in range(BLOCK):
            few += np.int32(codes[i] >= NARROW_ESCAPE)
        out[at + 1] = base
        if block.size < BLOCK or fraction_bytes + NARROW_BYTES + few >= 2 * BLOCK:
            out[at] = WHOLE
            at += HEAD_BYTES
            _put_whole(block, out[at : at + 2 * block.size])
            at += 2 * block.size
            continue
        out[at] = NARROW
        at += HEAD_BYTES
        low = out[at : at + BLOCK]
        at += BLOCK
        if is_bfloat:
            for i in range(BLOCK):
                sign = (block[i] >> np.uint16(8)) & np.uint16(0x80)
                low[i] = np.uint8(block[i] & np.uint16(0x7F) | sign)
        else:
            for i in range(BLOCK):
                low[i] = np.uint8(block[i])
            for i in range(BLOCK):
                sign = (block[i] >> np.uint16(13)) & np.uint16(4)
                high[i] = np.uint8((block[i] >> np.uint16(8)) & np.uint16(3) | sign)
            put_narrow(high, out[at : at + NARROW_BYTES])
            at += NARROW_BYTES
        put_narrow(codes, out[at : at + NARROW_BYTES])
        at += NARROW_BYTES
        at += put_escapes(codes, NARROW_ESCAPE, exponents, out[at : at + BLOCK])
    return at


@numba.njit(nogil=True, cache=True)
def _put_whole(block: Any, out: Any) -> None:
    low, high = out[: block.size], out[block.size :]
    for i in range(block.size):
        low[i] = np.uint8(block[i])
    for i in range(block.size):
        high[i] = np.uint8(block[i] >> np.uint16(8))


@numba.njit(nogil=True, cache=True)
def unpack(packed: Any, is_bfloat: bool, words: Any) -> int:
    """Read ``words.size`` numbers; returns how many bytes they took, -1 where ``packed`` is no
    such message.
    """
    exponents, high = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    fraction_bytes = BLOCK if is_bfloat else BLOCK + NARROW_BYTES
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
        is_narrow = form == NARROW and block.size == BLOCK
        if not is_narrow and form != WHOLE:
            return -1
        at = body + (fraction_bytes + NARROW_BYTES if is_narrow else 2 * block.size)
        if at > packed.size:
            return -1
        if not is_narrow:
            _take_whole(packed[body:at], block)
            continue
        take_narrow(packed[at - NARROW_BYTES : at], exponents)
        used = take_escapes(exponents, NARROW_ESCAPE, packed[body - 1], packed[at:])
        if used < 0:
            return -1
        at += used
        low = packed[body : body + BLOCK]
        if is_bfloat:
            _join_bfloats(low, exponents, block)
        else:
            take_narrow(packed[body + BLOCK : body + BLOCK + NARROW_BYTES], high)
            _join_halves(low, high, exponents, block)
    return at


@numba.njit(nogil=True, cache=True)
def _take_whole(packed: Any, block: Any) -> None:
    low, high = packed[: block.size], packed[block.size :]
    for i in range(block.size):
        block[i] = np.uint16(low[i]) | np.uint16(high[i]) << np.uint16(8)


@numba.njit(nogil=True, cache=True)
def _join_bfloats(low: Any, exponents: Any, block: Any) -> None:
    for i in range(BLOCK):
        sign = (np.uint16(low[i]) & np.uint16(0x80)) << np.uint16(8)
        fraction = np.uint16(low[i]) & np.uint16(0x7F)
        block[i] = sign | np.uint16(exponents[i]) << np.uint16(7) | fraction


@numba.njit(nogil=True, cache=True)
def _join_halves(low: Any, high: Any, exponents: Any, block: Any) -> None:
    # an exponent has five bits; more, which only a damaged message has, must not become a sign
    for i in range(BLOCK):
        sign = (np.uint16(high[i]) & np.uint16(4)) << np.uint16(13)
        fraction = (np.uint16(high[i]) & np.uint16(3)) << np.uint16(8) | np.uint16(low[i])
        exponent = (np.uint16(exponents[i]) & np.uint16(0x1F)) << np.uint16(10)
        block[i] = sign | exponent | fraction
