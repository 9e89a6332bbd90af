"""The pickle machine: what it reads, and what a hostile file cannot do."""

from __future__ import annotations

import collections
import enum
import gzip
import io
import json
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import paddle
from argosy.foundation import _pickle_limits, pickles
from argosy.foundation.errors import CheckpointError
from support import hostile_pickles

SCRIPT = Path(hostile_pickles.__file__)


def read(data: bytes, **options):
    return pickles.load(io.BytesIO(data), "the file", **options)


def admitted(*classes):
    return {(cls.__module__, cls.__qualname__): cls for cls in classes}


# -- hostile files


@pytest.fixture(scope="module")
def outcomes():
    """What a process of its own, with 2 GiB to spend, makes of every hostile pickle."""
    lines = [
        json.dumps([name, hostile_pickles.framed(data).hex()])
        for name, data in hostile_pickles.PICKLES.items()
    ]
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    found = {line[0]: line[1:] for line in map(json.loads, done.stdout.splitlines())}
    return found, f"exit code {done.returncode} after {len(found)} pickles\n{done.stderr[-2000:]}"


@pytest.mark.attack("a hostile pickle for paddle.load")
@pytest.mark.parametrize("name", hostile_pickles.PICKLES)
def test_hostile_pickle_is_refused(outcomes, name, record_property):
    found, end = outcomes
    assert name in found, end
    classes, seconds, mib = found[name]
    record_property("named_s", seconds)
    assert "CheckpointError" in classes, classes
    assert mib < 700
    assert seconds < 30


@pytest.mark.attack("keys with one hash, quick")
def test_keys_with_one_hash_are_noticed(monkeypatch, record_property):
    monkeypatch.setattr(_pickle_limits, "_PATIENCE_S", 0.1)
    start = time.monotonic()
    with pytest.raises(CheckpointError, match="take far longer to insert"):
        read(hostile_pickles.framed(hostile_pickles.flood(30_000)))
    record_property("named_s", time.monotonic() - start)


@pytest.mark.thorough
@pytest.mark.attack("keys with one hash")
def test_many_keys_with_one_hash_are_noticed(record_property):
    start = time.monotonic()
    with pytest.raises(CheckpointError, match="take far longer to insert"):
        read(hostile_pickles.framed(hostile_pickles.flood(60_000)))
    record_property("named_s", time.monotonic() - start)
    assert time.monotonic() - start < 60


class Plain:
    def __init__(self, value):
        self.value = value

    @property
    def twice(self):
        return 2 * self.value


class Slotted:
    __slots__ = ("a", "b")


class WithState:
    def __setstate__(self, state):
        self.seen = state


class Dictionary(dict):
    pass


class Sequence(list):
    pass


class Colour(enum.Enum):
    RED = 1


Pair = collections.namedtuple("Pair", "first second")
Pair.__module__ = __name__


@pytest.mark.attack("a file that changes an admitted class")
@pytest.mark.parametrize("state", [b"}\x8c\x05value\x8c\x01xs", b"N}\x8c\x05twice\x8c\x01xs\x86"])
def test_no_state_for_an_admitted_class(state):
    data = hostile_pickles.framed(hostile_pickles.named(__name__, "Plain") + state + b"b")
    with pytest.raises(CheckpointError, match="a state for a type"):
        read(data, classes=admitted(Plain))


@pytest.mark.attack("a file that changes what exists once")
def test_no_state_for_a_member_of_an_enum():
    member = hostile_pickles.call(hostile_pickles.named(__name__, "Colour"), b"K\x01")
    with pytest.raises(CheckpointError, match="a state for a Colour"):
        read(
            hostile_pickles.framed(member + b"}\x8c\x06_name_\x8c\x01xsb"), classes=admitted(Colour)
        )
    assert Colour.RED.name == "RED"


@pytest.mark.attack("a file that changes the class of an instance")
def test_no_state_for_what_is_no_slot():
    new = hostile_pickles.named(__name__, "Slotted") + b")\x81"
    for name in ("__class__", "nothing"):
        state = (
            b"N}"
            + hostile_pickles.text(name)
            + hostile_pickles.named(__name__, "Plain")
            + b"s\x86b"
        )
        with pytest.raises(CheckpointError, match="a slot that Slotted does not have"):
            read(hostile_pickles.framed(new + state), classes=admitted(Slotted, Plain))


@pytest.mark.attack("a class called with anything by a peer")
def test_errors_of_admitted_classes_are_ours():
    with pytest.raises(CheckpointError, match="TypeError"):
        read(
            hostile_pickles.framed(hostile_pickles.call(hostile_pickles.named(__name__, "Plain"))),
            classes=admitted(Plain),
        )


def test_functions_are_called_only_where_they_are_admitted():
    data = hostile_pickles.framed(
        hostile_pickles.call(hostile_pickles.named(__name__, "double"), b"K\x04")
    )
    assert read(data, functions=[double]) == 8
    with pytest.raises(pickles.RefusedGlobal, match=r"asks for .*double"):
        read(data)


def double(x):
    return 2 * x


# -- what it reads

