"""What a pickle may name and call: functions of our own in the place of NumPy's and Python's.

Each checks the types of its arguments and accounts for what it copies. None iterates over anything
but a list, a tuple or a dict that the file itself holds, allocates by a number, or turns an object
into text.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from argosy.foundation import arrays, dtypes
from argosy.foundation._pickle_limits import Damage, Limits

Args = tuple[Any, ...]
Call = Callable[[Args, Limits], Any]

_CONTAINER_BYTES = 256
_DEQUE_BYTES = 768


class Special:
    """What is on the stack or in the memo of the machine, and never inside a value."""

    __slots__ = ()


class Function(Special):
    """A function that the file named."""

    __slots__ = ("call", "name")

    def __init__(self, name: str, call: Call) -> None:
        self.name = name
        self.call = call


class Draft(Special):
    """A value that the file has begun and that the state of a BUILD completes."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def completed(self, state: Any, limits: Limits) -> Any:
        raise NotImplementedError


class DtypeDraft(Draft):
    """``numpy.dtype('f4', False, True)``; the state has the byte order and, refused here,
    fields.
    """

    __slots__ = ("_code",)

    def __init__(self, code: str) -> None:
        super().__init__()
        self._code = code

    def completed(self, state: Any, limits: Limits) -> Any:
        if (
            type(state) is not tuple
            or len(state) != 8
            or type(state[0]) is not int
            or state[0] != 3
        ):
            raise Damage("a dtype with a state of a form that plain dtypes do not have")
        _, order, subdtype, names, fields, size, _, _ = (
            state  # the last two: alignment and flags, which follow from the code
        )
        if subdtype is not None or names is not None or fields is not None:
            raise Damage("a dtype with fields")
        dtype = arrays.dtype_of(self._code, order)
        if type(size) is not int or size not in (-1, dtype.itemsize):
            raise Damage(f"a dtype {self._code!r} with elements of another size")
        return dtype


class ArrayDraft(Draft):
    """``_reconstruct(ndarray, (0,), b'b')``; the state has shape, dtype, order and bytes."""

    __slots__ = ()

    def completed(self, state: Any, limits: Limits) -> Any:
        if (
            type(state) is tuple
            and len(state) == 5
            and type(state[0]) is int
            and state[0] in (0, 1)
        ):
            state = state[1:]
        if type(state) is not tuple or len(state) != 4 or type(state[2]) not in (bool, int):
            raise Damage("an array with a state that is not its shape, dtype, order and bytes")
        shape, dtype, is_fortran, data = state
        return _array(shape, dtype, bool(is_fortran), _bytes_of(data), limits)


def _array(shape: Any, dtype: Any, is_fortran: bool, data: Any, limits: Limits) -> Any:
    if not isinstance(dtype, np.dtype):
        raise Damage("an array whose dtype is none")
    return arrays.array_from(shape, dtype, data, is_fortran, limits.take(data))


def _bytes_of(data: Any) -> Any:
    """Python 2 wrote bytes as texts."""
    if type(data) is str:
        return data.encode("latin1")
    if type(data) not in (bytes, bytearray):
        raise Damage(f"a {type(data).__name__} where the bytes of an array belong")
    return data


# -- functions of NumPy and of the writers
# ----------------------------------------------------------------------------


def _reconstruct(args: Args, limits: Limits) -> ArrayDraft:
    if (
        len(args) != 3
        or args[0] is not np.ndarray
        or type(args[1]) is not tuple
        or len(args[1]) != 1
    ):
        raise Damage("a call of NumPy's _reconstruct that NumPy does not write")
    limits.spend(_CONTAINER_BYTES)
    return ArrayDraft()


def _scalar(args: Args, limits: Limits) -> Any:
    if len(args) != 2 or not isinstance(args[0], np.dtype):
        raise Damage("a call of NumPy's scalar that NumPy does not write")
    data = _bytes_of(args[1])
    limits.spend_copy(data)
    return arrays.scalar_from(args[0], bytes(data))


