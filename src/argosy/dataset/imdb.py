"""IMDB: film reviews as lists of word numbers; label 0 for positive ones, 1 for negative ones."""

from __future__ import annotations

import re
import string
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from argosy.dataset import common

__all__ = ["train", "test", "word_dict", "build_dict", "tokenize"]

URL = "https://dataset.bj.bcebos.com/imdb%2FaclImdb_v1.tar.gz"
MD5 = "7c2ac02c03563afcf9b574c7e56c153a"


def tokenize(pattern: re.Pattern[str]) -> Iterator[list[bytes]]:
    """The lower-case words, without punctuation, of each review whose name matches."""
    punctuation = string.punctuation.encode("latin-1")
    with tarfile.open(common.download(URL, "imdb", MD5)) as archive:
        for member in archive:
            if pattern.match(member.name):
                file: Any = archive.extractfile(member)
                yield file.read().rstrip(b"\n\r").translate(None, punctuation).lower().split()


def build_dict(pattern: re.Pattern[str], cutoff: int) -> dict[Any, int]:
    """Number the words that occur more than ``cutoff`` times, most frequent first; '<unk>' is the
    last number.
    """
    counts = Counter(word for words in tokenize(pattern) for word in words)
    kept = sorted(
        (item for item in counts.items() if item[1] > cutoff), key=lambda item: (-item[1], item[0])
    )
    numbers: dict[Any, int] = {word: i for i, (word, _) in enumerate(kept)}
    numbers["<unk>"] = len(numbers)
    return numbers


def word_dict() -> dict[Any, int]:
    """The dictionary of all reviews, of words that occur more than 150 times."""
    return build_dict(re.compile(r"aclImdb/((train)|(test))/((pos)|(neg))/.*\.txt$"), 150)


def reader_creator(
    pos_pattern: re.Pattern[str], neg_pattern: re.Pattern[str], word_idx: dict[Any, int]
) -> Callable[[], Iterator[Any]]:
    """A reader over the reviews of both patterns, which are read now."""
    unknown = word_idx["<unk>"]
    samples = [
        ([word_idx.get(word, unknown) for word in words], label)
        for label, pattern in enumerate((pos_pattern, neg_pattern))
        for words in tokenize(pattern)
    ]
    return lambda: iter(samples)


def train(word_idx: dict[Any, int]) -> Callable[[], Iterator[Any]]:
    """A reader over the training reviews."""
    return reader_creator(
        re.compile(r"aclImdb/train/pos/.*\.txt$"),
        re.compile(r"aclImdb/train/neg/.*\.txt$"),
        word_idx,
    )


def test(word_idx: dict[Any, int]) -> Callable[[], Iterator[Any]]:
    """A reader over the test reviews."""
    return reader_creator(
        re.compile(r"aclImdb/test/pos/.*\.txt$"), re.compile(r"aclImdb/test/neg/.*\.txt$"), word_idx
    )
