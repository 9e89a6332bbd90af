"""The compiled loops of compressed gradients: numbers of 8 bits, and the largest entries.

Blocks stay in the first-level cache between the two looks at them. No operation is contracted, so
every processor makes the same bits of the same bytes.
"""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from typing import Any

import numba
import numpy as np

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
        at = 0
        while words[at] & mask != most:
            at += 1
        scale = np.float32(abs(rest[at]) / _LEVELS)
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
def add_levels(
    scales: Any, levels: Any, block: int, weight: float, out: Any, is_first: bool
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
