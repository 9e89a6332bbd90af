"""The end of a process that is traced: from its start to its end (``ARGOSY_TRACE``), or for some
steps, when ``argosy trace`` asks through the ring.

Each process writes a file of its own; who has asked, or the launcher, joins them.
"""

from __future__ import annotations

import atexit
import logging
import os
import platform
import signal
import threading
import time
from pathlib import Path
from typing import Any

from argosy.foundation import clock, env
from argosy.foundation.trace import Recording, trace
from argosy.runtime.observe import chrome
from argosy.runtime.observe.label import is_server, own_label
from argosy.runtime.observe.ring import Request

_log = logging.getLogger(__name__)

VARIABLE = "ARGOSY_TRACE"
RUN_VARIABLE = "ARGOSY_RUN"
_MOST_S = 600.0  # a process without steps, whose asker has gone, records no longer


def record_all() -> None:
    """Record this process to its end, if the environment says so: also to one by SIGTERM, by which
    a launcher ends the others when one has failed.
    """
    if not env.get(VARIABLE):
        return
    whole = _Whole(Path(env.get(VARIABLE)).absolute(), trace.start())
    atexit.register(whole.end)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, whole)


class _Whole:
    """The recording of all of a process, and the handler of a signal that ends it: it writes
    first.
    """

    gives_way = True  # to who takes the signal as a request to save

    def __init__(self, folder: Path, recording: Recording) -> None:
        self._folder, self._recording = folder, recording
        self._is_writing = False
        self._signal = 0  # that is to end this process

    def __call__(self, number: int, frame: Any) -> None:
        self._signal = number
        if not self._is_writing:  # else this handler runs in the midst of it
            # nobody is asked for a clock: this thread may be in the middle of talking to the store
            self.write(is_urgent=True)

    def end(self) -> None:
        """Write it, unless nothing was recorded: a script that starts ranks is none itself."""
        if self._recording.events:
            self.write()

    def write(self, is_urgent: bool = False) -> None:
        """Write it, if it was not written before; then end, if a signal has come meanwhile."""
        self._is_writing = True
        write(self._folder, self._recording, is_urgent)
        self._is_writing = False
        if self._signal:
            signal.signal(self._signal, signal.SIG_DFL)
            signal.raise_signal(self._signal)


def record_no_more() -> None:
    """Drop what is recorded: this process is a launcher, or was forked from one that is traced."""
    trace.recordings = ()


def write(folder: Path, recording: Recording, is_urgent: bool = False) -> None:
    """End a recording, and write it, unless it was dropped. A full disk does not end a training."""
    if recording not in trace.recordings:
        return
    process = this_process(recording, trace.last_offset if is_urgent else trace.offset())
    trace.stop(recording)
    found = chrome.of_process(process, recording.events, trace.name_by_thread)
    path = folder / part_name(own_label(), os.getpid())
    try:
        chrome.write(path, found)
    except OSError as error:
        _log.warning("the trace of this process cannot be written to %s: %s", path, error)


def part_name(label: str, pid: int) -> str:
    """What the file of one process is called."""
    return f"{label.replace(' ', '-')}-{pid}.json"


def this_process(recording: Recording, offset: clock.Offset | None) -> chrome.Process:
    """Who this process is in a trace; ``offset`` is that of its clock."""
    return chrome.Process(
        label=own_label(),
        os_pid=os.getpid(),
        host=platform.node(),
        clock=clock.identity(),
        num_lost=recording.num_lost,
        offset_us=None if offset is None else offset.ahead_ns / 1e3,
        error_us=0.0 if offset is None else offset.error_ns / 1e3,
    )


def parts_folder(run: Path, number: int) -> Path:
    """Where the processes of a run leave what was asked for by a request of that number."""
    return run / f"trace-{number}.parts"


class Tracer:
    """Answers the requests of ``argosy trace`` for this process, into the folder of the run."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._number = 0
        self._left = 0  # steps
        self._recording: Recording | None = None

    def answer(self, request: Request, is_step: bool) -> bool:
        """Begin or go on with what is asked; True when it is done."""
        recording = self._recording
        if request.num_steps == 0 or (recording is not None and _is_old(recording)):
            self.finish()
            return True
        if recording is None or request.number != self._number:
            if recording is None:
                atexit.register(self.finish)
            else:
                trace.stop(recording)
            self._number, self._left = request
            self._recording = trace.start()
            return False
        # what a server counts are updates of its dense tables
        self._left -= is_step and not is_server(own_label())
        if self._left:
            return False
        self.finish()
        return True

    def finish(self) -> None:
        """Write what was recorded, if something was: also where a process ends before its last
        step.
        """
        recording, self._recording = self._recording, None
        if recording is None:
            return
        atexit.unregister(self.finish)
        folder = parts_folder(self._run, self._number)
        if folder.is_dir():  # who has asked still waits
            write(folder, recording)
        trace.stop(recording)


def _is_old(recording: Recording) -> bool:
    return time.perf_counter_ns() - recording.began_ns > _MOST_S * 1e9
