"""How the trainers of a program work together: what ``CompiledProgram._exchange`` may say.

A recorded program holds no communication. It comes in when the program is lowered: the exchange
puts operators between the recorded ones, whose ops are functions of its own that talk to the other
trainers. So a program means the same in one process, in a test copy, in a file, and on several
workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from argosy.ops.table import Op
from argosy.static.ir.operator import Operator
from argosy.static.parallel.trainers import SharedBuffer, Trainers

# Makes the op that combines the named gradients of all places and trainers; told whether a later
# operator overwrites one of them.
Combiner = Callable[[tuple[str, ...], bool], Op]


class Exchange:
    """Average the gradients of every run over the trainers. Subclasses do something else; all
    trainers must have the same.
    """

    # Whether an operator behind each backward of a loss combines gradients. It also adds them over
    # the places of this process.
    combines_gradients = True
    # Whether this process may run the program on several places. What exchanges more than gradients
    # takes a process for one of its parties.
    takes_places = True

    def operators(
        self, operators: list[Operator], fetches: Sequence[str], combiner: Combiner
    ) -> list[Operator]:
        """The operators to run in place of these, which have combined gradients already if it
        ``combines_gradients``.
        """
        return operators

    def function(self, op: Op) -> Callable[..., Any] | None:
        """What to call for an op of the table instead of its own function."""
        return None

    def buffer(
        self, trainers: Trainers, numel: int, dtype: torch.dtype, device: torch.device
    ) -> SharedBuffer:
        """Memory in which gradients are averaged."""
        return trainers.buffer(numel, dtype, device)

    def agree(self, tensors: Mapping[str, torch.Tensor], trainers: Trainers) -> None:
        """Before the first run: have all trainers start from the same values of the variables that
        the program reads.
        """
        trainers.broadcast(list(tensors.values()))
