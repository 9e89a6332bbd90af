"""Film reviews (NLTK's ``movie_reviews``) as lists of word numbers; label 0 for negative ones, 1
for positive ones.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain

from argosy.dataset import common

__all__ = ["train", "test", "get_word_dict"]

URL = "https://corpora.bj.bcebos.com/movie_reviews%2Fmovie_reviews.zip"
MD5 = "155de2b77c6834dd8eea7cbe88e93acb"

NUM_TRAINING_INSTANCES = 1600
NUM_TOTAL_INSTANCES = 2000

_WORD = re.compile(r"\w+|[^\w\s]+")  # words, and runs of other characters


def _file() -> str:
    return common.download(URL, "corpora", MD5, "movie_reviews.zip")


@cache
def _reviews(path: str) -> dict[str, list[str]]:
    """The words of each review, by its name, in the order of the names."""
    with zipfile.ZipFile(path) as package:
        names = [n for n in package.namelist() if re.search(r"(^|/)(neg|pos)/.*\.txt$", n)]
        return {
            name: _WORD.findall(package.read(name).decode("utf-8", "replace"))
            for name in sorted(names, key=_short)
        }


def _short(name: str) -> str:
    return "/".join(name.split("/")[-2:])


def get_word_dict() -> list[tuple[str, int]]:
    """The words with their numbers, most frequent first."""
    counts = Counter(chain.from_iterable(_reviews(_file()).values()))
    return [(word, i) for i, (word, _) in enumerate(counts.most_common())]


def sort_files() -> list[str]:
    """The names of reviews, a negative and a positive one in turn."""
    names = [list(filter(lambda n: f"{kind}/" in _short(n), _reviews(_file())))
             for kind in ("neg", "pos")]  # fmt: skip
    return list(chain.from_iterable(zip(*names, strict=False)))


def load_sentiment_data() -> list[tuple[list[int], int]]:
    """All samples."""
    numbers, reviews = dict(get_word_dict()), _reviews(_file())
    return [
        ([numbers[word.lower()] for word in reviews[name]], int("pos/" in _short(name)))
        for name in sort_files()
    ]


def reader_creator(data: list[tuple[list[int], int]]) -> Iterator[tuple[list[int], int]]:
    """The samples one by one."""
    yield from data


def train() -> Iterator[tuple[list[int], int]]:
    """The first 1600 samples: an iterator, not a reader, as in Paddle."""
    return reader_creator(load_sentiment_data()[:NUM_TRAINING_INSTANCES])


def test() -> Iterator[tuple[list[int], int]]:
    """The other samples."""
    return reader_creator(load_sentiment_data()[NUM_TRAINING_INSTANCES:])


def fetch() -> None:
    """Check that the file is there."""
    _file()
