import numpy as np
import pytest

from argosy.foundation.errors import BadArgument, OutOfRange, TableError
from argosy.runtime.ps.tables import snapshot
from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.rules import Rule
from argosy.runtime.ps.tables.sparse_table import SparseTable
from argosy.runtime.ps.tables.spec import Admission, ShowClick, SparseSpec
from support.killing import killed_at

MOST = 1 << 12


def spec(**fields):
    given = {
        "name": "emb",
        "dim": 2,
        "initial": Initial("uniform", -1.0, 1.0, seed=3),
        "max_rows": MOST,
    }
    return SparseSpec(**{**given, **fields})


def ids(*values):
    return np.array(values, np.int64)


def ones(count, dim=2):
    return np.ones((count, dim), np.float32)


def test_first_values_depend_on_seed_and_id_alone(tmp_path):
    with SparseTable(spec(), tmp_path / "a") as one, SparseTable(spec(), tmp_path / "b") as other:
        first = one.pull(ids(5, 1, 9))
        assert (other.pull(ids(9, 5, 1))[[1, 2, 0]] == first).all()
        assert (one.pull(ids(9, 9))[0] == first[2]).all()
        assert len(one) == 3
        assert (np.abs(first) <= 1).all()
    with SparseTable(spec(initial=Initial("uniform", -1.0, 1.0, seed=4)), tmp_path / "c") as seeded:
        assert (seeded.pull(ids(5)) != first[0]).any()


def test_distributions(tmp_path):
    many = np.arange(4000, dtype=np.int64)
    for kind, a, b, mean, deviation in (
        ("uniform", 0.0, 2.0, 1.0, 2.0 / 12**0.5),
        ("normal", 1.0, 3.0, 1.0, 3.0),
        ("truncated_normal", 0.0, 1.0, 0.0, 0.8796),
        ("constant", 0.5, 0.0, 0.5, 0.0),
    ):
        with SparseTable(spec(dim=8, initial=Initial(kind, a, b)), tmp_path / kind) as table:
            values = table.pull(many)
        assert values.mean() == pytest.approx(mean, abs=0.05)
        assert values.std() == pytest.approx(deviation, abs=0.05)


def test_push_sums_repeated_ids_and_happens_once(tmp_path):
    with SparseTable(spec(rule=Rule("sgd", 0.5)), tmp_path) as table:
        before = table.pull(ids(7, 8))
        grads = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
        assert table.push(ids(7, 8, 7), grads, worker=0, sequence=1)
        after = table.pull(ids(7, 8))
        np.testing.assert_allclose(
            after, before - 0.5 * np.array([[6, 8], [3, 4]], np.float32), rtol=1e-6
        )
        assert not table.push(ids(7, 8, 7), grads, worker=0, sequence=1)
        assert (table.pull(ids(7, 8)) == after).all()
        assert table.push(ids(7), ones(1), worker=1, sequence=1)  # another worker's first
        assert table.applied(0) == 1


def test_a_table_is_found_again(tmp_path):
    with SparseTable(spec(rule=Rule("adam", 0.1)), tmp_path) as table:
        table.push(ids(1, -2, 3), ones(3), worker=0, sequence=4)
        expected = table.pull(ids(1, -2, 3))
    with SparseTable(spec(rule=Rule("adam", 0.1)), tmp_path) as again:
        assert len(again) == 3
        assert (again.pull(ids(1, -2, 3)) == expected).all()
        assert again.applied(0) == 4
        assert not again.was_cut_off
    with pytest.raises(TableError, match="holds another table"):
        SparseTable(spec(rule=Rule("sgd")), tmp_path)


def test_padding_reads_as_zeros_and_has_no_row(tmp_path):
    with SparseTable(spec(padding_id=0), tmp_path) as table:
        values = table.pull(ids(0, 1, 0))
        assert (values[[0, 2]] == 0).all()
        assert (values[1] != 0).all()
        table.push(ids(0, 1), ones(2), worker=0, sequence=1)
        assert len(table) == 1


