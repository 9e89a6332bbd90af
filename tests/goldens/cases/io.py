"""Samplers, collation and DataLoader: which samples, in which order, as which tensors."""

import numpy as np

from goldens.harness import Cases

cases = Cases("io")


class Range:
    """A dataset by index of a given length."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i


def seeded(name, fn):
    """Compare what ``fn(paddle.io)`` draws from NumPy's generator after one seed."""

    @cases.add(name)
    def _(paddle, draw):
        np.random.seed(11)
        return fn(paddle.io)


seeded("sequence_sampler", lambda io: list(io.SequenceSampler(Range(5))))
seeded("random_sampler", lambda io: [list(io.RandomSampler(Range(9))) for _ in range(2)])
seeded(
    "random_sampler-replacement",
    lambda io: list(io.RandomSampler(Range(5), replacement=True, num_samples=12)),
)
seeded("random_sampler-fewer", lambda io: list(io.RandomSampler(Range(9), num_samples=4)))
seeded(
    "random_sampler-generator",
    lambda io: list(io.RandomSampler(Range(9), num_samples=4, generator=iter([3, 1, 2]))),
)
seeded(
    "weighted_sampler",
    lambda io: list(io.WeightedRandomSampler(np.array([0.1, 0.5, 0.0, 0.4]), 10)),
)
seeded(
    "weighted_sampler-no_replacement",
    lambda io: list(io.WeightedRandomSampler(np.array([1.0, 5.0, 0.0, 4.0]), 3, False)),
)
seeded(
    "batch_sampler-shuffle",
    lambda io: [list(io.BatchSampler(Range(10), shuffle=True, batch_size=4)) for _ in range(2)],
)
seeded(
    "batch_sampler-drop", lambda io: list(io.BatchSampler(Range(10), batch_size=4, drop_last=True))
)
seeded(
    "batch_sampler-of_sampler", lambda io: list(io.BatchSampler(sampler=range(3, 10), batch_size=3))
)
seeded(
    "batch_sampler-len",
    lambda io: [
        len(io.BatchSampler(Range(n), batch_size=b, drop_last=d))
        for n in (1, 7, 8)
        for b in (1, 4)
        for d in (True, False)
    ],
)


@cases.add("distributed_batch_sampler")
def _(paddle, draw):
    """Every rank's batches over two epochs, written out as one sequence with -1 between batches and
    -2 between ranks.
    """
    out = {}
    for n in (1, 2, 5, 8, 13):
        for size in (1, 2, 3):
            for replicas in (1, 2, 3):
                for shuffle in (False, True):
                    for drop in (False, True):
                        key = f"{n}-{size}-{replicas}-{int(shuffle)}-{int(drop)}"
                        out[key] = np.array(_visit(paddle, n, size, replicas, shuffle, drop))
    return out


def _visit(paddle, n, size, replicas, shuffle, drop):
    trace = []
    for rank in range(replicas):
        sampler = paddle.io.DistributedBatchSampler(Range(n), size, replicas, rank, shuffle, drop)
        trace.append(len(sampler))
        for _ in range(2):
            for batch in sampler:
                trace += [*batch, -1]
        trace.append(-2)
    return trace


@cases.add("distributed_batch_sampler-set_epoch")
def _(paddle, draw):
    sampler = paddle.io.DistributedBatchSampler(Range(10), 3, 2, 1, shuffle=True)
    sampler.set_epoch(5)
    first = [i for batch in sampler for i in batch]
    return [
        first,
        [
            sampler.epoch,
            sampler.nranks,
            sampler.local_rank,
            sampler.num_samples,
            sampler.total_size,
        ],
    ]


def dataset(paddle, samples):
    class Listed(paddle.io.Dataset):
        def __getitem__(self, i):
            return samples[i]

        def __len__(self):
            return len(samples)

    return Listed()


def stream(paddle, samples):
    class Streamed(paddle.io.IterableDataset):
        def __iter__(self):
            return iter(samples)

    return Streamed()


def loaded(name, samples, iterable=False, **options):
    @cases.add(name)
    def _(paddle, draw):
        source = stream(paddle, samples) if iterable else dataset(paddle, samples)
        np.random.seed(3)
        return list(iter(paddle.io.DataLoader(source, **options)))


