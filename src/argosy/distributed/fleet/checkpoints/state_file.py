"""States as bytes: nests of plain values and tensors, without pickle, so that reading a file cannot
run anything.

::

    8 bytes   "argosy1\\n"
    8 bytes   length of the description, little-endian
    ...       the description, JSON: the nest, with a place in what follows for each tensor
    ...       the tensors' bytes, one after the other

In the description numbers, texts, None and lists stand for themselves; anything else is an object
with one key that says what it is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from argosy.foundation import arrays
from argosy.foundation.errors import CheckpointError
from argosy.tensor.engine import Tensor, wrap

MAGIC = b"argosy1\n"
_HEAD = struct.Struct("<8sQ")

_DTYPE_BY_NAME = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16,
        torch.int32, torch.int64,
        torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex32,
        torch.complex64, torch.complex128,
        torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
        torch.float8_e8m0fnu,
    )
}  # fmt: skip
# of values in each other: what walks a state by recursion stays within Python's limit
_MAX_DEPTH = 100

Path = tuple[Any, ...]


class Same:
    """In a rank's file: what stands at this place in the file of rank 0."""


SAME = Same()


def dumps(state: Any) -> list[bytes | memoryview]:
    """The pieces of a file that holds ``state``."""
    pieces: list[memoryview] = []
    sizes = [0]
    text = json.dumps(_described(state, (), pieces, sizes)).encode()
    return [_HEAD.pack(MAGIC, len(text)), text, *pieces]


def loads(data: bytes | bytearray, source: str) -> Any:
    """The state in the bytes of a file; CheckpointError, which names ``source``, if they are not
    one's.
    """
    try:
        magic, length = _HEAD.unpack_from(data)
        if magic != MAGIC:
            raise ValueError("it does not begin as one")
        start = _HEAD.size + length
        if start > len(data):
            raise ValueError("it is cut short")
        pieces = memoryview(data)[start:]
        return _rebuilt(json.loads(bytes(data[_HEAD.size : start])), pieces, [pieces.nbytes])
    except (ValueError, KeyError, TypeError, RecursionError, struct.error) as error:
        raise CheckpointError(f"{source} is not a state file, or it is damaged: {error}") from error


def tensors(state: Any, path: Path = ()) -> Iterator[tuple[Path, torch.Tensor]]:
    """Every tensor in the nest with the keys that lead to it."""
    raw = raw_tensor(state)
    if raw is not None:
        yield path, raw
    elif isinstance(state, Mapping):
        for key, value in state.items():
            yield from tensors(value, (*path, key))
    elif isinstance(state, (list, tuple)):
        for index, value in enumerate(state):
            yield from tensors(value, (*path, index))


def raw_tensor(value: Any) -> torch.Tensor | None:
    """The torch tensor that ``value`` is or wraps."""
    if isinstance(value, Tensor):
        return value.raw
    return value if isinstance(value, torch.Tensor) else None


def digest(tensor: torch.Tensor) -> str:
    """A fingerprint of values, dtype and shape."""
    found = hashlib.sha256(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
    found.update(_bytes_of(tensor))
    return found.hexdigest()


def _bytes_of(tensor: torch.Tensor) -> memoryview:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().data.cast("B") if flat.numel() else memoryview(b"")


def _described(value: Any, path: Path, pieces: list[memoryview], sizes: list[int]) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float, np.generic)):
        plain = value.item() if isinstance(value, np.generic) else value
        return float(plain) if isinstance(plain, float) else int(plain)
    if isinstance(value, list):
        return [_described(v, (*path, i), pieces, sizes) for i, v in enumerate(value)]
    if isinstance(value, tuple):
        return {"tuple": [_described(v, (*path, i), pieces, sizes) for i, v in enumerate(value)]}
    if isinstance(value, Mapping):
        items = [
            [_described(k, path, pieces, sizes), _described(v, (*path, k), pieces, sizes)]
            for k, v in value.items()
        ]
        return {"dict": items}
    if value is SAME:
        return {"same": None}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return _placed(
            torch.from_numpy(np.ascontiguousarray(value)), {"kind": "array"}, pieces, sizes
        )
    if isinstance(value, Tensor):
        return _placed(value.raw, {"kind": "face", "name": value.name}, pieces, sizes)
    if (
        isinstance(value, torch.Tensor)
        and value.layout is torch.strided
        and not hasattr(value, "full_tensor")
    ):
        return _placed(value, {"kind": "torch"}, pieces, sizes)
    where = " -> ".join(map(repr, path)) or "the state"
    raise CheckpointError(f"{where} is a {type(value).__name__}, which a checkpoint cannot hold")


def _placed(
    tensor: torch.Tensor, more: dict[str, Any], pieces: list[memoryview], sizes: list[int]
) -> Any:
    data = _bytes_of(tensor)
    pieces.append(data)
    start = sizes[0]
    sizes[0] += data.nbytes
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {
        "tensor": {
            "dtype": dtype,
            "shape": list(tensor.shape),
            "start": start,
            "bytes": data.nbytes,
            **more,
        }
    }


def _rebuilt(node: Any, data: memoryview, left: list[int], depth: int = 0) -> Any:
    """The value that a node of the description stands for; ``left`` are the bytes that no tensor
    has had yet.
    """
    if depth > _MAX_DEPTH:
        raise ValueError(f"values in each other, more than {_MAX_DEPTH} deep")

    def inner(value: Any) -> Any:
        return _rebuilt(value, data, left, depth + 1)

    if isinstance(node, list):
        return [inner(v) for v in node]
    if not isinstance(node, dict):
        return node
    ((kind, value),) = node.items()
    if kind == "dict":
        return {inner(k): inner(v) for k, v in value}
    if kind == "tuple":
        return tuple([inner(v) for v in value])
    if kind == "bytes":
        return base64.b64decode(value)
    if kind == "same":
        return SAME
    if kind == "tensor":
        return _read(value, data, left)
    raise ValueError(f"an entry of unknown kind {kind[:80]!r}")


def _read(fact: dict[str, Any], data: memoryview, left: list[int]) -> Any:
    start, num_bytes, shape, name = (
        fact["start"],
        fact["bytes"],
        fact["shape"],
        fact.get("name", ""),
    )
    dtype = _DTYPE_BY_NAME[fact["dtype"]]
    if (
        type(start) is not int
        or type(num_bytes) is not int
        or not 0 <= start <= start + num_bytes <= data.nbytes
    ):
        raise ValueError("it is cut short")
    if arrays.bytes_of(shape, dtype.itemsize) != num_bytes or not isinstance(name, str):
        raise ValueError("a tensor whose bytes are not those of its shape")
    left[0] -= num_bytes
    if left[0] < 0:
        raise ValueError("tensors in the same bytes")
    raw = torch.empty(num_bytes, dtype=torch.uint8)
    raw.numpy()[:] = np.frombuffer(data[start : start + num_bytes], np.uint8)
    if dtype is torch.bool and num_bytes and int(raw.max()) > 1:
        raise ValueError("truth values other than 0 and 1")
    tensor = raw.view(dtype).reshape(shape) if num_bytes else torch.empty(shape, dtype=dtype)
    if fact["kind"] == "array":
        return tensor.numpy()
    if fact["kind"] == "face":
        wrapped = wrap(tensor)
        wrapped.name = name
        return wrapped
    return tensor
