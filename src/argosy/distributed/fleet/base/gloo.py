"""``core.Gloo``: a few numbers, exchanged by processes that meet in a folder."""

from __future__ import annotations

import os
import socket
import weakref
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from argosy.foundation.errors import ConfigError, NotSupported, UsageError
from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.backends.torch_pg import TorchBackend

__all__ = ["Gloo"]

_MODES = {"sum": ReduceOp.SUM, "max": ReduceOp.MAX, "min": ReduceOp.MIN}


class Gloo:
    """One of ``size`` processes. Call the setters, then ``init``; every process of the group calls
    the rest alike.

    They meet in a folder that all of them see (``set_hdfs_store`` without a file system's name),
    which must be new for each group: what lies there of an older one would be taken for an answer.

    Example:
        >>> from paddle.fluid import core
        >>> gloo = core.Gloo()
        >>> gloo.set_rank(0)
        >>> gloo.set_size(1)
        >>> gloo.init()
        >>> gloo.all_reduce([1, 2], "sum"), gloo.all_gather(0.5)
        ([1, 2], [0.5])
    """

    def __init__(self) -> None:
        self._rank, self._size = 0, 1
        self._prefix, self._iface, self._path = "", "lo", ""
        self._timeout_s = 1800.0
        self._transport: Backend | None = None

    def set_rank(self, rank: int) -> None:
        self._rank = int(rank)

    def set_size(self, size: int) -> None:
        self._size = int(size)

    def set_prefix(self, prefix: str) -> None:
        """Tell groups that meet in one folder apart."""
        self._prefix = prefix

    def set_iface(self, iface: str) -> None:
        """The network: "lo" stays on this host; "" is the address of the host's name."""
        if iface not in ("lo", ""):
            raise NotSupported(f"Gloo.set_iface: {iface!r}; 'lo' and '' are supported")
        self._iface = iface

    def set_timeout_seconds(self, init_seconds: int, run_seconds: int) -> None:
        """How long to wait for the others. Joining and running have one deadline here, the shorter
        of the two.
        """
        self._timeout_s = float(min(init_seconds, run_seconds))

    def set_hdfs_store(self, path: str, fs_name: str, fs_ugi: str) -> None:
        """Meet in the folder ``path``."""
        if fs_name or fs_ugi:
            raise NotSupported("Gloo.set_hdfs_store: only a folder of this host is supported")
        self._path = path

    def set_http_store(self, ip: str, port: int, scope: str) -> None:
        raise NotSupported("Gloo.set_http_store: processes meet in a folder, set_hdfs_store")

    def init(self) -> None:
        """Join the others."""
        if not 0 <= self._rank < self._size:
            raise UsageError(f"Gloo.init: rank {self._rank} is not below size {self._size}")
        if self._size == 1:
            self._transport = LoopbackBackend()
            return
        if not self._path:
            raise ConfigError("Gloo.init: call set_hdfs_store(path, '', '') first")
        os.makedirs(self._path, exist_ok=True)
        name = f"gloo-{self._prefix}"
        path = os.path.join(self._path, name)
        store = dist.FileStore(path, self._size)  # type: ignore[attr-defined]
        self._transport = TorchBackend(
            "gloo", name, self._rank, self._size, store, self._timeout_s, self._address()
        )
        # Paddle's has no end of its own
        weakref.finalize(self, self._transport.close).atexit = False

    def _address(self) -> str:
        return "127.0.0.1" if self._iface == "lo" else socket.gethostbyname(socket.gethostname())

    def _joined(self) -> Backend:
        if self._transport is None:
            raise ConfigError("Gloo: call init() first")
        return self._transport

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return self._size

    def barrier(self) -> None:
        """Wait until every process is here."""
        self._joined().barrier()

    def all_reduce(self, input: Sequence[Any], mode: str = "sum") -> list[Any]:
        """The element-wise sum, max or min of a list of numbers over the processes."""
        if mode not in _MODES:
            raise UsageError(f"Gloo.all_reduce: mode must be 'sum', 'max' or 'min', not {mode!r}")
        total = _tensor(input)
        self._joined().all_reduce(total, _MODES[mode])
        found: list[Any] = total.tolist()
        return found

    def all_gather(self, input: Any) -> list[Any]:
        """The numbers of all processes, in order of rank."""
        mine = _tensor([input])
        found = [torch.empty_like(mine) for _ in range(self._size)]
        self._joined().all_gather(found, mine)
        return [value.item() for value in found]


def _tensor(values: Sequence[Any]) -> torch.Tensor:
    is_float = any(isinstance(value, float) for value in values)
    return torch.tensor(list(values), dtype=torch.float64 if is_float else torch.int64)
