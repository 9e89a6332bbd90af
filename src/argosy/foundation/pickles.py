"""Reads pickles of plain values, from a file that nobody vouches for.

A pickle is a program for a small machine with a stack and a memo. This is such a machine, whose
opcodes build plain containers, numbers, texts and arrays, and instances of classes that the caller
admits. What else a file names is refused before it is imported. A file can change no class,
function or object of the process, cannot take more memory or time than a multiple of its size, and
no bytes at all raise anything but CheckpointError.
"""

from __future__ import annotations

import enum
import io
import re
import struct
import types
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any

import numpy as np

from argosy.foundation._pickle_calls import CALLS, NAMES, Draft, Function, Special
from argosy.foundation._pickle_limits import Damage, Limits
from argosy.foundation.arrays import BadArray
from argosy.foundation.errors import CheckpointError

Name = tuple[str, str]

_WINDOW_BYTES = 2**18
_MAX_LONG_BYTES = 1024  # Python prints no integer that is much longer
_NUMBER_TEXT = re.compile(rb"[+-]?\d{1,2400}")
_FLOAT_TEXT = re.compile(rb"[+-]?(\d{1,400}\.?\d{0,400}([eE][+-]?\d{1,5})?|inf|nan)")
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\", b"'": b"'", b'"': b'"'}


class RefusedGlobal(CheckpointError):
    """A file wants to import something that is not on the allow-list."""


class NotPickle(CheckpointError):
    """The bytes are not a pickle at all."""


def load(
    file: IO[bytes],
    source: str,
    classes: Mapping[Name, type] | None = None,
    functions: Iterable[Callable[..., Any]] = (),
    call: str = "paddle.load",
) -> Any:
    """Read one object from ``file``, which must be seekable, and leave it behind the object.

    ``classes`` are those whose instances may be rebuilt, ``functions`` those that may be called,
    with any arguments. ``call`` and ``source`` name the reader and the file in messages.
    """
    where = f"{call}: {source}"
    window = _Window(file)
    first = window.peek()
    if first is None:
        raise CheckpointError(f"{where} is empty; nothing was saved to it, or it was cut short")
    kind = CheckpointError if first == _PROTO else NotPickle
    try:
        value = _Machine(window, classes or {}, functions).run()
    except _Unknown as error:
        raise RefusedGlobal(
            f"{where} asks for {error}, which a checkpoint has no need of; it was not imported.\n"
            "  If you trust the file, import that class and call "
            f"paddle.framework.add_safe_globals([{error.name}]) first."
        ) from None
    except _Torn as error:
        raise CheckpointError(
            f"{where} is cut short ({error}): its writing or its copying was interrupted. Take "
            "an earlier checkpoint."
        ) from None
    except (Damage, BadArray) as error:
        raise kind(f"{where} is damaged or holds what a checkpoint cannot: {error}") from None
    # the machine runs out of stack or memory, or the class of an instance objects
    except Exception as error:
        raise kind(f"{where} is damaged: {type(error).__name__}: {error}") from error
    window.leave()
    return value


class _Torn(Exception):
    """The file ends inside of the pickle."""


class _Unknown(Exception):
    def __init__(self, module: str, name: str) -> None:
        self.name = _shown(name)
        super().__init__(f"{_shown(module)}.{self.name}")


def _shown(name: str) -> str:
    return name if name.replace(".", "").isidentifier() and len(name) < 100 else repr(name[:100])


