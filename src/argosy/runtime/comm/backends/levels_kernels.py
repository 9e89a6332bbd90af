"""The compiled loops that pack numbers of 8 bits without loss, and their layout.

Most numbers of a block whose largest is 127 are small. So their upper bits are few different ones,
which Huffman's codes make shorter, four numbers at a time; the lower bits are as good as random and
stay as they are. Numbers become ``2 x`` or ``-2 x - 1``, whatever is not negative, and are taken
in blocks of 256, of which numbers 64 apart belong together::

    lengths   uint8 [128]       bits of the code of each of 256 symbols, 4 bits each, the even ones
                                below; 0 where a symbol does not occur
    low       uint8 [192 x n]   bits 0 to 5 of each number: for each block three strips of 64, of
                                the numbers from 0, 64 and 128 on, with those from 192 on above
    rest      uint8 [...]       the numbers behind the last block, as they are
    codes     uint32 [...]      of the symbols, from the lowest bit on, to the end

A symbol has bits 6 and 7 of four numbers. Codes are canonical: those of one length are in the order
of their symbols, behind all that are shorter; their first bit is the lowest. Levels of normal
numbers take 92 % of their bytes.

Every pattern of bits comes back as it was. A message of a peer is never trusted: ``unpack`` stays
inside both arrays whatever it reads.
"""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from typing import Any

import numba
import numpy as np

BLOCK = 256
_STRIP = 64
_LOW_BYTES = 3 * _STRIP  # of each block
_SYMBOLS = 256
LENGTHS_BYTES = _SYMBOLS // 2
MOST_BITS = 12  # of a code: a table of all that begin with one stays in the first-level cache
_WORD_BITS = 32


def most_bytes(count: int) -> int:
    """What ``count`` numbers can take."""
    return LENGTHS_BYTES + count + _WORD_BITS // 8


