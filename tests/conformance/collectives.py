"""What every backend must do, one function per contract, run by the workers of the pool (see
``test_collectives.py``).

Values encode (rank, index), so that a misplaced chunk cannot cancel out.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from argosy.foundation.errors import CollectiveMismatch, CommError, UsageError
from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.comm.backends.shm.trial import Trial
from support.join import joined, make_backend, open_store

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
DTYPES = (*FLOATS, *INTEGERS, torch.bool, torch.complex64)
# Longer than the small buffers of the tests, not a multiple of any number of ranks.
COUNT = 2503

BITS = {ReduceOp.BAND: operator.and_, ReduceOp.BOR: operator.or_, ReduceOp.BXOR: operator.xor}

CONTRACTS: dict[str, Callable[[Backend], None]] = {}


def contract(body: Callable[[Backend], None]) -> Callable[[Backend], None]:
    CONTRACTS[body.__name__] = body
    return body


def run(
    rank: int,
    world_size: int,
    *,
    contract: str,
    kind: str,
    name: str,
    rendezvous: Any,
    **options: Any,
) -> None:
    """Run one contract on a group of its own."""
    with joined(kind, name, rank, world_size, rendezvous, **options) as backend:
        CONTRACTS[contract](backend)
        backend.barrier()


def run_in_one_way(
    rank: int, world_size: int, *, contract: str, name: str, rendezvous: Any, streams: bool
) -> None:
    """Run one contract on a group in shared memory that has its way to write large pieces."""
    with joined("shm", name, rank, world_size, rendezvous) as backend:
        backend._trial = Trial(0, min)
        backend._streams = streams
        CONTRACTS[contract](backend)
        backend.barrier()


def fill(rank: int, count: int, dtype: torch.dtype, salt: int = 0) -> torch.Tensor:
    """Different for every rank and index as far as the dtype can tell them apart, small enough to
    sum exactly.
    """
    index = torch.arange(count, dtype=torch.int64)
    if dtype is torch.bool:
        return (index * 7 + rank * 3 + salt) % 5 < 2
    if dtype in (torch.int8, torch.uint8, torch.float16, torch.bfloat16):
        return ((index * 7 + rank * 29 + salt * 13) % 61).to(dtype)
    if dtype.is_complex:
        return torch.complex((index + 1000 * rank).float(), (index % 17 - salt).float())
    return (rank * 100_000 + salt * 10_000 + index).to(dtype)


def small_factors(rank: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Values whose product over a few ranks is exact in every dtype."""
    if dtype is torch.bool:
        return fill(rank, count, dtype)
    return ((torch.arange(count) * 3 + rank) % 3 + 1).to(dtype)


def combined(tensors: list[torch.Tensor], op: ReduceOp) -> torch.Tensor:
    """What a reduction must give: in rank order, halves in float32, integers wrapping around."""
    dtype = tensors[0].dtype
    wide = [t.float() if dtype in (torch.float16, torch.bfloat16) else t for t in tensors]
    if op in BITS:
        result = functools.reduce(BITS[op], wide)
    elif dtype is torch.bool:
        result = functools.reduce(
            operator.or_ if op in (ReduceOp.SUM, ReduceOp.MAX) else operator.and_, wide
        )
    elif op in (ReduceOp.MAX, ReduceOp.MIN):
        result = functools.reduce(torch.maximum if op is ReduceOp.MAX else torch.minimum, wide)
    else:
        result = functools.reduce(operator.mul if op is ReduceOp.PROD else operator.add, wide)
    if op is ReduceOp.AVG:
        mode = None if result.is_floating_point() or result.is_complex() else "trunc"
        result = torch.div(result, len(tensors), rounding_mode=mode)
    return result.to(dtype)


