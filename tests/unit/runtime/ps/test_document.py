"""What docs/parameter_server.md promises to those who have only the document."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from argosy.runtime.ps.tables.dense_table import DenseSpec, Piece
from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.rules import Rule
from argosy.runtime.ps.tables.sparse_table import SparseTable
from argosy.runtime.ps.tables.spec import ShowClick, SparseSpec
from argosy.runtime.ps.wire.messages import OPERATIONS
from support.ps_service import TOKEN, job

TEXT = (Path(__file__).parents[4] / "docs" / "parameter_server.md").read_text()
SPEC = SparseSpec("a/b", 3, Rule("adagrad", 1.0), Initial("normal", 0.0, 1.0, seed=8),
    show_click=ShowClick(), max_rows=1 << 12)  # fmt: skip


@pytest.fixture
def document():
    """The functions of the document."""
    section = TEXT.partition("## Wire format")[2].partition("\n## ")[0]
    [source] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names = {}
    exec(source, names)
    return names


def test_rows_are_pulled_with_arrow_alone(tmp_path, document):
    with job(tmp_path, num_servers=3) as (services, [client]):
        client.create_sparse(SPEC, "async")
        ids = np.array([5, 2**63 - 1, -7, 10**12, 0, -(2**63)])
        expected = client.pull("a/b", ids)
        endpoints = [f"127.0.0.1:{service.port}" for service in services]
        np.testing.assert_array_equal(document["pull"](endpoints, TOKEN, "a/b", ids), expected)
        missing = np.array([77, 5])
        assert document["pull"](endpoints, TOKEN, "a/b", missing).tolist() == [
            [0.0] * 3,
            expected[0].tolist(),
        ]
        # none was made
        assert sum(answer["tables"][0]["rows"] for answer in client.act("status", {})) == len(ids)


def test_steps_are_made_with_arrow_alone(tmp_path, document):
    spec = SparseSpec("rows", 3, Rule("sgd", 0.5), max_rows=1 << 12)
    with job(tmp_path) as ([service], [client]):
        client.create_sparse(spec, "async")
        client.create_dense([DenseSpec("dense", (Piece("w", (4,), 0, 4),))], "async")
        client.fill_dense("dense", np.ones(4, np.float32))
        ids, grads = np.array([7, -1]), np.arange(6, dtype=np.float32).reshape(2, 3)
        before = client.pull("rows", ids)
        step = [f"127.0.0.1:{service.port}", TOKEN, "rows", ids, grads, np.ones(4)]
        values = document["step"](*step, number=1)
        np.testing.assert_array_equal(values, client.pull_dense("dense"))
        assert (values < 1).all()
        np.testing.assert_allclose(client.pull("rows", ids), before - 0.5 * grads)
        # a step that is sent again changes nothing
        np.testing.assert_array_equal(document["step"](*step, number=1), values)
        np.testing.assert_allclose(client.pull("rows", ids), before - 0.5 * grads)


def test_refusals_are_told(tmp_path, document):
    with job(tmp_path) as ([service], [client]):
        client.create_dense([DenseSpec("dense", (Piece("w", (4,), 0, 4),))], "async")
        with pytest.raises(Exception, match="'dense' is dense"):
            document["pull"]([f"127.0.0.1:{service.port}"], TOKEN, "dense", np.arange(2))


def test_every_operation_and_action_is_documented(tmp_path):
    words = set(re.findall(r"`(\w+)`", TEXT))
    assert words >= set(OPERATIONS)
    with job(tmp_path) as ([service], _):
        assert words >= set(service._actions)


def test_a_checkpoint_opens_in_pyarrow(tmp_path):
    with job(tmp_path / "servers", num_servers=2) as (_, [client]):
        client.create_sparse(SPEC, "async")
        client.create_dense([DenseSpec("dense", (Piece("w", (2, 2), 0, 3),)),
            DenseSpec("dense", (Piece("w", (2, 2), 3, 4),))], "async")  # fmt: skip
        client.fill_dense("dense", np.arange(4, dtype=np.float32))
        ids = np.arange(20)
        client.push("a/b", ids, np.ones((20, 3), np.float32), shows=np.full(20, 2.0, np.float32))
        values = client.pull("a/b", ids)
        client.save(tmp_path / "saved")
    rows = parquet.read_table(tmp_path / "saved" / "a%2Fb")
    assert rows.column_names == [
        "id",
        "value",
        "state",
        "show",
        "click",
        "delta_score",
        "unseen_days",
    ]
    found = {row["id"]: row for row in rows.to_pylist()}
    np.testing.assert_array_equal([found[i]["value"] for i in range(20)], values)
    assert {tuple(row["state"]) for row in found.values()} == {(1.0, 1.0, 1.0)}
    assert {row["show"] for row in found.values()} == {2.0}
    dense = parquet.read_table(tmp_path / "saved" / "dense").to_pylist()
    assert [
        (row["parameter"], row["state"], row["shape"], row["start"], row["value"]) for row in dense
    ] == [
        ("w", "", [2, 2], 0, [0.0, 1.0, 2.0]),
        ("w", "", [2, 2], 3, [3.0]),
    ]
    manifest = json.loads((tmp_path / "saved" / "manifest.json").read_text())
    assert manifest.keys() == {"format", "mode", "num_files", "files", "seal"}
    assert [file["rows"] for file in manifest["files"] if file["table"] == "dense"] == [3, 1]


@pytest.mark.parametrize("num_rows", [1000, 10_000, 65_000, 131_000, 200_000])
def test_memory_per_row(tmp_path, num_rows):
    spec = SparseSpec("t", 16, Rule("adagrad"), max_rows=1 << 18)
    with SparseTable(spec, tmp_path) as table:
        table.pull(np.arange(num_rows))
        payload = num_rows * 4 * spec.trained_width
        assert table.num_bytes <= 1.35 * payload
        assert 7 * 0.9 <= (table.num_bytes - payload) / num_rows - 9 <= 20.5
