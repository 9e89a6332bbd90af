"""Files of a parameter-server job: tables, which servers write, and beside them what only workers
have.

::

    save_persistables
        manifest.json, <table>/part-*.parquet   the tables
        variables/<name>                        what the worker's program keeps and servers do not,
                                                such as moving averages
    save_inference_model
        __model__, <name>                       the program and its values, for one process without
                                                servers: of a table ``<table>`` the ids, in order,
                                                in ``<table>.keys`` and their rows in ``<table>``
        dnn_plugin/                             the same files under second names, where Paddle
                                                from 2.3 on has them
        tables/                                 the tables as above, for servers

A folder is replaced as a whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow.parquet as parquet
import torch

from argosy.distributed.fleet import program_files
from argosy.distributed.fleet.checkpoints.folders import folder_replaced, linked
from argosy.distributed.fleet.servers.frozen import freeze, frozen_tables
from argosy.distributed.fleet.servers.progress import own_variables
from argosy.distributed.fleet.servers.runtime import TABLES, PsRuntime, checkpoint_in
from argosy.foundation.errors import CheckpointError
from argosy.foundation.progress import progress
from argosy.framework import tensor_file
from argosy.runtime.ps.server import checkpoint
from argosy.runtime.ps.wire import messages
from argosy.static import save_vars, scope_guard
from argosy.static.files.inference import normalize_program, packed, persistables, save_to_file
from argosy.static.files.variables import file_of, load_vars
from argosy.static.ir.program import Program

__all__ = [
    "load_one_table",
    "load_tables",
    "load_variables",
    "save_dense_params",
    "save_inference_model",
    "save_one_table",
    "save_persistables",
]

_VARIABLES = "variables"
_AGAIN = "dnn_plugin"


# -- tables
# --------------------------------------------------------------------------------------------------


def save_persistables(
    runtime: PsRuntime, executor: Any, dirname: str, program: Program | None, mode: int
) -> None:
    """Write all tables, and what else ``program`` keeps."""
    runtime.worker.flush()
    with folder_replaced(dirname) as folder:
        runtime.worker.client.save(Path(folder), mode)
        own = [] if program is None else own_variables(runtime, program)
        if own:
            save_vars(executor, os.path.join(folder, _VARIABLES), program, own)


def load_tables(runtime: PsRuntime, dirname: str) -> None:
    """Take all tables from a checkpoint, after everything that this worker has pushed."""
    runtime.worker.flush()
    runtime.worker.client.load(checkpoint_in(dirname).absolute())
    runtime.worker.refresh()


def load_variables(runtime: PsRuntime, dirname: str, program: Program) -> None:
    """Fill, from a checkpoint, what ``program`` keeps and servers do not; what it does not have
    stays.
    """
    folder = os.path.join(dirname, _VARIABLES)
    own = [
        v
        for v in own_variables(runtime, program)
        if file_of(folder, v.name, "load_model").is_file()
    ]
    if own:
        load_vars(None, folder, program, own)


def save_one_table(runtime: PsRuntime, table: str, dirname: str, mode: int) -> None:
    """Write one table into a checkpoint; other tables that it has stay."""
    runtime.worker.flush()
    with folder_replaced(dirname) as name:
        folder = Path(name)
        others = [f for f in _facts(folder) if f["table"] != table]
        shutil.rmtree(folder / quote(table, safe=""), ignore_errors=True)
        body = {"path": str(folder), "table": table, "mode": mode}
        written = [
            f for answer in runtime.worker.client.act("save_table", body) for f in answer["files"]
        ]
        checkpoint.write_manifest(folder, [*others, *written], mode)


def load_one_table(runtime: PsRuntime, table: str, dirname: str) -> None:
    """Take one table from a checkpoint."""
    folder = checkpoint_in(dirname).absolute()
    if table not in {f["table"] for f in checkpoint.verify(folder)}:
        raise CheckpointError(f"{folder} has no table {table!r}")
    runtime.worker.flush()
    runtime.worker.client.act("load_table", {"path": str(folder), "table": table})
    runtime.worker.refresh()


def _facts(folder: Path) -> list[dict[str, Any]]:
    return checkpoint.listed(folder) if (folder / checkpoint.MANIFEST).is_file() else []


# -- programs
# --------------------------------------------------------------------------------------------------


def save_dense_params(
    runtime: PsRuntime,
    executor: Any,
    path: str,
    scope: Any,
    program: Program,
    names: Iterable[str] | None,
) -> None:
    """Write the dense parameters, or the variables of ``names``, as they are now, into one file."""
    runtime.worker.flush()
    chosen = list(runtime.known_model("save_dense_params").shapes) if names is None else list(names)
    with scope_guard(scope):
        save_vars(executor, os.path.dirname(path), program, chosen, filename=os.path.basename(path))


def save_inference_model(
    runtime: PsRuntime,
    executor: Any,
    dirname: str,
    feed_names: Sequence[str],
    targets: Sequence[Any],
    program: Program,
    mode: int,
) -> None:
    """Write the program that computes ``targets``, with the rows of its tables as values of its
    own, and all tables for servers.
    """
    runtime.worker.flush()
    feeds, fetches = (
        program_files.variables("fleet.save_inference_model", program, given)
        for given in (feed_names, targets)
    )
    normal = normalize_program(program, feeds, fetches)
    specs = {spec.name: spec for spec in runtime.known_model("save_inference_model").sparse}
    with folder_replaced(dirname) as folder:
        runtime.worker.client.save(Path(folder) / TABLES, mode)
        sizes = {}
        for name in frozen_tables(normal, specs):
            sizes[name] = _write_rows(Path(folder), name, specs[name].dim)
        kept = [v for v in persistables(normal) if v.name not in sizes]
        freeze(normal, specs, sizes)
        if kept:
            save_vars(executor, folder, normal, [v.name for v in kept])
        save_to_file(os.path.join(folder, "__model__"), packed(normal, feeds, fetches))
        _name_again(Path(folder), {v.name for v in persistables(normal)})


def _name_again(folder: Path, names: Iterable[str]) -> None:
    """Give the program and the values ``names`` second names, in a folder of their own."""
    again = folder / _AGAIN
    shutil.rmtree(again, ignore_errors=True)
    for name in ("__model__", *names):
        source = file_of(folder, name, "save_inference_model")
        target = again / source.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        linked(str(source), str(target))


def _write_rows(folder: Path, table: str, dim: int) -> int:
    """Make the files of a table's ids and rows from its part of the checkpoint, without having all
    rows in memory; returns how many there are.
    """
    parts = sorted((folder / TABLES / quote(table, safe="")).glob("*.parquet"))
    found = [parquet.read_table(path, columns=["id"])["id"].to_numpy() for path in parts]
    ids = np.concatenate(found)
    keys = np.sort(ids)
    path, names = (
        file_of(folder, name, "save_inference_model") for name in (table, f"{table}.keys")
    )
    head = tensor_file.header(torch.float32, (len(keys), dim))
    for target in (names, path):
        target.unlink(missing_ok=True)  # it may be another name of the file that is to be replaced
    with names.open("wb") as file:
        tensor_file.write(torch.from_numpy(keys), file)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + keys.size * dim * 4)
    if keys.size:
        rows = np.memmap(path, np.float32, "r+", len(head), (len(keys), dim))
        with progress(f"converting table {table}", len(keys), "rows") as told:
            for part in parts:
                with parquet.ParquetFile(part) as opened:
                    for batch in opened.iter_batches(batch_size=1 << 16, columns=["id", "value"]):
                        places = np.searchsorted(keys, messages.numbers(batch.column("id")))
                        rows[places] = messages.rows_of(batch.column("value"))
                        told(batch.num_rows)
            rows.flush()
    return len(keys)
