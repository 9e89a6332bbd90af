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


def joined(fetched: Sequence[Any], places: Places) -> list[Any]:
    """What was fetched, with LoDTensors for those values that have offsets."""
    if not places:
        return list(fetched)
    return [
        with_lod(value, [fetched[i] for i in levels])
        for value, levels in zip(fetched, places, strict=False)
    ]


def with_lod(value: Any, lod: list[Any]) -> Any:
    """A value, or an array of values, with its offsets."""
    if isinstance(value, list):
        held = enumerate(value)
        return LoDTensorArray(
            _sequence(element, [level[i] for level in lod]) for i, element in held
        )
    return _sequence(value, lod) if lod else value


def _sequence(value: Any, lod: list[torch.Tensor | None]) -> Any:
    levels = [level.tolist() for level in lod if level is not None]  # None: fed without it
    return LoDTensor(value, levels) if levels else value


def given_out(values: Iterable[Any], as_array: bool) -> list[Any]:
    """Copies for the script: what is fetched may share memory with the scope or with what was
    fed.
    """
    # In one function with a plain loop: small programs run thousands of times a second.
    found: list[Any] = []
    for value in values:
        if isinstance(value, list):
            found.append(_array(value, as_array))
        elif not isinstance(value, torch.Tensor):
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


def _array(elements: list[Any], as_array: bool) -> list[Any]:
    """The elements of an array of tensors, as arrays or in a LoDTensorArray; what a run skipped is
    empty.
    """
    filled = [torch.empty(0) if e is None else e for e in elements]
    if not as_array:
        return LoDTensorArray(
            LoDTensor(e.detach().clone()) if isinstance(e, torch.Tensor) else _sequences(e, False)
            for e in filled
        )
    return given_out(filled, True)


def _sequences(value: Any, as_array: bool) -> Any:
    if not isinstance(value, LoDTensor):
        raise ProgramError(f"Executor.run: a fetch is a {type(value).__name__}, which is no tensor")
    if as_array and not value.lod():
        return value.numpy()
    if as_array:
        raise HoldsSequences(
            "Executor.run: Some of your fetched tensors hold LoD information: they are sequences "
            "with the lod "
            f"{value.lod()}, which an array cannot hold. Set return_numpy=False to get a LoDTensor"
        )
    return LoDTensor(value.raw_tensor().detach().clone(), value.lod())
