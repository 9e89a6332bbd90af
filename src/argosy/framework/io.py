"""``paddle.save`` and ``paddle.load``: files that Paddle reads and files that Paddle wrote.

A flat dict of Tensors (``state_dict()``) is a pickle of arrays with one more entry,
``StructuredToParameterName@@``, that keeps the tensors' names. Anything else is a pickle in which
each Tensor is ``(name, array)``. A file appears under its name complete or not at all.
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import IO, Any

import numpy as np

from argosy.foundation import arrays, files
from argosy.foundation.errors import CheckpointError, DtypeError, NotSupported, UsageError, nearest
from argosy.foundation.progress import counted, progress
from argosy.framework import pickles, static_kinds, tensor_file
from argosy.framework.mode import in_dynamic_mode
from argosy.tensor.engine import Tensor, wrap

__all__ = ["save", "load"]

NAME_TABLE = "StructuredToParameterName@@"
SLICES = "UnpackBigParamInfor@@"
# members of sets are plain: they hold no arrays
_WALKED = frozenset({dict, OrderedDict, list, tuple})
_HOLDERS = _WALKED | {np.ndarray}
# the longest array that Paddle puts in one piece into a pickle of protocol 2 or 3
_SLICE_BYTES = 2**30 - 1

_SAVE_OPTIONS = ("use_binary_format", "pickle_protocol", "safetensors")
_LOAD_OPTIONS = (
    "model_filename",
    "params_filename",
    "keep_name_table",
    "return_numpy",
    "safetensors",
)


def save(obj: Any, path: Any, protocol: int = 4, **configs: Any) -> None:
    """Save a state dict, a Tensor or a nest of them with plain values to a file or a ``BytesIO``.

    The file is written beside its final name, flushed to disk, then renamed: a crash leaves the
    previous one intact. ``use_binary_format=True`` writes a single Tensor in the format of static
    programs' variables.

    Example:
        >>> from io import BytesIO
        >>> buffer = BytesIO()
        >>> paddle.save({"epoch": 3, "w": paddle.to_tensor([1.0, 2.0])}, buffer)
        >>> _ = buffer.seek(0)
        >>> paddle.load(buffer)["w"].tolist()
        [1.0, 2.0]
    """
    target = _target(path)
    _check_options("save", configs, _SAVE_OPTIONS)
    if configs.get("safetensors"):
        raise NotSupported(
            "paddle.save: safetensors=True is not supported; save without it, or use the "
            "safetensors package"
        )
    is_binary = configs.get("use_binary_format", False)
    if not isinstance(is_binary, bool):
        raise DtypeError(
            "paddle.save: use_binary_format must be a bool, but received "
            f"{type(is_binary).__name__}"
        )
    if configs.get("pickle_protocol") is not None:
        warnings.warn(
            "paddle.save: 'pickle_protocol' is deprecated, use 'protocol'",
            DeprecationWarning,
            stacklevel=2,
        )
        protocol = configs["pickle_protocol"]
    if not isinstance(protocol, int) or not 2 <= protocol <= 4:
        raise UsageError(f"paddle.save: protocol must be 2, 3 or 4, but received {protocol!r}")

    if is_binary or static_kinds.is_program(obj):
        with _writing(target, getattr(obj, "nbytes", 0)) as file:
            _write_binary(obj, file)
        return
    saved = _state_arrays(obj, protocol) if _is_state_dict(obj) else obj
    size = sum(getattr(value, "nbytes", 0) for value in _members(saved))
    with _writing(target, size) as file:
        pickles.dump(saved, file, protocol)


def load(path: Any, **configs: Any) -> Any:
    """Load what ``paddle.save`` wrote, here or in Paddle: Tensors come back with the names they
    had.

    ``return_numpy=True`` gives arrays instead; ``keep_name_table=True`` keeps the table of names of
    a state dict. Classes that are not plain containers, numbers or arrays are refused (see
    ``paddle.framework.add_safe_globals``). A folder of variable files, as Paddle 1.x saved them,
    loads as a dict of arrays.
    """
    _check_options("load", configs, _LOAD_OPTIONS)
    if configs.get("safetensors"):
        raise NotSupported(
            "paddle.load: safetensors=True is not supported; read the file with the safetensors "
            "package"
        )
    wants_arrays = bool(configs.get("return_numpy", False))
    if isinstance(path, BytesIO):
        position = path.tell()
        try:
            return _load_file(path, "the BytesIO", configs, wants_arrays)
        except BaseException:
            path.seek(position)
            raise
    if not isinstance(path, (str, os.PathLike)):
        raise DtypeError(
            f"paddle.load: expected a path or a BytesIO, but received {type(path).__name__}"
        )
    name = os.fspath(path)
    if os.path.isfile(name):
        with (
            open(name, "rb") as file,
            progress(f"loading {name}", os.path.getsize(name)) as told,
        ):
            return _load_file(counted(file, told), repr(name), configs, wants_arrays)
    if os.path.isdir(name):
        return _load_folder(name)
    raise CheckpointError(_missing(name))


def _legacy_save(obj: dict[Any, Any], model_path: Any, protocol: int = 2) -> None:
    """``save`` of a state dict in the pickles that old versions read."""
    if not isinstance(obj, dict):
        raise UsageError(f"_legacy_save: expected a dict, but received {type(obj).__name__}")
    save(obj, model_path, protocol)


def _legacy_load(path: Any, **configs: Any) -> Any:
    """``load`` that gives arrays."""
    return load(path, **{**configs, "return_numpy": True})


# -- saving
# --------------------------------------------------------------------------------------------------


def _target(path: Any) -> Any:
    if isinstance(path, BytesIO):
        return path
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(
            f"paddle.save: expected a path or a BytesIO, but received {type(path).__name__}"
        )
    name = os.fspath(path)
    if os.path.basename(name) == "" or os.path.isdir(name):
        raise UsageError(
            "paddle.save: the path must be format of dirname/filename, but received the folder "
            f"{name!r}"
        )
    return os.path.realpath(name)


def _write_binary(obj: Any, file: IO[bytes]) -> None:
    if isinstance(obj, Tensor):
        tensor_file.write(obj.raw, file)
    elif not static_kinds.write(obj, file):
        raise NotSupported(
            "paddle.save: use_binary_format=True saves one Tensor, but received "
            f"{type(obj).__name__}"
        )


def _is_state_dict(obj: Any) -> bool:
    """A dict whose values are Tensors, or dicts that hold none (such as an LR scheduler's
    state).
    """
    if not isinstance(obj, dict):
        return False
    return all(
        isinstance(v, Tensor) or (isinstance(v, dict) and not _holds_tensor(v))
        for v in obj.values()
    )


def _holds_tensor(obj: Any) -> bool:
    return _contains(obj, lambda value: isinstance(value, Tensor), _members)


def _members(obj: Any) -> Iterable[Any]:
    if isinstance(obj, dict):
        return obj.values()
    return obj if isinstance(obj, (list, tuple)) else ()


def _state_arrays(state: dict[Any, Any], protocol: int) -> dict[Any, Any]:
    """The plain dict that a state dict is pickled as."""
    if not state:
        warnings.warn("paddle.save: the state dict is empty", stacklevel=3)
    arrays = {key: pickles.array_of(v) if isinstance(v, Tensor) else v for key, v in state.items()}
    arrays[NAME_TABLE] = {key: v.name for key, v in state.items() if isinstance(v, Tensor)}
    return arrays if protocol >= 4 else _slice_big(arrays, _SLICE_BYTES)


def _slice_big(arrays: dict[Any, Any], limit_bytes: int) -> dict[Any, Any]:
    """Cut arrays longer than the limit into flat pieces ``key@@.0``, ``key@@.1``, … and note how to
    join them.
    """
    out: dict[Any, Any] = {}
    pieces: dict[Any, Any] = {}
    parts: dict[Any, Any] = {}
    for key, value in arrays.items():
        per_slice = limit_bytes // value.itemsize if isinstance(value, np.ndarray) else 0
        if not isinstance(value, np.ndarray) or value.size <= per_slice:
            out[key] = value
            continue
        flat = value.reshape(-1)
        names = [f"{key}@@.{i}" for i in range(math.ceil(value.size / per_slice))]
        parts.update(
            {name: flat[i * per_slice : (i + 1) * per_slice] for i, name in enumerate(names)}
        )
        pieces[key] = {"OriginShape": value.shape, "slices": names}
    if pieces:
        out.update(parts)
        out[SLICES] = pieces
    return out


def _open_file_buffer(path_or_buffer: Any, mode: str) -> Any:
    """A context with a file opened for ``mode``, or with the BytesIO itself."""
    if "r" not in mode and "w" not in mode:
        raise UsageError(f"_open_file_buffer: mode must have 'r' or 'w', but received {mode!r}")
    if isinstance(path_or_buffer, BytesIO):
        return contextlib.nullcontext(path_or_buffer)
    return open(path_or_buffer, mode)


@contextlib.contextmanager
def _writing(target: Any, size: int = 0) -> Iterator[IO[bytes]]:
    """A file that takes the name ``target`` when the block ends well, and vanishes when it does
    not. About ``size`` bytes are written.
    """
    if isinstance(target, BytesIO):
        yield target
        return
    with files.replacing(target) as file, progress(f"saving {target}", size) as told:
        yield counted(file, told)


# -- loading
# --------------------------------------------------------------------------------------------------


def _load_file(file: IO[bytes], source: str, configs: dict[str, Any], wants_arrays: bool) -> Any:
    start = file.tell()
    try:
        loaded = pickles.load(file, source)
    except pickles.NotPickle:
        file.seek(start)
        return _load_binary(file, start, f"paddle.load: {source}", wants_arrays)
    if isinstance(loaded, dict) and SLICES in loaded:
        _join_slices(loaded, source)
    if isinstance(loaded, dict) and NAME_TABLE in loaded:
        return _state_tensors(loaded, bool(configs.get("keep_name_table")), wants_arrays, source)
    if _contains(loaded, _is_named_array, _parts):
        return _replace(
            loaded,
            _is_named_array,
            lambda pair: pair[1] if wants_arrays else _tensor(pair[1], pair[0]),
        )
    if wants_arrays:
        return loaded
    return _replace(loaded, _is_array, _tensor)


def _load_binary(file: IO[bytes], start: int, source: str, wants_arrays: bool) -> Any:
    """One tensor; if there is none, a value of a program."""
    kinds = static_kinds.installed()
    try:
        raw, lod = tensor_file.read_with_lod(file, source)
    except CheckpointError as error:
        if kinds is None:
            raise
        file.seek(start)
        try:
            return kinds.read(file, source)
        except CheckpointError:
            raise error from None
    if wants_arrays:
        return wrap(raw).numpy()
    return wrap(raw) if kinds is None or in_dynamic_mode() else kinds.holder(raw, lod)


def _join_slices(loaded: dict[Any, Any], source: str) -> None:
    """Undo ``_slice_big``."""
    table = loaded.pop(SLICES)
    try:
        for key, piece in table.items():
            loaded[key] = _joined(
                [loaded.pop(name) for name in piece["slices"]], piece["OriginShape"]
            )
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise CheckpointError(
            f"paddle.load: {source} is damaged in its table {SLICES!r}: {reason}"
        ) from error


def _joined(pieces: list[Any], shape: Any) -> np.ndarray:
    is_flat = all(isinstance(piece, np.ndarray) and piece.ndim == 1 for piece in pieces)
    if not is_flat or len({piece.dtype for piece in pieces}) != 1:
        raise ValueError("the pieces of an array are not flat arrays of one dtype")
    flat: np.ndarray = np.concatenate(pieces)
    if arrays.bytes_of(shape, flat.itemsize) != flat.nbytes:
        raise ValueError(f"{flat.size} elements are not those of the array's shape")
    return flat.reshape(shape)


def _state_tensors(
    loaded: dict[Any, Any], keep_name_table: bool, wants_arrays: bool, source: str
) -> dict[Any, Any]:
    names = loaded[NAME_TABLE] if keep_name_table else loaded.pop(NAME_TABLE)
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise CheckpointError(
            f"paddle.load: {source} is damaged: {NAME_TABLE!r} is no table of names"
        )
    if not wants_arrays:
        for key, name in names.items():
            if key in loaded and _is_array(loaded[key]):
                loaded[key] = _tensor(loaded[key], name)
    return loaded


def _tensor(array: np.ndarray, name: str | None = None) -> Any:
    """A Tensor; where programs are recorded, what a scope holds."""
    if array.dtype == np.clongdouble:
        raise CheckpointError(
            f"paddle.load: an array of dtype {array.dtype}, which no Tensor has; pass "
            "return_numpy=True"
        )
    kinds = static_kinds.installed()
    if kinds is not None and not in_dynamic_mode():
        return kinds.holder(Tensor(array).raw, [])
    tensor = Tensor(array)
    if name is not None:
        tensor.name = name
    return tensor


def _is_array(value: Any) -> bool:
    """An array of numbers, which becomes a Tensor."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "biufc"


