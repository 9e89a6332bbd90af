"""``fleet.layers.mpu.mp_ops``: what layers whose weights lie on several ranks are made of.

A function takes the group, by default that of all ranks; with one rank it computes nothing. A
process that is not in the group gets None.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication import gradients
from argosy.distributed.communication.reduce import ReduceOp
from argosy.distributed.job import job
from argosy.foundation.errors import BadArgument, NotSupported
from argosy.nn import functional as F
from argosy.tensor import logical_and, unsqueeze, where, zeros_like


def _size(group: Any) -> int:
    """How many ranks the group has; 0 if this process is not one of them."""
    chosen = job.world if group is None else group
    if chosen is None:
        return 1
    return chosen.nranks if chosen.has_me else 0


def _group(group: Any) -> Any:
    return job.world if group is None else group


def _c_identity(tensor: Any, group: Any = None, skip_c_identity_dynamic: bool = False) -> Any:
    """The tensor; its gradient is the sum of those of all ranks."""
    if _size(group) < 2:
        return tensor if _size(group) else None
    return gradients.copied(tensor, _group(group).id)


def _mp_allreduce(
    tensor: Any,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    use_calc_stream: bool = True,
    use_model_parallel: bool = True,
    skip_c_identity_dynamic: bool = False,
) -> Any:
    """The sum of the ranks' tensors, whose gradient is passed on as it is. The other arguments
    only tune.
    """
    if op != ReduceOp.SUM:
        raise BadArgument(f"_mp_allreduce: Unknown parameter: op must be SUM, but is {op}.")
    if _size(group) < 2:
        return tensor if _size(group) else None
    return gradients.reduced(tensor, _group(group).id)


def _c_concat(tensor: Any, group: Any = None) -> Any:
    """The ranks' tensors side by side along the last axis."""
    if _size(group) < 2:
        return tensor if _size(group) else None
    known = _group(group)
    return gradients.all_parts(tensor, known.id, known.rank, known.nranks, -1)


def _c_split(tensor: Any, group: Any = None) -> Any:
    """This rank's part of the tensor, cut along the last axis."""
    if _size(group) < 2:
        return tensor if _size(group) else None
    known = _group(group)
    return gradients.own_part(tensor, known.id, known.rank, known.nranks, -1)


def _c_softmax_with_cross_entropy(
    logits: Any,
    label: Any,
    group: Any = None,
    return_softmax: bool = False,
    ignore_index: int = -100,
) -> Any:
    """The cross entropy of each position; all classes must be on one rank."""
    size = _size(group)
    if size == 0:
        return None
    if size > 1:
        raise NotSupported(
            f"_c_softmax_with_cross_entropy: classes that lie on {size} ranks are not supported"
        )
    if len(label.shape) == len(logits.shape) - 1:
        label = unsqueeze(label, -1)
    if list(label.shape[:-1]) != list(logits.shape[:-1]):
        raise BadArgument(
            "_c_softmax_with_cross_entropy: the label has shape "
            f"{list(label.shape)}, which does not fit logits of shape {list(logits.shape)}"
        )
    return F.softmax_with_cross_entropy(
        logits, label, ignore_index=ignore_index, return_softmax=return_softmax
    )


def _c_lookup_table(
    table: Any, index: Any, start_index: int = 0, vocab_size: int = -1, name: str | None = None
) -> Any:
    """The rows of ``table``, which has the ids from ``start_index`` on; zeros for ids of others, so
    that the sum over the ranks is the lookup in the whole table.

    ``vocab_size``, the rows of the whole table, is not needed on a CPU, as in Paddle.
    """
    local = index - start_index
    is_here = logical_and(local >= 0, local < table.shape[0])
    rows = F.embedding(where(is_here, local, zeros_like(local)), table)
    return rows * is_here.unsqueeze(-1).cast(table.dtype)
