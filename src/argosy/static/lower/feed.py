"""What may be fed for a data variable, and its way into torch tensors: of its values, and of the
offsets of its sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.static.ir.block import Block
from argosy.static.ir.lod import LoDTensor, has_lengths, lod_problem, offsets_of
from argosy.static.ir.operator import Operator
from argosy.static.ir.scope import raw_of
from argosy.static.ir.variable import Variable
from argosy.static.lower.dataset_feed import SlotTensor


class FeedSpec:
    """The declaration of a fed variable; -1 in ``shape`` may be any size. ``source`` is the name
    under which its value is fed.

    What is fed may have fewer dimensions than were declared, as in Paddle 2: those that it has are
    compared. A variable of 1.x needs all of them, and a number counts as one element.
    """

    __slots__ = (
        "_known",
        "dtype",
        "is_checked",
        "is_exact",
        "lod_level",
        "name",
        "shape",
        "source",
    )

    def __init__(self, variable: Variable) -> None:
        self.name = self.source = variable.name
        self.dtype = variable.raw.dtype
        self.shape = tuple(variable.shape)
        self.lod_level = variable.lod_level
        self.is_exact = variable.is_fed_exactly
        self.is_checked = variable.is_data and variable.checks_feed
        self._known = [(axis, n) for axis, n in enumerate(self.shape) if n != -1]

    def to_tensor(self, value: Any, device: torch.device) -> torch.Tensor:
        """What is fed as a torch tensor; shape and dtype must be the declared ones. Memory is
        shared where possible.
        """
        if self.lod_level and has_lengths(value):
            value = value[0]
        if isinstance(value, np.ndarray):
            # Without a call of its own: small programs run thousands of times a second.
            if not value.flags.writeable or min(value.strides, default=0) < 0:
                value = value.copy()
            try:
                raw = torch.from_numpy(value)
            except TypeError as error:
                raise UsageError(
                    f"Executor.run: feed {self.name!r} is an array of {value.dtype}, which has no "
                    "tensor"
                ) from error
            if raw.dtype is torch.uint16 and self.dtype is torch.bfloat16:
                raw = raw.view(torch.bfloat16)  # how Paddle stores it in arrays
        else:
            held = raw_of(value)
            raw = self._from_list(value) if held is None else held
        if not self.is_checked:
            return raw.to(device)
        if raw.dtype is not self.dtype:
            raise UsageError(
                f"The data type of fed Variable {self.name!r} must be "
                f"{dtypes.name_of(self.dtype)!r}, but received {dtypes.name_of(raw.dtype)!r}"
            )
        given = raw.shape
        rank = len(given)
        if rank != len(self.shape) and (self.is_exact or not 0 < rank < len(self.shape)):
            raise self._misshapen(given)
        for axis, extent in self._known:
            if axis < rank and given[axis] != extent and (axis or extent != _sequences(value)):
                raise self._misshapen(given)
        return raw if raw.device == device else raw.to(device)

    def _misshapen(self, given: torch.Size) -> UsageError:
        return UsageError(
            f"The fed Variable {self.name!r} should have dimensions = {len(self.shape)}, shape = "
            f"{self.shape}, but received fed shape {list(given)} on each device"
        )

    def _from_list(self, value: Any) -> torch.Tensor:
        try:
            is_number = self.is_exact and np.ndim(value) == 0
            return torch.from_numpy(np.array([value] if is_number else value)).to(self.dtype)
        except ValueError as error:
            raise DtypeError(
                f"Executor.run: feed {self.name!r} is nested lists of different lengths, which "
                "are no array; "
                "make a LoDTensor of sequences with create_lod_tensor"
            ) from error


def _sequences(value: Any) -> int:
    """How many sequences what is fed has; Paddle takes their number for the first extent."""
    lod = value.lod() if isinstance(value, LoDTensor) else None
    return len(lod[0]) - 1 if lod else -1


_ANY_LEVEL = -1  # how deep sequences nest, where that was not declared


@dataclass(frozen=True, slots=True)
class LodSpec:
    """One level of the offsets that come with the value of ``source``; ``reader`` says what needs
    them, if anything does.
    """

    name: str
    source: str
    level: int
    lod_level: int
    reader: str

    def to_tensor(self, value: Any, device: torch.device) -> torch.Tensor | None:
        """The offsets of the sequences in what is fed; None if it has none and nothing needs
        them.
        """
        if isinstance(value, SlotTensor) and self.lod_level == 1:
            return value.offset_tensors[0].to(device)
        lod, rows = _lod_of(value)
        if not lod and not self.reader:
            return None
        if self.lod_level == _ANY_LEVEL:
            is_there = self.level < len(lod)
            return torch.tensor(lod[self.level], device=device) if is_there else None
        if len(lod) != self.lod_level:
            needs = f", which {self.reader} needs" if self.reader else ""
            raise UsageError(
                f"Executor.run: The fed Variable {self.source!r} is declared with "
                f"lod_level={self.lod_level}{needs}, "
                + (
                    f"but received the lod {lod}"
                    if lod
                    else f"but received a {type(value).__name__} without lod"
                )
            )
        problem = lod_problem(lod, rows)
        if problem:
            raise UsageError(
                f"Executor.run: The lod {lod} of fed Variable {self.source!r} is wrong: {problem}"
            )
        return torch.tensor(lod[self.level], dtype=torch.int64, device=device)


def _lod_of(value: Any) -> tuple[list[list[int]], int]:
    if isinstance(value, LoDTensor):
        return value.lod(), len(value.raw_tensor())
    if has_lengths(value):
        return offsets_of(value[1]), len(value[0])
    return [], 0


def with_offsets(block: Block, feeds: Sequence[str]) -> list[str]:
    """The names that are fed and those of the offsets that come with them."""
    names = dict.fromkeys(feeds)
    for variable in (block.vars[name] for name in feeds if name in block.vars):
        names.update(
            (n, None)
            for n in (*variable.lod_names, *variable.late_lod)
            if n in block.vars and block.vars[n].is_data
        )
    return list(names)


def feed_specs(
    block: Block, names: Sequence[str], operators: Sequence[Operator]
) -> list[FeedSpec | LodSpec]:
    """What turns what is fed into the tensors for ``names``, of which some are offsets that come
    with others.
    """
    owners: dict[str, tuple[Variable, int]] = {}
    for variable in (block.vars[name] for name in names):
        for level, name in enumerate(variable.lod_names):
            # A computed variable may share the offsets of a fed one, whose own they are.
            if name not in owners or name.startswith(f"{variable.name}@LOD"):
                owners[name] = variable, level
    late = {n: v for v in (block.vars[name] for name in names) for n in v.late_lod}
    specs: list[FeedSpec | LodSpec] = []
    for name in names:
        if name in late:
            level = late[name].late_lod.index(name)
            specs.append(LodSpec(name, late[name].name, level, _ANY_LEVEL, ""))
            continue
        if name not in owners:
            specs.append(FeedSpec(block.vars[name]))
            continue
        variable, level = owners[name]
        reader = next((o.describe() for o in operators if name in o.input_arg_names), "")
        specs.append(LodSpec(name, variable.name, level, variable.lod_level, reader))
    return specs
