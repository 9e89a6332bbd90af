"""Pickles that a stranger could hand over, and a process that loads them with a bound on its
memory.

    python hostile_pickles.py

reads lines of JSON ``[name, hex]``, loads each with ``paddle.load`` and answers with a line
``[name, classes of the error or value, seconds, MiB]``.
"""

from __future__ import annotations

import json
import struct
import sys

MERSENNE = 2**61 - 1  # numbers that differ by it have one hash


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def number(value: int) -> bytes:
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8b" + struct.pack("<i", len(data)) + data


def raw(value: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(value)) + value


def named(module: str, name: str) -> bytes:
    return text(module) + text(name) + b"\x93"


def group(*parts: bytes) -> bytes:
    """A tuple."""
    return b"(" + b"".join(parts) + b"t"


def call(function: bytes, *args: bytes) -> bytes:
    return function + group(*args) + b"R"


def put(place: int) -> bytes:
    return b"r" + struct.pack("<I", place)


def get(place: int) -> bytes:
    return b"j" + struct.pack("<I", place)


def builtin(name: str) -> bytes:
    return named("builtins", name)


NDARRAY, DTYPE = named("numpy", "ndarray"), named("numpy", "dtype")
NONE, TRUE, FALSE = b"N", b"\x88", b"\x89"


def dtype(code: str, *state: bytes) -> bytes:
    state = state or (number(3), text("<"), NONE, NONE, NONE, number(-1), number(-1), number(0))
    return call(DTYPE, text(code), FALSE, TRUE) + group(*state) + b"b"


def begun() -> bytes:
    return call(
        named("numpy.core.multiarray", "_reconstruct"), NDARRAY, group(number(0)), raw(b"b")
    )


def array(shape: bytes, kind: bytes, data: bytes) -> bytes:
    return begun() + group(number(1), shape, kind, FALSE, data) + b"b"


def doubling(make: bytes, levels: int = 60) -> bytes:
    """``x = (x, x)``, again and again."""
    out = make + put(0)
    for _ in range(levels):
        out += b"0" + get(0) + get(0) + b"\x86" + put(0)
    return out


def chain(make: bytes, add: bytes, count: int = 200_000) -> bytes:
    """One container in another in another."""
    return (make + put(0)) + (make + get(0) + add + put(0)) * count


def outer_first(make: bytes, count: int = 3_000) -> bytes:
    """The same, made from the outside in, by adding to what is inside already."""
    out = make + put(0) + put(1)
    for _ in range(count):
        out += get(1) + make + put(1) + b"a0"
    return out + get(0)


DEQUE, DEFAULTDICT = call(named("collections", "deque")), call(named("collections", "defaultdict"))
HUGE = number(10**12)
PADDLE_FLOAT32 = call(named("argosy.foundation.dtypes", "DType"), text("float32"))
EIGHT = array(group(number(1)), dtype("f8"), raw(b"A" * 8))
LONG = 100_000

