"""Recording of ``pylayer``: an operator with a block that computes its results, and another that
computes the gradients of its inputs from those of the results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from argosy.foundation.errors import UsageError
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, SubBlock
from argosy.static.ir.sub_blocks import bind
from argosy.static.ir.variable import Known, Variable
from argosy.static.record.control import sub_block
from argosy.static.record.recorder import recorder
from argosy.static.record.reinfer import Environment, Inference, join_writes, known_in, reinfers
from argosy.tensor.engine import unique_name


class RecordedLayer:
    """The operator while its blocks are recorded, the forward one first."""

    def __init__(self, inputs: Sequence[Variable]) -> None:
        self.inputs = [recorder.admit(v) for v in inputs]
        self.operator: Operator | None = None
        self.outputs: list[Variable] = []

    def finish_forward(
        self, block: Block, results: list[Variable], outputs: list[Variable]
    ) -> None:
        """Record the operator, whose ``outputs`` are what the block leaves in ``results``."""
        self.outputs = outputs
        self.operator = recorder.append(
            recorder.main.current_block(),
            "pylayer",
            None,
            (list(self.inputs), []),
            {"forward": SubBlock(block.idx, tuple(v.name for v in results))},
            [list(outputs), []],
        )
        join_writes([block], ["the forward block"])
        bind(self.operator)
        for variable in outputs:  # until there is a backward block
            variable.know(variable.kind, True)

    @contextlib.contextmanager
    def backward(self, into: list[Variable | None]) -> Iterator[list[Variable]]:
        """Record the backward block, given the gradients of the outputs; ``into`` takes those of
        the inputs, None for what gets none.
        """
        assert self.operator is not None  # the forward block comes first
        with sub_block() as block:
            grads = [_gradient_in(block, variable) for variable in self.outputs]
            yield grads
            if len(into) != len(self.inputs):
                raise UsageError(
                    "static_pylayer: backward_fn must return a gradient for each of "
                    f"{len(self.inputs)} inputs, but returned {len(into)}"
                )
        self.operator.kwargs |= {
            "backward": SubBlock(block.idx, tuple(v.name for v in into if v is not None)),
            "grads": [v.name for v in grads],
            "taken": [i for i, v in enumerate(into) if v is not None],
        }
        bind(self.operator)
        passes = any(not v.stop_gradient for v in self.inputs)
        for variable in self.outputs:
            is_number = variable.raw.is_floating_point() or variable.raw.is_complex()
            variable.know(variable.kind, not (passes and is_number))
        recorder.main.changed()


def _gradient_in(block: Block, output: Variable) -> Variable:
    """What stands for the gradient of an output in the backward block: it is given to it."""
    kind = output.kind
    name = unique_name.generate("pylayer_gradient")
    return block.add_variable(Variable(block, name, kind.first, kind.second, is_data=True))


def result_like(value: Variable) -> Variable:
    """A new variable of the current block for what an inner one computes."""
    block = recorder.main.current_block()
    kind = value.kind
    name = unique_name.generate(f"{unique_name.generate('static_pylayer')}.tmp")
    return block.add_variable(Variable(block, name, kind.first, kind.second))


@reinfers("pylayer")
def _reinfer_pylayer(inference: Inference, operator: Operator, env: Environment) -> None:
    """The backward block keeps the shapes with which it was recorded: those that are not known then
    are not known later.
    """
    block, sub = operator.sub_blocks[0], operator.kwargs["forward"]
    end = inference.after(block, env)
    env.update((name, end[name]) for name in block.known if name in end)
    for ref, name in zip(operator.out[0], sub.results, strict=True):
        stops = known_in(env, operator.block, ref.name).stops
        env[ref.name] = Known(known_in(end, block, name).kind, stops)
