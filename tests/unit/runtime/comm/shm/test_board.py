"""The board of waits: who is found in a circle, and who is not. The other ranks exist only as their
rows.
"""

from __future__ import annotations

import logging
import threading

import pytest

from argosy.foundation.errors import CollectiveMismatch, CollectiveTimeout, PeerLost, UsageError
from argosy.runtime.comm.backends.shm import board as board_module
from argosy.runtime.comm.backends.shm.board import Board, Seat, Wait, board_bytes, lonely_seat
from argosy.runtime.comm.backends.shm.care import poll, wait_with_care
from argosy.runtime.comm.backends.shm.segment import Segment


@pytest.fixture
def boards(monkeypatch):
    """The boards of three ranks over one segment, on which a circle is certain as soon as all have
    looked twice.
    """
    monkeypatch.setattr(board_module, "_SURE_S", 0.0)
    segment = Segment.create("board", board_bytes(3))
    made = [Board(segment, 0, rank, 3) for rank in range(3)]
    for rank, board in enumerate(made):
        board.enter({rank: 100 + rank})
    yield made
    for board in made:
        board.close()
    segment.close()


def looks(waits_and_missing, rounds):
    """Let the ranks look in turns; returns the errors by rank."""
    errors = {}
    for _ in range(rounds):
        for rank, (wait, missing) in enumerate(waits_and_missing):
            error = wait.look(missing) if rank not in errors else None
            if error is not None:
                assert isinstance(error, CollectiveMismatch)
                errors[rank] = str(error)
    return errors


def test_a_circle_of_three_is_named_on_each(boards):
    waits = [(Wait(board, f"place {board.rank}"), [(board.rank + 1) % 3]) for board in boards]
    errors = looks(waits, 8)
    assert sorted(errors) == [0, 1, 2]
    assert errors[1].startswith(
        "rank 1 is in place 1 and waits for rank 2 (pid 102), which waits for rank 0 (pid 100) "
        "in place 2, "
        "which waits for rank 1 in place 0.\n"
    )


def test_a_chain_is_no_circle(boards):
    waits = [(Wait(boards[0], "a"), [1]), (Wait(boards[1], "b"), [2])]
    assert looks(waits, 8) == {}


def test_a_rank_beside_a_circle_is_not_in_it(boards):
    waits = [(Wait(boards[0], "a"), [1]), (Wait(boards[1], "b"), [0]), (Wait(boards[2], "c"), [0])]
    assert sorted(looks(waits, 8)) == [0, 1]


def test_a_rank_that_does_not_look_is_not_accused(boards):
    """It may be stopped, and what it waits for have come long ago."""
    assert Wait(boards[1], "stopped").look([0]) is None
    wait = Wait(boards[0], "a")
    assert all(wait.look([1]) is None for _ in range(20))


def test_a_wait_that_ended_is_forgotten(boards):
    first = Wait(boards[1], "b")
    first.look([0])
    first.end()
    wait = Wait(boards[0], "a")
    assert all(wait.look([1]) is None for _ in range(5))
    again = [(wait, [1]), (Wait(boards[1], "c"), [0])]
    assert "rank 0 in c" in looks(again, 8)[0]


def test_a_verdict_holds_for_one_wait_only(boards):
    waits = [(Wait(boards[0], "a"), [1]), (Wait(boards[1], "b"), [0])]
    looks(waits, 8)
    for wait, _ in waits:
        wait.end()
    later = Wait(boards[1], "later")
    assert all(later.look([0]) is None for _ in range(5))


def test_a_busy_rank_is_not_in_a_circle(boards):
    boards[1].is_busy = lambda: True
    waits = [(Wait(boards[0], "a"), [1]), (Wait(boards[1], "b"), [0])]
    assert looks(waits, 8) == {}
    boards[1].is_busy = lambda: False
    assert sorted(looks(waits, 8)) == [0, 1]