class _Window:
    """The bytes of a file from where it stands; no memory is taken for any that it does not
    have.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._base = file.tell()  # of the first byte of data
        self._end = file.seek(0, io.SEEK_END)
        file.seek(self._base)
        self.data = b""
        self.at = 0
        self.size = self._end - self._base

    def peek(self) -> int | None:
        if self.at == len(self.data) and not self._fill(1):
            return None
        return self.data[self.at]

    def byte(self) -> int:
        at = self.at
        if at >= len(self.data):
            self.need(1)
            at = 0
        self.at = at + 1
        return self.data[at]

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        at = self.at
        end = at + size
        if end > len(self.data):
            if size >= _WINDOW_BYTES:
                return self._straight(size)
            self.need(size)
            at, end = 0, size
        self.at = end
        return self.data[at:end]

    def line(self) -> bytes:
        """The bytes up to the next end of line."""
        searched = 0
        while True:
            end = self.data.find(b"\n", self.at + searched)
            if end >= 0:
                found = self.data[self.at : end]
                self.at = end + 1
                return found
            searched = len(self.data) - self.at
            if not self._fill(2 * searched + 1):
                raise _Torn("a line without an end")

    def check(self, size: int) -> None:
        """_Torn unless the file has ``size`` more bytes."""
        left = self._end - self._base - self.at
        if size > left:
            raise _Torn(f"{size} bytes were expected where {left} are left")

    def leave(self) -> None:
        """Put the file behind what was read."""
        self._file.seek(self._base + self.at)

    def need(self, size: int) -> None:
        """Have ``size`` bytes in ``data``, from its beginning."""
        self.check(size)
        self._fill(size)
        if len(self.data) < size:
            raise _Torn("it shrank while it was read")

    def _fill(self, size: int) -> bool:
        """Have ``size`` bytes in ``data`` from its beginning if there are; False if there are no
        more.
        """
        self._base += self.at
        more = self._file.read(max(size - (len(self.data) - self.at), _WINDOW_BYTES))
        self.data = self.data[self.at :] + more
        self.at = 0
        return bool(more)

    def _straight(self, size: int) -> bytes:
        """Many bytes, without a copy."""
        self.check(size)
        start = self._base + self.at
        self._file.seek(start)
        block = self._file.read(size)
        self._base, self.data, self.at = start + size, b"", 0
        if len(block) != size:
            raise _Torn("it shrank while it was read")
        return block


class _Machine:
    """Runs the opcodes of one pickle.

    A ``Special`` (a function that was named, an array without its bytes) is only ever on a stack or
    in the memo: ``_specials`` counts those on the stacks, and while there are any, whatever is put
    into a container is looked at.
    """

    def __init__(
        self, window: _Window, classes: Mapping[Name, type], functions: Iterable[Callable[..., Any]]
    ) -> None:
        self.window = window
        self.limits = Limits(window.size, classes.values())
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []  # the stacks below each mark
        self.memo: dict[int, Any] = {}
        self._specials = 0
        self._classes = classes
        self._admitted = frozenset(classes.values())
        self._functions = {(f.__module__, f.__qualname__): _function(f) for f in functions}
        self._made: dict[int, Any] = {}  # instances of admitted classes, by id

    def run(self) -> Any:
        """The object that the pickle is of."""
        window, handlers = self.window, _HANDLERS
        while True:
            at = window.at
            if at >= len(window.data):
                window.need(1)
                at = 0
            opcode = window.data[at]
            window.at = at + 1
            if opcode == _STOP:
                break
            handlers[opcode](self)
        value = self.popped()
        self.limits.check_nest(value)
        return value

    # -- the stack

    def popped(self) -> Any:
        """What is on top, which must be a value."""
        value = self.stack.pop()
        if self._specials and isinstance(value, Special):
            raise Damage("something unfinished in the place of a value")
        return value

    def popped_to_mark(self) -> list[Any]:
        """The values above the last mark."""
        items = self.stack
        self.stack = self.outer.pop()
        if self._specials and any(isinstance(value, Special) for value in items):
            raise Damage("something unfinished in the place of a value")
        return items

    def push(self, value: Any) -> None:
        if isinstance(value, Special):
            self._specials += 1
        self.stack.append(value)

    def drop(self) -> None:
        if not self.stack:
            self.stack = self.outer.pop()
        elif isinstance(self.stack.pop(), Special):
            self._specials -= 1

    def drop_to_mark(self) -> None:
        self._specials -= sum(isinstance(value, Special) for value in self.stack)
        self.stack = self.outer.pop()

    def remember(self, place: int) -> None:
        self.memo[place] = self.stack[-1]

    def recall(self, place: int) -> None:
        value = self.memo[place]
        if isinstance(value, Special):
            if isinstance(value, Draft) and value.value is not None:
                value = value.value
            else:
                self._specials += 1
        self.stack.append(value)

    # -- names, calls and states

    def name(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise Damage("a name that is no text")
        key = module, name
        found = NAMES.get(key) or self._functions.get(key) or self._classes.get(key)
        if found is None:
            raise _Unknown(module, name)
        self.push(found)

    def reduce(self) -> None:
        args = self.popped()
        function = self.stack.pop()
        if type(args) is not tuple:
            raise Damage("a call whose arguments are no tuple")
        if isinstance(function, Function):
            self._specials -= 1
            self.push(function.call(args, self.limits))
        elif isinstance(function, type) and function in CALLS:
            self.push(CALLS[function](args, self.limits))
        elif isinstance(function, type) and function in self._admitted:
            self._keep(function(*args), function)
        else:
            raise Damage(f"a call of a {type(function).__name__}")

    def new(self, cls: Any, args: Any, options: Any) -> None:
        if not isinstance(cls, type) or cls not in self._admitted:
            raise Damage("a new object of something that is no admitted class")
        if (
            type(args) is not tuple
            or type(options) is not dict
            or not all(type(key) is str for key in options)
        ):
            raise Damage("a new object whose arguments are none")
        self._keep(cls.__new__(cls, *args, **options), cls)

    def _keep(self, instance: Any, cls: type) -> None:
        # not a class, and not a member of an enum, which exists once in the process
        if isinstance(instance, cls) and not isinstance(instance, (type, enum.Enum)):
            self._made[id(instance)] = instance
        self.stack.append(instance)

    def build(self) -> None:
        state = self.popped()
        target = self.stack[-1]
        if isinstance(target, Draft) and target.value is None:
            target.value = self.stack[-1] = target.completed(state, self.limits)
            self._specials -= 1
        elif id(target) in self._made:
            _set_state(target, state)
        else:
            raise Damage(f"a state for a {type(target).__name__}, which has none")

    # -- containers

    def append(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is list:
            target.extend(items)
        elif type(target) is deque:
            self.limits.chain(target, items)
            target.extend(items)
        elif id(target) in self._made:
            for item in items:
                target.append(item)
        else:
            raise Damage(f"an append to a {type(target).__name__}")

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if len(items) % 2:
            raise Damage("a key without a value")
        keys, values = items[::2], items[1::2]
        if type(target) in CALLS and isinstance(target, dict):
            self.limits.add_pairs(target, keys, values)
        elif id(target) in self._made:
            self.limits.check_keys(keys)
            for key, value in zip(keys, values, strict=True):
                target[key] = value
        else:
            raise Damage(f"an entry for a {type(target).__name__}")

    def add_members(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is set:
            self.limits.add_members(target, items)
        elif id(target) in self._made:
            self.limits.check_keys(items)
            for item in items:
                target.add(item)
        else:
            raise Damage(f"a member for a {type(target).__name__}")


def _function(called: Callable[..., Any]) -> Function:
    return Function(called.__qualname__, lambda args, _: called(*args))


def _set_state(instance: Any, state: Any) -> None:
    """What ``pickle`` does with the state of an instance, for attributes of the instance itself."""
    setter = getattr(type(instance), "__setstate__", None)
    if setter is not None:
        setter(instance, state)
        return
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    for attributes in (state, slots):
        if attributes is not None and (
            type(attributes) is not dict or not all(type(k) is str for k in attributes)
        ):
            raise Damage(f"a state for a {type(instance).__name__} that is no dict of attributes")
    if state:
        instance.__dict__.update(state)
    for name, value in (slots or {}).items():
        if not isinstance(getattr(type(instance), name, None), types.MemberDescriptorType):
            raise Damage(f"a state for a slot that {type(instance).__name__} does not have")
        setattr(instance, name, value)


# -- opcodes
# --------------------------------------------------------------------------------------------------

Handler = Callable[[_Machine], None]
_PROTO, _STOP = 0x80, ord(".")


def _unknown(machine: _Machine) -> None:
    raise Damage(f"no opcode at byte {machine.window.at - 1}")


def _number(layout: str) -> Callable[[_Machine], Any]:
    form = struct.Struct(layout)
    return lambda machine: form.unpack(machine.window.take(form.size))[0]


_int, _uint, _ulong = (_number(layout) for layout in ("<i", "<I", "<Q"))


def _byte(machine: _Machine) -> int:
    return machine.window.byte()


def _numbers(opcode: bytes, layout: str) -> Handler:
    """A number, and those after it that are written alike: a list of many takes few steps."""
    form = struct.Struct(layout)
    size = form.size
    run = re.compile(rb"(?:%s.{%d}){8,}+" % (re.escape(opcode), size), re.DOTALL)
    dtype = np.dtype([("opcode", "u1"), ("value", np.dtype(layout))])

    def handler(machine: _Machine) -> None:
        window = machine.window
        at, data = window.at, window.data
        found = run.match(data, at - 1) if data[at + size : at + size + 1] == opcode else None
        if found:
            machine.stack.extend(np.frombuffer(found[0], dtype)["value"].tolist())
            window.at = found.end()
        else:
            machine.stack.append(window.byte() if size == 1 else form.unpack(window.take(size))[0])

    return handler


def _short_text(machine: _Machine) -> None:
    """The commonest opcode, and mostly followed by one that puts the text into the memo."""
    window = machine.window
    length = window.byte()
    text = str(window.take(length), "utf-8", "surrogatepass")
    machine.stack.append(text)
    at = window.at
    if window.data[at : at + 1] == b"\x94":
        window.at = at + 1
        memo = machine.memo
        memo[len(memo)] = text


def _data(size: Callable[[_Machine], int], decode: Callable[[bytes], Any] | None) -> Handler:
    """Bytes with their length before them."""

    def handler(machine: _Machine) -> None:
        length = size(machine)
        if length < 0:
            raise Damage("a negative length")
        data = machine.window.take(length)
        machine.stack.append(data if decode is None else decode(data))

    return handler


def _text(data: bytes) -> str:
    return str(data, "utf-8", "surrogatepass")


def _latin1(data: bytes) -> str:
    """Python 2's byte strings."""
    return str(data, "latin1")


