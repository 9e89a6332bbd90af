"""The startup program of several workers: parameters get the values of worker 0 as soon as all are
filled.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.distributed.fleet.stages.programs.workers import Workers
from argosy.ops.table import Op
from argosy.runtime.parallel import agreement
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.static import Program
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.rewritten import Rewritten
from argosy.static.parallel.exchange import Combiner, Exchange

__all__ = ["EqualStart"]


class EqualStart(Exchange):
    """For the startup program of ``main``. What is made of parameters (float32 masters) is made of
    the common values.
    """

    def __init__(self, workers: Workers, main: Program) -> None:
        self._job_workers = workers
        self._main = main

    def operators(
        self, operators: list[Operator], fetches: Sequence[str], combiner: Combiner
    ) -> list[Operator]:
        wanted = {p.name for p in self._main.all_parameters()}
        op = Op("broadcast_parameters_", self._broadcast, mutates=("values",))
        result: list[Operator] = []
        filled: dict[str, Ref] = {}

        def meet(origin: Operator) -> None:
            if filled:
                refs = list(filled.values())
                result.append(
                    Rewritten(origin, type=op.name, op=op, args=(refs,), kwargs={}, out=refs)
                )
                filled.clear()

        for operator in operators:
            if filled.keys() & set(operator.input_arg_names):
                meet(operator)
            result.append(operator)
            filled.update({name: Ref(name) for name in operator.output_arg_names if name in wanted})
        if operators:
            meet(operators[-1])
        return result

    @torch.no_grad()
    def _broadcast(self, values: list[torch.Tensor]) -> None:
        lines = [agreement.describe("parameter", value) for value in values]
        what = "the workers' startup programs fill different parameters"
        group = self._job_workers.group
        group.run(agreement.check_same, lines, group.transport, what)
        group.run(broadcast_values, values, group.transport, 0)
