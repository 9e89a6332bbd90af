"""Flags in shared memory: atomic loads and stores, and a wait that spins, then yields, then sleeps
in the kernel.

Compiled with numba, without the GIL. All atomics are sequentially consistent: a waiter adds itself
to ``sleepers`` and then looks at the flag again, a writer stores the flag and then looks at
``sleepers``; in one total order at least one of them sees the other, so no wake-up is lost. The
sleep has a time limit all the same, since the caller must look after dead peers.

Spinning alone made a training step 2.3 times slower as soon as a third process wanted a core, hence
the three stages.
"""

# mypy: disable-error-code="untyped-decorator,no-any-return,no-untyped-call,call-arg,call-overload"
from __future__ import annotations

import platform
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from argosy.foundation.errors import CommError
from argosy.runtime.comm.backends.shm import layout

_FUTEX_BY_MACHINE = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221, "s390x": 238}
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1

# Resolved by name when the compiled code is loaded, so it can be cached; ctypes pointers could not.
_sched_yield = types.ExternalFunction("sched_yield", types.int32())
_sched_getcpu = types.ExternalFunction("sched_getcpu", types.int32())
# takes an address where the C library wants a pointer
_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.int64))
# both take addresses where the C library wants pointers
_sched_getaffinity = types.ExternalFunction(
    "sched_getaffinity", types.int32(types.int32, types.int64, types.int64)
)
_sched_setaffinity = types.ExternalFunction(
    "sched_setaffinity", types.int32(types.int32, types.int64, types.int64)
)
_syscall = types.ExternalFunction("syscall", types.int64(*[types.int64] * 7))

# A relaxed turn takes some 40 ns on x86: 1000 of them are longer than a small collective and far
# shorter than a scheduling slice. A turn that yields takes 0.5 us while nobody else wants the core,
# which then is theirs. Who sleeps is woken 100 to 400 us late on a virtual machine, as much as
# ranks are apart in a short training step; so that is for waits of more than 1.5 ms: with 50 turns
# a step of 60 small layers took 1.1 times as long.
SPINS = 1000
YIELDS = 3000
_GLANCE = 50  # the turn in which a waiter looks on which core the awaited rank was
_CPU, _TIME = layout.FLAG_CPU, layout.FLAG_TIME
_MONOTONIC = 1
_MASK_WORDS = 16  # of 64 cores each

# what a waiter does if the rank that it waits for was last on the same core
STAYS, MOVES_WHEN_WOKEN, MOVES_FIRST = 0, 1, 2

# What tells the core that it is in a spin loop, so that its sibling thread gets the execution
# units: LLVM's name of the instruction and its operands. (Inline assembly would need LLVM's
# assembly parser, which numba does not load.)
_RELAX: dict[str, tuple[str, tuple[int, ...]]] = {
    "x86_64": ("llvm.x86.sse2.pause", ()),
    "aarch64": ("llvm.aarch64.hint", (1,)),
}


def _futex_number() -> int:
    try:
        return _FUTEX_BY_MACHINE[platform.machine()]
    except KeyError:
        raise CommError(
            f"the shared-memory backend does not know the futex call of {platform.machine()}; "
            "use gloo"
        ) from None


_FUTEX = _futex_number()


def _pointer(context: Any, builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, context.get_value_type(types.int64).as_pointer())


@intrinsic
def load(typing_context: Any, address: Any) -> Any:
    """Read the int64 at ``address`` atomically."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, args[0]), "seq_cst", 8)

    return types.int64(types.int64), codegen


@intrinsic
def store(typing_context: Any, address: Any, value: Any) -> Any:
    """Write the int64 at ``address`` atomically; earlier writes are visible to whoever reads the
    new value.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], _pointer(context, builder, args[0]), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def add(typing_context: Any, address: Any, value: Any) -> Any:
    """Add to the int64 at ``address`` atomically."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _pointer(context, builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def pointer_at(typing_context: Any, address: Any, like: Any) -> Any:
    """``address`` as a pointer to elements of the type of the array ``like``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(types.int64, like), codegen


