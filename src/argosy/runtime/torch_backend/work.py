"""What a call of a group returns to torch."""

from __future__ import annotations

import threading
from datetime import timedelta
from time import perf_counter_ns
from typing import Any

import torch
import torch.distributed as dist

from argosy.foundation.account import account
from argosy.foundation.torch_private import current_graph_task, queue_callback
from argosy.runtime.comm.work import Work

_NO_LIMIT = timedelta(0)  # torch's default


class GroupWork(dist.Work):
    """A call under way or done; ``result`` are the tensors that it fills. A future is made when
    somebody asks for one, as DDP does.
    """

    def __init__(self, work: Work, result: list[torch.Tensor]) -> None:
        super().__init__()
        self._work = work
        self._result = result
        self._future: torch.futures.Future[Any] | None = None

    def wait(self, timeout: timedelta = _NO_LIMIT) -> bool:
        self._work.wait(timeout.total_seconds() if timeout > _NO_LIMIT else None)
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self._work.is_completed()

    def is_success(self) -> bool:
        return self._work.is_completed() and self._work.error is None

    def exception(self) -> BaseException | None:
        return self._work.error

    def result(self) -> list[torch.Tensor]:
        self.wait()
        return self._result

    def source_rank(self) -> int:
        """The rank that a message came from."""
        return int(self._work.wait())

    _source_rank = source_rank

    def get_future(self) -> torch.futures.Future[Any]:
        if self._future is None:
            ended: torch.futures.Future[Any] = torch.futures.Future()
            self._future = ended.then(self._outcome)
            ended_ns: list[int] = []

            def settle(work: Work) -> None:
                ended_ns.append(perf_counter_ns())
                ended.set_result(None)

            self._work.on_done(settle)
            if account.listener is not None:
                _hold(ended_ns)
        return self._future

    def _outcome(self, ended: torch.futures.Future[Any]) -> list[torch.Tensor]:
        """What the future holds. An error that is raised here is one to C++ as well; what
        ``set_exception`` leaves is a result to it, which DDP takes for tensors, and crashes.
        """
        error = self._work.error
        if error is None:
            return self._result
        raise error if isinstance(error, Exception) else RuntimeError(repr(error))


def _hold(ended_ns: list[int]) -> None:
    """Have the account of steps know of a wait in C++: who asks for a future in a backward pass, as
    DDP does, waits for it at the pass's end, in a callback that it queues after ours.
    """
    if threading.get_ident() == account.thread and current_graph_task() != -1:
        queue_callback(lambda: account.hold(perf_counter_ns(), ended_ns))


class DoneWork(GroupWork):
    """What all calls return that torch has asked to be done when they return: it looks at them no
    further, so that one object is enough.
    """

    def __init__(self) -> None:
        super().__init__(Work.completed(), [])

    def wait(self, timeout: timedelta = _NO_LIMIT) -> bool:
        return True
