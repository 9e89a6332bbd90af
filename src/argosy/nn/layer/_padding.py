"""Padding layers: three numbers of spatial axes, each in general form and in five fixed modes."""

from __future__ import annotations

from typing import Any

from argosy.nn import functional as F
from argosy.nn.functional.window import CHANNEL_FIRST
from argosy.nn.layer.layers import Layer
from argosy.tensor.engine import Tensor


class _Pad(Layer):
    """Pads the spatial axes by one amount, or by (before, after) of each, last axis first."""

    _dims: int

    def __init__(
        self, padding: Any, mode: str, value: float, data_format: str, name: str | None
    ) -> None:
        super().__init__()
        is_listed = isinstance(padding, (Tensor, list, tuple))
        self.padding = padding if is_listed else [padding] * (2 * self._dims)
        self.value = value
        self._mode = mode
        self._data_format = data_format
        self._name = name

    def forward(self, x: Any) -> Any:
        return F.pad(x, self.padding, self._mode, self.value, self._data_format)

    def extra_repr(self) -> str:
        name = f", name={self._name}" if self._name else ""
        return (
            f"padding={self.padding}, mode={self._mode}, value={self.value}, "
            f"data_format={self._data_format}{name}"
        )


class Pad1D(_Pad):
    """Pad [N, C, L] by [left, right]."""

    _dims = 1

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format, name)


class Pad2D(_Pad):
    """Pad images by [left, right, top, bottom].

    Example:
        >>> import paddle
        >>> paddle.nn.Pad2D([1, 0, 1, 2], mode="reflect")(paddle.ones([1, 1, 3, 3])).shape
        [1, 1, 6, 4]
    """

    _dims = 2

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format, name)


class Pad3D(_Pad):
    """Pad volumes by [left, right, top, bottom, front, back]."""

    _dims = 3

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format, name)


def _fixed(prefix: str, base: type[_Pad], mode: str, what: str) -> type[_Pad]:
    """The subclass of ``base`` that always pads in ``mode``."""

    def __init__(
        self: Any,
        padding: Any,
        data_format: str = CHANNEL_FIRST[base._dims],
        name: str | None = None,
    ) -> None:
        _Pad.__init__(self, padding, mode, 0.0, data_format, name)

    return _subclass(prefix, base, __init__, f"Pad {base._dims} spatial axes with {what}.")


def _constant(base: type[_Pad]) -> type[_Pad]:
    def __init__(
        self: Any,
        padding: Any,
        value: float,
        data_format: str = CHANNEL_FIRST[base._dims],
        name: str | None = None,
    ) -> None:
        _Pad.__init__(self, padding, "constant", value, data_format, name)

    return _subclass("Constant", base, __init__, f"Pad {base._dims} spatial axes with one value.")


def _subclass(prefix: str, base: type[_Pad], init: Any, doc: str) -> type[_Pad]:
    init.__qualname__ = f"{prefix}{base.__name__}.__init__"
    return type(
        f"{prefix}{base.__name__}",
        (base,),
        {"__init__": init, "__doc__": doc, "__module__": __name__},
    )


ConstantPad1D, ConstantPad2D, ConstantPad3D = (_constant(base) for base in (Pad1D, Pad2D, Pad3D))
ZeroPad1D, ZeroPad2D, ZeroPad3D = (
    _fixed("Zero", base, "constant", "zeros") for base in (Pad1D, Pad2D, Pad3D)
)
ReplicationPad1D, ReplicationPad2D, ReplicationPad3D = (
    _fixed("Replication", base, "replicate", "the values at the edge")
    for base in (Pad1D, Pad2D, Pad3D)
)
ReflectionPad1D, ReflectionPad2D, ReflectionPad3D = (
    _fixed("Reflection", base, "reflect", "a mirror image without its edge")
    for base in (Pad1D, Pad2D, Pad3D)
)
CircularPad1D, CircularPad2D, CircularPad3D = (
    _fixed("Circular", base, "circular", "the values of the other end")
    for base in (Pad1D, Pad2D, Pad3D)
)
