"""Programs that hang, flood, fork and die: each ends in time, with everything it has started."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from argosy.foundation import env, programs
from argosy.foundation.errors import ChildFailed, ConfigError, ProgramTimeout
from argosy.foundation.programs import Program, run


def sh(text):
    return ["bash", "-c", text]


def wait_for(path):
    deadline = time.monotonic() + 20
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return int(path.read_text())


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def assert_gone(path):
    pid, deadline = wait_for(path), time.monotonic() + 10
    while runs(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def descriptors():
    before = os.listdir("/proc/self/fd")
    yield
    assert os.listdir("/proc/self/fd") == before


def test_output_and_code():
    done = run(sh("echo out; echo err >&2; exit 3"), "it", 20)
    assert (done.code, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert run(sh("kill -9 $$"), "it", 20).code == -9
    assert run(["cat"], "it", 20).stdout == ""  # nothing to read, and no terminal to ask
    with pytest.raises(FileNotFoundError):
        run(["/nowhere/program"], "it", 20)


@pytest.mark.attack("a foreign program that never ends")
@pytest.mark.parametrize(
    "text", ["sleep 1000", "trap '' TERM; sleep 1000", "exec 1>&- 2>&-; sleep 1000"]
)
def test_a_program_that_hangs_is_ended_with_its_children(
    tmp_path, text, record_property, monkeypatch
):
    monkeypatch.setattr(programs, "_GRACE_S", 0.3)
    start = time.monotonic()
    with pytest.raises(
        ProgramTimeout, match=r"the tool has not ended within 0\.5 s, so it was ended"
    ) as caught:
        run(sh(f"echo words >&2; sleep 1000 & echo $! > {tmp_path}/pid; {text}"), "the tool", 0.5)
    record_property("named_s", time.monotonic() - start)
    assert time.monotonic() - start < 10
    assert "words" in str(caught.value)
    assert isinstance(caught.value, TimeoutError)
    assert_gone(tmp_path / "pid")


@pytest.mark.attack("a foreign program whose child keeps the pipe open")
def test_a_child_that_keeps_the_pipe_open_holds_nobody_up(tmp_path):
    start = time.monotonic()
    done = run(sh(f"sleep 1000 & echo $! > {tmp_path}/pid; echo done"), "it", 60)
    assert (done.code, done.stdout) == (0, "done\n")
    assert time.monotonic() - start < 20
    assert_gone(tmp_path / "pid")


@pytest.mark.attack("a foreign program that floods its standard error")
def test_a_flood_of_errors_is_kept_in_part():
    done = run(sh("head -c 20000000 /dev/zero | tr '\\0' e >&2; echo out; echo last >&2"), "it", 60)
    assert (done.code, done.stdout) == (0, "out\n")
    assert len(done.stderr) <= 1 << 16
    assert done.stderr.endswith("elast\n")


@pytest.mark.attack("a foreign program that never stops printing")
def test_a_flood_of_output_is_an_error():
    with (
        Program(["yes"], "the tool") as program,
        pytest.raises(ChildFailed, match=r"the tool has printed more than 1000000 bytes"),
    ):
        program.outcome(limit_bytes=1_000_000)


def test_lines_flow_while_it_runs(tmp_path):
    gate = tmp_path / "gate"
    with Program(
        sh(f"echo first; until [ -e {gate} ]; do sleep 0.01; done; echo second; exit 4"), "it"
    ) as program:
        assert program.read(20) == b"first\n"
        gate.touch()
        assert program.read(20) == b"second\n"
        assert program.read(20) == b""
        assert program.finish(20) == 4


@pytest.mark.attack("a pipe command that falls silent")
def test_a_stream_that_falls_silent_is_ended(tmp_path, record_property):
    with Program(
        sh(f"echo $$ > {tmp_path}/pid; echo first; echo why >&2; sleep 1000"), "the command"
    ) as program:
        assert program.read(20) == b"first\n"
        start = time.monotonic()
        with pytest.raises(
            ProgramTimeout, match=r"the command has neither read nor written .* 0\.5 s"
        ) as caught:
            program.read(0.5)
        record_property("named_s", time.monotonic() - start)
        assert time.monotonic() - start < 10
    assert str(caught.value).endswith("\n  | why")
    assert_gone(tmp_path / "pid")


def test_a_stream_that_only_reads_is_not_silent(tmp_path):
    """It takes long to find its first line, and reads all the while."""
    (tmp_path / "in").write_text("x\n")
    text = (
        f"exec 3< {tmp_path}/in; end=$((SECONDS + 3)); while [ $SECONDS -lt $end ]; do read -u "
        "3; done; echo end"
    )
    with Program(sh(text), "it") as program:
        assert program.read(1.0) == b"end\n"


@pytest.mark.attack("a pipe command that ends while its child keeps the stream open")
def test_a_stream_kept_open_by_a_child_is_no_short_file(tmp_path, monkeypatch, record_property):
    monkeypatch.setattr(programs, "_ORPHAN_S", 0.5)
    with Program(
        sh(f"sleep 1000 & echo $! > {tmp_path}/pid; echo first"), "the command"
    ) as program:
        assert program.read(60) == b"first\n"
        start = time.monotonic()
        with pytest.raises(ProgramTimeout, match="a process that it started keeps its output open"):
            program.read(60)
        record_property("named_s", time.monotonic() - start)
        assert time.monotonic() - start < 10
    assert_gone(tmp_path / "pid")


def test_leaving_the_block_ends_it(tmp_path):
    with Program(sh(f"sleep 1000 & echo $! > {tmp_path}/pid; wait"), "it"):
        wait_for(tmp_path / "pid")
    assert_gone(tmp_path / "pid")


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan"])
def test_seconds_of_the_environment(monkeypatch, text):
    monkeypatch.setenv("ARGOSY_PIPE_IDLE_S", "2.5")
    assert env.seconds("ARGOSY_PIPE_IDLE_S", 1.0) == 2.5
    monkeypatch.setenv("ARGOSY_PIPE_IDLE_S", text)
    with pytest.raises(ConfigError, match="ARGOSY_PIPE_IDLE_S must be a number of seconds"):
        env.seconds("ARGOSY_PIPE_IDLE_S", 1.0)