def test_pull_without_creating(tmp_path):
    with SparseTable(spec(), tmp_path) as table:
        table.pull(ids(1))
        values = table.pull(ids(2, 1), creates=False)
        assert (values[0] == 0).all()
        assert (values[1] != 0).all()
        assert len(table) == 1


def test_admission_by_count(tmp_path):
    with SparseTable(spec(admission=Admission("count", 3)), tmp_path) as table:
        for _ in range(2):
            assert (table.pull(ids(5)) == 0).all()
        table.push(ids(5), ones(1), worker=0, sequence=1)
        third = table.pull(ids(5))
        assert (third != 0).all()
        with SparseTable(spec(), tmp_path.with_name("plain")) as plain:
            # what was pushed before it was admitted did nothing
            assert (plain.pull(ids(5)) == third).all()


def test_admission_by_chance_is_a_property_of_the_id(tmp_path):
    many = np.arange(2000, dtype=np.int64)
    with SparseTable(spec(admission=Admission("probability", 0.25)), tmp_path) as table:
        admitted = (table.pull(many) != 0).any(1)
        assert 0.2 < admitted.mean() < 0.3
        assert ((table.pull(many) != 0).any(1) == admitted).all()
        assert len(table) == admitted.sum()


def test_shrink_drops_rows_and_uses_their_place_again(tmp_path):
    rules = ShowClick(nonclick_weight=1.0, delete_below=2.0, delete_after_unseen_days=1)
    with SparseTable(spec(show_click=rules), tmp_path) as table:
        shows = np.array([5, 1, 5], np.float32)
        table.push(ids(1, 2, 3), ones(3), worker=0, sequence=1, shows=shows)
        assert table.shrink() == 1
        kept = table.pull(ids(1, 2, 3), creates=False)
        assert (kept[1] == 0).all()
        assert (kept[[0, 2]] != 0).all()
        table.pull(ids(9))
        assert len(table) == 3
        size = table.num_bytes
        table.end_day()
        table.push(ids(3), ones(1), worker=0, sequence=2, shows=shows[:1])
        table.end_day()
        assert table.shrink() == 2  # 9 was never shown, 1 was not seen for two days
        assert (table.pull(ids(3), creates=False) != 0).all()
        assert table.num_bytes == size + 2 * 4  # the list of free places


def test_snapshot_and_load(tmp_path):
    first = spec(rule=Rule("momentum", 0.1))
    with SparseTable(first, tmp_path / "a") as table:
        table.push(ids(1, 2), ones(2), worker=0, sequence=1)
        [kept] = table.snapshot()
        table.push(ids(1), ones(1), worker=0, sequence=2)
        with SparseTable(first, tmp_path / "b") as other:
            other.load(kept)
            other.push(ids(1), ones(1), worker=0, sequence=1)
            assert (other.pull(ids(1, 2)) == table.pull(ids(1, 2))).all()


def test_a_snapshot_shows_one_instant(tmp_path, monkeypatch):
    """Rows change, appear and disappear between its chunks; it does not."""
    monkeypatch.setattr(snapshot, "CHUNK_ROWS", 3)
    rules = ShowClick(nonclick_weight=1.0, delete_below=1.5)
    with SparseTable(spec(show_click=rules), tmp_path) as table:
        every = np.arange(10, dtype=np.int64)
        table.push(every, ones(10), worker=0, sequence=1)
        table.push(every[5:], ones(5), worker=0, sequence=2)
        before = table.pull(every)
        chunks = table.snapshot()
        parts = [next(chunks)]
        with pytest.raises(TableError, match="being taken already"):
            next(table.snapshot())
        table.push(ids(0, 4, 9), ones(3), worker=0, sequence=3)
        parts.append(next(chunks))
        table.push(ids(4, 9), ones(2), worker=0, sequence=4)
        assert table.shrink() == 3
        table.push(ids(70, 71, 72, 73), ones(4), worker=0, sequence=5)
        parts += list(chunks)
    assert np.concatenate([p.ids for p in parts]).tolist() == every.tolist()
    assert (np.concatenate([p.rows for p in parts])[:, :2] == before).all()