@intrinsic
def _relax(typing_context: Any) -> Any:
    """One turn of a spin loop."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if platform.machine() in _RELAX:
            name, operands = _RELAX[platform.machine()]
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)] * len(operands))
            call = cgutils.get_or_insert_function(builder.module, kind, name)
            builder.call(call, [ir.Constant(ir.IntType(32), operand) for operand in operands])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def _order_streamed(typing_context: Any) -> Any:
    """What was stored past the caches is seen before what is stored from now on; on x86 no other
    store says so.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if platform.machine() == "x86_64":
            kind = ir.FunctionType(ir.VoidType(), [])
            call = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse.sfence")
            builder.call(call, [])
        return context.get_dummy_value()

    return types.void(), codegen


@numba.njit(nogil=True, cache=True)
def load_flag(flag: int) -> int:
    """What ``flag`` is now."""
    return load(flag)


@numba.njit(nogil=True, cache=True)
def note_time(address: int) -> None:
    """Write what time it is at ``address``: seconds, nanoseconds of the monotonic clock."""
    _clock_gettime(_MONOTONIC, address)


@numba.njit(nogil=True, cache=True)
def publish(flag: int, sleepers: int, value: int) -> None:
    """Set ``flag`` and wake whoever sleeps on it; who sees it sees what was written before."""
    store(flag + _CPU, _sched_getcpu())
    note_time(flag + _TIME)
    _order_streamed()
    store(flag, value)
    if load(sleepers) > 0:
        _syscall(_FUTEX, flag, _FUTEX_WAKE, 0x7FFFFFFF, 0, 0, 0)


@numba.njit(nogil=True, cache=True)
def leave_core() -> bool:
    """Move this thread to another of the cores that it may use, which stay the same; False if it
    has no other. Takes some 40 us.
    """
    allowed = np.zeros(_MASK_WORDS, np.uint64)
    size = 8 * _MASK_WORDS
    if _sched_getaffinity(0, size, allowed.ctypes.data) < 0:
        return False
    others = allowed.copy()
    here: Any = _sched_getcpu()
    others[here >> 6] &= ~(np.uint64(1) << np.uint64(here & 63))
    if not others.any() or _sched_setaffinity(0, size, others.ctypes.data) < 0:
        return False
    _sched_setaffinity(0, size, allowed.ctypes.data)
    return True


@numba.njit(nogil=True, cache=True)
def wait_for(flag: int, sleepers: int, target: int, timespec: int, moves: int) -> bool:
    """Wait until ``flag`` is at least ``target``; False after one sleep of the length at
    ``timespec`` without it.

    Who last set the flag on the core that this one waits on cannot go on while it spins: then it
    leaves that core, if ``moves`` is MOVES_FIRST, or else sleeps at once. Two ranks that yielded to
    each other stayed on one core for long, and every step took the time of the spinning. If both
    left, they would meet again.

    Who is woken finds itself on the core of who woke it, and computes in turns with it until the
    kernel looks how the cores are used, milliseconds later: unless ``moves`` is STAYS it leaves.

    The kernel compares the low 32 bits of the flag (little-endian) with those last seen, so a
    change in between is not slept through.
    """
    for i in range(SPINS):
        if load(flag) >= target:
            return True
        if i == _GLANCE and _is_set_here(flag) and not (moves == MOVES_FIRST and leave_core()):
            break
        _relax()
    else:
        for _ in range(YIELDS):
            if load(flag) >= target:
                return True
            _sched_yield()
    add(sleepers, 1)
    seen = load(flag)
    if seen < target:
        _syscall(_FUTEX, flag, _FUTEX_WAIT, seen & 0xFFFFFFFF, timespec, 0, 0)
        seen = load(flag)
    add(sleepers, -1)
    if seen >= target and moves != STAYS and _is_set_here(flag):
        leave_core()
    return seen >= target


@numba.njit(nogil=True, cache=True)
def _is_set_here(flag: int) -> bool:
    """Whether ``flag`` was last set on the core on which this thread is."""
    return load(flag + _CPU) == _sched_getcpu()
