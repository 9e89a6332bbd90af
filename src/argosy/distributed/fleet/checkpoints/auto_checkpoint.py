"""``fleet.auto_checkpoint``: training that goes on where it was, however it ended."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from argosy.distributed.fleet.checkpoints import folders as files
from argosy.distributed.fleet.checkpoints.departure import Departure
from argosy.distributed.fleet.checkpoints.last_point import Board, StoreBoard
from argosy.distributed.fleet.checkpoints.objects import Objects, Own
from argosy.distributed.fleet.checkpoints.ranks import (
    Ranks,
    averaged,
    digests,
    joined,
    without_same,
)
from argosy.distributed.fleet.checkpoints.resumable import (
    Batches,
    Position,
    checked,
    random_state,
    set_random_state,
)
from argosy.distributed.fleet.utils import log_util
from argosy.distributed.job import job
from argosy.foundation import env
from argosy.foundation.account import CHECKPOINT, account
from argosy.foundation.errors import CheckpointError, UsageError
from argosy.foundation.manifest import Fact
from argosy.runtime.comm.group import Group
from argosy.runtime.launch.progress import VARIABLES, Progress

__all__ = ["AutoCheckpoint"]

State = dict[str, Any]


class AutoCheckpoint:
    """What ``fleet.auto_checkpoint`` returns. Making it restores the newest complete checkpoint of
    the directory, if there is one.

    SIGUSR1 and SIGTERM, to any process of the job, end its loops after the step under way, with
    everything saved: SystemExit with the code that asks a scheduler to start the job again.
    ``num_steps`` and ``epoch`` are the complete ones; ``resumed_from`` is the step that was
    restored, None if none was.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        every_n_steps: int,
        group: Group | None,
        *,
        model: Any = None,
        optimizer: Any = None,
        scaler: Any = None,
        lr: Any = None,
        loader: Any = None,
        extra: Mapping[str, Any] | None = None,
        keep: int = 2,
    ) -> None:
        for name, value in (("every_n_steps", every_n_steps), ("keep", keep)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise UsageError(
                    f"auto_checkpoint: {name} must be an integer of at least 1, but is {value!r}"
                )
        self._ranks = self._make_ranks(group)
        self._every = every_n_steps
        self._files = files.Checkpoints(directory, keep)
        self._objects = Objects(
            model, optimizer, scaler, lr, extra, self._ranks.rank, self._own(model)
        )
        self._batches = None if loader is None else Batches(loader, self._ranks.world_size)
        self._random: State | None = None  # of the checkpoint, until training goes on
        self._saved: tuple[int, int] | None = None
        self.num_steps = 0
        self.epoch = 0
        self.resumed_from: int | None = None
        self._restore()
        self._departure = self._make_departure(group)

    def _make_ranks(self, group: Group | None) -> Ranks:
        return Ranks(group)

    def _make_departure(self, group: Group | None) -> Departure:
        return Departure(Board() if group is None else _board_of(group))

    def _own(self, model: Any) -> Own | None:
        """What this process has of the model, if it does not have all of it."""
        return None

    # -- training
    # ----------------------------------------------------------------------------------------------

    def epochs(self, num_epochs: int) -> Iterator[int]:
        """The numbers, from 0, of the epochs that are left of ``num_epochs``; the first may be one
        that has begun. In the end everything is saved.
        """
        self._open()
        progress = self._progress_of(self.epoch, num_epochs)
        with self._looping():
            while self.epoch < num_epochs:
                yield self.epoch
                self.epoch += 1
                progress.tell(self.epoch, self.epoch == num_epochs)
                if self._batches is not None:
                    self._batches.end_epoch()
                else:
                    self._stop_if_asked()
            self._put_random_back()
            self._save_once()

    def batches(self) -> Iterator[Any]:
        """The batches that are left of the epoch. Asking for the next one says that the step with
        the last one is complete.
        """
        if self._batches is None:
            raise UsageError(
                "auto_checkpoint: batches() needs the argument loader; without one, use steps()"
            )
        self._open()
        self._begin()
        self._batches.mark()
        self._stop_if_asked()
        for batch in self._batches:
            yield batch
            self._batches.advance()
            self.step()

    def steps(self, num_steps: int) -> Iterator[int]:
        """The numbers, from 0, of the steps that are left of ``num_steps``, for data that depend on
        nothing else. In the end everything is saved.
        """
        self._open()
        progress = self._progress_of(self.num_steps, num_steps)
        with self._looping():
            self._begin()
            self._put_random_back()
            self._stop_if_asked()
            while self.num_steps < num_steps:
                yield self.num_steps
                self.step()
                progress.tell(self.num_steps, self.num_steps == num_steps)
            self._save_once()

    def step(self) -> None:
        """Count a step, and save if it is time to; ``batches`` and ``steps`` call it themselves."""
        self._put_random_back()
        self._count_step()
        self._rest()

    def _count_step(self) -> None:
        self.num_steps += 1
        if self.num_steps % self._every == 0:
            self.save()
        self._stop_if_asked()

    def _looping(self) -> contextlib.AbstractContextManager[None]:
        return self._departure.looping(lambda: self.num_steps, self._do_all_leave)

    def _do_all_leave(self, is_asked: bool) -> bool:
        """Whether the ranks leave at the end of a loop: if any ``is_asked``."""
        return any(self._ranks.gather(is_asked))

    def _open(self) -> None:
        """The script asks for a loop."""

    def _progress_of(self, begun: int, total: int) -> Progress:
        """Where the first rank tells how far it is."""
        return Progress(env.select(VARIABLES) if self._ranks.rank == 0 else {}, begun, total)

    def _begin(self) -> None:
        """A loop begins."""

    def _rest(self) -> None:
        """A step is complete."""

    def _put_random_back(self) -> None:
        state, self._random = self._random, None
        if state is not None:
            set_random_state(state)

    def _stop_if_asked(self) -> None:
        self._departure.stop_if_asked(self.num_steps, self.epoch, self._save_once)

    # -- saving
    # ----------------------------------------------------------------------------------------------

    def _save_once(self) -> None:
        if self._saved != (self.num_steps, self.epoch):
            self.save()

    def save(self) -> None:
        """Write a checkpoint now; every rank calls it. It counts when all have written, and
        replaces none before.
        """
        with account.waiting_for(CHECKPOINT):
            self._save()

    def _save(self) -> None:
        ranks, step = self._ranks, self.num_steps
        state = self._objects.take()
        is_first = ranks.rank == 0
        problem = _problem(self._files.begin, step) if is_first else None
        ranks.agree(problem)
        if ranks.world_size > 1:
            first = ranks.from_first(digests(state) if is_first else None)
            state = state if is_first else without_same(state, first)
        fact: Fact = {}
        content = {"objects": state, "progress": self._progress()}
        name = files.state_name(ranks.rank)
        ranks.agree(
            _problem(lambda: fact.update(files.write_state(self._files.draft(step), name, content)))
        )
        facts = ranks.gather(fact)
        ranks.agree(_problem(self._files.complete, step, facts) if is_first else None)
        self._saved = (step, self.epoch)

    def _progress(self) -> State:
        data = None if self._batches is None else self._batches.state()
        now = random_state() if self._random is None else self._random
        return {"num_steps": self.num_steps, "epoch": self.epoch, "random": now, "data": data}

    # -- restoring
    # ----------------------------------------------------------------------------------------------

    def _restore(self) -> None:
        ranks = self._ranks
        choice, problem = None, None
        if ranks.rank == 0:
            try:
                choice = self._newest()
            except (CheckpointError, OSError) as error:
                problem = str(error)
        ranks.agree(problem)
        step = ranks.from_first(choice)
        if step is None:
            return
        read: State = {}
        ranks.agree(_problem(lambda: read.update(self._read(step))))
        self._put_back(read)
        self.resumed_from = step
        self._saved = (step, self.epoch)

    def _put_back(self, state: State) -> None:
        """Go on from a state that fits."""
        progress = state["progress"]
        self._objects.give(state["objects"])
        self.num_steps, self.epoch = progress["num_steps"], progress["epoch"]
        self._random = progress["random"]
        if self._batches is not None:
            self._batches.set_state(progress["data"], self._put_random_back)

    def _newest(self) -> int | None:
        """The newest checkpoint whose files are what they were; None where there has been none."""
        problems = [
            f"{path} has a manifest, but not the name of a checkpoint"
            for path in self._files.misnamed()
        ]
        for problem in problems:
            log_util.logger.warning("auto_checkpoint: leaving out %s", problem)
        for step in self._files.steps():
            try:
                self._check_files(step)
                return step
            except CheckpointError as error:
                log_util.logger.warning("auto_checkpoint: leaving out step %d: %s", step, error)
                problems.append(str(error))
        if problems:
            raise CheckpointError("no checkpoint is usable: " + "; ".join(problems))
        return None

    def _check_files(self, step: int) -> None:
        """CheckpointError unless every file of a checkpoint is what it was, and holds the state of
        a rank.
        """
        for fact in self._files.manifest(step):
            self._content(step, fact)

    def _content(self, step: int, fact: Fact) -> State:
        """The state in a rank's file: ``objects`` and ``progress``."""
        folder = self._files.folder(step)
        return checked(files.read_state(folder, fact), str(folder / fact["file"]))

    def _read(self, step: int) -> State:
        """This rank's state, checked against the objects that it is for."""
        facts = self._files.manifest(step)
        ranks = self._ranks
        first = self._content(step, facts[0])
        if len(facts) == ranks.world_size:
            own = first if ranks.rank == 0 else self._content(step, facts[ranks.rank])
            found = {
                "objects": joined(own["objects"], first["objects"]),
                "progress": own["progress"],
            }
        else:
            found = self._adapted(step, facts, first)
        self._check_fits(found)
        return found

    def _check_fits(self, state: State) -> None:
        self._objects.check(state["objects"])
        data = state["progress"]["data"]
        if (data is None) != (self._batches is None):
            raise CheckpointError(
                f"the checkpoint was written with{'out' if data is None else ''} a loader"
            )
        if self._batches is not None:
            self._batches.fitted(Position(**data["position"]))

    def _adapted(self, step: int, facts: list[Fact], first: State) -> State:
        """One state for all ranks of a job of another size; each goes on with the generators of its
        number, if there was one.
        """
        others = [self._content(step, fact) for fact in facts[1:]]
        progress = dict(first["progress"])
        if 0 < self._ranks.rank:
            known = self._ranks.rank < len(facts)
            progress["random"] = (
                others[self._ranks.rank - 1]["progress"]["random"] if known else random_state()
            )
        return {
            "objects": averaged([first["objects"], *(state["objects"] for state in others)]),
            "progress": progress,
        }


def _board_of(group: Group) -> Board:
    """Where the ranks of ``group`` agree on their last step."""
    assert job.session is not None
    store = job.session.store
    # each rank's n-th loop is the n-th of the others
    number = int(store.add(f"preemption/loops/{group.rank}", 1))
    return StoreBoard(store, group.rank, group.nranks, number)


def _problem(action: Any, *args: Any) -> str | None:
    """Do it; what went wrong, if something did."""
    try:
        action(*args)
    except (CheckpointError, OSError) as error:
        return str(error)
    return None
