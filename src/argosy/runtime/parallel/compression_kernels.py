"""The compiled loops of compressed gradients: numbers of 8 bits, and the largest entries.

Blocks stay in the first-level cache between the two looks at them. No operation is contracted, so
every processor makes the same bits of the same bytes.
"""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from typing import Any

import numba
import numpy as np

_BLOCK = 1024  # elements that are widened at a time, twice in the first-level cache
_LEVELS = 127.0
_LEAST = 1e-36  # of a scale: smaller ones have no inverse, or lose their last bits


def rounding_of(dtype: Any) -> tuple[Any, float, int]:
    """For float32 or float64: integers of the same width; a number that makes others lose their
    fraction, to the nearest even, when it is added and taken away; the bits of infinity.
    """
    if dtype == np.float32:
        return np.int32, 1.5 * 2.0**23, 0x7F800000
    return np.int64, 1.5 * 2.0**52, 0x7FF0000000000000


@numba.njit(nogil=True, cache=True)
def quantise(
    values: Any,
    residual: Any,
    block: int,
    scales: Any,
    levels: Any,
    bits: Any,
    magic: float,
    infinity: int,
) -> None:
    """Write ``values + residual`` as ``scales[b] * levels[i]`` with levels from -127 to 127, and
    what that differs by to ``residual``. A block with something that is not finite becomes nan and
    leaves no residual.

    ``bits`` is the memory of ``residual`` as integers: absolute values are in their order, and
    maxima of integers and sums with ``magic`` are what processors do eight at a time. The last two
    are those of ``rounding_of``.
    """
    kind = values.dtype.type
    mask = bits.dtype.type((1 << (8 * bits.itemsize - 1)) - 1)
    shift = kind(magic)
    largest = np.empty(1, bits.dtype)
    for b in range(scales.size):
        # parts of their own: from 0 on no index can be negative, which would cost a check each
        part = slice(b * block, min((b + 1) * block, values.size))
        new, rest, words, out = values[part], residual[part], bits[part], levels[part]
        most = bits.dtype.type(0)
        for i in range(rest.size):
            rest[i] += new[i]
        for i in range(words.size):
            most = max(most, words[i] & mask)
        if most >= infinity:
            scales[b] = np.nan
            for i in range(rest.size):
                rest[i] = 0
                out[i] = 1
            continue
        largest[0] = most
        scale = np.float32(largest.view(values.dtype)[0] / _LEVELS)
        if scale < _LEAST:  # all of it waits for the next time
            scale = np.float32(0.0)
        inverse = kind(0.0) if scale == 0 else kind(1.0) / kind(scale)
        scales[b] = scale
        factor = kind(scale)
        for i in range(rest.size):
            # up to 127, for scale and inverse are rounded by less than a level's half
            level = (rest[i] * inverse + shift) - shift
            out[i] = np.int8(level)
            rest[i] -= level * factor


