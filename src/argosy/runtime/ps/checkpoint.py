"""Checkpoints of tables: a manifest in JSON and Parquet files, for any number of servers and any tool that reads Parquet.

::

    manifest.json                  format, mode, tables with their descriptions, and of each file its rows, bytes and SHA-256
    <table>/part-<server>.parquet  sparse: id, value, state, and show, click, delta_score, unseen_days where they are kept
                                   dense: parameter, state ("" for values), shape, start, value

The manifest is written last, under another name, and renamed: a folder without one is not a checkpoint. A file that is not what the manifest says is noticed
before any table is touched.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as parquet

from argosy.foundation.errors import BadArgument, CheckpointError
from argosy.foundation.faultpoint import reach
from argosy.runtime.ps import hashing, wire
from argosy.runtime.ps.dense_table import DenseTable
from argosy.runtime.ps.snapshot import Snapshot
from argosy.runtime.ps.sparse_table import SparseTable
from argosy.runtime.ps.spec import SparseSpec
from argosy.runtime.ps.tables import Tables

FORMAT = "argosy tables 1"
MANIFEST = "manifest.json"
ALL, DELTA, BASE = 0, 1, 2
_COUNTS = ("show", "click", "delta_score", "unseen_days")


def save_part(
    tables: Tables, folder: Path, server: int, mode: int = ALL, only: str | None = None
) -> list[dict[str, Any]]:
    """Write what one server holds; returns what the manifest needs to know of its files.

    ``mode``: everything, rows that changed enough since the last base (``DELTA``), or the same as a new base (``BASE``). Tables without shows and clicks cannot
    tell and are saved whole. ``only`` names the one table to save.
    """
    if mode not in (ALL, DELTA, BASE):
        raise BadArgument(f"save: mode must be 0 (all), 1 (delta) or 2 (base), but received {mode!r}")
    facts = []
    for name, entry in [(only, tables[only])] if only is not None else tables.items():
        path = folder / quote(name, safe="") / f"part-{server:05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(entry.table, SparseTable):
            num_rows = _write_sparse(entry.table, path, mode)
        else:
            num_rows = _write_dense(entry.table, path)
        reach("ps.save.part")
        facts.append(
            {
                "table": name,
                "kind": "sparse" if isinstance(entry.table, SparseTable) else "dense",
                "spec": entry.table.spec.to_json(),
                "file": str(path.relative_to(folder)),
                "rows": num_rows,
                "bytes": path.stat().st_size,
                "sha256": _digest(path),
            }
        )
    return facts


def write_manifest(folder: Path, facts: list[dict[str, Any]], mode: int = ALL) -> None:
    """Make the files of all servers a checkpoint."""
    fresh = folder / f"{MANIFEST}.new"
    with fresh.open("w") as file:
        json.dump({"format": FORMAT, "mode": mode, "files": facts}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, folder / MANIFEST)


def verify(folder: Path) -> list[dict[str, Any]]:
    """The facts of a checkpoint's files, each compared with the file; CheckpointError if anything is missing, torn or foreign."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        files = manifest["files"] if manifest["format"] == FORMAT else None
    except FileNotFoundError:
        raise CheckpointError(f"{folder} is no checkpoint of tables: it has no {MANIFEST}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / MANIFEST} is damaged: {error}") from error
    if files is None:
        raise CheckpointError(f"{folder / MANIFEST} has format {manifest['format']!r}, not {FORMAT!r}")
    for fact in files:
        path = folder / fact["file"]
        if not path.is_file() or path.stat().st_size != fact["bytes"] or _digest(path) != fact["sha256"]:
            raise CheckpointError(f"{path} is missing or not the file that the checkpoint was written with")
    return list(files)


def load_part(
    tables: Tables, folder: Path, server: int, num_servers: int, only: str | None = None, is_first: bool = False
) -> None:
    """Take from a checkpoint what belongs to this server. Tables of the checkpoint that the server does not have are left out; ``only`` names the one to take.

    Workers in ``geo`` hear that the rows have changed, unless ``is_first``: nobody can have any yet.
    """
    files = verify(folder)
    here = {name: entry for name, entry in tables.items() if only in (None, name)}
    if only is not None and only not in {f["table"] for f in files}:
        raise CheckpointError(f"{folder} has no table {only!r}; it has {sorted({f['table'] for f in files})}")
    chosen = [(here[f["table"]].table, folder / f["file"], f) for f in files if f["table"] in here]
    for table, _, fact in chosen:
        _compare(table, fact)
    dense: dict[str, list[Path]] = {}
    for table, path, fact in chosen:
        if isinstance(table, SparseTable):
            table.mark_filled()
            for part in _read_sparse(path, table.spec):
                mine = hashing.server_of(hashing.shards_of(part.ids), num_servers) == server
                table.load(Snapshot(part.ids[mine], part.rows[mine]))
                if not is_first:
                    here[fact["table"]].note_changed(part.ids[mine])
        else:
            dense.setdefault(table.spec.name, []).append(path)
    for name, paths in dense.items():
        here[name].dense.load(_read_dense(paths))


