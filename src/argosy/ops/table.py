"""The table itself: ``Op`` records, the ``@op`` decorator that adds one, ``get`` by name or Paddle
op type.

An op is a function of raw torch tensors and plain attributes (numbers, strings, torch dtypes, lists
of these). It returns a tensor or a tuple or list of tensors, never keeps state, and never touches
its inputs unless its name ends in ``_``. Everything else that others must know of it is in its
``traits``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from argosy.foundation.errors import InternalError
from argosy.foundation.registry import Registry
from argosy.ops.spelling import Spelling, parsed, type_in
from argosy.ops.traits import Precision, Traits


class Op:
    """One entry of the table, or an operation of a program's own that is in no table.

    ``fn`` computes on raw tensors; ``params`` names its arguments where the signature cannot be
    read. ``traits`` are the fields of ``Traits``. ``type`` is what Paddle's programs call it.
    """

    __slots__ = ("_params", "_signature", "fn", "name", "traits", "type", "types")

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        params: Iterable[str] | None = None,
        **traits: Any,
    ) -> None:
        self.name = name
        self.fn = fn
        self._params = None if params is None else tuple(params)
        self._signature: inspect.Signature | None = None
        try:
            self.traits = Traits(**traits)
        except (TypeError, InternalError) as error:
            raise InternalError(f"op {name!r}: {error}") from error
        self.types = tuple(type_in(text) for text in self.traits.types)
        self.type = self.types[0] if self.types else type_in(self.traits.fluid) or name
        self._check_names()

    def _check_names(self) -> None:
        """Traits name only parameters that there are, and the name says whether it works in
        place.
        """
        traits = self.traits
        named = (*traits.mutates, *traits.alike, *traits.test_attrs, *traits.recorded_dtypes)
        unknown = [param for param in named if param not in self.params]
        if unknown:
            raise InternalError(f"op {self.name!r}: no parameter {unknown[0]!r} in {self.params}")
        if bool(self.traits.mutates) != self.name.endswith("_"):
            raise InternalError(
                f"op {self.name!r}: one that changes arguments ends in '_', and mutates names them"
            )

    @property
    def params(self) -> tuple[str, ...]:
        """Names of the positional parameters, in order."""
        if self._params is None:
            self._params = tuple(self.signature.parameters)
        return self._params

    @property
    def signature(self) -> inspect.Signature:
        """The parameters; all are required of a function of torch's own, whose names are given."""
        if self._signature is None:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            self._signature = (
                inspect.signature(self.fn)
                if self._params is None
                else inspect.Signature([inspect.Parameter(name, kind) for name in self._params])
            )
        return self._signature

    @property
    def fluid_type(self) -> str:
        """Its type in programs of 1.x."""
        return type_in(self.traits.fluid) or self.type

    def spelling(self, type: str) -> Spelling:
        """Paddle's words for its operators of a type."""
        texts = (*self.traits.types, self.traits.fluid)
        # a type without words of its own has those of the first
        own = [text for text in texts if text != type and type_in(text) == type]
        text = own[0] if own else texts[0] if texts[0] else type
        return parsed(text, self.params)

    @property
    def precision_by_type(self) -> dict[str, Precision]:
        """The op's class in mixed precision, by the types under which lists have it."""
        given = self.traits.precision
        return {self.type: given} if isinstance(given, Precision) else dict(given)

    def is_of_precision(self, kind: Precision) -> bool:
        """Whether mixed precision has the op, by any of its types, in this class."""
        return any(kind in own for own in self.precision_by_type.values())

    @property
    def known_names(self) -> set[str]:
        """Every name by which a list of op types may call it."""
        return {self.name, *self.types, self.fluid_type, *self.precision_by_type}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Op({self.name})"


_TABLE: Registry[Op] = Registry("op")
_BY_TYPE: dict[str, list[Op]] = {}  # those of one type differ in attributes that are fixed


def define(
    name: str, fn: Callable[..., Any], params: Iterable[str] | None = None, **traits: Any
) -> Op:
    """Add ``fn`` to the table as ``name``; ``params`` and ``traits`` as for ``Op``."""
    entry = Op(name, fn, params, **traits)
    for kind in dict.fromkeys((*entry.types, type_in(entry.traits.fluid))):
        if kind:
            _BY_TYPE.setdefault(kind, []).append(entry)
    return _TABLE.add(name, entry)


def op(name: str, **traits: Any) -> Callable[[Callable[..., Any]], Op]:
    """Decorate a raw function to add it to the table; the name in the module is then the ``Op``."""

    def add(fn: Callable[..., Any]) -> Op:
        return define(name, fn, **traits)

    return add


def get(name: str) -> Op:
    """Find an op by its name or by the op type Paddle uses; its own name comes first."""
    found = find(name)
    return _TABLE.get(name) if found is None else found  # which says what there is


def find(name: str) -> Op | None:
    """As ``get``, but None where there is no such op."""
    return named(name) or (_BY_TYPE[name][0] if name in _BY_TYPE else None)


def named(name: str) -> Op | None:
    """The op of exactly this name, None where there is none."""
    return _TABLE.get(name) if name in _TABLE else None


def of_type(type: str) -> list[Op]:
    """The ops that compute operators of a type of Paddle's."""
    own = _TABLE.get(type) if type in _TABLE else None
    plain = [own] if own is not None and not own.types else []
    return [*_BY_TYPE.get(type, ()), *plain]


def names() -> list[str]:
    """Every op of the table, sorted."""
    return sorted(_TABLE)
