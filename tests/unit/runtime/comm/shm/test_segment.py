import gc
import os

import numpy as np
import pytest

from argosy.foundation.errors import CommError
from argosy.runtime.comm.backends.shm.segment import Segment, handle_of_tensor, handle_tensor

HUGE = 2 << 20


def is_mapped(name):
    with open("/proc/self/maps") as lines:
        return any(f"memfd:argosy-{name}" in line for line in lines)


def test_two_mappings_of_one_segment():
    ours = Segment.create("shared", 8192)
    theirs = Segment.attach(ours.handle)
    ours.array(4096, (2, 3), np.float32)[1, 2] = 5.0
    assert theirs.array(4096, (6,), np.float32)[5] == 5.0
    assert ours.address != theirs.address
    assert ours.address % HUGE == 0
    ours.close()
    theirs.close()
    assert not is_mapped("shared")


def test_a_handle_travels_as_a_tensor_of_one_size():
    segment = Segment.create("travels", 8192)
    longest = ":".join([str(2**64 - 1)] * 3)
    for handle in ("", segment.handle, longest):
        assert handle_of_tensor(handle_tensor(handle)) == handle
        assert handle_tensor(handle).shape == handle_tensor("").shape
    segment.close()


def test_a_view_keeps_the_memory_after_close():
    segment = Segment.create("outlived", 4096)
    view = segment.array(0, (4,), np.int64)
    segment.close()
    assert segment.is_closed
    view[3] = 7
    assert is_mapped("outlived")
    del view
    gc.collect()
    assert not is_mapped("outlived")


def test_moving_to_huge_pages_keeps_what_is_there():
    segment = Segment.create("huge", 3 * HUGE)
    values = segment.array(0, (3 * HUGE // 8,), np.int64)
    values[:] = np.arange(values.size)
    segment.use_huge_pages(HUGE // 2, 2 * HUGE)
    segment.use_huge_pages(0, 4096)  # holds no whole huge page: nothing to do
    assert (values == np.arange(values.size)).all()
    segment.close()


def test_a_process_that_has_gone_cannot_be_attached_to():
    with pytest.raises(CommError, match="must run on one host"):
        Segment.attach(f"{os.getpid()}:99999:4096")
