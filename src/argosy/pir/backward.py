"""Gradients in programs by the names of Paddle's second IR, and its collections of variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any

from argosy.foundation.errors import NotSupported
from argosy.static import gradients

__all__ = ["ValueDict", "ValueSet", "grad"]


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool | None = False,
    only_inputs: bool | None = True,
    allow_unused: bool | None = False,
    no_grad_vars: Any = None,
) -> list[Any]:
    """The gradients of ``outputs`` with respect to each of ``inputs``, recorded into the program;
    None where no output depends on an input. A program keeps all it has, so ``retain_graph`` and
    ``create_graph`` are as if they were True.
    """
    if not only_inputs:
        raise NotSupported("grad: only_inputs=False")
    return gradients(outputs, inputs, grad_outputs or None, no_grad_vars)


class ValueSet(MutableSet[Any]):
    """A set of variables by identity: ``==`` between them is an operator of the program."""

    def __init__(self, iter: Iterable[Any] | None = None) -> None:
        self._by_id = {id(value): value for value in iter or ()}

    def __contains__(self, value: object) -> bool:
        return id(value) in self._by_id

    def __iter__(self) -> Iterator[Any]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, value: Any) -> None:
        self._by_id[id(value)] = value

    def discard(self, value: Any) -> None:
        self._by_id.pop(id(value), None)

    def update(self, other: Iterable[Any]) -> None:
        """Add all of ``other``."""
        for value in other:
            self.add(value)

    def copy(self) -> ValueSet:
        return ValueSet(self)

    def __repr__(self) -> str:
        return f"ValueSet({list(self)})"


class ValueDict(MutableMapping[Any, Any]):
    """Variables by identity, each with something."""

    def __init__(self, iter: Any = None, *, default_factory: Any = None) -> None:
        self._by_id: dict[int, tuple[Any, Any]] = {}
        self._default_factory = default_factory
        self.update(iter or {})

    def __getitem__(self, key: Any) -> Any:
        if id(key) not in self._by_id:
            if self._default_factory is None:
                raise KeyError(key)
            self[key] = self._default_factory()
        return self._by_id[id(key)][1]

    def __contains__(self, key: object) -> bool:
        return id(key) in self._by_id

    def __setitem__(self, key: Any, value: Any) -> None:
        self._by_id[id(key)] = (key, value)

    def __delitem__(self, key: Any) -> None:
        del self._by_id[id(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self._by_id.values()])

    def __len__(self) -> int:
        return len(self._by_id)
