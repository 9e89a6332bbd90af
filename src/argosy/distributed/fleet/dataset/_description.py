"""The description of a dataset: what ``desc()`` prints, in Paddle's text format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError
from argosy.runtime.data.slots import Slot

_KINDS = {"float32": "float", "int64": "uint64"}


@dataclass(frozen=True)
class Use:
    """A variable that batches are made for."""

    name: str
    kind: str
    shape: tuple[int, ...]
    lod_level: int

    @classmethod
    def of(cls, variable: Any) -> Use:
        dtype = dtypes.name_of(variable.raw.dtype)
        if dtype not in _KINDS:
            raise UsageError(
                f"use_var: variable {variable.name!r} is {dtype}. Currently, "
                "paddle.distributed.fleet.dataset only supports "
                "dtype=float32 and dtype=int64"
            )
        if variable.lod_level > 1:
            raise UsageError(
                f"use_var: variable {variable.name!r} has lod_level={variable.lod_level}; a slot "
                "has one level"
            )
        return cls(variable.name, _KINDS[dtype], tuple(variable.shape), variable.lod_level)

    @property
    def slot(self) -> Slot:
        return Slot(self.name, self.kind == "float", None if self.lod_level else self.shape)

    def lines(self) -> list[str]:
        dense = [] if self.lod_level else ["is_dense: true"]
        shape = [] if self.lod_level else [f"shape: {n}" for n in self.shape]
        return [f'name: "{self.name}"', f'type: "{self.kind}"', *dense, "is_used: true", *shape]


@dataclass
class Description:
    """What is read, how, and for which variables; None was not set."""

    name: str = ""
    batch_size: int | None = None
    uses: list[Use] = field(default_factory=list)
    pipe_command: str = "cat"
    input_type: int | None = None
    uid_slot: str | None = None

    def __str__(self) -> str:
        lines = [f'name: "{self.name}"'] if self.name else []
        if self.batch_size is not None:
            lines.append(f"batch_size: {self.batch_size}")
        if self.uses or self.uid_slot is not None:
            lines.append("multi_slot_desc {")
            for use in self.uses:
                lines += ["  slots {", *(f"    {line}" for line in use.lines()), "  }"]
            if self.uid_slot is not None:
                lines.append(f'  uid_slot: "{self.uid_slot}"')
            lines.append("}")
        lines.append(f'pipe_command: "{self.pipe_command}"')
        if self.input_type is not None:
            lines.append(f"input_type: {self.input_type}")
        return "\n".join(lines) + "\n"
