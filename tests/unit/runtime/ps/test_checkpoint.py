import numpy as np
import pyarrow.parquet as parquet
import pytest

from argosy.foundation.errors import BadArgument, CheckpointError
from argosy.runtime.ps.dense_table import DenseSpec, Piece
from argosy.runtime.ps.initial import Initial
from argosy.runtime.ps.rules import Rule
from argosy.runtime.ps.spec import ShowClick, SparseSpec
from unit.runtime.ps.test_service import job

EMB = SparseSpec("a/b", 3, Rule("adam", 0.1), Initial("uniform", -1.0, 1.0), max_rows=1 << 13)
CTR = SparseSpec(
    "ctr", 1, Rule("sgd", 0.1), show_click=ShowClick(nonclick_weight=1.0, delta_threshold=2.0), max_rows=1 << 13
)
IDS = np.arange(200) * 7


def dense(num_servers):
    """One parameter of six elements over the servers, in equal parts."""
    cuts = [6 * s // num_servers for s in range(num_servers + 1)]
    return [DenseSpec("dense", (Piece("w", (2, 3), cuts[s], cuts[s + 1]),)) for s in range(num_servers)]


def train(client, num_servers, steps):
    client.create_sparse(EMB, "async")
    client.create_sparse(CTR, "async")
    client.create_dense(dense(num_servers), "async")
    for step in range(steps):
        rows = client.pull("a/b", IDS)
        client.push("a/b", IDS, rows * (step + 1))
        client.push("ctr", IDS[:50], np.ones((50, 1), np.float32))
        client.push_dense("dense", np.arange(6, dtype=np.float32))
    return [client.pull("a/b", IDS), client.pull("ctr", IDS), client.pull_dense("dense")]


@pytest.mark.parametrize("num_servers", [1, 3])
def test_any_number_of_servers_goes_on_from_it(tmp_path, num_servers):
    with job(tmp_path / "whole", 2) as (_, [client]):
        train(client, 2, 2)
        client.save(tmp_path / "saved")
        expected = train(client, 2, 2)
    with job(tmp_path / "other", num_servers) as (_, [client]):
        train(client, num_servers, 1)  # overwritten by what is loaded
        client.load(tmp_path / "saved")
        got = train(client, num_servers, 2)
    for ours, theirs in zip(got, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    table = parquet.read_table(tmp_path / "saved" / "a%2Fb")
    assert table.column_names == ["id", "value", "state"]
    assert sorted(table["id"].to_pylist()) == IDS.tolist()


def test_delta_and_base(tmp_path):
    def saved(name):
        return sorted(parquet.read_table(tmp_path / name / "ctr")["id"].to_pylist())

    with job(tmp_path / "job") as (_, [client]):
        client.create_sparse(CTR, "async")
        grads = np.ones((3, 1), np.float32)
        client.push("ctr", np.array([1, 2, 3]), grads, shows=np.array([5, 1, 3], np.float32))
        client.save(tmp_path / "delta", 1)
        client.save(tmp_path / "base", 2)
        client.push("ctr", np.array([2]), grads[:1], shows=np.array([4], np.float32))
        client.save(tmp_path / "next", 1)
        client.save(tmp_path / "all", 0)
        with pytest.raises(BadArgument, match="mode must be 0"):
            client.save(tmp_path / "refused", 3)
    assert saved("delta") == [1, 3]
    assert saved("base") == [1, 2, 3]
    assert saved("next") == [2]
    assert saved("all") == [1, 2, 3]
    assert not list(tmp_path.glob("refused*"))


def test_a_torn_or_foreign_checkpoint_changes_nothing(tmp_path):
    with job(tmp_path / "job") as (_, [client]):
        before = train(client, 1, 1)
        client.save(tmp_path / "saved")
        client.save(tmp_path / "saved")  # in place of the first
        [part] = (tmp_path / "saved" / "ctr").iterdir()
        content = part.read_bytes()
        for broken, words in (
            (lambda: part.write_bytes(content[:-1]), "not the file"),
            (lambda: part.write_bytes(content[:-9] + b"x" + content[-8:]), "not the file"),
            (part.unlink, "missing"),
            (lambda: (tmp_path / "saved" / "manifest.json").write_text("{}"), "format None"),
            (lambda: (tmp_path / "saved" / "manifest.json").write_text('{"format": "x", "files": []}'), "format 'x'"),
            (lambda: (tmp_path / "saved" / "manifest.json").unlink(), "no manifest"),
        ):
            broken()
            with pytest.raises(CheckpointError, match=words):
                client.load(tmp_path / "saved")
        after = [client.pull("a/b", IDS), client.pull("ctr", IDS), client.pull_dense("dense")]
    for ours, theirs in zip(after, before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_another_shape_is_refused(tmp_path):
    with job(tmp_path / "a") as (_, [client]):
        train(client, 1, 1)
        client.save(tmp_path / "saved")
    with job(tmp_path / "b") as (_, [client]):
        client.create_sparse(SparseSpec("a/b", 3, Rule("momentum"), max_rows=64), "async")
        with pytest.raises(CheckpointError, match="rule 'adam'"):
            client.load(tmp_path / "saved")


def test_a_rule_without_state_takes_the_values_of_any(tmp_path):
    with job(tmp_path / "a") as (_, [client]):
        train(client, 1, 1)
        client.save(tmp_path / "saved")
        expected = client.pull("a/b", IDS, creates=False)
    with job(tmp_path / "b") as (_, [client]):
        client.create_sparse(SparseSpec("a/b", 3, Rule("sgd"), max_rows=1 << 12), "async")
        client.load(tmp_path / "saved")
        np.testing.assert_array_equal(client.pull("a/b", IDS, creates=False), expected)
    assert expected.any()
