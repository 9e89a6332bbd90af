"""Paddle's dtype objects and their torch and NumPy counterparts.

``DType`` instances are singletons: compare them with ``is`` or ``==``. ``to_torch`` accepts
everything that a Paddle script passes as a dtype: an object, its name, a NumPy dtype or scalar
type, a Python type, a torch dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import DtypeError, nearest


class DType:
    """One element type. ``name`` is Paddle's name, ``torch`` the engine's dtype."""

    __slots__ = ("name", "torch")

    name: str
    torch: torch.dtype

    def __new__(cls, kind: Any = "float32") -> DType:
        """``paddle.dtype('float32')`` is ``paddle.float32`` itself."""
        return from_any(kind)

    def __repr__(self) -> str:
        return f"paddle.{self.name}"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return DType, (self.name,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DType:
        return self

    def __int__(self) -> int:
        return CODE_BY_TORCH[self.torch]

    @property
    def itemsize(self) -> int:
        return self.torch.itemsize

    @property
    def is_floating_point(self) -> bool:
        return self.torch.is_floating_point

    @property
    def is_complex(self) -> bool:
        return self.torch.is_complex

    @property
    def is_integer(self) -> bool:
        return not (
            self.torch.is_floating_point or self.torch.is_complex or self.torch == torch.bool
        )


def _make(name: str, engine: torch.dtype) -> DType:
    dtype = object.__new__(DType)
    dtype.name = name
    dtype.torch = engine
    return dtype


bool_ = _make("bool", torch.bool)
uint8 = _make("uint8", torch.uint8)
int8 = _make("int8", torch.int8)
int16 = _make("int16", torch.int16)
int32 = _make("int32", torch.int32)
int64 = _make("int64", torch.int64)
float16 = _make("float16", torch.float16)
bfloat16 = _make("bfloat16", torch.bfloat16)
float32 = _make("float32", torch.float32)
float64 = _make("float64", torch.float64)
complex64 = _make("complex64", torch.complex64)
complex128 = _make("complex128", torch.complex128)
float8_e4m3fn = _make("float8_e4m3fn", torch.float8_e4m3fn)
float8_e5m2 = _make("float8_e5m2", torch.float8_e5m2)

ALL: tuple[DType, ...] = (
    bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64,
    complex64, complex128, float8_e4m3fn, float8_e5m2,
)  # fmt: skip

BY_TORCH: dict[torch.dtype, DType] = {d.torch: d for d in ALL}

_TORCH_BY_KEY: dict[Any, torch.dtype] = {}
for _d in ALL:
    _TORCH_BY_KEY[_d] = _TORCH_BY_KEY[_d.torch] = _TORCH_BY_KEY[_d.name] = _TORCH_BY_KEY[
        f"paddle.{_d.name}"
    ] = _d.torch
for _name in (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
):
    _np = np.dtype(_name)
    _TORCH_BY_KEY[_np] = _TORCH_BY_KEY[_np.type] = _TORCH_BY_KEY[_name]
# uint16 is how Paddle stores bfloat16 in arrays; FP32 and the like are the spellings of its
# protobuf enum
_TORCH_BY_KEY.update({
    "uint16": torch.bfloat16, np.uint16: torch.bfloat16, np.dtype("uint16"): torch.bfloat16,
    float: torch.float64, int: torch.int64, bool: torch.bool, complex: torch.complex128,
    "float": torch.float64, "double": torch.float64, "half": torch.float16, "int": torch.int64,
    "long": torch.int64,
    "complex": torch.complex128,
})  # fmt: skip

# The numbers of element types in Paddle's files and in attributes of its operators.
CODE_BY_TORCH = {
    torch.bool: 0, torch.int16: 1, torch.int32: 2, torch.int64: 3, torch.float16: 4,
    torch.float32: 5, torch.float64: 6,
    torch.uint8: 20, torch.int8: 21, torch.bfloat16: 22, torch.complex64: 23, torch.complex128: 24,
    torch.float8_e4m3fn: 32, torch.float8_e5m2: 33,
}  # fmt: skip
TORCH_BY_CODE = {code: dtype for dtype, code in CODE_BY_TORCH.items()}


class Code(int):
    """The number of an element type; it equals the dtype, as in Paddle, where they are one."""

    def __new__(cls, engine: torch.dtype) -> Code:
        return super().__new__(cls, CODE_BY_TORCH[engine])

    def __eq__(self, other: object) -> bool:
        return int(self) == (int(other) if isinstance(other, DType) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int(self),)


def to_torch(kind: Any) -> torch.dtype:
    """Return the torch dtype that ``kind`` names; an unknown one is an error that lists the
    nearest.
    """
    try:
        return _TORCH_BY_KEY[kind]
    except (KeyError, TypeError):
        names = [d.name for d in ALL]
        hint = nearest(str(kind), names)
        raise DtypeError(
            f"dtype must be any of [{', '.join(names)}], but received {kind}.{hint}"
        ) from None


def from_any(kind: Any) -> DType:
    """Return the ``DType`` that ``kind`` names."""
    return BY_TORCH[to_torch(kind)]


def name_of(engine: torch.dtype) -> str:
    """Paddle's name of a torch dtype."""
    found = BY_TORCH.get(engine)
    return found.name if found else str(engine).removeprefix("torch.")
