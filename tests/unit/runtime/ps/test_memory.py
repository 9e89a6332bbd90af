import errno
import os
import threading

import numpy as np
import pytest

from argosy.foundation.errors import TableError
from argosy.runtime.ps.tables import memory
from argosy.runtime.ps.tables.memory import Column

ROWS = 1000


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(memory, "_BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(memory, "_LARGE_BYTES", 1 << 13)


def test_rows_are_zeros_and_stay_when_the_file_is_opened_again(tmp_path):
    column = Column(tmp_path / "c", np.float32, ROWS, 8)
    for end in range(1, ROWS + 1):
        column.reserve(end)
        assert not column.array[end - 1].any()
        column.array[end - 1] = end
    column.close()
    column = Column(tmp_path / "c", np.float32, ROWS, 8)
    assert column.array[:, 3].tolist() == list(range(1, ROWS + 1))
    column.close()


def test_closing_leaves_no_thread(tmp_path):
    column = Column(tmp_path / "c", np.float32, ROWS, 8)
    column.reserve(600)
    column.close()
    assert not [t for t in threading.enumerate() if t.name == "argosy-ps-memory"]


def test_a_full_disk_is_an_error_when_the_room_is_needed(tmp_path, monkeypatch):
    limit, take = 5 << 12, os.posix_fallocate

    def full(fd, offset, length):
        if offset + length > limit:
            raise OSError(errno.ENOSPC, "No space left on device")
        take(fd, offset, length)

    monkeypatch.setattr(os, "posix_fallocate", full)
    column = Column(tmp_path / "c", np.float32, ROWS, 8)
    for num_rows in range(1, limit // 32 + 1):
        column.reserve(num_rows)
    assert column.num_bytes == limit
    with pytest.raises(TableError, match=r"no room for 641 rows at .*No space left"):
        column.reserve(limit // 32 + 1)
    column.array[limit // 32 - 1] = 1.0  # what was reserved can be used
    column.close()