NESTS = [
    None, True, 0, 255, 256, 65536, -1, 2**31, -(2**63), 10**300, 1.5, float("inf"), 1 + 2j, "",
    "text", "\ud800", "ä" * 300,
    b"", b"\x00\xff", b"x" * 300, bytearray(b""), bytearray(b"abc"), [], [1, [2, [3]]], (), (1,),
    (1, 2), (1, 2, 3), (1, 2, 3, 4), {}, {"a": {"b": 1}},
    {1, 2}, set(), frozenset(), frozenset({1, "a"}), range(3), range(1, 10, 2),
    slice(None, 3, None), collections.OrderedDict(a=1, b=[2]),
    collections.defaultdict(list, a=[1]), collections.Counter("aab"), collections.deque([1, 2], 5),
        collections.deque(), {(1, "a"): 2, None: 3, 1.5: b"x"},
    list(range(1000)), [float(i) for i in range(1000)], [i * 1000 for i in range(1000)],
        [f"w{i % 7}" for i in range(1000)], int, {"kind": float},
    collections.defaultdict(dict, a=collections.defaultdict(list)),
]  # fmt: skip


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("value", NESTS, ids=lambda value: f"{type(value).__name__} {value!r:.20}")
def test_plain_nests(value, protocol):
    back = read(pickle.dumps(value, protocol))
    assert type(back) is type(value)
    assert back == value
    if isinstance(value, collections.defaultdict):
        assert back.default_factory is value.default_factory
    if isinstance(value, collections.deque):
        assert back.maxlen == value.maxlen


ARRAYS = [
    np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((0, 4), "i4"), np.float32(1.5), np.array(3), np.array([True, False]),
    np.arange(3, dtype=">i4"), np.array(["ab", "c"]), np.array([b"ab", b"c"]), np.array([1 + 2j]),
        np.array(["ä"], ">U2"), np.zeros(2, "V3"), np.str_("x"), np.str_(""),
    np.arange(2**17, dtype="u1"), np.arange(2**17, dtype="f8").reshape(2, -1, order="F"),
        np.dtype("f4"), np.dtype(">i8"), np.arange(20000.0)[::2], np.longdouble(2),
]  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("value", ARRAYS, ids=lambda value: f"{value!r:.30}")
def test_arrays(value, protocol):
    back = read(pickle.dumps([value], protocol))[0]
    assert type(back) is type(value)
    if isinstance(value, np.dtype):
        assert back == value
        return
    assert back.shape == value.shape
    np.testing.assert_array_equal(back, value)
    if isinstance(back, np.ndarray):
        assert back.flags.writeable


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [3, 100_000])
def test_what_is_shared_stays_shared(protocol, size):
    array, items = np.zeros(size), [1]
    back = read(pickle.dumps([array, {"a": array}, items, items], protocol))
    assert back[0] is back[1]["a"]
    assert back[2] is back[3]
    assert not np.shares_memory(back[0], read(pickle.dumps(array, protocol)))


def test_dtypes_of_paddle_are_themselves():
    assert read(pickle.dumps([paddle.float32]))[0] is paddle.float32


def test_python_2_pickles():
    data = (
        b"(dp0\nS'a\\x41\\n'\np1\nI3\nsS'b'\nL5L\nsS'c'\n(I01\nI00\nF1.5\nNtp2\ns"
        b"Vd\\u00e4\n(lp3\nI1\nasg1\n(dS'k'\nI2\nss."
    )
    assert read(data) == {"aA\n": {"k": 2}, "b": 5, "c": (True, False, 1.5, None), "dä": [1]}


@pytest.mark.parametrize("protocol", [2, 4])
def test_instances_of_admitted_classes(protocol):
    slotted = Slotted()
    slotted.a = 1
    given = WithState()
    given.x = 2
    many = Dictionary(a=1)
    many.more = 3
    data = pickle.dumps(
        [Plain(5), slotted, given, many, Sequence([1, 2]), Colour.RED, Pair(1, 2), {Colour.RED: 1}],
        protocol,
    )
    back = read(
        data, classes=admitted(Plain, Slotted, WithState, Dictionary, Sequence, Colour, Pair)
    )
    assert back[0].twice == 10
    assert back[1].a == 1
    assert back[2].seen == {"x": 2}
    assert (back[3], back[3].more, back[4], type(back[4])) == ({"a": 1}, 3, [1, 2], Sequence)
    assert back[5] is Colour.RED
    assert back[6] == Pair(1, 2)
    assert type(back[6]) is Pair
    assert back[7] == {Colour.RED: 1}


def test_depth_up_to_the_limit():
    value = []
    for _ in range(_pickle_limits.MAX_DEPTH - 10):
        value = [value]
    assert read(pickle.dumps(value)) == value


def test_reading_stops_behind_the_object():
    file = io.BytesIO(b"xx" + pickle.dumps([1] * 100_000) + b"rest")
    file.seek(2)
    assert len(pickles.load(file, "the file")) == 100_000
    assert file.read() == b"rest"


@pytest.mark.parametrize("size", [2**18 - 3, 2**18, 2**18 + 1, 3 * 2**18])
def test_values_across_windows(size):
    value = ["a" * size, b"b" * size, [1.5] * (size // 9), "c"]
    assert read(pickle.dumps(value)) == value


def test_other_kinds_of_files(tmp_path):
    value = {"w": np.arange(100_000.0)}
    with gzip.open(tmp_path / "zipped", "wb") as file:
        file.write(pickle.dumps(value))
    with gzip.open(tmp_path / "zipped", "rb") as file:
        np.testing.assert_array_equal(pickles.load(file, "the file")["w"], value["w"])


def test_messages_name_call_and_source():
    with pytest.raises(
        pickles.NotPickle, match="all_gather_object: an object of a peer is damaged"
    ):
        pickles.load(io.BytesIO(b"\0\0"), "an object of a peer", call="all_gather_object")
    with pytest.raises(
        CheckpointError, match=r"cut short .1000 bytes were expected where 3 are left"
    ):
        read(b"\x80\x04B" + (1000).to_bytes(4, "little") + b"abc")
