"""What the ranks do in the tests of gradients that travel as two factors."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import signal
import time
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
import torch
import torch.utils.checkpoint

import paddle
import paddle.distributed as dist
from argosy.foundation import gradients
from argosy.foundation.errors import CommError, PeerLost
from argosy.runtime.comm.backends import hierarchical
from argosy.runtime.comm.backends.freight import Freight
from argosy.runtime.comm.backends.hierarchical import HierarchicalBackend
from argosy.runtime.comm.backends.shm.factored import ShmFactoredBucket
from argosy.runtime.comm.traffic import count_traffic
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.reducer import ReducerOptions
from paddle import nn
from paddle.distributed import fleet
from support.job import joined_job

Meeting = dict[str, Any]
WIDTH = 768  # of the smallest matrix whose factors are taken between three hosts
MOST = 96  # samples, but between three hosts
MOST_OF_THREE_HOSTS = 64


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(WIDTH, WIDTH, dtype=torch.float64)
        self.second = torch.nn.Linear(WIDTH, WIDTH, bias=False, dtype=torch.float64)
        self.way = ""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.way == "fails in the end":
            return self.first(Failing.apply(x.requires_grad_()))
        y = self.first(x)
        if self.way == "recomputed":
            y = torch.utils.checkpoint.checkpoint(self.second, y.tanh(), use_reentrant=False)
        elif self.way == "skipped":
            return y
        elif self.way == "fails":
            y = self.second(Failing.apply(y.tanh()))
        else:
            y = self.second(y.tanh())
        if self.way == "twice":
            y = self.second(y.tanh())
        if self.way == "also otherwise":
            y = y + (self.second.weight**2).sum()
        return y


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        raise ValueError("on purpose")


def samples(rank: int, count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(count, WIDTH, dtype=torch.float64, generator=generator)


def means(module: torch.nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """The mean over the ranks of the gradients that ``module`` would have by itself."""
    alone = copy.deepcopy(module)
    alone.zero_grad()
    (alone(x) ** 2).mean().backward()
    found = []
    for param in alone.parameters():
        grad = torch.zeros_like(param) if param.grad is None else param.grad
        total = paddle.to_tensor(grad.detach().numpy())
        dist.all_reduce(total)
        found.append(torch.from_numpy(total.numpy()) / dist.get_world_size())
    return found


def difference(module: torch.nn.Module, wanted: list[torch.Tensor]) -> float:
    """The largest, relative to the largest gradient of its parameter."""
    return max(
        float((param.grad - mean).abs().max() / mean.abs().max())
        for param, mean in zip(module.parameters(), wanted, strict=True)
        if param.grad is not None
    )


@contextlib.contextmanager
def wrapped(
    rank: int, world_size: int, meeting: Meeting, place: str, **options: Any
) -> Iterator[tuple[Net, Any, Any]]:
    """A net, its wrapper, and what counts the bytes of its buckets, on one host or, where ``place``
    is "hosts", on as many as there are ranks.
    """
    backend = place if place != "hosts" else f"hosts {'abc'[:world_size]}"
    with joined_job(rank, world_size, meeting, backend):
        group = dist.get_group()
        traffic = count_traffic(group)
        net = Net()
        settings = ReducerOptions(**{"factors_between_hosts": True, **options})
        yield net, DataParallelModule(net, group, settings), traffic


def ways(
    rank: int, world_size: int, meeting: Meeting, *, place: str, counts: list[int], way: str = ""
) -> tuple[list[float], list[int], str]:
    """How far gradients are off in several steps with ``counts[rank]`` samples, the bytes of all
    buckets in each, and a digest of the bits in the end.
    """
    options = {"find_unused_parameters": True}
    with wrapped(rank, world_size, meeting, place, **options) as (net, model, traffic):
        net.way = way if way != "skipped" or rank else ""
        x = samples(rank, counts[rank])
        off, num_bytes = [], []
        for _ in range(3):
            wanted = means(net, x)
            net.zero_grad()
            traffic.reset()
            (model(x) ** 2).mean().backward()
            num_bytes.append(traffic.bytes_by_kind["bucket"])
            off.append(difference(net, wanted))
        return off, num_bytes, digest(net)


def digest(net: Net) -> str:
    grads = b"".join(param.grad.numpy().tobytes() for param in net.parameters())
    return hashlib.sha256(grads).hexdigest()


def changing(rank: int, world_size: int, meeting: Meeting, *, place: str) -> list[str]:
    """Digests of the gradients of the same samples in a first round and after rounds with
    others.
    """
    with wrapped(rank, world_size, meeting, place) as (net, model, _):
        found = []
        for count in (8, MOST + 1, 1, 8):
            net.zero_grad()
            (model(samples(rank, count)) ** 2).mean().backward()
            found.append(digest(net))
        return found


def hooked(rank: int, world_size: int, meeting: Meeting, *, place: str) -> tuple[float, float]:
    """How far off a gradient is that a hook doubles, and what that hook saw."""
    with wrapped(rank, world_size, meeting, place) as (net, model, _):
        x, seen = samples(rank, 4), []

        def double(grad: torch.Tensor) -> torch.Tensor:
            seen.append(grad.clone())
            return 2 * grad

        handle = net.second.weight.register_hook(double)
        (model(x) ** 2).mean().backward()
        handle.remove()
        alone = copy.deepcopy(net)
        alone.zero_grad()
        (alone(x) ** 2).mean().backward()
        wanted = means(net, x)
        wanted[2] *= 2
        return difference(net, wanted), float((seen[0] - alone.second.weight.grad).abs().max())


def accumulated(rank: int, world_size: int, meeting: Meeting, *, place: str) -> list[float]:
    """How far off gradients are after a backward under no_sync, one more, one to which nothing was
    added, and one that is added to it.
    """
    with wrapped(rank, world_size, meeting, place) as (net, model, _):
        x, off = samples(rank, 4), []
        wanted = means(net, x)
        with model.no_sync():
            (model(x) ** 2).mean().backward()
        (model(x) ** 2).mean().backward()
        off.append(difference(net, [2 * mean for mean in wanted]))
        (model(x) ** 2).mean().backward()
        off.append(difference(net, [3 * mean for mean in wanted]))
        net.zero_grad()
        (model(x) ** 2).mean().backward()
        off.append(difference(net, wanted))
        (model(x) ** 2).mean().backward()
        off.append(difference(net, [2 * mean for mean in wanted]))
        return off


def asked_for(rank: int, world_size: int, meeting: Meeting, *, place: str) -> tuple[bool, float]:
    """Whether torch.autograd.grad gives this rank's own gradients and leaves none, and how far off
    those of the next backward are.
    """
    with wrapped(rank, world_size, meeting, place) as (net, model, _):
        x = samples(rank, 4)
        alone = copy.deepcopy(net)
        (alone(x) ** 2).mean().backward()
        own = torch.autograd.grad((model(x) ** 2).mean(), list(net.parameters()))
        pairs = zip(own, alone.parameters(), strict=True)
        are_own = all(torch.allclose(a, b.grad, rtol=1e-12, atol=0) for a, b in pairs)
        is_clean = all(param.grad is None for param in net.parameters())
        wanted = means(net, x)
        (model(x) ** 2).mean().backward()
        return are_own and is_clean, difference(net, wanted)


def failed(rank: int, world_size: int, meeting: Meeting, *, place: str) -> float:
    """How far off gradients are after a backward that fails where factors were handed over."""
    with wrapped(rank, world_size, meeting, place) as (net, model, _):
        x, net.way = samples(rank, 4), "fails"
        with pytest.raises(ValueError, match="on purpose"):
            (model(x) ** 2).mean().backward()
        net.way = ""
        wanted = means(net, x)
        loss = (model(x) ** 2).mean()  # completes the round that failed
        net.zero_grad()
        loss.backward()
        return difference(net, wanted)


def cleared(rank: int, world_size: int, meeting: Meeting, *, place: str) -> float | None:
    """How far the gradient of rank 1 is from half its own, where a backward failed before a bucket
    left and rank 0 has cleared its gradients since; None if there is none.
    """
    with wrapped(rank, world_size, meeting, place) as (net, model, _):
        x = samples(rank, 4)
        alone = copy.deepcopy(net)
        (alone.first(x) ** 2).mean().backward()
        net.way = "fails in the end"  # the bucket of the second layer, which is to leave first,
        with pytest.raises(ValueError, match="on purpose"):  # waits for its gradient
            (model(x) ** 2).mean().backward()
        if rank == 0:
            net.zero_grad()
        with warnings.catch_warnings(action="ignore"):  # of parameters without gradients
            model(x)
        grad, own = net.first.weight.grad, alone.first.weight.grad
        return None if grad is None else float((grad - own / 2).abs().max() / own.abs().max())


def too_late(rank: int, world_size: int, meeting: Meeting, *, place: str) -> list[bool]:
    """Whether factors are refused that come after the first were sent, the gradient being cleared
    meanwhile: others may be reading the first.
    """
    with wrapped(rank, world_size, meeting, place) as (net, model, _):
        x, refused = samples(rank, 4), []
        weight = net.second.weight

        def again(grad: torch.Tensor) -> None:
            weight.grad = None
            refused.append(gradients.product(weight, x.t(), x) is not None)

        net.first.bias.register_hook(again)
        (model(x) ** 2).mean().backward()
        return refused


def face(
    rank: int, world_size: int, meeting: Meeting, *, place: str, shape: tuple[int, ...],
    has_bias: bool,
) -> tuple[float, int]:  # fmt: skip
    """How far off the gradient of a layer of Paddle is, and the bytes of its buckets."""
    with joined_job(rank, world_size, meeting, place):
        traffic = count_traffic(dist.get_group())
        paddle.seed(0)
        layer = nn.Linear(WIDTH, WIDTH, bias_attr=None if has_bias else False)
        strategy = fleet.DistributedStrategy()
        strategy.factored_allreduce = place != "shm"
        fleet.init(is_collective=True, strategy=strategy)
        model = fleet.distributed_model(layer)
        x = paddle.to_tensor(samples(rank, 8).float().numpy()).reshape([*shape, WIDTH])
        traffic.reset()
        (model(x) ** 2).mean().backward()
        num_bytes = traffic.bytes_by_kind["bucket"]
        found = layer.weight.grad.numpy()
        layer.clear_gradients()
        with model.no_sync():
            (model(x) ** 2).mean().backward()
        mean = layer.weight.grad.clone()
        dist.all_reduce(mean)
        wanted = mean.numpy() / world_size
        return float(abs(found - wanted).max() / abs(wanted).max()), num_bytes


def unlucky(rank: int, world_size: int, meeting: Meeting) -> tuple[list[float], float]:
    """Rank 1 fails while it adds what the other has brought for the last layer, and goes on: the
    layer's gradient, and how far off it is.
    """
    with wrapped(rank, world_size, meeting, "shm") as (net, model, _):
        x = samples(rank, 4)
        wanted = means(net, x)
        add, failures = ShmFactoredBucket._add, [MemoryError("on purpose")] * rank

        def fail_once(self: ShmFactoredBucket, by: int, count: int, is_first: bool = False) -> None:
            add(self, by, count, is_first)
            if failures and not is_first:
                raise failures.pop()

        with mock.patch.object(ShmFactoredBucket, "_add", fail_once):
            expected = pytest.raises(MemoryError) if rank else contextlib.nullcontext()
            with expected:
                (model(x) ** 2).mean().backward()
            with warnings.catch_warnings(action="ignore"):  # of parameters without gradients
                model(x)  # completes the round
        grad, mean = net.second.weight.grad, wanted[2]
        return grad.flatten().tolist(), float((grad - mean).abs().max() / mean.abs().max())


def in_vain(rank: int, world_size: int, meeting: Meeting) -> int:
    """How often the whole gradient is among what the rank is about to wait for, where it turns out
    at the end of a backward that rank 0 has no factors.
    """
    with wrapped(rank, world_size, meeting, "hosts") as (_, model, _):
        expect, expected = Freight.expect, []
        place = model._reducer._views[2].factors._inner.place  # another one after the first round

        def noted(self: Freight, places: list[int]) -> None:
            expected.extend(places)
            expect(self, places)

        with (
            mock.patch.object(HierarchicalBackend, "is_over", return_value=False),
            mock.patch.object(Freight, "expect", noted),
        ):
            (model(samples(rank, 4 if rank else MOST + 1)) ** 2).mean().backward()
        return expected.count(place)


def giving_up(rank: int, world_size: int, meeting: Meeting, *, method: str) -> tuple[str, str]:
    """What rank 0 gets if ``method`` of rank 1 fails in a backward; what rank 1 gets in the
    next.
    """

    def train(model: Any, x: torch.Tensor, num_steps: int) -> None:
        for _ in range(num_steps):
            (model(x) ** 2).mean().backward()

    with wrapped(rank, world_size, meeting, "hosts") as (_, model, _):
        x = samples(rank, 4)
        with contextlib.ExitStack() as stack:
            if rank:
                error = MemoryError("on purpose")
                owner = HierarchicalBackend if method == "_wait_at" else Freight
                stack.enter_context(mock.patch.object(owner, method, side_effect=error))
                stack.enter_context(pytest.raises(MemoryError))
                train(model, x, 1)
        with pytest.raises(CommError) as caught:
            train(model, x, 2)
        return type(caught.value).__name__, str(caught.value)


def killed(rank: int, world_size: int, meeting: Meeting, *, place: str) -> tuple[str, float]:
    """The last rank dies while the others multiply its factors and wait for its share."""
    with wrapped(rank, world_size, meeting, place) as (net, model, _):
        x = samples(rank, 4)
        (model(x) ** 2).mean().backward()
        net.zero_grad()
        loss = (model(x) ** 2).mean()
        if rank == world_size - 1:
            # the second layer's factors have come, the first's have not
            net.first.bias.register_hook(lambda grad: os.kill(os.getpid(), signal.SIGKILL))
        began = time.monotonic()
        with pytest.raises(PeerLost) as caught:
            loss.backward()
        return str(caught.value), time.monotonic() - began


def threaded(rank: int, world_size: int, meeting: Meeting) -> list[str]:
    """Digests of gradients of the same samples between two hosts: exchanged as factors; with two
    threads on one of them; and never as factors.
    """
    num_threads, found = torch.get_num_threads(), []
    with wrapped(rank, world_size, meeting, "hosts") as (_, model, _):
        whole = DataParallelModule(Net(), dist.get_group(), ReducerOptions())
        try:
            for threads, trained in ((1, model), (1 + rank, model), (1 + rank, whole)):
                torch.set_num_threads(threads)
                trained.zero_grad()
                (trained(samples(rank, 8)) ** 2).mean().backward()
                found.append(digest(trained.module))
        finally:
            torch.set_num_threads(num_threads)
    return found


def rounding(rank: int, world_size: int, meeting: Meeting) -> list[str]:
    """Why groups of two hosts have no factors: as they are, if their products were unlike, and with
    other numbers of threads.
    """
    with joined_job(rank, world_size, meeting, "hosts ab"):
        found = [dist.get_group().transport.why_no_factors()]
        with mock.patch.object(hierarchical, "digest_of_products", return_value=rank):
            found.append(dist.new_group([0, 1]).transport.why_no_factors())
        with mock.patch.object(torch, "get_num_threads", return_value=1 + rank):
            found.append(dist.get_group().transport.why_no_factors())
        return found


def unasked(
    rank: int, world_size: int, meeting: Meeting, *, backend: str, is_asked: bool
) -> tuple[float, int, str]:
    """How far off gradients are, the bytes of buckets, and why there are no factors."""
    options = {"factors_between_hosts": is_asked}
    with wrapped(rank, world_size, meeting, backend, **options) as (net, model, traffic):
        x = samples(rank, 8)
        wanted = means(net, x)
        traffic.reset()
        (model(x) ** 2).mean().backward()
        num_bytes = traffic.bytes_by_kind["bucket"]
        return difference(net, wanted), num_bytes, dist.get_group().transport.why_no_factors()
