"""DataLoader: workers, errors in them, what is left behind; the loader of generators."""

import gc
import os
import tempfile
import threading

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import ChildFailed, NotSupported
from argosy.io import DataLoader, Dataset, IterableDataset, default_collate_fn, get_worker_info
from support import leftovers
from support.processes import children


class Squares(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return np.full((3,), i, "float32"), i * i


class Pids(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return os.getpid()


class Failing(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == 3:
            raise KeyError("sample three is broken")
        return i


class Counting(IterableDataset):
    def __init__(self, n):
        self.start, self.end = 0, n

    def __iter__(self):
        return iter(range(self.start, self.end))


@pytest.fixture(autouse=True)
def nothing_left():
    with leftovers.guard():
        yield


@pytest.mark.parametrize("use_shared_memory", [True, False])
def test_workers_keep_order_and_structure(use_shared_memory):
    loader = DataLoader(Squares(), batch_size=4, num_workers=2, use_shared_memory=use_shared_memory)
    batches = list(loader)
    assert len(loader) == len(batches) == 3
    assert [square.tolist() for _, square in batches] == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]
    assert batches[0][0].dtype == paddle.float32
    assert batches[2][0].shape == [2, 3]
    assert batches[0][0].stop_gradient


def test_workers_share_memory_below_a_long_folder_for_temporary_files(tmp_path, monkeypatch):
    folder = tmp_path / ("x" * 90)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    batches = list(DataLoader(Squares(), batch_size=5, num_workers=1, timeout=60))
    assert [square.tolist() for _, square in batches] == [[0, 1, 4, 9, 16], [25, 36, 49, 64, 81]]


@pytest.mark.parametrize("return_list", [True, False])
def test_a_program_on_two_places_gets_a_batch_for_each(return_list):
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            feeds = [paddle.static.data("x", [-1, 3]), paddle.static.data("y", [-1], "int64")]
        places = [paddle.CPUPlace()] * 2
        loader = DataLoader(Squares(), feeds, places, return_list, batch_size=2)
        steps = list(loader)
    finally:
        paddle.disable_static()
    field = 1 if return_list else "y"
    shown = [[batch[field].tolist() for batch in step] for step in steps]
    assert shown == [[[0, 1], [4, 9]], [[16, 25], [36, 49]]]  # the fifth batch has no partner


def test_workers_are_other_processes():
    pids = {int(pid) for pid in DataLoader(Pids(), batch_size=None, num_workers=2)}
    assert len(pids) == 2
    assert os.getpid() not in pids


@pytest.mark.parametrize("num_workers", [0, 1])
def test_error_reaches_the_caller_with_its_traceback(num_workers):
    seen = []
    loader = DataLoader(Failing(), batch_size=2, num_workers=num_workers)
    with pytest.raises(KeyError) as caught:
        seen.extend(batch.tolist() for batch in loader)
    assert not children()
    assert seen == [[0, 1]]
    assert "sample three is broken" in str(caught.value)
    if num_workers:
        assert "in __getitem__" in str(caught.value)


def test_error_of_worker_init_fn():
    def fail(worker_id):
        raise RuntimeError(f"worker {worker_id} cannot start")

    with pytest.raises(RuntimeError, match="worker 0 cannot start"):
        list(DataLoader(Squares(), num_workers=1, worker_init_fn=fail))


def test_abandoned_iteration_ends_the_workers():
    for _ in DataLoader(Squares(), batch_size=1, num_workers=2):
        assert len(children()) == 2
        break
    gc.collect()
    assert not children()


def test_persistent_workers_serve_several_passes():
    loader = DataLoader(Pids(), batch_size=None, num_workers=1, persistent_workers=True)
    first = {int(pid) for pid in loader}
    next(iter(loader))
    assert {int(pid) for pid in loader} == first
    del loader
    gc.collect()
    assert not children()


def test_stream_in_workers_is_repeated_unless_split():
    assert sorted(int(b) for b in DataLoader(Counting(3), batch_size=None, num_workers=2)) == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]


def test_stream_split_by_worker_init_fn():
    def split(worker_id):
        info = get_worker_info()
        assert info.id == worker_id
        assert info.num_workers == 2
        info.dataset.start, info.dataset.end = (0, 3) if worker_id == 0 else (3, 5)

    loader = DataLoader(Counting(100), batch_size=2, num_workers=2, worker_init_fn=split)
    assert sorted(i for batch in loader for i in batch.tolist()) == [0, 1, 2, 3, 4]


def test_worker_info_is_none_here():
    assert get_worker_info() is None


def test_tensors_cross_from_workers():
    class Tensors(Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return paddle.to_tensor([float(i)]), {"b": paddle.to_tensor([i], dtype="bfloat16")}

    ((x, extra),) = list(DataLoader(Tensors(), batch_size=2, num_workers=1))
    assert x.tolist() == [[0.0], [1.0]]
    assert extra["b"].dtype == paddle.bfloat16


def test_timeout_is_an_error():
    class Stuck(Dataset):
        def __len__(self):
            return 1

        def __getitem__(self, i):
            threading.Event().wait(2)

    with pytest.raises(RuntimeError, match="timed out"):
        list(DataLoader(Stuck(), num_workers=1, timeout=1))


def test_call_iterates_anew():
    loader = DataLoader(Squares(), batch_size=5)
    assert [len(b[1]) for b in loader()] == [5, 5]
    assert [len(b[1]) for b in loader] == [5, 5]
    assert len(iter(loader)) == 2


def test_list_of_a_stream_needs_no_length():
    assert len(list(DataLoader(Counting(5), batch_size=2))) == 3
    with pytest.raises(ValueError, match="not known"):
        len(DataLoader(Counting(5)))


def test_shuffle_follows_numpys_seed():
    def order():
        np.random.seed(4)
        return [int(b[1]) for b in DataLoader(Squares(), shuffle=True)]

    assert order() == order()
    assert order() != sorted(order())


def test_batches_do_not_alias_the_dataset():
    array = np.zeros(2, "float32")

    class Same(Dataset):
        def __len__(self):
            return 1

        def __getitem__(self, i):
            return array

    next(iter(DataLoader(Same(), batch_size=None))).raw.add_(1)
    assert array.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"batch_sampler": [[0]], "batch_size": 2}, AssertionError, "batch_sampler is given"),
        (
            {"batch_size": 0},
            *(AssertionError, "batch_size should be None or a positive integer"),
        ),
        ({"prefetch_factor": 0}, AssertionError, "prefetch_factor should be at least 1"),
        ({"places": [paddle.CPUPlace()] * 2}, NotSupported, "one place, but received 2"),
    ],
    ids=["two ways to make batches", "batches of nothing", "nothing ahead", "two places"],
)
def test_a_loader_refuses(options, error, message):
    with pytest.raises(error, match=message):
        DataLoader(Squares(), **options)


