"""The file formats that several datasets share."""

from __future__ import annotations

import gzip
import struct
import tarfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from argosy.foundation import arrays
from argosy.foundation.errors import CheckpointError
from argosy.framework import pickles


def read_idx(path: str) -> np.ndarray:
    """The uint8 array of a gzipped IDX file (MNIST's): two zero bytes, type 8, rank, extents,
    values.
    """
    try:
        with gzip.open(path, "rb") as file:
            head = file.read(4)
            if len(head) < 4 or head[:3] != b"\0\0\x08":
                raise CheckpointError(f"{path} is not an IDX file of bytes")
            extents = file.read(4 * head[3])
            if len(extents) != 4 * head[3]:
                raise CheckpointError(
                    f"{path} is cut short: it ends inside of its {head[3]} extents"
                )
            shape = struct.unpack(f">{head[3]}I", extents)
            wanted = arrays.bytes_of(shape, 1)
            # a zipped file can have many more
            values = np.frombuffer(file.read(wanted + 1), np.uint8)
    except (gzip.BadGzipFile, EOFError, zlib.error, arrays.BadArray) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    if values.size != wanted:
        raise CheckpointError(
            f"{path} is cut short: it has {values.size} values for the shape {shape}"
        )
    return values.reshape(shape)


def read_cifar(path: str, part: str, by_name: bool) -> Iterator[tuple[np.ndarray, int]]:
    """(3072 uint8 values, label) of each sample in the batches of a CIFAR archive whose names hold
    ``part``.

    The batches come in the order of their names, or as they stand in the archive.
    """
    with tarfile.open(path, mode="r") as archive:
        names = [member.name for member in archive if part in member.name]
        for name in sorted(names) if by_name else names:
            file: Any = archive.extractfile(name)
            batch = pickles.load(file, f"{name} in {path}")
            yield from zip(*_columns(batch, f"{name} in {path}"), strict=True)


def _columns(batch: Any, source: str) -> tuple[np.ndarray, list[int]]:
    """Images and labels of one batch."""
    if not isinstance(batch, dict):
        raise CheckpointError(f"{source} is no batch of CIFAR: it holds a {type(batch).__name__}")
    named = {
        key.decode("latin1") if isinstance(key, bytes) else key: value
        for key, value in batch.items()
    }
    images, labels = named.get("data"), named.get("labels", named.get("fine_labels"))
    if (
        not isinstance(images, np.ndarray)
        or not isinstance(labels, list)
        or images.shape[:1] != (len(labels),)
    ):
        raise CheckpointError(
            f"{source} is no batch of CIFAR: it lacks images, or a label for each"
        )
    return images, labels