PAIRS = [(np.full((2,), i, "float32"), i, i / 2) for i in range(5)]
loaded("loader-pairs", PAIRS, batch_size=2)
loaded("loader-drop_last", PAIRS, batch_size=2, drop_last=True)
loaded("loader-shuffle", PAIRS, batch_size=2, shuffle=True)
loaded("loader-single_float", [0.5, 1.5, 2.5], batch_size=2)
loaded("loader-single_int", [1, 2, 3], batch_size=2)
loaded("loader-bool", [True, False, True], batch_size=3)
loaded("loader-numpy_scalar", [np.float32(1), np.float32(2)], batch_size=2)
loaded("loader-arrays", [np.arange(3) + i for i in range(4)], batch_size=3)
loaded(
    "loader-dicts",
    [{"x": np.ones(2, "float32") * i, "n": {"y": i}, "s": str(i)} for i in range(3)],
    batch_size=2,
)
loaded("loader-nested", [([i, (i, 2.0 * i)], i) for i in range(3)], batch_size=2)
loaded("loader-strings", [("a", 1), ("b", 2)], batch_size=2)
loaded("loader-no_batches", PAIRS, batch_size=None)
loaded("loader-stream", PAIRS, iterable=True, batch_size=2)
loaded("loader-stream_drop", PAIRS, iterable=True, batch_size=2, drop_last=True)
loaded("loader-stream_no_batches", PAIRS, iterable=True, batch_size=None)
loaded(
    "loader-collate",
    PAIRS,
    batch_size=2,
    collate_fn=lambda samples: (np.stack([s[0] for s in samples]), 7, "x"),
)


@cases.add("loader-tensors")
def _(paddle, draw):
    data = paddle.io.TensorDataset(
        [paddle.to_tensor(draw.normal(4, 2)), paddle.to_tensor(draw.integers(4))]
    )
    loader = paddle.io.DataLoader(data, batch_size=3)
    return [list(loader), len(loader), [field.tolist() for field in data[1]]]


@cases.add("datasets")
def _(paddle, draw):
    io = paddle.io
    ten = dataset(paddle, list(range(10)))
    pairs = dataset(paddle, [(i, -i) for i in range(10)])
    composed = io.ComposeDataset([ten, pairs])
    joined = io.ConcatDataset([ten, io.Subset(ten, [7, 5])])
    chained = io.ChainDataset([stream(paddle, [1, 2]), stream(paddle, [3])])
    fractions = io.random_split(ten, [0.25, 0.35, 0.4])
    return [
        composed[3],
        len(composed),
        [joined[i] for i in (0, 9, 10, 11, -1)],
        len(joined),
        list(iter(chained)),
        [len(part) for part in fractions],
        sorted(part[i] for part in fractions for i in range(len(part))),
    ]


cases.error("batch_sampler-zero", lambda paddle: paddle.io.BatchSampler(Range(3), batch_size=0))
cases.error("batch_sampler-nothing", lambda paddle: paddle.io.BatchSampler())
cases.error("batch_sampler-both", lambda paddle: paddle.io.BatchSampler(Range(3), sampler=range(3)))
cases.error(
    "random_sampler-too_many", lambda paddle: paddle.io.RandomSampler(Range(3), num_samples=4)
)
cases.error(
    "random_sampler-bad_flag", lambda paddle: paddle.io.RandomSampler(Range(3), replacement=1)
)
cases.error("distributed-bad_size", lambda paddle: paddle.io.DistributedBatchSampler(Range(3), 0))
cases.error(
    "distributed-bad_rank", lambda paddle: paddle.io.DistributedBatchSampler(Range(3), 1, 2, -1)
)
cases.error(
    "loader-stream_shuffle", lambda paddle: paddle.io.DataLoader(stream(paddle, []), shuffle=True)
)
cases.error("loader-stream_len", lambda paddle: len(paddle.io.DataLoader(stream(paddle, []))))
cases.error(
    "loader-negative_workers",
    lambda paddle: paddle.io.DataLoader(dataset(paddle, []), num_workers=-1),
)
cases.error(
    "random_split-sum", lambda paddle: paddle.io.random_split(dataset(paddle, [1, 2, 3]), [1, 1])
)
cases.error("concat-empty", lambda paddle: paddle.io.ConcatDataset([]))
cases.error("concat-index", lambda paddle: paddle.io.ConcatDataset([dataset(paddle, [1])])[-2])
cases.error("dataset-no_len", lambda paddle: len(paddle.io.Dataset()))
cases.error("stream-index", lambda paddle: stream(paddle, [])[0])
cases.error("subset_random-empty", lambda paddle: paddle.io.SubsetRandomSampler([]))


@cases.add("loader-workers")
def _(paddle, draw):
    """Order of batches, and what the workers' own NumPy generators draw after one seed here."""

    class Random(paddle.io.Dataset):
        def __getitem__(self, i):
            return i, np.random.rand(2), paddle.io.get_worker_info().id

        def __len__(self):
            return 7

    np.random.seed(5)
    batches = [
        [field.numpy() for field in batch]
        for batch in paddle.io.DataLoader(Random(), batch_size=2, num_workers=2)
    ]
    return [np.concatenate([batch[i] for batch in batches]) for i in range(3)] + [np.random.rand()]


@cases.add("loader-stream_workers")
def _(paddle, draw):
    class Split(paddle.io.IterableDataset):
        def __iter__(self):
            info = paddle.io.get_worker_info()
            return iter(range(info.id, 9, info.num_workers))

    return list(iter(paddle.io.DataLoader(Split(), batch_size=2, num_workers=2)))
