"""Shared memory whose size is for ever."""

from __future__ import annotations

import fcntl
import os

import pytest

from argosy.foundation import memory_file


def test_its_size_cannot_be_changed():
    fd = memory_file.make("fixed", 8192)
    try:
        assert os.readlink(f"/proc/self/fd/{fd}").startswith("/memfd:argosy-fixed")
        assert os.pread(fd, 9000, 0) == bytes(8192)
        for size in (4096, 16384):
            with pytest.raises(PermissionError):
                os.ftruncate(fd, size)
        with pytest.raises(PermissionError):
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        assert memory_file.cannot_shrink(fd)
        assert not os.get_inheritable(fd)
    finally:
        os.close(fd)


def test_one_that_cannot_be_made_leaves_nothing_open():
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="Invalid argument"):
        memory_file.make("none", -1)
    assert os.listdir("/proc/self/fd") == before


def test_other_files_can_shrink(tmp_path):
    loose = os.memfd_create("loose", os.MFD_ALLOW_SEALING)
    with open(tmp_path / "file", "wb") as file:
        assert not memory_file.cannot_shrink(file.fileno())
    try:
        assert not memory_file.cannot_shrink(loose)
        fcntl.fcntl(loose, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
        assert not memory_file.cannot_shrink(loose)
    finally:
        os.close(loose)
