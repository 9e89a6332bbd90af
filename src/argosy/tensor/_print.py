"""``repr(tensor)`` as Paddle prints it, and ``paddle.set_printoptions``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


class _PrintOptions:
    precision = 8
    threshold = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


options = _PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Set how tensors are printed; what is None stays as it is."""
    for name, value in (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("sci_mode", sci_mode),
        ("linewidth", linewidth),
    ):
        if value is not None:
            setattr(options, name, value)


def _is_integral(array: np.ndarray) -> bool:
    finite = array[np.isfinite(array)]
    return bool(np.all(finite == np.trunc(finite)))


def tensor_to_string(x: Any) -> str:
    """Paddle's form: a header with shape, dtype, place and stop_gradient, then the values indented."""
    raw = x._t.detach()
    if raw.layout is not torch.strided:
        raw = raw.to_dense()
    if raw.dtype in (torch.bfloat16, torch.float16) or (raw.dtype.itemsize == 1 and raw.dtype.is_floating_point):
        raw = raw.float()
    array = raw.cpu().resolve_conj().numpy()
    kwargs: dict[str, Any] = {}
    if array.dtype.kind == "f":
        sci = options.sci_mode
        if sci:
            kwargs["formatter"] = {"float_kind": lambda v: f"{v:.{options.precision}e}"}
        elif _is_integral(array):
            kwargs["formatter"] = {"float_kind": lambda v: f"{v:.0f}." if np.isfinite(v) else str(v)}
        else:
            kwargs["formatter"] = {"float_kind": lambda v: f"{v:.{options.precision}f}" if np.isfinite(v) else str(v)}
    body = np.array2string(
        array,
        separator=", ",
        precision=options.precision,
        threshold=options.threshold,
        edgeitems=options.edgeitems,
        max_line_width=options.linewidth,
        prefix=" " * 7,
        **kwargs,
    )
    return (
        f"Tensor(shape={list(x.shape)}, dtype={x.dtype.name}, place={x.place}, stop_gradient={x.stop_gradient},\n"
        f"{' ' * 7}{body})"
    )
