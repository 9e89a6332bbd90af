"""What is to run on a host: its processes, and what is known of the whole job. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from argosy.foundation.preemption import REQUEUE_CODE
from argosy.runtime.launch.roster import SERVER, Member


@dataclass(frozen=True)
class RestartRule:
    """How often a process is started again, it alone, while the others go on."""

    after_signal: int = 0
    after_error: int = 0

    def allowed(self, exit_code: int) -> int:
        return self.after_signal if exit_code < 0 else self.after_error


@dataclass(frozen=True, kw_only=True)
class ProcessSpec:
    """One process: which member of the job it is, and how it is started."""

    member: Member
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)  # has secrets
    log_name: str = ""
    inherits: tuple[int, ...] = ()  # descriptors of the launcher that it keeps
    restart: RestartRule = RestartRule()
    # a file in which it says why it will not go on; then nobody is started again
    refusal_file: str = ""
    # a file that says that its part in the job is over: what kills it then does no harm
    ended_file: str = ""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The processes of this host, in the order in which they are started, and how to show them."""

    processes: tuple[ProcessSpec, ...]
    title: str  # who takes part, on all hosts
    everyone: str = "the workers"  # the processes, in a sentence
    after_failure: str = ""  # what the failure of one means for the others
    log_dir: str | None = None  # None: processes write to the terminal
    empties_logs: bool = False
    text_by_file: Mapping[str, str] = field(default_factory=dict)  # what lies beside the logs
    shows_table: bool = True
    grace_s: float = 10.0  # between the wish that they end and SIGKILL
    requeue_code: int = REQUEUE_CODE  # of a process that has saved and wants to be started again

    @property
    def followed(self) -> ProcessSpec:
        """Whose log the terminal shows: the first worker, or the first server where no worker
        is.
        """
        return next((p for p in self.processes if p.member.role != SERVER), self.processes[0])
