"""What the ranks do in the tests of torch's backend ``argosy``: they know torch alone."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from argosy.foundation.errors import (
    CollectiveMismatch,
    CollectiveTimeout,
    CommError,
    PeerLost,
    UsageError,
)
from argosy.runtime.comm import hosts

# A group of gloo whose last owner is a future of one of its own threads is freed there, and ends
# the process as it waits for that thread.
_groups: list[object] = []


@contextlib.contextmanager
def group(
    rank: int, world_size: int, path: str, backend: str = "argosy", timeout_s: float = 60.0
) -> Iterator[None]:
    """Be a rank of a default group that meets in a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own about names that it is going to drop
        dist.init_process_group(
            backend,
            init_method=f"file://{path}",
            rank=rank,
            world_size=world_size,
            timeout=timedelta(seconds=timeout_s),
        )
        _groups.append(dist.group.WORLD)
        try:
            yield
        finally:
            dist.destroy_process_group()


def value(rank: int, count: int = 5, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Different for each rank and place."""
    return (torch.arange(count) + 10 * (rank + 1)).to(dtype)


def every(n: int, count: int = 5, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [value(r, count, dtype) for r in range(n)]


def collectives(rank: int, world_size: int, *, path: str) -> None:
    """Every call of torch.distributed, waited for or not, on whole and strided tensors."""
    n = world_size
    with group(rank, n, path):
        for is_async in (False, True):
            _collectives(rank, n, is_async)
        assert dist.get_backend() == "argosy"
        # ranks of a part, which the others do not make
        part = dist.new_group([0, n - 1])
        if rank in (0, n - 1):
            found = value(rank)
            dist.all_reduce(found, group=part)
            assert torch.equal(found, value(0) + value(n - 1))
        objects: list[Any] = [None] * n
        dist.all_gather_object(objects, {"rank": rank})
        assert objects == [{"rank": r} for r in range(n)]
        dist.barrier(timeout=timedelta(seconds=30))
        dist.group.WORLD.monitored_barrier(timedelta(seconds=30))
        assert dist.group.WORLD._get_sequence_number_for_group() > 10


def _collectives(rank: int, n: int, is_async: bool) -> None:
    def run(call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        work = call(*args, async_op=is_async, **kwargs)
        assert (work is not None) == is_async
        if work is not None:
            work.wait()
            assert work.done() if isinstance(work, torch._C.Future) else work.is_success()

    total = sum(every(n))
    found = value(rank)
    run(dist.all_reduce, found)
    assert torch.equal(found, total)
    strided = torch.zeros(5, 2)[:, 0]
    strided.copy_(value(rank))
    run(dist.all_reduce, strided)
    assert torch.equal(strided, total)
    found = value(rank)
    run(dist.reduce, found, n - 1)
    assert torch.equal(found, total if rank == n - 1 else value(rank))
    found = value(rank)
    run(dist.broadcast, found, n - 1)
    assert torch.equal(found, value(n - 1))

    lists = [torch.zeros(5) for _ in range(n)]
    run(dist.all_gather, lists, value(rank))
    assert all(map(torch.equal, lists, every(n)))
    whole = torch.zeros(n * 5)
    run(dist.all_gather_single, whole, value(rank))
    assert torch.equal(whole, torch.cat(every(n)))
    whole = torch.zeros(n, 5).t().contiguous().t()  # filled through a copy
    run(dist.all_gather_single, whole, value(rank))
    assert torch.equal(whole, torch.stack(every(n)))
    run(dist.gather, value(rank), lists if rank == 0 else None, 0)
    found = torch.zeros(5)
    run(dist.scatter, found, every(n) if rank == n - 1 else None, n - 1)
    assert torch.equal(found, value(rank))

    found = torch.zeros(5)
    run(dist.reduce_scatter, found, [value(rank) + r for r in range(n)])
    assert torch.equal(found, total + n * rank)
    run(dist.reduce_scatter_single, found, torch.cat([value(rank) + r for r in range(n)]))
    assert torch.equal(found, total + n * rank)
    lists = [torch.zeros(5) for _ in range(n)]
    run(dist.all_to_all, lists, [value(rank) + 100 * r for r in range(n)])
    assert all(map(torch.equal, lists, [part + 100 * rank for part in every(n)]))
    sizes = [r + 1 for r in range(n)]  # rank r gets r + 1 rows of each
    sent = value(rank, sum(sizes) * 2).view(-1, 2)
    found = torch.zeros((rank + 1) * n, 2)
    run(dist.all_to_all_single, found, sent, [rank + 1] * n, sizes)
    low = sum(sizes[:rank])
    expected = [value(r, sum(sizes) * 2).view(-1, 2)[low : low + rank + 1] for r in range(n)]
    assert torch.equal(found, torch.cat(expected))
    world = dist.group.WORLD
    found = value(rank)
    world.allreduce(found, op=dist.ReduceOp.MAX, timeout=timedelta(seconds=50)).wait()
    assert torch.equal(found, value(n - 1))
    world.broadcast(found, root=0).wait()
    world.allgather(lists, found).wait()
    assert all(torch.equal(part, value(n - 1)) for part in lists)
    several = [value(rank), value(rank, 3, torch.int64), torch.ones(1 << 19)]
    run(dist.all_reduce_coalesced, several[:1])
    assert torch.equal(several[0], total)
    dist.group.WORLD.allreduce_coalesced(several[1:]).wait()
    assert several[2][0] == n
    assert torch.equal(several[1], sum(every(n, 3, torch.int64)))


OPERATIONS = {
    "SUM": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum,
    "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor,
}  # fmt: skip


def reductions(rank: int, world_size: int, *, path: str) -> None:
    """Every operation on every dtype that has it; AVG, and sums of what was scaled before."""
    with group(rank, world_size, path):
        integers = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
        floats = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
        for name, combine in OPERATIONS.items():
            for dtype in (*integers, *(() if name.startswith("B") else floats)):
                found = value(rank, 4, dtype)
                dist.all_reduce(found, getattr(dist.ReduceOp, name))
                expected = value(0, 4, dtype)
                for r in range(1, world_size):
                    expected = combine(expected, value(r, 4, dtype))
                assert torch.equal(found, expected), (name, dtype)
        truth = torch.tensor([True, rank == 0, False])
        dist.all_reduce(truth, dist.ReduceOp.BAND)
        assert truth.tolist() == [True, False, False]
        dist.all_reduce(complex_ := torch.tensor([1 + 2j * rank]))
        assert complex_.item() == world_size + 2j * sum(range(world_size))
        found = value(rank)
        dist.all_reduce(found, dist.ReduceOp.AVG)
        assert torch.allclose(found, sum(every(world_size)) / world_size)
        for dtype in (torch.uint16, torch.float8_e4m3fn, torch.float8_e5m2, torch.bool):
            moved = value(rank, 4).to(dtype)
            dist.broadcast(moved, 1)
            assert torch.equal(moved.float(), value(1, 4).to(dtype).float())


def messages(rank: int, world_size: int, *, path: str) -> None:
    """Messages find the call that asks for their tag, in any order; large ones in both directions
    at once; from any source.
    """
    with group(rank, world_size, path):
        if rank == 0:
            for tag in (1, 2, 3):
                dist.send(value(0) + tag, 1, tag=tag)
        elif rank == 1:
            works = []
            for tag in (3, 1, 2):
                found = torch.zeros(5)
                works.append((dist.irecv(found, 0, tag=tag), found, tag))
            for work, found, tag in reversed(works):
                work.wait()
                assert torch.equal(found, value(0) + tag)
                assert work.source_rank() == 0
        peer = 1 - rank
        if rank < 2:  # larger than the mailbox: both must receive while they send
            found = torch.zeros(1 << 18)
            work = dist.irecv(found, peer)
            dist.send(torch.full_like(found, float(rank)), peer)
            work.wait()
            assert torch.equal(found, torch.full_like(found, float(peer)))
        if rank == 0:
            sources = set()
            for _ in range(world_size - 1):
                found = torch.zeros(5)
                source = dist.recv(found)
                assert torch.equal(found, value(source))
                sources.add(source)
            assert sources == set(range(1, world_size))
        else:
            dist.send(value(rank), 0)
        dist.barrier()  # before other messages of the same tag
        ops = [dist.P2POp(dist.isend, value(rank), (rank + 1) % world_size)]
        found = torch.zeros(5)
        ops.append(dist.P2POp(dist.irecv, found, (rank - 1) % world_size))
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        assert torch.equal(found, value((rank - 1) % world_size))
        dist.barrier()


def sparse(rank: int, world_size: int, *, path: str) -> None:
    with group(rank, world_size, path):
        indices = torch.tensor([[0, rank + 1, 0], [1, 1, 1]])
        mine = torch.sparse_coo_tensor(indices, torch.tensor([1.0, 2.0, 3.0]), (5, 2))
        expected = sum(
            torch.sparse_coo_tensor(
                torch.tensor([[0, r + 1, 0], [1, 1, 1]]), torch.tensor([1.0, 2.0, 3.0]), (5, 2)
            ).to_dense()
            for r in range(world_size)
        )
        dist.all_reduce(mine)
        assert torch.equal(mine.to_dense(), expected)


def futures(rank: int, world_size: int, *, path: str) -> None:
    """A future tells the end, good or bad, whether it is asked for before or after it."""
    with group(rank, world_size, path):
        found = value(rank)
        future = dist.all_reduce(found, async_op=True).get_future()
        doubled = future.then(lambda done: done.value()[0] * 2)
        assert torch.equal(doubled.wait(), 2 * sum(every(world_size)))
        work = dist.all_reduce(found, async_op=True)
        work.wait()
        assert work.get_future().done()
        assert work.result()[0] is found
    with group(rank, world_size, f"{path}-mismatch"):
        work = dist.all_reduce(value(rank, 3 + rank), async_op=True)
        with pytest.raises(RuntimeError, match="different collectives"):
            work.get_future().wait()
        assert isinstance(work.exception(), CollectiveMismatch)


def two_orders(rank: int, world_size: int, *, path: str) -> None:
    """Ranks start calls of two groups in different orders, on as many cores as they compute with,
    where a large sum begins in the thread that asks for it.
    """
    with crowded(), group(rank, world_size, path):
        parts = [dist.group.WORLD, dist.new_group([0, 1])]
        for size in (5, 1 << 20):
            order = (0, 1) if rank == 0 else (1, 0)
            found = [value(rank, size) + i for i in range(2)]
            works = {
                i: dist.all_reduce(found[i], group=parts[i], async_op=True, op=dist.ReduceOp.AVG)
                for i in order
            }
            for work in works.values():
                work.wait()
            for i in range(2):
                assert torch.equal(found[i], sum(every(world_size, size)) / world_size + i)
        for i in range(20):  # calls of both kinds keep their order
            x, y = torch.full((1 << 19,), float(rank + i)), value(rank)
            work = dist.all_reduce(x, async_op=True)
            dist.all_reduce(y)
            assert work.is_success()
            assert torch.equal(y, sum(every(world_size)))
            assert x[0] == x[-1] == sum(range(world_size)) + i * world_size
    with crowded(), group(rank, world_size, f"{path}-mismatch"):
        work = dist.all_reduce(torch.ones((1 << 19) + rank), async_op=True)
        with pytest.raises(CollectiveMismatch):
            work.wait()


def readers(rank: int, world_size: int, *, path: str) -> None:
    """A message that never comes: the end of the group ends the call and joins its thread."""
    before = set(threading.enumerate())
    with group(rank, world_size, path):
        works = [dist.irecv(torch.zeros(5), 1 - rank), dist.irecv(torch.zeros(5), tag=1)]
        assert any("recv" in thread.name for thread in threading.enumerate())
        dist.barrier()
    for work in works:
        with pytest.raises(CommError):
            work.wait()
    assert set(threading.enumerate()) <= before


def mismatch(rank: int, world_size: int, *, path: str) -> None:
    with group(rank, world_size, path):
        call = dist.all_reduce if rank == 0 else lambda t: dist.broadcast(t, 1)
        with pytest.raises(CollectiveMismatch, match=r"rank 0: all_reduce #1.*rank 1: broadcast"):
            call(value(rank))
        assert issubclass(CollectiveMismatch, RuntimeError)


def late(rank: int, world_size: int, *, path: str) -> None:
    """A rank that does not come is named when the group's time is over, or the call's own."""
    with group(rank, world_size, path, timeout_s=1.0):
        store = dist.group.WORLD.get_group_store()
        if rank == 0:
            with pytest.raises(CollectiveTimeout, match="rank 1"):
                dist.barrier()
            store.set("done", "1")
        else:
            store.wait(["done"], timedelta(seconds=60))


def lost(rank: int, world_size: int, *, path: str) -> None:
    with group(rank, world_size, path):
        dist.barrier()
        if rank == 1:
            os._exit(3)
        with pytest.raises(PeerLost, match="rank 1"):
            dist.all_reduce(value(rank))


def deadlock(rank: int, world_size: int, *, path: str) -> None:
    """Ranks that wait for each other in two groups."""
    with group(rank, world_size, path):
        other = dist.new_group([0, 1])
        with pytest.raises(CollectiveMismatch, match="waits for"):
            dist.barrier(group=other if rank == 0 else None)


def aborted(rank: int, world_size: int, *, path: str) -> None:
    """What another thread has shut down ends the call that waits."""
    with group(rank, world_size, path):
        part = dist.new_group([0, 1])
        if rank == 0:
            threading.Timer(0.2, part.abort).start()
            with pytest.raises(CommError, match="closed"):
                dist.all_reduce(value(0), group=part)
        dist.barrier()


def other_devices(rank: int, world_size: int, *, path: str) -> None:
    """Tensors on other devices go to the backend that was named for them."""
    calls = []

    class Recorder(dist.ProcessGroup):
        def allreduce(self, tensors: Any, opts: Any = None) -> Any:
            calls.append(tensors[0].device.type)

    dist.Backend.register_backend(
        "recorder", lambda store, rank, size, timeout: Recorder(rank, size), devices=["meta"]
    )
    with group(rank, world_size, path, "cpu:argosy,meta:recorder"):
        dist.all_reduce(torch.ones(2, device="meta"))
        dist.all_reduce(found := value(rank))
        assert torch.equal(found, sum(every(world_size)))
    assert calls == ["meta"]
    with (
        group(rank, world_size, f"{path}-cpu"),
        pytest.raises(UsageError, match=r"cpu:argosy,meta"),
    ):
        dist.all_reduce(torch.ones(2, device="meta"))


def again(rank: int, world_size: int, *, path: str) -> None:
    """Groups follow each other in one process, and those of one name in one group."""
    for i in range(2):
        with group(rank, world_size, f"{path}-{i}"):
            for _ in range(2):
                part = dist.new_group([0, 1], use_local_synchronization=True)
                dist.all_reduce(found := value(rank), group=part)
                assert torch.equal(found, sum(every(2)))
                dist.destroy_process_group(part)
    store = dist.FileStore(f"{path}-kept", world_size)
    for _ in range(2):  # a store that is used again
        dist.init_process_group("argosy", store=store, rank=rank, world_size=world_size)
        dist.all_reduce(found := value(rank))
        assert torch.equal(found, sum(every(world_size)))
        dist.destroy_process_group()


def two_hosts(rank: int, world_size: int, *, path: str) -> None:
    """Ranks that do not share memory: the first ones of the hosts meet through gloo."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hosts, "host_identity", lambda: f"host {rank % 2}")
        collectives(rank, world_size, path=path)
        messages(rank, world_size, path=f"{path}-messages")


# -- buckets of DDP in memory that all ranks map


@contextlib.contextmanager
def native(is_used: bool) -> Iterator[None]:
    """Whether groups use what ``argosy build`` has compiled."""
    before = dict(os.environ)
    os.environ["ARGOSY_NATIVE"] = str(int(is_used))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _is_shared(tensor: torch.Tensor) -> bool:
    """Whether it lies in shared memory of argosy's."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(part, 16) for part in line.split()[0].split("-"))
        if first <= tensor.data_ptr() < last:
            return "memfd:argosy-" in line
    return False


def _trained(rank: int, is_view: bool) -> tuple[list[torch.Tensor], nn.Module]:
    """The parameters after steps of which the last rank makes one more."""
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(8, 1 << 15), nn.Tanh(), nn.Linear(1 << 15, 8))
    model = DistributedDataParallel(layers, gradient_as_bucket_view=is_view)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    _steps(model, optimizer, rank)
    with model.join():
        _steps(model, optimizer, rank, 1 + rank)
    return [p.detach().clone() for p in model.parameters()], model


def shared_buckets(rank: int, world_size: int, *, path: str, is_mixed: bool) -> None:
    """The same bits, whether buckets lie in memory that all ranks map, or those of all ranks but
    one, or none.
    """
    for is_view in (False, True):
        found = []
        for is_native in (False, True):
            has_it = is_native and not (is_mixed and rank == world_size - 1)
            with native(has_it), group(rank, world_size, f"{path}-{is_view}-{is_native}"):
                parameters, model = _trained(rank, is_view)
            found.append(parameters)
            grad = next(model.parameters()).grad
            assert grad is not None
            assert _is_shared(grad) == (has_it and is_view)
            assert grad.isfinite().all()  # after the group has gone
        for before, after in zip(*found, strict=True):
            assert torch.equal(before, after)


def lost_in_backward(rank: int, world_size: int, *, path: str, is_native: bool) -> None:
    """A rank exits between two steps: the other is told in backward."""
    with native(is_native), group(rank, world_size, path):
        _, model = _trained(0, True)
        if rank == 1:
            os._exit(3)
        with pytest.raises(RuntimeError, match="rank 1"):
            model(torch.ones(2, 8)).sum().backward()


# -- training: the same numbers as with gloo


def train(rank: int, world_size: int, *, path: str, feature: str) -> list[float]:
    """A few steps of a small model; the loss of each, and the sum of what was learnt."""
    results = []
    for backend in ("gloo", "argosy"):
        torch.manual_seed(0)
        with group(rank, world_size, f"{path}-{backend}", backend):
            results.append(TRAINING[feature](rank, world_size, f"{path}-{backend}-files"))
    assert len(results[0]) > 1
    torch.testing.assert_close(*map(torch.tensor, results))
    return results[1]


def _model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 2))


def _steps(
    model: nn.Module, optimizer: torch.optim.Optimizer, rank: int, count: int = 4
) -> list[float]:
    losses = []
    generator = torch.Generator().manual_seed(rank)
    for _ in range(count):
        x = torch.randn(6, 8, generator=generator)
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@contextlib.contextmanager
def crowded() -> Iterator[None]:
    """As many threads as cores in each rank: then no core is free for a queue's thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _large(rank: int, world_size: int, path: str) -> list[float]:
    """Buckets that are summed where they are asked for, copied to the gradients or not."""
    found: list[float] = []
    with crowded():
        for is_view in (False, True):
            model = DistributedDataParallel(
                nn.Sequential(nn.Linear(8, 1 << 15), nn.Tanh(), nn.Linear(1 << 15, 8)),
                gradient_as_bucket_view=is_view,
            )
            found += _steps(model, torch.optim.SGD(model.parameters(), 0.01), rank)
            found += [p.sum().item() for p in model.parameters()]
    return found


def _ddp(rank: int, world_size: int, path: str, **options: Any) -> list[float]:
    model = DistributedDataParallel(_model(), **options)
    losses = _steps(model, torch.optim.SGD(model.parameters(), 0.1), rank)
    return [*losses, *(p.sum().item() for p in model.parameters())]


def _hooked(rank: int, world_size: int, path: str) -> list[float]:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    found = []
    for hook in (default_hooks.allreduce_hook, default_hooks.fp16_compress_hook):
        model = DistributedDataParallel(_model(), bucket_cap_mb=0.001)
        model.register_comm_hook(None, hook)
        found += _steps(model, torch.optim.SGD(model.parameters(), 0.1), rank)
    model = DistributedDataParallel(_model())
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    return found + _steps(model, torch.optim.SGD(model.parameters(), 0.1), rank)


class _Unused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 2), nn.Linear(8, 2)
        self.turn = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.turn += 1
        return self.first(x) if self.turn % 2 else self.second(x)


