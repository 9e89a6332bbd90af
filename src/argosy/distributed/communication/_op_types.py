"""Paddle's types of collective operators, for programs that add them by hand (``append_op``).

Their attribute ``ring_id`` is the number of a group. Those of 2.6 on have small letters for their
slots.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication import _programs
from argosy.runtime.comm.backend import BITWISE, ReduceOp
from argosy.static.record import op_types
from argosy.tensor import concat, split


@op_types.define("all_reduce", outputs=("out",))
def _all_reduce(x: Any, ring_id: int = 0, reduce_type: int = 0) -> Any:
    return _programs.reduced(x, ring_id, ReduceOp(reduce_type))


@op_types.define("reduce", outputs=("out",))
def _reduce(x: Any, ring_id: int = 0, root_id: int = 0, reduce_type: int = 0) -> Any:
    return _programs.reduced_on(x, ring_id, root_id, ReduceOp(reduce_type))


@op_types.define("broadcast", outputs=("out",))
def _broadcast(x: Any, ring_id: int = 0, root: int = 0) -> Any:
    return _programs.of_root(x, ring_id, root)


@op_types.define("all_gather", outputs=("out",))
def _all_gather(x: Any, ring_id: int = 0, nranks: int = 1) -> Any:
    return concat(_programs.gathered(x, ring_id, nranks), axis=0)


@op_types.define("reduce_scatter", outputs=("out",))
def _reduce_scatter(x: Any, ring_id: int = 0, nranks: int = 1) -> Any:
    return _programs.reduced_part(x, ring_id, nranks, ReduceOp.SUM)


@op_types.define("all_to_all", outputs=("out",))
def _all_to_all(x: Any, ring_id: int = 0) -> Any:
    nranks = _programs.group_of(ring_id).nranks
    return concat(_programs.exchanged(split(x, nranks, axis=0), ring_id), axis=0)


@op_types.define("c_broadcast")
def _c_broadcast(X: Any, ring_id: int = 0, root: int = 0) -> Any:
    return _broadcast(X, ring_id, root)


@op_types.define("c_allgather")
def _c_allgather(X: Any, ring_id: int = 0, nranks: int = 1) -> Any:
    return _all_gather(X, ring_id, nranks)


@op_types.define("c_reducescatter")
def _c_reducescatter(X: Any, ring_id: int = 0, nranks: int = 1) -> Any:
    return _reduce_scatter(X, ring_id, nranks)


@op_types.define("c_scatter")
def _c_scatter(X: Any, ring_id: int = 0, root: int = 0, nranks: int = 1) -> Any:
    return _programs.part_of_root(X, ring_id, root, nranks)


@op_types.define("alltoall")
def _alltoall(X: Any, ring_id: int = 0) -> Any:
    return _all_to_all(X, ring_id)


@op_types.define("c_identity", "c_sync_calc_stream", "c_sync_comm_stream")
def _as_it_is(X: Any, ring_id: int = 0) -> Any:
    return X


def _define_reductions(op: ReduceOp) -> None:
    @op_types.define(f"c_allreduce_{op.name.lower()}")
    def all_reduce(X: Any, ring_id: int = 0) -> Any:
        return _programs.reduced(X, ring_id, op)

    @op_types.define(f"c_reduce_{op.name.lower()}")
    def reduce(X: Any, ring_id: int = 0, root_id: int = 0) -> Any:
        return _programs.reduced_on(X, ring_id, root_id, op)


for _op in ReduceOp:
    if _op not in BITWISE:  # Paddle has none
        _define_reductions(_op)