def _long(data: bytes) -> int:
    if len(data) > _MAX_LONG_BYTES:
        raise Damage(f"an integer of {len(data)} bytes")
    return int.from_bytes(data, "little", signed=True)


def _integer_line(machine: _Machine) -> None:
    text = machine.window.line()
    if text in (b"00", b"01"):
        machine.stack.append(text == b"01")
        return
    text = text.removesuffix(b"L")
    if not _NUMBER_TEXT.fullmatch(text):
        raise Damage("a text that is no integer of moderate length")
    machine.stack.append(int(text))


def _float_line(machine: _Machine) -> None:
    text = machine.window.line()
    if not _FLOAT_TEXT.fullmatch(text):
        raise Damage("a text that is no number")
    machine.stack.append(float(text))


def _string_line(machine: _Machine) -> None:
    text = machine.window.line()
    if len(text) < 2 or text[:1] not in (b"'", b'"') or text[-1:] != text[:1]:
        raise Damage("a string without quotes")
    machine.stack.append(_ESCAPE.sub(_unescaped, text[1:-1]).decode("latin1"))


def _unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    if escape[:1] == b"x" and len(escape) == 3:
        return bytes.fromhex(escape[1:].decode())
    if escape not in _ESCAPED:
        raise Damage("a string with an escape that Python 2 does not write")
    return _ESCAPED[escape]


