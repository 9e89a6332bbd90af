"""paddle.batch and paddle.reader."""

import itertools
import os
import random

import pytest

from argosy import reader
from argosy.batch import batch
from argosy.foundation.errors import ChildFailed
from support import leftovers


def numbers(n):
    return lambda: iter(range(n))


@pytest.fixture(autouse=True)
def nothing_left():
    with leftovers.guard():
        yield


def test_batch():
    assert list(batch(numbers(5), 2)()) == [[0, 1], [2, 3], [4]]
    assert list(batch(numbers(5), 2, drop_last=True)()) == [[0, 1], [2, 3]]
    with pytest.raises(ValueError):
        batch(numbers(5), 0)


def test_simple_decorators():
    calls = []
    cached = reader.cache(lambda: calls.append(1) or iter([1, 2]))
    assert list(cached()) == list(cached()) == [1, 2]
    assert calls == [1]
    assert list(reader.map_readers(lambda a, b: a * b, numbers(3), numbers(4))()) == [0, 1, 4]
    assert list(reader.chain(numbers(2), numbers(3))()) == [0, 1, 0, 1, 2]
    assert list(reader.firstn(itertools.count, 3)()) == [0, 1, 2]


def test_shuffle_stays_within_its_buffer():
    random.seed(0)
    out = list(reader.shuffle(numbers(10), 4)())
    assert [sorted(out[i : i + 4]) for i in (0, 4, 8)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert out != sorted(out)


def test_compose():
    pairs = lambda: iter([(1, 2), (3, 4)])  # noqa: E731
    assert list(reader.compose(numbers(2), pairs)()) == [(0, 1, 2), (1, 3, 4)]
    with pytest.raises(reader.ComposeNotAligned, match=r"\[1\] ended before"):
        list(reader.compose(numbers(3), numbers(2))())
    assert list(reader.compose(numbers(3), numbers(2), check_alignment=False)()) == [(0, 0), (1, 1)]
    with pytest.raises(TypeError, match="chek"):
        reader.compose(numbers(1), chek=1)


def broken():
    yield 1
    raise KeyError("broken source")


def test_buffered():
    assert list(reader.buffered(numbers(20), 3)()) == list(range(20))
    assert list(reader.buffered(lambda: iter([None, 0]), 1)()) == [None, 0]
    with pytest.raises(KeyError, match="broken source"):
        list(reader.buffered(broken, 3)())
    abandoned = reader.buffered(itertools.count, 3)()
    assert next(abandoned) == 0
    abandoned.close()


@pytest.mark.parametrize("order", [True, False])
def test_xmap_readers(order):
    out = list(reader.xmap_readers(lambda x: x * 2, numbers(30), 3, 4, order)())
    assert (out if order else sorted(out)) == [2 * i for i in range(30)]
    with pytest.raises(ZeroDivisionError):
        list(reader.xmap_readers(lambda x: 1 // x, numbers(3), 2, 2, order)())
    with pytest.raises(KeyError):
        list(reader.xmap_readers(str, broken, 2, 2, order)())
    abandoned = reader.xmap_readers(str, itertools.count, 2, 2, order)()
    next(abandoned)
    abandoned.close()


@pytest.mark.parametrize("use_pipe", [True, False])
def test_multiprocess_reader(use_pipe):
    merged = reader.multiprocess_reader([numbers(3), lambda: iter([os.getpid()])], use_pipe)
    out = list(merged())
    assert sorted(out)[:3] == [0, 1, 2]
    assert os.getpid() not in out


def test_multiprocess_reader_failures():
    with pytest.raises(ChildFailed, match=r"reader 1 failed.*(?s:.)*broken source"):
        list(reader.multiprocess_reader([numbers(2), broken])())
    with pytest.raises(ChildFailed, match="reader 0 died"):
        list(reader.multiprocess_reader([lambda: os._exit(3)])())
    with pytest.raises(ValueError):
        reader.multiprocess_reader([])
    abandoned = reader.multiprocess_reader([itertools.count])()
    next(abandoned)
    abandoned.close()
