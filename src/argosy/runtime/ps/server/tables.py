"""The tables of one server: made on request, found again after a restart, pushed to in the job's
mode.

Modes: ``async`` applies each push when it comes; with a bound, a worker that is ahead of the
slowest one by more pushes than that waits. ``sync`` gathers a step from all workers and applies
their mean. ``geo`` adds differences that workers computed themselves, and remembers for each worker
which rows others changed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import BadArgument, PsError, ServerUnavailable, TableError, nearest
from argosy.foundation.files import replacing
from argosy.runtime.ps.server.goodbyes import Goodbyes
from argosy.runtime.ps.server.rounds import Rounds
from argosy.runtime.ps.tables.dense_table import DenseSpec, DenseTable, MakeUpdate
from argosy.runtime.ps.tables.sparse_table import SparseTable
from argosy.runtime.ps.tables.spec import SparseSpec

MODES = ("async", "sync", "geo")
_SYNC_WORKER = 0  # under whose name the steps of all workers are journalled
Table: TypeAlias = SparseTable | DenseTable


@dataclass(frozen=True)
class Push:
    """What a worker pushes to a table in a step; without ``ids`` to a dense one, as a whole.
    ``sequence`` counts the worker's pushes to the table from 1 on.
    """

    sequence: int
    grads: npt.NDArray[np.float32]
    learning_rate: float | None = None
    ids: npt.NDArray[np.int64] | None = None
    shows: npt.NDArray[np.float32] | None = None
    clicks: npt.NDArray[np.float32] | None = None


def _mean(parts: list[Push]) -> Push:
    """The pushes of several workers to one table as one."""
    first, scale = parts[0], np.float32(1.0 / len(parts))
    if first.ids is None:
        total = first.grads.copy()
        for part in parts[1:]:
            total += part.grads
        return replace(first, grads=total * scale)

    def joined(name: str) -> Any:
        found = [getattr(part, name) for part in parts]
        return None if found[0] is None else np.concatenate(found)

    grads = joined("grads")
    grads *= scale
    return replace(
        first, grads=grads, ids=joined("ids"), shows=joined("shows"), clicks=joined("clicks")
    )


class Entry:
    """A table and how it is pushed to. Counters are for display and may lag behind."""

    def __init__(
        self, table: Table, mode: str, num_workers: int, bound: int | None, patience_s: float = 0.0
    ) -> None:
        self.table = table
        self.mode = mode
        self.num_pulls = self.num_pushes = self.num_rows_pulled = self.num_rows_pushed = 0
        self.worst_staleness = 0
        self._num_workers = num_workers
        self._bound = bound
        self._advanced = threading.Condition()
        self._lost: set[int] = set()  # guarded by _advanced
        self._is_closed = False  # guarded by _advanced
        # ids that each worker has not asked for since they changed; guarded by _advanced
        self._changed_for: dict[int, list[npt.NDArray[np.int64]]] = {
            w: [] for w in range(num_workers)
        }
        self.rounds: Rounds | None = None
        if mode == "sync":
            what = f"table {table.spec.name!r}"
            self.rounds = Rounds(
                num_workers, self._apply_step, lambda: table.applied(_SYNC_WORKER), what, patience_s
            )

    @property
    def sparse(self) -> SparseTable:
        if not isinstance(self.table, SparseTable):
            raise TableError(f"table {self.table.spec.name!r} is dense")
        return self.table

    @property
    def dense(self) -> DenseTable:
        if not isinstance(self.table, DenseTable):
            raise TableError(f"table {self.table.spec.name!r} is sparse")
        return self.table

    def pull(
        self,
        ids: npt.NDArray[np.int64],
        creates: bool,
        out: npt.NDArray[np.float32] | None = None,
    ) -> npt.NDArray[np.float32]:
        values = self.sparse.pull(ids, creates, out)
        self.num_pulls += 1
        self.num_rows_pulled += ids.shape[0]
        return values

    def check(self, push: Push, worker: int) -> None:
        """Refuse what cannot be pushed, before anything is."""
        if push.ids is None:
            self.dense.check_push(push.grads, worker)
        else:
            self.sparse.check_push(push.ids, push.grads, worker)

    def hand_in(self, push: Push, worker: int) -> Callable[[float], bool]:
        """Push gradients (differences in ``geo``) in the job's mode. Returns what waits, so many
        seconds at most, for other workers, and says whether the push was not applied before.
        """
        self.num_pushes += 1
        if push.ids is not None:
            self.num_rows_pushed += push.ids.shape[0]
        if self.rounds is not None:
            return self.rounds.hand_in(worker, push.sequence, push)
        is_done = self._apply(push, worker)
        if is_done and push.ids is not None:
            self.note_changed(push.ids, worker)

        def wait(timeout_s: float) -> bool:
            self._keep_together(worker, push.sequence, timeout_s)
            return is_done

        return wait

    def _apply(self, push: Push, worker: int) -> bool:
        number, rate = {"worker": worker, "sequence": push.sequence}, push.learning_rate
        if push.ids is not None:
            return self.sparse.push(
                push.ids,
                push.grads,
                **number,
                learning_rate=rate,
                shows=push.shows,
                clicks=push.clicks,
            )
        if self.mode == "geo":
            return self.dense.add(push.grads, **number)
        return self.dense.push(push.grads, **number, learning_rate=rate)

    def _apply_step(self, step: int, parts: list[Push]) -> None:
        """Apply the mean of what the workers pushed."""
        self._apply(parts[0] if len(parts) == 1 else _mean(parts), _SYNC_WORKER)

    def note_changed(self, ids: npt.NDArray[np.int64], by: int | None = None) -> None:
        """Have workers, but for the one that did it, hear in ``geo`` that rows have changed."""
        if self.mode != "geo":
            return
        own = ids.copy()  # not the memory of the whole message
        with self._advanced:
            for worker, changed in self._changed_for.items():
                if worker != by:
                    changed.append(own)

    def changed_by_others(self, worker: int) -> npt.NDArray[np.int64]:
        """Ids of rows that other workers changed since this worker asked last."""
        with self._advanced:
            changed, self._changed_for[worker] = self._changed_for.get(worker, []), []
        return np.unique(np.concatenate(changed)) if changed else np.empty(0, np.int64)

    # -- staleness
    # ----------------------------------------------------------------------------------------------

    def _keep_together(self, worker: int, sequence: int, timeout_s: float) -> None:
        """Measure how far this worker is ahead, and let it wait if that is too far."""
        with self._advanced:
            self._advanced.notify_all()
            ahead = self._ahead(sequence)
            self.worst_staleness = max(
                self.worst_staleness, min(ahead, sequence if self._bound is None else self._bound)
            )
            deadline = Deadline.after(timeout_s)
            while self._bound is not None:
                if self._is_closed:
                    raise ServerUnavailable(f"table {self.table.spec.name!r}: the server is ending")
                if self._ahead(sequence) <= self._bound:
                    break
                if deadline.expired:
                    raise PsError(
                        f"worker {worker} is {self._ahead(sequence)} pushes ahead in table "
                        f"{self.table.spec.name!r} and waited in vain for the others"
                    )
                self._advanced.wait(min(1.0, deadline.remaining_s()))

    def _ahead(self, sequence: int) -> int:
        present = [w for w in range(self._num_workers) if w not in self._lost]
        return max(0, sequence - min((self.table.applied(w) for w in present), default=sequence))

    def applied(self, worker: int) -> int:
        """How many pushes of ``worker`` were applied; steps in ``sync``."""
        return self.table.applied(_SYNC_WORKER if self.rounds is not None else worker)

    def lose(self, worker: int) -> None:
        """A worker has gone: nobody waits for it any more, or gets an error where it cannot be done
        without.
        """
        if self.rounds is not None:
            self.rounds.lose(worker)
        with self._advanced:
            self._lost.add(worker)
            self._advanced.notify_all()

    def retire(self, worker: int) -> None:
        """A worker has finished: nobody waits for it any more."""
        if self.rounds is not None:
            self.rounds.retire(worker)
        with self._advanced:
            self._lost.add(worker)
            self._changed_for.pop(worker, None)
            self._advanced.notify_all()

    def welcome(self, worker: int) -> None:
        """A worker has come, or come back."""
        if self.rounds is not None:
            self.rounds.welcome(worker)
        with self._advanced:
            self._lost.discard(worker)
            self._changed_for.setdefault(worker, [])

    def close(self) -> None:
        """End pushes that wait for other workers, with an error, and let go of the table."""
        if self.rounds is not None:
            self.rounds.close()
        with self._advanced:
            self._is_closed = True
            self._advanced.notify_all()
        self.table.close()


class Tables:
    """Tables by name in ``folder``. ``make_update`` makes the optimizers of dense ones.

    ``bound`` is how many pushes a worker may be ahead, ``patience_s`` how long a synchronous step
    waits for a worker that has gone.
    """

    def __init__(
        self,
        folder: Path,
        num_workers: int,
        make_update: MakeUpdate,
        bound: int | None = None,
        patience_s: float = 0.0,
    ) -> None:
        self._folder = folder
        self._num_workers = num_workers
        self._make_update = make_update
        self._bound = bound
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}  # guarded by _lock
        folder.mkdir(parents=True, exist_ok=True)
        self._goodbyes = Goodbyes(folder)
        for path in sorted(folder.glob("*/entry.json")):
            known = json.loads(path.read_text())
            self.create(known["kind"], known["spec"], known["mode"])
        if self._goodbyes.is_ended:
            self._forget_job()
        self._goodbyes.begin()

    def create(self, kind: str, description: str, mode: str) -> None:
        """Make or open a table; nothing happens if it is there with the same description."""
        if mode not in MODES:
            raise BadArgument(f"mode of a table must be one of {MODES}, but received {mode!r}")
        spec: SparseSpec | DenseSpec
        spec = (
            SparseSpec.from_json(description)
            if kind == "sparse"
            else DenseSpec.from_json(description)
        )
        with self._lock:
            known = self._entries.get(spec.name)
            if known is not None:
                if known.table.spec != spec or known.mode != mode:
                    raise TableError(
                        f"table {spec.name!r} is there already with another description: "
                        f"{known.table.spec.to_json()} in mode "
                        f"{known.mode}, not {description} in mode {mode}"
                    )
                return
            folder = self._folder / quote(spec.name, safe="")
            table: Table
            if isinstance(spec, SparseSpec):
                table = SparseTable(spec, folder)
            else:
                table = DenseTable(spec, folder, self._make_update)
            fresh = folder / "entry.new"
            fresh.write_text(json.dumps({"kind": kind, "spec": description, "mode": mode}))
            fresh.replace(folder / "entry.json")
            entry = Entry(table, mode, self._num_workers, self._bound, self._patience_s)
            for worker in self.finished:
                entry.retire(worker)
            self._entries[spec.name] = entry

    def __getitem__(self, name: str) -> Entry:
        with self._lock:
            found = self._entries.get(name)
            if found is None:
                raise TableError(
                    f"there is no table {name!r}; there are "
                    f"{sorted(self._entries)}.{nearest(name, self._entries)}"
                )
            return found

    def items(self) -> list[tuple[str, Entry]]:
        with self._lock:
            return list(self._entries.items())

    def lose(self, worker: int) -> None:
        for _, entry in self.items():
            entry.lose(worker)

    def retire(self, worker: int) -> None:
        self._goodbyes.add(worker)
        for _, entry in self.items():
            entry.retire(worker)

    def welcome(self, worker: int) -> None:
        self._goodbyes.take_back(worker)
        for _, entry in self.items():
            entry.welcome(worker)

    @property
    def finished(self) -> set[int]:
        """Workers that have said goodbye, also to the server before this one."""
        return self._goodbyes.workers

    def give_up(self, reason: str) -> None:
        """A worker cannot go on: those who wait for it hear why, at once."""
        for _, entry in self.items():
            if entry.rounds is not None:
                entry.rounds.give_up(reason)

    def notes(self, fresh: dict[str, Any]) -> dict[str, Any]:
        """What the workers of this job leave for each other, with ``fresh`` added; a server that is
        started again still has it.
        """
        with self._lock:
            return self._noted(lambda known: known | fresh)

    def settle(self, name: str, value: Any) -> Any:
        """A note that is written once: its value, which is ``value`` if nobody came before."""
        with self._lock:
            return self._noted(lambda known: {name: value} | known)[name]

    def _noted(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        path = self._folder / "notes.json"
        known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        changed = change(known)
        if changed != known:
            with replacing(path) as file:
                file.write(json.dumps(changed).encode())
        return changed

    def end_job(self) -> None:
        """Forget who has said goodbye and how often workers pushed: whoever opens the folder next
        begins a job of its own.
        """
        self._goodbyes.end()
        self._forget_job()

    def _forget_job(self) -> None:
        self._goodbyes.forget()
        (self._folder / "notes.json").unlink(missing_ok=True)
        for _, entry in self.items():
            entry.table.forget_pushes()

    def status(self) -> list[dict[str, Any]]:
        """What a person wants to see of each table."""
        return [
            {
                "table": name,
                "kind": "sparse" if isinstance(e.table, SparseTable) else "dense",
                "mode": e.mode,
                "rows": len(e.table) if isinstance(e.table, SparseTable) else e.table.numel,
                "dim": e.table.spec.dim if isinstance(e.table, SparseTable) else 1,
                "bytes": e.table.num_bytes,
                "pulls": e.num_pulls,
                "pushes": e.num_pushes,
                "rows_pulled": e.num_rows_pulled,
                "rows_pushed": e.num_rows_pushed,
                "staleness": e.worst_staleness,
            }
            for name, e in self.items()
        ]

    def close(self) -> None:
        """Let go of all tables; pushes that wait for other workers end with an error."""
        with self._lock:
            entries, self._entries = list(self._entries.values()), {}
        for entry in entries:
            entry.close()
