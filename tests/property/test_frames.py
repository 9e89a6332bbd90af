"""Properties of the store's frames and of what parameter servers read."""

from __future__ import annotations

import contextlib

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from argosy.foundation.errors import UsageError
from argosy.runtime.comm import frames
from argosy.runtime.comm.frames import BadFrame, Frame
from argosy.runtime.ps.wire import messages

numbers = st.integers(-(2**63), 2**63 - 1)
stored = st.builds(
    Frame, st.integers(0, 255), numbers, st.lists(st.binary(max_size=20), max_size=5).map(tuple)
)


def body_of(message: bytes) -> bytes:
    assert frames.body_bytes(message) == len(message) - frames.HEADER_BYTES
    return message[frames.HEADER_BYTES :]


@given(stored)
def test_a_frame_is_read_as_it_was_written(frame):
    assert frames.unpack(body_of(frames.pack(frame))) == frame


@given(st.lists(stored, max_size=4))
def test_frames_in_a_row_are_told_apart(sent):
    stream, found = b"".join(map(frames.pack, sent)), []
    while stream:
        end = frames.HEADER_BYTES + frames.body_bytes(stream)
        found.append(frames.unpack(stream[frames.HEADER_BYTES : end]))
        stream = stream[end:]
    assert found == sent


@given(st.binary(max_size=60))
def test_bytes_are_refused_or_are_the_frame_they_give(body):
    with contextlib.suppress(BadFrame):
        assert body_of(frames.pack(frames.unpack(body))) == body


@given(stored, st.data())
def test_a_torn_frame_is_refused_or_lacks_its_last_fields(frame, data):
    body = body_of(frames.pack(frame))
    end = data.draw(st.integers(0, len(body) - 1))
    with contextlib.suppress(BadFrame):
        torn = frames.unpack(body[:end])
        assert (torn.code, torn.number) == (frame.code, frame.number)
        assert torn.fields == frame.fields[: len(torn.fields)] != frame.fields


@given(st.binary(max_size=30))
def test_a_message_to_a_server_is_an_object_or_refused(data):
    with contextlib.suppress(UsageError):
        assert isinstance(messages.decode(data), dict)


@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 6), st.integers(1, 5))), st.data())
def test_rows_travel_unchanged_also_as_part_of_a_batch(rows, data):
    column = messages.rows_array(rows)
    batch = pa.record_batch([column], ["value"])
    np.testing.assert_array_equal(messages.asked_rows(batch.columns, 0), rows)
    start = data.draw(st.integers(0, len(rows)))
    np.testing.assert_array_equal(messages.rows_of(column.slice(start)), rows[start:])
