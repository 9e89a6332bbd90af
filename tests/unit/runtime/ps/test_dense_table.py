import numpy as np
import pytest
import torch

from argosy.foundation.errors import TableError
from argosy.runtime.ps.tables.dense_table import DenseSpec, DenseTable, Piece
from support.killing import killed_at

SPEC = DenseSpec("dense", (Piece("w", (2, 3), 0, 6), Piece("b", (5,), 1, 3)))


def momentum(spec, values, make_state):
    """SGD with momentum 0.5 over the table's memory."""
    velocities = [
        make_state(p, "velocity", v.shape, 0.0) for p, v in zip(spec.pieces, values, strict=True)
    ]
    assert [tuple(v.shape) for v in values] == [(2, 3), (2,)]

    def update(grads, learning_rate):
        for value, velocity, grad in zip(values, velocities, grads, strict=True):
            velocity.mul_(0.5).add_(grad)
            value.sub_(velocity, alpha=learning_rate or 0.1)

    return update


def test_push_pull_and_open_again(tmp_path):
    first, grads = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    with DenseTable(SPEC, tmp_path, momentum) as table:
        table.fill(first)
        assert table.push(grads, worker=0, sequence=1)
        assert not table.push(grads, worker=0, sequence=1)
        assert table.push(grads, worker=1, sequence=1, learning_rate=1.0)
        expected = first - 0.1 - 1.5
        np.testing.assert_allclose(table.pull(), expected, rtol=1e-6)
    with DenseTable(SPEC, tmp_path, momentum) as again:
        np.testing.assert_allclose(again.pull(), expected, rtol=1e-6)
        assert again.applied(1) == 1
        again.push(grads, worker=0, sequence=2)
        np.testing.assert_allclose(again.pull(), expected - 0.1 * 1.75, rtol=1e-6)
        again.add(np.full(8, 2, np.float32), worker=0, sequence=3)
        assert not again.add(grads, worker=0, sequence=3)
        np.testing.assert_allclose(again.pull(), expected - 0.175 + 2, rtol=1e-6)


def test_snapshot_holds_values_and_state(tmp_path):
    with (
        DenseTable(SPEC, tmp_path / "a", momentum) as one,
        DenseTable(SPEC, tmp_path / "b", momentum) as other,
    ):
        one.push(np.ones(8, np.float32), worker=0, sequence=1)
        kept = {(piece.name, name): part for piece, name, part in one.snapshot()}
        assert sorted(kept) == [("b", ""), ("b", "velocity"), ("w", ""), ("w", "velocity")]
        whole = {
            key: np.concatenate([[9], part, [9, 9]]).astype(np.float32)
            for key, part in kept.items()
            if key[0] == "b"
        }
        other.load(kept | whole)
        for table in (one, other):
            table.push(np.ones(8, np.float32), worker=0, sequence=2)
        assert (one.pull() == other.pull()).all()


def test_a_state_may_be_one_number(tmp_path):
    def counting(spec, values, make_state):
        count = make_state(spec.pieces[0], "step", (), 0.0)
        assert count.shape == ()

        def update(grads, learning_rate):
            count.add_(1.0)
            values[0].fill_(float(count))

        return update

    for expected in (1.0, 2.0):
        with DenseTable(SPEC, tmp_path, counting) as table:
            table.push(np.zeros(8, np.float32), worker=0, sequence=int(expected))
            assert table.pull()[0] == expected


def test_what_does_not_fit_is_refused(tmp_path):
    with DenseTable(SPEC, tmp_path, momentum) as table:
        with pytest.raises(TableError, match="holds 8 float32 numbers"):
            table.push(np.ones(7, np.float32), worker=0, sequence=1)
        with pytest.raises(TableError, match="no room for optimizer state 'big' of parameter 'w'"):
            table._make_state(SPEC.pieces[0], "big", (1 << 20,), 0.0)
        with pytest.raises(TableError, match="'b' has 5 elements, but is not there"):
            table.load({("w", ""): np.zeros(6, np.float32)})
    with pytest.raises(TableError, match="holds another table"):
        DenseTable(DenseSpec("dense", SPEC.pieces[:1]), tmp_path, momentum)
    with pytest.raises(TableError, match="no description"):
        DenseSpec.from_json("[]")
    assert DenseSpec.from_json(SPEC.to_json()) == SPEC


def half_way(spec, values, make_state):
    def update(grads, learning_rate):
        for value, grad in zip(values, grads, strict=True):
            value.sub_(grad)

    return update


@pytest.mark.parametrize(
    ("place", "value"), [("ps.journal.changed", -1.0), ("ps.journal.applied", -3.0)]
)
def test_a_killed_push_is_whole_or_not_there(tmp_path, place, value):
    with DenseTable(SPEC, tmp_path, half_way) as dead:
        with killed_at(place, 2):
            for sequence in (1, 2):
                dead.push(np.full(8, sequence, np.float32), worker=0, sequence=sequence)
        with DenseTable(SPEC, tmp_path, lambda *_: lambda grads, rate: None) as table:
            assert table.was_cut_off == (value == -1.0)
            assert torch.equal(torch.from_numpy(table.pull()), torch.full((8,), value))


def test_a_closed_table_is_an_error(tmp_path):
    table = DenseTable(SPEC, tmp_path, half_way)
    table.close()
    for call in (table.pull, lambda: table.push(np.ones(8, np.float32), worker=0, sequence=1)):
        with pytest.raises(TableError, match="'dense' is closed"):
            call()
