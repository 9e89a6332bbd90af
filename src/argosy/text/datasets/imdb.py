"""IMDB: film reviews as word numbers; label 0 for positive ones, 1 for negative ones."""

from __future__ import annotations

import re
import string
import tarfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from argosy.text.datasets._texts import Source, Texts, numbered

_PUNCTUATION = string.punctuation.encode("latin-1")
_EVERY = re.compile(r"aclImdb/(train|test)/(pos|neg)/.*\.txt$")


class Imdb(Texts):
    """A review and its label; words that occur at most ``cutoff`` times are '<unk>'."""

    SOURCE = Source(
        "https://dataset.bj.bcebos.com/imdb%2FaclImdb_v1.tar.gz",
        "7c2ac02c03563afcf9b574c7e56c153a",
        "imdb",
    )

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        cutoff: int = 150,
        download: bool = True,
    ) -> None:
        super().__init__(data_file, mode, download, self.SOURCE)
        reviews = list(self._reviews())
        counts = Counter(word for _, _, words in reviews for word in words)
        self.word_idx = numbered(counts, cutoff)
        unknown = self.word_idx["<unk>"]
        self.docs: list[list[int]] = []
        self.labels: list[int] = []
        for label, kind in enumerate(("pos", "neg")):
            for part, found, words in reviews:
                if (part, found) == (self.mode, kind):
                    self.docs.append([self.word_idx.get(word, unknown) for word in words])
                    self.labels.append(label)

    def _reviews(self) -> Iterator[tuple[str, str, list[bytes]]]:
        """Part, kind and words, in lower case without punctuation, of every review."""
        with tarfile.open(self.data_file) as archive:
            for member in archive:
                match = _EVERY.match(member.name)
                if match:
                    file: Any = archive.extractfile(member)
                    text = file.read().rstrip(b"\n\r").translate(None, _PUNCTUATION)
                    yield match[1], match[2], text.lower().split()

    def __getitem__(self, idx: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.docs[idx]), np.array([self.labels[idx]])

    def __len__(self) -> int:
        return len(self.docs)
