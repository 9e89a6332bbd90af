"""Checkpoints of tables: a manifest in JSON and Parquet files, for any number of servers and any
tool that reads Parquet.

::

    manifest.json                  mode, tables with their descriptions, and of each file its rows,
    bytes and SHA-256; sealed (foundation/manifest.py) <table>/part-<server>.parquet  sparse: id,
    value, state, and show, click, delta_score, unseen_days where they are kept
                                   dense: parameter, state ("" for values), shape, start, value

The manifest is written last: a folder without one is not a checkpoint. A file that is not what the
manifest says, that it does not know, or whose columns are not those of its table is noticed before
any table is touched.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as parquet

from argosy.foundation import manifest
from argosy.foundation.errors import BadArgument, CheckpointError, TableError
from argosy.foundation.faultpoint import reach
from argosy.foundation.progress import Told, progress
from argosy.runtime.ps.server.tables import Entry, Tables
from argosy.runtime.ps.tables import hashing
from argosy.runtime.ps.tables.dense_table import DenseSpec, DenseTable, Piece
from argosy.runtime.ps.tables.snapshot import Snapshot
from argosy.runtime.ps.tables.sparse_table import SparseTable
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.runtime.ps.wire import messages

LAYOUT = manifest.Layout(
    "argosy tables", {"mode": int}, {"table": str, "kind": str, "spec": str, "rows": int}
)
MANIFEST = manifest.NAME
ALL, DELTA, BASE = 0, 1, 2
_COUNTS = ("show", "click", "delta_score", "unseen_days")
_DENSE = pa.schema(
    [
        ("parameter", pa.string()),
        ("state", pa.string()),
        ("shape", pa.list_(pa.int64())),
        ("start", pa.int64()),
        ("value", pa.list_(pa.float32())),
    ]
)
_BATCH_ROWS = 1 << 16


def save_part(
    tables: Tables, folder: Path, server: int, mode: int = ALL, only: str | None = None
) -> list[dict[str, Any]]:
    """Write what one server holds; returns what the manifest needs to know of its files.

    ``mode``: everything, rows that changed enough since the last base (``DELTA``), or the same as a
    new base (``BASE``). Tables without shows and clicks cannot tell and are saved whole. ``only``
    names the one table to save.
    """
    if mode not in (ALL, DELTA, BASE):
        raise BadArgument(
            f"save: mode must be 0 (all), 1 (delta) or 2 (base), but received {mode!r}"
        )
    chosen = [(only, tables[only])] if only is not None else tables.items()
    sizes = [len(e.table) for _, e in chosen if isinstance(e.table, SparseTable)]
    with progress(f"saving tables to {folder}", sum(sizes), "rows") as told:
        return [_save(name, entry, folder, server, mode, told) for name, entry in chosen]


def _save(
    name: str, entry: Entry, folder: Path, server: int, mode: int, told: Told
) -> dict[str, Any]:
    """Write one table; returns what the manifest needs to know of its file."""
    path = folder / _part_name(name, server)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(entry.table, SparseTable):
        num_rows = _write_sparse(entry.table, path, mode, told)
    else:
        num_rows = _write_dense(entry.table, path)
    reach("ps.save.part")
    return {
        "table": name,
        "kind": "sparse" if isinstance(entry.table, SparseTable) else "dense",
        "spec": entry.table.spec.to_json(),
        "rows": num_rows,
        **manifest.fact_of(path, _part_name(name, server)),
    }


def _part_name(table: str, server: int) -> str:
    return f"{quote(table, safe='')}/part-{server:05d}.parquet"


def write_manifest(folder: Path, facts: list[dict[str, Any]], mode: int = ALL) -> None:
    """Make the files of all servers a checkpoint."""
    manifest.write(folder, LAYOUT, {"mode": mode}, facts)


def listed(folder: Path) -> list[dict[str, Any]]:
    """The facts of a checkpoint's files as its manifest has them."""
    facts = manifest.read(folder, LAYOUT).files
    by_table: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        by_table.setdefault(fact["table"], []).append(fact)
    for table, parts in by_table.items():
        names = {_part_name(table, number) for number in range(len(parts))}
        strange = sorted(names ^ {part["file"] for part in parts})
        if (
            strange
            or len({part["kind"] for part in parts}) != 1
            or parts[0]["kind"] not in ("sparse", "dense")
        ):
            raise CheckpointError(
                f"{folder / MANIFEST}: table {table!r} has {len(parts)} parts, which must be "
                f"{sorted(names)} of one kind, "
                f"but are {sorted(part['file'] for part in parts)}"
            )
    return facts


