"""A process that is traced: what it is asked for, how it ends, what it cannot write."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from argosy.foundation.account import account
from argosy.foundation.trace import trace
from argosy.runtime.observe import tracing
from argosy.runtime.observe.ring import Request
from support.traces import checked, spans_of


@pytest.fixture
def tracer(tmp_path):
    made = tracing.Tracer(tmp_path)
    yield made
    made.finish()


def parts(tmp_path, number):
    return sorted(path.name for path in tracing.parts_folder(tmp_path, number).iterdir())


def test_so_many_steps_are_recorded(tmp_path, tracer):
    tracing.parts_folder(tmp_path, 1).mkdir()
    request = Request(1, 2)
    assert not tracer.answer(request, True)  # the step that has just ended was not recorded
    account.end_step()
    assert not tracer.answer(request, False)
    assert not tracer.answer(request, True)
    account.end_step()
    assert tracer.answer(request, True)
    assert not trace.recordings
    (name,) = parts(tmp_path, 1)
    assert len(spans_of(checked(tracing.parts_folder(tmp_path, 1) / name), 0, "step")) == 2
    assert tracer.answer(Request(1, 0), False)  # to be told to stop afterwards changes nothing


def test_who_is_told_to_stop_writes_what_it_has(tmp_path, tracer):
    tracing.parts_folder(tmp_path, 4).mkdir()
    assert not tracer.answer(Request(4, 1000), False)
    trace.add("something", "test", time.perf_counter_ns())
    assert tracer.answer(Request(4, 0), False)
    assert len(parts(tmp_path, 4)) == 1


def test_a_newer_request_takes_the_place_of_an_older_one(tmp_path, tracer):
    for number in (1, 2):
        tracing.parts_folder(tmp_path, number).mkdir()
        assert not tracer.answer(Request(number, 1), True)
    assert len(trace.recordings) == 1
    assert tracer.answer(Request(2, 1), True)
    assert (parts(tmp_path, 1), len(parts(tmp_path, 2))) == ([], 1)


def test_nothing_is_written_for_an_asker_that_has_gone(tmp_path, tracer):
    assert not tracer.answer(Request(1, 1), True)
    assert tracer.answer(Request(1, 1), True)
    assert not trace.recordings
    assert not list(tmp_path.iterdir())


def test_a_server_that_nobody_stops_ends_by_itself(tmp_path, tracer, monkeypatch):
    monkeypatch.setenv("TRAINING_ROLE", "PSERVER")
    assert not tracer.answer(Request(1, 1), False)
    assert not tracer.answer(Request(1, 1), True)  # an update of a dense table is no step
    monkeypatch.setattr(tracing, "_MOST_S", 0.0)
    assert tracer.answer(Request(1, 1), False)
    assert not trace.recordings


def test_what_cannot_be_written_ends_no_training(tmp_path, caplog):
    (tmp_path / "file").touch()
    tracing.write(tmp_path / "file" / "folder", trace.start())
    assert "cannot be written" in caplog.text
    assert not trace.recordings


ENDED = """
import os, signal, sys
from argosy.foundation.trace import trace

trace.add("here", "test", 1)
child = os.fork()
if child == 0:
    signal.raise_signal(signal.SIGTERM)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
assert not os.path.exists("traces")
signal.raise_signal(signal.SIGTERM)
"""


# the signal comes while what has ended by itself is being written
ENDED_TWICE = """
import signal
from argosy.foundation.trace import trace
from argosy.runtime.observe import chrome

trace.add("here", "test", 1)
write = chrome.write

def slowly(*args):
    signal.raise_signal(signal.SIGTERM)
    write(*args)

chrome.write = slowly
"""


@pytest.mark.parametrize("script", [ENDED, ENDED_TWICE])
def test_sigterm_ends_a_process_as_ever_but_its_trace_is_there(tmp_path, script):
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, env={"PATH": "", "ARGOSY_TRACE": "traces"}, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == -15
    (path,) = (tmp_path / "traces").iterdir()
    assert [event["name"] for event in spans_of(checked(path), 0, "test")] == ["here"]
