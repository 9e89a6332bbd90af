"""WMT14: a small part of it, English and French sentences as lists of word numbers."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from argosy.dataset import common
from argosy.foundation.errors import ValueMismatch

__all__ = ["train", "test", "get_dict"]

URL_TRAIN = "http://paddlemodels.bj.bcebos.com/wmt/wmt14.tgz"
MD5_TRAIN = "0791583d57d5beb693b9414c5b36798c"
URL_MODEL = "http://paddlemodels.bj.bcebos.com/wmt%2Fwmt14.tgz"
MD5_MODEL = "0cb4a5366189b6acba876491c8724fa3"

START = "<s>"
END = "<e>"
UNK = "<unk>"
UNK_IDX = 2

_LONGEST = 80  # words of a sentence


def _file() -> str:
    return common.download(URL_TRAIN, "wmt14", MD5_TRAIN)


def _lines(archive: tarfile.TarFile, ending: str) -> Iterator[str]:
    for name in [member.name for member in archive if member.name.endswith(ending)]:
        file: Any = archive.extractfile(name)
        for line in file:
            yield line.decode("utf-8").strip()


def _dictionaries(path: str, dict_size: int) -> list[dict[str, int]]:
    """The numbers of the first ``dict_size`` words, of both languages."""
    found = []
    with tarfile.open(path) as archive:
        for ending in ("src.dict", "trg.dict"):
            count = sum(member.name.endswith(ending) for member in archive)
            if count != 1:
                raise ValueMismatch(f"{path} has {count} files {ending}, expected one")
            words = islice(_lines(archive, ending), dict_size)
            found.append({word: i for i, word in enumerate(words)})
    return found


def reader_creator(tar_file: str, file_name: str, dict_size: int) -> Callable[[], Iterator[Any]]:
    """A reader over a source sentence, a target sentence, and the target's words that follow."""

    def reader() -> Iterator[Any]:
        source, target = _dictionaries(tar_file, dict_size)
        with tarfile.open(tar_file) as archive:
            for line in _lines(archive, file_name):
                parts = line.split("\t")
                if len(parts) != 2:
                    continue
                words = [START, *parts[0].split(), END]
                given = [source.get(word, UNK_IDX) for word in words]
                wanted = [target.get(word, UNK_IDX) for word in parts[1].split()]
                if len(given) <= _LONGEST and len(wanted) <= _LONGEST:
                    yield given, [target[START], *wanted], [*wanted, target[END]]

    return reader


def train(dict_size: int) -> Callable[[], Iterator[Any]]:
    """A reader over the training pairs."""
    return reader_creator(_file(), "train/train", dict_size)


def test(dict_size: int) -> Callable[[], Iterator[Any]]:
    """A reader over the test pairs."""
    return reader_creator(_file(), "test/test", dict_size)


def gen(dict_size: int) -> Callable[[], Iterator[Any]]:
    """A reader over the pairs to generate from."""
    return reader_creator(_file(), "gen/gen", dict_size)


def get_dict(dict_size: int, reverse: bool = True) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The words of both languages by number, or with ``reverse=False`` their numbers."""
    source, target = _dictionaries(_file(), dict_size)
    if reverse:
        return {i: word for word, i in source.items()}, {i: word for word, i in target.items()}
    return source, target


def fetch() -> None:
    """Check that the file is there."""
    _file()