@numba.njit(nogil=True, cache=True)
def quantise_alone(
    values: Any,
    block: int,
    scales: Any,
    levels: Any,
    rest: Any,
    bits: Any,
    magic: float,
    infinity: int,
) -> None:
    """As ``quantise``, with nothing left from before and nothing kept. ``rest`` is memory for some
    whole blocks and ``bits`` the same as integers.
    """
    for start in range(0, values.size, rest.size):
        part = slice(start, min(start + rest.size, values.size))
        new = values[part]
        rest[:] = 0
        first = start // block
        own = scales[first : first + -(-new.size // block)]
        quantise(new, rest[: new.size], block, own, levels[part], bits[: new.size], magic, infinity)


@numba.njit(nogil=True, cache=True)
def sum_levels(
    scales_1: Any,
    levels_1: Any,
    weight_1: float,
    scales_2: Any,
    levels_2: Any,
    weight_2: float,
    block: int,
    out: Any,
) -> None:
    """``out = scales_1[b] * levels_1[i] * weight_1 + scales_2[b] * levels_2[i] * weight_2``."""
    kind = out.dtype.type
    for b in range(scales_1.size):
        part = slice(b * block, min((b + 1) * block, out.size))
        total, steps_1, steps_2 = out[part], levels_1[part], levels_2[part]
        factor_1, factor_2 = kind(scales_1[b] * weight_1), kind(scales_2[b] * weight_2)
        for i in range(total.size):
            total[i] = kind(steps_1[i]) * factor_1 + kind(steps_2[i]) * factor_2


@numba.njit(nogil=True, cache=True)
def add_levels(
    scales: Any, levels: Any, weight: float, block: int, out: Any, is_first: bool
) -> None:
    """``out (+)= scales[b] * levels[i] * weight``."""
    kind = out.dtype.type
    for b in range(scales.size):
        part = slice(b * block, min((b + 1) * block, out.size))
        total, steps = out[part], levels[part]
        factor = kind(scales[b] * weight)
        if is_first:
            for i in range(total.size):
                total[i] = kind(steps[i]) * factor
        else:
            for i in range(total.size):
                total[i] += kind(steps[i]) * factor


@numba.njit(nogil=True, cache=True)
def sum_halves(
    first: Any, second: Any, weight_1: float, weight_2: float, is_bfloat: bool, out: Any
) -> None:
    """``out = first * weight_1 + second * weight_2`` of 16-bit numbers, given as uint16."""
    kind = out.dtype.type
    w_1, w_2 = kind(weight_1), kind(weight_2)
    bits_1, bits_2 = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32)
    wide_1, wide_2 = bits_1.view(np.float32), bits_2.view(np.float32)
    for start in range(0, out.size, _BLOCK):
        part = slice(start, min(start + _BLOCK, out.size))
        total = out[part]
        _widen(first[part], is_bfloat, bits_1, wide_1)
        _widen(second[part], is_bfloat, bits_2, wide_2)
        for i in range(total.size):
            total[i] = kind(wide_1[i]) * w_1 + kind(wide_2[i]) * w_2


@numba.njit(nogil=True, cache=True)
def add_halves(part: Any, weight: float, is_bfloat: bool, out: Any, is_first: bool) -> None:
    """``out (+)= part * weight``."""
    kind = out.dtype.type
    w = kind(weight)
    bits = np.empty(_BLOCK, np.uint32)
    wide = bits.view(np.float32)
    for start in range(0, out.size, _BLOCK):
        here = slice(start, min(start + _BLOCK, out.size))
        total = out[here]
        _widen(part[here], is_bfloat, bits, wide)
        if is_first:
            for i in range(total.size):
                total[i] = kind(wide[i]) * w
        else:
            for i in range(total.size):
                total[i] += kind(wide[i]) * w


@numba.njit(nogil=True, cache=True)
def _widen(halves: Any, is_bfloat: bool, bits: Any, wide: Any) -> None:
    """Write 16-bit numbers as float32 to ``wide``, whose memory is ``bits``. Exponents of float16
    are moved; what is below its normal numbers comes out 2**-14 too large and is put right, which
    is exact.
    """
    if is_bfloat:
        for i in range(halves.size):
            bits[i] = np.uint32(halves[i]) << np.uint32(16)
        return
    for i in range(halves.size):
        size = np.uint32(halves[i]) & np.uint32(0x7FFF)
        moved = (
            np.uint32(112) + np.uint32(size < 0x400) + np.uint32(112) * np.uint32(size >= 0x7C00)
        )
        bits[i] = (size << np.uint32(13)) + (moved << np.uint32(23))
    for i in range(halves.size):
        is_tiny = np.float32(halves[i] & np.uint16(0x7FFF) < 0x400)
        wide[i] -= is_tiny * np.float32(2.0**-14)
    for i in range(halves.size):
        bits[i] |= (np.uint32(halves[i]) & np.uint32(0x8000)) << np.uint32(16)


@numba.njit(nogil=True, cache=True)
def sampled(
    grad: Any,
    u: Any,
    v: Any,
    momentum: float,
    use_nesterov: bool,
    run: int,
    start: int,
    stride: int,
) -> Any:
    """What ``accumulate`` will make of the entries in every ``stride``-th run of ``run``
    neighbours, from run ``start`` on, as absolute values. Jumps cost more than what lies there.
    """
    m = v.dtype.type(momentum)
    found = np.empty(v.size // stride + run, v.dtype)
    count = 0
    for first in range(start * run, v.size, stride * run):
        for i in range(first, min(first + run, v.size)):
            g = grad[i]
            if use_nesterov:
                found[count] = abs(v[i] + m * (u[i] + g) + g)
            else:
                found[count] = abs(v[i] + (m * u[i] + g))
            count += 1
    return found[:count]


@numba.njit(nogil=True, cache=True)
def accumulate(
    grad: Any,
    u: Any,
    v: Any,
    bits: Any,
    momentum: float,
    use_nesterov: bool,
    threshold: float,
    least_bits: int,
    block: int,
    positions: Any,
    values: Any,
) -> int:
    """Add ``grad`` to velocity and accumulation, and move what is then at least ``threshold`` in
    absolute value from both to ``positions`` and ``values``, as far as there is room. ``grad``
    becomes zeros. Returns how many were moved.

    ``bits`` is the memory of ``v`` as integers and ``least_bits`` that of ``threshold``: one look
    at a block's largest tells whether it has any.
    """
    m = v.dtype.type(momentum)
    least = v.dtype.type(threshold)
    mask = bits.dtype.type((1 << (8 * bits.itemsize - 1)) - 1)
    count = 0
    for start in range(0, v.size, block):
        part = slice(start, min(start + block, v.size))
        g, speed, total, words = grad[part], u[part], v[part], bits[part]
        if use_nesterov:
            for i in range(g.size):
                new = m * (speed[i] + g[i])
                speed[i] = new
                total[i] = total[i] + new + g[i]
                g[i] = 0
        else:
            for i in range(g.size):
                new = m * speed[i] + g[i]
                speed[i] = new
                total[i] += new
                g[i] = 0
        most = bits.dtype.type(0)
        for i in range(words.size):
            most = max(most, words[i] & mask)
        if most < least_bits or count == positions.size:
            continue
        for i in range(total.size):
            if abs(total[i]) >= least and count < positions.size:
                positions[count] = start + i
                values[count] = total[i]
                total[i] = 0
                speed[i] = 0
                count += 1
    return count
