"""Scope: where the values of persistable variables live between runs, by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from argosy.foundation.errors import ProgramError, UsageError, nearest
from argosy.foundation.places import to_place
from argosy.foundation.process_state import register
from argosy.static.ir.lod import Lod, LoDTensor, LoDTensorArray
from argosy.static.ir.selected_rows import SelectedRows
from argosy.tensor.engine import Tensor, to_raw, wrap


class WrongKind(ProgramError, RuntimeError):
    """A variable of a scope was asked for another kind of value than it holds."""


class ScopeVariable:
    """A name in a scope, with or without a value: a tensor, or something else that a script or a
    run put there.
    """

    __slots__ = ("_scope", "array", "lod", "name", "other", "sharers", "tensor")

    def __init__(self, scope: Scope, name: str) -> None:
        self._scope = scope
        self.name = name
        self.tensor: torch.Tensor | None = None
        # the variables that hold this very tensor, which is written for all or for none
        self.sharers: tuple[ScopeVariable, ...] = ()
        self.lod: Lod = []
        self.other: Any = None  # a number or strings
        self.array: LoDTensorArray | None = None

    def set_int(self, number: int) -> None:
        self.other = int(number)

    def is_int(self) -> bool:
        return type(self.other) is int

    def get_int(self) -> int:
        return self._other(int)  # type: ignore[no-any-return]

    def set_float(self, number: float) -> None:
        self.other = float(number)

    def is_float(self) -> bool:
        return type(self.other) is float

    def get_float(self) -> float:
        return self._other(float)  # type: ignore[no-any-return]

    def set_string_list(self, strings: list[str]) -> None:
        self.other = [str(s) for s in strings]

    def get_string_list(self) -> list[str]:
        return self._other(list)  # type: ignore[no-any-return]

    def _other(self, kind: type) -> Any:
        if type(self.other) is not kind:
            raise WrongKind(
                f"Variable {self.name!r} of the scope holds no {kind.__name__}, but "
                f"{'a tensor' if self.tensor is not None else repr(self.other)}"
            )
        return self.other

    def get_lod_tensor_array(self) -> LoDTensorArray:
        """The array that a run left here."""
        if self.array is None:
            self.array = LoDTensorArray()
        return self.array

    def get_fetch_list(self) -> LoDTensorArray:
        """What was fed or fetched under this name, by column."""
        return self.get_lod_tensor_array()

    def get_lod_rank_table(self) -> LoDRankTable:
        """The table of sequences that a run left here."""
        return LoDRankTable(self.get_tensor().raw_tensor())

    def get_selected_rows(self) -> SelectedRows:
        """The rows, as an object through which they can be read and set."""
        if not isinstance(self.other, SelectedRows):
            self.other = SelectedRows(store=self.hold)
        return self.other

    def hold(self, value: torch.Tensor) -> None:
        """Hold ``value`` itself."""
        self.tensor, self.sharers = value, ()
        self._scope.changed()

    def get_tensor(self) -> DenseTensor:
        """The value, as an object through which it can be read and set."""
        return DenseTensor(self)

    def take_apart(self) -> None:
        """Have memory of its own."""
        if self.sharers and self.tensor is not None:
            self.hold(self.tensor.detach().clone())

    def fill(self, number: float) -> None:
        """Overwrite every element."""
        self.take_apart()
        if self.tensor is not None:
            self.tensor.fill_(number)

    def store(self, value: torch.Tensor, copies: bool = True) -> None:
        """Hold ``value``: in the memory held so far if it fits, else in a copy, or in ``value``
        itself unless ``copies``.
        """
        self.take_apart()
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
        self._scope.changed()


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

    def take_over(self, raw: torch.Tensor) -> None:
        self._variable.hold(raw)

    def take_apart(self) -> None:
        self._variable.take_apart()

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
    """Variables by name; ``version`` changes when one gets other memory. Inside of a scope there
    may be others, which find its variables too.
    """

    def __init__(self, parent: Scope | None = None) -> None:
        self.version = 0
        self._vars: dict[str, ScopeVariable] = {}
        self._parent = parent
        self._kids: list[Scope] = []
        self._is_in_pool = True

    def changed(self) -> None:
        """Note that a variable got other memory, here and for the scopes inside."""
        self.version += 1
        for kid in self._kids:
            kid.changed()

    def new_scope(self) -> Scope:
        """A scope inside of this one."""
        kid = Scope(self)
        self._kids.append(kid)
        return kid

    def drop_kids(self) -> None:
        """Forget the scopes inside of this one, with their variables."""
        for kid in self._kids:
            kid.erase(kid.local_var_names())
        self._kids.clear()

    def size(self) -> int:
        """How many variables it has itself."""
        return len(self._vars)

    def _remove_from_pool(self) -> None:
        """Forget its variables; scopes are kept by whoever refers to them."""
        if not self._is_in_pool:
            raise WrongKind("Scope: Deleting a nonexistent scope is not allowed")
        self._is_in_pool = False
        self.drop_kids()
        self.erase(self.local_var_names())

    def var(self, name: str) -> ScopeVariable:
        """The variable of this name, made if need be."""
        if not isinstance(name, str):
            raise UsageError(f"Scope.var: expected a name, but received {type(name).__name__}")
        if name not in self._vars:
            self._vars[name] = ScopeVariable(self, name)
        return self._vars[name]

    def find_var(self, name: str) -> ScopeVariable | None:
        """The variable of this name here or in a scope around."""
        found = self._vars.get(name)
        return self._parent.find_var(name) if found is None and self._parent is not None else found

    def find_var_locally(self, name: str) -> ScopeVariable | None:
        return self._vars.get(name)

    def holding(self, name: str) -> ScopeVariable:
        """The variable of this name, which must have a value."""
        found = self.find_var(name)
        if found is None or found.tensor is None:
            held = [n for n, v in self._vars.items() if v.tensor is not None]
            raise ProgramError(
                f"Variable {name!r} holds no value in this scope.{nearest(name, held)} "
                "Run the startup program of its program first: "
                "exe.run(paddle.static.default_startup_program())"
            )
        return found

    def share(self, names: Sequence[str]) -> None:
        """Let variables of one element each hold one tensor if their values are equal, until one
        of them is written by itself; those that share with others stop.
        """
        held = [self.holding(name) for name in names]
        group = held[0].sharers
        if len(group) == len(held) and all(v.sharers is group for v in held):
            return
        for variable in held:
            variable.take_apart()
        first = held[0].tensor
        assert first is not None  # holding saw to it
        is_equal = all(v.tensor is not None and torch.equal(v.tensor, first) for v in held)
        if len(held) > 1 and is_equal and len({id(v._scope) for v in held}) == 1:
            group = tuple(held)
            for variable in held:
                variable.hold(first)
                variable.sharers = group

    def local_var_names(self) -> list[str]:
        return list(self._vars)

    def erase(self, names: list[str]) -> None:
        for name in names:
            self._vars.pop(name, None)
        self.changed()


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


def set_feed_variable(scope: Scope, value: LoDTensor, name: str, column: int) -> None:
    """Put a value into a column of the list that a scope holds under ``name``."""
    held = scope.var(name).get_fetch_list()
    while len(held) <= column:
        held.append(LoDTensor())
    held[column] = value


def get_fetch_variable(scope: Scope, name: str, column: int) -> LoDTensor:
    """What is in a column of the list that a scope holds under ``name``."""
    held = scope.find_var(name)
    columns = [] if held is None else held.get_fetch_list()
    if not 0 <= column < len(columns):
        raise WrongKind(
            f"get_fetch_variable: {name!r} has {len(columns)} columns in this scope, not {column}"
        )
    return columns[column]


def create_loaded_parameter(variables: Iterable[Any], scope: Scope, executor: Any) -> None:
    """Make room in ``scope`` for the values of ``variables`` that it holds none of yet."""
    for variable in variables:
        held = scope.var(variable.name)
        if held.tensor is None:
            extents = [max(n, 0) for n in variable.shape]
            held.store(torch.zeros(extents, dtype=variable.raw.dtype), copies=False)
