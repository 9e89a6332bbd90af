"""The backend for several hosts keeps the contracts of all backends; the hosts are made up, one
letter per rank.
"""

from __future__ import annotations

import itertools
import os

import pytest
import torch

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import CommError
from argosy.runtime.parallel.compression import HalfCodec
from conformance import collectives
from support.join import joined, open_store
from support.pool import Died

_names = (f"hosts-{i}" for i in itertools.count())


@pytest.mark.parametrize("hosts", ["aba", "aabb"])
@pytest.mark.parametrize("contract", collectives.CONTRACTS)
def test_contract(pool, rendezvous, contract, hosts):
    pool.run(
        "conformance.collectives:run",
        len(hosts),
        contract=contract,
        kind="hierarchical",
        name=next(_names),
        rendezvous=rendezvous,
        hosts=hosts,
    )


def test_closed_group_refuses_calls(pool, rendezvous):
    pool.run(f"{__name__}:closed", 3, name=next(_names), rendezvous=rendezvous)


def closed(rank, world_size, *, name, rendezvous):
    with joined("hierarchical", name, rank, world_size, rendezvous, hosts="aab") as group:
        group.barrier()
        group.close()
        with pytest.raises(CommError, match="closed"):
            group.barrier()
        with pytest.raises(CommError, match="closed"):
            group.send(torch.zeros(3), (rank + 1) % world_size)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_bucket_becomes_the_mean(pool, rendezvous, dtype):
    pool.run(f"{__name__}:mean", 4, name=next(_names), rendezvous=rendezvous, dtype=dtype)


def mean(rank, world_size, *, name, rendezvous, dtype):
    """Hosts of three and of one rank: the mean over ranks is not the mean of the hosts' means."""
    with joined("hierarchical", name, rank, world_size, rendezvous, hosts="abaa") as group:
        buckets = [group.make_bucket(count, dtype) for count in (1000, 7)]
        for step in range(3):
            for bucket in buckets:
                bucket.tensor.copy_(torch.arange(bucket.tensor.numel()) % 50 + 4.0 * rank + step)
                bucket.publish()
            for bucket in buckets:
                bucket.progress()
                bucket.finish()
                torch.testing.assert_close(
                    bucket.tensor, (torch.arange(bucket.tensor.numel()) % 50 + 6.0 + step).to(dtype)
                )
        group.barrier()
        for bucket in buckets:
            bucket.close()


@pytest.mark.parametrize("hosts", ["ab", "abc", "aab"])
def test_hosts_exchange_a_bucket_before_anybody_waits_for_it(pool, rendezvous, hosts):
    """They may publish in different orders, too: models that are wrapped apart do."""
    pool.run(f"{__name__}:early", len(hosts), name=next(_names), rendezvous=rendezvous, hosts=hosts)


def early(rank, world_size, *, name, rendezvous, hosts):
    with joined("hierarchical", name, rank, world_size, rendezvous, hosts=hosts) as group:
        buckets = [group.make_bucket(count, torch.float32) for count in (300_000, 500)]
        want = 1.0 + (world_size - 1) / 2
        for step in range(3):
            for bucket in buckets if rank else buckets[::-1]:
                bucket.tensor.fill_(1.0 + rank + step)
                bucket.publish()
            if hosts.index(hosts[rank]) == rank:  # the first of its host
                for bucket in buckets:
                    until = Deadline.after(20)
                    while bucket.tensor[-1] != want + step or bucket.tensor[0] != want + step:
                        bucket.progress()
                        until.check("the mean before finish")
            else:
                while not all(bucket.progress() for bucket in buckets):
                    pass
            for bucket in buckets:
                bucket.finish()
                assert bool((bucket.tensor == want + step).all())
        for bucket in buckets:
            bucket.close()


def test_hosts_that_send_different_forms_are_told(pool, rendezvous):
    said = pool.run(f"{__name__}:forms", 2, name=next(_names), rendezvous=rendezvous)
    assert all("hosts exchange different things" in text for text in said), said
    assert all("float32[10] as they are" in text and "in form 16" in text for text in said)


def forms(rank, world_size, *, name, rendezvous):
    with joined("hierarchical", name, rank, world_size, rendezvous, hosts="ab") as group:
        codec = HalfCodec(torch.float16)
        bucket = (
            group.make_coded_bucket(10, torch.float32, codec)
            if rank
            else group.make_bucket(10, torch.float32)
        )
        bucket.publish()
        with pytest.raises(CommError) as caught:
            bucket.finish()
        return str(caught.value)


@pytest.mark.parametrize("victim", [0, 1])
def test_every_host_learns_of_a_lost_rank(pool, rendezvous, victim):
    """Whether a host's first rank or another one is lost, no survivor waits for the timeout."""
    answers = pool.run(
        f"{__name__}:one_dies",
        4,
        name=next(_names),
        rendezvous=rendezvous,
        victim=victim,
        may_die=[victim],
        deadline_s=15,
    )
    assert isinstance(answers[victim], Died)
    assert all(answer == "CommError" for rank, answer in enumerate(answers) if rank != victim)


def one_dies(rank, world_size, *, name, rendezvous, victim):
    with (
        joined("hierarchical", name, rank, world_size, rendezvous, hosts="aabb") as group,
        open_store(rendezvous) as store,
    ):
        group.barrier()
        if rank == victim:
            store.get(f"{name}/dies")
            os._exit(9)
        if rank == (victim + 1) % world_size:
            store.set(f"{name}/dies", "1")
        try:
            group.all_reduce(torch.zeros(5), collectives.ReduceOp.SUM)
        except CommError:
            return "CommError"
        return "went through"
