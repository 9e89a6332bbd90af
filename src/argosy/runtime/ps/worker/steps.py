"""A step on the wire, as the worker sees it: pushes to tables become one request to each server,
and the answers become what each table gives back.

A row passes over memory once on this side: it is gathered into the request of its server, or, with
one server, sent from where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from argosy.runtime.ps.tables import hashing
from argosy.runtime.ps.tables.rows import gather
from argosy.runtime.ps.wire import messages

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Push:
    """Gradients (differences in ``geo``) for a table; without ``ids`` for a dense one, as a
    whole. Shows and clicks are of each id; None: one show.
    """

    table: str
    grads: Floats
    learning_rate: float | None = None
    ids: Ids | None = None
    shows: Floats | None = None
    clicks: Floats | None = None


@dataclass(frozen=True)
class Fresh:
    """What comes back, by table: dense values, and in ``geo`` rows that other workers changed."""

    dense: dict[str, Floats] = field(default_factory=dict)
    changed: dict[str, tuple[Ids, Floats]] = field(default_factory=dict)


@dataclass(frozen=True)
class Shape:
    """What a client knows of the tables: how much of a dense one each server holds, which sparse
    ones count shows and clicks, which ones tell what others changed.
    """

    dense_sizes: Mapping[str, Sequence[int]]
    counted: frozenset[str]
    told: frozenset[str]


def average(pushes: Sequence[Push]) -> Push:
    """Pushes to one table as one: the mean, at the last learning rate."""
    last, scale = pushes[-1], np.float32(1.0 / len(pushes))
    if len(pushes) == 1:
        return last
    if last.ids is None:
        total = np.asarray(sum(push.grads for push in pushes) * scale, np.float32)
        return replace(last, grads=total)

    def joined(name: str) -> Any:
        found = [getattr(push, name) for push in pushes]
        return None if found[0] is None else np.concatenate(found)

    return replace(
        last,
        grads=joined("grads") * scale,
        ids=joined("ids"),
        shows=joined("shows"),
        clicks=joined("clicks"),
    )


def requests(pushes: Sequence[Push], shape: Shape, num_servers: int) -> list[pa.RecordBatch]:
    """One batch for each server, also for those that hold none of the ids: in sync mode they wait
    for it.
    """
    schemas = [_schema(push, shape) for push in pushes]
    schema = messages.listing(schemas)
    columns: list[list[pa.Array]] = [[] for _ in range(num_servers)]
    for push in pushes:
        parts = _dense(push, shape) if push.ids is None else _rows(push, shape, num_servers)
        for found, part in zip(columns, parts, strict=True):
            found += part
    return [messages.in_one_row(found, schema) for found in columns]


def fresh(pushes: Sequence[Push], shape: Shape, batches: Sequence[Any]) -> Fresh:
    """What the servers answered, put together."""
    found, at = Fresh(), 0
    answers = [[] if batch is None else messages.lists(batch) for batch in batches]
    for push in pushes:
        if push.ids is None:
            parts = [messages.numbers(columns[at]) for columns in answers]
            # in memory of their own: what was answered may be overwritten by the next request
            found.dense[push.table] = np.concatenate(parts)
            at += 1
        elif push.table in shape.told:
            found.changed[push.table] = (
                np.concatenate([messages.numbers(columns[at]) for columns in answers]),
                np.concatenate([messages.rows_of(columns[at + 1]) for columns in answers]),
            )
            at += 2
    return found


def _schema(push: Push, shape: Shape) -> pa.Schema:
    if push.ids is None:
        return messages.FLAT
    fields = list(messages.rows_schema(push.grads.shape[1]))
    if push.table in shape.counted:
        fields += [pa.field("show", pa.float32()), pa.field("click", pa.float32())]
    return pa.schema(fields)


def _dense(push: Push, shape: Shape) -> list[list[pa.Array]]:
    cuts = np.cumsum(shape.dense_sizes[push.table])[:-1]
    return [[pa.array(part)] for part in np.split(push.grads, cuts)]


def _rows(push: Push, shape: Shape, num_servers: int) -> list[list[pa.Array]]:
    assert push.ids is not None
    ids, grads = messages.as_ids(push.ids), np.ascontiguousarray(push.grads)
    columns: list[Any] = [ids, grads]
    if push.table in shape.counted:
        count = ids.shape[0]
        columns.append(np.ones(count, np.float32) if push.shows is None else push.shows)
        columns.append(np.zeros(count, np.float32) if push.clicks is None else push.clicks)
    if num_servers == 1:
        return [[_array(column) for column in columns]]
    order, starts = hashing.split_by_server(ids, num_servers)
    chosen = [order[starts[s] : starts[s + 1]] for s in range(num_servers)]
    return [[_array(_taken(column, places)) for column in columns] for places in chosen]


def _taken(column: npt.NDArray[Any], places: Ids) -> npt.NDArray[Any]:
    if column.ndim == 1:
        return column[places]
    out = np.empty((places.shape[0], column.shape[1]), column.dtype)
    gather(column, places, out)
    return out


def _array(column: npt.NDArray[Any]) -> pa.Array:
    return pa.array(column) if column.ndim == 1 else messages.rows_array(column)