def verify(folder: Path) -> list[dict[str, Any]]:
    """The facts of a checkpoint's files, each compared with the file; CheckpointError if anything
    is missing, torn, foreign or too much.
    """
    facts = listed(folder)
    with progress(f"checking the tables of {folder}", sum(f["bytes"] for f in facts)) as told:
        known = {manifest.verified(folder, fact, told) for fact in facts}
    for path in sorted(folder.glob("*/part-*.parquet")):
        if path not in known:
            raise CheckpointError(
                f"{path} does not belong to the checkpoint: {MANIFEST} does not list it"
            )
    return facts


def load_part(
    tables: Tables,
    folder: Path,
    server: int,
    num_servers: int,
    only: str | None = None,
    is_first: bool = False,
) -> None:
    """Take from a checkpoint what belongs to this server; ``only`` names the one table to take.

    Tables of the checkpoint that the server does not have are left out; one of the server's that
    the checkpoint does not have is an error. Workers in ``geo`` hear that the rows have changed,
    unless ``is_first``: nobody can have any yet.
    """
    files = verify(folder)
    here = {name: entry for name, entry in tables.items() if only in (None, name)}
    saved = {f["table"] for f in files}
    missing = sorted((here.keys() if only is None else {only}) - saved)
    if missing:
        raise CheckpointError(f"{folder} has no table {missing[0]!r}; it has {sorted(saved)}")
    chosen = [(here[f["table"]].table, folder / f["file"], f) for f in files if f["table"] in here]
    num_rows = sum(f["rows"] for table, _, f in chosen if isinstance(table, SparseTable))
    with progress(f"checking the rows of {folder}", num_rows, "rows") as told:
        for table, path, fact in chosen:
            _compare(table, fact)
            if isinstance(table, SparseTable):
                _check_sparse(path, fact, told)
    dense = {
        name: _read_dense([(path, f) for _, path, f in chosen if f["table"] == name], entry.dense)
        for name, entry in here.items()
        if isinstance(entry.table, DenseTable)
    }
    with progress(f"loading tables from {folder}", num_rows, "rows") as told:
        for table, path, fact in chosen:
            if isinstance(table, SparseTable):
                table.mark_filled()
                for part in _read_sparse(path, table.spec):
                    mine = hashing.server_of(hashing.shards_of(part.ids), num_servers) == server
                    table.load(Snapshot(part.ids[mine], part.rows[mine]))
                    if not is_first:
                        here[fact["table"]].note_changed(part.ids[mine])
                    told(len(part.ids))
    for name, arrays in dense.items():
        here[name].dense.load(arrays)


def _compare(table: SparseTable | DenseTable, fact: dict[str, Any]) -> None:
    """Refuse rows that lack something the table keeps; other settings may differ. What the table
    does not keep is left out.
    """
    if isinstance(table, SparseTable) != (fact["kind"] == "sparse"):
        raise CheckpointError(
            f"table {fact['table']!r} is {fact['kind']} in the checkpoint, but not here"
        )
    if isinstance(table, SparseTable):
        spec, saved = table.spec, _saved_spec(fact)
        ours = (spec.dim, spec.rule.name, spec.show_click is not None)
        theirs = (saved.dim, saved.rule.name, saved.show_click is not None)
        has_state = spec.trained_width > spec.dim
        if (
            spec.dim != saved.dim
            or (has_state and ours[1] != theirs[1])
            or (ours[2] and not theirs[2])
        ):
            words = "dimension {}, rule {!r}, shows and clicks: {}"
            raise CheckpointError(
                f"table {fact['table']!r}: the checkpoint has {words.format(*theirs)}, the "
                f"server {words.format(*ours)}"
            )


# -- sparse
# --------------------------------------------------------------------------------------------------


def _schema(spec: SparseSpec) -> pa.Schema:
    fields = [("id", pa.int64()), ("value", pa.list_(pa.float32(), spec.dim))]
    if spec.trained_width > spec.dim:
        fields.append(("state", pa.list_(pa.float32(), spec.trained_width - spec.dim)))
    if spec.show_click is not None:
        fields += [(name, pa.float32()) for name in _COUNTS]
    return pa.schema(fields)