def _unused(rank: int, world_size: int, path: str) -> list[float]:
    model = DistributedDataParallel(_Unused(), find_unused_parameters=True)
    return _steps(model, torch.optim.SGD(model.parameters(), 0.1), rank)


def _uneven(rank: int, world_size: int, path: str) -> list[float]:
    model = DistributedDataParallel(_model())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with model.join():
        _steps(model, optimizer, rank, 2 + rank)
    return [p.sum().item() for p in model.parameters()]


def _embedding(rank: int, world_size: int, path: str) -> list[float]:
    table = nn.Embedding(20, 4, sparse=True)
    model = DistributedDataParallel(table)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(3):
        optimizer.zero_grad()
        model(torch.tensor([rank, 3, step])).square().sum().backward()
        optimizer.step()
    return table.weight.detach().flatten().tolist()


def _zero(rank: int, world_size: int, path: str) -> list[float]:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = DistributedDataParallel(_model())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1)
    losses = _steps(model, optimizer, rank)
    return [*losses, *(p.sum().item() for p in model.parameters())]


def _fully_sharded(rank: int, world_size: int, path: str) -> list[float]:
    from torch.distributed.fsdp import fully_shard

    model = _model()
    mesh = dist.init_device_mesh("cpu", (world_size,))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    losses = _steps(model, torch.optim.Adam(model.parameters(), 0.1), rank)
    return [*losses, *(p.full_tensor().sum().item() for p in model.parameters())]


