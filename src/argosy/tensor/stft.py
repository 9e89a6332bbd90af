"""Short-time Fourier transforms; ``paddle.signal`` shows them."""

from __future__ import annotations

from typing import Any

from argosy.ops.math import fft as ops
from argosy.tensor._core.tensor import apply

TENSOR_METHODS = ["istft", "stft"]


def stft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    name: str | None = None,
) -> Any:
    """Transform overlapping frames of a signal or of a batch of signals: [..., frequencies,
    frames], complex.

    ``hop_length`` is ``n_fft // 4`` by default; a ``window`` shorter than ``n_fft`` is centred in
    the frame; ``center`` pads the signal so that frame t is centred at ``t * hop_length``.
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    is_half = not x.dtype.is_complex if onesided is None else onesided
    return apply(
        ops.stft, x, window, n_fft, hop, win_length or n_fft, center, pad_mode, normalized, is_half
    )


def istft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    return_complex: bool = False,
    name: str | None = None,
) -> Any:
    """Put frames that ``stft`` transformed together again, cut or padded to ``length``."""
    hop = n_fft // 4 if hop_length is None else hop_length
    width = win_length or n_fft
    return apply(
        ops.istft,
        x,
        window,
        n_fft,
        hop,
        width,
        center,
        normalized,
        onesided,
        length,
        return_complex,
    )
