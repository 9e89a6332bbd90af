"""Event files: their bytes, and what of a run is in them."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from argosy.runtime.observe.event_file import EventFile, crc32c
from argosy.runtime.observe.ring import STEPS
from argosy.runtime.observe.scalars import Scalars
from argosy.runtime.observe.summary import PARTS


def test_checksums_are_those_of_the_standard():
    # RFC 3720, B.4
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(b"123456789") == 0xE3069283


def fields(data):
    """The fields of a message of protobuf, as (number, bytes or integer)."""
    at, found = 0, []

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        form = key & 7
        if form == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(form) or varint()
            value = data[at : at + size]
            at += size
        found.append((key >> 3, value))
    return found


def events(folder):
    """(step, {tag: number}) of each event of the one file below ``folder``."""
    (path,) = folder.iterdir()
    assert path.name.startswith("events.out.tfevents.")
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        event = dict(fields(data[at + 12 : at + 12 + length]))
        at += 16 + length
        values = [dict(fields(value)) for _, value in fields(event.get(5, b""))]
        numbers = {v[1].decode(): struct.unpack("<f", v[2])[0] for v in values}
        found.append((event.get(2, 0), numbers, event))
    assert found[0][2][3] == b"brain.Event:2"
    return found[1:]


def test_numbers_come_back(tmp_path):
    file = EventFile(tmp_path / "a")
    file.add(1.5, 3, {"loss": 0.25, "pace": 7.0})
    file.add(2.5, 300_000, {"loss": 1e300})
    file.close()
    (step, numbers, event), (later, large, _) = events(tmp_path / "a")
    assert (step, numbers) == (3, {"loss": 0.25, "pace": 7.0})
    assert struct.unpack("<d", event[1]) == (1.5,)
    assert (later, large) == (300_000, {"loss": math.inf})


def steps(count, told=-1, loss=math.nan):
    found = np.zeros(count, STEPS)
    found["number"] = np.arange(1, count + 1)
    found["began"] = 1_000_000 * np.arange(count)
    found["wall"] = 1_000_000
    found["data"] = 250_000
    found["told"] = told if told < 0 else told + np.arange(count)
    found["loss"] = loss
    return found


def test_losses_pace_and_shares_of_a_process(tmp_path):
    scalars = Scalars(tmp_path)
    scalars.add_steps("rank 0", steps(3, told=10, loss=0.5))
    scalars.add_steps("server 1", steps(2))
    scalars.add_steps("server 1", steps(0))
    scalars.close()
    *losses, (step, numbers, _) = events(tmp_path / "rank-0")
    assert [(at, found) for at, found, _ in losses] == [(n, {"loss": 0.5}) for n in (10, 11, 12)]
    assert step == 12
    assert numbers.pop("steps_per_s") == pytest.approx(1000)
    assert set(numbers) == {f"share/{name}" for name in PARTS}
    assert numbers["share/data"] == pytest.approx(0.25)
    assert sum(numbers.values()) == pytest.approx(1)
    ((step, _, _),) = events(tmp_path / "server-1")
    assert step == 2


def test_tiny_steps_are_thinned(tmp_path):
    scalars = Scalars(tmp_path)
    scalars.add_steps("rank 0", steps(1000, loss=1.0))
    scalars.close()
    *losses, _ = events(tmp_path / "rank-0")
    assert [at for at, _, _ in losses] == list(range(1, 1000, 10))