@numba.njit(nogil=True, cache=True)
def pack(levels: Any, out: Any) -> int:
    """Write ``levels``, uint8, to ``out``, which has ``most_bytes``; returns how many bytes that
    took, or ``levels.size`` if it saves nothing.
    """
    num_blocks = levels.size // BLOCK
    symbols = np.empty(num_blocks * _STRIP, np.uint8)
    at = LENGTHS_BYTES
    for b in range(num_blocks):
        _split(
            levels[b * BLOCK : (b + 1) * BLOCK],
            out[at : at + _LOW_BYTES],
            symbols[b * _STRIP : (b + 1) * _STRIP],
        )
        at += _LOW_BYTES
    rest = levels[num_blocks * BLOCK :]
    counts = _counts(symbols)
    lengths = lengths_of(counts)
    num_bits = 0
    for symbol in range(_SYMBOLS):
        num_bits += counts[symbol] * np.int64(lengths[symbol])
    size = at + rest.size + -(-num_bits // _WORD_BITS) * (_WORD_BITS // 8)
    if num_blocks == 0 or size >= levels.size:
        return int(levels.size)
    for i in range(LENGTHS_BYTES):
        out[i] = lengths[2 * i] | lengths[2 * i + 1] << 4
    out[at : at + rest.size] = rest
    _put_codes(symbols, lengths, out[at + rest.size : size])
    return int(size)


@numba.njit(nogil=True, cache=True)
def _split(levels: Any, low: Any, symbols: Any) -> None:
    """The lower bits of a block, and the symbols that have the upper ones."""
    first, second, third, fourth = levels[:64], levels[64:128], levels[128:192], levels[192:]
    a, b, c = low[:64], low[64:128], low[128:]
    for j in range(_STRIP):
        # the sign everywhere, in the lowest bit too
        w = np.uint8(first[j] << 1) ^ np.uint8(-(first[j] >> 7))
        x = np.uint8(second[j] << 1) ^ np.uint8(-(second[j] >> 7))
        y = np.uint8(third[j] << 1) ^ np.uint8(-(third[j] >> 7))
        z = np.uint8(fourth[j] << 1) ^ np.uint8(-(fourth[j] >> 7))
        symbols[j] = w >> 6 | (x >> 6) << 2 | (y >> 6) << 4 | (z >> 6) << 6
        a[j] = w & 63 | (z & 3) << 6
        b[j] = x & 63 | ((z >> 2) & 3) << 6
        c[j] = y & 63 | ((z >> 4) & 3) << 6


@numba.njit(nogil=True, cache=True)
def _counts(symbols: Any) -> Any:
    # neighbours that are the same would wait for each other
    counts = np.zeros((4, _SYMBOLS), np.int64)
    for i in range(0, symbols.size, 4):
        counts[0, symbols[i]] += 1
        counts[1, symbols[i + 1]] += 1
        counts[2, symbols[i + 2]] += 1
        counts[3, symbols[i + 3]] += 1
    return counts[0] + counts[1] + counts[2] + counts[3]


@numba.njit(nogil=True, cache=True)
def lengths_of(counts: Any) -> Any:
    """Bits of the code of each symbol that occurs, at most MOST_BITS."""
    lengths = np.zeros(_SYMBOLS, np.uint8)
    order = np.argsort(counts)
    order = order[_SYMBOLS - np.count_nonzero(counts) :]
    if order.size < 2:
        lengths[order] = 1
        return lengths
    weights = counts[order]
    while True:
        depths = _depths(weights)
        if depths[0] <= MOST_BITS:
            lengths[order] = depths
            return lengths
        # flatter, and still in their order
        for i in range(weights.size):
            weights[i] = weights[i] // 2 + 1


@numba.njit(nogil=True, cache=True)
def _depths(weights: Any) -> Any:
    """How deep each leaf lies in Huffman's tree; ``weights`` rise, so depths do not."""
    count = weights.size
    totals = np.empty(2 * count - 1, np.int64)
    totals[:count] = weights
    parents = np.zeros(2 * count - 1, np.int64)
    leaf, inner = 0, count
    for new in range(count, 2 * count - 1):
        total = np.int64(0)
        for _ in range(2):
            # the lightest that has no parent: leaves and inner nodes are in order each
            if leaf < count and (inner >= new or totals[leaf] <= totals[inner]):
                chosen, leaf = leaf, leaf + 1
            else:
                chosen, inner = inner, inner + 1
            total += totals[chosen]
            parents[chosen] = new
        totals[new] = total
    depths = np.zeros(2 * count - 1, np.int64)
    for node in range(2 * count - 3, -1, -1):
        depths[node] = depths[parents[node]] + 1
    return depths[:count]


@numba.njit(nogil=True, cache=True)
def codes_of(lengths: Any) -> Any:
    """The code of each symbol, its first bit lowest."""
    codes = np.zeros(_SYMBOLS, np.uint32)
    code = 0
    for length in range(1, MOST_BITS + 1):
        code <<= 1
        for symbol in range(_SYMBOLS):
            if lengths[symbol] == length:
                turned = 0
                for i in range(length):
                    turned |= ((code >> i) & 1) << (length - 1 - i)
                codes[symbol] = turned
                code += 1
    return codes


@numba.njit(nogil=True, cache=True)
def _put_codes(symbols: Any, lengths: Any, out: Any) -> None:
    entries = codes_of(lengths) << np.uint32(4) | lengths
    bits, count, at = np.uint64(0), np.uint64(0), 0
    for i in range(symbols.size):
        entry = entries[symbols[i]]
        bits |= np.uint64(entry >> np.uint32(4)) << count
        count += np.uint64(entry & np.uint32(15))
        if count >= np.uint64(_WORD_BITS):
            _put_word(out[at : at + 4], bits)
            at += 4
            bits >>= np.uint64(_WORD_BITS)
            count -= np.uint64(_WORD_BITS)
    if count:
        _put_word(out[at : at + 4], bits)


@numba.njit(nogil=True, cache=True)
def _put_word(out: Any, bits: Any) -> None:
    for k in range(4):
        out[k] = np.uint8(bits >> np.uint64(8 * k))


@numba.njit(nogil=True, cache=True)
def unpack(packed: Any, levels: Any) -> int:
    """Read ``levels.size`` numbers, uint8; returns how many bytes they took, -1 where ``packed`` is
    no such message.
    """
    num_blocks = levels.size // BLOCK
    rest = levels[num_blocks * BLOCK :]
    start = LENGTHS_BYTES + num_blocks * _LOW_BYTES + rest.size
    if packed.size < start:
        return -1
    table = np.zeros(1 << MOST_BITS, np.uint16)
    if not _fill(packed[:LENGTHS_BYTES], table):
        return -1
    symbols = np.empty(num_blocks * _STRIP, np.uint8)
    used = _take_codes(packed[start:], table, symbols)
    if used < 0:
        return -1
    for b in range(num_blocks):
        at = LENGTHS_BYTES + b * _LOW_BYTES
        _join(
            packed[at : at + _LOW_BYTES],
            symbols[b * _STRIP : (b + 1) * _STRIP],
            levels[b * BLOCK : (b + 1) * BLOCK],
        )
    rest[:] = packed[start - rest.size : start]
    return start + used


@numba.njit(nogil=True, cache=True)
def _fill(packed: Any, table: Any) -> bool:
    """Say for all that can begin with a code which symbol it is and how long; False if codes of
    such lengths cannot be told apart. What begins with none stays 0.
    """
    lengths = np.empty(_SYMBOLS, np.uint8)
    for i in range(LENGTHS_BYTES):
        lengths[2 * i] = packed[i] & 15
        lengths[2 * i + 1] = packed[i] >> 4
    taken = 0
    for symbol in range(_SYMBOLS):
        if lengths[symbol] > MOST_BITS:
            return False
        if lengths[symbol]:
            taken += 1 << (MOST_BITS - lengths[symbol])
    if taken > 1 << MOST_BITS:
        return False
    codes = codes_of(lengths)
    for symbol in range(_SYMBOLS):
        length = np.int64(lengths[symbol])
        if length:
            for above in range(1 << (MOST_BITS - length)):
                table[np.int64(codes[symbol]) | above << length] = symbol << 4 | length
    return True


@numba.njit(nogil=True, cache=True)
def _take_codes(packed: Any, table: Any, symbols: Any) -> int:
    """Read all symbols; returns how many bytes that took, -1 if there are fewer or no symbol has
    such a code.
    """
    bits, count, at = np.uint64(0), np.int64(0), 0
    mask = np.uint64((1 << MOST_BITS) - 1)
    for i in range(symbols.size):
        if count < MOST_BITS and at + 4 <= packed.size:
            bits |= _word(packed[at : at + 4]) << np.uint64(count)
            at += 4
            count += _WORD_BITS
        entry = table[bits & mask]
        length = np.int64(entry & 15)
        if length == 0 or length > count:
            return -1
        bits >>= np.uint64(length)
        count -= length
        symbols[i] = entry >> 4
    return at if count < _WORD_BITS else -1


@numba.njit(nogil=True, cache=True)
def _word(packed: Any) -> Any:
    return np.uint64(
        np.uint32(packed[0])
        | np.uint32(packed[1]) << np.uint32(8)
        | np.uint32(packed[2]) << np.uint32(16)
        | np.uint32(packed[3]) << np.uint32(24)
    )


@numba.njit(nogil=True, cache=True)
def _join(low: Any, symbols: Any, levels: Any) -> None:
    first, second, third, fourth = levels[:64], levels[64:128], levels[128:192], levels[192:]
    a, b, c = low[:64], low[64:128], low[128:]
    for j in range(_STRIP):
        s = symbols[j]
        w = np.uint8(a[j] & 63 | (s & 3) << 6)
        x = np.uint8(b[j] & 63 | ((s >> 2) & 3) << 6)
        y = np.uint8(c[j] & 63 | ((s >> 4) & 3) << 6)
        z = np.uint8(a[j] >> 6 | (b[j] >> 6) << 2 | (c[j] >> 6) << 4 | (s >> 6) << 6)
        first[j] = w >> 1 ^ np.uint8(-(w & 1))
        second[j] = x >> 1 ^ np.uint8(-(x & 1))
        third[j] = y >> 1 ^ np.uint8(-(y & 1))
        fourth[j] = z >> 1 ^ np.uint8(-(z & 1))