def _is_named_array(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and _is_array(value[1])
    )


def _contains(
    value: Any, found: Callable[[Any], bool], parts: Callable[[Any], Iterable[Any]]
) -> bool:
    """Whether ``found`` accepts anything in a nest, in which a container may occur many times, or
    in itself.
    """
    seen = {id(value)}
    todo = [value]
    while todo:
        value = todo.pop()
        if found(value):
            return True
        for part in parts(value):
            if id(part) not in seen:
                seen.add(id(part))
                todo.append(part)
    return False


def _parts(value: Any) -> list[Any]:
    """The members of a plain container that can be or hold arrays."""
    kind = type(value)
    if kind not in _WALKED:
        return []
    items = value.values() if kind in (dict, OrderedDict) else value
    return (
        [v for v in items if type(v) in _HOLDERS]
        if not _HOLDERS.isdisjoint(map(type, items))
        else []
    )


def _replace(
    value: Any,
    found: Callable[[Any], bool],
    convert: Callable[[Any], Any],
    done: dict[int, Any] | None = None,
) -> Any:
    """Convert every value that ``found`` accepts, inside plain containers too; dicts and lists are
    changed in place.

    A container that occurs several times is converted once, and remains one.
    """
    done = {} if done is None else done
    if found(value):
        return convert(value)
    kind = type(value)
    if kind not in _WALKED or not _parts(value):
        return value
    if id(value) in done:
        return done[id(value)][1]
    result = value
    if kind in (dict, OrderedDict):
        for key in value:
            value[key] = _replace(value[key], found, convert, done)
    else:
        items = [_replace(v, found, convert, done) for v in value]
        if kind is list:
            value[:] = items
        else:
            result = tuple(items)
    done[id(value)] = value, result  # the first keeps the id from another
    return result


