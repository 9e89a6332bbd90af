"""Tools of ``paddle.distributed.fleet``: file systems, recomputation, averaging by hand."""

from argosy.distributed.fleet.recompute import recompute
from argosy.distributed.fleet.utils import fs, hybrid_parallel_util, log_util, ps_util
from argosy.distributed.fleet.utils.fs import HDFSClient, LocalFS
from argosy.distributed.fleet.utils.ps_util import DistributedInfer

__all__ = ["DistributedInfer", "HDFSClient", "LocalFS", "recompute"]
