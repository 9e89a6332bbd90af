"""A worker's part in training with servers: pulls before the forward pass, pushes after the
backward pass, in the job's mode.

What a step pushes, to all tables, is one exchange with each server, which brings the dense values
back.

- ``sync``: a step ends when all workers' gradients were applied. All workers train on the same
  values.
- ``half_async``: a step ends when the servers have applied it; nobody waits for other workers.
- ``async``: steps go through a queue and a thread; dense values are refreshed behind the worker's
  back, rows of the next batch can be fetched ahead.
- ``geo``: the worker trains on its own and exchanges differences every ``k_steps`` steps.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import torch

from argosy.foundation.account import PULL, PUSH, account
from argosy.foundation.errors import BadArgument, PositionUnknown, UsageError
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.runtime.ps.worker.client import Client
from argosy.runtime.ps.worker.geo import GeoDense, GeoRows, on_server
from argosy.runtime.ps.worker.placement import place_dense
from argosy.runtime.ps.worker.steps import Push, average
from argosy.runtime.ps.worker.tape import Tape

log = logging.getLogger("argosy.ps")

DENSE = "dense"
WAY_OUT = (
    "Train with exe.train_from_dataset, or in a loop over fleet.auto_checkpoint(...).batches() "
    "or .steps(): these go on where they were. "
    "Or start the whole job again from a checkpoint."
)
Counts = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]
_MODES = ("sync", "async", "half_async", "geo")
_END_S = 10.0
_LOOK_S = 1.0


@dataclass(frozen=True)
class Mode:
    """How workers and servers keep in step. ``queue_size`` and ``max_merge`` belong to ``async``:
    steps that may wait to be sent, and how many of them are averaged into one.
    """

    kind: str = "sync"
    k_steps: int = 1
    queue_size: int = 16
    max_merge: int = 1

    def __post_init__(self) -> None:
        if self.kind not in _MODES:
            raise BadArgument(f"Mode: kind must be one of {_MODES}, but received {self.kind!r}")
        if self.k_steps < 1:
            raise BadArgument(f"Mode: k_steps must be at least 1, but received {self.k_steps}")

    @property
    def on_servers(self) -> str:
        """The mode of the tables."""
        return {"half_async": "async"}.get(self.kind, self.kind)

    @property
    def is_exact(self) -> bool:
        """Whether what a step pushes is applied when it returns."""
        return self.kind in ("sync", "half_async")

    @property
    def trains_locally(self) -> bool:
        """Whether the worker's own optimizer changes dense values."""
        return self.kind == "geo"


