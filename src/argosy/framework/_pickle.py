"""The pickles of ``paddle.save``: written as Paddle writes them, read through an allow-list.

A Tensor inside an object becomes ``(name, array)``, and the array is NumPy's own pickle. Reading admits the globals that such a
file can hold: NumPy's constructors, plain containers and numbers. Any other global is refused by name before it is imported, so
that a checkpoint from a stranger cannot run code. ``add_safe_globals`` admits the classes of a script that saves its own.
"""

from __future__ import annotations

import collections
import contextlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import numpy as np

from argosy.foundation import dtypes
from argosy.foundation.errors import CheckpointError, NotSupported, UsageError
from argosy.tensor._tensor import Tensor

# NumPy's own name for them moved between versions
_reconstruct = np.zeros(0).__reduce__()[0]
_scalar = np.float32(0).__reduce__()[0]


def _evaluated(expression: str, names: dict[str, Any]) -> Any:
    """Stand in for ``eval``, by which Paddle's writer wraps a bare tensor of a static program: ``eval('data', {'data': a})``."""
    if expression != "data" or not isinstance(names.get("data"), np.ndarray):
        raise pickle.UnpicklingError("a call of builtins.eval that Paddle's writer never emits")
    return names["data"]


def _latin1(text: str, codec: str) -> bytes:
    """Stand in for ``codecs.encode``, by which protocol 2 spells bytes."""
    if codec != "latin1":
        raise pickle.UnpicklingError(f"a call of _codecs.encode with codec {codec!r}; only latin1 spells bytes")
    return text.encode("latin1")


_SAFE: dict[tuple[str, str], Any] = {
    ("builtins", "eval"): _evaluated,
    ("_codecs", "encode"): _latin1,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("collections", "defaultdict"): collections.defaultdict,
    ("collections", "Counter"): collections.Counter,
    ("collections", "deque"): collections.deque,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("argosy.foundation.dtypes", "DType"): dtypes.DType,
}
for _kind in (bool, bytearray, bytes, complex, dict, float, frozenset, int, list, range, set, slice, str, tuple):
    _SAFE["builtins", _kind.__name__] = _SAFE["__builtin__", _kind.__name__] = _kind  # the latter in protocol 2
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _SAFE[_module, "_reconstruct"] = _reconstruct
    _SAFE[_module, "scalar"] = _scalar

_admitted: dict[tuple[str, str], Any] = {}


def add_safe_globals(classes: Iterable[type]) -> None:
    """Let ``paddle.load`` rebuild instances of ``classes`` from now on: trust their constructors with any arguments."""
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


@contextlib.contextmanager
def safe_functions(functions: Iterable[Callable[..., Any]]) -> Iterator[None]:
    """Admit functions of argosy that rebuild values, for the length of a block."""
    added = {(function.__module__, function.__qualname__): function for function in functions}
    _admitted.update(added)
    try:
        yield
    finally:
        for key in added:
            _admitted.pop(key, None)


class _Writer(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return tuple, ((obj.name, array_of(obj)),)
        if hasattr(obj, "_sub_layers") and hasattr(obj, "state_dict"):
            raise UsageError(
                f"paddle.save: a Layer cannot be saved, and the object holds a {type(obj).__name__}; save its state_dict()"
            )
        return NotImplemented


class _PlainWriter(_Writer):
    """For protocols 2 and 3, which old programs read: arrays name no module that NumPy 1 lacks, as NumPy 2 would."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is np.ndarray and not obj.dtype.hasobject:
            return np.ndarray, (obj.shape, obj.dtype, bytearray(obj.tobytes()))
        return super().reducer_override(obj)


class _Reader(pickle.Unpickler):
    def __init__(self, file: IO[bytes], source: str) -> None:
        super().__init__(file, encoding="latin1")  # Python 2 wrote its byte strings so
        self._source = source

    def find_class(self, module: str, name: str) -> Any:
        found = _SAFE.get((module, name)) or _admitted.get((module, name))
        if found is None:
            raise RefusedGlobal(
                f"paddle.load: {self._source} asks for {module}.{name}, which a checkpoint has no need of; it was not imported.\n"
                f"  If you trust the file, import that class and call paddle.framework.add_safe_globals([{name}]) first."
            )
        return found


class RefusedGlobal(CheckpointError):
    """A file wants to import something that is not on the allow-list."""


class NotPickle(CheckpointError):
    """The bytes are not a pickle at all."""


def array_of(tensor: Tensor) -> np.ndarray:
    """The array that stands for a tensor in a file; bfloat16 goes as uint16, which is how it is known again."""
    if tensor._t.dtype.is_floating_point and tensor._t.dtype.itemsize == 1:
        raise NotSupported(
            f"paddle.save: tensor {tensor.name!r} is {tensor.dtype.name}, which a pickle of arrays cannot hold; "
            "cast it, or save it alone with use_binary_format=True"
        )
    return tensor.numpy()


def dump(obj: Any, file: IO[bytes], protocol: int) -> None:
    """Pickle ``obj``, Tensors as ``(name, array)``."""
    (_Writer if protocol >= 4 else _PlainWriter)(file, protocol).dump(obj)


def load(file: IO[bytes], source: str) -> Any:
    """Unpickle one object from ``file``; ``source`` names it in messages."""
    position = file.tell()
    first = file.read(1)
    file.seek(position)
    if not first:
        raise CheckpointError(f"paddle.load: {source} is empty; nothing was saved to it, or it was cut short")
    try:
        return _Reader(file, source).load()
    except CheckpointError:
        raise
    except EOFError as error:
        raise CheckpointError(_torn(source, error)) from error
    except pickle.UnpicklingError as error:
        if "truncated" in str(error):
            raise CheckpointError(_torn(source, error)) from error
        if first != b"\x80":
            raise NotPickle(f"paddle.load: {source} is not a pickle: {error}") from error
        raise CheckpointError(f"paddle.load: {source} is damaged: {error}") from error
    except Exception as error:  # damaged bytes may fail anywhere inside the constructors that they name
        kind = NotPickle if first != b"\x80" else CheckpointError
        raise kind(f"paddle.load: {source} is damaged: {type(error).__name__}: {error}") from error


def _torn(source: str, error: Exception) -> str:
    return f"paddle.load: {source} is cut short ({error}): its writing or its copying was interrupted. Take an earlier checkpoint."
