"""Waiting with care: for ranks that may be late, stuck elsewhere, or gone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from argosy.foundation.account import account
from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import CollectiveTimeout, PeerLost
from argosy.runtime.comm.backends.shm.board import LOOK_S, Board, Wait

_log = logging.getLogger(__name__)

WARN_S = 30.0


def wait_with_care(
    board: Board,
    place: str,
    timeout_s: float,
    look: Callable[[], Sequence[int]],
    fates: Callable[[], dict[int, str]] | None = None,
    warn_s: float | None = None,
) -> None:
    """Repeat ``look``, which sleeps a moment and returns the ranks of ``board`` that are still
    awaited, until there are none.

    Raises CollectiveMismatch when the ranks wait for each other, PeerLost when one of the awaited
    has met a fate (by default the board's), CollectiveTimeout. ``place`` is what errors call the
    wait: ``barrier #3 of group 'world'``. After ``warn_s`` one warning tells who is missing.
    """
    deadline, warning = (
        Deadline.after(timeout_s),
        None if warn_s is None else Deadline.after(warn_s),
    )
    find_fates = fates or board.fates
    wait = Wait(board, place)
    shown, is_shown = ExitStack(), False
    began_ns = time.perf_counter_ns()
    try:
        while True:
            # before the look: a rank that arrives and then leaves or exits must not be reported
            fate_by_rank = find_fates()
            try:
                missing = look()
            except RuntimeError:
                # a rank that has found us in a circle and left may break what is looked at
                deadlock = wait.verdict()
                if deadlock is not None:
                    raise deadlock from None
                raise
            if not missing:
                return
            if not is_shown:
                is_shown = True
                names = _names(board, missing)
                told = account.long_wait(began_ns, f"{place} for {names}", missing)
                shown.enter_context(told)
            deadlock = wait.look(missing)
            if deadlock is not None:
                raise deadlock
            gone = next((r for r in missing if r in fate_by_rank), None)
            if gone is not None:
                # it may have left because it found us in a circle
                deadlock = wait.verdict()
                if deadlock is not None:
                    raise deadlock
                raise PeerLost(
                    f"rank {board.rank} was in {place} when {board.who(gone)} {fate_by_rank[gone]}."
                )
            if deadline.expired:
                raise CollectiveTimeout(
                    f"rank {board.rank} waited {timeout_s:g} s in {place} for "
                    f"{_names(board, missing)}, which did not arrive before the timeout was over."
                )
            if warning is not None and warning.expired:
                _log.warning(
                    "rank %d has waited %g s in %s for %s",
                    board.rank,
                    warn_s,
                    place,
                    _names(board, missing),
                )
                warning = None
    finally:
        shown.close()
        wait.end()


def poll(is_there: Callable[[], bool], nap_s: float = 0.001, limit_s: float = LOOK_S) -> bool:
    """Whether ``is_there()`` becomes true within ``limit_s``; naps in between grow, so that a short
    wait is noticed at once.
    """
    until = Deadline.after(limit_s)
    while not is_there():
        if until.expired:
            return False
        time.sleep(min(nap_s, until.remaining_s()))
        nap_s = min(nap_s * 1.5, LOOK_S)
    return True


def await_keys(
    store: Any,
    key_by_rank: dict[int, str],
    board: Board,
    place: str,
    timeout_s: float,
    fates: Callable[[], dict[int, str]] | None = None,
    on_arrival: Callable[[int], None] | None = None,
) -> None:
    """Wait with care until each rank has set its key in ``store``; ``on_arrival`` hears of those
    that came before the others.
    """
    missing = dict(key_by_rank)

    def look() -> list[int]:
        if poll(lambda: store.check(list(missing.values()))):
            return []
        for rank, key in list(missing.items()):
            if store.check([key]):
                del missing[rank]
                if on_arrival is not None:
                    on_arrival(rank)
        return list(missing)

    wait_with_care(board, place, timeout_s, look, fates, WARN_S)


def _names(board: Board, ranks: Sequence[int]) -> str:
    return ", ".join(map(board.who, ranks))
