"""What travels between workers and servers, so that any Arrow Flight client can take part.

Every conversation is a stream (DoExchange), opened with a command, a JSON object with ``op``,
``table`` (of a step ``tables``, a list) and ``worker``. Its headers are (HMAC is that of SHA-256
with the token as its key; what is hashed are bytes, what travels are their hexadecimal digits)::

    argosy-endpoint    host:port of the server, as the client was told
    argosy-challenge   32 random bytes, c
    argosy-knock       HMAC("argosy-store|ps-knock|" c "|" SHA-256(endpoint))

The server sends metadata ``{"challenge": s}`` with 32 random bytes of its own. The client answers
``{"proof": p}``, and the server ``{"proof": q}``, which the client must check before it sends
anything else::

    p   HMAC("argosy-store|ps-client|" c "|" s "|" SHA-256(endpoint "\\n" command))
    q   HMAC("argosy-store|ps-server|" c "|" s "|" SHA-256(endpoint "\\n" command))

Then requests and answers alternate, each a record batch and/or metadata (JSON, in braces)::

    op             request                                        answer
    pull           ``id`` int64; ``{"creates": true}``            ``value``, rows of dim floats
    step           one row of lists; of each sparse table         one row of lists; of each
                   ``id``, ``value`` (gradients), and where       sparse table in ``geo`` ``id``,
                   it counts them ``show`` and ``click``;         ``value``, changed by others; of
                   of each dense one ``value``;                   each dense one ``value``, the new
                   ``{"pushes": [{"sequence": n,                  ones; ``{"done": [bool, ...]}``
                   "learning_rate": x}, ...]}``
    fill           ``id``, ``value``: rows are set as they are    ``{}``
    pull_changed   ``{}``                                         ``id``, ``value``
    pull_dense     ``{}``                                         ``value`` float
    fill_dense     ``value`` float                                ``{}``
    present        nothing: open while the worker lives           ``{}``, at once
    act            ``{"action": name, "body": {...}}``            depends on the action
    ping           ``{}``                                         ``{"peer": host:port}``, the
                                                                  client's, at once

In metadata ``memory`` and ``columns`` stand for shared memory and what lies there (``segment``).

An answer whose metadata has ``error`` and ``message`` is a refusal; the stream goes on. Actions are
``create``, ``applied``, ``is_filled``, ``rows_filled``, ``status``, ``save``, ``load``, ``shrink``,
``end_day``, ``row``, ``stop``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from argosy.foundation import errors

OPERATIONS = (
    "pull", "step", "fill", "pull_changed", "pull_dense", "fill_dense", "present", "act", "ping",
)  # fmt: skip
IDS = pa.schema([("id", pa.int64())])
FLAT = pa.schema([("value", pa.float32())])


def rows_schema(dim: int) -> pa.Schema:
    """Ids with a row of ``dim`` numbers each."""
    return pa.schema([("id", pa.int64()), *values_schema(dim)])


def values_schema(dim: int) -> pa.Schema:
    return pa.schema([("value", pa.list_(pa.float32(), dim))])


def listing(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """The columns of all ``schemas`` as lists: what a batch of one row has for columns of different
    lengths.
    """
    return pa.schema([(f.name, pa.list_(f.type)) for schema in schemas for f in schema])


def in_one_row(columns: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Columns of different lengths as one batch, over their memory; ``schema`` is a listing."""
    return pa.record_batch(
        [
            pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column, type=kind)
            for column, kind in zip(columns, schema.types, strict=True)
        ],
        schema=schema,
    )


def lists(batch: pa.RecordBatch | None) -> list[pa.Array]:
    """The columns that ``in_one_row`` was given; UsageError if the batch cannot be its work."""
    if batch is None or batch.num_rows != 1:
        raise errors.UsageError("a step is a batch of one row, in which columns are lists")
    batch.validate()  # offsets of lists are followed below
    found = []
    for column in batch.columns:
        if not pa.types.is_list(column.type) or column.null_count:
            raise errors.UsageError(
                f"the columns of a step must be lists, but one is {column.type}"
            )
        start, stop = (offset.as_py() for offset in column.offsets)
        found.append(column.values.slice(start, stop - start))
    return found


