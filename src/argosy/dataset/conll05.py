"""CoNLL-2005: sentences with the roles that their words play for a predicate. Only the test set is
free, so it serves for training too.
"""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

from argosy.dataset import common
from argosy.foundation.errors import CheckpointError

__all__ = ["test", "get_dict", "get_embedding"]

DATA_URL = "http://paddlemodels.bj.bcebos.com/conll05st/conll05st-tests.tar.gz"
DATA_MD5 = "387719152ae52d60422c016e92a742fc"
WORDDICT_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2FwordDict.txt"
WORDDICT_MD5 = "ea7fb7d4c75cc6254716f0177a506baa"
VERBDICT_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2FverbDict.txt"
VERBDICT_MD5 = "0d2977293bbb6cbefab5b0f97db1e77c"
TRGDICT_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2FtargetDict.txt"
TRGDICT_MD5 = "d8c7f03ceb5fc2e5a0fa7503a4353751"
EMB_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2Femb"
EMB_MD5 = "bf436eb0faa1f6f9103017f8be57cdb7"

UNK_IDX = 0

Sentence = tuple[list[str], str, list[str]]


class UnexpectedLabel(CheckpointError, RuntimeError):
    """A label of the corpus is none of its notation."""


def load_label_dict(filename: str) -> dict[str, int]:
    """The numbers of labels: begin and inside of each role, "O" last."""
    with open(filename, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    roles = dict.fromkeys(line[2:] for line in lines if line.startswith(("B-", "I-")))
    labels = [f"{part}-{role}" for role in roles for part in "BI"]
    return {label: i for i, label in enumerate([*labels, "O"])}


def load_dict(filename: str) -> dict[str, int]:
    """The numbers of the lines of a file."""
    with open(filename, encoding="utf-8") as file:
        return {line.strip(): i for i, line in enumerate(file)}


def corpus_reader(
    data_path: str, words_name: str, props_name: str
) -> Callable[[], Iterator[Sentence]]:
    """A reader over sentences, a predicate of each and the labels of its words for that
    predicate.
    """

    def reader() -> Iterator[Sentence]:
        with tarfile.open(data_path) as archive:
            packed: list[Any] = [archive.extractfile(name) for name in (words_name, props_name)]
            with gzip.open(packed[0], "rt") as words, gzip.open(packed[1], "rt") as props:
                sentence: list[str] = []
                columns: list[list[str]] = []
                for word, line in zip(words, props, strict=False):
                    if line.split():
                        sentence.append(word.strip())
                        columns.append(line.split())
                        continue
                    yield from _of_predicates(sentence, columns)
                    sentence, columns = [], []

    return reader


def _of_predicates(sentence: list[str], rows: list[list[str]]) -> Iterator[Sentence]:
    """The sentence once for each of its predicates."""
    if not rows:
        return
    first, *others = zip(*rows, strict=True)
    verbs = [verb for verb in first if verb != "-"]
    for verb, marks in zip(verbs, others, strict=False):
        yield sentence, verb, _labels(marks)


def _labels(marks: Any) -> list[str]:
    """Brackets around roles, as ``(A1* * *)``, as labels of single words."""
    labels, role, is_inside = [], "O", False
    for mark in marks:
        if "(" in mark:
            role = mark[1 : mark.find("*")]
            labels.append(f"B-{role}")
            is_inside = ")" not in mark
        elif mark == "*)" or (mark == "*" and is_inside):
            labels.append(f"I-{role}")
            is_inside = mark == "*"
        elif mark == "*":
            labels.append("O")
        else:
            raise UnexpectedLabel(f"conll05: Unexpected label: {mark}")
    return labels


def reader_creator(
    corpus_reader: Callable[[], Iterator[Sentence]],
    word_dict: dict[str, int],
    predicate_dict: dict[str, int],
    label_dict: dict[str, int],
) -> Callable[[], Iterator[Any]]:
    """A reader over nine features of each sentence: its words, the two before the predicate, the
    predicate's own, the two behind it, the predicate, which words these five are, and labels.
    """

    def reader() -> Iterator[Any]:
        for sentence, predicate, labels in corpus_reader():
            verb, size = labels.index("B-V"), len(sentence)
            near = [(place, 0 <= place < size) for place in range(verb - 2, verb + 3)]
            context = [
                sentence[place] if is_inside else "bos" if place < 0 else "eos"
                for place, is_inside in near
            ]
            marked = {place for place, is_inside in near if is_inside}
            yield (
                [word_dict.get(word, UNK_IDX) for word in sentence],
                *([word_dict.get(word, UNK_IDX)] * size for word in context),
                [predicate_dict.get(predicate)] * size,
                [int(place in marked) for place in range(size)],
                [label_dict.get(label) for label in labels],
            )

    return reader


def get_dict() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """The numbers of words, of verbs and of labels."""
    return (
        load_dict(common.download(WORDDICT_URL, "conll05st", WORDDICT_MD5)),
        load_dict(common.download(VERBDICT_URL, "conll05st", VERBDICT_MD5)),
        load_label_dict(common.download(TRGDICT_URL, "conll05st", TRGDICT_MD5)),
    )


def get_embedding() -> str:
    """The path of a file with word vectors."""
    return common.download(EMB_URL, "conll05st", EMB_MD5)


def test() -> Callable[[], Iterator[Any]]:
    """A reader over the test set."""
    reader = corpus_reader(
        common.download(DATA_URL, "conll05st", DATA_MD5),
        "conll05st-release/test.wsj/words/test.wsj.words.gz",
        "conll05st-release/test.wsj/props/test.wsj.props.gz",
    )
    return reader_creator(reader, *get_dict())


def fetch() -> None:
    """Check that the files are there."""
    get_dict()
    get_embedding()
    common.download(DATA_URL, "conll05st", DATA_MD5)
