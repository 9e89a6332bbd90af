"""What a launcher shows and keeps of its job, over all its rounds and restarts."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from argosy._release import VERSION
from argosy.foundation import env
from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.page_server import PageServer
from argosy.runtime.launch.process_spec import Job
from argosy.runtime.launch.spec import LaunchSpec
from argosy.runtime.launch.terminal import Terminal
from argosy.runtime.observe import panel, parts, report, run_folder, tracing
from argosy.runtime.observe.card import masked
from argosy.runtime.observe.jobs import started_at
from argosy.runtime.observe.run_folder import RunFolder, new_run
from argosy.runtime.observe.scalars import RunWithScalars
from argosy.runtime.observe.summary import Pace
from argosy.runtime.observe.watch import Watch

_LINES_S = 10.0
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


class Observation:
    """The terminal of the launcher, and the folder of the run if there are logs."""

    def __init__(self, spec: LaunchSpec, terminal: Terminal) -> None:
        self.terminal = terminal
        self._shows = spec.shows_table
        self._next_s = 0.0
        self._shown_steps = 0
        self._paces: Sequence[Pace] = ()
        self._page: PageServer | None = None
        self._wants_page = spec.serves_page
        if spec.serves_page and spec.log_dir is None:
            raise ConfigError("launch: --page shows what is kept in the log folder: give --log_dir")
        if spec.writes_scalars and spec.log_dir is None:
            raise ConfigError("launch: --tensorboard writes into the log folder: give --log_dir")
        self._facts = facts(spec)
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

    def watch(self, job: Job) -> Watch:
        """Watch the processes of a job that is about to be started."""
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

    def _show(self, paces: Sequence[Pace], now_ns: int) -> None:
        self._paces = paces
        self._begin()
        if not self._shows or not any(pace.num_steps for pace in paces):
            return
        if self.terminal.is_live:
            self.terminal.show("steps", panel.panel(paces, now_ns))
            return
        now_s, num_steps = time.monotonic(), max(pace.num_steps for pace in paces)
        if now_s >= self._next_s and num_steps != self._shown_steps:
            if self._next_s:  # the first steps say little
                self.terminal.print(f"launch: {panel.line(paces, now_ns)}")
            self._next_s, self._shown_steps = now_s + _LINES_S, num_steps

    def _begin(self) -> None:
        """The first process is there."""
        if self._wants_page and self._page is None and self.folder is not None:
            self._page = PageServer(self.folder.path, lambda: self._paces)
            self.terminal.print(f"launch: the job's page is {self._page.address}")

    def close(self) -> None:
        """Keep what is left to be kept."""
        if self._page is not None:
            self._page.close()
        if self._traces is not None and self._labels:
            target = self._traces.with_suffix(".json")
            missing = parts.join(self._traces, list(self._labels), target)
            self.terminal.print(f"launch: trace: {parts.said(target, missing)}")
        if self.folder is not None and self.folder.is_made:
            self.folder.close()
            path = report.write(self.folder.path)
            run_folder.finish(self.folder.path)
            if self._shows:
                self.terminal.print(f"launch: report: {path}")

    def __enter__(self) -> Observation:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def facts(spec: LaunchSpec) -> dict[str, Any]:
    """What run.json says of a job before it has begun."""
    return {
        "began": time.strftime("%Y-%m-%d %H:%M:%S"),
        "command": masked(spec.argv),
        "folder": str(Path.cwd()),
        "commit": commit_of(Path.cwd()),
        "host": platform.node(),
        "launcher": {"pid": os.getpid(), "started": started_at(os.getpid())},
        "versions": {
            "argosy": VERSION,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }


def commit_of(folder: Path) -> str:
    """The commit that is checked out in ``folder`` or above; empty if there is none. Read from
    git's own files: the program ``git`` would run what a repository's settings name.
    """
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        if git.is_dir():
            break
    else:
        return ""
    try:
        head = (git / "HEAD").read_text().strip()
        name = head.removeprefix("ref: ")
        if ".." in name:
            return ""
        if name == head:
            found = head
        elif (git / name).is_file():
            found = (git / name).read_text().strip()
        else:
            packed = (git / "packed-refs").read_text().splitlines()
            found = next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
    except OSError:
        return ""
    return found if _COMMIT.fullmatch(found) else ""
