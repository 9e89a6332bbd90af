"""Which workers have said goodbye to a server, and whether its job has ended, in files: one that is
started again does not wait for who has gone, and one that has done its part need not be.

::

    finished.N    worker N has said goodbye
    ended         all have, and have their answers: what is left of the job is to be forgotten
"""

from __future__ import annotations

import threading
from pathlib import Path

ENDED = "ended"


class Goodbyes:
    """Those of one job, in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        found = {int(path.suffix[1:]) for path in folder.glob("finished.*")}
        # whether the job before this one was being forgotten when its server was killed
        self.is_ended = (folder / ENDED).exists()
        self._finished = set() if self.is_ended else found  # guarded by _lock

    @property
    def workers(self) -> set[int]:
        """Who has said goodbye, also to the server before this one."""
        with self._lock:
            return set(self._finished)

    def add(self, worker: int) -> None:
        with self._lock:
            self._finished.add(worker)
            self._mark_of(worker).touch()

    def take_back(self, worker: int) -> None:
        """The worker has come again."""
        with self._lock:
            self._finished.discard(worker)
            self._mark_of(worker).unlink(missing_ok=True)

    def _mark_of(self, worker: int) -> Path:
        return self._folder / f"finished.{worker}"

    def end(self) -> None:
        """The job has ended."""
        (self._folder / ENDED).touch()

    def forget(self) -> None:
        """Whoever opens the folder from now on begins a job of its own. Those who look whether the
        job has ended still see it.
        """
        for path in self._folder.glob("finished.*"):
            path.unlink()

    def begin(self) -> None:
        """A job begins; what was there of another one is forgotten."""
        (self._folder / ENDED).unlink(missing_ok=True)
        self.is_ended = False
