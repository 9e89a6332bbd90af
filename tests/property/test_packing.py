"""Properties of packed floats: every pattern of bits comes back, and no message does harm."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from argosy.runtime.comm.backends import halves_kernels as halves
from argosy.runtime.comm.backends import levels_kernels
from argosy.runtime.comm.backends import packing_kernels as kernels

_GUARD = 64
# exponents that lie together, so that all forms of a block are met, and any bits
near = st.builds(
    lambda base, words, width: words & 0x807FFFFF | (base + (words >> 23) % width) % 256 << 23,
    st.integers(0, 255),
    arrays.arrays(np.uint32, st.integers(0, 700)),
    st.sampled_from([1, 4, 7, 9, 20, 60]),
).map(lambda words: words.astype(np.uint32))
any_words = near | arrays.arrays(np.uint32, st.integers(0, 700))


@given(any_words)
def test_bits_come_back(words):
    out = np.full(kernels.most_bytes(len(words)) + _GUARD, 0xAA, np.uint8)
    size = kernels.pack(words, out[:-_GUARD])
    assert size <= words.nbytes + 2 * -(-len(words) // kernels.BLOCK)
    assert (out[-_GUARD:] == 0xAA).all()
    back = np.full(len(words) + _GUARD, 0x5A5A5A5A, np.uint32)
    assert kernels.unpack(out[:size], back[:-_GUARD]) == size
    np.testing.assert_array_equal(back[:-_GUARD], words)
    assert (back[-_GUARD:] == 0x5A5A5A5A).all()


@given(any_words, st.data())
def test_damaged_messages_stay_inside(words, data):
    out = np.empty(kernels.most_bytes(len(words)), np.uint8)
    message = out[: kernels.pack(words, out)].copy()
    for _ in range(data.draw(st.integers(0, 4)) if len(message) else 0):
        at = data.draw(st.integers(0, len(message) - 1))
        message[at] = data.draw(st.integers(0, 255) | st.sampled_from([0, 3, 4, 8]))
    message = message[: data.draw(st.integers(0, len(message)))]
    back = np.full(len(words) + 2 * _GUARD, 0x5A5A5A5A, np.uint32)
    used = kernels.unpack(message, back[_GUARD:-_GUARD])
    assert -1 <= used <= len(message)
    assert (back[:_GUARD] == 0x5A5A5A5A).all()
    assert (back[-_GUARD:] == 0x5A5A5A5A).all()


any_halves = any_words.map(lambda words: (words >> 16).astype(np.uint16))


@given(any_halves, st.booleans())
def test_bits_of_halves_come_back(words, is_bfloat):
    out = np.full(halves.most_bytes(len(words)) + _GUARD, 0xAA, np.uint8)
    size = halves.pack(words, is_bfloat, out[:-_GUARD])
    assert size <= words.nbytes + 2 * -(-len(words) // kernels.BLOCK)
    assert (out[-_GUARD:] == 0xAA).all()
    back = np.full(len(words) + _GUARD, 0x5A5A, np.uint16)
    assert halves.unpack(out[:size], is_bfloat, back[:-_GUARD]) == size
    np.testing.assert_array_equal(back[:-_GUARD], words)
    assert (back[-_GUARD:] == 0x5A5A).all()


@given(any_halves, st.booleans(), st.data())
def test_damaged_messages_of_halves_stay_inside(words, is_bfloat, data):
    out = np.empty(halves.most_bytes(len(words)), np.uint8)
    message = out[: halves.pack(words, is_bfloat, out)].copy()
    for _ in range(data.draw(st.integers(0, 4)) if len(message) else 0):
        at = data.draw(st.integers(0, len(message) - 1))
        message[at] = data.draw(st.integers(0, 255) | st.sampled_from([0, 3, 8]))
    message = message[: data.draw(st.integers(0, len(message)))]
    back = np.full(len(words) + 2 * _GUARD, 0x5A5A, np.uint16)
    used = halves.unpack(message, is_bfloat, back[_GUARD:-_GUARD])
    assert -1 <= used <= len(message)
    assert (back[:_GUARD] == 0x5A5A).all()
    assert (back[-_GUARD:] == 0x5A5A).all()


any_levels = st.builds(
    lambda levels, width: (levels.astype(np.int64) * width // 128).astype(np.int8).view(np.uint8),
    arrays.arrays(np.int8, st.integers(0, 2000)),
    st.sampled_from([0, 3, 20, 60, 128]),
)


def levels_message(levels: np.ndarray) -> np.ndarray | None:
    """The packed bytes; None where that saves nothing."""
    out = np.full(levels_kernels.most_bytes(len(levels)) + _GUARD, 0xAA, np.uint8)
    size = levels_kernels.pack(levels, out[:-_GUARD])
    assert (out[-_GUARD:] == 0xAA).all()
    return out[:size].copy() if size < len(levels) else None


@given(any_levels)
def test_levels_come_back(levels):
    message = levels_message(levels)
    if message is not None:
        back = np.full(len(levels) + _GUARD, 0x5A, np.uint8)
        assert levels_kernels.unpack(message, back[:-_GUARD]) == len(message)
        np.testing.assert_array_equal(back[:-_GUARD], levels)
        assert (back[-_GUARD:] == 0x5A).all()


@given(any_levels, st.data())
def test_damaged_messages_of_levels_stay_inside(levels, data):
    message = levels_message(levels)
    if message is None:
        message = data.draw(arrays.arrays(np.uint8, st.integers(0, 1500)))
    for _ in range(data.draw(st.integers(0, 4)) if len(message) else 0):
        at = data.draw(
            st.integers(0, min(len(message), 128) - 1) | st.integers(0, len(message) - 1)
        )
        message[at] = data.draw(st.integers(0, 255))
    message = message[: data.draw(st.integers(0, len(message)))]
    back = np.full(len(levels) + 2 * _GUARD, 0x5A, np.uint8)
    used = levels_kernels.unpack(message, back[_GUARD:-_GUARD])
    assert -1 <= used <= len(message)
    assert (back[:_GUARD] == 0x5A).all()
    assert (back[-_GUARD:] == 0x5A).all()
