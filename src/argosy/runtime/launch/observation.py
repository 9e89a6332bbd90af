"""What a launcher shows and keeps of its job, over all its rounds and restarts."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from argosy._release import VERSION
from argosy.foundation import env
from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.other_paces import OtherPaces
from argosy.runtime.launch.page_server import PageServer
from argosy.runtime.launch.process_spec import Job
from argosy.runtime.launch.spec import LaunchSpec
from argosy.runtime.launch.terminal import Terminal
from argosy.runtime.observe import others, panel, parquet, parts, report, tracing
from argosy.runtime.observe.card import masked
from argosy.runtime.observe.git_state import git_state
from argosy.runtime.observe.jobs import is_over, started_at
from argosy.runtime.observe.metrics import answer
from argosy.runtime.observe.run_folder import OTHERS, TABLES, RunFolder, new_run, remove_old
from argosy.runtime.observe.scalars import RunWithScalars
from argosy.runtime.observe.summary import Pace
from argosy.runtime.observe.tables import TableState
from argosy.runtime.observe.watch import Watch

_LINES_S = 10.0


class Observation:
    """The terminal of the launcher, and the folder of the run if there are logs.

    ``tell_tables`` may be called by any thread, everything else by the one that made it.
    """

    def __init__(self, spec: LaunchSpec, terminal: Terminal) -> None:
        self.terminal = terminal
        self._shows = spec.shows_table
        self._next_s = 0.0
        self._shown_steps = 0
        self._paces: Sequence[Pace] = ()
        self._elsewhere: Sequence[Pace] = ()  # the processes of other hosts
        self._exchange: OtherPaces | None = None
        self._tables: Sequence[TableState] = ()  # assigned as a whole, by the servers' thread
        self._kept_tables: Sequence[TableState] = ()
        self._servers = ""
        self._page: PageServer | None = None
        self._wants_page = spec.serves_page
        if spec.serves_page and spec.log_dir is None:
            raise ConfigError("launch: --page shows what is kept in the log folder: give --log_dir")
        if spec.writes_scalars and spec.log_dir is None:
            raise ConfigError("launch: --tensorboard writes into the log folder: give --log_dir")
        self._facts = facts(spec)
        self._keep_runs = spec.keep_runs
        self.folder: RunFolder | None = None
        self._variables: dict[str, str] = {}
        if spec.log_dir is not None:
            kind = RunWithScalars if spec.writes_scalars else RunFolder
            self.folder = kind(new_run(Path(spec.log_dir)), self._facts)
            self._variables[tracing.RUN_VARIABLE] = str(self.folder.path.absolute())
        self._labels: dict[str, None] = {}  # of all rounds, in order
        self._traces = self._trace_folder()

    def _trace_folder(self) -> Path | None:
        """Where processes leave their traces until they are joined, if they are to record all."""
        wanted = env.get(tracing.VARIABLE)
        if not wanted:
            return None
        tracing.record_no_more()  # nor does this process record
        folder = Path(wanted).absolute() / f"trace-{new_run(Path()).name}.parts"
        self._variables[tracing.VARIABLE] = str(folder)
        return folder

    def watch(self, job: Job, exchange: OtherPaces | None = None) -> Watch:
        """Watch the processes of a job that is about to be started; ``exchange`` has those of other
        hosts.
        """
        self._exchange, self._elsewhere = exchange, ()
        labels = [process.member.label for process in job.processes]
        self._labels |= dict.fromkeys(labels)
        return Watch(
            labels,
            self.terminal.print,
            self._show,
            folder=self.folder,
            about=self._facts,
            more_variables=self._variables,
        )

    def event(self, kind: str, text: str) -> None:
        """Keep what has happened to the job as a whole."""
        if self.folder is not None and self.folder.is_made:
            self.folder.add_event(kind, text)

    def tell_tables(self, tables: Sequence[TableState], servers: str) -> None:
        """What parameter servers say of their tables, and all of it in a line; when they have
        ended, what they said last stays.
        """
        if tables:
            self._tables, self._servers = tuple(tables), servers

    def _show(self, own: Sequence[Pace], now_ns: int) -> None:
        self._paces = own
        self._begin()
        self._hear_others(now_ns)
        self._keep_tables()
        paces, tables = self._all(), self._tables
        has_steps = any(pace.num_steps for pace in paces)
        if not self._shows or not (has_steps or tables):
            return
        if self.terminal.is_live:
            self.terminal.show("steps", panel.panel(paces, now_ns, tables, self._servers))
            return
        now_s, num_steps = time.monotonic(), max(pace.num_steps for pace in paces)
        if now_s >= self._next_s and num_steps != self._shown_steps:
            if self._next_s:  # the first steps say little
                self.terminal.print(f"launch: {panel.line(paces, now_ns)}")
            self._next_s, self._shown_steps = now_s + _LINES_S, num_steps

    def _all(self) -> list[Pace]:
        """The processes of all hosts that are known here."""
        return sorted([*self._paces, *self._elsewhere], key=_order)

    def _begin(self) -> None:
        """The first process is there."""
        if self._wants_page and self._page is None and self.folder is not None:
            self._page = PageServer(
                self.folder.path, lambda accept: answer(self._all(), self._tables, accept)
            )
            self.terminal.print(f"launch: the job's page is {self._page.address}")

    def _hear_others(self, now_ns: int) -> None:
        found = None if self._exchange is None else self._exchange.exchange(self._paces)
        if found is None:
            return
        self._elsewhere = found
        if self.folder is not None and found:
            told = [others.describe(pace, now_ns) for pace in found]
            self.folder.add_sample(OTHERS, {"processes": told})
            self._tell_now(now_ns)

    def _keep_tables(self) -> None:
        tables = self._tables
        if self.folder is not None and tables is not self._kept_tables:
            self._kept_tables = tables
            self.folder.add_sample(TABLES, {"tables": [asdict(table) for table in tables]})
            self._tell_now(time.perf_counter_ns())

    def _tell_now(self, now_ns: int) -> None:
        assert self.folder is not None
        elsewhere = [others.describe(pace, now_ns) for pace in self._elsewhere]
        tables = [asdict(table) for table in self._kept_tables]
        self.folder.tell_now({"processes": elsewhere, "tables": tables})

    def close(self) -> None:
        """Keep what is left to be kept, and remove runs that are too old."""
        if self._page is not None:
            self._page.close()
        if self._traces is not None and self._labels:
            target = self._traces.with_suffix(".json")
            missing = parts.join(self._traces, list(self._labels), target)
            self.terminal.print(f"launch: trace: {parts.said(target, missing)}")
        if self.folder is None or not self.folder.is_made:
            return
        self.folder.close()
        path = report.write(self.folder.path)
        parquet.finish(self.folder.path)
        if self._shows:
            self.terminal.print(f"launch: report: {path}")
        if self._keep_runs:
            remove_old(self.folder.path.parents[1], self._keep_runs, is_over)

    def __enter__(self) -> Observation:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _order(pace: Pace) -> tuple[str, int]:
    """By role, then by rank."""
    return (pace.label.rpartition(" ")[0], pace.rank)


def facts(spec: LaunchSpec) -> Mapping[str, Any]:
    """What run.json says of a job before it has begun."""
    git = git_state(Path.cwd())
    return {
        "began": time.strftime("%Y-%m-%d %H:%M:%S"),
        "command": masked(spec.argv),
        "folder": str(Path.cwd()),
        "commit": git.commit,
        "changed": {"num_files": git.num_changed, "files": list(git.changed)},
        "host": platform.node(),
        "launcher": {"pid": os.getpid(), "started": started_at(os.getpid())},
        "versions": {
            "argosy": VERSION,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }
