"""Cache lines of two ranks that one of them averages for both.

A line that another core has written is dirty in that core's cache. To write it in the usual way
this core first takes it over, and the other takes it back when it reads the result. A store past
the caches does neither.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-call"
from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LINE_BYTES = 64


@intrinsic
def average_lines(typing_context: Any, own: Any, other: Any, factor: Any) -> Any:
    """Replace the lines at the addresses ``own`` and ``other``, both multiples of ``LINE_BYTES``,
    by their sum times ``factor``, whose type is that of the numbers in them. The other one is
    written past the caches: ``drain`` must follow before anybody is told.

    A line at a time: one that is read between two that are written hides their way to memory.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number, index = context.get_value_type(signature.args[2]), ir.IntType(32)
        lanes = LINE_BYTES // context.get_abi_sizeof(number)
        line = ir.VectorType(number, lanes)
        own, other = (builder.inttoptr(address, line.as_pointer()) for address in args[:2])
        total = builder.fadd(
            builder.load(own, align=LINE_BYTES), builder.load(other, align=LINE_BYTES)
        )
        nothing = ir.Constant(line, ir.Undefined)
        factors = builder.shuffle_vector(
            builder.insert_element(nothing, args[2], ir.Constant(index, 0)),
            nothing,
            ir.Constant(ir.VectorType(index, lanes), [0] * lanes),
        )
        mean = builder.fmul(total, factors)
        builder.store(mean, own, align=LINE_BYTES)
        stored = builder.store(mean, other, align=LINE_BYTES)
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(index, 1)]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, factor), codegen


@intrinsic
def drain(typing_context: Any) -> Any:
    """Have everything that was written past the caches visible before what is written next."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if platform.machine() == "x86_64":  # where such stores may be overtaken by others
            kind = ir.FunctionType(ir.VoidType(), [])
            name = "llvm.x86.sse.sfence"
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), codegen
