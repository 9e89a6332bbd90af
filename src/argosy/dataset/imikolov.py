# ruff: noqa: PT028 -- test is a part of the dataset, not a test
"""Imikolov's sentences from the Penn Treebank, as windows of n words or as whole sequences."""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from argosy.dataset import common
from argosy.foundation.errors import BadArgument

__all__ = ["train", "test", "build_dict"]

URL = "https://dataset.bj.bcebos.com/imikolov%2Fsimple-examples.tgz"
MD5 = "30177ea32e27c525793142b6bf2c8e2d"

_TRAIN = "./simple-examples/data/ptb.train.txt"
_TEST = "./simple-examples/data/ptb.valid.txt"


class DataType:
    """What a sample is."""

    NGRAM = 1
    SEQ = 2


def _lines(name: str) -> Iterator[bytes]:
    with tarfile.open(common.download(URL, "imikolov", MD5)) as archive:
        file: Any = archive.extractfile(name)
        yield from file


def word_count(f: Iterable[bytes], word_freq: Any = None) -> Any:
    """Count words, and the beginnings and ends of lines."""
    counts = Counter() if word_freq is None else word_freq
    for line in f:
        for word in (*line.strip().split(), "<s>", "<e>"):
            counts[word] += 1
    return counts


def build_dict(min_word_freq: int = 50) -> dict[Any, int]:
    """Number the words that occur more than ``min_word_freq`` times, most frequent first; '<unk>'
    is the last number.
    """
    counts = word_count(_lines(_TEST), word_count(_lines(_TRAIN)))
    counts.pop("<unk>", None)
    kept = sorted(
        (item for item in counts.items() if item[1] > min_word_freq),
        # Words are bytes, the marks are strings, which never compare equal or in order.
        key=lambda item: (-item[1], item[0] if isinstance(item[0], bytes) else item[0].encode()),
    )
    numbers: dict[Any, int] = {word: i for i, (word, _) in enumerate(kept)}
    numbers["<unk>"] = len(numbers)
    return numbers


def reader_creator(
    filename: str, word_idx: dict[Any, int], n: int, data_type: int
) -> Callable[[], Iterator[Any]]:
    """A reader over the samples of one file."""
    unknown = word_idx["<unk>"]

    def reader() -> Iterator[Any]:
        for line in _lines(filename):
            words: list[Any] = line.strip().split()
            if data_type == DataType.NGRAM:
                if n <= -1:
                    raise BadArgument(f"imikolov: Invalid gram length {n}")
                numbers = [word_idx.get(w, unknown) for w in ("<s>", *words, "<e>")]
                for end in range(n, len(numbers) + 1):
                    yield tuple(numbers[end - n : end])
            elif data_type == DataType.SEQ:
                numbers = [word_idx.get(w, unknown) for w in words]
                if n <= 0 or len(numbers) < n:
                    yield [word_idx["<s>"], *numbers], [*numbers, word_idx["<e>"]]
            else:
                raise BadArgument(f"imikolov: Unknow data type {data_type!r}")

    return reader


def train(
    word_idx: dict[Any, int], n: int, data_type: int = DataType.NGRAM
) -> Callable[[], Iterator[Any]]:
    """A reader over the training sentences: windows of ``n`` words, or sequences of less than ``n``
    with the words that follow each.
    """
    return reader_creator(_TRAIN, word_idx, n, data_type)


def test(
    word_idx: dict[Any, int], n: int, data_type: int = DataType.NGRAM
) -> Callable[[], Iterator[Any]]:
    """As ``train``, over the validation sentences."""
    return reader_creator(_TEST, word_idx, n, data_type)


def fetch() -> None:
    """Check that the file is there."""
    common.download(URL, "imikolov", MD5)
