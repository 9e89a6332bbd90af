"""One batch for several places, and their results as one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import UsageError
from argosy.static.ir.lod import LoDTensor, has_lengths, offsets_of, split_sequences
from argosy.static.ir.program import Program
from argosy.static.ir.scope import raw_of


def split_feed(call: str, program: Program, feed: Any, num_places: int) -> list[dict[str, Any]]:
    """A dict of feeds for each place: a list is given out as it is, the values of a dict are cut on
    dimension 0.
    """
    if isinstance(feed, (list, tuple)):
        if len(feed) != num_places or not all(isinstance(item, dict) for item in feed):
            kinds = sorted({type(item).__name__ for item in feed})
            raise UsageError(
                f"{call}: a list of feeds must hold one dict for each of the {num_places} "
                "places, but it holds "
                f"{len(feed)} items of type {', '.join(kinds) or 'none'}"
            )
        if any(set(item) != set(feed[0]) for item in feed):
            raise UsageError(
                f"{call}: the dicts of a list of feeds must name the same variables: "
                f"{[sorted(d) for d in feed]}"
            )
        return [{name: item[name] for name in feed[0]} for item in feed]
    if not isinstance(feed, dict):
        raise UsageError(
            f"{call}: feed must be a dict or a list of dicts, but received {type(feed).__name__}"
        )
    parts: list[dict[str, Any]] = [{} for _ in range(num_places)]
    for name, value in feed.items():
        for part, piece in zip(parts, _pieces(call, program, name, value, num_places), strict=True):
            part[name] = piece
    return parts


def num_fed(program: Program, feed: Any) -> int:
    """For how many places there is something in ``feed``; 0 if it does not say."""
    if not isinstance(feed, dict):
        return len(feed) if isinstance(feed, (list, tuple)) else 0
    variables = program.global_block().vars
    counts = [
        _num_parts(value)
        for name, value in feed.items()
        if not (name in variables and variables[name].persistable)
    ]
    return min(counts, default=0)


def _num_parts(value: Any) -> int:
    """How many sequences or rows a value has; 0 for a number."""
    if isinstance(value, LoDTensor) and value.lod():
        return len(value.lod()[0]) - 1
    if has_lengths(value):
        return len(value[1][0])
    rows = _rows(value)
    return len(rows) if rows.ndim else 0


def _pieces(call: str, program: Program, name: str, value: Any, num_places: int) -> list[Any]:
    variable = program.global_block().vars.get(name)
    if variable is not None and variable.lod_level and has_lengths(value):
        array, lengths = value
        value = LoDTensor(
            _rows(array) if raw_of(array) is not None else torch.from_numpy(np.array(array)),
            offsets_of(lengths),
        )
    if isinstance(value, LoDTensor) and value.lod():
        count = len(value.lod()[0]) - 1
        _check_count(call, name, count, "sequences", num_places)
        return split_sequences(value, num_places)
    rows = _rows(value)
    if variable is not None and variable.persistable and (rows.ndim == 0 or len(rows) < num_places):
        return [rows] * num_places
    # a number for each place
    if variable is not None and variable.raw.ndim == 0 and rows.ndim == 1:
        if len(rows) != num_places:
            raise UsageError(
                f"{call}: feed {name!r} is one number on each of {num_places} places, but "
                f"received {len(rows)}"
            )
        return [rows[i] for i in range(num_places)]
    if rows.ndim == 0 and num_places == 1:
        return [value]
    if rows.ndim == 0:
        raise UsageError(
            f"{call}: feed {name!r} is a single number, which cannot be split on {num_places} "
            "places"
        )
    _check_count(call, name, len(rows), "samples", num_places)
    borders = [len(rows) * i // num_places for i in range(num_places + 1)]
    return [rows[start:end] for start, end in pairwise(borders)]


def _rows(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, LoDTensor):
        return value.raw_tensor()
    raw = raw_of(value)
    return np.array(value) if raw is None else raw


def _check_count(call: str, name: str, count: int, what: str, num_places: int) -> None:
    if count < num_places:
        raise UsageError(
            f"{call}: feed {name!r} has {count} {what} for {num_places} places; each place needs "
            "at least one.\n"
            "  Leave out a last batch that is too small, or run on fewer places (CPU_NUM)."
        )


def merged(call: str, name: str, values: Sequence[Any]) -> Any:
    """The values of the places one after the other on dimension 0; numbers become a vector,
    sequences follow each other, and arrays have their elements merged.
    """
    if isinstance(values[0], list):
        return [merged(call, name, elements) for elements in zip(*values, strict=True)]
    raws = [v.raw_tensor() if isinstance(v, LoDTensor) else v for v in values]
    parts = [(v.reshape(1) if v.ndim == 0 else v).detach().to(raws[0].device) for v in raws]
    if any(p.shape[1:] != parts[0].shape[1:] for p in parts):
        raise UsageError(
            f"{call}: {name!r} has shapes {[list(v.shape) for v in raws]} on the places, which "
            "cannot be joined on "
            "dimension 0; fetch it with return_merged=False"
        )
    whole = torch.cat(parts)
    lods = [v.recursive_sequence_lengths() if isinstance(v, LoDTensor) else [] for v in values]
    if not any(lods):
        return whole
    return LoDTensor(
        whole, offsets_of([list(chain(*levels)) for levels in zip(*lods, strict=True)])
    )
