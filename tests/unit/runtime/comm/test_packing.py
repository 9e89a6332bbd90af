"""Packed floats: the compiled loops against NumPy, written from the layout; who packs when."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from argosy.runtime.comm.backends import halves_kernels as halves
from argosy.runtime.comm.backends import levels_kernels
from argosy.runtime.comm.backends import packing_kernels as kernels
from argosy.runtime.comm.backends.packing import Pace, Packer


def packed_bits(words: np.ndarray) -> bytes:
    """What ``pack`` should make of ``words``, block by block."""
    return b"".join(_packed_block(words[at : at + 256]) for at in range(0, len(words), 256))


def _packed_block(words: np.ndarray) -> bytes:
    if not words.any():
        return bytes([0])
    exponents = (words >> 23 & 0xFF).astype(np.uint8)
    base = exponents.max()
    high = (words >> 16 & 0x7F | words >> 24 & 0x80).astype(np.uint8)
    fractions = [words.astype(np.uint8), (words >> 8).astype(np.uint8), high]
    forms = {8: exponents.tobytes()}
    if len(words) == 256:
        for width, apart in ((3, 32), (4, 128)):
            codes = np.minimum(base - exponents, 2**width - 1)
            # the strips as one number for each place in them, least significant byte first
            shifts = np.arange(len(codes) // apart)[:, None] * width
            joined = (codes.reshape(-1, apart).astype(np.uint64) << shifts.astype(np.uint64)).sum(0)
            strips = [(joined >> 8 * k).astype(np.uint8) for k in range(256 * width // 8 // apart)]
            escapes = exponents[codes == 2**width - 1]
            forms[width] = np.concatenate([*strips, escapes]).tobytes()
    form = min(forms, key=lambda width: (len(forms[width]), (8, 3, 4).index(width)))
    body = np.concatenate(fractions).tobytes()
    return bytes([form, base]) + body + forms[form]


def packed(words: np.ndarray) -> np.ndarray:
    out = np.full(kernels.most_bytes(len(words)), 0xAA, np.uint8)
    return out[: kernels.pack(words, out)]


def samples() -> dict[str, np.ndarray]:
    draw = np.random.RandomState(0)
    normal = draw.normal(size=3000).astype(np.float32)
    some = normal.copy()
    some[[3, 400, 401, 900]] = [np.nan, np.inf, -np.inf, -0.0]
    some.view(np.uint32)[5] = 0xFF812345  # a nan with something in it
    some[1024:1300] = 0.0
    some[1500:1600] *= np.float32(1e-42)  # below the normal numbers
    return {
        "normal": normal,
        "wide": normal * np.float32(2.0) ** draw.randint(-11, 1, 3000).astype(np.float32),
        "edges": some,
        "zeros": np.zeros(700, np.float32),
        "negative zeros": -np.zeros(700, np.float32),
        "bits": draw.randint(0, 2**32, 3000, dtype=np.uint32).view(np.float32),
        "one": normal[:1],
        "none": normal[:0],
        "a block": normal[:256],
    }


@pytest.mark.parametrize("name", samples())
def test_bytes_are_those_of_the_layout_and_come_back(name):
    words = samples()[name].view(np.uint32)
    found = packed(words)
    assert found.tobytes() == packed_bits(words)
    back = np.full(len(words), 0x55555555, np.uint32)
    assert kernels.unpack(found, back) == len(found)
    np.testing.assert_array_equal(back, words)


def test_what_it_saves():
    sizes = {
        name: len(packed(v.view(np.uint32))) / max(v.nbytes, 1) for name, v in samples().items()
    }
    assert sizes["normal"] < 0.87
    assert 0.87 < sizes["wide"] < 0.92  # four bits instead of three
    assert sizes["zeros"] < 0.002
    assert 1 < sizes["bits"] < 1.003


@pytest.mark.parametrize("cut", [0, 1, 2, 100, 866, 870])
def test_a_torn_message_is_refused(cut):
    found = packed(samples()["normal"][:256].view(np.uint32))
    assert len(found) > 866  # 2 + 3 * 256 + 96, and some escapes
    assert kernels.unpack(found[:cut], np.empty(256, np.uint32)) == -1


@pytest.mark.parametrize("form", [1, 2, 5, 255])
def test_forms_that_do_not_exist(form):
    found = packed(samples()["normal"][:256].view(np.uint32))
    found[0] = form
    assert kernels.unpack(found, np.empty(256, np.uint32)) == -1


def test_a_packer_is_used_again():
    values = samples()["normal"]
    sender, receiver = Packer(), Packer()
    for part in (values, values[:2000], -values):
        message = sender.pack(memoryview(part).cast("B"), torch.float32)
        assert message is not None
        assert message.nbytes < part.nbytes
        back = np.empty_like(part)
        room = memoryview(back).cast("B")
        room[: message.nbytes] = message
        assert receiver.unpack(message.nbytes, room, torch.float32, 0, 0)
        np.testing.assert_array_equal(back, part)
        room[: message.nbytes] = message
        assert not receiver.unpack(message.nbytes - 1, room, torch.float32, 0, 0)


def test_what_cannot_shrink_travels_as_it_is():
    bits = memoryview(samples()["bits"]).cast("B")
    assert Packer().pack(bits, torch.float32) is None
    assert Packer().pack(bits, torch.float16) is None


def test_what_is_exact_lies_around_what_is_packed():
    sender, receiver = Packer(), Packer()
    values = samples()["normal"].astype(np.float16)
    message = sender.pack(memoryview(values).cast("B"), torch.float16)
    assert message is not None
    whole = b"head" + bytes(message) + b"exact"
    back = memoryview(bytearray(values.nbytes + 9))
    back[: len(whole)] = whole
    assert receiver.unpack(len(whole), back, torch.float16, 4, 5)
    assert bytes(back) == b"head" + values.tobytes() + b"exact"


def packed_halves_bits(words: np.ndarray, is_bfloat: bool) -> bytes:
    """What ``halves_kernels.pack`` should make of ``words``, block by block."""
    blocks = [words[at : at + 256] for at in range(0, len(words), 256)]
    return b"".join(_packed_block_of_halves(block, is_bfloat) for block in blocks)


def _packed_block_of_halves(words: np.ndarray, is_bfloat: bool) -> bytes:
    if not words.any():
        return bytes([0])
    shift, mask = (7, 0xFF) if is_bfloat else (10, 0x1F)
    exponents = (words >> shift & mask).astype(np.uint8)
    base = exponents.max()
    whole = words.astype(np.uint8).tobytes() + (words >> 8).astype(np.uint8).tobytes()
    if len(words) < 256:
        return bytes([8, base]) + whole
    codes = np.minimum(base - exponents, 7)
    if is_bfloat:
        fractions = [(words & 0x7F | words >> 8 & 0x80).astype(np.uint8)]
    else:
        fractions = [words.astype(np.uint8), *_strips(words >> 8 & 3 | words >> 13 & 4)]
    narrow = np.concatenate([*fractions, *_strips(codes), exponents[codes == 7]]).tobytes()
    return bytes([8, base]) + whole if len(narrow) >= 512 else bytes([3, base]) + narrow


def _strips(codes: np.ndarray) -> list[np.ndarray]:
    """Three bits of each of 256 codes, 32 apart, as 24 bits in three bytes."""
    shifts = (np.arange(8)[:, None] * 3).astype(np.uint64)
    joined = (codes.reshape(8, 32).astype(np.uint64) << shifts).sum(0)
    return [(joined >> np.uint64(8 * k)).astype(np.uint8) for k in range(3)]


def samples_of_halves(is_bfloat: bool) -> dict[str, np.ndarray]:
    with np.errstate(over="ignore"):
        found = {
            name: (v.view(np.uint32) >> 16).astype(np.uint16)
            if is_bfloat
            else v.astype(np.float16).view(np.uint16)
            for name, v in samples().items()
        }
    bits = np.random.RandomState(1).randint(0, 2**16, 3000).astype(np.uint16)
    return {**found, "bits": bits}


@pytest.mark.parametrize("is_bfloat", [False, True])
@pytest.mark.parametrize("name", samples())
def test_bytes_of_halves_are_those_of_the_layout_and_come_back(name, is_bfloat):
    words = samples_of_halves(is_bfloat)[name]
    out = np.full(halves.most_bytes(len(words)), 0xAA, np.uint8)
    found = out[: halves.pack(words, is_bfloat, out)]
    assert found.tobytes() == packed_halves_bits(words, is_bfloat)
    back = np.full(len(words), 0x5555, np.uint16)
    assert halves.unpack(found, is_bfloat, back) == len(found)
    np.testing.assert_array_equal(back, words)
    if name == "normal":
        assert len(found) < (0.73 if is_bfloat else 0.91) * words.nbytes


def packed_levels(levels: np.ndarray) -> bytes:
    """What ``levels_kernels.pack`` should make of ``levels``, from the layout; its lengths are
    taken from it.
    """
    count = len(levels) // 256 * 256
    signed = levels[:count].view(np.int8).astype(np.int64)
    folded = np.where(signed < 0, -2 * signed - 1, 2 * signed).reshape(-1, 4, 64)
    low, high = folded & 63, folded >> 6
    strips = [low[:, k] | (low[:, 3] >> 2 * k & 3) << 6 for k in range(3)]
    symbols = sum(high[:, k] << 2 * k for k in range(4)).ravel()
    lengths = levels_kernels.lengths_of(np.bincount(symbols, minlength=256)).astype(int)
    codes, code = {}, 0
    for length in range(1, 13):
        code *= 2
        for symbol in np.flatnonzero(lengths == length):
            codes[symbol] = f"{code:0{length}b}"
            code += 1
    bits = "".join(codes[symbol] for symbol in symbols)
    bits += "0" * (-len(bits) % 32)
    return (
        (lengths[::2] | lengths[1::2] << 4).astype(np.uint8).tobytes()
        + np.stack(strips, 1).astype(np.uint8).tobytes()
        + levels[count:].tobytes()
        + np.packbits(np.array(list(bits), np.uint8), bitorder="little").tobytes()
    )


def samples_of_levels() -> dict[str, np.ndarray]:
    draw = np.random.RandomState(2)
    found = {
        f"normal {size}": np.clip(np.rint(draw.normal(0, size, 5000)), -127, 127)
        for size in (0.3, 8, 37)
    }
    return {name: v.astype(np.int8).view(np.uint8) for name, v in found.items()} | {
        "zeros": np.zeros(2560, np.uint8),
        # symbols whose counts are Fibonacci's: the longest codes would be too long
        "steep": np.concatenate(
            [np.repeat(np.uint8(64 + k), 4 * n) for k, n in enumerate(_fibonacci(18))]
        ),
    }


def _fibonacci(count: int) -> list[int]:
    found = [16, 16]
    while len(found) < count:
        found.append(found[-1] + found[-2])
    return found


@pytest.mark.parametrize("name", samples_of_levels())
def test_bytes_of_levels_are_those_of_the_layout_and_come_back(name):
    levels = samples_of_levels()[name]
    out = np.full(levels_kernels.most_bytes(len(levels)), 0xAA, np.uint8)
    found = out[: levels_kernels.pack(levels, out)]
    assert found.tobytes() == packed_levels(levels)
    back = np.full(len(levels), 0x55, np.uint8)
    assert levels_kernels.unpack(found, back) == len(found)
    np.testing.assert_array_equal(back, levels)
    if name == "normal 37":
        assert 0.9 < (len(found) - levels_kernels.LENGTHS_BYTES) / len(levels) < 0.93


@pytest.mark.parametrize("steepness", [1.1, 1.7, 2.5])
def test_lengths_of_codes_are_few_and_can_be_told_apart(steepness):
    counts = (20 * steepness ** np.arange(40)).astype(np.int64)  # no two alike
    counts = np.concatenate([counts, np.zeros(216, np.int64)])
    lengths = levels_kernels.lengths_of(counts)
    assert lengths.max() <= levels_kernels.MOST_BITS
    assert not lengths[40:].any()
    assert sum(2.0 ** -int(n) for n in lengths if n) == 1.0
    assert (np.diff(lengths[:40].astype(int)) <= 0).all()


def test_what_cannot_be_packed_stays():
    levels = np.random.RandomState(3).randint(0, 256, 5000).astype(np.uint8)
    assert Packer().pack(memoryview(levels), torch.int8) is None


def note(pace: Pace, began_s: float, num_bytes: int, *, is_full: bool) -> None:
    pace.note(began_s, began_s + 0.001, num_bytes, is_full=is_full, is_last=not is_full)


@pytest.mark.parametrize(("seconds", "is_slow"), [(0.1, True), (0.01, False)])
def test_a_connection_is_slow_by_what_it_takes_while_it_is_full(seconds, is_slow):
    pace = Pace()
    note(pace, 0.0, 4 << 20, is_full=True)  # its buffers: they say nothing
    note(pace, seconds / 2, 2 << 20, is_full=True)
    assert not pace.is_slow
    note(pace, seconds, 2 << 20, is_full=False)
    assert pace.is_slow == is_slow
    # a message that it takes at once does not count, nor do a few bytes
    note(pace, 50.0, 1 << 30, is_full=False)
    note(pace, 60.0, 0, is_full=True)
    note(pace, 70.0, 1000, is_full=False)
    assert pace.is_slow == is_slow


def test_a_connection_that_waits_for_its_host_is_not_slow():
    pace = Pace()
    note(pace, 0.0, 1 << 20, is_full=True)
    pace.note(0.002, 0.003, 1 << 20, is_full=False, is_last=False)
    note(pace, 5.0, 1 << 20, is_full=False)  # the next message took its time
    assert not pace.is_slow


def test_a_connection_becomes_fast_again():
    pace = Pace()
    for start, seconds in ((0.0, 1.0), (5.0, 0.002)):
        note(pace, start, 0, is_full=True)
        note(pace, start + seconds, 2 << 20, is_full=False)
        assert pace.is_slow == (start == 0)
