"""``fleet.auto_checkpoint`` in a job with parameter servers.

A checkpoint has the tables beside the states of the workers, which hold what the servers do not.
Workers do not talk to each other, for one that was started again could not: they leave notes with
the servers. Each writes its state into the draft and says so; worker 0 has the tables saved when
all have, and says that it is done. Meanwhile nobody trains, so tables and states are of one moment.

Between checkpoints every step is a resting point (``servers.progress``), at which a worker that is
started again goes on.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Callable
from typing import Any

from argosy.distributed.fleet.base.role_maker import RoleMakerBase
from argosy.distributed.fleet.checkpoints import folders as files
from argosy.distributed.fleet.checkpoints.auto_checkpoint import AutoCheckpoint, State
from argosy.distributed.fleet.checkpoints.departure import Departure
from argosy.distributed.fleet.checkpoints.objects import Own
from argosy.distributed.fleet.checkpoints.ranks import Ranks
from argosy.distributed.fleet.checkpoints.resumable import checked
from argosy.distributed.fleet.servers.passes import Passes
from argosy.distributed.fleet.servers.preemption import NotesBoard
from argosy.distributed.fleet.servers.progress import OwnState, decoded, rest
from argosy.distributed.fleet.servers.runtime import TABLES, PsRuntime
from argosy.foundation import manifest
from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import CheckpointError, UsageError
from argosy.runtime.comm.group import Group
from argosy.runtime.ps.server import checkpoint

__all__ = ["ServedCheckpoint"]

_AGAIN_S = 0.05
_TIMEOUT_S = 600.0
_LOOP = "loop"
_BARE = ("model", "keep")  # what a loop that counts batches of datasets may be given


class _Workers(Ranks):
    """This worker among the others; they do not talk."""

    def __init__(self, rank: int, world_size: int) -> None:
        super().__init__(None)
        self.rank, self.world_size = rank, world_size


class ServedCheckpoint(AutoCheckpoint):
    """What ``fleet.auto_checkpoint`` returns in a worker. ``resumed_from`` is the checkpoint of the
    job, also in a worker that was started again.
    """

    def __init__(
        self,
        runtime: PsRuntime,
        role: RoleMakerBase,
        directory: str,
        every_n_steps: int,
        **objects: Any,
    ) -> None:
        if runtime.has_loop or runtime.num_passes:
            raise UsageError(
                "fleet.auto_checkpoint: with parameter servers a script has one, before any "
                "train_from_dataset: it tells where in its data the worker is"
            )
        self._runtime = runtime
        self._worker = runtime.worker
        self._number, self._count = role.worker_index(), role.worker_num()
        self._job = ""
        # what a script does between passes over datasets is done again, so nothing else is saved
        is_bare = all(value is None for name, value in objects.items() if name not in _BARE)
        self._passes = Passes(self._count_step, lambda: self.num_steps) if is_bare else None
        super().__init__(directory, every_n_steps, None, **objects)
        runtime.has_loop, runtime.passes = True, self._passes

    def _make_ranks(self, group: Group | None) -> Ranks:
        return _Workers(self._number, self._count)

    def _make_departure(self, group: Group | None) -> Departure:
        board = NotesBoard(self._worker.client, self._number, self._count)
        return Departure(board, self._runtime.stop_at_exit)

    def _do_all_leave(self, is_asked: bool) -> bool:
        # nobody waits: the first to come to the end decides, also for one that is started again
        end = {"name": f"leave.{self.epoch}.{self.num_steps}", "value": is_asked}
        return bool(self._worker.client.act("settle", end)[0]["value"])

    def _own(self, model: Any) -> Own | None:
        return None if model is None else OwnState(model, self._runtime)

    # -- passes over datasets
    # ----------------------------------------------------------------------------------------------

    def _open(self) -> None:
        if self._runtime.num_passes:
            raise UsageError(
                "fleet.auto_checkpoint: this script has called train_from_dataset, whose batches "
                "are its steps; a loop of its own cannot be counted beside them"
            )
        self._passes = self._runtime.passes = None

    def _progress(self) -> State:
        passes = None if self._passes is None else self._passes.state()
        return {**super()._progress(), "passes": passes}

    def _put_back(self, state: State) -> None:
        super()._put_back(state)
        found = state["progress"].get("passes")
        if self._passes is not None and found is not None:
            self._passes.set_state(found)
            self._random = None  # each pass puts its own back

    # -- resting points
    # -----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._batches is not None:
            self._batches.mark()
        if not self._worker.is_resting:
            self._rest()

    def _rest(self) -> None:
        if self._worker.keeps_resting_points:
            rest(
                self._worker,
                {"kind": _LOOP, "objects": self._objects.take(), "progress": self._progress()},
            )

    # -- notes
    # ----------------------------------------------------------------------------------------------

    def _notes(self, **fresh: Any) -> dict[str, Any]:
        """What workers have said, with what this one says now."""
        notes: dict[str, Any] = self._worker.client.act("notes", fresh)[0]["notes"]
        return notes

    def _wait(
        self,
        call: str,
        is_done: Callable[[dict[str, Any]], bool],
        missing: Callable[[dict[str, Any]], str],
    ) -> State:
        """Wait until the workers have said something; CheckpointError if one could not do its part,
        or nothing comes.
        """
        deadline = Deadline.after(_TIMEOUT_S)
        while True:
            notes = self._notes()
            if "problem" in notes:
                raise CheckpointError(f"auto_checkpoint: {notes['problem']}")
            if is_done(notes):
                return notes
            if deadline.expired:
                raise CheckpointError(
                    f"auto_checkpoint: {call} waited {_TIMEOUT_S:g} s for {missing(notes)}"
                )
            time.sleep(_AGAIN_S)

    @contextlib.contextmanager
    def _told(self) -> Any:
        """What worker 0 cannot do is said to the others too."""
        try:
            yield
        except (CheckpointError, OSError) as error:
            self._notes(problem=str(error))
            raise

    # -- saving
    # ----------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write a checkpoint now; every worker calls it after as many steps. It counts when all
        have written, and replaces none before.
        """
        step, name = self.num_steps, files.state_name(self._number)
        self._worker.flush()
        if not self._is_saved(step):
            is_written = (self._files.draft(step) / name).is_file()
            if not is_written or self._notes().get(f"save.{self._number}") != step:
                self._write(step, name)
            if self._number == 0:
                with self._told():
                    self._complete(step)
        elif self._number == 0:
            self._files.thin_out()
        if self._number == 0:
            self._notes(saved=step)
        else:
            self._wait(
                "save",
                lambda notes: notes.get("saved", -1) >= step,
                lambda _: "worker 0 to save the tables",
            )
        self._saved = (step, self.epoch)

    def _write(self, step: int, name: str) -> None:
        """Write this worker's state into the draft, and say so. A process that takes its place and
        comes to the same step leaves what was written: worker 0 may be reading it.
        """
        draft = self._files.draft(step)
        draft.mkdir(parents=True, exist_ok=True)
        (draft / f"{name}.new").unlink(missing_ok=True)
        state = {"objects": self._objects.take(), "progress": self._progress(), "job": self._job}
        files.write_state(draft, f"{name}.new", state)
        os.replace(draft / f"{name}.new", draft / name)
        self._notes(**{f"save.{self._number}": step})

    def _is_saved(self, step: int) -> bool:
        """Whether a process before this one has completed this very checkpoint."""
        path = self._files.folder(step) / files.state_name(self._number)
        if not path.is_file():
            return False
        try:
            fact = self._files.manifest(step)[self._number]
            found: State = files.read_state(path.parent, fact)
        except (CheckpointError, IndexError):  # a damaged one of a job before; it is replaced
            return False
        return isinstance(found, dict) and found.get("job") == self._job

    def _complete(self, step: int) -> None:
        def come(notes: dict[str, Any]) -> bool:
            for worker in range(self._count):
                at = notes.get(f"save.{worker}", -1)
                if at > step:
                    raise CheckpointError(
                        f"worker {worker} saves after {at} steps, worker 0 after {step}; all "
                        "must take as many"
                    )
            return all(notes.get(f"save.{worker}", -1) == step for worker in range(self._count))

        def missing(notes: dict[str, Any]) -> str:
            late = [
                worker for worker in range(self._count) if notes.get(f"save.{worker}", -1) != step
            ]
            return f"workers {late} to save step {step}"

        self._wait("save", come, missing)
        draft = self._files.draft(step)
        names = [files.state_name(worker) for worker in range(self._count)]
        facts = [manifest.fact_of(draft / name, name) for name in names]
        self._worker.client.save(draft / TABLES)
        self._files.complete(step, facts, [manifest.fact_of(draft / files.TABLES, files.TABLES)])

    # -- restoring
    # ----------------------------------------------------------------------------------------------

    def _restore(self) -> None:
        point = self._worker.resting_point
        state = None if point is None else decoded(point, "the worker's resting point")
        if state is not None and state["kind"] == _LOOP:
            notes = self._notes()
            self._job, self.resumed_from = notes["job"], notes["restored"]
            self._check_fits(checked(state, "the worker's resting point"))
            self._put_back(state)
            self._worker.go_on()
            return
        if self._number == 0 and "job" not in self._notes():
            with self._told():
                self._load_tables()
        notes = self._wait(
            "beginning", lambda notes: "job" in notes, lambda _: "worker 0 to load the tables"
        )
        self._job, self.resumed_from = notes["job"], notes["restored"]
        if self.resumed_from is not None and not self._worker.num_steps_before:
            self._put_back(self._read(self.resumed_from))
            self._worker.refresh()
            self._saved = (self.resumed_from, self.epoch)
        elif state is not None and self._passes is not None:
            if self.resumed_from is not None:
                self._passes.set_state(self._read(self.resumed_from)["progress"].get("passes"))
            self.num_steps = state["num_steps"]

    def _load_tables(self) -> None:
        """Begin the job: with the tables of the newest checkpoint that is usable, if there has been
        one.
        """
        step = self._newest()
        for left in self._files.directory.glob(".step-*.writing"):
            shutil.rmtree(left)
        if step is not None:
            self._worker.client.load(self._files.folder(step) / TABLES)
        self._notes(job=secrets.token_hex(8), restored=step)

    def _check_files(self, step: int) -> None:
        super()._check_files(step)
        checkpoint.verify(self._files.folder(step) / TABLES)
