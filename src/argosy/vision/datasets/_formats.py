"""The file formats that several datasets share."""

from __future__ import annotations

import gzip
import struct
import tarfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from argosy.foundation.errors import CheckpointError
from argosy.framework import _pickle


def read_idx(path: str) -> np.ndarray:
    """The uint8 array of a gzipped IDX file (MNIST's): two zero bytes, type 8, rank, extents, values."""
    with gzip.open(path, "rb") as file:
        data = file.read()
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise CheckpointError(f"{path} is not an IDX file of bytes")
    rank = data[3]
    shape = struct.unpack_from(f">{rank}I", data, 4)
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * rank)
    if values.size != int(np.prod(shape)):
        raise CheckpointError(f"{path} is cut short: it has {values.size} values for the shape {shape}")
    return values.reshape(shape)


def read_cifar(path: str, part: str, by_name: bool) -> Iterator[tuple[np.ndarray, int]]:
    """(3072 uint8 values, label) of each sample in the batches of a CIFAR archive whose names hold ``part``.

    The batches come in the order of their names, or as they stand in the archive.
    """
    with tarfile.open(path, mode="r") as archive:
        names = [member.name for member in archive if part in member.name]
        for name in sorted(names) if by_name else names:
            file: Any = archive.extractfile(name)
            batch = _pickle.load(file, f"{name} in {path}")
            batch = {key.decode() if isinstance(key, bytes) else key: value for key, value in batch.items()}
            yield from zip(batch["data"], batch["labels" if "labels" in batch else "fine_labels"], strict=True)
