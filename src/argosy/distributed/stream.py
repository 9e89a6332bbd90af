"""``paddle.distributed.stream``: the collectives with a choice of stream.

``use_calc_stream=True`` needs ``sync_op=True``, as in Paddle; on the CPU both streams are one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from argosy.distributed import _collectives as plain
from argosy.foundation.errors import UsageError

__all__ = ["all_gather", "all_reduce", "alltoall", "alltoall_single", "broadcast", "gather", "recv", "reduce", "reduce_scatter", "scatter", "send"]


class StreamChoice(UsageError, RuntimeError):
    """The calculation stream was chosen for a collective that is not waited for."""


def _on_stream(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def wrapped(*args: Any, sync_op: bool = True, use_calc_stream: bool = False, **kwargs: Any) -> Any:
        if use_calc_stream and not sync_op:
            raise StreamChoice(f"stream.{call.__name__}: use_calc_stream can only be true in sync op behavior.")
        return call(*args, sync_op=sync_op, **kwargs)

    return wrapped


all_gather = _on_stream(plain.all_gather)
all_reduce = _on_stream(plain.all_reduce)
alltoall = _on_stream(plain.alltoall)
alltoall_single = _on_stream(plain.alltoall_single)
broadcast = _on_stream(plain.broadcast)
gather = _on_stream(plain.gather)
recv = _on_stream(plain.recv)
reduce = _on_stream(plain.reduce)
reduce_scatter = _on_stream(plain.reduce_scatter)
scatter = _on_stream(plain.scatter)
send = _on_stream(plain.send)
