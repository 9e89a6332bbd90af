"""How a loop of ``fleet.auto_checkpoint`` ends when a scheduler asks for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NoReturn

from argosy.distributed.fleet.checkpoints.last_point import Board, LastPoint
from argosy.distributed.fleet.utils import log_util
from argosy.foundation import notices
from argosy.foundation.preemption import Watcher, requests, requeue_code

__all__ = ["Departure"]


def _nothing(num_steps: int) -> None:
    pass


class Departure(Watcher):
    """Ends the process, between two steps, when a signal has asked for it here or at another member
    of ``board``: SystemExit with the code that has the job started again.

    ``depart`` is called with the number of steps before.
    """

    def __init__(self, board: Board, depart: Callable[[int], None] = _nothing) -> None:
        self._last_point = LastPoint(board)
        self._depart = depart
        self._complete_at: int | None = None  # steps; the loop has ended with everything saved
        requests.watch(self)

    @contextlib.contextmanager
    def looping(
        self, count: Callable[[], int], do_all_leave: Callable[[bool], bool]
    ) -> Iterator[None]:
        """A loop, which has saved everything when it ends by itself; then nothing has to be waited
        for. One that the script leaves before its end cannot be asked any more.

        ``do_all_leave`` is called by all members when theirs has ended, with whether this one is
        asked by then, and answers all of them alike.
        """
        self._complete_at = None
        requests.watch(self)
        try:
            yield
        except GeneratorExit:
            requests.leave(self)
            raise
        # one who was asked leaves here; who has not heard of it would wait for him afterwards
        is_over = do_all_leave(bool(requests.signal) or self._last_point.look())
        self._complete_at = count()
        if is_over or requests.signal:  # which may have come since
            self._leave(self._complete_at)

    def on_request(self, number: int) -> None:
        if self._complete_at is not None:
            self._leave(self._complete_at)

    def stop_if_asked(self, num_steps: int, epoch: int, save: Callable[[], None]) -> None:
        """Save and end here if this is where all members stop."""
        was_asked = self._last_point.is_asked
        is_here = self._last_point.is_here(num_steps + epoch, bool(requests.signal))
        if self._last_point.is_asked and not was_asked and not requests.signal:
            notices.tell(notices.ASKED)
        if is_here:
            save()
            self._leave(num_steps)

    def _leave(self, num_steps: int) -> NoReturn:
        code = requeue_code()
        requests.depart(num_steps)
        self._depart(num_steps)
        log_util.logger.info(
            "auto_checkpoint: pre-empted: saved at step %d, exit %d", num_steps, code
        )
        raise SystemExit(code)
