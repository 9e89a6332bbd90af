"""Objects between ranks: what a peer sends is read like a file of a stranger."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
from argosy.distributed.communication import objects
from argosy.foundation.errors import CheckpointError, CommError, UsageError
from support import hostile_pickles


def sent(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(hostile_pickles.framed(data)), dtype=torch.uint8)


def test_objects_arrive():
    tensor = paddle.to_tensor([1.5, 2.0], dtype="bfloat16")
    values = [1, "a", {"w": np.arange(3)}, tensor, paddle.to_tensor([True])]
    back = objects.decode_list("recv_object_list", objects.encode(values))
    assert back[:2] == [1, "a"]
    np.testing.assert_array_equal(back[2]["w"], np.arange(3))
    assert (back[3].dtype, back[3].raw.tolist(), back[4].tolist()) == (
        paddle.bfloat16,
        [1.5, 2.0],
        [True],
    )


@pytest.mark.attack("a hostile pickle from a peer")
@pytest.mark.parametrize(
    "name",
    [
        "an array of pointers",
        "a state for paddle.float32",
        "os.system by STACK_GLOBAL",
        "a list in itself",
    ],
)
def test_hostile_objects_are_refused(name):
    with pytest.raises(CheckpointError, match="all_gather_object: an object of a peer"):
        objects.decode("all_gather_object", sent(hostile_pickles.PICKLES[name]))


@pytest.mark.attack("a tensor from a peer that is none")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "nothing"])
@pytest.mark.parametrize(
    "array",
    [
        hostile_pickles.EIGHT,
        b"N",
        hostile_pickles.array(b")", hostile_pickles.dtype("S8"), hostile_pickles.raw(b"a" * 8)),
    ],
)
def test_tensors_are_made_of_arrays(array, dtype):
    made = hostile_pickles.call(
        hostile_pickles.named("argosy.distributed.communication.objects", "_tensor"),
        array,
        hostile_pickles.text(dtype),
        b"\x88",
    )
    if array == hostile_pickles.EIGHT and dtype == "float32":
        assert isinstance(objects.decode("recv_object_list", sent(made)), paddle.Tensor)
        return
    with pytest.raises((CheckpointError, UsageError)):
        objects.decode("recv_object_list", sent(made))


@pytest.mark.attack("a list from a peer that is none")
def test_what_is_no_list_is_refused():
    with pytest.raises(CheckpointError, match="recv_object_list: a peer sent a NoneType"):
        objects.decode_list("recv_object_list", sent(b"N"))


@pytest.mark.attack("an object of an impossible size from a peer")
@pytest.mark.parametrize("size", [-1, 0, 2**62])
def test_sizes_that_are_none(size):
    with pytest.raises(CommError, match=f"an object of {size} bytes"):
        objects.buffer(torch.tensor([size]))
