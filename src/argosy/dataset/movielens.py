# ruff: noqa: PT028 -- test is a part of the dataset, not a test
"""MovieLens-1M: users, films and what users gave them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from argosy.dataset import common

__all__ = [
    "train",
    "test",
    "get_movie_title_dict",
    "max_movie_id",
    "max_user_id",
    "age_table",
    "movie_categories",
    "max_job_id",
    "user_info",
    "movie_info",
]

age_table = [1, 18, 25, 35, 45, 50, 56]

URL = "https://dataset.bj.bcebos.com/movielens%2Fml-1m.zip"
MD5 = "c4d9eecfca2ab87c1945afe126590906"

_TITLE = re.compile(r"^(.*)\((\d+)\)$")


class MovieInfo:
    """A film: its number, categories and title."""

    def __init__(self, index: Any, categories: list[str], title: str) -> None:
        self.index = int(index)
        self.categories = categories
        self.title = title

    def value(self) -> list[Any]:
        """Its number, those of its categories and those of the words of its title."""
        known = _package()
        return [
            self.index,
            [known.categories[c] for c in self.categories],
            [known.words[w.lower()] for w in self.title.split()],
        ]

    def __repr__(self) -> str:
        return f"<MovieInfo id({self.index}), title({self.title}), categories({self.categories})>"


class UserInfo:
    """A user: number, gender, group of age and job."""

    def __init__(self, index: Any, gender: str, age: Any, job_id: Any) -> None:
        self.index = int(index)
        self.is_male = gender == "M"
        self.age = age_table.index(int(age))
        self.job_id = int(job_id)

    def value(self) -> list[int]:
        """Number, 0 for a man and 1 for a woman, group of age, job."""
        return [self.index, 0 if self.is_male else 1, self.age, self.job_id]

    def __repr__(self) -> str:
        gender = "M" if self.is_male else "F"
        age = age_table[self.age]
        return f"<UserInfo id({self.index}), gender({gender}), age({age}), job({self.job_id})>"


class _Package(NamedTuple):
    movies: dict[int, MovieInfo]
    words: dict[str, int]
    categories: dict[str, int]
    users: dict[int, UserInfo]


def _package() -> _Package:
    return _read(common.download(URL, "movielens", MD5))


@cache
def _read(path: str) -> _Package:
    movies = {}
    for number, title, categories in _rows(path, "movies"):
        match = _TITLE.match(title)
        name = match.group(1) if match else title
        movies[int(number)] = MovieInfo(number, categories.split("|"), name)
    words = dict.fromkeys(w.lower() for m in movies.values() for w in m.title.split())
    kinds = dict.fromkeys(c for m in movies.values() for c in m.categories)
    users = {int(row[0]): UserInfo(*row[:4]) for row in _rows(path, "users")}
    return _Package(
        movies,
        {word: i for i, word in enumerate(words)},
        {category: i for i, category in enumerate(kinds)},
        users,
    )


def _rows(path: str, name: str) -> Iterator[list[str]]:
    with zipfile.ZipFile(path) as package, package.open(f"ml-1m/{name}.dat") as file:
        for line in file:
            yield line.decode("latin").strip().split("::")


def _reader(rand_seed: int, test_ratio: float, is_test: bool) -> Iterator[list[Any]]:
    known = _package()
    draw = np.random.RandomState(rand_seed)  # the numbers of np.random.seed, without its state
    for user, movie, rating, _ in _rows(common.download(URL, "movielens", MD5), "ratings"):
        if (draw.random_sample() < test_ratio) == is_test:
            score = float(rating) * 2 - 5.0
            yield [*known.users[int(user)].value(), *known.movies[int(movie)].value(), [score]]


def train(rand_seed: int = 0, test_ratio: float = 0.1) -> Callable[[], Iterator[Any]]:
    """A reader over all ratings but a tenth: user, gender, age, job, film, categories, title and
    the rating, from -5 to 5.
    """
    return lambda: _reader(rand_seed, test_ratio, False)


def test(rand_seed: int = 0, test_ratio: float = 0.1) -> Callable[[], Iterator[Any]]:
    """A reader over the other ratings."""
    return lambda: _reader(rand_seed, test_ratio, True)


def get_movie_title_dict() -> dict[str, int]:
    """The numbers of the words of titles."""
    return _package().words


def movie_categories() -> dict[str, int]:
    """The numbers of categories."""
    return _package().categories


def max_movie_id() -> int:
    return max(_package().movies)


def max_user_id() -> int:
    return max(_package().users)


def max_job_id() -> int:
    return max(user.job_id for user in _package().users.values())


def user_info() -> dict[int, UserInfo]:
    """The users by number."""
    return _package().users


def movie_info() -> dict[int, MovieInfo]:
    """The films by number."""
    return _package().movies


def fetch() -> None:
    """Check that the file is there."""
    common.download(URL, "movielens", MD5)