def _load_folder(folder: str) -> dict[str, np.ndarray]:
    """Each file of the folder is one variable, named by its path inside it."""
    arrays = {}
    paths = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]
    with progress(f"loading {folder}", len(paths), "variables") as told:
        for path in paths:
            with open(path, "rb") as file:
                raw = tensor_file.read(file, f"paddle.load: {path!r}")
            arrays[os.path.relpath(path, folder).replace(os.sep, "/")] = wrap(raw).numpy()
            told(1)
    return arrays


def _missing(name: str) -> str:
    for suffix in (".pdparams", ".pdopt"):
        if os.path.isfile(name + suffix):
            return (
                f"paddle.load: there is no file {name!r}; give the full file name, such as "
                f"{name + suffix!r}"
            )
    if os.path.isfile(name + ".pdmodel") or os.path.isfile(name + ".json"):
        return (
            f"paddle.load: {name!r} is the prefix of an inference model; paddle.load reads what "
            "paddle.save wrote"
        )
    folder = os.path.dirname(name) or "."
    near = (
        nearest(os.path.basename(name), os.listdir(folder))
        if os.path.isdir(folder)
        else f" There is no folder {folder!r}."
    )
    return f"paddle.load: there is no file {name!r}.{near}"


def _check_options(call: str, configs: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in configs:
        if key not in known:
            raise UsageError(
                f"paddle.{call}: there is no option {key!r}.{nearest(key, known)} Known: "
                f"{', '.join(known)}"
            )
    for key in ("model_filename", "params_filename"):
        if configs.get(key) is not None:
            raise NotSupported(
                f"paddle.{call}: {key} names a part of an inference model, which paddle.load "
                "does not read"
            )
