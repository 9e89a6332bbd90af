"""SIGUSR1 and SIGTERM as a request to save and to leave, in one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from argosy.foundation import notices
from argosy.foundation.errors import ConfigError
from argosy.foundation.notices import ASKED, LEFT, LOOP, SAVED, Mailbox, Notice
from argosy.foundation.preemption import SIGNALS, Watcher, requests, requeue_code

BOTH = sum(1 << number for number in SIGNALS)


class Loop(Watcher):
    def __init__(self):
        self.asked = []

    def on_request(self, number):
        self.asked.append(number)


@pytest.fixture(autouse=True)
def handlers_stay():
    before = [signal.getsignal(number) for number in SIGNALS]
    yield
    requests.close()
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.fixture
def mailbox(monkeypatch):
    """A launcher's, of which this process is the child."""
    box = Mailbox()
    monkeypatch.setenv(notices.VARIABLE, box.address)
    yield box
    box.close()


def told(mailbox):
    return [(notice.kind, notice.number) for notice in mailbox.read()]


def run_python(text):
    """The exit code of a script; the names of this file's subject are there."""
    head = (
        "import os, signal\n"
        "from argosy.foundation.preemption import Watcher, requests, shield_child\n"
    )
    return subprocess.run([sys.executable, "-c", head + text], timeout=60).returncode


@pytest.mark.parametrize("number", SIGNALS)
def test_a_watcher_is_asked_and_the_launcher_told(mailbox, number):
    loop = Loop()
    requests.watch(loop)
    requests.watch(loop)
    assert told(mailbox) == [(LOOP, BOTH)]
    signal.raise_signal(number)
    signal.raise_signal(number)
    assert loop.asked == [number, number]
    assert requests.signal == number
    assert told(mailbox) == [(ASKED, number)]


def test_handlers_of_the_script_stay(mailbox):
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        loop = Loop()
        requests.watch(loop)
        signal.raise_signal(signal.SIGTERM)
        assert (seen, loop.asked) == ([signal.SIGTERM], [])
        assert told(mailbox) == [(LOOP, 1 << signal.SIGUSR1)]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_handler_that_gives_way_is_called_when_nobody_takes_the_request(mailbox):
    heard = []

    class Last:
        gives_way = True

        def __call__(self, number, frame):
            heard.append(number)

    before = signal.signal(signal.SIGTERM, last := Last())
    try:
        loop = Loop()
        requests.watch(loop)
        signal.raise_signal(signal.SIGTERM)
        assert (loop.asked, heard) == ([signal.SIGTERM], [])
        requests.leave(loop)
        assert signal.getsignal(signal.SIGTERM) is last
        signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGTERM]
    finally:
        requests.close()
        signal.signal(signal.SIGTERM, before)


def test_a_watcher_that_leaves_gives_the_handlers_back(mailbox):
    loop = Loop()
    requests.watch(loop)
    requests.leave(loop)
    assert told(mailbox) == [(LOOP, BOTH), (LEFT, 0)]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_who_departs_is_disturbed_no_more(mailbox):
    loop = Loop()
    requests.watch(loop)
    requests.depart(6)
    assert told(mailbox) == [(LOOP, BOTH), (SAVED, 6)]
    for number in SIGNALS:
        signal.raise_signal(number)
        signal.signal(number, signal.SIG_DFL)
    assert loop.asked == []


def test_without_a_watcher_a_signal_ends_the_process_as_ever():
    """One that has gone counts no more."""
    text = "requests.watch(Watcher())\nsignal.raise_signal(signal.SIGTERM)"
    assert run_python(text) == -signal.SIGTERM


def test_a_request_does_not_hide_the_error_that_keeps_a_loop_from_answering_it(capfd):
    text = """
loop = Watcher()
requests.watch(loop)

def steps():
    try:
        yield
    finally:
        requests.leave(loop)

for _ in steps():
    signal.raise_signal(signal.SIGTERM)
    raise ValueError("this one")
"""
    assert run_python(text) == 1
    assert "ValueError: this one" in capfd.readouterr().err


def test_a_script_that_has_come_to_its_end_is_not_disturbed():
    """Neither in what it does at exit nor while the interpreter ends."""
    text = """
import atexit
atexit.register(lambda: [os.kill(os.getpid(), n) for n in (signal.SIGUSR1, signal.SIGTERM)])
loop = Watcher()
requests.watch(loop)
"""
    assert run_python(text) == 0


def test_forked_children_die_of_sigterm_only_unless_they_are_shielded():
    """And shielded ones of their parent's."""
    text = """
import time
loop = Watcher()
requests.watch(loop)

def child(is_shielded):
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        if is_shielded:
            shield_child()
        os.write(ends[1], b"x")
        time.sleep(60)
        os._exit(9)
    os.read(ends[0], 1)
    return pid

def sent_by_another(pid, number):
    sender = os.fork()
    if sender == 0:
        os.kill(pid, number)
        os._exit(0)
    os.waitpid(sender, 0)

plain = child(False)
os.kill(plain, signal.SIGUSR1)
os.kill(plain, signal.SIGTERM)
assert os.waitpid(plain, 0)[1] == signal.SIGTERM
shielded = child(True)
for number in (signal.SIGUSR1, signal.SIGTERM):
    sent_by_another(shielded, number)
assert os.waitpid(shielded, os.WNOHANG) == (0, 0)
os.kill(shielded, signal.SIGTERM)
assert os.waitpid(shielded, 0)[1] == 0
"""
    assert run_python(text) == 0


def test_a_pipe_that_is_not_the_launchers_is_not_written_to(monkeypatch, tmp_path):
    """The variable goes on to grandchildren, in which another file may have the number."""
    with open(tmp_path / "file", "wb") as file:
        monkeypatch.setenv(notices.VARIABLE, f"{file.fileno()}:1")
        notices.tell(LOOP)
    assert (tmp_path / "file").read_bytes() == b""


def test_what_a_script_writes_into_the_pipe_is_no_notice(mailbox):
    os.write(mailbox.fd, b'junk\n[1]\n[1, "unknown", 2]\n[1, "loop", "2"]\n[1, "loop", 2]\n[3, "le')
    assert mailbox.read() == [Notice(1, LOOP, 2)]
    os.write(mailbox.fd, b'ft", 0]\n')
    assert mailbox.read() == [Notice(3, LEFT, 0)]


@pytest.mark.parametrize("text", ["0", "256", "-1"])
def test_a_requeue_code_that_no_process_can_have_is_refused(monkeypatch, text):
    monkeypatch.setenv("ARGOSY_REQUEUE_CODE", text)
    with pytest.raises(ConfigError, match=r"from 1 to 255"):
        requeue_code()
