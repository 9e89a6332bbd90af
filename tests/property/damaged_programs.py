"""Damaged and hostile files of programs: ``python damaged_programs.py SEED FIRST COUNT`` tries
COUNT of them and prints what came of it.

Each case takes the file of a real program, does one seeded thing to it and reads and runs the
result. What may come of it:

    refused at load   an error of ours says what is wrong with the file
    refused at run    it is a program, but an operator of it refuses what it is given
    same              it ran, and the numbers are those of the undamaged program
    other             it ran with other numbers: the damage says another valid thing, as an axis of
    1 in place of 0 stopped           a loop in it did not end, as a program may say; only the
    program with a loop may come to this

Anything else ends the process with the case: another exception, a file opened for writing, a
process, a connection, code that is not the function of a program, or 20 seconds (a case takes
milliseconds). The process may take a gigabyte more than the undamaged programs do:
a case that wants more has to end with one of our errors too.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import paddle
from argosy.foundation.errors import ArgosyError
from argosy.ops import table
from argosy.static.files import programs

MAGIC = b"argosy-program 1\n"
GIGABYTE = 1 << 30
LOOP_S, PATIENCE_S = 1.0, 20.0

HOSTILE: list[Any] = [
    "__import__('os').system('touch owned')",
    "x=(open('owned','w'))",
    "x=open('owned','w').close(),y",
    "lambda: open('owned','w')",
    "v0) or __import__('os').mkdir('owned') or (v0",
    "\n    import os; os.mkdir('owned')\n    ",
    "'; raise SystemExit; '",
    "{0.__class__.__mro__}",
    "__class__", "__builtins__", "__globals__", "__init__", "self", "def", "None", "run", "f0",
    "v0",
    "../../owned", "/tmp/owned", "..", "", " ", "\x00", "\x1b[2J", "\ud800", "a" * 100_000,
    "only_if", "out", "cpu", "meta", "cuda:0",
    "py_func", "backward", "while", "cond", "print", "empty", "full", "adam_", "as_strided",
    "assign_value", "to_device",
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63 - 1, -(2**63), 2**64, 10**30, 10**9, 10**12,
    0.5, -0.0, 1e308, 1e-320,
    float("nan"), float("inf"), -float("inf"),
    [], [[]], {}, {"a": 1}, ["ref"], ["ref", "x"], ["ref", "nobody"], ["ref", ["ref", "x"]],
    ["number", "x", 2.0],
    ["number", "x", float("inf")], ["dtype", "float64"], ["dtype", "object"], ["device"],
    ["slice", None, None, 0], ["slice", 0, "a", 1],
    ["block", 0, []], ["block", 1, []], ["block", 99, []], ["ellipsis"], ["complex", 1.0, 2.0],
    ["list"], ["tuple"],
    ["list", ["ref", "x"]], ["list", 2**40], ["list", -1, -1],
    ["array", "|O", [1], "AAAAAAAAAAA="], ["array", "<f4", [2**40], ""],
    ["array", "<f4", [1], "AAAAAA=="], ["array", "<i8", [-1], "????"],
    ["array", "<f4", [2**62, 4], ""], ["__reduce__", "os"],
]  # fmt: skip


OPS: list[Any] = table.names()  # names in place of names


def nested(depth: int) -> Any:
    value: Any = ["list"]
    for _ in range(depth):
        value = ["list", value]
    return value


# -- the programs
# --------------------------------------------------------------------------------------------------


class Subject:
    """The file of a program, and how it is read and run."""

    def __init__(
        self, name: str, data: bytes, feed: Callable[[], dict[str, Any]], fetches: list[str]
    ) -> None:
        self.name = name
        self.body = data.split(b"\n", 2)[2]
        self.data = data
        self.feed = feed
        self.fetches = fetches
        self.has_loop = b'"while"' in data
        scope = paddle.static.global_scope()
        held = {n: scope.find_var(n).get_tensor() for n in scope.local_var_names()}
        self.state = {n: np.array(t) for n, t in held.items() if t._is_initialized()}
        self.expected = self.run(self.load(data))

    def load(self, data: bytes) -> Any:
        return paddle.static.Program.parse_from_string(data)

    def run(self, program: Any) -> list[np.ndarray]:
        with paddle.static.scope_guard(paddle.static.Scope()):
            for name, value in self.state.items():
                paddle.static.global_scope().var(name).get_tensor().set(value)
            exe = paddle.static.Executor()
            fetched = exe.run(
                program, feed=self.feed(), fetch_list=self.fetches, return_numpy=False
            )
            return [np.array(value) for value in fetched]


class Model(Subject):
    """An inference model, read with its parameters."""

    def __init__(
        self, name: str, data: bytes, params: bytes, feed: Callable[[], dict[str, Any]]
    ) -> None:
        self.params = params
        super().__init__(name, data, feed, [])

    def load(self, data: bytes) -> Any:
        with paddle.static.scope_guard(paddle.static.Scope()):
            model = paddle.static.load_inference_model(
                None, paddle.static.Executor(), model_filename=data, params_filename=self.params
            )
        return model

    def run(self, program: Any) -> list[np.ndarray]:
        program, _, self.fetches = program
        return super().run(program)


@contextlib.contextmanager
def recording() -> Iterator[Any]:
    main, startup = paddle.static.Program(), paddle.static.Program()
    main.random_seed = startup.random_seed = 5
    with (
        paddle.static.scope_guard(paddle.static.Scope()),
        paddle.utils.unique_name.guard(),
        paddle.static.program_guard(main, startup),
    ):
        yield main, startup


def perceptron() -> Subject:
    """Layers, a constant, dropout and Adam with a clip."""
    with recording() as (main, startup):
        x, y = paddle.static.data("x", [None, 6]), paddle.static.data("y", [None, 1], "int64")
        hidden = paddle.static.nn.batch_norm(paddle.static.nn.fc(x, 5), act="relu")
        hidden = paddle.nn.functional.dropout(hidden, 0.5)[:, 1:] * paddle.to_tensor(
            [1.0, 2.0, 3.0, 4.0]
        )
        scores = paddle.static.nn.fc(hidden, 3, activation="softmax")
        loss = paddle.nn.functional.cross_entropy(scores, y, use_softmax=False)
        paddle.optimizer.Adam(0.05, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)).minimize(loss)
        paddle.static.Executor().run(startup)
        given = np.random.RandomState(0).randn(4, 6).astype("float32")
        labels = np.array([[0], [1], [2], [1]])
        data = main.desc.serialize_to_string()
        return Subject(
            "perceptron", data, lambda: {"x": given, "y": labels}, [loss.name, "fc_0.w_0"]
        )


def control() -> Subject:
    """Branches, a loop, a value that is printed."""
    with recording() as (main, startup):
        x = paddle.static.data("x", [3])
        small = paddle.static.nn.cond(x.sum() > 2.0, lambda: x * 2.0, lambda: x - 1.0)
        i, total = paddle.full([1], 0, "int64"), paddle.zeros([3])
        i, total = paddle.static.nn.while_loop(
            lambda i, total: i < 4,
            lambda i, total: [i + 1, total + small * i.astype("float32")],
            [i, total],
        )
        shown = paddle.static.Print(total, message="total")
        out = paddle.static.nn.case(
            [(shown.sum() > 100.0, lambda: shown + 1.0)], default=lambda: shown.exp()
        )
        paddle.static.Executor().run(startup)
        values = np.array([0.5, 1.0, 1.5], "float32")
        data = main.desc.serialize_to_string()
        return Subject("control", data, lambda: {"x": values}, [out.name, i.name])


def sequences() -> Subject:
    """Sequences of different lengths, a sparse table and SGD."""
    with recording() as (main, startup):
        ids = paddle.static.data("ids", [None, 1], "int64", lod_level=1)
        rows = paddle.fluid.layers.embedding(ids, [10, 4], is_sparse=True)
        pooled = paddle.static.nn.sequence_pool(rows, "max")
        first = paddle.static.nn.sequence_first_step(
            paddle.static.nn.sequence_softmax(paddle.static.nn.fc(rows, 1))
        )
        loss = (pooled * first).mean()
        paddle.optimizer.SGD(0.1).minimize(loss)
        paddle.static.Executor().run(startup)

        def feed() -> dict[str, Any]:
            return {
                "ids": paddle.fluid.create_lod_tensor(
                    np.arange(6).reshape(6, 1), [[2, 3, 1]], paddle.CPUPlace()
                )
            }

        return Subject("sequences", main.desc.serialize_to_string(), feed, [loss.name, pooled.name])


def recomputed() -> Subject:
    """Segments that are computed twice, gradients of gradients, momentum, decay."""
    with recording() as (main, startup):
        x = paddle.static.data("x", [None, 4])
        first = paddle.static.nn.fc(x, 6, activation="tanh")
        second = paddle.static.nn.fc(first, 6, activation="tanh")
        loss = paddle.static.nn.fc(second, 1).square().mean()
        optimizer = paddle.optimizer.Momentum(0.1, 0.9, weight_decay=0.01)
        pairs = paddle.static.append_backward(loss, checkpoints=[first, second])
        optimizer.apply_gradients(pairs)
        paddle.static.Executor().run(startup)
        given = np.random.RandomState(1).randn(3, 4).astype("float32")
        return Subject(
            "recomputed", main.desc.serialize_to_string(), lambda: {"x": given}, [loss.name]
        )


def inference() -> Subject:
    """Convolution and pooling, as an inference model in our own format."""
    with recording() as (main, startup):
        x = paddle.static.data("image", [None, 1, 8, 8])
        hidden = paddle.static.nn.conv2d(x, 3, 3, padding=1, act="relu")
        hidden = paddle.nn.functional.max_pool2d(hidden, 2).reshape([-1, 48])
        scores = paddle.nn.functional.softmax(paddle.static.nn.fc(hidden, 4))
        exe = paddle.static.Executor()
        exe.run(startup)
        normal = paddle.static.normalize_program(main, [x], [scores])
        data = programs.dumps(normal, {"feeds": [x.name], "fetches": [scores.name]})
        params = paddle.static.serialize_persistables([x], [scores], exe, program=main)
        given = np.random.RandomState(2).randn(2, 1, 8, 8).astype("float32")
        return Model("inference", data, params, lambda: {"image": given})


SUBJECTS = (perceptron, control, sequences, recomputed, inference)


# -- damage
# --------------------------------------------------------------------------------------------------


def sealed(body: bytes) -> bytes:
    """A file with a checksum that fits: who means harm can count too."""
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every node but the root, as what holds it and its key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])
    return found


def damaged(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    """What is done, and the file after it."""
    act = dice.choices(list(ACTS), [weight for weight, _ in ACTS.values()])[0]
    return ACTS[act][1](subject, dice)


def replace_byte(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    data = bytearray(subject.data)
    at, byte = dice.randrange(len(data)), dice.randrange(256)
    data[at] = byte
    return f"byte {at} of the file is {byte}", bytes(data)


def replace_body_byte(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    body = bytearray(subject.body)
    at, byte = dice.randrange(len(body)), dice.choice(b'0123456789-,:[]{}"\\ eE.xtfn\x00\xff_')
    body[at] = byte
    return f"byte {at} of the body is {byte}", sealed(bytes(body))


def delete_bytes(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    at, count = dice.randrange(len(subject.body)), dice.choice((1, 1, 2, 10, 1000))
    return f"{count} bytes at {at} of the body are gone", sealed(
        subject.body[:at] + subject.body[at + count :]
    )


def replace_node(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    tree = json.loads(subject.body)
    nodes = places(tree)
    holder, key = dice.choice(nodes)
    if dice.random() < 0.25:
        other, name = dice.choice(nodes)
        value = json.loads(json.dumps(other[name]))
    else:
        value = (
            nested(dice.choice((20, 100, 400))) if dice.random() < 0.03 else dice.choice(HOSTILE)
        )
    shown = f"{key!r}: {holder[key]!r:.60} is {value!r:.80}"
    holder[key] = value
    return f"node {shown}", sealed(json.dumps(tree).encode())


def replace_alike(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    """A number in place of a number, a name in place of a name: what reads the file has nothing to
    say against most of these.
    """
    tree = json.loads(subject.body)
    nodes = [(h, k) for h, k in places(tree) if not isinstance(h[k], (dict, list))]
    holder, key = dice.choice(nodes)
    old = holder[key]
    values = [h[k] for h, k in nodes] + HOSTILE + OPS
    holder[key] = dice.choice([v for v in values if type(v) is type(old) and v != old] or [old])
    return f"{key!r}: {old!r:.60} is {holder[key]!r:.80}", sealed(json.dumps(tree).encode())


def replace_argument(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    """An argument of an operator in place of an argument of another, or of a hostile one."""
    tree = json.loads(subject.body)
    lists = [o["args"] for block in tree["blocks"] for o in block["ops"] if o["args"]]
    holder, other = dice.choice(lists), dice.choice(lists)
    key = dice.randrange(len(holder))
    old, holder[key] = holder[key], dice.choice((dice.choice(other), dice.choice(HOSTILE)))
    return f"argument {old!r:.60} is {holder[key]!r:.80}", sealed(json.dumps(tree).encode())


def rename_key(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    tree = json.loads(subject.body)
    holder, key = dice.choice([(h, k) for h, k in places(tree) if isinstance(h, dict)])
    name = dice.choice([value for value in HOSTILE if isinstance(value, str)])
    holder[name] = holder.pop(key)
    return f"key {key!r} is {name!r:.80}", sealed(json.dumps(tree).encode())


def add_key(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    tree = json.loads(subject.body)
    holder = dice.choice([o["kwargs"] for block in tree["blocks"] for o in block["ops"]])
    name, value = (
        dice.choice([value for value in HOSTILE if isinstance(value, str)]),
        dice.choice(HOSTILE),
    )
    holder[name] = value
    return f"argument {name!r:.80} = {value!r:.80} is added", sealed(json.dumps(tree).encode())


def delete_node(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    tree = json.loads(subject.body)
    holder, key = dice.choice(places(tree))
    shown = f"{key!r}: {holder[key]!r:.60}"
    del holder[key]
    return f"node {shown} is gone", sealed(json.dumps(tree).encode())


def repeat_node(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    tree = json.loads(subject.body)
    holder, key = dice.choice([(h, k) for h, k in places(tree) if isinstance(h, list)])
    holder.insert(dice.randrange(len(holder) + 1), holder[key])
    return f"item {key}: {holder[key]!r:.60} is there twice", sealed(json.dumps(tree).encode())


def repeat_key(subject: Subject, dice: random.Random) -> tuple[str, bytes]:
    body = subject.body
    at = dice.choice([i for i in range(len(body)) if body[i : i + 1] == b"{"])
    return f"the object at {at} names an entry twice", sealed(
        body[: at + 1] + b'"type": 1, "type": 2, ' + body[at + 1 :]
    )


ACTS: dict[str, tuple[int, Callable[[Subject, random.Random], tuple[str, bytes]]]] = {
    "byte": (4, replace_byte),
    "sealed byte": (12, replace_body_byte),
    "bytes gone": (6, delete_bytes),
    "node": (25, replace_node),
    "node alike": (25, replace_alike),
    "argument changed": (15, replace_argument),
    "key": (6, rename_key),
    "argument": (8, add_key),
    "node gone": (8, delete_node),
    "item twice": (5, repeat_node),
    "entry twice": (1, repeat_key),
}


# -- what must not happen
# -----------------------------------------------------------------------------------------------


class Harm(BaseException):
    """A file did what no file may do."""


class Endless(BaseException):
    """The time of a case is over."""


class Watch:
    """Raises Harm when, inside ``with``, something is written, started, connected or executed that
    is not a program.
    """

    _WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    _ACTS = (
        "os.",
        "subprocess.",
        "socket.",
        "shutil.",
        "ctypes.",
        "pty.",
        "webbrowser.",
        "ftplib.",
        "urllib.",
        "tempfile.",
        "marshal.",
    )
    _HARMLESS = (
        "os.listdir",
        "os.scandir",
        "os.walk",
        "os.fwalk",
        "os.getxattr",
        "os.listxattr",
        "ctypes.seh_exception",
    )

    def __init__(self) -> None:
        self.is_on = False
        self.harm = ""
        sys.addaudithook(self._see)

    def __enter__(self) -> None:
        self.is_on, self.harm = True, ""

    def __exit__(self, *exc: object) -> None:
        self.is_on = False
        if self.harm:
            raise Harm(self.harm)

    def _see(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.is_on or self.harm:
            return
        if event == "open":
            is_write = isinstance(args[2], int) and args[2] & self._WRITES
            harm = f"opens {args[0]!r} to write" if is_write and not self._imports() else ""
        elif event == "exec":
            name = args[0].co_filename
            harm = (
                ""
                if name.startswith("<program ") or self._imports()
                else f"executes code of {name!r}"
            )
        elif event.startswith(self._ACTS) and event not in self._HARMLESS:
            harm = "" if self._imports() else f"{event} {args!r:.100}"
        else:
            harm = ""
        if harm:
            self.harm = harm
            raise Harm(harm)

    def _imports(self) -> bool:
        """Whether torch is loading a module of its own at its first use."""
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                return True
            frame = frame.f_back
        return False


def over(number: int, frame: Any) -> None:
    raise Endless


def outcome(subject: Subject, data: bytes, watch: Watch) -> str:
    """What comes of reading and running ``data``; anything that may not happen is raised."""
    signal.setitimer(signal.ITIMER_REAL, LOOP_S if subject.has_loop else PATIENCE_S)
    stage = "refused at load"
    try:
        with watch:
            program = subject.load(data)
            stage = "refused at run"
            values = subject.run(program)
    except ArgosyError:
        return stage
    except Endless:
        if not subject.has_loop:
            raise
        return "stopped"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    is_same = len(values) == len(subject.expected) and all(
        a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(values, subject.expected, strict=True)
    )
    return "same" if is_same else "other"


def virtual_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def main(seed: int, first: int, count: int) -> dict[str, dict[str, int]]:
    import torch

    torch.set_num_threads(1)
    paddle.enable_static()
    signal.signal(signal.SIGALRM, over)
    warnings.simplefilter("ignore")
    totals: dict[str, dict[str, int]] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        subjects = [make() for make in SUBJECTS]
        watch = Watch()
        for subject in subjects:  # what the engine loads at its first use, it has now
            if outcome(subject, subject.data, watch) != "same":
                raise Harm(f"{subject.name}: the undamaged file gives other numbers")
        limit = virtual_bytes() + GIGABYTE
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for number in range(first, first + count):
            dice = random.Random(seed * 1_000_003 + number)
            subject = subjects[number % len(subjects)]
            what, data = damaged(subject, dice)
            try:
                found = outcome(subject, data, watch)
                if os.listdir():
                    raise Harm(f"it left {os.listdir()}")
            except BaseException as error:
                error.add_note(f"case {number} of seed {seed}, {subject.name}: {what}")
                raise
            counts = totals.setdefault(subject.name, dict.fromkeys(OUTCOMES, 0))
            counts[found] += 1
    return totals


OUTCOMES = ("refused at load", "refused at run", "same", "other", "stopped")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            print(json.dumps(main(*map(int, sys.argv[1:]))))
        finally:
            os.chdir("/")
