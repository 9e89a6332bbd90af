"""Properties of packed floats: every pattern of bits comes back, and no message does harm."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from argosy.runtime.comm.backends import halves_kernels as halves
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