def _from_buffer(args: Args, limits: Limits) -> Any:
    """How protocol 5 writes an array."""
    if len(args) != 4 or type(args[0]) not in (bytes, bytearray) or type(args[3]) is not str:
        raise Damage("a call of NumPy's _frombuffer that NumPy does not write")
    data, dtype, shape, order = args
    return _array(shape, dtype, order == "F", data, limits)


def _evaluated(args: Args, limits: Limits) -> Any:
    """Paddle wraps a bare tensor of a static program so: ``eval('data', {'data': array})``."""
    is_known = (
        len(args) == 2 and type(args[0]) is str and args[0] == "data" and type(args[1]) is dict
    )
    if not is_known or not isinstance(args[1].get("data"), np.ndarray):
        raise Damage("a call of eval that Paddle does not write")
    return args[1]["data"]


def _encoded(args: Args, limits: Limits) -> bytes:
    """How protocol 2 writes bytes: ``_codecs.encode(text, 'latin1')``."""
    if (
        len(args) != 2
        or type(args[0]) is not str
        or type(args[1]) is not str
        or args[1] != "latin1"
    ):
        raise Damage("a call of _codecs.encode other than the one that spells bytes")
    limits.spend_copy(args[0])
    return args[0].encode("latin1")


# -- types
# --------------------------------------------------------------------------------------------------


def _refuse(name: str) -> NoReturn:
    raise Damage(f"a call of {name} with arguments that no pickle of plain values has")


def _sequence(name: str, args: Args, limits: Limits) -> Any:
    """The one list, tuple or set in the arguments, or nothing."""
    if not args:
        return ()
    if len(args) != 1 or type(args[0]) not in (list, tuple, set, frozenset):
        _refuse(name)
    limits.spend(_CONTAINER_BYTES + 64 * len(args[0]))
    return args[0]


def _members(name: str, args: Args, limits: Limits) -> set[Any]:
    members: set[Any] = set()
    limits.spend(_CONTAINER_BYTES)
    limits.add_members(members, tuple(_sequence(name, args, limits)))
    return members


def _pairs(name: str, args: Args, limits: Limits) -> tuple[list[Any], list[Any]]:
    """Keys and values of the one dict, or list of pairs, in the arguments."""
    limits.spend(_CONTAINER_BYTES)
    if not args:
        return [], []
    (given,) = args if len(args) == 1 else _refuse(name)
    if type(given) in (dict, OrderedDict, defaultdict, Counter):
        limits.spend(128 * len(given))
        return list(given), list(given.values())
    if type(given) is not list:
        _refuse(name)
    limits.spend(128 * len(given))
    if any(type(pair) not in (list, tuple) or len(pair) != 2 for pair in given):
        _refuse(name)
    return [key for key, _ in given], [value for _, value in given]


def _mapping(kind: type) -> Call:
    def made(args: Args, limits: Limits) -> Any:
        out = kind()
        limits.add_pairs(out, *_pairs(kind.__name__, args, limits))
        return out

    return made


def _default_dict(args: Args, limits: Limits) -> Any:
    if args and not (args[0] is None or (isinstance(args[0], type) and args[0] in _FACTORIES)):
        _refuse("defaultdict")
    out: Any = defaultdict(args[0] if args else None)
    limits.add_pairs(out, *_pairs("defaultdict", args[1:], limits))
    return out


def _deque(args: Args, limits: Limits) -> Any:
    items, longest = _sequence("deque", args[:1], limits), args[1] if len(args) == 2 else None
    is_length = longest is None or (type(longest) is int and 0 <= longest < 2**62)
    if len(args) > 2 or not is_length or isinstance(items, (set, frozenset)):
        _refuse("deque")
    limits.spend(_DEQUE_BYTES)
    out: Any = deque(items, longest)
    limits.chain(out, items)
    return out


def _bytes(args: Args, limits: Limits) -> bytes:
    if args and (len(args) != 1 or type(args[0]) is not bytes):
        _refuse("bytes")
    return args[0] if args else b""


def _byte_array(args: Args, limits: Limits) -> bytearray:
    if (
        len(args) == 2
        and type(args[0]) is str
        and type(args[1]) is str
        and args[1] in ("latin-1", "latin1")
    ):
        args = (args[0].encode("latin1"),)
    if args and (len(args) != 1 or type(args[0]) not in (bytes, bytearray)):
        _refuse("bytearray")
    limits.spend_copy(args[0] if args else b"")
    return bytearray(*args)