def as_ids(ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Ids as 64 signed bits; unsigned ones keep their bits."""
    if ids.dtype.kind not in "iu":
        raise errors.DtypeError(f"ids must be integers, but are {ids.dtype}")
    return ids.view(np.int64) if ids.dtype == np.uint64 else ids.astype(np.int64, copy=False)


def rows_array(values: npt.NDArray[np.float32]) -> pa.Array:
    """A column of rows over the memory of a two-dimensional array."""
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def numbers(column: pa.Array) -> npt.NDArray[Any]:
    """The numbers of a column, without a copy where there are no nulls."""
    return column.to_numpy(zero_copy_only=False)


def rows_of(column: pa.Array) -> npt.NDArray[np.float32]:
    """The rows of a column of fixed-size lists."""
    dim = column.type.list_size
    # flatten() would do it too, but loads pyarrow.compute, which takes a tenth of a second
    return numbers(column.values.slice(column.offset * dim, len(column) * dim)).reshape(-1, dim)


def asked(columns: Sequence[pa.Array], place: int, kind: pa.DataType) -> npt.NDArray[Any]:
    """The numbers in a column of a request; UsageError unless they are of type ``kind`` and none is
    missing.
    """
    found = _column(columns, place, str(kind))
    if found.type != kind:
        raise errors.UsageError(
            f"column {place} of this request must be {kind}, but is {found.type}"
        )
    return numbers(found)


def asked_rows(columns: Sequence[pa.Array], place: int) -> npt.NDArray[np.float32]:
    """The rows in a column of a request, of whatever dimension."""
    kind = "fixed_size_list<float>"
    found = _column(columns, place, kind)
    if (
        not pa.types.is_fixed_size_list(found.type)
        or found.type.value_type != pa.float32()
        or found.values.null_count
    ):
        raise errors.UsageError(
            f"column {place} of this request must be {kind}, but is {found.type}"
        )
    return rows_of(found)


def _column(columns: Sequence[pa.Array], place: int, kind: str) -> pa.Array:
    if place >= len(columns):
        raise errors.UsageError(f"this request has no column {place}, which must be {kind}")
    found = columns[place]
    if found.null_count:
        raise errors.UsageError(f"column {place} of this request has nulls")
    return found


def push_headers(data: dict[str, Any], count: int) -> list[tuple[int, float | None]]:
    """Number and learning rate of each push of a step to ``count`` tables."""
    found = data.get("pushes")
    if not isinstance(found, list) or len(found) != count:
        raise errors.UsageError(
            f"the pushes of a step must be a list, one for each of its {count} tables, but are "
            f"{found!r:.80}"
        )
    return [_push_header(push) for push in found]


def _push_header(data: Any) -> tuple[int, float | None]:
    if not isinstance(data, dict):
        raise errors.UsageError(f"a push must be an object, but is {data!r:.80}")
    sequence, rate = data.get("sequence"), data.get("learning_rate")
    if type(sequence) is not int or not 0 < sequence < 1 << 62:
        raise errors.UsageError(f"the sequence of a push must count from 1 on, but is {sequence!r}")
    if rate is not None and (type(rate) not in (int, float) or not math.isfinite(rate)):
        raise errors.UsageError(
            f"the learning_rate of a push must be a number or null, but is {rate!r}"
        )
    return sequence, rate


def action(request: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name and body of a request to act."""
    name, body = request.get("action"), request.get("body", {})
    if not isinstance(name, str) or not isinstance(body, dict):
        raise errors.UsageError(
            f"expected an action, a word, and its body, an object, but received {request!r:.80}"
        )
    return name, body


def encode(data: dict[str, Any]) -> bytes:
    return json.dumps(data).encode()


def decode(data: Any) -> dict[str, Any]:
    """The JSON object in a message; UsageError for anything else."""
    try:
        found = json.loads(bytes(data))
    except ValueError as error:
        raise errors.UsageError(
            f"a message must be a JSON object, but is {bytes(data)[:80]!r}"
        ) from error
    if not isinstance(found, dict):
        raise errors.UsageError(f"a message must be a JSON object, but is {bytes(data)[:80]!r}")
    return found


def refusal(error: Exception) -> dict[str, str]:
    """An error as an answer."""
    return {"error": type(error).__name__, "message": str(error)}


def check(answer: dict[str, Any], server: str) -> dict[str, Any]:
    """Raise the error in an answer, of its own class if it is one of ours."""
    if "error" in answer:
        kind = getattr(errors, str(answer["error"]), errors.PsError)
        is_ours = isinstance(kind, type) and issubclass(kind, errors.ArgosyError)
        raise (kind if is_ours else errors.PsError)(f"server {server}: {answer.get('message', '')}")
    return answer
