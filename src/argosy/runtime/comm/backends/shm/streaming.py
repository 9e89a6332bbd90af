"""Stores that go past the caches, straight to memory.

A rank that writes where another has read must first take each cache line away from it, and waits
for that, line after line: on one machine a copy of 1 MB into a buffer that the other rank had read
took 124 us, where one that nobody else reads takes 18. Stores that bypass the cache are not waited
for, and leave no line that somebody would have to take away later: the same copy took 19 us, and
the other rank read it in 30 us instead of 27.

The same holds for what two ranks sum in each other's memory: a line that the other core has
written is dirty in its cache, and to write it in the usual way this core first takes it over, from
where the other takes it back when it reads the sum.

Where memory is slow and taking lines away is not, it is the other way round, so that both ways are
tried (``trial.py``).

What was streamed is seen by whoever sees a flag that was set after it: ``sync.publish`` orders it.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-call,call-arg"
from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic

from argosy.runtime.comm.backends.shm.sync import pointer_at

LINE = 64  # bytes that are stored at once, at a multiple of it
_BYTES = np.empty(0, np.uint8)


@intrinsic
def _stream_line(typing_context: Any, target: Any, source: Any) -> Any:
    """Copy the bytes of a line from ``source`` to ``target``, where a line begins."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.VectorType(ir.IntType(64), LINE // 8).as_pointer()
        line = builder.load(builder.inttoptr(args[1], pointer), align=1)
        stored = builder.store(line, builder.inttoptr(args[0], pointer), align=LINE)
        _mark_streamed(builder, stored)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Begin to read the line at ``address``, which will be read soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = ir.IntType(32)
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # to read, to be kept in all caches, data
        how = [ir.Constant(number, flag) for flag in (0, 3, 1)]
        builder.call(call, [builder.inttoptr(args[0], pointer), *how])
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@intrinsic
def sum_lines(typing_context: Any, own: Any, other: Any, scale: Any) -> Any:
    """Replace the lines at the addresses ``own`` and ``other`` by their sum times ``scale``, whose
    type is that of the numbers in them; the other one is streamed.

    A line at a time: one that is read between two that are written hides their way to memory.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number, index = context.get_value_type(signature.args[2]), ir.IntType(32)
        lanes = LINE // context.get_abi_sizeof(number)
        line = ir.VectorType(number, lanes)
        own, other = (builder.inttoptr(address, line.as_pointer()) for address in args[:2])
        total = builder.fadd(builder.load(own, align=LINE), builder.load(other, align=LINE))
        nothing = ir.Constant(line, ir.Undefined)
        scales = builder.shuffle_vector(
            builder.insert_element(nothing, args[2], ir.Constant(index, 0)),
            nothing,
            ir.Constant(ir.VectorType(index, lanes), [0] * lanes),
        )
        scaled = builder.fmul(total, scales)
        builder.store(scaled, own, align=LINE)
        _mark_streamed(builder, builder.store(scaled, other, align=LINE))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, scale), codegen


def _mark_streamed(builder: Any, stored: Any) -> None:
    hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
    stored.set_metadata("nontemporal", hint)


@numba.njit(nogil=True, cache=True)
def stream_copy(target: int, source: int, num_bytes: int) -> None:
    """Copy ``num_bytes`` from address ``source`` to address ``target``; whole lines of the target
    are streamed.
    """
    first = min(-target % LINE, num_bytes)
    last = first + (num_bytes - first) // LINE * LINE
    _copy(target, source, first)
    for offset in range(first, last, LINE):
        _stream_line(target + offset, source + offset)
    _copy(target + last, source + last, num_bytes - last)


@numba.njit(nogil=True, cache=True)
def _copy(target: int, source: int, num_bytes: int) -> None:
    into = carray(pointer_at(target, _BYTES), num_bytes)
    out_of = carray(pointer_at(source, _BYTES), num_bytes)
    for i in range(num_bytes):
        into[i] = out_of[i]