def _compare(table: SparseTable | DenseTable, fact: dict[str, Any]) -> None:
    """Refuse rows that lack something the table keeps; other settings may differ. What the table does not keep is left out."""
    if isinstance(table, SparseTable) != (fact["kind"] == "sparse"):
        raise CheckpointError(f"table {fact['table']!r} is {fact['kind']} in the checkpoint, but not here")
    if isinstance(table, SparseTable):
        saved = SparseSpec.from_json(fact["spec"])
        spec = table.spec
        ours = (spec.dim, spec.rule.name, spec.show_click is not None)
        theirs = (saved.dim, saved.rule.name, saved.show_click is not None)
        has_state = spec.trained_width > spec.dim
        if spec.dim != saved.dim or (has_state and ours[1] != theirs[1]) or (ours[2] and not theirs[2]):
            words = "dimension {}, rule {!r}, shows and clicks: {}"
            raise CheckpointError(
                f"table {fact['table']!r}: the checkpoint has {words.format(*theirs)}, the server {words.format(*ours)}"
            )


# -- sparse -----------------------------------------------------------------------------------------------------


def _schema(spec: SparseSpec) -> pa.Schema:
    fields = [("id", pa.int64()), ("value", pa.list_(pa.float32(), spec.dim))]
    if spec.trained_width > spec.dim:
        fields.append(("state", pa.list_(pa.float32(), spec.trained_width - spec.dim)))
    if spec.show_click is not None:
        fields += [(name, pa.float32()) for name in _COUNTS]
    return pa.schema(fields)


def _write_sparse(table: SparseTable, path: Path, mode: int) -> int:
    spec, count = table.spec, 0
    schema = _schema(spec)
    with (
        parquet.ParquetWriter(path, schema, compression="zstd") as writer,
        contextlib.closing(table.snapshot(resets_delta=mode == BASE)) as parts,
    ):
        for part in parts:
            rows = part.rows
            kept = _is_worth_saving(spec, rows, mode) & table.is_admitted(part.ids)
            ids, rows = part.ids[kept], rows[kept]
            columns = [pa.array(ids), wire.rows_array(rows[:, : spec.dim])]
            if spec.trained_width > spec.dim:
                columns.append(wire.rows_array(rows[:, spec.dim : spec.trained_width]))
            if spec.show_click is not None:
                columns += [pa.array(rows[:, spec.trained_width + i].copy()) for i in range(len(_COUNTS))]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            count += len(ids)
    return count


def _is_worth_saving(spec: SparseSpec, rows: npt.NDArray[np.float32], mode: int) -> npt.NDArray[np.bool_]:
    rules = spec.show_click
    if mode == ALL or rules is None:
        return np.ones(len(rows), bool)
    shows, clicks, delta, unseen = (rows[:, spec.trained_width + i] for i in range(len(_COUNTS)))
    threshold = rules.delta_threshold if mode == DELTA else 0.0
    is_fresh = (delta >= threshold) & (unseen <= rules.delta_keep_days)
    return (rules.score(shows, clicks) >= rules.base_threshold) & is_fresh


def _read_sparse(path: Path, spec: SparseSpec) -> Iterator[Snapshot]:
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1 << 16):
            rows = np.zeros((batch.num_rows, spec.row_width), np.float32)
            rows[:, : spec.dim] = wire.rows_of(batch.column("value"))
            if spec.trained_width > spec.dim:
                rows[:, spec.dim : spec.trained_width] = wire.rows_of(batch.column("state"))
            if spec.show_click is not None:
                for i, name in enumerate(_COUNTS):
                    rows[:, spec.trained_width + i] = wire.numbers(batch.column(name))
            yield Snapshot(wire.numbers(batch.column("id")), rows)


# -- dense ------------------------------------------------------------------------------------------------------


def _write_dense(table: DenseTable, path: Path) -> int:
    parts = table.snapshot()
    columns = {
        "parameter": [piece.name for piece, _, _ in parts],
        "state": [name for _, name, _ in parts],
        "shape": [list(piece.shape) for piece, _, _ in parts],
        "start": [piece.start for piece, _, _ in parts],
        "value": [values for _, _, values in parts],
    }
    kinds = [pa.string(), pa.string(), pa.list_(pa.int64()), pa.int64(), pa.list_(pa.float32())]
    schema = pa.schema(list(zip(columns, kinds, strict=True)))
    parquet.write_table(pa.table(columns, schema=schema), path, compression="zstd")
    return sum(len(values) for _, name, values in parts if not name)


def _read_dense(paths: list[Path]) -> dict[tuple[str, str], npt.NDArray[np.float32]]:
    """Whole parameters and states, put together from the parts of all servers."""
    whole: dict[tuple[str, str], npt.NDArray[np.float32]] = {}
    for path in paths:
        for row in parquet.read_table(path).to_pylist():
            key, values = (row["parameter"], row["state"]), np.array(row["value"], np.float32)
            numel = math.prod(row["shape"])
            if row["state"] and values.size == 1 and numel != 1:
                whole[key] = values
            else:
                target = whole.setdefault(key, np.zeros(numel, np.float32))
                target[row["start"] : row["start"] + values.size] = values
    return whole


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
