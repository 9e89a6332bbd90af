"""``paddle.distributed.communication``: the collectives, one module each."""

from argosy.distributed.communication import _op_types, stream  # types of operators
from argosy.distributed.communication.all_gather import all_gather, all_gather_object
from argosy.distributed.communication.all_reduce import all_reduce
from argosy.distributed.communication.all_to_all import alltoall, alltoall_single
from argosy.distributed.communication.batch_isend_irecv import P2POp, batch_isend_irecv
from argosy.distributed.communication.broadcast import broadcast, broadcast_object_list
from argosy.distributed.communication.gather import gather, gather_object
from argosy.distributed.communication.group import (
    barrier,
    destroy_process_group,
    get_backend,
    get_group,
    is_initialized,
    wait,
)
from argosy.distributed.communication.recv import irecv, recv, recv_object_list
from argosy.distributed.communication.reduce import ReduceOp, reduce
from argosy.distributed.communication.reduce_scatter import reduce_scatter
from argosy.distributed.communication.scatter import scatter, scatter_object_list
from argosy.distributed.communication.send import isend, send, send_object_list