def _place_line(machine: _Machine) -> int:
    text = machine.window.line()
    if not text.isdigit() or len(text) > 18:
        raise Damage("a place in the memo that is no number")
    return int(text)


def _unicode_line(machine: _Machine) -> None:
    machine.stack.append(str(machine.window.line(), "raw-unicode-escape"))


def _name_lines(machine: _Machine) -> None:
    machine.name(_text(machine.window.line()), _text(machine.window.line()))


def _name_on_stack(machine: _Machine) -> None:
    name = machine.popped()
    machine.name(machine.popped(), name)


def _protocol(machine: _Machine) -> None:
    if machine.window.byte() > 5:
        raise Damage("a protocol later than 5")


def _frame(machine: _Machine) -> None:
    machine.window.check(_ulong(machine))


def _memoize(machine: _Machine) -> None:
    memo = machine.memo
    memo[len(memo)] = machine.stack[-1]


def _mark(machine: _Machine) -> None:
    machine.outer.append(machine.stack)
    machine.stack = []


def _tuple_of(count: int) -> Handler:
    def handler(machine: _Machine) -> None:
        items = [machine.popped() for _ in range(count)]
        machine.stack.append(tuple(items[::-1]))

    return handler


def _to_mark(make: Callable[[list[Any]], Any]) -> Handler:
    def handler(machine: _Machine) -> None:
        items = machine.popped_to_mark()
        machine.stack.append(make(items))

    return handler


def _dict_to_mark(machine: _Machine) -> None:
    items = machine.popped_to_mark()
    machine.stack.append({})
    machine.set_items(items)


def _empty_set(machine: _Machine) -> None:
    machine.limits.spend(256)  # for one byte
    machine.stack.append(set())