def test_what_does_not_fit_is_refused(tmp_path):
    with SparseTable(spec(max_rows=4), tmp_path) as table:
        with pytest.raises(TableError, match="may have 4 rows"):
            table.pull(np.arange(5, dtype=np.int64))
        with pytest.raises(TableError, match=r"shape \(1, 3\) for 2 ids"):
            table.push(ids(1, 2), ones(1, 3), worker=0, sequence=1)
        with pytest.raises(OutOfRange, match="worker -1"):
            table.push(ids(1), ones(1), worker=-1, sequence=1)
        with pytest.raises(TableError, match="cannot shrink table 'emb'"):
            table.shrink()
    with pytest.raises(BadArgument, match="no setting 'beta'"):
        Rule("adam", settings={"beta": 0.5})
    with pytest.raises(TableError, match="no description"):
        SparseSpec.from_json("{}")
    assert SparseSpec.from_json(spec(show_click=ShowClick()).to_json()) == spec(
        show_click=ShowClick()
    )


@pytest.mark.parametrize(
    ("place", "is_applied"),
    [
        ("ps.rows.made", False),
        ("ps.journal.kept", False),
        ("ps.journal.marked", False),
        ("ps.journal.changed", False),
        ("ps.journal.applied", True),
    ],
)
def test_a_killed_push_is_whole_or_not_there(tmp_path, place, is_applied):
    first = spec(rule=Rule("momentum", 0.1))

    def given(sequence):
        return np.arange(sequence, sequence + 50), np.full((50, 2), sequence, np.float32)

    dead = SparseTable(first, tmp_path / "t")
    with killed_at(place, 2):
        for sequence in (1, 2, 3):
            dead.push(*given(sequence), worker=2, sequence=sequence)
    with (
        SparseTable(first, tmp_path / "t") as table,
        SparseTable(first, tmp_path / "reference") as reference,
    ):
        assert table.was_cut_off == (place in ("ps.journal.marked", "ps.journal.changed"))
        for sequence in (1, 2, 3):
            assert table.push(*given(sequence), worker=2, sequence=sequence) == (
                sequence > (2 if is_applied else 1)
            )
            reference.push(*given(sequence), worker=2, sequence=sequence)
        every = np.arange(1, 54)
        assert (table.pull(every) == reference.pull(every)).all()
        [ours], [theirs] = table.snapshot(), reference.snapshot()
        assert (ours.rows == theirs.rows).all()
    dead.close()


def test_a_closed_table_is_an_error(tmp_path):
    table = SparseTable(spec(), tmp_path)
    table.pull(ids(1))
    table.close()
    for call in (
        lambda: table.pull(ids(2)),
        lambda: table.push(ids(2), ones(1), worker=0, sequence=1),
    ):
        with pytest.raises(TableError, match="closed"):
            call()


def test_a_push_finds_the_rows_of_its_pull_again(tmp_path, monkeypatch):
    with SparseTable(spec(), tmp_path) as table:
        own = ids(3, 1, 2)
        before = table.pull(own)
        table.pull(ids(4, 5, 6))
        searched = []
        find = table._index.find_or_add
        monkeypatch.setattr(
            table._index, "find_or_add", lambda wanted: searched.append(1) or find(wanted)
        )
        table.push(own, ones(3), worker=0, sequence=1, learning_rate=1.0)
        assert not searched
        own[:] = ids(4, 5, 6)  # the caller's array is the caller's
        table.push(own, ones(3), worker=0, sequence=2, learning_rate=1.0)
        assert not searched
        table.push(own, ones(3), worker=0, sequence=3, learning_rate=1.0)
        assert searched
        assert (table.pull(ids(3, 1, 2)) == before - 1.0).all()


def test_rows_that_were_dropped_are_not_found_again(tmp_path):
    """A push to ids that were pulled before must not reach whoever has got their rows."""
    rules = ShowClick(delete_below=0.5)
    with SparseTable(spec(show_click=rules), tmp_path) as table:
        table.pull(ids(1, 2))
        assert table.shrink() == 2
        others = table.pull(ids(8, 9))
        table.push(ids(1, 2), ones(2), worker=0, sequence=1, learning_rate=1.0)
        assert (table.pull(ids(8, 9)) == others).all()
