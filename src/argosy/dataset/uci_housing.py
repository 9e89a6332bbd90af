"""UCI housing: 13 features, centred and scaled by their range, and a price."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from argosy.dataset import common
from argosy.foundation.errors import CheckpointError

__all__ = ["train", "test", "predict_reader"]

URL = "http://paddlemodels.bj.bcebos.com/uci_housing/housing.data"
MD5 = "d4accdce7a25600298819f8e28e8d593"
feature_names = [
    "CRIM",
    "ZN",
    "INDUS",
    "CHAS",
    "NOX",
    "RM",
    "AGE",
    "DIS",
    "RAD",
    "TAX",
    "PTRATIO",
    "B",
    "LSTAT",
]


def load_data(
    filename: str, feature_num: int = 14, ratio: float = 0.8
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the file, features normalised, as (first ``ratio`` of them, the rest)."""
    data = np.array(_numbers(filename, feature_num)).reshape(-1, feature_num)
    features = data[:, :-1]
    data[:, :-1] = (features - features.mean(axis=0)) / (
        features.max(axis=0) - features.min(axis=0)
    )
    offset = int(len(data) * ratio)
    return data[:offset], data[offset:]


def _numbers(filename: str, feature_num: int) -> list[float]:
    try:
        with open(filename, encoding="ascii") as file:
            numbers = [float(word) for word in file.read().split()]
    except ValueError as error:
        raise CheckpointError(f"{filename} is damaged: {error}") from error
    if not numbers or len(numbers) % feature_num:
        raise CheckpointError(
            f"{filename} has {len(numbers)} numbers, which are no rows of {feature_num}"
        )
    return numbers


def _reader(rows: np.ndarray) -> Callable[[], Iterator[Any]]:
    return lambda: ((row[:-1], row[-1:]) for row in rows)


def train() -> Callable[[], Iterator[Any]]:
    """A reader over the first four fifths."""
    return _reader(load_data(common.download(URL, "uci_housing", MD5))[0])


def test() -> Callable[[], Iterator[Any]]:
    """A reader over the last fifth."""
    return _reader(load_data(common.download(URL, "uci_housing", MD5))[1])


def predict_reader() -> tuple[np.ndarray]:
    """The features of the first test row, to predict from."""
    return (load_data(common.download(URL, "uci_housing", MD5))[1][0][:-1],)
