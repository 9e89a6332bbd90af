"""Golden cases: small computations written once in Paddle's API and run on both sides.

``make.py`` runs them under real Paddle and stores what came out; ``test_goldens.py`` runs the very
same code with argosy as ``paddle`` and compares values, dtypes, shapes and gradients. Inputs are
NumPy arrays drawn from a generator seeded by the case's name, so they are not stored.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"


class Draw:
    """Seeded inputs. Each call gives the next array of this case."""

    def __init__(self, name: str) -> None:
        self._rng = np.random.RandomState(zlib.crc32(name.encode()))

    def normal(self, *shape: int, dtype: str = "float32") -> np.ndarray:
        return np.asarray(self._rng.randn(*shape)).astype(dtype)

    def uniform(
        self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: str = "float32"
    ) -> np.ndarray:
        return np.asarray(self._rng.uniform(low, high, shape)).astype(dtype)

    def integers(
        self, *shape: int, low: int = 0, high: int = 10, dtype: str = "int64"
    ) -> np.ndarray:
        return np.asarray(self._rng.randint(low, high, shape)).astype(dtype)

    def distinct(self, *shape: int, dtype: str = "float32") -> np.ndarray:
        """Values without ties, in random order."""
        n = int(np.prod(shape))
        return (self._rng.permutation(n).reshape(shape) / 4.0 - n / 8.0).astype(dtype)

    def mask(self, *shape: int) -> np.ndarray:
        return self._rng.rand(*shape) > 0.5


@dataclass
class Case:
    name: str
    run: Callable[[Any, Draw], Any]
    rtol: float
    raises: bool = False


@dataclass
class Cases:
    """The cases of one family; ``rtol`` is relative to the largest expected value of each array."""

    family: str
    items: dict[str, Case] = field(default_factory=dict)

    def _put(self, case: Case) -> None:
        if case.name in self.items:
            raise ValueError(f"golden case {case.name!r} is defined twice in {self.family!r}")
        self.items[case.name] = case

    def add(
        self, name: str, *, rtol: float = 1e-6
    ) -> Callable[[Callable[[Any, Draw], Any]], Callable[[Any, Draw], Any]]:
        """Decorate ``fn(paddle, draw)``: whatever nested tensors, arrays and numbers it returns is
        compared.
        """

        def register(fn: Callable[[Any, Draw], Any]) -> Callable[[Any, Draw], Any]:
            self._put(Case(name, fn, rtol))
            return fn

        return register

    def op(
        self,
        name: str,
        fn: Callable[..., Any],
        inputs: Callable[[Draw], Any],
        *,
        grad: bool = True,
        rtol: float = 1e-6,
    ) -> None:
        """Compare outputs of ``fn(paddle, *tensors)`` and, with ``grad``, the gradients of every
        floating input.

        ``inputs(draw)`` returns an array or a tuple of arrays (a list of arrays inside it becomes a
        list of tensors).
        """

        def run(paddle: Any, draw: Draw) -> Any:
            arrays = inputs(draw)
            return run_op(paddle, fn, arrays if isinstance(arrays, tuple) else (arrays,), grad)

        self._put(Case(name, run, rtol))

    def error(self, name: str, fn: Callable[[Any], Any]) -> None:
        """``fn(paddle)`` must raise; the builtin class of Paddle's exception is what ours must be
        an instance of.
        """
        self._put(Case(name, lambda paddle, draw: fn(paddle), 0.0, raises=True))


def _is_float(array: np.ndarray) -> bool:
    return array.dtype.kind in "fc"


def run_op(
    paddle: Any, fn: Callable[..., Any], arrays: tuple[Any, ...], grad: bool
) -> dict[str, Any]:
    leaves: list[Any] = []

    def tensor(a: Any) -> Any:
        if isinstance(a, list):
            return [tensor(v) for v in a]
        if not isinstance(a, np.ndarray):
            return a
        t = paddle.to_tensor(a)
        if grad and _is_float(a):
            t.stop_gradient = False
            leaves.append(t)
        return t

    tensors = [tensor(a) for a in arrays]
    out = fn(paddle, *tensors)
    result: dict[str, Any] = {"out": out}
    if grad:
        rng = np.random.RandomState(7)
        terms = []
        for t in _tensors(out):
            weight = rng.uniform(0.5, 1.5, [int(n) for n in t.shape])
            if "float" in str(t.dtype) and not t.stop_gradient:
                terms.append((t * paddle.to_tensor(weight).astype(t.dtype)).sum())
            elif "complex" in str(t.dtype) and not t.stop_gradient:
                terms.append(
                    (
                        paddle.as_real(t) * paddle.to_tensor(weight.astype("float32")).unsqueeze(-1)
                    ).sum()
                )
        if terms:
            total = terms[0].astype("float64")
            for term in terms[1:]:
                total = total + term.astype("float64")
            total.backward()
            result["grad"] = [leaf.grad for leaf in leaves]
    return result


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _tensors(v)]
    if isinstance(value, dict):
        return [t for k in sorted(value) for t in _tensors(value[k])]
    return [value] if hasattr(value, "stop_gradient") else []


def flatten(value: Any, prefix: str = "") -> dict[str, tuple[str, np.ndarray | None]]:
    """Name every leaf of a result: path -> (dtype name, array); None stays None."""
    if isinstance(value, dict):
        return {k: v for key in value for k, v in flatten(value[key], f"{prefix}/{key}").items()}
    if isinstance(value, (list, tuple)) and not (
        value and all(isinstance(v, (int, str)) for v in value)
    ):
        return {
            k: v for i, item in enumerate(value) for k, v in flatten(item, f"{prefix}/{i}").items()
        }
    if value is None:
        return {prefix: ("None", None)}
    if hasattr(value, "stop_gradient"):
        dtype = str(value.dtype).replace("paddle.", "")
        array = (
            value.astype("float32").numpy() if dtype in ("bfloat16", "float16") else value.numpy()
        )
        return {prefix: (dtype, np.asarray(array))}
    array = np.asarray(value)
    return {prefix: (f"py:{array.dtype.kind}", array)}


def builtin_name(error: BaseException) -> str:
    """The first class of the error's ancestry that Python itself defines."""
    return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")


