"""What an initialiser adds to a block: the operator that fills a variable, and a cast where the
values are made in another dtype.
"""

from __future__ import annotations

from typing import Any

from argosy.ops.array.manipulation import cast
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.owner import OwningBlock
from argosy.static.ir.variable import Variable, samples
from argosy.tensor.engine import unique_name


def fill(block: OwningBlock, variable: Variable, initializer: Any) -> list[Operator]:
    """Add the operators that fill ``variable``; returns them."""
    shape, dtype = list(variable.shape), variable.raw.dtype
    made = initializer.made_in(dtype)
    op, attrs = initializer.seeded_plan(shape, made, block.program.seed)
    name = variable.name
    if made is not dtype:
        name = unique_name.generate(f"{op.name}.{name}.tmp")
        block.add_variable(Variable(block, name, samples(shape, made)[0]))
    added = [Operator(block, op.name, op, (), attrs, Ref(name))]
    block.insert_operator(0 if initializer.goes_first else len(block.ops), added[0])
    if made is not dtype:
        attrs = {"dtype": dtype}
        added.append(Operator(block, cast.name, cast, (Ref(name),), attrs, Ref(variable.name)))
        block.append_operator(added[1])
    return added
