"""Collectives inside a program, under the names by which scripts of 1.x call them.

``ring_id`` is the number of a group; all ranks are group 0. There are no streams here, so
``use_calc_stream`` and ``sync_mode`` change nothing, and what orders streams gives back its
argument.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication import gradients
from argosy.fluid.layers.tensor import assign
from argosy.foundation.errors import DtypeError, UsageError
from argosy.static.ir.variable import Variable
from argosy.static.record.append_op import compute_op

_REDUCTIONS = ("sum", "prod", "max", "min")


def _allreduce(x: Any, out: Any = None, reduce_type: str = "sum", sync_mode: bool = False) -> Any:
    """``x`` of all ranks combined, of which no gradient is known."""
    made = _c_allreduce(x, out, reduce_type)
    made.stop_gradient = True
    return made


def _broadcast(x: Any, root: int, sync_mode: bool = False) -> Any:
    """Let ``x`` be that of rank ``root``."""
    return _c_broadcast(x, root)


def _c_allreduce(
    x: Any,
    out: Any = None,
    reduce_type: str = "sum",
    ring_id: int = 0,
    use_calc_stream: bool = False,
) -> Any:
    """``x`` of all ranks combined, in ``out`` if it is given; gradients of a sum are added."""
    if reduce_type not in _REDUCTIONS:
        raise DtypeError(
            f"_c_allreduce: reduce_type is {reduce_type!r}; expected one of {list(_REDUCTIONS)}"
        )
    if reduce_type == "sum":
        made = gradients.summed(x, ring_id)
    else:
        [made] = compute_op(f"c_allreduce_{reduce_type}", {"X": x}, {"ring_id": ring_id})
    return made if out is None else assign(made, out)


def _c_broadcast(x: Any, root: int = 0, ring_id: int = 0, use_calc_stream: bool = False) -> Any:
    """Let ``x`` be that of rank ``root``."""
    [made] = compute_op("c_broadcast", {"X": x}, {"ring_id": ring_id, "root": root})
    return assign(made, x)


def _c_allgather(x: Any, nranks: int, ring_id: int = 0, use_calc_stream: bool = False) -> Any:
    """The rows of ``x`` of all ``nranks`` ranks."""
    return gradients.joined(x, ring_id, nranks)


def _c_reducescatter(x: Any, nranks: int, ring_id: int = 0, use_calc_stream: bool = False) -> Any:
    """This rank's part of the rows of ``x``, added over the ranks."""
    if not isinstance(x, Variable):
        raise DtypeError(f"_c_reducescatter: x must be a Variable, but is {type(x).__name__}")
    if x.shape[0] > 0 and x.shape[0] % nranks:
        raise UsageError(
            f"_c_reducescatter: {x.shape[0]} rows cannot be divided among {nranks} ranks; expected "
            "a multiple of their number"
        )
    return gradients.part_of_sum(x, ring_id, nranks)


def _c_sync_calc_stream(x: Any) -> Any:
    """``x``: computation here is done when it is read."""
    return x


def _c_sync_comm_stream(x: Any, ring_id: int) -> Any:
    """``x``: a collective here is done when its result is read."""
    return x
