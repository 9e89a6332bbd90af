"""``IfElse``: rows that a condition divides, computed apart and put together again; and
``ConditionalBlock``, which runs if there is something to run it on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from argosy import tensor as T
from argosy.fluid.dygraph.tracer import begin_recording
from argosy.fluid.layers.rank_table import merge_lod_tensor, split_lod_tensor
from argosy.foundation.errors import DtypeError, UsageError
from argosy.static.ir.variable import Variable
from argosy.static.record.control import Branches


class IfElse:
    """Divides a batch: ``true_block`` computes with the rows for which ``cond`` holds,
    ``false_block`` with the others; calling it gives the outputs of both in the old order.

    Example:
        >>> import numpy, paddle
        >>> from paddle import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.data("x", [None, 1])
        ...     fork = fluid.layers.IfElse(x > 0.0)
        ...     with fork.true_block():
        ...         fork.output(fork.input(x) * 10.0)
        ...     with fork.false_block():
        ...         fork.output(fork.input(x) - 10.0)
        ...     fed = {"x": numpy.array([[1.0], [-1.0], [2.0]], "float32")}
        ...     fluid.Executor(fluid.CPUPlace()).run(feed=fed, fetch_list=fork())[0].tolist()
        [[10.0], [-11.0], [20.0]]
        >>> paddle.disable_static()
    """

    def __init__(self, cond: Any, name: str | None = None) -> None:
        begin_recording("fluid.layers.IfElse")
        if not isinstance(cond, Variable) or cond.raw.dtype is not torch.bool:
            raise DtypeError(f"IfElse: cond must be a bool Variable, but received {cond!r}")
        self._condition = cond
        self._split: dict[str, tuple[Any, Any]] = {}
        self._side: int | None = None  # while a block is recorded
        self._outputs: tuple[list[Any], list[Any]] = ([], [])

    def true_block(self) -> contextlib.AbstractContextManager[None]:
        """Record what is computed of the rows whose condition holds."""
        return self._block(0)

    def false_block(self) -> contextlib.AbstractContextManager[None]:
        """Record what is computed of the other rows."""
        return self._block(1)

    @contextlib.contextmanager
    def _block(self, side: int) -> Iterator[None]:
        self._side = side
        try:
            yield
            if not self._outputs[side]:
                raise UsageError("Must set output inside block")
        finally:
            self._side = None

    def input(self, x: Any) -> Any:
        """The rows of ``x`` that belong to this block."""
        side = self._require_side("input")
        if x.name not in self._split:
            self._split[x.name] = split_lod_tensor(x, self._condition)
        return self._split[x.name][side]

    def output(self, *outs: Any) -> None:
        """What this block computed; both blocks give equally many."""
        side = self._require_side("output")
        for out in outs:
            if not isinstance(out, Variable):
                raise DtypeError(f"Each output should be a variable, but received {out!r}")
        self._outputs[side].extend(outs)

    def __call__(self) -> list[Any]:
        """The outputs, with the rows in their old order."""
        if self._side is not None:
            raise UsageError("IfElse::__call__ must be out of sub-block")
        when_true, when_false = self._outputs
        if not when_true and not when_false:
            raise UsageError("Must invoke true_block/false_block before __call__")
        if not when_true or not when_false:
            return when_true or when_false
        if len(when_true) != len(when_false):
            raise UsageError("The output side must be same")
        mask = self._condition
        return [
            merge_lod_tensor(a, b, mask, mask) for a, b in zip(when_true, when_false, strict=True)
        ]

    def _require_side(self, call: str) -> int:
        if self._side is None:
            raise UsageError(f"IfElse.{call} must be called in a true_block or false_block")
        return self._side


class ConditionalBlock:
    """Runs a block if all of ``inputs`` have elements, or, with ``is_scalar_condition``, if the
    one element of the input is true.
    """

    def __init__(
        self, inputs: Sequence[Any], is_scalar_condition: bool = False, name: str | None = None
    ) -> None:
        begin_recording("fluid.layers.ConditionalBlock")
        for given in inputs:
            if not isinstance(given, Variable):
                raise DtypeError(
                    f"Each input should be a Variable, but received {type(given).__name__}"
                )
        self._inputs = list(inputs)
        self._is_scalar = is_scalar_condition

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Record what it does; variables made outside are written."""
        condition = self._condition()
        branches = Branches()
        with branches.branch():
            yield
        with branches.branch():
            pass
        names = ("the block", "what was before it")
        branches.finish([condition], [None, None], names, "ConditionalBlock")

    def _condition(self) -> Any:
        if self._is_scalar:
            return self._inputs[0]
        has_elements = [T.logical_not(T.is_empty(given)) for given in self._inputs]
        condition = has_elements[0]
        for other in has_elements[1:]:
            condition = T.logical_and(condition, other)
        return condition
