"""Scope: where the values of persistable variables live between runs, by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from argosy.foundation.errors import ProgramError, UsageError, nearest
from argosy.foundation.places import to_place
from argosy.foundation.process_state import register
from argosy.static.ir.lod import Lod, LoDTensor, LoDTensorArray
from argosy.tensor.engine import Tensor, to_raw, wrap


class ScopeVariable:
    """A name in a scope, with or without a value."""

    __slots__ = ("_scope", "array", "lod", "name", "tensor")

    def __init__(self, scope: Scope, name: str) -> None:
        self._scope = scope
        self.name = name
        self.tensor: torch.Tensor | None = None
        self.lod: Lod = []
        self.array: LoDTensorArray | None = None

    def get_lod_tensor_array(self) -> LoDTensorArray:
        """The array that a run left here."""
        if self.array is None:
            self.array = LoDTensorArray()
        return self.array

    def get_lod_rank_table(self) -> LoDRankTable:
        """The table of sequences that a run left here."""
        return LoDRankTable(self.get_tensor().raw_tensor())

    def get_tensor(self) -> DenseTensor:
        """The value, as an object through which it can be read and set."""
        return DenseTensor(self)

    def fill(self, number: float) -> None:
        """Overwrite every element."""
        if self.tensor is not None:
            self.tensor.fill_(number)

    def store(self, value: torch.Tensor, copies: bool = True) -> None:
        """Hold ``value``: in the memory held so far if it fits, else in a copy, or in ``value``
        itself unless ``copies``.
        """
        old = self.tensor
        if (
            old is not None
            and old.shape == value.shape
            and old.dtype is value.dtype
            and old.device == value.device
        ):
            with torch.no_grad():
                old.copy_(value)
            return
        self.tensor = value.detach().clone() if copies else value.detach()
        self._scope.version += 1


class LoDRankTable:
    """Sequences by length, longest first."""

    def __init__(self, table: torch.Tensor) -> None:
        self._table = table

    def items(self) -> list[tuple[int, int]]:
        """Which sequence, and how long it is."""
        return [(index, length) for index, length in self._table.tolist()]


class DenseTensor(LoDTensor):
    """The value of a variable in a scope; a NumPy array can be made of it."""

    def __init__(self, variable: ScopeVariable) -> None:
        self._variable = variable

    @property
    def _offsets(self) -> Lod:
        return self._variable.lod

    @_offsets.setter
    def _offsets(self, lod: Lod) -> None:
        self._variable.lod = lod

    def set(self, value: Any, place: Any = None) -> None:
        """Overwrite the value; another shape or dtype than before is taken over too."""
        old = self._variable.tensor
        raw = value.raw_tensor().clone() if isinstance(value, LoDTensor) else to_raw(value)
        if place is not None:
            raw = raw.to(to_place(place).device)
        elif old is not None:
            raw = raw.to(old.device)
        self._variable.store(raw, copies=False)

    def raw_tensor(self) -> torch.Tensor:
        if self._variable.tensor is None:
            raise ProgramError(
                f"Variable {self._variable.name!r} holds no value in this scope; run the startup "
                "program first"
            )
        return self._variable.tensor

    def _is_initialized(self) -> bool:
        return self._variable.tensor is not None

    def __repr__(self) -> str:
        return repr(wrap(self.raw_tensor().detach()))


class Scope:
    """Variables by name; ``version`` changes when one gets other memory."""

    def __init__(self) -> None:
        self.version = 0
        self._vars: dict[str, ScopeVariable] = {}

    def var(self, name: str) -> ScopeVariable:
        """The variable of this name, made if need be."""
        if not isinstance(name, str):
            raise UsageError(f"Scope.var: expected a name, but received {type(name).__name__}")
        if name not in self._vars:
            self._vars[name] = ScopeVariable(self, name)
        return self._vars[name]

    def find_var(self, name: str) -> ScopeVariable | None:
        return self._vars.get(name)

    def holding(self, name: str) -> ScopeVariable:
        """The variable of this name, which must have a value."""
        found = self._vars.get(name)
        if found is None or found.tensor is None:
            held = [n for n, v in self._vars.items() if v.tensor is not None]
            raise ProgramError(
                f"Variable {name!r} holds no value in this scope.{nearest(name, held)} "
                "Run the startup program of its program first: "
                "exe.run(paddle.static.default_startup_program())"
            )
        return found

    def local_var_names(self) -> list[str]:
        return list(self._vars)

    def erase(self, names: list[str]) -> None:
        for name in names:
            self._vars.pop(name, None)
        self.version += 1


class _Current:
    """The scope in use."""

    def __init__(self) -> None:
        self.scope = Scope()


current = _Current()
_first = current.scope


def _reset() -> None:
    current.scope = _first
    _first.erase(_first.local_var_names())


register(
    "global scope",
    current,
    state=lambda: (current.scope, current.scope.local_var_names()),
    reset=_reset,
)


def global_scope() -> Scope:
    """The scope that runs use unless another is given."""
    return current.scope


@contextlib.contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Make ``scope`` the one that ``global_scope()`` returns inside the block."""
    if not isinstance(scope, Scope):
        raise UsageError(f"scope_guard: expected a Scope, but received {type(scope).__name__}")
    old, current.scope = current.scope, scope
    try:
        yield
    finally:
        current.scope = old


def raw_of(value: Any) -> torch.Tensor | None:
    """The torch tensor inside a Tensor, a value of a scope or a torch tensor; None for anything
    else.
    """
    if isinstance(value, Tensor):
        return value.raw
    if isinstance(value, LoDTensor):
        return value.raw_tensor()
    return value if isinstance(value, torch.Tensor) else None