def test_samples_that_make_no_batch_are_refused():
    with pytest.raises(TypeError, match="pass a collate_fn"):
        default_collate_fn([object()])
    with pytest.raises(RuntimeError, match="fields number not same"):
        default_collate_fn([(1, 2), (1,)])


# -- from_generator


def make_loader(**options):
    return DataLoader.from_generator(capacity=4, return_list=True, **options)


def test_sample_generator():
    loader = make_loader().set_sample_generator(
        lambda: ((i, i / 2) for i in range(5)), batch_size=2
    )
    batches = list(loader())
    assert [b[0].tolist() for b in batches] == [[0, 1], [2, 3]]
    assert [t.dtype for t in batches[0]] == [paddle.int64, paddle.float64]
    assert len(list(loader)) == 2


def test_sample_list_and_batch_generators():
    loader = make_loader()
    loader.set_sample_list_generator(lambda: iter([[(1, "ab"[0:0] or 2.5)], [(3, 4.5), (5, 6.5)]]))
    assert [b[0].tolist() for b in loader] == [[1], [3, 5]]
    loader.set_batch_generator(lambda: iter([(np.ones((2, 3), "float32"), paddle.to_tensor([1]))]))
    ((x, y),) = list(loader)
    assert (x.shape, y.shape) == ([2, 3], [1])


def test_generators_errors_and_abandonment():
    def source():
        yield [np.zeros(1)]
        raise RuntimeError("the source broke")

    loader = make_loader().set_batch_generator(source)
    with pytest.raises(SystemError, match=r"Blocking queue is killed.*the source broke") as caught:
        list(loader)
    assert isinstance(caught.value.__cause__, RuntimeError)
    iterator = iter(make_loader().set_batch_generator(lambda: iter([[np.zeros(1)]] * 100)))
    next(iterator)
    iterator.close()


def test_a_generator_in_a_process_of_its_own():
    def source():
        yield [np.array([os.getpid()]), np.ones((2, 2), "float32")]
        raise RuntimeError("the source broke")

    loader = make_loader(use_multiprocess=True).set_batch_generator(source)
    batches = iter(loader)
    pid, ones = next(batches)
    assert int(pid) != os.getpid()
    assert ones.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(SystemError, match="the source broke") as caught:
        next(batches)
    assert isinstance(caught.value.__cause__, ChildFailed)
    again = iter(loader)
    assert int(next(again)[0]) not in (int(pid), os.getpid())
    again.close()


def test_generator_loader_wrong_calls():
    with pytest.raises(ValueError, match="capacity"):
        DataLoader.from_generator()
    with pytest.raises(AssertionError, match="has not been set"):
        list(make_loader())
    with pytest.raises(NotSupported, match="static programs"):
        make_loader().start()
    with pytest.raises(SystemError, match="the reader gave None"):
        list(make_loader().set_batch_generator(lambda: iter([None])))
    with pytest.raises(SystemError, match="not a regular array"):
        list(make_loader().set_sample_list_generator(lambda: iter([[([1],), ([1, 2],)]])))
    with pytest.warns(UserWarning, match="always iterable"):
        make_loader(iterable=False)


def test_next_is_a_method_of_iterators():
    batches = iter(DataLoader(Squares(), batch_size=5))
    assert len(batches.next()[1]) == 5
    next(batches)
    with pytest.raises(StopIteration):
        batches.next()
