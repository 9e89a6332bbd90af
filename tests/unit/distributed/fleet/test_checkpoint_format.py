"""States as bytes: what comes back is what went in, and what is not a state is refused."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

import paddle
from argosy.distributed.fleet.checkpoints.state_file import SAME, dumps, loads, tensors
from argosy.foundation.errors import CheckpointError


def through(state):
    return loads(b"".join(dumps(state)), "the file")


@pytest.mark.parametrize(
    "state",
    [
        None,
        {"a": [1, 2.5, float("inf"), True, "text", None], 3: (1, (2,)), "b": b"\x00\xff"},
        {("x", 1): [], "": {}},
        random.Random(3).getstate(),
    ],
)
def test_plain_values(state):
    assert through(state) == state


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64, torch.uint8]
)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 4)])
def test_tensors(dtype, shape):
    value = torch.arange(6)[: int(np.prod(shape))].reshape(shape).to(dtype)
    back = through({"t": value})["t"]
    assert back.dtype is dtype
    assert back.shape == value.shape
    assert torch.equal(back, value)


def test_views_arrays_and_named_tensors():
    whole = torch.arange(6.0).reshape(2, 3)
    named = paddle.to_tensor([1.0, 2.0])
    named.name = "linear_0.w_0"
    back = through(
        {
            "view": whole.t(),
            "array": np.array([1, 2], np.uint32),
            "named": named,
            "number": np.float64(0.5),
        }
    )
    assert torch.equal(back["view"], whole.t())
    assert back["array"].dtype == np.uint32
    assert back["array"].tolist() == [1, 2]
    assert (back["named"].name, back["named"].tolist(), back["number"]) == (
        "linear_0.w_0",
        [1.0, 2.0],
        0.5,
    )


def test_same_is_one_thing():
    assert through([SAME])[0] is SAME


def test_what_cannot_be_held_is_named():
    with pytest.raises(CheckpointError, match="'a' -> 1 is a object"):
        dumps({"a": [1, object()]})


@pytest.mark.parametrize("cut", [0, 5, 20, -1])
def test_a_torn_file_is_refused(cut):
    data = b"".join(dumps({"w": torch.ones(3)}))
    with pytest.raises(CheckpointError, match="the file is not a state file"):
        loads(data[:cut], "the file")


def test_a_pickle_is_refused():
    import pickle

    with pytest.raises(CheckpointError, match="does not begin as one"):
        loads(pickle.dumps({"w": 1}) + b" " * 16, "the file")


def test_paths_of_tensors():
    assert [path for path, _ in tensors({"a": [torch.ones(1), {"b": torch.ones(1)}], "c": 1})] == [
        ("a", 0),
        ("a", 1, "b"),
    ]