def _write_sparse(table: SparseTable, path: Path, mode: int, told: Told) -> int:
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
            columns = [pa.array(ids), messages.rows_array(rows[:, : spec.dim])]
            if spec.trained_width > spec.dim:
                columns.append(messages.rows_array(rows[:, spec.dim : spec.trained_width]))
            if spec.show_click is not None:
                columns += [
                    pa.array(rows[:, spec.trained_width + i].copy()) for i in range(len(_COUNTS))
                ]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            count += len(ids)
            told(len(part.ids))
    return count


def _is_worth_saving(
    spec: SparseSpec, rows: npt.NDArray[np.float32], mode: int
) -> npt.NDArray[np.bool_]:
    rules = spec.show_click
    if mode == ALL or rules is None:
        return np.ones(len(rows), bool)
    shows, clicks, delta, unseen = (rows[:, spec.trained_width + i] for i in range(len(_COUNTS)))
    threshold = rules.delta_threshold if mode == DELTA else 0.0
    is_fresh = (delta >= threshold) & (unseen <= rules.delta_keep_days)
    return (rules.score(shows, clicks) >= rules.base_threshold) & is_fresh


def _saved_spec(fact: dict[str, Any]) -> SparseSpec:
    try:
        return SparseSpec.from_json(fact["spec"])
    except (TableError, BadArgument, RecursionError) as error:
        raise CheckpointError(f"table {fact['table']!r} of the checkpoint: {error}") from None


def _check_sparse(path: Path, fact: dict[str, Any], told: Told) -> None:
    """CheckpointError unless a file has the columns that its table was saved with, whole, and as
    many rows as the manifest says.
    """
    expected, count = _schema(_saved_spec(fact)), 0
    with _parquet(path, expected) as file:
        for batch in _batches(file, path):
            count += batch.num_rows
            told(batch.num_rows)
    if count != fact["rows"]:
        raise CheckpointError(f"{path} has {count} rows, but {fact['rows']} were saved")


@contextlib.contextmanager
def _parquet(path: Path, expected: pa.Schema) -> Iterator[parquet.ParquetFile]:
    """A Parquet file with the columns ``expected``; what cannot be read is a CheckpointError."""
    try:
        with parquet.ParquetFile(path) as file:
            found = file.schema_arrow
            if found.names != expected.names or not all(
                a.type.equals(b.type) for a, b in zip(found, expected, strict=True)
            ):
                columns = ", ".join(f"{field.name}: {field.type}" for field in found)
                wanted = ", ".join(f"{field.name}: {field.type}" for field in expected)
                raise CheckpointError(
                    f"{path} has the columns {columns[:300]}, but must have {wanted}"
                )
            yield file
    except (pa.ArrowException, OSError) as error:
        raise CheckpointError(
            f"{path} cannot be read: {str(error).splitlines()[0][:200]}"
        ) from error


def _batches(file: parquet.ParquetFile, path: Path) -> Iterator[pa.RecordBatch]:
    for batch in file.iter_batches(batch_size=_BATCH_ROWS):
        for field, column in zip(batch.schema, batch.columns, strict=True):
            if column.null_count or (hasattr(column, "values") and column.values.null_count):
                raise CheckpointError(f"{path}: values of the column {field.name!r} are missing")
        yield batch


def _read_sparse(path: Path, spec: SparseSpec) -> Iterator[Snapshot]:
    """The rows of a file that ``_check_sparse`` found whole."""
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            rows = np.zeros((batch.num_rows, spec.row_width), np.float32)
            rows[:, : spec.dim] = messages.rows_of(batch.column("value"))
            if spec.trained_width > spec.dim:
                rows[:, spec.dim : spec.trained_width] = messages.rows_of(batch.column("state"))
            if spec.show_click is not None:
                for i, name in enumerate(_COUNTS):
                    rows[:, spec.trained_width + i] = messages.numbers(batch.column(name))
            yield Snapshot(messages.numbers(batch.column("id")), rows)


# -- dense
# --------------------------------------------------------------------------------------------------


