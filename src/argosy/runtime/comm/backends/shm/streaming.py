"""Copies that go past the caches, straight to memory.

A rank that writes where another has read must first take each cache line away from it, and waits
for that, line after line: on one machine a copy of 1 MB into a buffer that the other rank had read
took 124 us, where one that nobody else reads takes 18. Stores that bypass the cache are not waited
for, and leave no line that somebody would have to take away later: the same copy took 19 us, and
the other rank read it in 30 us instead of 27.

Where memory is slow and taking lines away is not, it is the other way round: a group tries both
after its first large collective (``ShmBackend``).

What was streamed is seen by whoever sees a flag that was set after it: ``sync.publish`` orders it.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-call,call-arg"
from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

from argosy.runtime.comm.backends.shm.sync import pointer_at

_LINE = 64  # bytes that are stored at once, at a multiple of it
_BYTES = np.empty(0, np.uint8)


@intrinsic
def _stream_line(typing_context: Any, target: Any, source: Any) -> Any:
    """Copy the bytes of a line from ``source`` to ``target``, where a line begins."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.VectorType(ir.IntType(64), _LINE // 8).as_pointer()
        line = builder.load(builder.inttoptr(args[1], pointer), align=1)
        stored = builder.store(line, builder.inttoptr(args[0], pointer), align=_LINE)
        hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        stored.set_metadata("nontemporal", hint)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@numba.njit(nogil=True, cache=True)
def stream_copy(target: int, source: int, num_bytes: int) -> None:
    """Copy ``num_bytes`` from address ``source`` to address ``target``; whole lines of the target
    are streamed.
    """
    first = min(-target % _LINE, num_bytes)
    last = first + (num_bytes - first) // _LINE * _LINE
    _copy(target, source, first)
    for offset in range(first, last, _LINE):
        _stream_line(target + offset, source + offset)
    _copy(target + last, source + last, num_bytes - last)


@numba.njit(nogil=True, cache=True)
def _copy(target: int, source: int, num_bytes: int) -> None:
    into = carray(pointer_at(target, _BYTES), num_bytes)
    out_of = carray(pointer_at(source, _BYTES), num_bytes)
    for i in range(num_bytes):
        into[i] = out_of[i]
