"""Discrete Fourier transforms and short-time ones."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.foundation.errors import RankError, UsageError
from argosy.ops.table import Op, define, op

_NORMS = ("forward", "backward", "ortho")


def _transform(name: str, over_axes: bool) -> Op:
    """An op ``f(x, n, axis, norm)``, or ``f(x, s, axes, norm)`` over several axes."""
    engine = getattr(torch.fft, name)

    def fn(
        x: Tensor, sizes: int | list[int] | None, axes: int | list[int] | None, norm: str
    ) -> Tensor:
        if norm not in _NORMS:
            raise UsageError(
                f"{name}: norm should be 'forward', 'backward' or 'ortho', but received {norm!r}"
            )
        both = over_axes and sizes is not None and axes is not None
        if both and len(sizes) != len(axes):  # type: ignore[arg-type]
            raise UsageError(
                f"{name}: s and axes must have equal lengths, but received {sizes} and {axes}"
            )
        out: Tensor = engine(x, sizes, axes, norm)
        return out.resolve_conj()

    return define(name, fn, ("x", "s", "axes", "norm") if over_axes else ("x", "n", "axis", "norm"))


ALONG_AXIS = {n: _transform(n, False) for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")}
OVER_AXES = {
    n + suffix: _transform(n + suffix, True)
    for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    for suffix in ("2", "n")
}


@op("fftfreq")
def fftfreq(n: int, d: float, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    return torch.fft.fftfreq(n, d, dtype=dtype, device=device)


@op("rfftfreq")
def rfftfreq(n: int, d: float, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    return torch.fft.rfftfreq(n, d, dtype=dtype, device=device)


@op("fftshift")
def fftshift(x: Tensor, axes: int | list[int] | None = None) -> Tensor:
    return torch.fft.fftshift(x, axes)


@op("ifftshift")
def ifftshift(x: Tensor, axes: int | list[int] | None = None) -> Tensor:
    return torch.fft.ifftshift(x, axes)


@op("stft")
def stft(
    x: Tensor,
    window: Tensor | None,
    n_fft: int,
    hop_length: int,
    win_length: int,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: bool,
) -> Tensor:
    """Transforms of windowed frames: [..., frequencies, frames]."""
    if x.ndim not in (1, 2):
        raise RankError(f"stft: x should be 1-D or 2-D, but its shape is {list(x.shape)}")
    if hop_length <= 0 or not 0 < n_fft <= x.shape[-1]:
        raise RankError(
            f"stft: needs hop_length > 0 and 0 < n_fft <= {x.shape[-1]}, the length of x, "
            f"but received hop_length={hop_length}, n_fft={n_fft}"
        )
    if pad_mode not in ("constant", "reflect"):
        raise RankError(
            f'stft: pad_mode should be "reflect" or "constant", but received {pad_mode!r}'
        )
    if onesided and x.is_complex():
        raise RankError("stft: onesided should be False for a complex x")
    return torch.stft(
        x,
        n_fft,
        hop_length,
        win_length,
        _window(window, win_length, n_fft, x, "stft"),
        center,
        pad_mode,
        normalized,
        onesided,
        return_complex=True,
    )


@op("istft")
def istft(
    x: Tensor,
    window: Tensor | None,
    n_fft: int,
    hop_length: int,
    win_length: int,
    center: bool,
    normalized: bool,
    onesided: bool,
    length: int | None,
    return_complex: bool,
) -> Tensor:
    """The signal whose ``stft`` is ``x``."""
    if x.ndim not in (2, 3):
        raise RankError(f"istft: x should be 2-D or 3-D, but its shape is {list(x.shape)}")
    if not 0 < hop_length <= win_length:
        raise RankError(
            f"istft: hop_length should be in (0, win_length={win_length}], but received "
            f"{hop_length}"
        )
    num_frequencies = n_fft // 2 + 1 if onesided else n_fft
    if x.shape[-2] != num_frequencies:
        raise RankError(
            f"istft: x should have {num_frequencies} frequencies (axis -2), but has {x.shape[-2]}"
        )
    if onesided and return_complex:
        raise RankError("istft: onesided should be False for a complex output")
    real = x.real
    return torch.istft(
        x,
        n_fft,
        hop_length,
        win_length,
        _window(window, win_length, n_fft, real, "istft"),
        center,
        normalized,
        onesided,
        length,
        return_complex,
    )


def _window(window: Tensor | None, win_length: int, n_fft: int, like: Tensor, call: str) -> Tensor:
    if not 0 < win_length <= n_fft:
        raise RankError(
            f"{call}: win_length should be in (0, n_fft={n_fft}], but received {win_length}"
        )
    if window is None:
        return torch.ones(
            win_length,
            dtype=like.real.dtype if like.is_complex() else like.dtype,
            device=like.device,
        )
    if window.shape != (win_length,):
        raise RankError(
            f"{call}: window should have shape [{win_length}], but has {list(window.shape)}"
        )
    return window
