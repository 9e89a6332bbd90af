"""Asking for memory before it is needed.

Rows of a large table lie anywhere: a loop over them spends its time waiting for one after the other
unless it asks for later ones ahead.
"""

# mypy: disable-error-code="untyped-decorator,no-any-return,no-untyped-call"
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# rows that are on their way at a time; more of them than a core can wait for at once brings nothing
AHEAD = 12
_READ, _KEEP, _DATA = 0, 3, 1


@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Bring the cache line at ``address`` nearer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(call, [pointer, number(_READ), number(_KEEP), number(_DATA)])
        return context.get_dummy_value()

    return types.void(types.int64), codegen