def assert_equal(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """The same up to the order of a float32 sum."""
    assert actual.dtype is expected.dtype
    if actual.dtype is torch.bool:
        # a byte of 2 is "true" too, until somebody adds it up
        actual, expected = (
            actual.contiguous().view(torch.uint8),
            expected.contiguous().view(torch.uint8),
        )
    torch.testing.assert_close(
        actual, expected, rtol=1e-6 if actual.dtype not in FLOATS[:2] else 0, atol=0
    )


def is_defined(op: ReduceOp, dtype: torch.dtype) -> bool:
    if op in BITS:
        return not dtype.is_floating_point and not dtype.is_complex
    if dtype is torch.bool:
        return op is not ReduceOp.AVG
    return not dtype.is_complex or op not in (ReduceOp.MAX, ReduceOp.MIN)


@contract
def all_reduce_every_operation_and_dtype(group: Backend) -> None:
    for dtype in DTYPES:
        for op in ReduceOp:
            make = small_factors if op is ReduceOp.PROD else fill
            tensor = make(group.rank, COUNT, dtype)
            if not is_defined(op, dtype):
                with pytest.raises(UsageError, match=f"all_reduce: {op.name} is not defined"):
                    group.all_reduce(tensor, op)
                continue
            group.all_reduce(tensor, op)
            assert_equal(
                tensor, combined([make(r, COUNT, dtype) for r in range(group.world_size)], op)
            )


@contract
def sums_in_memory_that_the_backend_made(group: Backend) -> None:
    """Of all ranks or of some; the last one has memory of its own in every other turn."""
    count, ranks = 300_007, range(group.world_size)
    for dtype in (torch.float32, torch.float64):
        made = [group.allocate(count, dtype) for _ in range(2)]
        for turn in range(6):
            op = (ReduceOp.SUM, ReduceOp.AVG)[turn % 2]
            is_mixed = turn % 3 == 2 and group.rank == group.world_size - 1
            tensor = torch.empty(count, dtype=dtype) if is_mixed else made[turn % 2]
            tensor.copy_(fill(group.rank, count, dtype, turn))
            if turn == 5:
                left = group.begin_all_reduce(tensor, op)
                if left is not None:
                    left()
            else:
                group.all_reduce(tensor, op)
            assert_equal(tensor, combined([fill(r, count, dtype, turn) for r in ranks], op))
        part = made[0][: count - 1]  # begins where the tensor does, and ends before
        part.copy_(fill(group.rank, count - 1, dtype))
        group.all_reduce(part, ReduceOp.SUM)
        expected = combined([fill(r, count - 1, dtype) for r in ranks], ReduceOp.SUM)
        assert_equal(part, expected)


@contract
def broadcast_from_every_rank(group: Backend) -> None:
    for dtype in DTYPES:
        for src in range(group.world_size):
            tensor = fill(group.rank, COUNT, dtype)
            group.broadcast(tensor, src)
            assert_equal(tensor, fill(src, COUNT, dtype))


@contract
def reduce_changes_only_the_receiver(group: Backend) -> None:
    for dtype in DTYPES:
        for dst in range(group.world_size):
            for op in (ReduceOp.SUM, ReduceOp.PROD):
                tensor = small_factors(group.rank, COUNT, dtype)
                group.reduce(tensor, dst, op)
                if group.rank == dst:
                    assert_equal(
                        tensor,
                        combined(
                            [small_factors(r, COUNT, dtype) for r in range(group.world_size)], op
                        ),
                    )
                else:
                    assert_equal(tensor, small_factors(group.rank, COUNT, dtype))


@contract
def all_gather_in_rank_order(group: Backend) -> None:
    for dtype in DTYPES:
        tensor = fill(group.rank, COUNT, dtype)
        outputs = [torch.zeros(COUNT, dtype=dtype) for _ in range(group.world_size)]
        group.all_gather(outputs, tensor)
        for r, output in enumerate(outputs):
            assert_equal(output, fill(r, COUNT, dtype))
        assert_equal(tensor, fill(group.rank, COUNT, dtype))


@contract
def gather_to_every_rank(group: Backend) -> None:
    for dtype in (torch.float32, torch.int16, torch.bool):
        for dst in range(group.world_size):
            outputs = None
            if group.rank == dst:
                outputs = [torch.zeros(COUNT, dtype=dtype) for _ in range(group.world_size)]
            group.gather(outputs, fill(group.rank, COUNT, dtype), dst)
            for r, output in enumerate(outputs or ()):
                assert_equal(output, fill(r, COUNT, dtype))


@contract
def scatter_from_every_rank(group: Backend) -> None:
    for dtype in (torch.float32, torch.int16, torch.bool):
        for src in range(group.world_size):
            inputs = None
            if group.rank == src:
                inputs = [fill(src, COUNT, dtype, salt=r) for r in range(group.world_size)]
            tensor = torch.zeros(COUNT, dtype=dtype)
            group.scatter(tensor, inputs, src)
            assert_equal(tensor, fill(src, COUNT, dtype, salt=group.rank))


@contract
def reduce_scatter_gives_each_rank_its_part(group: Backend) -> None:
    ranks = range(group.world_size)
    for dtype in DTYPES:
        for op in (
            (ReduceOp.SUM, ReduceOp.AVG)
            if dtype is not torch.bool
            else (ReduceOp.SUM, ReduceOp.PROD)
        ):
            inputs = [fill(group.rank, COUNT, dtype, salt=r) for r in ranks]
            tensor = torch.zeros(COUNT, dtype=dtype)
            group.reduce_scatter(tensor, inputs, op)
            assert_equal(
                tensor, combined([fill(r, COUNT, dtype, salt=group.rank) for r in ranks], op)
            )
            for r in ranks:
                assert_equal(inputs[r], fill(group.rank, COUNT, dtype, salt=r))


@contract
def all_to_all_of_equal_parts(group: Backend) -> None:
    ranks = range(group.world_size)
    for dtype in DTYPES:
        outputs = [torch.zeros(COUNT, dtype=dtype) for _ in ranks]
        group.all_to_all(outputs, [fill(group.rank, COUNT, dtype, salt=r) for r in ranks])
        for s in ranks:
            assert_equal(outputs[s], fill(s, COUNT, dtype, salt=group.rank))


@contract
def results_may_take_the_place_of_what_is_sent(group: Backend) -> None:
    ranks = range(group.world_size)
    for count in (COUNT, 20 * COUNT):  # several pieces too
        for src in ranks:
            parts = [fill(src, count, torch.float32, salt=r) for r in ranks]
            tensor = parts[0] if group.rank == src else torch.zeros(count)
            group.scatter(tensor, parts if group.rank == src else None, src)
            assert_equal(tensor, fill(src, count, torch.float32, salt=group.rank))
        parts = [fill(group.rank, count, torch.float32, salt=r) for r in ranks]
        group.all_to_all(parts, parts)
        for s in ranks:
            assert_equal(parts[s], fill(s, count, torch.float32, salt=group.rank))
        parts = [fill(group.rank, count, torch.float32, salt=r) for r in ranks]
        group.reduce_scatter(parts[0], parts, ReduceOp.SUM)
        sums = [fill(r, count, torch.float32, salt=group.rank) for r in ranks]
        assert_equal(parts[0], combined(sums, ReduceOp.SUM))


@contract
def all_to_all_of_unequal_parts(group: Backend) -> None:
    ranks = range(group.world_size)

    def size(sender: int, receiver: int) -> int:
        return 1500 * sender + 701 * receiver  # rank 0 sends itself nothing

    for dtype in (torch.float64, torch.bfloat16, torch.uint8):
        outputs = [torch.zeros(size(s, group.rank), dtype=dtype) for s in ranks]
        group.all_to_all(
            outputs, [fill(group.rank, size(group.rank, r), dtype, salt=r) for r in ranks]
        )
        for s in ranks:
            assert_equal(outputs[s], fill(s, size(s, group.rank), dtype, salt=group.rank))


@contract
def send_and_recv_many_messages(group: Backend) -> None:
    """Around a ring, more and larger messages than fit into a mailbox, all dtypes."""
    n = group.world_size
    if n == 1:
        with pytest.raises(UsageError, match="cannot send to itself"):
            group.send(torch.zeros(1), 0)
        return
    right, left = (group.rank + 1) % n, (group.rank - 1) % n

    def send_all() -> None:
        for i in range(40):
            group.send(fill(group.rank, 1 + i * 31, DTYPES[i % len(DTYPES)], salt=i), right)

    sender = threading.Thread(target=send_all, name="sender")
    sender.start()
    for i in range(40):
        dtype = DTYPES[i % len(DTYPES)]
        tensor = torch.zeros(1 + i * 31, dtype=dtype)
        group.recv(tensor, left)
        assert_equal(tensor, fill(left, 1 + i * 31, dtype, salt=i))
    sender.join()


@contract
def send_and_recv_a_big_message_both_ways(group: Backend) -> None:
    if group.world_size == 1 or group.rank > 1:
        return
    other = 1 - group.rank
    mine, theirs = fill(group.rank, 700_001, torch.float32), torch.zeros(700_001)
    sender = threading.Thread(target=group.send, args=(mine, other), name="sender")
    sender.start()
    group.recv(theirs, other)
    sender.join()
    assert_equal(theirs, fill(other, 700_001, torch.float32))


def barrier_waits(rank: int, world_size: int, *, kind: str, name: str, rendezvous: Any) -> None:
    """Whoever is through a barrier finds what every rank did before it."""
    with joined(kind, name, rank, world_size, rendezvous) as group, open_store(rendezvous) as store:
        for i in range(20):
            store.add(f"{name}/{i}", 1)
            group.barrier()
            assert store.get(f"{name}/{i}") == str(world_size).encode()


@contract
def empty_tensors(group: Backend) -> None:
    ranks = range(group.world_size)
    for shape in ((0,), (3, 0)):
        for op in (ReduceOp.SUM, ReduceOp.AVG):
            group.all_reduce(torch.empty(shape), op)
        group.reduce(torch.empty(shape), 0, ReduceOp.MAX)
        group.broadcast(torch.empty(shape), 0)
        group.all_gather([torch.empty(shape) for _ in ranks], torch.empty(shape))
        group.gather(
            [torch.empty(shape) for _ in ranks] if group.rank == 0 else None, torch.empty(shape), 0
        )
        group.scatter(
            torch.empty(shape), [torch.empty(shape) for _ in ranks] if group.rank == 0 else None, 0
        )
        group.reduce_scatter(torch.empty(shape), [torch.empty(shape) for _ in ranks], ReduceOp.SUM)
        group.all_to_all([torch.empty(shape) for _ in ranks], [torch.empty(shape) for _ in ranks])
        if group.world_size > 1 and group.rank < 2:
            (group.send if group.rank == 0 else group.recv)(torch.empty(shape), 1 - group.rank)
    # what comes after is not disturbed
    tensor = fill(group.rank, 5, torch.float32)
    group.all_reduce(tensor, ReduceOp.SUM)
    assert_equal(tensor, combined([fill(r, 5, torch.float32) for r in ranks], ReduceOp.SUM))


def strided(rank: int, salt: int = 0) -> torch.Tensor:
    """A view with gaps and swapped axes, [40, 63]."""
    whole = torch.full((63, 80), -1.0)
    view = whole.t()[::2]
    view.copy_(fill(rank, view.numel(), torch.float32, salt).view(view.shape))
    return view


def assert_gaps_untouched(view: torch.Tensor) -> None:
    whole = view._base
    assert whole is not None
    assert bool((whole[:, 1::2] == -1).all())


@contract
def non_contiguous_tensors(group: Backend) -> None:
    n = group.world_size
    ranks = range(n)
    total = combined([strided(r).clone() for r in ranks], ReduceOp.SUM)

    tensor = strided(group.rank)
    group.all_reduce(tensor, ReduceOp.SUM)
    assert_equal(tensor, total)
    assert_gaps_untouched(tensor)

    tensor = strided(group.rank)
    group.reduce(tensor, n - 1, ReduceOp.SUM)
    assert_equal(tensor, total if group.rank == n - 1 else strided(group.rank))

    tensor = strided(group.rank)
    group.broadcast(tensor, n - 1)
    assert_equal(tensor, strided(n - 1))
    assert_gaps_untouched(tensor)

    outputs = [torch.zeros_like(strided(0)).t().contiguous().t() for _ in ranks]
    group.all_gather(outputs, strided(group.rank))
    for r in ranks:
        assert_equal(outputs[r], strided(r))

    tensor = strided(9)
    group.scatter(tensor, [strided(0, salt=r) for r in ranks] if group.rank == 0 else None, 0)
    assert_equal(tensor, strided(0, salt=group.rank))
    assert_gaps_untouched(tensor)

    outputs = [strided(9) for _ in ranks]
    group.all_to_all(outputs, [strided(group.rank, salt=r) for r in ranks])
    for s in ranks:
        assert_equal(outputs[s], strided(s, salt=group.rank))
        assert_gaps_untouched(outputs[s])

    tensor = strided(9)
    group.reduce_scatter(tensor, [strided(group.rank, salt=r) for r in ranks], ReduceOp.SUM)
    assert_equal(
        tensor, combined([strided(r, salt=group.rank).clone() for r in ranks], ReduceOp.SUM)
    )

    if n > 1 and group.rank < 2:
        tensor = strided(0) if group.rank == 0 else strided(9)
        (group.send if group.rank == 0 else group.recv)(tensor, 1 - group.rank)
        assert_equal(tensor, strided(0))


@contract
def tensors_that_require_grad(group: Backend) -> None:
    tensor = fill(group.rank, 7, torch.float32).requires_grad_()
    group.broadcast(tensor, 0)
    assert_equal(tensor.detach(), fill(0, 7, torch.float32))
    group.all_reduce(tensor, ReduceOp.AVG)
    assert_equal(tensor.detach(), fill(0, 7, torch.float32))
    assert tensor.requires_grad
    assert tensor.is_leaf


@contract
def big_tensors(group: Backend) -> None:
    """Larger than any buffer, so that several pieces are under way."""
    count = 300_007
    for dtype in (torch.float32, torch.int64):
        tensor = fill(group.rank, count, dtype)
        group.all_reduce(tensor, ReduceOp.SUM)
        assert_equal(
            tensor, combined([fill(r, count, dtype) for r in range(group.world_size)], ReduceOp.SUM)
        )
    outputs = [torch.zeros(count) for _ in range(group.world_size)]
    group.all_gather(outputs, fill(group.rank, count, torch.float32))
    for r, output in enumerate(outputs):
        assert_equal(output, fill(r, count, torch.float32))


@contract
def every_collective_of_large_tensors(group: Backend) -> None:
    """Again and again, so that whatever a backend finds out about large ones is in use."""
    n, count = group.world_size, 70_001
    ranks = range(n)
    for i in range(3):
        mine = fill(group.rank, count, torch.float32, salt=i)
        theirs = [fill(r, count, torch.float32, salt=i) for r in ranks]
        total = combined(theirs, ReduceOp.SUM)
        tensor = mine.clone()
        group.all_reduce(tensor, ReduceOp.SUM)
        assert_equal(tensor, total)
        tensor = mine.clone()
        group.reduce(tensor, i % n, ReduceOp.SUM)
        assert group.rank != i % n or torch.equal(tensor, total)
        group.broadcast(mine, i % n)
        assert_equal(mine, theirs[i % n])
        outputs = [torch.zeros(count) for _ in ranks]
        group.all_gather(outputs, theirs[group.rank])
        assert all(map(torch.equal, outputs, theirs))
        group.scatter(mine, theirs if group.rank == 0 else None, 0)
        assert_equal(mine, theirs[group.rank])
        group.reduce_scatter(mine, theirs, ReduceOp.SUM)
        assert_equal(mine, theirs[group.rank] * n)
        group.all_to_all(outputs, [theirs[group.rank] + r for r in ranks])
        assert all(torch.equal(outputs[r], theirs[r] + group.rank) for r in ranks)


@contract
def conjugated_and_negated_tensors(group: Backend) -> None:
    """Their memory is not what they stand for."""
    count = 3000
    index = torch.arange(count, dtype=torch.float32)
    values = [torch.complex(index, index + r) for r in range(group.world_size)]
    outputs = [torch.zeros(count, dtype=torch.complex64) for _ in values]
    group.all_gather(outputs, values[group.rank].conj())
    assert all(torch.equal(out, value.conj()) for out, value in zip(outputs, values, strict=True))
    parts = [torch.zeros(count) for _ in values]
    group.all_gather(parts, values[group.rank].conj().imag.contiguous())
    assert all(torch.equal(out, -value.imag) for out, value in zip(parts, values, strict=True))
    one = torch.tensor([complex(0, group.rank)]).conj().imag
    group.all_reduce(one, ReduceOp.SUM)
    assert one.item() == -sum(range(group.world_size))
    given = values[group.rank].conj()
    group.broadcast(given, 0)
    assert_equal(given.resolve_conj(), values[0].conj())


@contract
def many_small_collectives_in_a_row(group: Backend) -> None:
    """Buffers alternate; one that is overwritten too early shows here."""
    ranks = range(group.world_size)
    for i in range(100):
        tensor = fill(group.rank, 3 + i % 5, torch.int64, salt=i)
        group.all_reduce(tensor, ReduceOp.SUM)
        assert_equal(
            tensor, combined([fill(r, 3 + i % 5, torch.int64, salt=i) for r in ranks], ReduceOp.SUM)
        )
        src = i % group.world_size
        group.broadcast(tensor, src)
        outputs = [torch.zeros(2, dtype=torch.int64) for _ in ranks]
        group.all_gather(outputs, torch.tensor([group.rank, i]))
        assert [output.tolist() for output in outputs] == [[r, i] for r in ranks]


@contract
def wrong_arguments_are_refused_before_anything_is_sent(group: Backend) -> None:
    n = group.world_size
    x = torch.zeros(4)
    lists = [torch.zeros(4) for _ in range(n)]
    with pytest.raises(
        UsageError, match=rf"all_gather: {n} ranks need a list of {n} tensors, but received {n + 1}"
    ):
        group.all_gather([*lists, x], x)
    with pytest.raises(
        UsageError, match=r"rank 0 in the list is float32\[4\], the other tensor float32\[5\]"
    ):
        group.all_gather(lists, torch.zeros(5))
    with pytest.raises(
        UsageError, match=r"rank 0 in the list is bool\[4\], the other tensor uint8\[4\]"
    ):
        group.reduce_scatter(x.byte(), [t.bool() for t in lists], ReduceOp.SUM)
    with pytest.raises(UsageError, match="src must be a rank of the group"):
        group.broadcast(x, n)
    with pytest.raises(UsageError, match="dst must be a rank of the group"):
        group.reduce(x, -1, ReduceOp.SUM)
    with pytest.raises(UsageError, match="must pass the list"):
        group.gather(None, x, group.rank)
    with pytest.raises(UsageError, match="must pass the list"):
        group.scatter(x, None, group.rank)
    with pytest.raises(UsageError, match="inputs and"):
        group.all_to_all(lists, [*lists, x])
    with pytest.raises(UsageError, match="one dtype, but received float32, int64"):
        group.all_to_all([t.long() for t in lists], lists)
    with pytest.raises(UsageError, match="cannot send to itself"):
        group.recv(x, group.rank)


@contract
def buckets_are_averaged_in_place(group: Backend) -> None:
    ranks = range(group.world_size)
    cases = [
        (dtype, numel, 3)
        for dtype in (torch.float32, torch.float64, torch.bfloat16)
        for numel in (1, 15, COUNT)
    ]
    # large ones are tried in two ways in turn
    cases += [(torch.float32, 200_001, 24), (torch.float64, 100_001, 24)]
    for dtype, numel, num_rounds in cases:
        bucket = group.make_bucket(numel, dtype)
        for salt in range(num_rounds):
            bucket.tensor.copy_(fill(group.rank, numel, dtype, salt))
            bucket.publish()
            bucket.progress()
            bucket.finish()
            assert_equal(
                bucket.tensor,
                combined([fill(r, numel, dtype, salt) for r in ranks], ReduceOp.AVG),
            )
        bucket.close()


def closed(rank: int, world_size: int, *, kind: str, name: str, rendezvous: Any) -> None:
    """After close(), which may be called twice, every call is refused."""
    with joined(kind, name, rank, world_size, rendezvous) as group:
        group.barrier()
        group.close()
        with pytest.raises(CommError, match="closed"):
            group.barrier()
        with pytest.raises(CommError, match="closed"):
            group.all_reduce(torch.zeros(3), ReduceOp.SUM)
        if world_size > 1:
            with pytest.raises(CommError, match="closed"):
                group.send(torch.zeros(3), (rank + 1) % world_size)


def closed_under_way(rank: int, world_size: int, *, kind: str, name: str, rendezvous: Any) -> str:
    """close() from another thread ends a call that waits for a rank that never comes; returns the
    error of rank 0.
    """
    with joined(kind, name, rank, world_size, rendezvous) as group, open_store(rendezvous) as store:
        group.barrier()
        if rank > 0:
            store.get(f"{name}/closed")
            return ""
        caught: list[Exception] = []

        def call() -> None:
            try:
                group.recv(torch.zeros(3), 1)
            except Exception as error:
                caught.append(error)

        waiting = threading.Thread(target=call, name="waiting")
        waiting.start()
        group.close()
        waiting.join(10)
        assert not waiting.is_alive()
        store.set(f"{name}/closed", "1")
        assert isinstance(caught[0], CommError)
        return str(caught[0])


def overlapping_groups(
    rank: int, world_size: int, *, kinds: list[str], name: str, rendezvous: Any
) -> None:
    """Several groups at once: all ranks, and each pair of neighbours, with collectives of them
    interleaved.
    """
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(open_store(rendezvous))
        groups: list[tuple[list[int], Backend]] = []
        for kind in kinds:
            for members in (list(range(world_size)), *([r, r + 1] for r in range(world_size - 1))):
                if rank in members:
                    label = f"{name}-{kind}-{members}"
                    group = make_backend(kind, label, members.index(rank), len(members), store)
                    stack.callback(group.close)
                    groups.append((members, group))
        for i in range(5):
            for members, group in groups:
                tensor = fill(rank, 300, torch.float64, salt=i)
                group.all_reduce(tensor, ReduceOp.SUM)
                assert_equal(
                    tensor,
                    combined([fill(r, 300, torch.float64, salt=i) for r in members], ReduceOp.SUM),
                )
        for _, group in groups:
            group.barrier()


MISMATCHES: dict[str, tuple[Callable[[Backend], None], Callable[[Backend], None]]] = {
    "kinds": (lambda g: g.all_reduce(torch.zeros(3), ReduceOp.SUM), lambda g: g.barrier()),
    "counts": (
        lambda g: g.all_reduce(torch.zeros(1024), ReduceOp.SUM),
        lambda g: g.all_reduce(torch.zeros(1000), ReduceOp.SUM),
    ),
    "dtypes": (
        lambda g: g.broadcast(torch.zeros(3), 0),
        lambda g: g.broadcast(torch.zeros(3).long(), 0),
    ),
    "operations": (
        lambda g: g.all_reduce(torch.zeros(3), ReduceOp.SUM),
        lambda g: g.all_reduce(torch.zeros(3), ReduceOp.MAX),
    ),
    "roots": (
        lambda g: g.reduce(torch.zeros(3), 0, ReduceOp.SUM),
        lambda g: g.reduce(torch.zeros(3), 1, ReduceOp.SUM),
    ),
    "sizes": (
        lambda g: g.all_to_all([torch.zeros(2)] * g.world_size, [torch.zeros(2)] * g.world_size),
        lambda g: g.all_to_all([torch.zeros(2)] * g.world_size, [torch.zeros(3)] * g.world_size),
    ),
}


def mismatch(
    rank: int, world_size: int, *, kind: str, case: str, name: str, rendezvous: Any, **options: Any
) -> str:
    """The last rank calls something else than the others; returns the message, the same on all,
    after which the group is unusable.
    """
    with (
        joined(kind, name, rank, world_size, rendezvous, **options) as group,
        open_store(rendezvous) as store,
    ):
        group.barrier()
        common, other = MISMATCHES[case]
        with pytest.raises(CollectiveMismatch) as caught:
            (other if rank == world_size - 1 else common)(group)
        with pytest.raises(CollectiveMismatch, match="cannot be used any more"):
            group.barrier()
        # nobody closes before all have seen it: the message is the subject here, not the departure
        store.add(f"{name}/seen", 1)
        while int(store.get(f"{name}/seen")) < world_size:
            pass
        return str(caught.value)


def message_mismatch(
    rank: int, world_size: int, *, kind: str, count: int, name: str, rendezvous: Any, **options: Any
) -> str:
    """Rank 0 sends float32, rank 1 expects float64; returns what the rank is told."""
    with (
        joined(kind, name, rank, world_size, rendezvous, **options) as group,
        open_store(rendezvous) as store,
    ):
        group.barrier()
        said = "nothing"
        try:
            if rank == 0:
                group.send(torch.zeros(count), 1)
            else:
                group.recv(torch.zeros(count, dtype=torch.float64), 0)
        except CommError as error:
            said = str(error)
        store.add(f"{name}/told", 1)
        while int(store.get(f"{name}/told")) < world_size:
            pass
        return said
