"""Files through pipe commands."""

from __future__ import annotations

import gc
import gzip
import os
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from argosy.foundation import programs
from argosy.foundation.errors import ProgramTimeout
from argosy.runtime.data import pipes
from argosy.runtime.data.reading import Reading, batches
from argosy.runtime.data.slots import BadData, Layout, Slot

LAYOUT = Layout((Slot("x", False),))


def write(folder, *sizes):
    paths, number = [], 0
    for i, size in enumerate(sizes):
        path = folder / f"part-{i}"
        path.write_text("".join(f"1 {number + n}\n" for n in range(size)))
        number += size
        paths.append(str(path))
    return paths


def read(paths, command="cat", **options):
    with Reading(LAYOUT, paths, command, **options) as reading:
        return reading.all().ids.tolist()


def my_threads():
    return [t for t in threading.enumerate() if t.name.startswith("argosy-data")]


@pytest.mark.parametrize("num_threads", [1, 2, 9])
@pytest.mark.parametrize("command", ["cat", "sed -n p"])
def test_the_order_is_that_of_the_list(tmp_path, command, num_threads):
    assert read(write(tmp_path, 50, 0, 30, 20), command, num_threads=num_threads) == list(
        range(100)
    )
    assert not my_threads()


def test_chunks_end_at_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(pipes, "_CHUNK_BYTES", 7)
    paths = write(tmp_path, 40, 40)
    with open(paths[1], "a") as file:
        file.write("1 80")  # no newline at the end
    assert read(paths) == list(range(81))
    with open(paths[0], "a") as file:
        file.write("bad\n")
    with pytest.raises(BadData, match=r"part-0, line 41: 'bad'"):
        read(paths)


def test_batches_cross_files_and_keep_the_rest(tmp_path):
    with Reading(LAYOUT, write(tmp_path, 3, 4, 4)) as reading:
        found = [part.ids.tolist() for part in batches(reading, 4)]
    assert found == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]


def test_commands_change_lines(tmp_path):
    assert read(write(tmp_path, 10), "head -n 3 | sed 's/1 /1 9/'") == [90, 91, 92]


def test_packed_and_downloaded_files(tmp_path):
    (tmp_path / "a b.gz").write_bytes(gzip.compress(b"1 5\n1 6\n"))
    assert read([str(tmp_path / "a b.gz")]) == [5, 6]
    assert read([str(tmp_path / "a b.gz")], "head -n 1") == [5]
    assert read(["17"], download_command="echo 1") == [17]


def test_a_command_that_fails_is_told_with_its_last_words(tmp_path, capfd):
    paths = write(tmp_path, 2)
    with pytest.raises(BadData) as caught:
        read(paths, "cat; echo first >&2; echo last >&2; exit 3")
    assert str(caught.value).startswith(f"{paths[0]}: the pipe command")
    assert str(caught.value).endswith("ended with exit code 3.\n  | first\n  | last")
    with pytest.raises(BadData, match="exit code 1"):
        read([str(tmp_path / "none.gz")], download_command="false")


def test_a_source_that_fails_is_no_short_file(tmp_path):
    (tmp_path / "torn.gz").write_bytes(gzip.compress(b"1 5\n" * 1000)[:-9])
    with pytest.raises(BadData, match="exit code 1"):
        read([str(tmp_path / "torn.gz")])


def test_what_is_not_there_has_no_samples(tmp_path):
    paths = write(tmp_path, 1, 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read([str(tmp_path / "absent"), *paths]) == read(paths)
        assert read(paths, "no-such-command") == []
    assert "absent: there is no such file" in str(caught[0].message)
    assert "'no-such-command' is not there" in str(caught[-1].message)


def test_nothing_is_left_behind_when_the_reader_stops_early(tmp_path):
    pid_file = tmp_path / "pid"
    command = f"echo $$ > {pid_file}; sleep 1000 & yes '1 1'"
    with Reading(LAYOUT, write(tmp_path, 1, 1), command, num_threads=2) as reading:
        next(iter(reading))
    assert not my_threads()
    group = int(pid_file.read_text())
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:  # orphans are reaped by init
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        if _all_dead(group):
            return
    raise AssertionError("processes of the pipe command still run")


def _all_dead(group):
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            return False
    return True


def test_an_endless_file_is_read_in_bounded_memory(tmp_path):
    with Reading(LAYOUT, write(tmp_path, 1), "yes '1 4'") as reading:
        taken = [len(part) for part, _ in zip(batches(reading, 1000), range(50), strict=False)]
    assert taken == [1000] * 50
    assert np.sum(taken) == 50000


@pytest.mark.attack("a pipe command that falls silent")
def test_a_command_that_falls_silent_is_ended(tmp_path, monkeypatch, record_property):
    monkeypatch.setenv("ARGOSY_PIPE_IDLE_S", "0.5")
    paths, start = write(tmp_path, 2), time.monotonic()
    with pytest.raises(ProgramTimeout) as caught:
        read(paths, "cat; sleep 1000")
    record_property("named_s", time.monotonic() - start)
    assert time.monotonic() - start < 20
    words = (
        f"{paths[0]}: the pipe command 'cat; sleep 1000' has neither read nor written anything "
        "for 0.5 s"
    )
    assert str(caught.value).startswith(words)
    assert not my_threads()


@pytest.fixture
def interruptible():
    """SIGINT is a KeyboardInterrupt, also where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.attack("training ends while a pipe command hangs")
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("command", ["sleep 1000", "trap '' TERM INT; sleep 1000 & sleep 1000"])
def test_a_command_that_hangs_ends_with_the_block(tmp_path, command):
    start = time.monotonic()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        read(write(tmp_path, 1, 1), f"cat; {command}")
    assert time.monotonic() - start < 20
    assert not my_threads()


@pytest.mark.attack("a pipe command that ends while its child keeps the stream open")
def test_a_child_that_keeps_the_stream_open_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "_ORPHAN_S", 0.5)
    with pytest.raises(ProgramTimeout, match="a process that it started keeps its output open"):
        read(write(tmp_path, 2), "cat; sleep 1000 &")


def test_a_reading_that_is_given_up_ends_its_threads(tmp_path):
    reading = Reading(LAYOUT, write(tmp_path, 1), "yes '1 4'")
    next(iter(reading))
    assert my_threads()
    assert reading._end.atexit  # so it is when the process ends
    del reading
    gc.collect()
    assert my_threads() == []
