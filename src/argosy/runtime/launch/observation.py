"""What a launcher shows and keeps of its job, over all its rounds and restarts."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from argosy._release import VERSION
from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.page_server import PageServer
from argosy.runtime.launch.process_spec import Job
from argosy.runtime.launch.spec import LaunchSpec
from argosy.runtime.launch.terminal import Terminal
from argosy.runtime.observe import panel, report, run_folder
from argosy.runtime.observe.card import masked
from argosy.runtime.observe.git_state import git_state
from argosy.runtime.observe.jobs import started_at
from argosy.runtime.observe.run_folder import RunFolder, new_run
from argosy.runtime.observe.summary import Pace
from argosy.runtime.observe.watch import Watch

_LINES_S = 10.0


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
        self._facts = facts(spec)
        self.folder: RunFolder | None = None
        if spec.log_dir is not None:
            self.folder = RunFolder(new_run(Path(spec.log_dir)), self._facts)

    def watch(self, job: Job) -> Watch:
        """Watch the processes of a job that is about to be started."""
        return Watch(
            [process.member.label for process in job.processes],
            self.terminal.print,
            self._show,
            folder=self.folder,
            about=self._facts,
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
