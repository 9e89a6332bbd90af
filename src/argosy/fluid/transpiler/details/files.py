"""Files of a parameter-server job in the form of 1.x: a file per variable, tables as whole
parameters.

Beside them, in the folder ``tables``, are the tables as servers keep them, with the state of the
optimizer, so that training goes on where it was.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch

from argosy.distributed.fleet.checkpoints.folders import folder_replaced
from argosy.distributed.fleet.servers.runtime import TABLES, PsRuntime, checkpoint_in
from argosy.foundation.errors import CheckpointError
from argosy.foundation.progress import counted, progress
from argosy.framework import tensor_file
from argosy.runtime.ps.server import checkpoint
from argosy.runtime.ps.server.tables import Tables
from argosy.runtime.ps.tables import hashing
from argosy.runtime.ps.worker.worker import DENSE
from argosy.static.files.inference import normalize_program, packed, save_to_file
from argosy.static.files.variables import file_of, is_persistable, save_vars
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Variable

__all__ = ["load_tables", "save_model", "save_variables"]

_ROWS = 1 << 16  # of a table that are in memory at a time

Sizes = dict[str, int]  # of tables, in rows


def save_variables(
    runtime: PsRuntime, sizes: Sizes, executor: Any, dirname: str, program: Program
) -> None:
    """Write what ``program`` keeps, all tables, and the folder ``tables``.

    A table is written with as many rows as it was declared with; those that no one looked up yet
    get their first values now.
    """
    with folder_replaced(dirname) as folder:
        _write_variables(runtime, sizes, executor, folder, program, list(sizes))


def save_model(
    runtime: PsRuntime,
    sizes: Sizes,
    executor: Any,
    dirname: str,
    feeds: list[Variable],
    targets: list[Variable],
    program: Program,
) -> None:
    """Write the part of ``program``, as one process runs it, that computes ``targets``, what it
    keeps and its tables, and the folder ``tables``.
    """
    normal = normalize_program(program, feeds, targets)
    used = [name for name in sizes if name in normal.global_block().vars]
    with folder_replaced(dirname) as folder:
        _write_variables(runtime, sizes, executor, folder, normal, used)
        save_to_file(os.path.join(folder, "__model__"), packed(normal, feeds, targets))


def _write_variables(
    runtime: PsRuntime,
    sizes: Sizes,
    executor: Any,
    folder: str,
    program: Program,
    tables: list[str],
) -> None:
    worker = runtime.worker
    worker.flush()
    worker.refresh()
    dims = {spec.name: spec.dim for spec in runtime.known_model("save_persistables").sparse}
    own = [v for v in program.list_vars() if is_persistable(v) and v.name not in dims]
    if own:
        save_vars(executor, folder, program, own)
    for name in tables:
        _write_table(
            worker.client,
            name,
            (sizes[name], dims[name]),
            file_of(folder, name, "save_persistables"),
        )
    worker.client.save(Path(folder) / TABLES)


def _write_table(client: Any, name: str, shape: tuple[int, int], path: Path) -> None:
    path.unlink(missing_ok=True)  # it may be a second name of an earlier file
    with path.open("wb") as file, progress(f"saving {path}", shape[0], "rows") as told:
        file.write(tensor_file.header(torch.float32, shape))
        for start in range(0, shape[0], _ROWS):
            ids = np.arange(start, min(start + _ROWS, shape[0]))
            file.write(np.ascontiguousarray(client.pull(name, ids), np.float32).tobytes())
            told(len(ids))


def load_tables(runtime: PsRuntime, sizes: Sizes, dirname: str) -> None:
    """Fill the tables of a server from files of ``save_variables``, or of variables only, as one
    process or Paddle writes them.

    A server that was started again has newer values already and keeps them.
    """
    tables, role = runtime.tables, runtime.role
    if any(entry.table.is_filled for _, entry in tables.items()):
        return
    number, count = role.server_index(), role.server_num()
    folder = checkpoint_in(dirname)
    if (folder / checkpoint.MANIFEST).is_file():
        checkpoint.load_part(tables, folder, number, count)
        return
    for spec in runtime.known_model("load_persistables").sparse:
        _fill_rows(
            tables,
            spec.name,
            _read(dirname, spec.name, (sizes[spec.name], spec.dim)),
            number,
            count,
        )
    shapes = runtime.known_model("load_persistables").shapes
    if shapes:
        values = {
            (name, ""): _read(dirname, name, shape).reshape(-1) for name, shape in shapes.items()
        }
        tables[DENSE].dense.load(values)


def _fill_rows(tables: Tables, name: str, values: np.ndarray, number: int, count: int) -> None:
    table, ids = tables[name].sparse, np.arange(len(values))
    mine = ids[hashing.server_of(hashing.shards_of(ids), count) == number]
    table.make(mine)
    table.set_values(mine, values[mine])
    table.mark_filled()


def _read(dirname: str, name: str, shape: tuple[int, ...]) -> np.ndarray:
    path = str(file_of(dirname, name, "load_persistables"))
    if not os.path.isfile(path):
        raise CheckpointError(
            f"{dirname} has neither tables of servers nor a file of variable {name!r}"
        )
    with open(path, "rb") as file, progress(f"loading {path}", os.path.getsize(path)) as told:
        values = tensor_file.read(counted(file, told), path)
    if tuple(values.shape) != tuple(shape):
        raise CheckpointError(
            f"{path}: the variable has shape {list(values.shape)}, but {list(shape)} here"
        )
    return values.to(torch.float32).numpy()