def test_a_rank_with_threads_of_its_own_is_left_out(boards):
    waits = [(Wait(boards[0], "a"), [1]), (Wait(boards[1], "b"), [0])]
    thread = threading.Thread(target=lambda: Wait(boards[1], "elsewhere").look([0]))
    thread.start()
    thread.join()
    assert looks(waits, 8) == {}


def test_one_second_is_needed(boards, monkeypatch):
    monkeypatch.setattr(board_module, "_SURE_S", 100.0)
    waits = [(Wait(boards[0], "a"), [1]), (Wait(boards[1], "b"), [0])]
    assert looks(waits, 20) == {}


def test_long_and_strange_places_fit(boards):
    name = "\x01\"'\\é" * 200
    waits = [(Wait(board, name), [(board.rank + 1) % 3]) for board in boards]
    assert sorted(looks(waits, 8)) == [0, 1, 2]


def test_a_circle_of_many_is_named_though_texts_are_cut(monkeypatch):
    monkeypatch.setattr(board_module, "_SURE_S", 0.0)
    n = 100
    segment = Segment.create("many", board_bytes(n))
    boards = [Board(segment, 0, rank, n) for rank in range(n)]
    waits = [(Wait(board, "\x01" * 300), [(board.rank + 1) % n]) for board in boards]
    assert sorted(looks(waits, 6)) == list(range(n))
    for board in boards:
        board.close()
    segment.close()


def test_those_who_left(boards):
    boards[1].leave()
    assert boards[0].leavers() == {1: "left the job"}
    with pytest.raises(PeerLost, match=r"rank 0 was in x when rank 1 \(pid 101\) left the job"):
        wait_with_care(boards[0], "x", 10, lambda: [1], fates=boards[0].leavers)


def test_a_broken_look_is_explained_by_a_verdict(boards):
    other = Wait(boards[1], "b")
    count = iter(range(100))

    def look():
        for _ in range(3):
            other.look([0])
        if next(count) < 4:
            return [1]
        raise RuntimeError("connection closed")

    with pytest.raises(CollectiveMismatch, match="rank 0 is in c and waits for rank 1"):
        wait_with_care(boards[0], "c", 10, look, fates=dict)


def test_a_board_that_is_closed_meanwhile_ends_nothing_by_accident(boards):
    """Whoever waits then finds its store or group closed, which says more."""

    def look():
        boards[0].close()
        raise UsageError("closed")

    wait = Wait(boards[0], "a")
    wait.look([1])
    with pytest.raises(UsageError, match="closed"):
        wait_with_care(boards[0], "a", 10, look)
    assert wait.look([1]) is wait.verdict() is None
    wait.end()


def test_one_warning_says_who_is_missing(boards, caplog):
    count = iter(range(5))
    with caplog.at_level(logging.WARNING):
        wait_with_care(
            boards[0],
            "new_group #1",
            10,
            lambda: [2] if next(count) < 4 else [],
            fates=dict,
            warn_s=0.0,
        )
    assert [r.getMessage() for r in caplog.records] == [
        "rank 0 has waited 0 s in new_group #1 for rank 2 (pid 102)"
    ]


def test_the_deadline_names_all_that_are_missing(boards):
    with pytest.raises(
        CollectiveTimeout, match=r"in x for rank 1 \(pid 101\), rank 2 \(pid 102\), which did not"
    ):
        wait_with_care(boards[0], "x", 0, lambda: [1, 2], fates=dict)


def test_poll():
    answers = iter([False, False, True])
    assert poll(lambda: next(answers), nap_s=0.0001)
    assert not poll(lambda: False, limit_s=0.01)


def test_only_a_board_that_is_for_one_seat_goes_with_it():
    alone = lonely_seat(1, 3)
    assert (alone.board.rank, list(alone.ranks)) == (1, [0, 1, 2])
    shared = Seat(alone.board, [0, 1])
    shared.leave()
    assert not alone.board.is_closed
    alone.leave()
    assert alone.board.is_closed
