"""Row-sparse gradients in a program: which variables may hold one, and which operators take it as
it is.

The gradient of a table that only ``embedding(sparse=True)`` reads holds the rows that a run looked
up. It stays so on its way through clipping to an update that knows rows; every other reader, and a
fetch, gets it dense.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.static.ir.operator import FORWARD, Operator, names_in

_UPDATES = {"sgd_sparse_", "adagrad_sparse_", "adam_sparse_"}
CLIPS = {"clip_grads_by_value", "clip_grads_by_norm", "clip_grads_by_global_norm"}
_SCALERS = {"unscale_gradients", "update_loss_scaling_"}
_COMBINERS = {"combine_gradients"}  # of the places of a run
_READERS = {"embedding_renorm_"}  # of a table, without a gradient


def takes_rows(operator: Operator) -> bool:
    """Whether an operator works on row-sparse gradients."""
    return operator.op is not None and operator.op.name in _UPDATES | CLIPS | _SCALERS | _COMBINERS


def row_names(operators: Sequence[Operator]) -> set[str]:
    """The gradients that may be row-sparse when the operators run."""
    tables = _tables(operators)
    found: set[str] = set()
    for operator in operators:
        outputs = operator.output_arg_names
        if operator.takes_gradients:
            pairs = zip(names_in(operator.args[1]), outputs, strict=True)
            found.update(grad for name, grad in pairs if name in tables)
        elif operator.op is not None and operator.op.name in CLIPS:
            pairs = zip(names_in(operator.args[0]), outputs, strict=True)
            found.update(clipped for grad, clipped in pairs if grad in found)
    return found


def _tables(operators: Sequence[Operator]) -> set[str]:
    """What sparse lookups read, and nothing else that a gradient comes from."""
    sparse: set[str] = set()
    others: set[str] = set()
    for operator in operators:
        if operator.role != FORWARD or (operator.op is not None and operator.op.name in _READERS):
            continue
        is_lookup = (
            operator.op is not None
            and operator.op.name == "embedding"
            and operator.attrs.get("sparse") is True
        )
        if is_lookup:
            sparse.update(operator.inputs.get("weight", ()))
        else:
            others.update(operator.input_arg_names)
    return sparse - others


def dense(value: torch.Tensor) -> torch.Tensor:
    """A gradient with every row."""
    return value.to_dense() if value.is_sparse else value
