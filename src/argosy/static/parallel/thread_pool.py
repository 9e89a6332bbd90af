"""Threads that run the places of a program, and where they meet."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation.errors import ProgramError

Call = Callable[[], Any]


class Abandoned(BaseException):
    """Another place of the run failed; no ``Exception``, so that nothing takes it for the failure
    of an op.
    """


class Barrier:
    """Where ``count`` threads wait for each other and show what they bring, as often as they like
    but all equally often.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._changed = threading.Condition()
        self.reset()

    def reset(self) -> None:
        """Begin a run; nobody may be waiting."""
        # Two boards in turn: whoever is at barrier k + 2 knows that all have left barrier k.
        self._boards: list[list[Any]] = [[None] * self._count, [None] * self._count]
        self._round = 0  # this and the following guarded by _changed
        self._arrived = 0
        self._gone = 0  # threads that have finished their run
        self._is_over = False

    def exchange(self, place: int, value: Any = None) -> list[Any]:
        """Wait for all; returns what each brought, by place."""
        with self._changed:
            number = self._round
            board = self._boards[number % 2]
            board[place] = value
            self._arrived += 1
            if self._arrived == self._count:
                self._arrived = 0
                self._round += 1
                self._changed.notify_all()
                return list(board)
            while self._round == number:
                if self._is_over:
                    raise Abandoned
                if self._gone:
                    raise ProgramError(
                        f"place {place} waits for the others to combine values, but {self._gone} "
                        "of them have finished the program; "
                        "all places must take the same branches around gradients and "
                        "synchronised statistics"
                    )
                self._changed.wait()
            return list(board)

    def leave(self) -> None:
        """Say that this thread comes to no further barrier of the run."""
        with self._changed:
            self._gone += 1
            if self._arrived:
                self._changed.notify_all()

    def abandon(self) -> None:
        """Let everybody who waits, or comes to wait, go with ``Abandoned``."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


class ThreadPool:
    """One thread for each place, kept between runs until ``close()``; a single place is run by the
    caller itself.

    The threads share the torch threads that the caller has.
    """

    def __init__(self, count: int, name: str) -> None:
        self.count = count
        self.barrier = Barrier(count)
        self._name = name
        self._jobs: list[queue.SimpleQueue[Call | None]] = []
        self._done: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
        self._stop: Callable[[], Any] | None = None

    def run(self, calls: Sequence[Call]) -> list[tuple[Any, BaseException | None]]:
        """Make a call for each place at the same time and wait for all; each gives its result or
        its error.

        The first error ends the barrier, so that nobody waits for a place that has failed.
        """
        self.barrier.reset()
        if self.count == 1:
            return [_outcome(calls[0], self.barrier)]
        if self._stop is None:
            self._start()
        for jobs, call in zip(self._jobs, calls, strict=True):
            jobs.put(call)
        outcomes: list[tuple[Any, BaseException | None]] = [(None, None)] * self.count
        interrupted: BaseException | None = None
        waiting = self.count
        while waiting:
            try:
                place, value, error = self._done.get()
            # Ctrl-C: the threads must be idle again before it goes on
            except BaseException as interrupt:
                interrupted = interrupt
                self.barrier.abandon()
                continue
            outcomes[place] = (value, error)
            waiting -= 1
        if interrupted is not None:
            raise interrupted
        return outcomes

    def _start(self) -> None:
        own = torch.get_num_threads()
        share = max(1, own // self.count)
        ready = threading.Barrier(self.count + 1)
        self._jobs = [queue.SimpleQueue() for _ in range(self.count)]
        threads = [
            threading.Thread(
                target=_work,
                args=(place, share, ready, jobs, self._done, self.barrier),
                name=f"{self._name}-{place}",
                daemon=True,
            )
            for place, jobs in enumerate(self._jobs)
        ]
        try:
            for thread in threads:
                thread.start()
            ready.wait()
        except BaseException:  # no more threads, or Ctrl-C: those that wait for the others go
            ready.abort()
            _end(self._jobs, [thread for thread in threads if thread.ident is not None])
            raise
        # torch notes the last number set for threads to come, whichever thread has set it for
        # itself.
        torch.set_num_threads(own)
        self._stop = weakref.finalize(self, _end, self._jobs, threads)

    def close(self) -> None:
        """End the threads; a later run starts them anew."""
        if self._stop is not None:
            self._stop()
            self._stop = None


def _work(
    place: int,
    num_threads: int,
    ready: threading.Barrier,
    jobs: queue.SimpleQueue[Call | None],
    done: queue.SimpleQueue[tuple[int, Any, BaseException | None]],
    barrier: Barrier,
) -> None:
    """The life of a thread; it knows no ThreadPool, so that a ThreadPool nobody uses any more can
    end it.
    """
    # the first call in a thread takes over the number of the process, after which it can be changed
    torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        ready.wait()
    except threading.BrokenBarrierError:  # another could not be started
        return
    while (call := jobs.get()) is not None:
        outcome = _outcome(call, barrier)
        del call  # it holds the values of the run
        done.put((place, *outcome))
        del outcome


def _outcome(call: Call, barrier: Barrier) -> tuple[Any, BaseException | None]:
    try:
        value = call()
        barrier.leave()
        return value, None
    except Abandoned as error:
        return None, error
    except BaseException as error:
        barrier.abandon()
        return None, error


def _end(jobs: list[queue.SimpleQueue[Call | None]], threads: list[threading.Thread]) -> None:
    for each in jobs:
        each.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join()