def record(cases: Cases, paddle: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Run every case and return arrays and the index that describes them."""
    arrays: dict[str, np.ndarray] = {}
    index: dict[str, Any] = {}
    for name, case in cases.items.items():
        if case.raises:
            try:
                case.run(paddle, Draw(name))
            except Exception as error:
                index[name] = {"raises": builtin_name(error)}
                continue
            raise SystemExit(f"{cases.family}: {name}: Paddle raised nothing")
        try:
            flat = flatten(case.run(paddle, Draw(name)))
        except Exception as error:
            raise SystemExit(f"{cases.family}: {name}: {type(error).__name__}: {error}") from error
        index[name] = {path: dtype for path, (dtype, _) in flat.items()}
        arrays.update(
            {f"{name}|{path}": array for path, (_, array) in flat.items() if array is not None}
        )
    return arrays, index


def save(family: str, arrays: dict[str, np.ndarray], index: dict[str, Any]) -> None:
    DATA.mkdir(exist_ok=True)
    packed = dict(arrays)
    packed["__index__"] = np.frombuffer(json.dumps(index, sort_keys=True).encode(), np.uint8)
    np.savez_compressed(DATA / f"{family}.npz", **packed)


def load(family: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with np.load(DATA / f"{family}.npz") as data:
        arrays = {key: data[key] for key in data.files if key != "__index__"}
        index = json.loads(data["__index__"].tobytes().decode())
    return arrays, index


def compare(
    case: Case, result: Any, arrays: dict[str, np.ndarray], index: dict[str, str]
) -> list[str]:
    """Every difference between what we computed and what Paddle did, in words; empty when there is
    none.
    """
    problems = []
    flat = flatten(result)
    if set(flat) != set(index):
        return [f"results are {sorted(flat)}, Paddle's are {sorted(index)}"]
    for path, (dtype, array) in flat.items():
        if dtype != index[path]:
            problems.append(f"{path}: dtype {dtype}, Paddle's {index[path]}")
            continue
        if array is None:
            continue
        expected = arrays[f"{case.name}|{path}"]
        if array.shape != expected.shape:
            problems.append(f"{path}: shape {array.shape}, Paddle's {expected.shape}")
            continue
        if expected.dtype.kind not in "fc":
            if not np.array_equal(array, expected):
                problems.append(f"{path}: {array!r}, Paddle's {expected!r}")
            continue
        finite = np.isfinite(expected)
        scale = max(float(np.abs(expected[finite]).max(initial=0.0)), 1e-30)
        rtol = max(case.rtol, 2e-2 if dtype == "bfloat16" else 2e-3 if dtype == "float16" else 0.0)
        same = np.isclose(array, expected, rtol=rtol, atol=rtol * scale, equal_nan=True)
        if not same.all():
            gap = np.abs(array - expected)[~same].max()
            problems.append(
                f"{path}: off by {gap:.3g} (allowed {rtol * scale:.3g})\n ours {array!r}\n "
                f"Paddle's {expected!r}"
            )
    return problems