def _frozen_to_mark(machine: _Machine) -> None:
    members: set[Any] = set()
    machine.limits.add_members(members, machine.popped_to_mark())
    machine.stack.append(frozenset(members))


def _set_item(machine: _Machine) -> None:
    value = machine.popped()
    machine.set_items([machine.popped(), value])


def _new_object(machine: _Machine) -> None:
    args = machine.popped()
    machine.new(machine.popped(), args, {})


def _new_object_with_options(machine: _Machine) -> None:
    options, args = machine.popped(), machine.popped()
    machine.new(machine.popped(), args, options)


def _foreign(what: str) -> Handler:
    def handler(machine: _Machine) -> None:
        raise Damage(what)

    return handler


_INSTANCE = _foreign("an instance in the form of Python 2's old classes")
_EXTENSION = _foreign("a name from the registry of extensions")
_PERSISTENT = _foreign("a reference to an object outside of the file")

_HANDLER_BY_OPCODE: dict[bytes, Handler] = {
    b"\x80": _protocol,
    b"\x95": _frame,
    # numbers
    b"N": lambda machine: machine.stack.append(None),
    b"\x88": lambda machine: machine.stack.append(True),
    b"\x89": lambda machine: machine.stack.append(False),
    b"K": _numbers(b"K", "B"),
    b"M": _numbers(b"M", "<H"),
    b"J": _numbers(b"J", "<i"),
    b"G": _numbers(b"G", ">d"),
    b"\x8a": _data(_byte, _long),
    b"\x8b": _data(_int, _long),
    b"I": _integer_line,
    b"L": _integer_line,
    b"F": _float_line,
    # texts and bytes
    b"\x8c": _short_text,
    b"X": _data(_uint, _text),
    b"\x8d": _data(_ulong, _text),
    b"V": _unicode_line,
    b"C": _data(_byte, None),
    b"B": _data(_uint, None),
    b"\x8e": _data(_ulong, None),
    b"\x96": _data(_ulong, bytearray),
    b"U": _data(_byte, _latin1),
    b"T": _data(_int, _latin1),
    b"S": _string_line,
    # the stack and the memo
    b"(": _mark,
    b"0": _Machine.drop,
    b"1": _Machine.drop_to_mark,
    b"2": lambda machine: machine.push(machine.stack[-1]),
    b"\x94": _memoize,
    b"q": lambda machine: machine.remember(machine.window.byte()),
    b"r": lambda machine: machine.remember(_uint(machine)),
    b"p": lambda machine: machine.remember(_place_line(machine)),
    b"h": lambda machine: machine.recall(machine.window.byte()),
    b"j": lambda machine: machine.recall(_uint(machine)),
    b"g": lambda machine: machine.recall(_place_line(machine)),
    # containers
    b"]": lambda machine: machine.stack.append([]),
    b"}": lambda machine: machine.stack.append({}),
    b")": lambda machine: machine.stack.append(()),
    b"\x8f": _empty_set,
    b"l": _to_mark(list),
    b"t": _to_mark(tuple),
    b"\x85": _tuple_of(1),
    b"\x86": _tuple_of(2),
    b"\x87": _tuple_of(3),
    b"d": _dict_to_mark,
    b"\x91": _frozen_to_mark,
    b"a": lambda machine: machine.append([machine.popped()]),
    b"e": lambda machine: machine.append(machine.popped_to_mark()),
    b"s": _set_item,
    b"u": lambda machine: machine.set_items(machine.popped_to_mark()),
    b"\x90": lambda machine: machine.add_members(machine.popped_to_mark()),
    # names and objects
    b"c": _name_lines,
    b"\x93": _name_on_stack,
    b"R": _Machine.reduce,
    b"b": _Machine.build,
    b"\x81": _new_object,
    b"\x92": _new_object_with_options,
    # what pickles of plain values never have
    b"i": _INSTANCE,
    b"o": _INSTANCE,
    b"\x82": _EXTENSION,
    b"\x83": _EXTENSION,
    b"\x84": _EXTENSION,
    b"P": _PERSISTENT,
    b"Q": _PERSISTENT,
    b"\x97": _PERSISTENT,
    b"\x98": _PERSISTENT,
}
_HANDLERS: list[Handler] = [
    _HANDLER_BY_OPCODE.get(bytes([opcode]), _unknown) for opcode in range(256)
]
