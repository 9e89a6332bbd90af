"""What hooks of a predictor are shown: what each operator reads and writes.

A program is lowered to one function, in which operators may be joined and values are gone after
their last use. So a predictor with hooks runs another lowering, which returns all of them, and the
hooks are called when it has ended, in the order of the operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from argosy.inference.model import Model
from argosy.static.lower.lowering import lower
from argosy.static.run.call import run_lowered
from argosy.tensor.engine import Tensor, wrap

# type of the operator, name of the variable, its value
Hook = Callable[[str, str, Tensor], object]


class Observation:
    """A model, run so that everything it computes is seen."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._operators = model.program.global_block().ops
        written = [name for o in self._operators for name in o.output_arg_names]
        self._names = list(dict.fromkeys(written))
        program, device = model.program, model.place.device
        self._lowered = lower(program, model.inputs, self._names, device)

    def show(
        self, fed: dict[str, Any], inputs: Sequence[Hook], outputs: Sequence[Hook], call: str
    ) -> None:
        """Run on what is fed, and call ``inputs`` with what each operator read, ``outputs`` with
        what it wrote.
        """
        model, lowered = self._model, self._lowered
        given = lowered.given(fed, model.place.device)
        fetched = run_lowered(lowered, given, model.scope, model.place.device, call)
        values = {**fed, **dict(zip(self._names, fetched, strict=False))}
        for operator in self._operators:
            for hooks, names in (
                (inputs, operator.input_arg_names),
                (outputs, operator.output_arg_names),
            ):
                for name, value in self._found(names, values):
                    for hook in hooks:
                        hook(operator.type, name, wrap(value))

    def _found(
        self, names: Sequence[str], values: dict[str, Any]
    ) -> Iterator[tuple[str, torch.Tensor]]:
        for name in names:
            held = values.get(name)
            if held is None and (kept := self._model.scope.find_var(name)) is not None:
                held = kept.tensor
            if isinstance(held, torch.Tensor):
                yield name, held.clone()  # the hook may write to it
