"""Any bytes: pickles, tensor files and run checkpoints give a plain value or one of our errors,
never anything else.
"""

from __future__ import annotations

import collections
import io
import pickle
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import strategies
from hypothesis.extra import numpy as arrays

import paddle
from argosy.distributed.fleet.checkpoints.state_file import dumps, loads
from argosy.foundation import pickles
from argosy.foundation._pickle_calls import NAMES
from argosy.foundation.errors import CheckpointError, UsageError
from argosy.framework import tensor_file
from support import hostile_pickles

DATA = Path(__file__).parents[1] / "goldens" / "data"
PLAIN = (
    type(None), bool, int, float, complex, str, bytes, bytearray, range, slice, set, frozenset,
        np.generic, np.ndarray, np.dtype, paddle.dtype, type, torch.Tensor,
    paddle.Tensor,
)  # fmt: skip
CONTAINERS = (
    list,
    tuple,
    dict,
    collections.OrderedDict,
    collections.defaultdict,
    collections.Counter,
    collections.deque,
)


def check_plain(value: object) -> None:
    todo, seen = [value], set()
    while todo:
        value = todo.pop()
        if type(value) in CONTAINERS:
            if id(value) not in seen:
                seen.add(id(value))
                todo.extend(value.values() if isinstance(value, dict) else value)
        else:
            assert isinstance(value, PLAIN), type(value)
            if isinstance(value, np.ndarray):
                assert value.dtype.kind in "biufcSUV"
                assert value.dtype.fields is None
                value.tobytes()
                repr(value)


def check_any(load: Callable[[bytes], object], data: bytes) -> None:
    """``data`` loads as something plain, or is refused by an error of ours."""
    try:
        check_plain(load(data))
    except (CheckpointError, UsageError):
        pass
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} for {data[:2000]!r}") from error


def spoilt(samples: list[bytes], seed: int, count: int) -> Iterator[bytes]:
    """The samples with bytes replaced, cut out, doubled, or the end missing."""
    chance = random.Random(seed)
    for _ in range(count):
        data = bytearray(chance.choice(samples))
        for _ in range(chance.choice([1, 1, 1, 2, 5])):
            at = chance.randrange(len(data) + 1)
            act = chance.randrange(5)
            if act == 0:
                data = data[:at]
            elif act == 1:
                data[at : at + chance.randrange(1, 9)] = b""
            elif act == 2:
                data[at:at] = data[at : at + chance.randrange(1, 30)]
            else:
                data[at : at + 1] = bytes(
                    [chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])]
                )
        yield bytes(data)


def pickled() -> list[bytes]:
    array, items = np.arange(12.0).reshape(3, 4), [1, 2.5, "a"]
    nest = {
        "model": collections.OrderedDict(w=array, again=array), "list": [items, items, (1, (2,))],
        "set": {1, "b"}, "frozen": frozenset({3}), "bytes": b"\0\xff",
        "counter": collections.Counter("aab"), "default": collections.defaultdict(list, a=[1]),
        "deque": collections.deque([1], 4), "scalar": np.float32(2), "complex": 1j,
        "range": range(5), "slice": slice(1, None), "text": np.array(["ab", "c"]),
        "dtype": paddle.float32, "numpy": np.dtype("i4"), "long": 10**30,
        "array": bytearray(b"xyz"), "floats": [0.5] * 20,
    }  # fmt: skip
    layer = paddle.nn.Linear(2, 3)
    adam = paddle.optimizer.Adam(parameters=layer.parameters())
    layer(paddle.ones([1, 2])).sum().backward()
    adam.step()
    out = [pickle.dumps(nest, protocol) for protocol in range(2, 6)]
    for state in (layer.state_dict(), adam.state_dict(), {"epoch": 1, "nested": [layer.weight]}):
        for protocol in (2, 3, 4):
            file = io.BytesIO()
            paddle.save(state, file, protocol=protocol)
            out.append(file.getvalue())
    sliced = {
        "w@@.0": np.ones(4),
        "w@@.1": np.ones(2),
        "UnpackBigParamInfor@@": {"w": {"OriginShape": (2, 3), "slices": ["w@@.0", "w@@.1"]}},
    }
    out.append(pickle.dumps(sliced, 2))
    golden = [
        path
        for suffix in ("pdparams", "pdopt", "pd", "pdtensor")
        for path in sorted(DATA.rglob(f"*.{suffix}"))
    ]
    return out + [path.read_bytes() for path in golden if path.stat().st_size < 20_000]


def load_pickle(data: bytes) -> object:
    return paddle.load(io.BytesIO(data))


def test_samples_load():
    samples = pickled()
    assert len(samples) > 20
    for data in samples:
        check_plain(load_pickle(data))


QUICK, THOROUGH = (
    1_500,
    pytest.param(20_000, marks=[pytest.mark.thorough, pytest.mark.timeout(600)]),
)


@pytest.mark.attack("damaged pickles")
@pytest.mark.parametrize("count", [QUICK, THOROUGH])
def test_spoilt_pickles(count):
    for data in spoilt(pickled(), 1, count):
        check_any(load_pickle, data)


