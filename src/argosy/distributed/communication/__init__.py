"""``paddle.distributed.communication``: the module path of the collectives."""

from argosy.distributed import stream
from argosy.distributed._collectives import (
    P2POp,
    ReduceOp,
    all_gather,
    all_reduce,
    alltoall,
    alltoall_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    gather,
    irecv,
    isend,
    recv,
    reduce,
    reduce_scatter,
    scatter,
    send,
    wait,
)
from argosy.distributed._default import (
    destroy_process_group,
    get_backend,
    get_group,
    is_initialized,
)
from argosy.distributed._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
