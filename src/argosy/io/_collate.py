"""From samples to a batch, and from a batch of arrays to a batch of Tensors."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import DtypeError
from argosy.tensor.engine import Tensor, to_raw, wrap


def default_collate_fn(batch: Sequence[Any]) -> Any:
    """Stack samples field by field: numbers and arrays to an array, Tensors to a Tensor, strings to
    a list.

    Example:
        >>> batch = paddle.io.default_collate_fn([{"x": 1.5, "name": "a"}, {"x": 2.5, "name": "b"}])
        >>> batch["x"].tolist(), batch["name"]
        ([1.5, 2.5], ['a', 'b'])
    """
    first = batch[0]
    if isinstance(first, np.ndarray):
        return np.stack(batch, axis=0)
    if isinstance(first, Tensor):
        return wrap(torch.stack([sample.raw for sample in batch]))
    if isinstance(first, numbers.Number):
        return np.array(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate_fn([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence):
        lengths = {len(sample) for sample in batch}
        if len(lengths) > 1:
            raise RuntimeError(
                "default_collate_fn: fields number not same among samples in a batch: "
                f"{sorted(lengths)}"
            )
        return [default_collate_fn(fields) for fields in zip(*batch, strict=True)]
    raise DtypeError(
        "default_collate_fn: a sample can hold Tensors, arrays, numbers, strings, dicts and "
        "lists of these, "
        f"but got {type(first).__name__}; pass a collate_fn"
    )


def default_convert_fn(batch: Any) -> Any:
    """Leave a sample as it is, with plain lists and dicts as containers (used where batches are not
    formed).
    """
    return map_leaves(lambda leaf: leaf, batch)


def map_leaves(convert: Callable[[Any], Any], batch: Any) -> Any:
    """Apply ``convert`` to every leaf; sequences become lists and mappings dicts."""
    if isinstance(batch, (str, bytes)):
        return convert(batch)
    if isinstance(batch, Mapping):
        return {key: map_leaves(convert, value) for key, value in batch.items()}
    if isinstance(batch, Sequence):
        return [map_leaves(convert, value) for value in batch]
    return convert(batch)


def to_tensors(batch: Any, place: Any) -> Any:
    """Arrays as Tensors on ``place``, Tensors moved there; numbers, strings and other objects as
    they are.
    """

    def convert(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return wrap(to_raw(leaf, place=place))
        if isinstance(leaf, Tensor):
            return wrap(leaf.raw.detach().to(place.device))
        return leaf

    return map_leaves(convert, batch)
