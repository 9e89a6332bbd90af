"""paddle.distributed.spawn."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from argosy.device import device_count, get_device
from argosy.foundation.errors import UsageError, nearest
from argosy.runtime.comm import hosts

if TYPE_CHECKING:
    from argosy.runtime.launch.spawn import SpawnContext

__all__ = ["spawn"]

_OPTIONS = ("start_method", "gpus", "xpus", "ips", "backend", "print_config")
_DEPRECATED = (
    "selected_devices",
    "selected_gpus",
    "started_port",
    "cluster_node_ips",
    "node_ip",
    "use_paddlecloud",
)


def spawn(
    func: Callable[..., Any],
    args: Any = (),
    nprocs: int = -1,
    join: bool = True,
    daemon: bool = False,
    **options: Any,
) -> SpawnContext:
    """Run ``func(*args)`` in ``nprocs`` processes that can call ``init_parallel_env``.

    ``nprocs=-1`` means one per GPU, on the CPU one per core. With ``join`` it returns when all have
    ended; an exception of a process is raised here with its traceback. The returned context has
    ``processes``, ``return_queues`` (one result each) and ``join(timeout)``. ``func`` must be
    importable from the main module's file, so call spawn under ``if __name__ == '__main__'``.
    """
    # scripts that only import paddle do not pay for the launcher
    from argosy.runtime.launch.spawn import start

    _check_options(options)
    gpus = options.get("gpus") or options.get("selected_gpus") or options.get("selected_devices")
    named = [part.strip() for part in str(gpus).split(",")] if gpus is not None else []
    if nprocs == -1:
        nprocs = len(named) or (device_count() if get_device() != "cpu" else os.cpu_count() or 1)
    if nprocs < 1:
        raise UsageError(f"spawn: nprocs must be -1 or at least 1, but is {nprocs}")
    if named and len(named) != nprocs:
        raise UsageError(
            f"spawn: {len(named)} cards ({gpus}) were named for {nprocs} processes; the numbers "
            "must be equal"
        )
    backend = options.get("backend", "auto")
    _check_backend(backend)
    context = start(
        func,
        args if isinstance(args, (tuple, list)) else (args,),
        nprocs,
        daemon=daemon,
        start_method=options.get("start_method") or "spawn",
        backend=backend,
        devices=named,
    )
    if join:
        context.join()
    return context


def _check_backend(backend: str) -> None:
    try:
        hosts.choose(backend, ["here", "here"], is_cuda=False)
    except UsageError as error:
        # scripts compare the very class, not only whether it is one
        raise ValueError(f"spawn: {error}") from error


def _check_options(options: dict[str, Any]) -> None:
    for name in options:
        if name in _DEPRECATED:
            warnings.warn(
                f"spawn: the option {name!r} is deprecated", DeprecationWarning, stacklevel=3
            )
        elif name not in _OPTIONS:
            raise UsageError(
                f"spawn: the config option ({name}) is not supported.{nearest(name, _OPTIONS)}"
            )
    ips = options.get("ips")
    if ips is not None and ips not in ("127.0.0.1", "localhost"):
        raise UsageError(
            f"spawn: starts processes on this host only, but ips={ips!r}; use "
            "paddle.distributed.launch on each host"
        )
