import json
import random
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from argosy.foundation import manifest
from argosy.foundation.errors import BadArgument, CheckpointError
from argosy.runtime.ps.server import checkpoint
from argosy.runtime.ps.server.steps import push_step
from argosy.runtime.ps.server.tables import Push, Tables
from argosy.runtime.ps.tables.dense_table import DenseSpec, Piece
from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.rules import Rule
from argosy.runtime.ps.tables.spec import ShowClick, SparseSpec
from support.ps_processes import momentum
from support.ps_service import job

EMB = SparseSpec("a/b", 3, Rule("adam", 0.1), Initial("uniform", -1.0, 1.0), max_rows=1 << 13)
CTR = SparseSpec(
    "ctr",
    1,
    Rule("sgd", 0.1),
    show_click=ShowClick(nonclick_weight=1.0, delta_threshold=2.0),
    max_rows=1 << 13,
)
IDS = np.arange(200) * 7


def dense(num_servers):
    """One parameter of six elements over the servers, in equal parts."""
    cuts = [6 * s // num_servers for s in range(num_servers + 1)]
    return [
        DenseSpec("dense", (Piece("w", (2, 3), cuts[s], cuts[s + 1]),)) for s in range(num_servers)
    ]


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
            (
                lambda: (tmp_path / "saved" / "manifest.json").write_text(
                    '{"format": "x", "files": []}'
                ),
                "format 'x'",
            ),
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


# -- damage and malice
# ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A checkpoint of three tables by two servers."""
    folder = tmp_path_factory.mktemp("saved")
    with job(folder / "job", 2) as (_, [client]):
        train(client, 2, 1)
        client.save(folder / "checkpoint")
    return folder / "checkpoint"


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def assert_every_hit_is_noticed(folder, places):
    """Flip a bit at ``places(size)`` of each file."""
    for path in files_of(folder):
        data = path.read_bytes()
        for place in places(len(data)):
            path.write_bytes(
                data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
            )
            with pytest.raises(CheckpointError, match=path.name):
                checkpoint.verify(folder)
        path.write_bytes(data)
    checkpoint.verify(folder)


@pytest.mark.attack("bytes of a checkpoint of tables are hit")
def test_bytes_that_are_hit_are_noticed(saved, tmp_path):
    folder, rng = shutil.copytree(saved, tmp_path / "c"), random.Random(3)
    assert_every_hit_is_noticed(folder, lambda size: rng.sample(range(size), 25))


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.attack("each byte of a checkpoint of tables is hit")
def test_every_byte_that_is_hit_is_noticed(saved, tmp_path):
    assert_every_hit_is_noticed(shutil.copytree(saved, tmp_path / "c"), range)


@pytest.mark.attack("a file of a checkpoint of tables is removed, cut short, renamed or put there")
def test_files_that_come_and_go_are_noticed(saved, tmp_path):
    for number, path in enumerate(files_of(saved)):
        for damage in ("removed", "cut", "renamed"):
            folder = shutil.copytree(saved, tmp_path / f"{number} {damage}")
            target = folder / path.relative_to(saved)
            if damage == "removed":
                target.unlink()
            elif damage == "cut":
                target.write_bytes(target.read_bytes()[:-1])
            else:
                target.rename(
                    target.with_name(
                        target.name.replace("part-0000", "part-0001").replace("fest", "fast")
                    )
                )
            with pytest.raises(CheckpointError, match=path.name):
                checkpoint.verify(folder)
    folder = shutil.copytree(saved, tmp_path / "more")
    shutil.copy(folder / "ctr" / "part-00000.parquet", folder / "ctr" / "part-00002.parquet")
    with pytest.raises(CheckpointError, match=r"part-00002.parquet does not belong"):
        checkpoint.verify(folder)
    folder = shutil.copytree(saved, tmp_path / "renamed table")
    (folder / "ctr").rename(folder / "ctx")
    with pytest.raises(CheckpointError, match=r"ctr/part-00000\.parquet is missing"):
        checkpoint.verify(folder)


def test_a_table_that_the_checkpoint_lacks_is_named(tmp_path):
    with job(tmp_path / "a") as (_, [client]):
        client.create_sparse(EMB, "async")
        client.pull("a/b", IDS)
        client.save(tmp_path / "saved")
    with job(tmp_path / "b") as (_, [client]):
        client.create_sparse(EMB, "async")
        client.create_sparse(CTR, "async")
        with pytest.raises(CheckpointError, match=r"has no table 'ctr'; it has \['a/b'\]"):
            client.load(tmp_path / "saved")
        assert client.act("status", {})[0]["tables"][0]["rows"] == 0


def test_a_state_of_a_piece_of_one_element_is_no_number_for_all(tmp_path):
    """A parameter of four elements, cut into three and one; the optimizer keeps a velocity of
    each.
    """

    def tables(name, cuts):
        found = []
        for number, (start, stop) in enumerate(cuts):
            found.append(Tables(tmp_path / f"{name}{number}", 1, momentum))
            found[-1].create(
                "dense", DenseSpec("dense", (Piece("w", (4,), start, stop),)).to_json(), "async"
            )
        return found

    facts = []
    for number, part in enumerate(tables("two", [(0, 3), (3, 4)])):
        size = part["dense"].dense.numel
        push = Push(1, np.full(size, number + 1.0, np.float32))
        push_step([(part["dense"], push)], 0, 1.0)
        facts += checkpoint.save_part(part, tmp_path / "saved", number)
        part.close()
    checkpoint.write_manifest(tmp_path / "saved", facts)
    [whole] = tables("one", [(0, 4)])
    checkpoint.load_part(whole, tmp_path / "saved", 0, 1)
    states = {name: values.tolist() for _, name, values in whole["dense"].dense.snapshot()}
    whole.close()
    assert states["velocity"] == [1.0, 1.0, 1.0, 2.0]


def row(**changes):
    return {
        "parameter": "w",
        "state": "",
        "shape": [2, 3],
        "start": 0,
        "value": [1.0] * 6,
        **changes,
    }


def columns(ids=(7,), value=((1.0, 2.0, 3.0),), state=((1.0,) * 7,), id_type=None, dim=3):
    width = len(state[0]) if state else 0
    return pa.table(
        {
            "id": pa.array(ids, id_type or pa.int64()),
            "value": pa.array(value, pa.list_(pa.float32(), dim)),
            "state": pa.array(state, pa.list_(pa.float32(), width)),
        }
    )


def dense_rows(*rows, shape=None, start=None):
    schema = checkpoint._DENSE
    for place, kind in ((2, shape), (3, start)):
        if kind is not None:
            schema = schema.set(place, pa.field(schema.names[place], kind))
    return pa.Table.from_pylist(list(rows), schema=schema)


HOSTILE = {
    # what: (table, its file, rows that the manifest says, words of the error)
    "ids are texts": (
        "a/b",
        columns(ids=("7",), id_type=pa.string()),
        1,
        "has the columns id: string",
    ),
    "ids are small": ("a/b", columns(id_type=pa.int32()), 1, "has the columns id: int32"),
    "an id is missing": ("a/b", columns(ids=(None,)), 1, "'id' are missing"),
    "a row is missing": ("a/b", columns(value=(None,)), 1, "'value' are missing"),
    "a number of a row is missing": (
        "a/b",
        columns(value=((1.0, None, 2.0),)),
        1,
        "'value' are missing",
    ),
    "rows are too wide": ("a/b", columns(value=((1.0,) * 4,), dim=4), 1, "has the columns"),
    "states are too wide": ("a/b", columns(state=((1.0,) * 8,)), 1, "has the columns"),
    "a column is missing": ("a/b", columns().drop_columns(["state"]), 1, "has the columns"),
    "a column is too much": (
        "a/b",
        columns().append_column("more", pa.array([1])),
        1,
        "has the columns",
    ),
    "columns change places": (
        "a/b",
        columns().select(["value", "id", "state"]),
        1,
        "has the columns value",
    ),
    "a row is not counted": ("a/b", columns(), 0, "1 rows, but 0 were saved"),
    "a part begins before its parameter": (
        "dense",
        dense_rows(row(start=-6)),
        6,
        "begins at element -6",
    ),
    "a part begins late": ("dense", dense_rows(row(start=1)), 6, "begins at element 1"),
    "a part is too long": ("dense", dense_rows(row(value=[1.0] * 7)), 7, "6 elements, but 7"),
    "a part is too short": ("dense", dense_rows(row(value=[1.0] * 5)), 5, "6 elements, but 5"),
    "a parameter is there twice": (
        "dense",
        dense_rows(row(), row()),
        12,
        "begins at element 0, where 6",
    ),
    "a shape that does not fit": ("dense", dense_rows(row(shape=[2, 4])), 6, r"of shape \[2, 4\]"),
    "a shape below zero": ("dense", dense_rows(row(shape=[-2, -3])), 6, r"of shape \[-2, -3\]"),
    "a shape that is missing": ("dense", dense_rows(row(shape=None)), 6, "'shape' are missing"),
    "a value that is missing": (
        "dense",
        dense_rows(row(value=[1.0] * 5 + [None])),
        6,
        "'value' are missing",
    ),
    "a start that is missing": ("dense", dense_rows(row(start=None)), 6, "'start' are missing"),
    "a start that is a fraction": (
        "dense",
        dense_rows(row(start=0.5), start=pa.float64()),
        6,
        "has the columns",
    ),
    "another parameter": ("dense", dense_rows(row(parameter="v")), 6, "a parameter 'v'"),
    "no parameter": (
        "dense",
        dense_rows(),
        0,
        "'w' has 6 elements, but in the checkpoint it is not there",
    ),
    "a state that is not whole": (
        "dense",
        dense_rows(row(), row(state="velocity", value=[1.0] * 2)),
        6,
        "state 'velocity' of parameter 'w' has 6 elements, but 2",
    ),
    "no Parquet": ("dense", b"PAR1 nothing PAR1", 6, "cannot be read"),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server with tables, what they hold, and a checkpoint of them."""
    folder = tmp_path_factory.mktemp("served")
    with job(folder / "job") as (_, [client]):
        values = train(client, 1, 1)
        client.save(folder / "saved")
        yield client, values, folder / "saved"


def now(client):
    return [client.pull("a/b", IDS), client.pull("ctr", IDS), client.pull_dense("dense")]


@pytest.mark.attack("a Parquet file with a right digest and wrong contents")
@pytest.mark.parametrize("what", HOSTILE)
def test_wrong_contents_change_nothing(served, tmp_path, what):
    client, values, good = served
    table, content, num_rows, words = HOSTILE[what]
    folder = shutil.copytree(good, tmp_path / "saved")
    facts = checkpoint.listed(folder)
    fact = next(f for f in facts if f["table"] == table)
    path = folder / fact["file"]
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        parquet.write_table(content, path)
    fact |= {"rows": num_rows, **manifest.fact_of(path, fact["file"])}
    checkpoint.write_manifest(folder, facts)
    with pytest.raises(CheckpointError, match=words):
        client.load(folder)
    for ours, theirs in zip(now(client), values, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.attack("a manifest that names a file elsewhere, or a table as it is not")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"file": "../saved/ctr/part-00000.parquet"}, "leads out of the folder"),
        ({"file": "ctr/part-00001.parquet"}, "must be"),
        ({"kind": "heap"}, "must be"),
        ({"kind": "dense"}, "is dense in the checkpoint"),
        ({"spec": "{}"}, "no description of a sparse table"),
        ({"spec": "[" * 100_000}, "table 'ctr' of the checkpoint"),
        ({"table": "ctx"}, "must be"),
    ],
)
def test_wrong_facts_change_nothing(served, tmp_path, monkeypatch, changes, words):
    client, values, good = served
    folder = shutil.copytree(good, tmp_path / "saved")
    facts = checkpoint.listed(folder)
    next(f for f in facts if f["table"] == "ctr").update(changes)
    monkeypatch.setattr(manifest, "_check_types", lambda *args: None)
    checkpoint.write_manifest(folder, facts)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match=words):
        client.load(folder)
    for ours, theirs in zip(now(client), values, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_one_from_before_seals_is_loaded(served, tmp_path):
    client, values, good = served
    folder = shutil.copytree(good, tmp_path / "saved")
    content = json.loads((folder / "manifest.json").read_text())
    old = {"format": "argosy tables 1", "mode": content["mode"], "files": content["files"]}
    (folder / "manifest.json").write_text(json.dumps(old, indent=1))
    client.load(folder)
    for ours, theirs in zip(now(client), values, strict=True):
        np.testing.assert_array_equal(ours, theirs)