def _ndarray(args: Args, limits: Limits) -> Any:
    """``ndarray(shape, dtype, bytearray)``, as ``paddle.save`` writes arrays in protocols 2 and
    3.
    """
    if len(args) != 3 or type(args[2]) is not bytearray:
        _refuse("numpy.ndarray")
    return _array(args[0], args[1], False, args[2], limits)


def _dtype(args: Args, limits: Limits) -> DtypeDraft:
    if len(args) != 3 or any(type(arg) not in _INTEGERS for arg in args[1:]):
        _refuse("numpy.dtype")
    arrays.dtype_of(args[0])
    limits.spend(_CONTAINER_BYTES)
    return DtypeDraft(args[0])


def _paddle_dtype(args: Args, limits: Limits) -> Any:
    found = _DTYPE_BY_NAME.get(args[0]) if len(args) == 1 and type(args[0]) is str else None
    return _refuse("paddle.dtype") if found is None else found


def _value(kind: type, accepted: tuple[type, ...], counts: range) -> Call:
    """A constructor that takes so many arguments, all of the accepted types."""

    def made(args: Args, limits: Limits) -> Any:
        if len(args) not in counts or any(type(arg) not in accepted for arg in args):
            _refuse(kind.__name__)
        limits.spend(_CONTAINER_BYTES)
        return kind(*args)

    return made


_DTYPE_BY_NAME = {dtype.name: dtype for dtype in dtypes.ALL}
_FACTORIES = {
    list,
    dict,
    set,
    tuple,
    int,
    float,
    bool,
    complex,
    str,
    bytes,
    bytearray,
    OrderedDict,
    Counter,
}
_INTEGERS = (int, bool)
_NUMBERS = (int, bool, float)

CALLS: dict[type, Call] = {
    list: lambda args, limits: list(_sequence("list", args, limits)),
    tuple: lambda args, limits: tuple(_sequence("tuple", args, limits)),
    set: lambda args, limits: _members("set", args, limits),
    frozenset: lambda args, limits: frozenset(_members("frozenset", args, limits)),
    dict: _mapping(dict),
    OrderedDict: _mapping(OrderedDict),
    Counter: _mapping(Counter),
    defaultdict: _default_dict,
    deque: _deque,
    bytes: _bytes,
    bytearray: _byte_array,
    str: _value(str, (str,), range(2)),
    bool: _value(bool, _NUMBERS, range(2)),
    int: _value(int, _NUMBERS, range(2)),
    float: _value(float, _NUMBERS, range(2)),
    complex: _value(complex, _NUMBERS, range(3)),
    range: _value(range, _INTEGERS, range(1, 4)),
    slice: _value(slice, (*_INTEGERS, type(None)), range(1, 4)),
    np.ndarray: _ndarray,
    np.dtype: _dtype,
    dtypes.DType: _paddle_dtype,
}
"""What a call of each type does."""

NAMES: dict[tuple[str, str], type | Function] = {
    ("builtins", "eval"): Function("eval", _evaluated),
    ("_codecs", "encode"): Function("_codecs.encode", _encoded),
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("argosy.foundation.dtypes", "DType"): dtypes.DType,
    # Python 2's names, which protocol 2 writes
    ("__builtin__", "xrange"): range,
    ("__builtin__", "long"): int,
    ("__builtin__", "unicode"): str,
}
for _kind in CALLS:
    if _kind.__module__ == "collections":
        NAMES["collections", _kind.__name__] = _kind
    elif _kind.__module__ == "builtins":
        NAMES["builtins", _kind.__name__] = NAMES["__builtin__", _kind.__name__] = _kind
for _core in ("numpy.core", "numpy._core"):  # NumPy's own name for it moved between versions
    NAMES[f"{_core}.multiarray", "_reconstruct"] = Function("_reconstruct", _reconstruct)
    NAMES[f"{_core}.multiarray", "scalar"] = Function("scalar", _scalar)
    NAMES[f"{_core}.numeric", "_frombuffer"] = Function("_frombuffer", _from_buffer)
