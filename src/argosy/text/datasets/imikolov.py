"""The Penn Treebank of Mikolov: sentences as n-grams or as sequences of word numbers."""

from __future__ import annotations

import tarfile
from collections import Counter
from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument
from argosy.text.datasets._texts import Source, Texts, chosen, numbered


class Imikolov(Texts):
    """``data_type`` 'NGRAM' gives every ``window_size`` words in a row, 'SEQ' every sentence of at
    most that many with the one that is a word ahead.
    """

    SOURCE = Source(
        "https://dataset.bj.bcebos.com/imikolov%2Fsimple-examples.tgz",
        "30177ea32e27c525793142b6bf2c8e2d",
        "imikolov",
    )

    def __init__(
        self,
        data_file: str | None = None,
        data_type: str = "NGRAM",
        window_size: int = -1,
        mode: str = "train",
        min_word_freq: int = 50,
        download: bool = True,
    ) -> None:
        self.data_type = chosen("Imikolov", "data_type", data_type.upper(), ("NGRAM", "SEQ"))
        super().__init__(data_file, mode, download, self.SOURCE)
        self.window_size = window_size
        self.min_word_freq = min_word_freq
        if self.data_type == "NGRAM" and window_size < 0:
            raise BadArgument("Imikolov: window_size is not set: Invalid gram length")
        self.word_idx = self._words()
        self.data = list(self._samples())

    def _lines(self, part: str) -> list[list[bytes]]:
        with tarfile.open(self.data_file) as archive:
            file: Any = archive.extractfile(f"./simple-examples/data/ptb.{part}.txt")
            return [line.split() for line in file]

    def _words(self) -> dict[Any, int]:
        counts: Counter[Any] = Counter()
        for part in ("train", "valid"):
            for words in self._lines(part):
                counts.update([*words, b"<s>", b"<e>"])
        del counts[b"<unk>"]  # it gets the last number
        numbers = numbered(counts, self.min_word_freq)
        marks = {b"<s>": "<s>", b"<e>": "<e>"}  # the marks are text, the words are bytes
        return {marks.get(word, word): number for word, number in numbers.items()}

    def _samples(self) -> Any:
        unknown = self.word_idx["<unk>"]
        start, end = (self.word_idx.get(mark, unknown) for mark in ("<s>", "<e>"))
        size = self.window_size
        for words in self._lines(self.mode):
            numbers = [self.word_idx.get(word, unknown) for word in words]
            if self.data_type == "SEQ":
                if size <= 0 or len(numbers) + 1 <= size:
                    yield [start, *numbers], [*numbers, end]
                continue
            numbers = [start, *numbers, end]
            for i in range(size, len(numbers) + 1):
                yield tuple(numbers[i - size : i])

    def __getitem__(self, idx: int) -> tuple[np.ndarray, ...]:
        return tuple(np.array(part) for part in self.data[idx])

    def __len__(self) -> int:
        return len(self.data)
