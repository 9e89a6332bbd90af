"""One supervisor for every kind of job, with shells for processes."""

from __future__ import annotations

import io
import re
import signal
import sys
import time
from dataclasses import replace

import pytest

from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.store_server import StoreFailed
from argosy.runtime.launch import supervisor as module
from argosy.runtime.launch.process_spec import Job, ProcessSpec, RestartRule
from argosy.runtime.launch.roster import RANK, SERVER, WORKER, Member
from argosy.runtime.launch.supervisor import Supervisor

FOREVER = "while :; do sleep 1; done"


def process(text, role=RANK, rank=0, **fields):
    return ProcessSpec(
        member=Member(role, rank),
        argv=("/bin/sh", "-c", text),
        environment={"PATH": "/usr/bin:/bin"},
        log_name=f"{role}log.{rank}",
        **fields,
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run processes; returns the outcome, what was said and what the terminal showed."""
    monkeypatch.chdir(tmp_path)

    def call(*processes, check=None, **facts):
        said = []
        job = Job(processes=processes, title="a job", log_dir=str(tmp_path), **facts)
        terminal = io.BytesIO()
        outcome = Supervisor(job, said.append, check=check, terminal=terminal).run()
        return outcome, "\n".join(said), terminal.getvalue().decode()

    return call


def test_all_end_well(run):
    outcome, said, shown = run(process("echo one"), process("echo two", rank=1))
    assert (outcome.failed, outcome.exit_code) == (None, 0)
    assert re.fullmatch(r"launch: a job: /bin/sh -c echo one\n  rank  pid +log(\n .*){2}", said)
    assert shown == "one\n"


def test_the_first_that_fails_ends_the_others_and_is_reported(run, tmp_path):
    outcome, said, _ = run(
        process(FOREVER),
        process("echo last words; exit 3", rank=1),
        shows_table=False,
        after_failure="that was it",
    )
    assert outcome.failed is not None
    assert (outcome.failed.member.label, outcome.exit_code) == ("rank 1", 3)
    assert said == (
        "launch: rank 1 exited with code 3; that was it\n"
        f"  last lines of {tmp_path / 'ranklog.1'}:\n  | last words"
    )


def test_a_process_comes_back_as_often_as_its_rule_allows(run):
    rule = RestartRule(after_signal=2, after_error=1)
    outcome, said, shown = run(
        process("echo again; kill -9 $$", WORKER, restart=rule), shows_table=False
    )
    assert outcome.exit_code == -9
    assert shown == "again\n" * 3
    assert [line.partition("; ")[2] for line in said.splitlines()[:2]] == [
        "it is started again (1 of at most 2)",
        "it is started again (2 of at most 2)",
    ]


def test_nobody_comes_back_when_one_refuses_to_go_on(run, tmp_path):
    refused = tmp_path / "refused"
    text = f"echo it would not help > {refused}; exit 1"
    rule = RestartRule(after_error=5)
    outcome, said, _ = run(
        process(text, WORKER, restart=rule, refusal_file=str(refused)), shows_table=False
    )
    assert outcome.exit_code == 1
    assert said.startswith("launch: it would not help\n")
    assert "started again" not in said


def test_servers_that_outstay_the_workers_are_ended(run, monkeypatch):
    monkeypatch.setattr(module, "_SERVERS_END_S", 0.1)
    outcome, said, _ = run(process(FOREVER, SERVER), process("exit 0", WORKER), shows_table=False)
    assert (outcome.failed, outcome.exit_code) == (None, 0)
    assert said == "launch: the workers have finished, but server 0 did not end and was ended"


def test_servers_without_workers_here_are_waited_for(run, monkeypatch):
    monkeypatch.setattr(module, "_SERVERS_END_S", 0.0)
    outcome, said, shown = run(process("sleep 0.3; echo done", SERVER), shows_table=False)
    assert (outcome.exit_code, said, shown) == (0, "", "done\n")


def test_a_store_that_dies_is_named_before_a_process_is_blamed(run):
    def check():
        raise StoreFailed("the store is gone")

    outcome, said, _ = run(process("exit 4"), check=check, shows_table=False)
    assert (outcome.failed, outcome.exit_code) == (None, 1)
    assert said == "launch: the store is gone; the workers are ended"


@pytest.mark.attack("a job of which half can be started")
def test_a_job_that_cannot_be_completed_is_ended(run):
    missing = ProcessSpec(
        member=Member(RANK, 1), argv=("./missing",), environment={}, log_name="ranklog.1"
    )
    with pytest.raises(ConfigError, match=r"cannot start './missing'"):
        run(process(FOREVER), missing)


def test_who_does_not_end_when_asked_is_killed_and_named(run):
    stubborn = process(f"trap '' TERM; echo > ready; {FOREVER}")
    waiting = process("while [ ! -e ready ]; do :; done; rm ready; exit 5", rank=1)
    outcome, said, _ = run(stubborn, waiting, shows_table=False, grace_s=0.1)
    assert outcome.exit_code == 5
    assert re.match(r"launch: rank 0 \(pid \d+\) did not end on SIGTERM and was killed\n", said)


# -- jobs that are asked to save and to leave
# --------------------------------------------------------------------------------------------------

# a process that saves when it is asked; shells ignore for good what they began with, as SIGUSR1
LOOP = """
import os, signal, sys
from argosy.foundation import notices
def save(number, frame):
    notices.tell(notices.SAVED, 6)
    sys.exit(75)
for number in (signal.SIGUSR1, signal.SIGTERM):
    signal.signal(number, {handler})
notices.tell(notices.LOOP, 1 << signal.SIGUSR1 | 1 << signal.SIGTERM)
{act}
while True:
    signal.pause()
"""


def loop(act="", rank=0, handler="save", **fields):
    text = LOOP.format(act=act, handler=handler)
    return replace(process("", rank=rank, **fields), argv=(sys.executable, "-c", text))


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGTERM"])
def test_a_signal_to_the_launcher_asks_all_that_can_save(run, name):
    """Processes are signalled by themselves, not what they have started."""
    outcome, said, _ = run(
        loop(f"os.kill(os.getppid(), signal.{name})"), loop(rank=1), shows_table=False
    )
    assert (outcome.failed, outcome.exit_code, outcome.was_asked) == (None, 75, True)
    assert said == (
        f"launch: asked by {name} to save and to leave, within 10 s\n"
        "launch: pre-empted: saved at step 6, exit 75"
    )


def test_a_process_that_leaves_by_itself_takes_the_others_along_and_is_not_started_again(run):
    rule = RestartRule(after_signal=5, after_error=5)
    outcome, said, _ = run(
        loop("save(0, None)", restart=rule), loop(rank=1, restart=rule), shows_table=False
    )
    assert (outcome.failed, outcome.exit_code) == (None, 75)
    assert "started again" not in said


def test_who_does_not_save_in_time_is_killed(run):
    outcome, said, _ = run(
        loop("os.kill(os.getppid(), signal.SIGUSR1)", handler="lambda *_: None"),
        shows_table=False,
        grace_s=0.2,
    )
    assert (outcome.failed, outcome.exit_code) == (None, -signal.SIGUSR1)
    assert said.endswith(
        "launch: the workers have not saved within 0.2 s (--grace) and were killed; the last "
        "complete checkpoint counts"
    )


def test_a_second_request_does_not_hurry_the_first(run):
    """Schedulers signal a launcher directly and through its parent."""
    asks = "os.kill(os.getppid(), signal.SIGTERM)\n" * 2
    slowly = "lambda *_: (notices.tell('asked'), __import__('time').sleep(0.3), save(0, None))"
    outcome, said, _ = run(loop(asks, handler=slowly), shows_table=False)
    assert outcome.exit_code == 75, said


def test_sigint_ends_a_job_that_is_saving(run):
    asks = "os.kill(os.getppid(), signal.SIGTERM); os.kill(os.getppid(), signal.SIGINT)"
    outcome, said, _ = run(loop(asks, handler="lambda *_: None"), shows_table=False, grace_s=60)
    assert outcome.exit_code == -signal.SIGINT, said


def test_sigterm_ends_a_job_that_cannot_save_as_ever(run):
    outcome, said, _ = run(process(f"kill -TERM $PPID; {FOREVER}"), shows_table=False)
    assert (outcome.exit_code, outcome.was_asked) == (-signal.SIGTERM, False)
    assert said.startswith("launch: stopped (was killed by SIGTERM")


def test_sigusr1_ends_nobody_and_is_kept_for_the_first_that_can_save(run):
    asks = process("kill -USR1 $PPID; kill -USR1 $$; sleep 0.2; echo > asked")
    waits = "import time\nwhile not os.path.exists('asked'): time.sleep(0.01)\n"
    late = loop(rank=1)
    late = replace(late, argv=(*late.argv[:2], f"import os\n{waits}{late.argv[2]}"))
    outcome, said, _ = run(asks, late, shows_table=False)
    assert outcome.exit_code == 75
    assert said.splitlines()[0] == (
        "launch: received SIGUSR1, but no process has a loop of fleet.auto_checkpoint so far; when "
        "one begins it will be asked to save and to leave"
    )


def test_a_failure_ends_those_that_can_save_at_once(run, tmp_path):
    """SIGTERM would be a request to them, which they cannot answer without the one that failed."""
    ready = tmp_path / "ready"
    deaf = loop(f"open({str(ready)!r}, 'w').close()", handler="lambda *_: None")
    fails = process(f"while [ ! -e {ready} ]; do :; done; exit 5", rank=1)
    begin_s = time.monotonic()
    outcome, _, _ = run(deaf, fails, shows_table=False, grace_s=60)
    assert outcome.exit_code == 5
    assert time.monotonic() - begin_s < 30
