"""Tools of ``paddle.distributed.fleet``: file systems, recomputation, averaging by hand."""

from argosy.distributed.fleet.recompute import recompute
from argosy.distributed.fleet.utils import fs, hybrid_parallel_util, log_util
from argosy.distributed.fleet.utils.fs import HDFSClient, LocalFS

__all__ = ["HDFSClient", "LocalFS", "recompute"]
