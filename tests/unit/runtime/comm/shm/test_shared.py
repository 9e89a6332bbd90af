"""Tensors in memory that other ranks can map: what a rank knows of its own."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import torch

from argosy.runtime.comm.backends.shm.shared import SharedTensors


def files() -> list[str]:
    """The shared-memory files that this process has open."""
    names = [os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.exists()]
    return [name for name in names if "argosy-here" in name]


def test_a_tensor_is_known_by_where_it_begins():
    shared = SharedTensors("here", 0)
    first, second = shared.allocate(10, torch.float32), shared.allocate(10, torch.float64)
    assert first.tolist() == [0.0] * 10
    assert (first.dtype, second.dtype) == (torch.float32, torch.float64)
    assert [shared.number_of(t) for t in (first, first[:5], second)] == [1, 1, 2]
    assert [shared.number_of(t) for t in (first[1:], torch.empty(10))] == [0, 0]


def test_nothing_is_too_little():
    assert SharedTensors("here", 0).allocate(0, torch.float32).numel() == 0


def test_a_tensor_is_forgotten_with_its_last_view():
    shared, before = SharedTensors("here", 0), files()
    tensor = shared.allocate(1000, torch.float32)
    address, view = tensor.data_ptr(), tensor[10:20]
    assert len(files()) == len(before) + 1
    del tensor
    assert len(files()) == len(before) + 1
    view.fill_(1.0)
    del view
    assert files() == before
    assert address not in shared._own


def test_ranks_exchange_handles_once_and_see_each_others_memory():
    tensors = [SharedTensors("here", rank) for rank in range(2)]
    own, other = (each.allocate(4, torch.float32) for each in tensors)
    said: list[torch.Tensor] = []

    def exchange(handle: torch.Tensor) -> list[torch.Tensor]:
        said.append(handle)
        return [handle, said[0]]

    tensors[1].share((1, 1), torch.float32, exchange)  # which leaves its handle
    del said[1:]
    found = tensors[0].share((1, 1), torch.float32, exchange)
    assert tensors[0].share((1, 1), torch.float32, exchange) is found
    assert len(said) == 2
    assert found.addresses[0] == own.data_ptr()
    assert found.addresses[1] != other.data_ptr()  # mapped a second time
    other.copy_(torch.arange(4.0))
    seen = (ctypes.c_float * 4).from_address(int(found.addresses[1]))
    assert list(seen) == [0.0, 1.0, 2.0, 3.0]
    before = files()
    del own
    assert len(files()) == len(before) - 2  # its own, and that of the other
