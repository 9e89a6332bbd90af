"""Samplers and datasets, where the goldens cannot show it."""

import numpy as np
import pytest

from argosy.io import (
    BatchSampler,
    DistributedBatchSampler,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)


def test_distributed_sampler_reads_the_launchers_environment(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "4")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "3")
    sampler = DistributedBatchSampler(range(8), batch_size=1)
    assert (sampler.nranks, sampler.local_rank) == (4, 3)
    assert list(sampler) == [[3], [7]]


def test_distributed_sampler_alone(monkeypatch):
    monkeypatch.delenv("PADDLE_TRAINERS_NUM", raising=False)
    monkeypatch.delenv("PADDLE_TRAINER_ID", raising=False)
    assert list(DistributedBatchSampler(range(3), 2)) == [[0, 1], [2]]


def test_bad_environment_names_the_variable(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "two")
    with pytest.raises(ValueError, match="PADDLE_TRAINERS_NUM must be an integer, but is 'two'"):
        DistributedBatchSampler(range(3), 2)


@pytest.mark.parametrize("n", [1, 7, 12])
@pytest.mark.parametrize("replicas", [1, 2, 5])
def test_ranks_cover_the_dataset_evenly(n, replicas):
    shares = [
        [
            i
            for batch in DistributedBatchSampler(range(n), 3, replicas, rank, shuffle=True)
            for i in batch
        ]
        for rank in range(replicas)
    ]
    assert len({len(share) for share in shares}) == 1
    assert {i for share in shares for i in share} == set(range(n))


def test_subset_random_sampler_gives_each_once():
    sampler = SubsetRandomSampler([5, 3, 9])
    assert len(sampler) == 3
    assert sorted(sampler) == [3, 5, 9]


def test_random_split_parts_do_not_overlap():
    parts = random_split(list(range(10)), [3, 7])
    assert [len(part) for part in parts] == [3, 7]
    assert sorted(part[i] for part in parts for i in range(len(part))) == list(range(10))


def test_empty_part_warns():
    with pytest.warns(UserWarning, match="index 1 is empty"):
        random_split([1], [0.5, 0.5])


@pytest.mark.parametrize(
    "weights", [[-1.0, 2.0], [0.0, 0.0], [np.inf, 1.0], [np.nan, 1.0], np.ones((2, 2, 2))], ids=str
)
def test_weights_are_checked(weights):
    with pytest.raises(AssertionError):
        iter(WeightedRandomSampler(weights, 1))


def test_weighted_sampler_of_rows_and_lists():
    sampler = WeightedRandomSampler(np.array([[1.0, 0.0], [0.0, 1.0]]), 3)
    assert len(sampler) == 6
    assert list(sampler) == [0, 0, 0, 1, 1, 1]
    assert len(WeightedRandomSampler([1.0], 3)) == 3
    with pytest.raises(AssertionError, match="as many positive weights"):
        iter(WeightedRandomSampler([1.0, 0.0], 2, replacement=False))


def test_messages():
    with pytest.raises(ValueError, match="num_samples=4 is more than the 3 samples"):
        RandomSampler(range(3), num_samples=4)
    with pytest.raises(AssertionError, match="shuffle should be False when sampler is set"):
        BatchSampler(sampler=range(3), shuffle=True)
    with pytest.raises(AssertionError, match=r"different lengths \[2, 3\]"):
        TensorDataset([np.zeros(2), np.zeros(3)])
