"""Row-sparse gradients in a program: which variables may hold one, and which operators take it as
it is.

The gradient of a table that only ``embedding(sparse=True)`` reads holds the rows that a run looked
up. It stays so on its way through clipping to an update that knows rows; every other reader, and a
fetch, gets it dense.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.ops.nn.embedding import embedding_renorm_
from argosy.ops.traits import SparseGradients
from argosy.static.ir.operator import FORWARD, Operator, names_in


def takes_rows(operator: Operator) -> bool:
    """Whether an operator works on row-sparse gradients."""
    return (
        operator.op is not None
        and operator.op.traits.sparse_gradients is not SparseGradients.MADE_DENSE
    )


def passes_rows_on(operator: Operator) -> bool:
    """Whether each result of an operator is as row-sparse as the gradient at its place in the first
    argument.
    """
    return (
        operator.op is not None and operator.op.traits.sparse_gradients is SparseGradients.PASSED_ON
    )


def row_names(operators: Sequence[Operator]) -> set[str]:
    """The gradients that may be row-sparse when the operators run."""
    tables = _tables(operators)
    found: set[str] = set()
    for operator in operators:
        outputs = operator.output_arg_names
        if operator.takes_gradients:
            pairs = zip(names_in(operator.args[1]), outputs, strict=True)
            found.update(grad for name, grad in pairs if name in tables)
        elif passes_rows_on(operator):
            pairs = zip(names_in(operator.args[0]), outputs, strict=True)
            found.update(clipped for grad, clipped in pairs if grad in found)
    return found


def _tables(operators: Sequence[Operator]) -> set[str]:
    """What sparse lookups read, and nothing else that a gradient comes from."""
    sparse: set[str] = set()
    others: set[str] = set()
    for operator in operators:
        if operator.role != FORWARD or operator.op is embedding_renorm_:  # has no gradient
            continue
        is_lookup = operator.op is not None and operator.op.traits.is_lookup
        if is_lookup and operator.attrs.get("sparse") is True:
            sparse.update(operator.inputs.get("weight", ()))
        else:
            others.update(operator.input_arg_names)
    return sparse - others


def dense(value: torch.Tensor) -> torch.Tensor:
    """A gradient with every row."""
    return value.to_dense() if value.is_sparse else value
