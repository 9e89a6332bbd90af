"""Images out of files, as Tensors."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import UsageError
from argosy.tensor.engine import Tensor
from argosy.utils import try_import

_MODES = {"unchanged": None, "gray": "L", "rgb": "RGB"}


def read_file(filename: str, name: str | None = None) -> Any:
    """The bytes of a file, as a uint8 Tensor."""
    return Tensor(torch.from_numpy(np.frombuffer(Path(filename).read_bytes(), np.uint8).copy()))


def decode_jpeg(x: Any, mode: str = "unchanged", name: str | None = None) -> Any:
    """The picture [C, H, W] in the bytes of a JPEG file, as uint8; needs Pillow.

    Differs from Paddle: works on the CPU; where halves of colours are rounded may differ by one.
    """
    if mode not in _MODES:
        raise UsageError(f"decode_jpeg: mode must be one of {[*_MODES]}, but is {mode!r}")
    image = try_import("PIL.Image", "decode_jpeg needs Pillow: `pip install Pillow`.")
    picture = image.open(io.BytesIO(x.numpy().tobytes()))
    if _MODES[mode] is not None:
        picture = picture.convert(_MODES[mode])
    pixels = np.array(picture)
    apart = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    return Tensor(torch.from_numpy(np.ascontiguousarray(apart)))
