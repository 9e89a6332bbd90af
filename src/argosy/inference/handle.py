"""Tensor: the handle by which a script fills an input of a predictor, or reads an output."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.inference.kinds import PaddleDType
from argosy.static.ir.lod import Lod, LoDTensor
from argosy.static.ir.variable import Variable
from argosy.static.lower.fetch import given_out
from argosy.tensor.engine import Tensor as EagerTensor

# What arrays become, by their dtype: Paddle widens integers of 16 bits, which its predictors do not
# have. Looked up by dtype, as its name takes longer to ask for than all else in copy_from_cpu.
_TAKEN = {
    np.dtype(kind): np.dtype({"int16": "int32", "uint16": "int32"}.get(kind, kind))
    for kind in (
        *("float32", "float64", "float16", "int64", "int32", "int16", "uint16", "int8", "uint8"),
        "bool",
    )
}
_SHARED = frozenset({
    torch.int32, torch.int64, torch.uint8, torch.int8, torch.float32, torch.float64,
    torch.float16, torch.bfloat16, torch.bool,
})  # fmt: skip


class NoValue(UsageError, RuntimeError):
    """A tensor was read that nothing has been written to."""


class ReadOnly(UsageError, RuntimeError):
    """An output was written to."""


class NotShared(NotSupported):
    """Tensors of this dtype cannot be shared with a predictor."""


class Slot:
    """What a predictor holds for one of its inputs or outputs."""

    __slots__ = ("lod", "name", "shape", "value")

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: torch.Tensor | None = None
        self.shape = [0]
        self.lod: Lod = []

    def hold(self, value: Any) -> None:
        """Hold a torch tensor, or a LoDTensor with its offsets."""
        if isinstance(value, LoDTensor):
            self.lod = value.lod()
            value = value.raw_tensor()
        self.value = value
        self.shape = list(value.shape)

    def fed(self, call: str) -> Any:
        """What the program is fed."""
        if self.value is None:
            raise UsageError(
                f"{call}: input {self.name!r} has no value; call "
                f"get_input_handle({self.name!r}).copy_from_cpu(array) first"
            )
        return LoDTensor(self.value, self.lod) if self.lod else self.value


class Tensor:
    """A handle; all handles of one name show the same values. Made by ``get_input_handle`` and
    ``get_output_handle``.
    """

    __slots__ = ("_is_input", "_slot")

    def __init__(self, slot: Slot, is_input: bool) -> None:
        self._slot = slot
        self._is_input = is_input

    def name(self) -> str:
        return self._slot.name

    def shape(self) -> list[int]:
        """The shape; [0] before there is one."""
        return list(self._slot.shape)

    def type(self) -> PaddleDType:
        """The dtype of the values; float32 before there are any."""
        value = self._slot.value
        return PaddleDType.FLOAT32 if value is None else PaddleDType.of(value.dtype)

    def lod(self) -> Lod:
        """The offsets of the sequences, level by level."""
        return [list(level) for level in self._slot.lod]

    def set_lod(self, lod: Sequence[Sequence[int]]) -> None:
        """Say where the sequences begin: offsets, level by level."""
        try:
            self._slot.lod = [[int(offset) for offset in level] for level in lod]
        except TypeError as error:
            raise DtypeError(
                f"Tensor.set_lod: expected lists of offsets, as [[0, 2, 5]], but received {lod}"
            ) from error

    def reshape(self, shape: Sequence[int] | int) -> None:
        """Give an input another shape; values that it has stay as far as there is room."""
        self._check_writes("reshape")
        if isinstance(shape, int):
            raise NotSupported("Tensor.reshape: a number is for inputs of strings, which are not")
        sizes = list(shape)
        if not all(isinstance(n, (int, np.integer)) for n in sizes):
            raise DtypeError(f"Tensor.reshape: expected a list of integers, but received {shape}")
        slot = self._slot
        slot.shape = [int(n) for n in sizes]
        count = prod(slot.shape)
        if slot.value is not None:
            has_room = min(slot.shape, default=1) >= 0 and count <= slot.value.numel()
            flat = slot.value.reshape(-1)
            slot.value = flat[:count].reshape(slot.shape) if has_room else None

    def copy_from_cpu(self, data: np.ndarray[Any, Any]) -> None:
        """Fill an input with a copy of an array, whose shape and dtype it takes over."""
        self._check_writes("copy_from_cpu")
        kind = _TAKEN.get(data.dtype) if isinstance(data, np.ndarray) else None
        if kind is None:
            raise self._not_taken(data)
        slot = self._slot
        slot.value = torch.from_numpy(data.astype(kind, order="C"))
        slot.shape = list(data.shape)

    def _not_taken(self, data: Any) -> UsageError:
        if isinstance(data, np.ndarray):
            return DtypeError(
                f"Tensor.copy_from_cpu: arrays of {data.dtype} are not supported; convert it with "
                "astype"
            )
        if isinstance(data, list) and data and isinstance(data[0], str):
            return NotSupported(
                f"Tensor.copy_from_cpu: input {self._slot.name!r} is a tensor; inputs of strings "
                "are not supported"
            )
        return DtypeError(
            "In copy_from_cpu, we only support numpy ndarray and list[str] data type, but received "
            f"{type(data).__name__}; convert it with numpy.array(...)"
        )

    def share_external_data(self, data: Any) -> None:
        """Let an input be the very memory of a Tensor or a LoDTensor: later changes to it are seen
        by later runs.
        """
        self._check_writes("share_external_data")
        if isinstance(data, Variable):
            raise DtypeError(
                "The interface 'share_external_data' can only be used in dynamic graph mode: it "
                "received a variable of a program. Use copy_from_cpu"
            )
        if isinstance(data, LoDTensor):
            raw = data.raw_tensor()
        elif isinstance(data, EagerTensor):
            raw = data.raw.detach()
        else:
            raise DtypeError(
                "In share_external_data, we only support Tensor and LoDTensor, but received "
                f"{type(data).__name__}; use copy_from_cpu for arrays"
            )
        if raw.dtype not in _SHARED:
            raise NotShared(
                f"Tensor.share_external_data: {dtypes.name_of(raw.dtype)} is not supported; cast it"
            )
        self._slot.value, self._slot.shape = raw, list(raw.shape)

    def copy_to_cpu(self) -> np.ndarray[Any, Any]:
        """The values, as an array of one's own."""
        value = self._slot.value
        if value is None:
            raise NoValue(
                f"Tensor.copy_to_cpu: {self._slot.name!r} has no value yet; "
                + ("fill it" if self._is_input else "call run() of its predictor first")
            )
        [array] = given_out([value], as_array=True)
        return array  # type: ignore[no-any-return]

    def _check_writes(self, method: str) -> None:
        if not self._is_input:
            raise ReadOnly(
                f"Tensor.{method}: {self._slot.name!r} is an output of the predictor, which can be "
                "read only"
            )
