"""The mode that ``auto_cast`` installs: it casts the floating inputs of each op by the op's
type.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from argosy.ops.array.manipulation import cast
from argosy.ops.table import Op
from argosy.ops.traits import Precision
from argosy.tensor.engine import Mode, Parameter, Tensor, assignments, execute, wrap

CASTABLE = (torch.float32, torch.float16, torch.bfloat16)


class AutoCast:
    """Decides per op: ``low``, ``high``, ``promote`` (float32 if any input is) or ``keep``."""

    def __init__(
        self,
        white: set[str],
        black: set[str],
        level: str,
        dtype: torch.dtype,
        use_promote: bool,
        inner: Mode | None,
    ) -> None:
        self.level = level
        self.dtype = dtype
        self.inner = inner
        self._white = white
        self._black = black
        self._use_promote = use_promote or level != "O2"
        # what to do with an op, and whether it is one that takes mixed inputs as they are
        self._choices: dict[Op, tuple[str, bool]] = {}
        # weights that were cast in this block: by id, dtype and whether gradients are recorded
        self._weights: dict[tuple[int, torch.dtype, bool], tuple[Any, Any, Tensor]] = {}

    @property
    def records(self) -> bool:
        """Whether what makes tensors of values adds operators to a program."""
        return getattr(self.inner, "records", False)

    def around(self, inner: Mode) -> AutoCast:
        """The same in front of another mode, which runs or records the ops."""
        return AutoCast(self._white, self._black, self.level, self.dtype, self._use_promote, inner)

    @functools.cached_property
    def signature(self) -> tuple[Any, ...]:
        """Equal for two that treat every op alike."""
        lists = frozenset(self._white), frozenset(self._black)
        return self.level, self.dtype, self._use_promote, *lists

    def __call__(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        known = self._choices.get(op)
        if known is None:
            choice = self._choose(op)
            is_mixed = choice != "high" and op.is_of_precision(Precision.MIXED)
            known = self._choices[op] = (choice, is_mixed)
        choice, is_mixed = known
        if choice != "keep" and not (is_mixed and self._is_low(args)):
            target = self.dtype if choice == "low" else torch.float32
            if choice != "promote" or _has_float32(args) or _has_float32(attrs.values()):
                args = tuple([self._cast(a, target) for a in args])
                attrs = {k: self._cast(v, target) for k, v in attrs.items()}
        return execute(op, args, attrs) if self.inner is None else self.inner(op, args, attrs)

    def _choose(self, op: Op) -> str:
        if op.is_of_precision(Precision.UNTOUCHED):
            return "keep"
        if op.known_names & self._white:
            return "low"
        if op.known_names & self._black or self.level == "OD":
            return "high"
        return "promote" if self._use_promote else "low"

    def _cast(self, value: Any, target: torch.dtype) -> Any:
        """Cast Tensors, inside lists and tuples too; gradients flow through the cast. A program
        records it.
        """
        if isinstance(value, Tensor):
            raw = value.raw
            if raw.dtype not in CASTABLE or raw.dtype is target:
                return value
            if self.inner is not None:
                return self.inner(cast, (value, target), {})
            if raw.is_leaf and (raw.requires_grad or isinstance(value, Parameter)):
                return self._cast_weight(raw, target)
            return wrap(raw.to(target))
        if type(value) is list:
            return [self._cast(v, target) for v in value]
        if type(value) is tuple:
            return tuple([self._cast(v, target) for v in value])
        return value

    def _cast_weight(self, raw: torch.Tensor, target: torch.dtype) -> Tensor:
        """Cast a weight once for all its uses in the block, until it is written to."""
        key = id(raw), target, torch.is_grad_enabled()
        state = raw._version, raw.data_ptr(), assignments.count
        known = self._weights.get(key)
        if known is None or known[1] != state:
            # the weight is kept alive along, so that no other can get its id
            known = self._weights[key] = (raw, state, wrap(raw.to(target)))
        return known[2]

    def _is_low(self, args: tuple[Any, ...]) -> bool:
        return bool(args) and isinstance(args[0], Tensor) and args[0].raw.dtype is self.dtype


def _has_float32(values: Any) -> bool:
    for value in values:
        if isinstance(value, Tensor):
            if value.raw.dtype is torch.float32:
                return True
        elif type(value) in (list, tuple) and _has_float32(value):
            return True
    return False
