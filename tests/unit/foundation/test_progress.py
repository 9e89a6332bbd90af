"""Progress of long work: nothing for what is short, lines or a bar for what is not."""

from __future__ import annotations

import io
import threading

import pytest

from argosy.foundation.progress import counted, progress

BIG = 100_000_000


class Out(io.StringIO):
    """A stream; ``wrote`` is set when something was written."""

    def __init__(self, is_terminal=False):
        super().__init__()
        self.wrote = threading.Event()
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal

    def write(self, text):
        count = super().write(text)
        self.wrote.set()
        return count


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "argosy-progress"]


def test_short_work_shows_nothing():
    out = Out()
    with progress("loading x", BIG, out=out) as told:
        told(BIG)
        assert threads()
    assert out.getvalue() == ""
    assert not threads()


def test_small_work_starts_no_thread():
    with progress("loading x", 1000, out=Out(), first_s=0.0) as told:
        told(1000)
        assert not threads()


def test_long_work_shows_lines():
    out = Out()
    with progress("loading x", BIG, out=out, first_s=0.0, lines_s=60.0) as told:
        told(BIG // 4)
        assert out.wrote.wait(10)
    first, last = out.getvalue().splitlines()
    assert first.startswith("argosy: loading x: ")
    assert "of 100 MB" in first
    assert last == "argosy: loading x: done in 0 s"
    assert not threads()


def test_work_that_fails_does_not_say_that_it_is_done():
    out = Out()

    def fail():
        with progress("loading x", out=out, first_s=0.0):
            assert out.wrote.wait(10)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert out.getvalue().startswith("argosy: loading x: 0 B, ")
    assert "done" not in out.getvalue()
    assert not threads()


def test_a_bar_on_a_terminal():
    out = Out(is_terminal=True)
    with progress("loading [x]", 10, "rows", out=out, first_s=0.0) as told:
        told(5)
        while "5 rows" not in out.getvalue():
            assert out.wrote.wait(10)
            out.wrote.clear()
    assert "loading [x]" in out.getvalue()


def test_a_file_tells_what_is_read_and_written():
    told = []
    file = counted(io.BytesIO(), told.append)
    file.write(b"abc")
    file.seek(1)
    assert file.read() == b"bc"
    assert told == [3, 2]
