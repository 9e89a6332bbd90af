"""What is fetched: values, and the offsets of the sequences that they consist of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, ProgramError, UsageError
from argosy.static.ir.block import Block
from argosy.static.ir.lod import LoDTensor, LoDTensorArray
from argosy.static.ir.operator import Operator
from argosy.tensor.engine import wrap


class HoldsSequences(UsageError, RuntimeError):
    """An array was asked for, but the value has a lod."""


# For each fetch, where its offsets are among the values that a run returns, a level each.
Places = list[tuple[int, ...]]


def with_offsets(
    block: Block, fetches: Sequence[str], feeds: Sequence[str], operators: Sequence[Operator]
) -> tuple[list[str], Places]:
    """The names to fetch, with those of the offsets that a run knows behind them, and where these
    are.
    """
    known = set(feeds).union(*(o.output_arg_names for o in operators))
    names, places = list(fetches), Places()
    for name in fetches:
        variable = block.vars.get(name)
        lod = (
            ()
            if variable is None or not known.issuperset(variable.lod_names)
            else variable.lod_names
        )
        names += [n for n in lod if n not in names]
        places.append(tuple(names.index(n) for n in lod))
    return names, places if any(places) else []


def joined(fetched: Sequence[Any], places: Places) -> list[torch.Tensor | LoDTensor]:
    """What was fetched, with LoDTensors for those values that have offsets."""
    if not places:
        return list(fetched)
    return [
        _joined(value, [fetched[i] for i in levels])
        for value, levels in zip(fetched, places, strict=False)
    ]


def _joined(value: torch.Tensor, lod: list[torch.Tensor | None]) -> torch.Tensor | LoDTensor:
    levels = [level.tolist() for level in lod if level is not None]  # None: fed without lod
    return LoDTensor(value, levels) if levels and len(levels) == len(lod) else value


def given_out(values: Iterable[Any], as_array: bool) -> list[Any]:
    """Copies for the script: what is fetched may share memory with the scope or with what was
    fed.
    """
    # In one function with a plain loop: small programs run thousands of times a second.
    found: list[Any] = []
    for value in values:
        if not isinstance(value, torch.Tensor):
            found.append(_sequences(value, as_array))
        elif not as_array:
            found.append(LoDTensor(value.detach().clone()))
        else:
            try:
                found.append(wrap(value).numpy())
            except TypeError as error:
                raise DtypeError(
                    f"Executor.run: a fetch is of {dtypes.name_of(value.dtype)}, which arrays do "
                    "not have; set return_numpy=False"
                ) from error
    return found


def _sequences(value: Any, as_array: bool) -> Any:
    if isinstance(value, list):  # an array of tensors, some of which may have been skipped
        empty = torch.empty(0)
        items = given_out([empty if v is None else v for v in value], as_array)
        return items if as_array else LoDTensorArray(items)
    if not isinstance(value, LoDTensor):
        raise ProgramError(f"Executor.run: a fetch is no tensor, but a {type(value).__name__}")
    if as_array and not value.lod():
        return value.numpy()
    if as_array:
        raise HoldsSequences(
            "Executor.run: Some of your fetched tensors hold LoD information: they are sequences "
            "with the lod "
            f"{value.lod()}, which an array cannot hold. Set return_numpy=False to get a LoDTensor"
        )
    return LoDTensor(value.raw_tensor().detach().clone(), value.lod())
