"""What a launcher says about its processes: the table, the end of one of them, exit codes. Pure."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence

from argosy.runtime.launch.process_spec import Job
from argosy.runtime.launch.roster import RANK

Say = Callable[[str], None]  # prints a message of the launcher
_KILLS = "the kernel does that when memory runs out"


def table(job: Job, pids: Sequence[int], logs: Sequence[str]) -> str:
    """The processes of this host, with the pid and the log of each."""
    command = " ".join(job.processes[0].argv)
    members = [process.member for process in job.processes]
    if all(member.role == RANK for member in members):
        head = "  rank  pid      log"
        names = [f"{member.rank:4}" for member in members]
    else:
        head = "  role      pid      endpoint               log"
        names = [f"{member.label:8}" for member in members]
        logs = [f"{m.endpoint:21}  {log}" for m, log in zip(members, logs, strict=True)]
    rows = zip(names, pids, logs, strict=True)
    lines = [f"  {name}  {pid:<7}  {log}" for name, pid, log in rows]
    return "\n".join([f"launch: {job.title}: {command}", head, *lines])


def end_of(label: str, exit_code: int, consequence: str = "", kills: str = "") -> str:
    """Who ended, how, and what follows from it; ``kills`` as in ``describe_exit``."""
    words = describe_exit(exit_code, kills or _KILLS)
    return f"{label} {words}{'; ' if consequence else ''}{consequence}"


def stopped(exit_code: int, everyone: str) -> str:
    """A signal has ended the launcher, so its processes too."""
    return f"launch: stopped ({describe_exit(exit_code)}); {everyone} were ended"


def preempted(step: int | None, code: int) -> str:
    """The job has saved, to be started again."""
    return f"launch: pre-empted: {'' if step is None else f'saved at step {step}, '}exit {code}"


def not_saved(grace_s: float, everyone: str) -> str:
    """The time to save was too short."""
    return (
        f"launch: {everyone} have not saved within {grace_s:g} s (--grace) and were killed; the "
        "last complete checkpoint counts"
    )


def store_failed(error: Exception, everyone: str) -> str:
    """A store of the job has died; said before the processes are ended, which can take a while."""
    return f"launch: {error}; {everyone} are ended"


def excerpt(log: str, lines: Sequence[str]) -> str:
    """The last lines of a log, below the sentence about who wrote it."""
    if not lines:
        return "  it has printed nothing"
    return "\n".join([f"  last lines of {log}:", *(f"  | {line}" for line in lines)])


def describe_exit(code: int, kills: str = _KILLS) -> str:
    """An exit code in words; ``kills`` is what is known of a SIGKILL."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"was killed by signal {-code}"
    if -code == signal.SIGKILL:
        return f"was killed by {name} ({kills})"
    return f"was killed by {name} ({(signal.strsignal(-code) or name).lower()})"


def shell_code(code: int) -> int:
    """The exit code as a shell reports it: a signal n is 128 + n."""
    return 128 - code if code < 0 else code
