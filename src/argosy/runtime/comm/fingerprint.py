"""What a rank says about the collective it enters, as five integers that the others compare. Pure
functions.

``(number, kind, dtype, count, detail)``: the number of the collective in its group, codes of kind
and dtype, the number of elements, and the root or the reduction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from argosy.foundation import dtypes
from argosy.runtime.comm.backend import ReduceOp

_KINDS = (
    "barrier", "all_reduce", "broadcast", "reduce", "all_gather", "gather", "scatter",
    "reduce_scatter", "all_to_all", "bucket",
)  # fmt: skip
CODE_BY_KIND = {kind: code for code, kind in enumerate(_KINDS)}
_DTYPES = tuple(dtypes.BY_TORCH)
CODE_BY_DTYPE: dict[torch.dtype | None, int] = {
    None: -1,
    **{dtype: code for code, dtype in enumerate(_DTYPES)},
}
_REDUCE_BITS = 3
FIELDS = 5


def fields_of(
    number: int, kind: str, dtype: torch.dtype | None = None, count: int = 0, detail: int = 0
) -> list[int]:
    """The five integers of a collective; ``dtype`` is None where there is no tensor."""
    return [number, CODE_BY_KIND[kind], CODE_BY_DTYPE[dtype], count, detail]


def reduction_to(op: ReduceOp, dst: int) -> int:
    """The detail of a ``reduce``: operation and receiver."""
    return int(op) | dst << _REDUCE_BITS


def dtype_of(code: int) -> torch.dtype:
    """The dtype that ``CODE_BY_DTYPE`` gives this code."""
    return _DTYPES[code]


def tensor_text(dtype_code: int, count: int) -> str:
    """``float32[1024]``, empty where there is no tensor."""
    return f"{dtypes.name_of(_DTYPES[dtype_code])}[{count}]" if dtype_code >= 0 else ""


def describe(fields: Sequence[int]) -> str:
    """One rank's side in words: ``all_reduce #41 float32[1024] SUM``."""
    number, kind_code, dtype, count, detail = fields
    kind = _KINDS[kind_code]
    extra = ""
    if kind in ("all_reduce", "reduce_scatter"):
        extra = ReduceOp(detail).name
    elif kind == "reduce":
        extra = (
            f"{ReduceOp(detail & (1 << _REDUCE_BITS) - 1).name} to rank {detail >> _REDUCE_BITS}"
        )
    elif kind in ("broadcast", "scatter"):
        extra = f"from rank {detail}"
    elif kind == "gather":
        extra = f"to rank {detail}"
    elif kind == "bucket":
        return f"average of gradients #{number} {tensor_text(dtype, count)} (bucket {detail})"
    elif kind == "all_to_all":
        return f"{kind} #{number} of {dtypes.name_of(_DTYPES[dtype])}"
    return " ".join(
        part for part in (f"{kind} #{number}", tensor_text(dtype, count), extra) if part
    )


def disagreement(fields_by_rank: Sequence[Sequence[int]] | Mapping[int, Sequence[int]]) -> str:
    """All sides, ranks that agree together: ``rank 0, 1: barrier #3   rank 2: ...``."""
    ranks_by_text: dict[str, list[int]] = {}
    known = (
        fields_by_rank if isinstance(fields_by_rank, Mapping) else dict(enumerate(fields_by_rank))
    )
    for rank, fields in known.items():
        ranks_by_text.setdefault(describe(fields), []).append(rank)
    return "   ".join(
        f"rank {', '.join(map(str, ranks))}: {text}" for text, ranks in ranks_by_text.items()
    )


def problem_of(rows: Sequence[Sequence[int]]) -> str:
    """What does not fit in the rows that all ranks have shown, empty if all does: five integers,
    and for an all_to_all the sizes that ``size_disagreement`` takes.
    """
    if any(row[:FIELDS] != rows[0][:FIELDS] for row in rows):
        sides = disagreement([row[:FIELDS] for row in rows])
        return f"ranks called different collectives.\n  {sides}"
    sides = size_disagreement([row[FIELDS:] for row in rows]) if len(rows[0]) > FIELDS else ""
    return f"sizes do not fit.\n  {sides}" if sides else ""


def size_disagreement(sizes: Sequence[Sequence[int]]) -> str:
    """Which parts of an all_to_all do not fit, empty if all do; row r is what rank r sends to each
    and expects from each.
    """
    n = len(sizes)
    wrong = [(s, r) for s in range(n) for r in range(n) if sizes[s][r] != sizes[r][n + s]]
    return "   ".join(
        f"rank {s} sends {sizes[s][r]} elements to rank {r}, which expects {sizes[r][n + s]}"
        for s, r in wrong
    )
