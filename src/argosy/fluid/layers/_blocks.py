"""``While`` and ``Switch``: blocks of 1.x that change the variables around them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from argosy.fluid._mode import begin_recording
from argosy.foundation.errors import DtypeError, ProgramError, UsageError
from argosy.static.ir.sub_blocks import Traffic
from argosy.static.ir.variable import Variable
from argosy.static.record.control import Branches, record_loop, sub_block
from argosy.static.record.recorder import recorder
from argosy.static.record.reinfer import settle


def _require_condition(call: str, cond: Any) -> Variable:
    if not isinstance(cond, Variable):
        raise DtypeError(
            f"{call}: condition should be a variable, but received {type(cond).__name__}"
        )
    if cond.raw.dtype is not torch.bool or cond.size not in (1, -1):
        raise DtypeError(
            f"{call}: condition should be a boolean variable of one element, but received {cond!r}"
        )
    return recorder.admit(cond)  # type: ignore[no-any-return]


class While:
    """Repeats a block while ``cond`` holds; the block must write ``cond``.

    Example:
        >>> import paddle
        >>> from paddle import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     i = fluid.layers.fill_constant([1], "int64", 0)
        ...     n = fluid.layers.fill_constant([1], "int64", 10)
        ...     cond = fluid.layers.less_than(i, n)
        ...     loop = fluid.layers.While(cond)
        ...     with loop.block():
        ...         _ = fluid.layers.increment(i)
        ...         _ = fluid.layers.less_than(i, n, cond=cond)
        ...     fluid.Executor(fluid.CPUPlace()).run(fetch_list=[i])
        [array([10])]
        >>> paddle.disable_static()
    """

    def __init__(self, cond: Any, is_test: bool = False, name: str | None = None) -> None:
        begin_recording("fluid.layers.While")
        self._condition = _require_condition("While", cond)

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Record what the loop does."""
        with sub_block() as block:
            yield
            if self._condition.name not in Traffic(block).writes:
                raise ProgramError(
                    f"While: the block does not write the condition {self._condition.name!r}, so "
                    "the loop would never end; "
                    "update it, as less_than(i, n, cond=cond) does"
                )
            settle(block, [])
        record_loop(block, self._condition, [], [])


class Switch:
    """Runs the first case whose condition holds, else the default; the blocks write variables made
    outside.

    Example:
        >>> import paddle
        >>> from paddle import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     step = fluid.layers.fill_constant([1], "float32", 5.0)
        ...     rate = fluid.layers.fill_constant([1], "float32", 0.0)
        ...     ten = fluid.layers.fill_constant([1], "float32", 10.0)
        ...     with fluid.layers.Switch() as switch:
        ...         with switch.case(step < ten):
        ...             _ = fluid.layers.assign(ten, rate)
        ...         with switch.default():
        ...             _ = fluid.layers.assign(step, rate)
        ...     fluid.Executor(fluid.CPUPlace()).run(fetch_list=[rate])
        [array([10.], dtype=float32)]
        >>> paddle.disable_static()
    """

    def __init__(self, name: str | None = None) -> None:
        begin_recording("fluid.layers.Switch")
        self._conditions: list[Variable] = []
        self._branches: Branches | None = None
        self._has_default = False

    def __enter__(self) -> Switch:
        self._branches = Branches()
        return self

    def __exit__(self, kind: Any, *exc: object) -> None:
        branches, self._branches = self._branches, None
        if kind is not None or branches is None or not self._conditions:
            return
        if not self._has_default:
            with branches.branch():
                pass
        names = [*[f"case {i} of Switch" for i in range(len(self._conditions))], "its default"]
        branches.finish(self._conditions, [None] * len(names), names, "Switch")

    @contextlib.contextmanager
    def case(self, condition: Any) -> Iterator[None]:
        """Record what happens if ``condition`` holds and that of no case before."""
        branches = self._require_open("case")
        if self._has_default:
            raise UsageError("Switch.case: it comes after default()")
        self._conditions.append(_require_condition("Switch.case", condition))
        with branches.branch():
            yield

    @contextlib.contextmanager
    def default(self) -> Iterator[None]:
        """Record what happens if no condition holds."""
        branches = self._require_open("default")
        if not self._conditions:
            raise UsageError("Switch.default: there should be at least one case before default")
        if self._has_default:
            raise UsageError("Switch.default: there is one already")
        self._has_default = True
        with branches.branch():
            yield

    def _require_open(self, call: str) -> Branches:
        if self._branches is None:
            raise UsageError(
                f"Switch.{call} should be called inside with: `with Switch() as switch:`"
            )
        return self._branches
