"""Collectives behind the caller's back: ``Work`` is one under way, ``CommQueue`` the thread that
keeps those of a group in order.

Ranks must run the collectives of a group in one order, synchronous and asynchronous ones together.
A queue sees to that: what is submitted runs in submission order in its thread, and a synchronous
call waits its turn. While nothing is pending a synchronous call runs in the caller's thread at the
price of one uncontended lock (0.2 us), and an asynchronous one may begin there.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any, TypeVar

import torch

from argosy.foundation.account import COMMUNICATION, account
from argosy.foundation.call_log import (
    END,
    CallLog,
    pack_begin,
    pack_end,
    size_of,
)
from argosy.foundation.errors import CollectiveTimeout, CommError
from argosy.foundation.trace import trace
from argosy.runtime.comm.bucket import Bucket

T = TypeVar("T")

_log = logging.getLogger(__name__)

_SAID = {"finish": "average of gradients", "finish_buckets": "average of gradients"}
_CLOSE_S = 10.0  # longer than backends wait for their calls when they are closed


class Work:
    """A call that was submitted to a queue: its result or its error, once it has run."""

    def __init__(self, what: str = "collective") -> None:
        self.what = what
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Work], None]] = []  # each is popped by who calls it

    def is_completed(self) -> bool:
        """Whether it has run, well or not."""
        return self._done.is_set()

    def wait(self, timeout_s: float | None = None) -> Any:
        """Block until it has run; return its result or raise its error, each time it is called.

        CollectiveTimeout after ``timeout_s``; the call itself goes on and can be waited for again.
        """
        if not self._done.is_set():
            with account.waiting_for(COMMUNICATION):
                if not self._done.wait(timeout_s):
                    raise CollectiveTimeout(f"{self.what}: not done within {timeout_s:g} s")
        if self._error is not None:
            raise self._error
        return self._result

    @property
    def error(self) -> BaseException | None:
        """What it raised, None while it runs or if it went well."""
        return self._error

    def on_done(self, call: Callable[[Work], None]) -> None:
        """Call ``call(self)`` once it has run: in the thread that ran it, or here if that is past.
        ``call`` must not raise.
        """
        self._callbacks.append(call)
        if self._done.is_set():
            self._call_back()

    def _call_back(self) -> None:
        while True:
            try:
                call = self._callbacks.pop(0)
            except IndexError:  # also if another thread has taken the last one
                return
            call(self)

    def finish(self, result: Any = None, error: BaseException | None = None) -> None:
        """Say that it has run; whoever runs it calls this once."""
        self._result, self._error = result, error
        self._done.set()
        if self._callbacks:
            self._call_back()

    @classmethod
    def completed(cls, result: Any = None, what: str = "collective") -> Work:
        """A work that is done already; making one costs a tenth of one that can be waited for."""
        work = object.__new__(cls)
        work.what = what
        work._done = _DONE
        work._result = result
        work._error = None
        work._callbacks = []
        return work


_DONE = threading.Event()
_DONE.set()


def _name(call: Callable[..., Any]) -> str:
    return getattr(call, "__name__", "collective")


def _said(name: str) -> str:
    """What people are told that a call is."""
    return _SAID.get(name, name.lstrip("_"))


def _trace(name: str, args: tuple[Any, ...], group: str, began_ns: int) -> None:
    """Have it known that a call of ``group`` has run."""
    tensors = [each for arg in args for each in (arg if isinstance(arg, list | tuple) else [arg])]
    sizes = [each.nbytes for each in tensors if isinstance(each, torch.Tensor | Bucket)]
    about = {"group": group, **({"bytes": sum(sizes)} if sizes else {})}
    trace.add(_said(name), "collective", began_ns, about)


def _raise(error: BaseException) -> None:
    raise error


class CommQueue:
    """Runs the calls of one group in order, at most one at a time; its thread starts with the first
    submitted call.

    A call must not use its own queue: it would wait for itself. Who is called back when a work is
    done may.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._codes: dict[str, int] = {}  # in the process's log of collectives, by name
        self._running = threading.Lock()  # held by whichever thread runs a call
        self._changed = threading.Condition(threading.Lock())
        # Guarded by _changed. The head stays in until it has run: an empty queue means that nothing
        # is pending.
        self._queue: deque[tuple[Work, Callable[..., Any], tuple[Any, ...]]] = deque()
        self._is_taken = False  # whether the thread has its head; guarded by _changed
        self._thread: threading.Thread | None = None  # guarded by _changed
        self._closed = False  # guarded by _changed
        self._refusal: Callable[[str], Exception] = lambda what: CommError(
            f"{what}: queue {name!r} is closed"
        )

    @property
    def num_pending(self) -> int:
        """Submitted calls that have not finished."""
        return len(self._queue)

    def run(self, call: Callable[..., T], *args: Any) -> T:
        """Run ``call(*args)`` after everything submitted before it and return its result."""
        if not self._queue and not self._closed and self._running.acquire(blocking=False):
            began_ns = perf_counter_ns()
            mark = began_ns - account.named_ns
            calls = account.calls
            if calls is not None:  # as _noted does, without its frames
                try:
                    code = self._codes[call.__name__]
                    size = args[0].nbytes if args else call.__self__.tensor.nbytes  # type: ignore[attr-defined]
                except Exception:  # a new name, a list of tensors, one without memory of its own
                    code, size = self._code(calls, _name(call)), size_of(call, args)
                number, at = next(calls.places)
                pack_begin(calls.memory, at, number, began_ns, size, code)
            try:
                return call(*args)
            finally:
                self._running.release()
                now_ns = perf_counter_ns()
                if calls is not None:
                    pack_end(calls.memory, at + END, number, now_ns)
                if trace.recordings:
                    _trace(_name(call), args, self.name, began_ns)
                if threading.get_ident() == account.thread:  # account.leave, without its frame
                    own_ns = now_ns - account.named_ns - mark
                    account.named_ns += own_ns
                    account.spent_ns[COMMUNICATION] += own_ns
        return self.submit(call, *args).wait()

    def submit(self, call: Callable[..., Any], *args: Any, what: str = "") -> Work:
        """Queue ``call(*args)`` and return at once. Its tensors must stay untouched until the work
        is done.
        """
        work = Work(what or _name(call))
        if threading.current_thread() is self._thread:
            self._run_here(work, call, args)
            return work
        with self._changed:
            if self._closed:
                raise self._refusal(work.what)
            self._queue.append((work, call, args))
            self._wake()
        return work

    def start(
        self,
        begin: Callable[[], Callable[[], Any] | None],
        call: Callable[..., Any],
        *args: Any,
    ) -> Work:
        """As ``submit(call, *args)``; but if nothing is pending, ``begin()`` runs here and returns
        what is left of the call for the queue's thread, None if it is done.
        """
        if threading.current_thread() is self._thread or not self._running.acquire(blocking=False):
            return self.submit(call, *args)
        work, left = Work(_name(call)), list[Callable[[], Any]]()
        try:
            with self._changed:
                is_first = not self._queue and not self._closed
                if is_first:  # keeps its place before what others submit meanwhile
                    self._queue.append((work, lambda: left[0]() if left else None, ()))
            if is_first:
                self._begin(work, begin, left)
        finally:
            self._running.release()
        return work if is_first else self.submit(call, *args)

    def _begin(
        self, work: Work, begin: Callable[[], Callable[[], Any] | None], left: list[Any]
    ) -> None:
        """Run ``begin`` for the first in the queue, and leave the rest to the thread, through
        ``left``.
        """
        calls, began_ns, mark = account.calls, perf_counter_ns(), account.enter()
        try:
            rest = begin()
        except BaseException as caught:  # it belongs to whoever waits
            rest = functools.partial(_raise, caught)
        account.leave(COMMUNICATION, mark)
        if trace.recordings:
            trace.add(f"begin {work.what}", "collective", began_ns, {"group": self.name})
        if rest is None and calls is not None:  # else the thread notes it
            code = self._code(calls, work.what)
            calls.end(calls.begin(code, -1, began_ns), perf_counter_ns())
        with self._changed:
            if rest is None and not self._is_taken:
                self._queue.popleft()
                if self._queue:
                    self._wake()
            else:
                left += [] if rest is None else [rest]
                self._wake()
                return
        work.finish()

    def _wake(self) -> None:
        """Let the thread look at the queue; the caller holds ``_changed``."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._serve, name=f"argosy-comm-{self.name}", daemon=True
            )
            self._thread.start()
        self._changed.notify_all()

    def _run_here(self, work: Work, call: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """In the queue's own thread: what was asked for by somebody whom a work called back when it
        was done. Behind the others it would be waited for where it should run; so it comes next, on
        every rank, whether its work was done late or early.
        """
        began_ns = perf_counter_ns()
        try:
            with self._running, self._noted(work.what, call, args):
                result = call(*args)
        except BaseException as caught:
            work.finish(None, caught)
        else:
            if trace.recordings:
                _trace(work.what, args, self.name, began_ns)
            work.finish(result)

    def _code(self, calls: CallLog, name: str) -> int:
        """What a collective of this group is in the log of them."""
        code = self._codes.get(name)
        if code is None:
            code = self._codes[name] = calls.code(f"{_said(name)} of group {self.name!r}")
        return code

    @contextmanager
    def _noted(self, what: str, call: Callable[..., Any], args: tuple[Any, ...]) -> Iterator[None]:
        """Note a call for those who look on; ``run`` has this written out."""
        calls = account.calls
        if calls is None:
            yield
            return
        code = self._code(calls, what)
        number = calls.begin(code, size_of(call, args), perf_counter_ns())
        try:
            yield
        finally:
            calls.end(number, perf_counter_ns())

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                if not self._queue:
                    return
                work, call, args = self._queue[0]
                self._is_taken = True
            result, error = None, None
            with self._running, self._noted(work.what, call, args):
                began_ns = perf_counter_ns()
                try:
                    result = call(*args)
                # it belongs to whoever waits, KeyboardInterrupt included
                except BaseException as caught:
                    error = caught
            if trace.recordings:
                _trace(work.what, args, self.name, began_ns)
            with self._changed:
                self._queue.popleft()
                self._is_taken = False
            work.finish(result, error)
            del work, call, args, result, error  # an idle queue keeps no tensor alive

    def close(self) -> None:
        """Give up the calls that have not started, wait for the one that runs, end the thread.

        Close the backend first: it ends the running call. One that does not end even so is left to
        its thread, with a warning.
        """
        with self._changed:
            self._closed = True
            given_up = list(self._queue)[1:]
            while len(self._queue) > 1:
                self._queue.pop()
            thread = self._thread
            self._changed.notify_all()
        for work, _, _ in given_up:
            work.finish(
                None, CommError(f"{work.what}: queue {self.name!r} was closed before it ran")
            )
        if thread is not None and thread is not threading.current_thread():
            thread.join(_CLOSE_S)
            if thread.is_alive():
                _log.warning(
                    "queue %r: its last call has not ended within %g s", self.name, _CLOSE_S
                )

    def refuse_in_child(self, refusal: Callable[[str], Exception]) -> None:
        """After a fork, in the child, which has neither the thread nor a way to free its locks:
        calls get ``refusal(what)``.
        """
        self._running = threading.Lock()
        self._changed = threading.Condition(threading.Lock())
        self._closed, self._thread, self._refusal = True, None, refusal
        while self._queue:
            work = self._queue.popleft()[0]
            work._done = threading.Event()
            work.finish(None, refusal(work.what))

    def __enter__(self) -> CommQueue:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
