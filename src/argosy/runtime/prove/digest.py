"""Values as short texts that are equal if, and only if, their bits are."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import torch

_BYTES = 16  # of a digest; two different values of one job will not share it


def digest(value: Any) -> str:
    """Of a tensor, an array, a number, a text, or of lists and dicts of them; with dtype and
    shape. Of anything else only the class counts.
    """
    hashed = hashlib.blake2b(digest_size=_BYTES)
    _add(hashed, value)
    return hashed.hexdigest()


def _add(hashed: Any, value: Any) -> None:
    value = getattr(value, "raw", value)  # of Paddle's Tensor
    if isinstance(value, torch.Tensor):
        found = _plain(value)
        hashed.update(f"{found.dtype}{tuple(found.shape)}".encode())
        hashed.update(found.flatten().view(torch.uint8).numpy())
    elif isinstance(value, np.ndarray) and value.dtype != object:
        hashed.update(f"{value.dtype}{value.shape}".encode())
        hashed.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (list, tuple, np.ndarray)):
        hashed.update(f"[{len(value)}]".encode())
        for each in value:
            _add(hashed, each)
    elif isinstance(value, dict):
        hashed.update(f"{{{len(value)}}}".encode())
        for key in value:
            _add(hashed, key)
            _add(hashed, value[key])
    elif isinstance(value, bytes):
        hashed.update(f"b{len(value)}".encode() + value)
    elif isinstance(value, (str, int, float, complex, np.generic, type(None))):
        hashed.update(f"{type(value).__name__} {value!r};".encode())
    else:
        hashed.update(f"<{type(value).__qualname__}>".encode())


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """Dense and contiguous, in memory that NumPy can see; of a DTensor this rank's part."""
    found = tensor.detach()
    if hasattr(found, "to_local"):
        found = found.to_local()
    if found.layout != torch.strided:
        found = found.to_dense()
    return found.resolve_conj().resolve_neg().cpu().contiguous()
