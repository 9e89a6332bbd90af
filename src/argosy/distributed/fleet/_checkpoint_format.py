"""States as bytes: nests of plain values and tensors, without pickle, so that reading a file cannot run anything.

::

    8 bytes   "argosy1\\n"
    8 bytes   length of the description, little-endian
    ...       the description, JSON: the nest, with a place in what follows for each tensor
    ...       the tensors' bytes, one after the other

In the description numbers, texts, None and lists stand for themselves; anything else is an object with one key that says what it is.
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

from argosy.foundation.errors import CheckpointError
from argosy.tensor._tensor import Tensor, _wrap

MAGIC = b"argosy1\n"
_HEAD = struct.Struct("<8sQ")

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
    """The state in the bytes of a file; CheckpointError, which names ``source``, if they are not one's."""
    try:
        magic, length = _HEAD.unpack_from(data)
        if magic != MAGIC:
            raise ValueError("it does not begin as one")
        start = _HEAD.size + length
        return _rebuilt(json.loads(bytes(data[_HEAD.size : start])), memoryview(data)[start:])
    except (ValueError, KeyError, TypeError, RuntimeError, AttributeError, struct.error) as error:
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
        return value._t
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
            [_described(k, path, pieces, sizes), _described(v, (*path, k), pieces, sizes)] for k, v in value.items()
        ]
        return {"dict": items}
    if value is SAME:
        return {"same": None}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return _placed(torch.from_numpy(np.ascontiguousarray(value)), {"kind": "array"}, pieces, sizes)
    if isinstance(value, Tensor):
        return _placed(value._t, {"kind": "face", "name": value.name}, pieces, sizes)
    if isinstance(value, torch.Tensor) and value.layout is torch.strided and not hasattr(value, "full_tensor"):
        return _placed(value, {"kind": "torch"}, pieces, sizes)
    where = " -> ".join(map(repr, path)) or "the state"
    raise CheckpointError(f"{where} is a {type(value).__name__}, which a checkpoint cannot hold")


def _placed(tensor: torch.Tensor, more: dict[str, Any], pieces: list[memoryview], sizes: list[int]) -> Any:
    data = _bytes_of(tensor)
    pieces.append(data)
    start = sizes[0]
    sizes[0] += data.nbytes
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"tensor": {"dtype": dtype, "shape": list(tensor.shape), "start": start, "bytes": data.nbytes, **more}}


def _rebuilt(node: Any, data: memoryview) -> Any:
    if isinstance(node, list):
        return [_rebuilt(v, data) for v in node]
    if not isinstance(node, dict):
        return node
    ((kind, value),) = node.items()
    if kind == "dict":
        return {_rebuilt(k, data): _rebuilt(v, data) for k, v in value}
    if kind == "tuple":
        return tuple(_rebuilt(v, data) for v in value)
    if kind == "bytes":
        return base64.b64decode(value)
    if kind == "same":
        return SAME
    if kind == "tensor":
        return _read(value, data)
    raise ValueError(f"an entry of unknown kind {kind!r}")


def _read(fact: dict[str, Any], data: memoryview) -> Any:
    piece = data[fact["start"] : fact["start"] + fact["bytes"]]
    dtype = getattr(torch, fact["dtype"])
    if not isinstance(dtype, torch.dtype) or piece.nbytes != fact["bytes"]:
        raise ValueError("it is cut short")
    raw = torch.empty(fact["bytes"], dtype=torch.uint8)
    if piece.nbytes:
        raw.numpy()[:] = np.frombuffer(piece, np.uint8)
    tensor = raw.view(dtype).reshape(fact["shape"])
    if fact["kind"] == "array":
        return tensor.numpy()
    if fact["kind"] == "face":
        wrapped = _wrap(tensor)
        wrapped.name = fact["name"]
        return wrapped
    return tensor