def _write_dense(table: DenseTable, path: Path) -> int:
    parts = table.snapshot()
    columns = {
        "parameter": [piece.name for piece, _, _ in parts],
        "state": [name for _, name, _ in parts],
        "shape": [list(piece.shape) for piece, _, _ in parts],
        "start": [piece.start for piece, _, _ in parts],
        "value": [values for _, _, values in parts],
    }
    parquet.write_table(pa.table(columns, schema=_DENSE), path, compression="zstd")
    return sum(len(values) for _, name, values in parts if not name)


_Part = tuple[Path, dict[str, Any]]
# where in the flattened parameter it begins, and its numbers
_Cut = tuple[int, npt.NDArray[np.float32]]


def _read_dense(
    parts: Sequence[_Part], table: DenseTable
) -> dict[tuple[str, str], npt.NDArray[np.float32]]:
    """Whole parameters and states, put together from the parts of all servers; CheckpointError
    unless they fit ``table``.
    """
    numel = {
        piece.name: math.prod(piece.shape) for _, fact in parts for piece in _saved_pieces(fact)
    }
    cuts: dict[tuple[str, str], list[_Cut]] = {}
    whole: dict[tuple[str, str], npt.NDArray[np.float32]] = {}
    for path, fact in parts:
        pieces = {piece.name: piece for piece in _saved_pieces(fact)}
        num_values = 0
        for name, state, shape, start, values in _rows_of(path):
            piece = pieces.get(name)
            if piece is None or piece.shape != shape:
                saved = (
                    "none of this name" if piece is None else f"one of shape {list(piece.shape)}"
                )
                raise CheckpointError(
                    f"{path} has a parameter {name!r} of shape {list(shape)}, but {saved} was saved"
                )
            if state and values.size == 1 != piece.numel:
                whole[name, state] = values  # one number for all elements
            else:
                cuts.setdefault((name, state), []).append((start, values))
            num_values += 0 if state else values.size
        if num_values != fact["rows"]:
            raise CheckpointError(f"{path} has {num_values} values, but {fact['rows']} were saved")
    for (name, state), found in cuts.items():
        what = f"{parts[0][0].parent}: " + (
            f"state {state!r} of parameter {name!r}" if state else f"parameter {name!r}"
        )
        whole.setdefault((name, state), _joined(found, numel[name], what))
    for piece in table.spec.pieces:
        given = whole.get((piece.name, ""))
        if given is None or given.size != math.prod(piece.shape):
            has = "it is not there" if given is None else f"it has {given.size}"
            raise CheckpointError(
                f"table {table.spec.name!r}: parameter {piece.name!r} has "
                f"{math.prod(piece.shape)} elements, but in the checkpoint {has}"
            )
    return whole


def _joined(cuts: list[_Cut], numel: int, what: str) -> npt.NDArray[np.float32]:
    at = 0
    for start, values in sorted(cuts, key=lambda cut: (cut[0], cut[1].size)):
        if start != at:
            raise CheckpointError(f"{what}: a part begins at element {start}, where {at} is next")
        at += values.size
    if at != numel:
        raise CheckpointError(f"{what} has {numel} elements, but {at} are there")
    return np.concatenate(
        [values for _, values in sorted(cuts, key=lambda cut: (cut[0], cut[1].size))]
    )


def _saved_pieces(fact: dict[str, Any]) -> tuple[Piece, ...]:
    try:
        pieces = DenseSpec.from_json(fact["spec"]).pieces
        for piece in pieces:
            numbers = [*piece.shape, piece.start, piece.stop]
            if not isinstance(piece.name, str) or not all(
                type(n) is int and 0 <= n < 1 << 40 for n in numbers
            ):
                raise TableError(f"a piece of it is {piece}")
    except (TableError, RecursionError) as error:
        raise CheckpointError(f"table {fact['table']!r} of the checkpoint: {error}") from None
    return pieces


def _rows_of(
    path: Path,
) -> Iterator[tuple[str, str, tuple[int, ...], int, npt.NDArray[np.float32]]]:
    with _parquet(path, _DENSE) as file:
        for batch in _batches(file, path):
            names, states, shapes, starts = (
                batch.column(name).to_pylist() for name in _DENSE.names[:4]
            )
            values = batch.column("value")
            for row in range(batch.num_rows):
                yield (
                    names[row],
                    states[row],
                    tuple(shapes[row]),
                    starts[row],
                    messages.numbers(values[row].values),
                )