def streams(seed: int, count: int) -> Iterator[bytes]:
    """Random programs of the machine's own opcodes, mostly with arguments that fit."""
    chance = random.Random(seed)
    names = [hostile_pickles.named(*name) for name in NAMES]
    codes = ["f4", "f8", "b1", "i8", "U2", "S3", "V4", "O8", "V0", "c16", "M8", "?", "u1"]
    atoms: list[Callable[[], bytes]] = [
        lambda: chance.choice([b"N", b"\x88", b"\x89", b"]", b"}", b")", b"\x8f", b"(", b"("]),
        lambda: chance.choice([b"(", b"0", b"1", b"2", b"a", b"e", b"s", b"u", b"t", b"l", b"d",
        b"\x90", b"\x91"]),
        lambda: chance.choice([b"\x85", b"\x86", b"\x87", b"R", b"R", b"b", b"\x81", b"\x92",
        b"\x93", b"\x94"]),
        lambda: b"K" + bytes([chance.randrange(9)]),
        lambda: hostile_pickles.number(chance.choice([-1, 0, 1, 3, 8, 2**31, 2**63, 10**12])),
        lambda: b"G" + struct.pack(">d", chance.choice([0.0, 1.5, float("nan"), float("inf"),
        1e300])),
        lambda: hostile_pickles.text(chance.choice(["", "a", "data", "latin1", "<", "|", "C",
        "float32", *codes])),
        lambda: hostile_pickles.raw(bytes(chance.choice([0, 1, 4, 8, 16, 100]))),
        lambda: b"\x96" + struct.pack("<Q", 8) + bytes(8),
        lambda: b"q" + bytes([chance.randrange(6)]),
        lambda: b"h" + bytes([chance.randrange(6)]),
        lambda: chance.choice(names),
        lambda: hostile_pickles.dtype(chance.choice(codes)),
        hostile_pickles.begun,
        lambda: hostile_pickles.group(hostile_pickles.number(1), hostile_pickles.group(b"K\x01"),
        hostile_pickles.dtype(chance.choice(codes)), b"\x89", hostile_pickles.raw(bytes(8))) + b"b",
        lambda: hostile_pickles.call(chance.choice(names),
        *[chance.choice([b"N", b"K\x02", b"]", b")", b"}", hostile_pickles.text("a")])
        for _ in range(chance.randrange(4))]),
        lambda: bytes([chance.randrange(256)]),
    ]  # fmt: skip
    for _ in range(count):
        yield hostile_pickles.framed(
            b"".join(chance.choice(atoms)() for _ in range(chance.randrange(1, 25)))
        )


@pytest.mark.attack("random pickles")
@pytest.mark.parametrize("count", [2 * QUICK, THOROUGH])
def test_random_pickles(count):
    for data in streams(2, count):
        check_any(load_pickle, data)


def tensor_files() -> list[bytes]:
    out = [path.read_bytes() for path in sorted((DATA / "files").glob("*.bin"))]
    for value in (
        torch.arange(6.0).reshape(2, 3),
        torch.zeros(0, 4, dtype=torch.int32),
        torch.tensor(1.5),
        torch.tensor([True, False]),
    ):
        file = io.BytesIO()
        tensor_file.write(value, file)
        out.append(file.getvalue())
    level = struct.pack("<IQ", 0, 1) + struct.pack("<Q", 16) + bytes(16)
    return [*out, level + out[-1][12:]]


@pytest.mark.attack("damaged tensor files")
@pytest.mark.parametrize("count", [QUICK, THOROUGH])
def test_spoilt_tensor_files(count):
    for data in tensor_files():
        check_plain(tensor_file.read(io.BytesIO(data), "the file"))
    for data in spoilt(tensor_files(), 3, count):
        check_any(lambda data: tensor_file.read(io.BytesIO(data), "the file"), data)


def states() -> list[bytes]:
    values = [
        {
            "w": torch.ones(2, 3),
            "b": np.arange(3),
            "n": [1, 2.5, None, "a", (b"x", True)],
            3: paddle.ones([2]),
        },
        [
            torch.zeros(0, 4, dtype=torch.bool),
            torch.tensor([True]),
            {"deep": {"er": torch.ones(1, dtype=torch.bfloat16)}},
        ],
    ]
    return [b"".join(dumps(value)) for value in values]


@pytest.mark.attack("damaged run checkpoints")
@pytest.mark.parametrize("count", [QUICK, THOROUGH])
def test_spoilt_states(count):
    for data in spoilt(states(), 4, count):
        check_any(lambda data: loads(data, "the file"), data)


# -- round trips

numbers = (
    strategies.none()
    | strategies.booleans()
    | strategies.integers(-(2**70), 2**70)
    | strategies.floats()
    | strategies.text()
    | strategies.binary()
)
keys = (
    strategies.text()
    | strategies.integers()
    | strategies.binary(max_size=5)
    | strategies.tuples(strategies.integers(), strategies.text())
)
kinds = (
    arrays.integer_dtypes()
    | arrays.floating_dtypes()
    | arrays.complex_number_dtypes()
    | arrays.boolean_dtypes()
    | arrays.unicode_string_dtypes(max_len=3)
)
leaves = numbers | kinds.flatmap(
    lambda kind: arrays.arrays(
        kind, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    )
)
nests = strategies.recursive(
    leaves,
    lambda inner: (
        strategies.lists(inner, max_size=5)
        | strategies.lists(inner, max_size=4).map(tuple)
        | strategies.dictionaries(keys, inner, max_size=4)
        | strategies.dictionaries(keys, inner, max_size=4).map(collections.OrderedDict)
        | strategies.lists(inner, max_size=4).map(collections.deque)
        | strategies.sets(keys, max_size=4)
    ),
    max_leaves=12,
)


def same(a: object, b: object) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return (
            a.shape == b.shape
            and a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=")
            and a.astype(b.dtype).tobytes() == b.tobytes()
        )
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple, collections.deque)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


@hypothesis.settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(value=nests, protocol=strategies.integers(2, 5))
def test_plain_nests_read_back_equal(value, protocol):
    assert same(value, pickles.load(io.BytesIO(pickle.dumps(value, protocol)), "the file"))
    first, second = pickles.load(io.BytesIO(pickle.dumps([value, value], protocol)), "the file")
    if type(value) in (*CONTAINERS, np.ndarray) and type(value) is not tuple:
        assert first is second
