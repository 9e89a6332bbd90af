"""LoDTensor: rows of sequences of different lengths, one after the other, with the offsets at which
each sequence starts.

A lod has a level for each nesting, outermost first. ``[[0, 2, 3], [0, 2, 2, 5]]``: two documents of
2 and 1 sentences, which have 2, 0 and 3 words, so 5 rows. Scripts also give lengths in place of
offsets: ``[[2, 1], [2, 0, 3]]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
import torch.utils.dlpack

from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, UsageError
from argosy.foundation.places import Place, to_place
from argosy.static.ir.tensor_memory import TensorMemory
from argosy.tensor.engine import to_raw, wrap

Lod = list[list[int]]


def offsets_of(lengths: Iterable[Sequence[int]]) -> Lod:
    """Offsets for lengths, level by level."""
    return [list(accumulate((int(n) for n in level), initial=0)) for level in lengths]


def lengths_of(lod: Iterable[Sequence[int]]) -> Lod:
    """Lengths for offsets, level by level."""
    return [[end - start for start, end in pairwise(level)] for level in lod]


def lod_problem(lod: Sequence[Sequence[int]], rows: int) -> str:
    """What is wrong with a lod of a tensor with ``rows`` rows; empty if nothing is."""
    for level, offsets in enumerate(lod):
        if (
            len(offsets) < 2
            or offsets[0] != 0
            or any(start > end for start, end in pairwise(offsets))
        ):
            return (
                f"level {level} must be offsets that start at 0 and never fall, at least two, "
                f"but is {list(offsets)}"
            )
        count, what = (
            (len(lod[level + 1]) - 1, "sequences of the next level")
            if level + 1 < len(lod)
            else (rows, "rows")
        )
        if offsets[-1] != count:
            return f"level {level} ends at {offsets[-1]}, but there are {count} {what}"
    return ""


class LoDTensor(TensorMemory):
    """Values with the offsets of their sequences; what programs with ``lod_level`` are fed and
    return.

    Example:
        >>> import numpy, paddle
        >>> words = paddle.static.ir.lod.LoDTensor()
        >>> words.set(numpy.arange(5).reshape(5, 1), paddle.CPUPlace())
        >>> words.set_recursive_sequence_lengths([[2, 3]])
        >>> words.lod()
        [[0, 2, 5]]
    """

    def __init__(self, value: Any = None, lod: Lod | None = None) -> None:
        """``value`` is a tensor, or the lengths of the sequences of values that are set later."""
        self._value: torch.Tensor | None = None if isinstance(value, list) else value
        self._offsets: Lod = offsets_of(value) if isinstance(value, list) else lod or []

    # -- values
    # ----------------------------------------------------------------------------------------------

    def set(self, array: Any, place: Any = None) -> None:
        """Take over a copy of the values of an array or a Tensor."""
        raw = (array.raw_tensor() if isinstance(array, LoDTensor) else to_raw(array)).clone()
        self.take_over(raw if place is None else raw.to(to_place(place).device))

    def take_over(self, raw: torch.Tensor) -> None:
        self._value = raw

    def raw_tensor(self) -> torch.Tensor:
        if self._value is None:
            raise UsageError("LoDTensor: it holds no values yet; call set(array, place) first")
        return self._value

    def shape(self) -> list[int]:
        return list(self.raw_tensor().shape)

    def _get_dims(self) -> list[int]:
        return self.shape()

    def _numel(self) -> int:
        return self.raw_tensor().numel()

    def _dtype(self) -> Any:
        return dtypes.BY_TORCH[self.raw_tensor().dtype]

    def _place(self) -> Place:
        device = self.raw_tensor().device
        return Place("cpu" if device.type == "cpu" else f"{device.type}:{device.index or 0}")

    def _is_initialized(self) -> bool:
        return self._value is not None

    def _element_size(self) -> int:
        return self.raw_tensor().element_size()

    def _as_type(self, dtype: Any) -> LoDTensor:
        """A copy in another dtype, with the same sequences."""
        return LoDTensor(self.raw_tensor().to(dtypes.to_torch(dtype), copy=True), self.lod())

    def _copy(self, place: Any) -> LoDTensor:
        return LoDTensor(self.raw_tensor().to(to_place(place).device, copy=True), self.lod())

    def _clear(self) -> None:
        self._value, self._offsets = None, []

    def _to_dlpack(self) -> Any:
        """A capsule that ``from_dlpack`` of any framework reads, over the same memory."""
        held = self.raw_tensor().detach()
        return torch.utils.dlpack.to_dlpack(held)  # type: ignore[attr-defined]

    def __getitem__(self, index: Any) -> LoDTensor:
        """Some of the values, without sequences."""
        # by way of NumPy, which knows negative steps
        return LoDTensor(torch.from_numpy(np.ascontiguousarray(self.numpy()[index])))

    def numpy(self) -> np.ndarray:
        return wrap(self.raw_tensor()).numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    # -- sequences
    # ----------------------------------------------------------------------------------------------

    def lod(self) -> Lod:
        """Offsets, a list for each level; none if there are no sequences."""
        return [list(level) for level in self._offsets]

    def set_lod(self, lod: Sequence[Sequence[int]]) -> None:
        """Say at which rows sequences start; the last offset is the number of rows."""
        offsets = [[int(n) for n in level] for level in lod]
        problem = lod_problem(offsets, self._rows(offsets))
        if problem:
            raise UsageError(
                f"LoDTensor.set_lod: {offsets} is no lod of a tensor of shape "
                f"{self._shown_shape()}: {problem}"
            )
        self._offsets = offsets

    def recursive_sequence_lengths(self) -> Lod:
        """Lengths, a list for each level."""
        return lengths_of(self._offsets)

    def set_recursive_sequence_lengths(
        self, recursive_sequence_lengths: Sequence[Sequence[int]]
    ) -> None:
        """Say how long each sequence is."""
        offsets = offsets_of(recursive_sequence_lengths)
        problem = lod_problem(offsets, self._rows(offsets))
        if problem:
            raise UsageError(
                "LoDTensor.set_recursive_sequence_lengths: "
                f"{[list(level) for level in recursive_sequence_lengths]} are no "
                f"lengths for a tensor of shape {self._shown_shape()}: {problem}"
            )
        self._offsets = offsets

    def has_valid_recursive_sequence_lengths(self) -> bool:
        """Whether the lod fits the values: ``set`` may have changed these since."""
        return not lod_problem(self._offsets, self._rows(self._offsets))

    def _rows(self, lod: Lod) -> int:
        # A lod may come before the values; then only its levels can be checked against each other.
        return (
            self.raw_tensor().shape[0]
            if self._is_initialized()
            else (lod[-1] or [0])[-1]
            if lod
            else 0
        )

    def _shown_shape(self) -> Any:
        return self.shape() if self._is_initialized() else "[unknown]"

    def __repr__(self) -> str:
        values = repr(wrap(self.raw_tensor().detach())) if self._is_initialized() else "no values"
        return f"LoDTensor(lod={self._offsets}, {values})"


def from_dlpack(capsule: Any) -> LoDTensor:
    """A LoDTensor over the memory of a DLPack capsule."""
    return LoDTensor(torch.utils.dlpack.from_dlpack(capsule))


class LoDTensorArray(list[LoDTensor]):
    """A list of LoDTensors."""

    def _move_to_list(self) -> list[LoDTensor]:
        out = list(self)
        self.clear()
        return out


def create_lod_tensor(
    data: Any, recursive_seq_lens: Sequence[Sequence[int]], place: Any = None
) -> LoDTensor:
    """A LoDTensor of an array whose rows belong to sequences of these lengths, or of a list of
    sequences of numbers.

    Example:
        >>> import numpy, paddle
        >>> paddle.static.ir.lod.create_lod_tensor([[7, 8], [9]], [[2, 1]],
        ...     paddle.CPUPlace()).shape()
        [3, 1]
    """
    if isinstance(data, list):
        lengths = [[len(sequence) for sequence in data]]
        if lengths != [list(level) for level in recursive_seq_lens]:
            raise BadArgument(
                "create_lod_tensor: data and recursive_seq_lens do not match: the sequences "
                f"have lengths {lengths}, "
                f"but received {[list(level) for level in recursive_seq_lens]}"
            )
        rows = np.array([step for sequence in data for step in sequence])
        data = rows.reshape(*rows.shape, 1)
    elif not isinstance(data, (np.ndarray, LoDTensor)):
        raise TypeError(
            "create_lod_tensor: data should be either a LoDTensor, a Numpy array or a list, but "
            f"received {type(data).__name__}"
        )
    out = LoDTensor()
    out.set(np.asarray(data), place)
    out.set_recursive_sequence_lengths(recursive_seq_lens)
    return out


def create_random_int_lodtensor(
    recursive_seq_lens: Sequence[Sequence[int]],
    base_shape: Sequence[int],
    place: Any,
    low: int,
    high: int,
) -> LoDTensor:
    """Random integers from ``low`` to ``high``, both included; ``base_shape`` is the shape of a
    row.
    """
    shape = [sum(recursive_seq_lens[-1]), *base_shape]
    values = torch.randint(low, high + 1, shape, dtype=torch.int64)
    return create_lod_tensor(values.numpy(), recursive_seq_lens, place)


def lod_tensor_from_samples(
    samples: Iterable[Any], dtype: Any, shape: Sequence[int], lod_level: int = 1
) -> LoDTensor:
    """The batch of one field: ``samples`` nest as deep as ``lod_level`` (0: each is a row itself),
    then come rows.

    ``shape`` is the declared one, with -1 or None for unknown dimensions; rows are reshaped to it
    where they have another number of dimensions.

    Example:
        >>> import paddle
        >>> batch = paddle.static.ir.lod.lod_tensor_from_samples([[1, 2], [3]], "int64", [-1, 1], 1)
        >>> batch.shape(), batch.lod()
        ([3, 1], [[0, 2, 3]])
    """
    rows = list(samples)
    lengths: Lod = []
    for level in range(lod_level):
        try:
            lengths.append([len(sequence) for sequence in rows])
        except TypeError as error:
            raise UsageError(
                f"a sample of a variable with lod_level={lod_level} must nest {lod_level} levels "
                f"of sequences, but level {level} "
                f"holds {next(type(s).__name__ for s in rows if not hasattr(s, '__len__'))}"
            ) from error
        rows = [item for sequence in rows for item in sequence]
    declared = [-1 if n is None else int(n) for n in shape]
    array = np.array(rows, dtype=dtypes.name_of(dtypes.to_torch(dtype)))
    if len(array.shape) != len(declared) and (not array.size or declared.count(-1) < 2):
        array = _reshaped(array, declared)
    out = LoDTensor()
    out.set(array)
    if lengths:
        out.set_recursive_sequence_lengths(lengths)
    return out


def _reshaped(array: np.ndarray, declared: list[int]) -> np.ndarray:
    if not array.size:  # only empty sequences: nothing tells the unknown dimensions
        return array.reshape([0, *(max(n, 1) for n in declared[1:])])
    try:
        return array.reshape(declared)
    except ValueError as error:
        raise UsageError(
            f"samples of shape {list(array.shape)} cannot be reshaped to the declared {declared}"
        ) from error


def has_lengths(value: Any) -> bool:
    """Whether ``value`` is an array with the lengths of its sequences, which may be fed in place of
    a LoDTensor.
    """
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[1], (list, tuple))
        and all(isinstance(level, (list, tuple, np.ndarray)) for level in value[1])
    )


def split_sequences(value: LoDTensor, parts: int) -> list[LoDTensor]:
    """Cut into ``parts`` LoDTensors at the borders of the outermost sequences, as evenly as these
    allow.
    """
    lod = value.lod()
    count = len(lod[0]) - 1 if lod else value.raw_tensor().shape[0]
    if count < parts:
        raise UsageError(
            f"{count} sequences cannot be split into {parts} parts; feed at least one for each"
        )
    borders = [count * i // parts for i in range(parts + 1)]
    return [_slice(value, start, end) for start, end in pairwise(borders)]


def _slice(value: LoDTensor, start: int, end: int) -> LoDTensor:
    lod: Lod = []
    for level in value.lod():
        kept = level[start : end + 1]
        start, end = kept[0], kept[-1]
        lod.append([n - start for n in kept])
    return LoDTensor(value.raw_tensor()[start:end], lod)
