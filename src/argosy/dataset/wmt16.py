# ruff: noqa: PT028 -- test is a part of the dataset, not a test
"""WMT16 (Multi30k): English and German sentences as lists of word numbers."""

from __future__ import annotations

import os
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from argosy.dataset import common
from argosy.foundation.errors import BadArgument, UsageError
from argosy.foundation.files import replacing

__all__ = ["train", "test", "validation", "fetch", "get_dict"]

DATA_URL = "http://paddlemodels.bj.bcebos.com/wmt/wmt16.tar.gz"
DATA_MD5 = "0c38be43600334966403524a40dcd81e"

TOTAL_EN_WORDS = 11250
TOTAL_DE_WORDS = 19220

START_MARK = "<s>"
END_MARK = "<e>"
UNK_MARK = "<unk>"

_LANGUAGES = ("en", "de")  # in the order of their columns


def _file() -> str:
    return common.download(DATA_URL, "wmt16", DATA_MD5, "wmt16.tar.gz")


def _pairs(tar_file: str, name: str) -> Iterator[list[str]]:
    with tarfile.open(tar_file) as archive:
        file: Any = archive.extractfile(name)
        for line in file:
            parts = line.decode("utf-8").strip().split("\t")
            if len(parts) == 2:
                yield parts


def _dict_path(lang: str, dict_size: int) -> str:
    return os.path.join(common.DATA_HOME, "wmt16", f"{lang}_{dict_size}.dict")


def _words(tar_file: str, dict_size: int, lang: str) -> list[str]:
    """The words of a language by number: three marks, then the most frequent ones. They are kept in
    a file beside the data.
    """
    path = _dict_path(lang, dict_size)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as kept:
            words = [line.strip() for line in kept]
        if len(words) == dict_size:
            return words
    column = _LANGUAGES.index(lang)
    counts = Counter(
        word for parts in _pairs(tar_file, "wmt16/train") for word in parts[column].split()
    )
    common_words = [word for word, _ in counts.most_common(max(dict_size - 3, 0))]
    words = [START_MARK, END_MARK, UNK_MARK, *common_words]
    with replacing(path) as file:
        file.write("".join(f"{word}\n" for word in words).encode())
    return words


def _size(lang: str, dict_size: int) -> int:
    return min(dict_size, TOTAL_EN_WORDS if lang == "en" else TOTAL_DE_WORDS)


def reader_creator(
    tar_file: str, file_name: str, src_dict_size: int, trg_dict_size: int, src_lang: str
) -> Callable[[], Iterator[Any]]:
    """A reader over a source sentence, a target sentence, and the target's words that follow."""

    def reader() -> Iterator[Any]:
        column = _LANGUAGES.index(src_lang)
        sizes = (src_dict_size, trg_dict_size)
        source, target = (
            {word: i for i, word in enumerate(_words(tar_file, size, lang))}
            for size, lang in zip(sizes, (src_lang, _LANGUAGES[1 - column]), strict=True)
        )
        start, end, unknown = (source[mark] for mark in (START_MARK, END_MARK, UNK_MARK))
        for parts in _pairs(tar_file, file_name):
            given = [source.get(word, unknown) for word in parts[column].split()]
            wanted = [target.get(word, unknown) for word in parts[1 - column].split()]
            yield [start, *given, end], [start, *wanted], [*wanted, end]

    return reader


def _reader(name: str, src_size: int, trg_size: int, src_lang: str) -> Callable[[], Iterator[Any]]:
    if src_lang not in _LANGUAGES:
        raise UsageError(
            "An error language type. Only support: en (for English); de(for Germany)., but "
            f"received {src_lang!r}"
        )
    other = _LANGUAGES[1 - _LANGUAGES.index(src_lang)]
    sizes = _size(src_lang, src_size), _size(other, trg_size)
    return reader_creator(_file(), f"wmt16/{name}", *sizes, src_lang)


def train(
    src_dict_size: int, trg_dict_size: int, src_lang: str = "en"
) -> Callable[[], Iterator[Any]]:
    """A reader over the training pairs; ``src_lang`` is the language of the first, "en" or "de"."""
    return _reader("train", src_dict_size, trg_dict_size, src_lang)


def test(
    src_dict_size: int, trg_dict_size: int, src_lang: str = "en"
) -> Callable[[], Iterator[Any]]:
    """A reader over the test pairs."""
    return _reader("test", src_dict_size, trg_dict_size, src_lang)


def validation(
    src_dict_size: int, trg_dict_size: int, src_lang: str = "en"
) -> Callable[[], Iterator[Any]]:
    """A reader over the validation pairs."""
    return _reader("val", src_dict_size, trg_dict_size, src_lang)


def get_dict(lang: str, dict_size: int, reverse: bool = False) -> dict[Any, Any]:
    """The numbers of the words of a language, or with ``reverse`` the words by number; a reader of
    this size was run before.
    """
    size = _size(lang, dict_size)
    if not os.path.exists(_dict_path(lang, size)):
        raise BadArgument(
            "Word dictionary does not exist. Please invoke paddle.dataset.wmt16."
            "train/test/validation first to build the dictionary."
        )
    words = enumerate(_words(_file(), size, lang))
    return dict(words) if reverse else {word: i for i, word in words}


def fetch() -> None:
    """Check that the file is there."""
    _file()
