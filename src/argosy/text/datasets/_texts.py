"""What the data sets share."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from argosy.foundation.errors import BadArgument
from argosy.utils.dataset import Dataset
from argosy.utils.dataset_file import locate


class Source(NamedTuple):
    """Where a file comes from, its checksum, and the folder of the cache that it is kept in."""

    url: str
    md5: str
    folder: str


class Texts(Dataset[Any]):
    """A data set with the parts 'train' and 'test' in one file."""

    def __init__(self, data_file: str | None, mode: str, download: bool, source: Source) -> None:
        self.mode = chosen(type(self).__name__, "mode", mode.lower(), ("train", "test"))
        self.data_file = data_file
        if data_file is None:
            if not download:
                raise BadArgument(
                    f"{type(self).__name__}: data_file is not set and downloading automatically is "
                    "disabled"
                )
            self.data_file = locate(source.url, source.folder, source.md5)


def chosen(who: str, argument: str, value: str, known: tuple[str, ...]) -> str:
    """``value``, which is one of ``known``."""
    if value not in known:
        raise BadArgument(f"{who}: {argument} should be one of {list(known)}, but got {value!r}")
    return value


def numbered(counts: Counter[Any], cutoff: int) -> dict[Any, int]:
    """Numbers for the words that occur more than ``cutoff`` times, most frequent first; '<unk>' is
    the last.
    """
    kept = sorted(
        (item for item in counts.items() if item[1] > cutoff), key=lambda item: (-item[1], item[0])
    )
    return {word: i for i, word in enumerate([*(word for word, _ in kept), "<unk>"])}
