"""Lines to records."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.runtime.data.parser import Parser
from argosy.runtime.data.records import batch_of, concatenated
from argosy.runtime.data.slots import BadData, Layout, Slot

IDS, DENSE = Slot("ids", False), Slot("dense", True, (-1, 2))
PARSER = Parser(Layout((IDS, DENSE)))


def test_columns_of_a_batch():
    records = PARSER.parse(b"2 7 8 2 0.5 -1.25\n\n1 9 2 1e3 .5\r\n")
    (ids, offsets), (dense, none) = batch_of(records, (IDS, DENSE))
    assert ids.tolist() == [7, 8, 9]
    assert offsets.tolist() == [0, 2, 3]
    np.testing.assert_array_equal(dense, np.array([[0.5, -1.25], [1000, 0.5]], np.float32))
    assert none is None


def test_floats_are_rounded_as_python_rounds_them():
    rng = np.random.default_rng(3)
    texts = [repr(float(v)) for v in rng.normal(size=50) * 10.0 ** rng.integers(-40, 40, 50)]
    texts += [
        "1e-45",
        "3.4028235e38",
        "1e39",
        "-0.0",
        "inf",
        "-inf",
        "123456789012345678",
        "0.1",
        "16777217",
        "+5",
        "5.",
        "1E+2",
    ]
    parser = Parser(Layout((Slot("x", True),)))
    found = parser.parse(f"{len(texts)} {' '.join(texts)}".encode()).floats
    with np.errstate(over="ignore"):
        expected = np.array([float(t) for t in texts]).astype(np.float32)
    np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))


def test_ids_of_64_bits():
    found = PARSER.parse(b"4 18446744073709551615 9223372036854775807 -1 0 2 1 1").ids
    assert found.tolist() == [-1, 2**63 - 1, -1, 0]


def test_what_follows_the_slots_is_left_out():
    assert len(PARSER.parse(b"1 7 2 1 1 3 x y z\n1 8 2 1 1\n")) == 2


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("0 2 1 1", "'ids' (1 of 2): the number of ids can not be zero"),
        ("1 7", "'dense' (2 of 2): the line ends before all of its values"),
        ("3 7 8", "'ids' (1 of 2): the line ends before all of its values"),
        ("1 7.5 2 1 1", "'ids' (1 of 2): '7.5' is no integer of 64 bits"),
        ("1 18446744073709551616 2 1 1", "is no integer of 64 bits"),
        ("1 7 2 1 one", "'one' is no number"),
        ("1 7 2 1 1_0", "'1_0' is no number"),
        ("x 7 2 1 1", "the number of values must come first, but 'x' is none"),
        ("-1 7 2 1 1", "the number of values must come first, but '-1' is none"),
    ],
)
def test_a_bad_line_is_named(line, what):
    with pytest.raises(BadData) as caught:
        PARSER.parse(f"1 7 2 1 1\n\n{line}\n1 8 2 1 1\n".encode(), "part-0.txt", 11)
    assert str(caught.value).startswith(f"part-0.txt, line 13: {line!r}")
    assert what in str(caught.value)


def test_ids_of_samples():
    parser = Parser(Layout((IDS,), has_id=True, has_content=True))
    records = parser.parse(b"1 a 1 text 1 7\n1 b 1 text 2 7 8\n1 a 1 other 1 9\n")
    assert records.keys[0] == records.keys[2] != records.keys[1]
    with pytest.raises(BadData, match="preceded by the number 1"):
        parser.parse(b"2 a b 1 7\n")


def test_samples_can_be_taken_sliced_and_joined():
    records = PARSER.parse(
        b"".join(b"%d %s 2 %d 0\n" % (n, b" ".join([b"%d" % n] * n), n) for n in range(1, 6))
    )
    taken = records.take(np.array([4, 0, 2]))
    assert taken.column(0)[0].tolist() == [5] * 5 + [1] + [3] * 3
    joined = concatenated([records.slice(0, 2), records.slice(2, 5)], records.is_float)
    for name in ("counts", "ids", "floats"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(records, name))
    swapped = records.with_column(0, np.array([1, 0, 2, 3, 4]))
    assert swapped.column(0)[0].tolist() == [2, 2, 1, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5]
    np.testing.assert_array_equal(swapped.column(1)[0], records.column(1)[0])


def test_a_dense_slot_has_as_many_values_as_its_shape_asks_for():
    parser = Parser(Layout((DENSE,)))
    [(values, offsets)] = batch_of(parser.parse(b"1 5\n3 1 2 3\n"), (DENSE,))
    assert values.tolist() == [[5, 1], [2, 3]]
    assert offsets is None
    with pytest.raises(
        BadData, match=r"(?s)'dense': a batch of 2 samples with 1 to 2 values each.*lod_level=1"
    ):
        batch_of(parser.parse(b"1 5\n2 1 2\n"), (DENSE,))
