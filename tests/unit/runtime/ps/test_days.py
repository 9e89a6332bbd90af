import numpy as np
import pytest

from argosy.runtime.ps.tables import days, snapshot
from argosy.runtime.ps.tables.sparse_table import SparseTable
from argosy.runtime.ps.tables.spec import ShowClick, SparseSpec
from support.killing import killed_at

SPEC = SparseSpec("ctr", 1, show_click=ShowClick(decay=0.5), max_rows=1024)
IDS = np.arange(7)


def fill(table):
    table.push(
        IDS, np.zeros((7, 1), np.float32), worker=0, sequence=1, shows=np.full(7, 8.0, np.float32)
    )


def counts(table):
    """Shows and unseen days of every row."""
    [part] = table.snapshot()
    return part.rows[:, [1, 4]].tolist()


def test_days_pass_as_the_calendar_says(tmp_path):
    with SparseTable(SPEC, tmp_path) as table:
        fill(table)
        for day, expected in (
            (100, [8.0, 0.0]),
            (101, [4.0, 1.0]),
            (101, [4.0, 1.0]),
            (99, [4.0, 1.0]),
            (103, [1.0, 3.0]),
        ):
            table.end_day(day)
            assert counts(table) == [expected] * 7
        table.end_day()
        assert counts(table) == [[0.5, 4.0]] * 7
    with SparseTable(SPEC, tmp_path) as table:
        table.end_day(104)
        assert counts(table) == [[0.5, 4.0]] * 7


@pytest.mark.parametrize(
    "place", ["ps.journal.kept", "ps.journal.marked", "ps.journal.changed", "ps.journal.applied"]
)
@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("again", [8, 9])
def test_a_killed_server_finishes_the_day_once(tmp_path, monkeypatch, place, nth, again):
    """The call is made again, or a later day begins before that."""
    monkeypatch.setattr(days, "CHUNK_ROWS", 2)
    table = SparseTable(SPEC, tmp_path)
    fill(table)
    table.end_day(6)
    with killed_at(place, nth):
        table.end_day(8)
    with SparseTable(SPEC, tmp_path) as found:
        found.end_day(again)
        assert counts(found) == [[8.0 * 0.5 ** (again - 6), again - 6.0]] * 7
    table.close()


def test_a_snapshot_does_not_see_a_day_that_begins_meanwhile(tmp_path, monkeypatch):
    with SparseTable(SPEC, tmp_path) as table:
        fill(table)
        table.end_day(1)
        monkeypatch.setattr(snapshot, "CHUNK_ROWS", 3)
        parts = table.snapshot()
        seen = next(parts).rows[:, 1].tolist()
        table.end_day(2)
        for part in parts:
            seen += part.rows[:, 1].tolist()
        assert seen == [8.0] * 7
        assert [part.rows[0, 1] for part in table.snapshot()] == [4.0] * 3
