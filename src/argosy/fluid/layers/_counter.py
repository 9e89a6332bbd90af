"""Counters of runs: variables that a program increments each time before anything else happens."""

from __future__ import annotations

from typing import Any

import torch

from argosy import tensor as T
from argosy.fluid._mode import records
from argosy.foundation.errors import UsageError
from argosy.static.record.recorder import recorder


def autoincreased_step_counter(
    counter_name: str | None = None, begin: int = 1, step: int = 1
) -> Any:
    """The int64 variable of this name that grows by ``step`` with each run, of a test copy too,
    from ``begin - 1``; made at the first call.

    Example:
        >>> import paddle.fluid as fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     steps = fluid.layers.autoincreased_step_counter()
        >>> exe = fluid.Executor(fluid.CPUPlace())
        >>> _ = exe.run(startup)
        >>> [exe.run(main, fetch_list=[steps])[0].item() for _ in range(3)]
        [1, 2, 3]
        >>> paddle.disable_static()
    """
    if not records():
        raise UsageError(
            "fluid.layers.autoincreased_step_counter: counts the runs of static programs; there "
            "is none in dygraph"
        )
    name = counter_name or "@STEP_COUNTER@"
    block = recorder.main.global_block()
    if block.has_var(name):
        return block.var(name)
    counter = recorder.new_state(name, [1], torch.int64, begin - 1)
    num_before = len(block.ops)
    with block.program.in_block(block.idx):
        T.increment(counter, step)
    block.ops[:] = [*block.ops[num_before:], *block.ops[:num_before]]
    return counter
