"""What an initialiser is: a description of how to fill a tensor, as an op of the table and its
attributes.

Called on a parameter it fills it in place. A recording program stores the same op in its startup
program instead.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import BadArgument
from argosy.framework.mode import switch
from argosy.ops.table import Op
from argosy.tensor.engine import assignments

Plan = tuple[Op, dict[str, Any]]

HALF = (torch.float16, torch.bfloat16)


class Initializer:
    """Base class. Subclasses define ``plan``."""

    _cast_dtypes: tuple[torch.dtype, ...] = ()
    goes_first = False  # its operator is put before all others of a block

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        """The op, of the table, that makes the values of a tensor of this shape and dtype, and its
        attributes.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define plan()")

    def shape_made(self, shape: Sequence[int]) -> list[int]:
        """The shape that a parameter declared with ``shape`` has when it is filled."""
        return list(shape)

    def made_in(self, dtype: torch.dtype) -> torch.dtype:
        """The dtype in which a program makes values of ``dtype``; a cast follows if it is
        another.
        """
        return torch.float32 if dtype in self._cast_dtypes else dtype

    def __call__(self, param: Any, block: Any = None) -> Any:
        """Fill ``param`` in place, or let the startup program do it if it belongs to one, and
        return it.
        """
        record = getattr(param, "record_init", None)
        if record is not None:
            record(self)
            return param
        raw = param.raw
        op, attrs = self.seeded_plan(list(raw.shape), raw.dtype, switch.startup_seed())
        values = op.fn(**attrs)
        if values.shape == raw.shape:
            raw.data.copy_(values)  # which is no change in place: the version stays
            assignments.count += 1
        else:  # Assign
            param.raw = values.to(raw).requires_grad_(raw.requires_grad)
        return param

    def seeded_plan(self, shape: Sequence[int], dtype: torch.dtype, seed: int) -> Plan:
        """The plan, drawing from ``seed`` if it is not 0: the ``random_seed`` of a program is that
        of each of its initialisers, so equal parameters start equal.
        """
        op, attrs = self.plan(shape, dtype)
        if seed and not attrs.get("seed") and "seed" in inspect.signature(op.fn).parameters:
            attrs = {**attrs, "seed": seed}
        return op, attrs


def require(call: str, **values: Any) -> None:
    """Refuse None for the named arguments."""
    for name, value in values.items():
        if value is None:
            raise BadArgument(f"{call}: {name} should not be None")


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Paddle's fan-in and fan-out: [in, out] for a matrix, [out, in, *window] for a convolution."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window
