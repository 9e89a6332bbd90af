"""Discrete Fourier transforms under the names of ``paddle.fft``.

``norm`` says which direction divides by the length: "backward" the inverse one, "forward" the
other, "ortho" each by the square root.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.dtypes import to_torch
from argosy.foundation.errors import DtypeError, UsageError
from argosy.foundation.places import to_place
from argosy.ops.math import fft as ops
from argosy.ops.table import Op
from argosy.tensor.engine import apply, defaults, store
from argosy.tensor.engine import axes as read_axes

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft",
    "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_ABOUT = {
    "fft": "Transform complex or real values to complex frequencies",
    "ifft": "Transform frequencies back to complex values",
    "rfft": "Transform real values to the non-negative half of their frequencies",
    "irfft": "Transform the non-negative half of frequencies back to real values",
    "hfft": "Transform half of a Hermitian signal to real frequencies",
    "ihfft": "Transform real frequencies back to half of a Hermitian signal",
}


def _along_axis(call: str, about: str) -> Any:
    op = ops.ALONG_AXIS[call]

    def face(
        x: Any,
        n: int | None = None,
        axis: int = -1,
        norm: str = "backward",
        name: str | None = None,
        *,
        out: Any = None,
    ) -> Any:
        return store(out, apply(op, x, n, axis, norm), call)

    return _dress(face, call, f"{about}, along ``axis``, cut or padded to ``n``.")


def _over_plane(call: str, about: str) -> Any:
    op = ops.OVER_AXES[call]

    def face(
        x: Any,
        s: Any = None,
        axes: Any = (-2, -1),
        norm: str = "backward",
        name: str | None = None,
        *,
        out: Any = None,
    ) -> Any:
        if len(axes) != 2 or (s is not None and len(s) != 2):
            raise UsageError(
                f"{call}: s and axes must have two entries, but received s={s}, axes={axes}"
            )
        return store(out, _over(op, x, s, axes, norm, call), call)

    return _dress(face, call, f"{about}, over two axes, cut or padded to ``s``.")


def _over_any(call: str, about: str) -> Any:
    op = ops.OVER_AXES[call]

    def face(
        x: Any,
        s: Any = None,
        axes: Any = None,
        norm: str = "backward",
        name: str | None = None,
        *,
        out: Any = None,
    ) -> Any:
        return store(out, _over(op, x, s, axes, norm, call), call)

    return _dress(face, call, f"{about}, over ``axes`` (all by default), cut or padded to ``s``.")


def _over(op: Op, x: Any, s: Any, axes: Any, norm: str, call: str) -> Any:
    return apply(op, x, None if s is None else [int(n) for n in s], read_axes(axes, call), norm)


def _dress(face: Any, name: str, doc: str) -> Any:
    face.__name__ = face.__qualname__ = name
    face.__doc__ = doc
    return face


fft, ifft, rfft, irfft, hfft, ihfft = (_along_axis(n, about) for n, about in _ABOUT.items())
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = (
    _over_plane(f"{n}2", about) for n, about in _ABOUT.items()
)
fftn, ifftn, rfftn, irfftn, hfftn, ihfftn = (
    _over_any(f"{n}n", about) for n, about in _ABOUT.items()
)


def _frequencies(op: Op, doc: str) -> Any:
    call = op.name

    def face(
        n: int,
        d: float = 1.0,
        dtype: Any = None,
        name: str | None = None,
        *,
        out: Any = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Any:
        wanted = defaults.dtype if dtype is None else to_torch(dtype)
        if not wanted.is_floating_point:
            raise DtypeError(f"{call}: dtype must be floating, but received {dtype}")
        if n * d == 0:
            raise UsageError(f"{call}: n and d must not be 0, but received n={n}, d={d}")
        place = defaults.device if device is None else to_place(device).device
        result = store(out, apply(op, n, d, wanted, place), call)
        if requires_grad:
            result.stop_gradient = False
        return result

    return _dress(face, call, doc)


fftfreq = _frequencies(
    ops.fftfreq, "The frequencies of ``fft`` of length ``n`` with samples ``d`` apart."
)
rfftfreq = _frequencies(
    ops.rfftfreq, "The frequencies of ``rfft`` of length ``n`` with samples ``d`` apart."
)


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """Move the zero frequency to the centre of ``axes``, all by default."""
    return apply(ops.fftshift, x, read_axes(axes, "fftshift"))


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """Undo ``fftshift``."""
    return apply(ops.ifftshift, x, read_axes(axes, "ifftshift"))
