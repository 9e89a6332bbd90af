"""MovieLens 1M: a user, a film and the rating of one by the other."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.text.datasets._texts import Source, Texts

AGES = [1, 18, 25, 35, 45, 50, 56]
_TITLE = re.compile(r"^(.*)\((\d+)\)$")


@dataclass(frozen=True)
class MovieInfo:
    """A film."""

    index: int
    categories: list[str]
    title: str

    def value(self, categories_dict: dict[str, int], movie_title_dict: dict[str, int]) -> list[Any]:
        """Its number, those of its categories and those of the words of its title."""
        return [
            [self.index],
            [categories_dict[c] for c in self.categories],
            [movie_title_dict[w.lower()] for w in self.title.split()],
        ]


@dataclass(frozen=True)
class UserInfo:
    """A user; the age is the number of a group."""

    index: int
    is_male: bool
    age: int
    job_id: int

    def value(self) -> list[list[int]]:
        """Number, sex (0 for men), group of age, job."""
        return [[self.index], [0 if self.is_male else 1], [self.age], [self.job_id]]


class Movielens(Texts):
    """User, film and rating as seven arrays. A rating goes to the test part with the probability
    ``test_ratio``, drawn by NumPy from ``rand_seed``.
    """

    SOURCE = Source(
        "https://dataset.bj.bcebos.com/movielens%2Fml-1m.zip",
        "c4d9eecfca2ab87c1945afe126590906",
        "sentiment",
    )

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        test_ratio: float = 0.1,
        rand_seed: int = 0,
        download: bool = True,
    ) -> None:
        super().__init__(data_file, mode, download, self.SOURCE)
        self.test_ratio = test_ratio
        self.rand_seed = rand_seed
        self.movie_info = {int(r[0]): self._movie(*r) for r in self._rows("movies")}
        self.user_info = {int(r[0]): self._user(*r[:4]) for r in self._rows("users")}
        films = self.movie_info.values()
        self.movie_title_dict = _numbers(w.lower() for m in films for w in m.title.split())
        self.categories_dict = _numbers(c for m in films for c in m.categories)
        self.data = list(self._samples())

    def _rows(self, name: str) -> Iterator[list[str]]:
        with (
            zipfile.ZipFile(str(self.data_file)) as package,
            package.open(f"ml-1m/{name}.dat") as file,
        ):
            for line in file:
                yield line.decode("latin").strip().split("::")

    @staticmethod
    def _movie(index: str, title: str, categories: str) -> MovieInfo:
        match = _TITLE.match(title)
        return MovieInfo(int(index), categories.split("|"), match[1] if match else title)

    @staticmethod
    def _user(index: str, gender: str, age: str, job: str) -> UserInfo:
        return UserInfo(int(index), gender == "M", AGES.index(int(age)), int(job))

    def _samples(self) -> Iterator[list[Any]]:
        draw = np.random.RandomState(self.rand_seed)
        for uid, film, rating, _ in self._rows("ratings"):
            if (draw.random_sample() < self.test_ratio) == (self.mode == "test"):
                yield [
                    *self.user_info[int(uid)].value(),
                    *self.movie_info[int(film)].value(self.categories_dict, self.movie_title_dict),
                    [float(rating) * 2 - 5.0],
                ]

    def __getitem__(self, idx: int) -> tuple[np.ndarray, ...]:
        return tuple(np.array(part) for part in self.data[idx])

    def __len__(self) -> int:
        return len(self.data)


def _numbers(words: Iterator[str]) -> dict[str, int]:
    """A number for each word, in the order of their first use."""
    return {word: i for i, word in enumerate(dict.fromkeys(words))}