PICKLES: dict[str, bytes] = {
    "an array of pointers": call(NDARRAY, group(number(1)), dtype("O8"),
    call(builtin("bytearray"), raw(b"A" * 8))),
    "an array of pointers by state": array(group(number(1)), dtype("O8"), b"]"),
    "fields at any offset": array(
        group(number(1)),
        dtype("V8", number(3), text("|"), NONE, group(text("a")),
            b"}" + text("a") + group(dtype("f8"), number(2**40)) + b"s",
              number(8), number(1), number(0)),
        raw(b"A" * 8),
    ),
    "a subarray in a dtype": dtype("V8", number(3), text("|"),
    group(dtype("O8"), group(number(1))), NONE, NONE, number(8), number(1), number(0)),
    "a dtype of another size": dtype("V8", number(3), text("|"), NONE, NONE, NONE, number(2**40),
    number(1), number(0)),
    "a state for a class": named("argosy.foundation.dtypes", "DType") + group(NONE,
    b"}" + text("hacked") + NONE + b"s") + b"b",
    "a state for a built-in class": builtin("list") + b"}" + text("append") + NONE + b"sb",
    "a state for paddle.float32": PADDLE_FLOAT32 + group(NONE,
    b"}" + text("name") + text("hacked") + b"s") + b"b",
    "a state for a function": builtin("eval") + b"}" + text("call") + NONE + b"sb",
    "a state for a finished array": EIGHT + group(number(1), group(number(9)), dtype("f8"), FALSE,
    raw(b"")) + b"b",
    "a state for a number": number(1) + b"}b",
    "deque(range(10**12))": call(named("collections", "deque"), call(builtin("range"), HUGE)),
    "list(range(10**12))": call(builtin("list"), call(builtin("range"), HUGE)),
    "set(range(10**12))": call(builtin("set"), call(builtin("range"), HUGE)),
    "Counter(range(10**12))": call(named("collections", "Counter"), call(builtin("range"), HUGE)),
    "bytearray(3e9)": call(builtin("bytearray"), number(3 * 10**9)),
    "bytes(3e9)": call(builtin("bytes"), number(3 * 10**9)),
    "ndarray of 2**40 bytes": call(NDARRAY, group(number(2**40)), dtype("u1")),
    "str of a nest": call(builtin("str"), doubling(b"]", 40)),
    "int of a long text": call(builtin("int"), text("9" * 1_000_000)),
    "complex of a text": call(builtin("complex"), text("1j")),
    "a gigantic shape": array(group(number(2**62), number(2**62)), dtype("f8"), raw(b"")),
    "a shape that overflows to 8": array(group(number(2**61 + 1)), dtype("f8"), raw(b"A" * 8)),
    "a gigantic shape without elements": array(group(number(0), number(2**40)), dtype("f8"),
    raw(b"")),
    "elements without bytes": array(group(number(10**15)),
    dtype("V0", number(3), text("|"), NONE, NONE, NONE, number(0), number(1), number(0)), raw(b"")),
    "a negative extent": array(group(number(-1)), dtype("f8"), raw(b"")),
    "texts of characters that do not exist": array(group(number(1)), dtype("U1"), raw(b"\xff" * 4)),
    "a list in itself": b"]" + put(0) + get(0) + b"a",
    "a dict in itself": b"}" + put(0) + text("a") + get(0) + b"s",
    "a deque in itself": DEQUE + put(0) + get(0) + b"a",
    "lists that hold each other many times": doubling(b"]"),
    "tuples that hold each other many times": doubling(b")") ,
    "a key of tuples that hold each other": b"}" + doubling(b")") + NONE + b"s",
    "a member of tuples that hold each other": b"\x8f(" + doubling(b")") + b"\x90",
    "lists, very deep": b"]" * LONG + b"a" * (LONG - 1),
    "tuples, very deep": b")" + b"\x85" * LONG,
    "deques, very deep": chain(DEQUE, b"a"),
    "defaultdicts, very deep": chain(DEFAULTDICT + text("a"), b"s"),
    "deques, very deep from outside": outer_first(DEQUE),
    "deques through lists, very deep": DEQUE + put(0) + named("collections",
    "deque") + put(1) + (get(1) + b"]" + get(0) + b"a\x85R" + put(0)) * 200_000,
    "an integer of a megabyte": number(1 << 8_000_000),
    "an integer of many digits": b"I" + b"9" * 10_000 + b"\n",
    "a float of many digits": b"F" + b"9" * 10_000 + b"\n",
    "os.system by GLOBAL": b"cos\nsystem\n(Vtrue\ntR",
    "os.system by STACK_GLOBAL": call(named("os", "system"), text("true")),
    "os.system by INST": b"(Vtrue\nios\nsystem\n",
    "os.system by OBJ": b"(cos\nsystem\nVtrue\no",
    "getattr": call(builtin("getattr"), builtin("list"), text("__class__")),
    "a dotted name": named("numpy", "ndarray.__class__"),
    "eval": call(builtin("eval"), text("__import__('os')"), b"}"),
    "another codec": call(named("_codecs", "encode"), text("00"), text("hex")),
    "an extension": b"\x82\x01",
    "a longer extension": b"\x84\x01\0\0\0",
    "a persistent id": b"Pabc\n",
    "a binary persistent id": NONE + b"Q",
    "an outside buffer": b"\x97",
    "a place in the memo far away": b"N" + b"r\xff\xff\xff\xff" + b"h\x01",
    "a frame of 2**63 bytes": b"\x95" + struct.pack("<Q", 2**63),
    "2**62 bytes": b"\x8e" + struct.pack("<Q", 2**62),
    "a negative length": b"T" + struct.pack("<i", -5),
    "an array without its bytes": begun(),
    "an array finished inside a list": b"]" + begun() + put(0) + b"a" + get(0) + group(number(1),
    group(), dtype("f8"), FALSE, raw(b"A" * 8)) + b"b0",
    "a function as a value": builtin("eval"),
    "a function in a list": b"]" + builtin("eval") + b"a",
    "the bytes of an array as a value": (
        b"]" + raw(b"A" * LONG) + put(0) + b"a"
        + array(group(number(LONG)), dtype("u1"), get(0)) + b"a"
    ),
    "copies of copies": (
        b"(" + b"N" * LONG + b"l" + put(0) + builtin("list") + put(1) + b"(" + (get(1)
        + get(0) + b"\x85R") * LONG + b"t"
    ),
    "arrays over the same bytes": (
        raw(b"A" * 10_000_000) + put(0) + b"("
        + array(group(number(10_000_000)), dtype("u1"), get(0)) * 200 + b"t"
    ),
    "a table of slices that is none": b"}" + text("UnpackBigParamInfor@@") + number(3) + b"s",
    "slices that are not there": (
        b"}" + text("UnpackBigParamInfor@@") + b"}" + text("w") + b"}" + text("slices")
        + b"]" + text("x") + b"ass" + b"s"
    ),
    "a table of names that is none": b"}" + text("StructuredToParameterName@@") + number(3) + b"s",
    "names that are none": (
        b"}" + text("w") + EIGHT + b"s" + text("StructuredToParameterName@@") + b"}"
        + text("w") + number(3) + b"ss"
    ),
}  # fmt: skip


def flood(count: int) -> bytes:
    """A dict whose keys all have one hash."""
    return b"}(" + b"".join(number(i * MERSENNE) + NONE for i in range(count)) + b"u"


def framed(opcodes: bytes) -> bytes:
    return b"\x80\x04" + opcodes + b"."


def main() -> None:
    import io
    import resource
    import time

    import paddle

    def used_bytes() -> int:
        return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()

    resource.setrlimit(resource.RLIMIT_AS, (used_bytes() + 2**31,) * 2)
    for line in sys.stdin:
        name, data = json.loads(line)
        start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            outcome = ["value", type(paddle.load(io.BytesIO(bytes.fromhex(data)))).__name__]
        except Exception as error:
            outcome = [kind.__name__ for kind in type(error).__mro__]
        mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        is_whole = repr(paddle.float32) == "paddle.float32" and not hasattr(paddle.dtype, "hacked")
        print(
            json.dumps([name, outcome if is_whole else ["changed"], time.monotonic() - start, mib]),
            flush=True,
        )


if __name__ == "__main__":
    main()
