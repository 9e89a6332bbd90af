"""The pickles of ``paddle.save``: written as Paddle writes them, read by ``foundation.pickles``.

A Tensor inside an object becomes ``(name, array)``, and the array is NumPy's own pickle. Reading
builds plain containers, numbers and arrays; any other global is refused by name before it is
imported. ``add_safe_globals`` admits the classes of a script that saves its own.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import numpy as np

from argosy.foundation import pickles
from argosy.foundation.errors import NotSupported, UsageError
from argosy.foundation.pickles import NotPickle, RefusedGlobal
from argosy.foundation.process_state import register
from argosy.framework import static_kinds
from argosy.tensor.engine import Tensor

__all__ = [
    "NotPickle",
    "RefusedGlobal",
    "add_safe_globals",
    "array_of",
    "dump",
    "load",
    "safe_globals",
]

_admitted: dict[tuple[str, str], type] = register("safe globals", {})


def add_safe_globals(classes: Iterable[type]) -> None:
    """Let ``paddle.load`` rebuild instances of ``classes`` from now on: trust their constructors
    with any arguments.
    """
    for cls in classes:
        if not isinstance(cls, type):
            raise UsageError(f"add_safe_globals: expected classes, but received {cls!r}")
        _admitted[cls.__module__, cls.__qualname__] = cls


@contextlib.contextmanager
def safe_globals(classes: Iterable[type]) -> Iterator[None]:
    """``add_safe_globals`` for the length of a block."""
    before = dict(_admitted)
    add_safe_globals(classes)
    try:
        yield
    finally:
        _admitted.clear()
        _admitted.update(before)


class _Writer(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return tuple, ((obj.name, array_of(obj)),)
        held = static_kinds.array_of(obj)
        if held is not None:
            return self.reduced(held)
        if hasattr(obj, "_sub_layers") and hasattr(obj, "state_dict"):
            raise UsageError(
                "paddle.save: a Layer cannot be saved, and the object holds a "
                f"{type(obj).__name__}; save its state_dict()"
            )
        return NotImplemented

    def reduced(self, array: np.ndarray) -> Any:
        return array.__reduce__()


class _PlainWriter(_Writer):
    """For protocols 2 and 3, which old programs read: arrays name no module that NumPy 1 lacks, as
    NumPy 2 would.
    """

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is np.ndarray and not obj.dtype.hasobject:
            return self.reduced(obj)
        return super().reducer_override(obj)

    def reduced(self, array: np.ndarray) -> Any:
        return np.ndarray, (array.shape, array.dtype, bytearray(array.tobytes()))


def array_of(tensor: Tensor) -> np.ndarray:
    """The array that stands for a tensor in a file; bfloat16 goes as uint16, which is how it is
    known again.
    """
    if tensor.raw.dtype.is_floating_point and tensor.raw.dtype.itemsize == 1:
        raise NotSupported(
            f"paddle.save: tensor {tensor.name!r} is {tensor.dtype.name}, which a pickle of "
            "arrays cannot hold; "
            "cast it, or save it alone with use_binary_format=True"
        )
    return tensor.numpy()


def dump(obj: Any, file: IO[bytes], protocol: int) -> None:
    """Pickle ``obj``, Tensors as ``(name, array)``."""
    (_Writer if protocol >= 4 else _PlainWriter)(file, protocol).dump(obj)


def load(
    file: IO[bytes],
    source: str,
    functions: Iterable[Callable[..., Any]] = (),
    call: str = "paddle.load",
) -> Any:
    """Unpickle one object from ``file``; ``call`` and ``source`` name it in messages.

    ``functions`` may be called by the file, with any arguments.
    """
    return pickles.load(file, source, _admitted, functions, call)