class Worker:
    """One worker. ``connect`` makes a client; threads of the worker have clients of their own.
    ``folder`` is where ``geo`` keeps its rows.

    With ``tape`` it can go on where it was after its process was killed. ``num_steps_before`` is
    how many steps the servers know of a process before this one.
    """

    def __init__(
        self,
        connect: Callable[[], Client],
        num_workers: int,
        mode: Mode,
        folder: Path | None = None,
        tape: Tape | None = None,
    ) -> None:
        self.mode = mode
        self._connect = connect
        self._client = connect()
        self._num_workers = num_workers
        self._folder = folder
        self._dense: Callable[[], Mapping[str, torch.Tensor]] = dict
        self._shapes: dict[str, tuple[int, ...]] = {}  # of the dense parameters
        self._geo_rows: dict[str, GeoRows] = {}
        self._geo_dense: GeoDense | None = None
        self._sender: _Sender | None = None
        self._ahead: _Ahead | None = None
        self._pushes: list[Push] = []  # of the step under way
        self._num_steps = 0
        self._tape = tape
        self.num_steps_before = 0
        self._is_lost = False  # started again, and nobody has said where in its data it was

    # -- life
    # ----------------------------------------------------------------------------------------------

    def start(
        self,
        sparse: Sequence[SparseSpec],
        dense: Callable[[], Mapping[str, torch.Tensor]],
        optimizer: str = "{}",
        keeps_whole: bool = False,
        is_together: bool = False,
        timeout_s: float = 600.0,
    ) -> None:
        """Join the servers, make the tables or find them, and take over the dense values: worker
        0's, unless the servers have some.

        ``dense`` gives the parameters by name, at every use anew, for they may get other memory;
        ``optimizer`` is what the servers need to make their optimizer (JSON).
        """
        self._client.join()
        mode = self.mode.on_servers
        for spec in sparse:
            self._client.create_sparse(on_server(spec) if mode == "geo" else spec, mode)
        self._dense = dense
        self._shapes = {name: tuple(p.shape) for name, p in dense().items()}
        if self._shapes:
            specs = place_dense(
                DENSE, self._shapes, self._client.num_servers, optimizer, keeps_whole, is_together
            )
            self._client.create_dense(specs, mode)
            is_filled = all(a["is_filled"] for a in self._client.act("is_filled", {"table": DENSE}))
            if self._client.worker == 0 and not is_filled:
                self._client.fill_dense(DENSE, self._flat(self._params))
            self._client.wait_filled(DENSE, timeout_s)
            self._write(self._client.pull_dense(DENSE))
        self.num_steps_before = max(
            (max(self._client.applied(t)) for t in self._client.sequences()), default=0
        )
        self._is_lost = self.num_steps_before > 0
        if mode == "geo":
            self._start_geo(sparse)
        elif self.mode.kind == "async":
            self._sender = _Sender(self._connect_like, self.mode)
            self._ahead = _Ahead(self._connect_like)

    def _start_geo(self, sparse: Sequence[SparseSpec]) -> None:
        if self._folder is None:
            raise UsageError("geo mode needs a folder for the worker's own rows")
        for number, spec in enumerate(sparse):
            folder = self._folder / str(number)
            self._geo_rows[spec.name] = GeoRows(spec, folder, self._client, self._num_workers)
        if self._shapes:
            self._geo_dense = GeoDense(DENSE, self._client, self._num_workers)

    def _connect_like(self) -> Client:
        """Another client that knows the same tables."""
        return self._connect().knowing(self._client)

    def stop(self) -> None:
        """Send what is under way and say goodbye; connections and threads go in any case."""
        try:
            self.flush()
            self._client.leave()
        finally:
            self.close()

    def flush(self) -> None:
        """Return when the servers have everything that this worker pushed."""
        if self._sender is not None:
            self._sender.flush()
            self.refresh()
        if self.mode.kind == "geo":
            self._exchange()

    def close(self) -> None:
        """Let go of connections and threads without a goodbye; what waits to be sent is dropped."""
        if self._sender is not None:
            self._sender.close()
        if self._ahead is not None:
            self._ahead.close()
        for rows in self._geo_rows.values():
            rows.close()
        self._client.close()

    @property
    def client(self) -> Client:
        """For checkpoints and other care of tables."""
        return self._client

    # -- a process that comes back
    # ------------------------------------------------------------------------------

    @property
    def resting_point(self) -> bytes | None:
        """The state that a process before this one gave at its last resting point; None if there is
        none, or it was taken.
        """
        return None if self._tape is None or self._tape.found is None else self._tape.found.state

    @property
    def keeps_resting_points(self) -> bool:
        """Whether anything becomes of ``rest``."""
        return self._tape is not None

    @property
    def is_resting(self) -> bool:
        """Whether there is a resting point of this process to go back to."""
        return self._tape is not None and self._tape.is_resting

    @property
    def progress_folder(self) -> Path | None:
        """A folder that a process after this one finds, if one may come."""
        return None if self._tape is None else self._tape.folder

    def go_on(self) -> None:
        """The state of the resting point was put back: the steps since then are done again, with
        what they read, and each push counts once.
        """
        assert self._tape is not None
        rest = self._tape.rewind()
        self._is_lost = False
        if not self.mode.is_exact:
            return
        for table, sequence in rest.sequences.items():
            applied = self._client.applied(table)
            if min(applied) < sequence or max(applied) > sequence + rest.num_pushes:
                self.refuse(
                    f"{self.again()}: servers have {applied} pushes to table {table!r}, but what "
                    f"it kept is of {sequence} to "
                    f"{sequence + rest.num_pushes}.\n  Start the whole job again from a checkpoint."
                )
        self._client.go_on_from(rest.sequences)
        if self._shapes:
            self._write(rest.dense)

    def rest(self, state: bytes) -> None:
        """Between two steps: ``state`` is all that a process after this one needs to go on here,
        beside what the servers have.
        """
        if self._tape is not None:
            dense = (
                self._flat(self._params)
                if self._shapes and self.mode.is_exact
                else np.empty(0, np.float32)
            )
            self._tape.rest(state, self._client.sequences(), dense)

    def leave_resting_point(self) -> None:
        """Nobody tells any more where in its data this worker is."""
        if self._tape is not None:
            self._tape.forget()

    def refuse(self, reason: str) -> NoReturn:
        """End the job, because this worker cannot go on: the servers tell those who wait for it,
        and it is not started again.
        """
        if self._tape is not None:
            self._tape.refuse(reason)
        self._client.act("give_up", {"reason": reason})
        raise PositionUnknown(reason)

    def lost(self) -> str:
        """What to say where nobody knows the position."""
        return f"{self.again()}, and this script gives no way to know where in its data it was"

    def again(self) -> str:
        """That this worker is not the first of its number."""
        count = self.num_steps_before
        return (
            f"worker {self._client.worker} was started again after {count} "
            f"step{'s' if count != 1 else ''}"
        )

    def _check_position(self) -> None:
        """Before a push: its position must be known, or it pushes what it has pushed before."""
        if not self._is_lost:
            return
        self._is_lost = False
        if self.mode.kind == "sync":
            self.refuse(f"{self.lost()}.\n  {WAY_OUT}")
        log.warning(
            "%s: it begins its data again, so samples are seen twice. %s", self.lost(), WAY_OUT
        )

    @contextlib.contextmanager
    def _pushing(self) -> Iterator[None]:
        """Around a push."""
        self._check_position()
        if self._tape is not None:
            self._tape.before_push()
        try:
            yield
        # another worker has ended the job: to start this one again does not help
        except PositionUnknown as error:
            if self._tape is not None:
                self._tape.refuse(str(error).partition(": ")[2])  # without the server that told it
            raise

    # -- a step
    # ----------------------------------------------------------------------------------------------

    def pull(self, table: str, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The rows of ``ids``, which should all be different."""
        mark = account.enter()
        try:
            return self._pull(table, ids)
        finally:
            account.leave(PULL, mark)

    def _pull(self, table: str, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        if table in self._geo_rows:
            return self._geo_rows[table].pull(ids)
        if self._ahead is not None:
            found = self._ahead.take(table, ids)
            if found is not None:
                return found
        if self._tape is not None:
            return self._tape.read(table, ids, lambda: self._client.pull(table, ids))
        return self._client.pull(table, ids)

    def peek(self, table: str, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The rows of ``ids`` without making any: those that are missing read as zeros."""
        if table in self._geo_rows:
            return self._geo_rows[table].peek(ids)
        return self._client.pull(table, ids, creates=False)

    def prefetch(self, table: str, ids: npt.NDArray[np.int64]) -> None:
        """Fetch rows of the next batch while this one is computed; a ``pull`` of the same ids takes
        them. Only in ``async``.
        """
        if self._ahead is not None:
            self._ahead.fetch(table, ids)

    def push(
        self,
        table: str,
        ids: npt.NDArray[np.int64],
        grads: npt.NDArray[np.float32],
        learning_rate: float | None = None,
        counts: Counts | None = None,
    ) -> None:
        """Push the gradients of rows, with the end of the step; once per table and step, with no
        ids if there were none. ``counts``: shows and clicks of each id, else one show.
        """
        if table in self._geo_rows:
            self._check_position()
            self._geo_rows[table].push(ids, grads, learning_rate)
        else:
            shows, clicks = counts or (None, None)
            self._pushes.append(Push(table, grads, learning_rate, ids, shows, clicks))

    def end_step(self, grads: Sequence[torch.Tensor], learning_rate: float | None = None) -> None:
        """Push the gradients of the dense parameters, with those of rows, and bring their values up
        to date; in ``geo`` (no gradients) exchange if it is time.
        """
        self._num_steps += 1
        pushes, self._pushes = self._pushes, []
        with account.waiting_for(PUSH), self._pushing():
            if self.mode.kind == "geo":
                if self._num_steps % self.mode.k_steps == 0:
                    self._exchange()
                return
            if self._shapes:
                pushes.append(Push(DENSE, self._flat(grads), learning_rate))
            if not pushes:
                return
            if self._sender is None:
                values = self._step(pushes)
            else:
                self._sender.put(pushes)
                values = self._sender.latest_dense()
            if values is not None:
                self._write(values)

    def _step(self, pushes: Sequence[Push]) -> npt.NDArray[np.float32] | None:
        """Push, and get the dense values, or those that were read when this step was done
        before.
        """
        values = self._client.step(pushes).dense.get(DENSE)
        if values is None or self._tape is None:
            return values
        return self._tape.read(DENSE, np.empty(0, np.int64), lambda: values)

    def refresh(self) -> None:
        """Take over what the servers have now: dense values, in ``geo`` also rows; there what was
        not exchanged yet stays on top.
        """
        for rows in self._geo_rows.values():
            rows.refresh()
        if self._geo_dense is not None:
            self._write(self._geo_dense.refresh(self._flat(self._params)))
        elif self._shapes:
            self._write(self._client.pull_dense(DENSE))

    def served(self) -> dict[str, torch.Tensor]:
        """The dense values that the servers have now, by name; in ``geo`` what this worker has not
        exchanged is given up.
        """
        if not self._shapes:
            return {}
        source = self._geo_dense
        flat = self._client.pull_dense(DENSE) if source is None else source.refresh()
        return {
            name: part.clone() for name, part in zip(self._shapes, self._split(flat), strict=True)
        }

    def _exchange(self) -> None:
        pushes = [rows.difference() for rows in self._geo_rows.values()]
        values = self._flat(self._params) if self._geo_dense is not None else None
        if self._geo_dense is not None and values is not None:
            pushes.append(self._geo_dense.difference(values))
        if not pushes:
            return
        fresh = self._client.step(pushes)
        for name, (changed, rows_changed) in fresh.changed.items():
            self._geo_rows[name].take(changed, rows_changed)
        if self._geo_dense is not None and values is not None:
            self._write(self._geo_dense.take(values, fresh.dense[DENSE]))

    def _flat(self, tensors: Sequence[torch.Tensor]) -> npt.NDArray[np.float32]:
        return torch.cat([t.detach().reshape(-1).float() for t in tensors]).numpy()

    def _write(self, flat: npt.NDArray[np.float32]) -> None:
        with torch.no_grad():
            for param, part in zip(self._params, self._split(flat), strict=True):
                param.copy_(part)

    def _split(self, flat: npt.NDArray[np.float32]) -> list[torch.Tensor]:
        shapes = self._shapes.values()
        own = flat if flat.flags.writeable else flat.copy()
        parts = torch.split(torch.from_numpy(own), [math.prod(shape) for shape in shapes])
        return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

    @property
    def _params(self) -> list[torch.Tensor]:
        return list(self._dense().values())


class _Sender:
    """The thread of ``async``: sends the steps that were put into its queue, in order, and keeps
    the newest dense values.

    An error ends its work and is raised by every later call. No call waits longer than the thread
    lives, and each step of the thread is ended by its client when a server does not answer.
    """

    def __init__(self, connect: Callable[[], Client], mode: Mode) -> None:
        self._mode = mode
        self._changed = threading.Condition()
        self._queue: deque[list[Push]] = deque()  # guarded by _changed, as all below
        self._num_under_way = 0
        self._is_closed = False
        self._dense: npt.NDArray[np.float32] | None = None
        self._error: BaseException | None = None
        self._client = connect()
        self._thread = threading.Thread(target=self._serve, name="argosy-ps-sender", daemon=True)
        self._thread.start()

    def put(self, pushes: list[Push]) -> None:
        """Queue a step; waits while the queue is full."""
        with self._changed:
            self._wait(lambda: len(self._queue) < self._mode.queue_size)
            self._queue.append(pushes)
            self._changed.notify_all()

    def latest_dense(self) -> npt.NDArray[np.float32] | None:
        """The newest dense values that were not handed out yet."""
        with self._changed:
            self._check()
            fresh, self._dense = self._dense, None
        return fresh

    def flush(self) -> None:
        """Return when the servers have everything that was put."""
        with self._changed:
            self._wait(lambda: not self._queue and not self._num_under_way)

    def close(self) -> None:
        """End the thread, after the push that is under way; those behind it are dropped."""
        with self._changed:
            self._queue.clear()
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join(_END_S)
        if self._thread.is_alive():  # a push waits for a server or for other workers
            self._client.interrupt()
            self._thread.join()
        self._client.close()

    def _wait(self, is_done: Callable[[], bool]) -> None:
        """Wait until ``is_done``, or raise why that will not be; ``_changed`` is held."""
        self._check()
        while not is_done():
            self._changed.wait(_LOOK_S)
            self._check()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
        if self._is_closed or not self._thread.is_alive():
            raise UsageError("this worker has been stopped: nothing can be pushed any more")

    def _serve(self) -> None:
        while True:
            steps = self._next()
            if not steps:
                return
            try:
                fresh = self._client.step([average(pushes) for pushes in zip(*steps, strict=True)])
                with self._changed:
                    self._dense = fresh.dense.get(DENSE)
            except BaseException as error:  # it belongs to the thread that trains
                with self._changed:
                    self._error = error
                    self._queue.clear()
                    self._changed.notify_all()
                return
            finally:
                with self._changed:
                    self._num_under_way = 0
                    self._changed.notify_all()

    def _next(self) -> list[list[Push]]:
        """Steps that are sent as one, at least one; none at the end."""
        with self._changed:
            while not self._queue and not self._is_closed:
                self._changed.wait()  # ended by close()
            steps: list[list[Push]] = []
            while self._queue and len(steps) < max(1, self._mode.max_merge):
                if steps and _tables(self._queue[0]) != _tables(steps[0]):
                    break
                steps.append(self._queue.popleft())
            self._num_under_way = len(steps)
            self._changed.notify_all()
            return steps


def _tables(pushes: Sequence[Push]) -> list[str]:
    return [push.table for push in pushes]


class _Ahead:
    """Fetches rows before they are asked for."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._client = connect()
        self._thread = ThreadPoolExecutor(1, "argosy-ps-ahead")
        self._under_way: dict[
            str, tuple[npt.NDArray[np.int64], Future[npt.NDArray[np.float32]]]
        ] = {}

    def fetch(self, table: str, ids: npt.NDArray[np.int64]) -> None:
        self._under_way[table] = (ids, self._thread.submit(self._client.pull, table, ids))

    def take(self, table: str, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32] | None:
        """What was fetched for exactly these ids; None otherwise."""
        known = self._under_way.pop(table, None)
        if known is None or not np.array_equal(known[0], ids):
            return None
        return known[1].result()

    def close(self) -> None:
        """Give up what is under way."""
        self._client.interrupt()
        self._thread.shutdown(cancel_futures=True)
        self._client.close()