def _tensor_parallel(rank: int, world_size: int, path: str) -> list[float]:
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = dist.init_device_mesh("cpu", (world_size,))
    model = parallelize_module(_model(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return _steps(model, torch.optim.SGD(model.parameters(), 0.1), 0)


def _dtensor(rank: int, world_size: int, path: str) -> list[float]:
    """Every change of placement: all_gather, all_to_all, all_reduce and reduce_scatter."""
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

    mesh = dist.init_device_mesh("cpu", (world_size,))
    rows = distribute_tensor(torch.arange(16.0).view(4, 4), mesh, [Shard(0)])
    terms = DTensor.from_local(value(rank, 16).view(4, 4), mesh, [Partial()])
    found = [
        rows.redistribute(mesh, [Shard(1)]),
        rows.redistribute(mesh, [Replicate()]),
        terms.redistribute(mesh, [Replicate()]),
        terms.redistribute(mesh, [Shard(0)]),
        rows @ rows.t(),
    ]
    return torch.cat([x.to_local().flatten() for x in found]).tolist()


def _checkpoint(rank: int, world_size: int, path: str) -> list[float]:
    from torch.distributed import checkpoint
    from torch.distributed.fsdp import fully_shard

    mesh = dist.init_device_mesh("cpu", (world_size,))
    model = fully_shard(_model(), mesh=mesh)
    checkpoint.save(model.state_dict(), checkpoint_id=Path(path))
    torch.manual_seed(5)
    other = fully_shard(_model(), mesh=mesh)
    state = other.state_dict()
    checkpoint.load(state, checkpoint_id=Path(path))
    other.load_state_dict(state)
    found = [p.full_tensor().sum().item() for p in other.parameters()]
    assert found == [p.full_tensor().sum().item() for p in model.parameters()]
    return found


def _functional(rank: int, world_size: int, path: str) -> list[float]:
    """What a compiled graph calls: torch's functional collectives, through C++."""
    from torch.distributed import _functional_collectives as functional

    ranks = list(range(world_size))
    x = value(rank, 2 * world_size)
    found = [
        functional.all_reduce(x, "sum", ranks),
        functional.all_gather_tensor(x, 0, ranks),
        functional.reduce_scatter_tensor(x, "sum", 0, ranks),
        functional.all_to_all_single(x, None, None, ranks),
        functional.broadcast(x, 1, ranks),
        *functional.all_reduce_coalesced([x, x + 1], "avg", ranks),
    ]
    return torch.cat([functional.wait_tensor(t) for t in found]).tolist()


def _compiled(rank: int, world_size: int, path: str) -> list[float]:
    """DDP under torch.compile, and a collective inside a graph."""

    @torch.compile(backend="aot_eager", fullgraph=True)
    def total(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        dist.all_reduce(y)
        return y + 1

    try:
        model = torch.compile(DistributedDataParallel(_model()), backend="aot_eager")
        losses = _steps(model, torch.optim.SGD(model.parameters(), 0.1), rank)
        return [*losses, *total(value(rank)).tolist()]
    finally:
        torch.compiler.reset()


TRAINING: dict[str, Callable[[int, int, str], list[float]]] = {
    "ddp": _ddp,
    "large buckets": _large,
    "static graph": lambda *args: _ddp(*args, static_graph=True, bucket_cap_mb=0.001),
    "hooks": _hooked,
    "unused parameters": _unused,
    "uneven inputs": _uneven,
    "sparse embedding": _embedding,
    "zero": _zero,
    "fully_shard": _fully_sharded,
    "tensor parallel": _tensor_parallel,
    "dtensor": _dtensor,
    "checkpoint": _checkpoint,
    "functional": _functional,
    "compiled": _compiled,
}
