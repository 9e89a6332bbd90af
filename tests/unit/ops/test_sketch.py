"""A sketch tells of a call what the op itself does on the meta device, and loads nothing for it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

from argosy.ops import sketch, table

TABLE = [table.get(name) for name in table.names()]
SKETCHED = [op for op in TABLE if op.traits.sketch is not None]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def _meta(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


# The shapes of the tensors and the attributes of calls, by sketch.
CALLS: dict[Any, list[tuple[list[tuple[int, ...]], tuple[Any, ...]]]] = {
    sketch.like: [([(3, 4)], ()), ([()], ()), ([(0, 2)], ())],
    sketch.elementwise: [
        ([(3, 4), (3, 4)], ()),
        ([(3, 4), (4,)], ()),
        ([(4,), (3, 1)], ()),
        ([(), (2, 1)], ()),
        ([(0, 4), (1, 4)], ()),
    ],
    sketch.folded_product: [
        ([(3, 4), (4, 5)], (1, 1)),
        ([(3, 2, 2), (4, 5)], (1, 1)),
        ([(3, 2, 4), (4, 5)], (2, 1)),
        ([(3, 4), (4, 5)], ()),
    ],
    sketch.product: [
        ([(3, 4), (4, 5)], ()),
        ([(4, 3), (4, 5)], (True, False)),
        ([(2, 3, 4), (5, 4)], (False, True)),
        ([(6, 1, 3, 4), (2, 4, 5)], ()),
    ],
    sketch.average: [
        ([(3, 4)], ()),
        ([(3, 4)], (None, True)),
        ([(3, 4, 5)], ([0, -1],)),
        ([(3, 4, 5)], (1, True)),
    ],
    sketch.total: [
        ([(3, 4)], ()),
        ([(3, 4)], (None, None, True)),
        ([(3, 4, 5)], ([0, -1],)),
    ],
    sketch.normalized: [([(3, 4)], (-1,)), ([(3, 4)], (0, None)), ([(3, 4)], ())],
}


def _kinds(result: Any) -> Any:
    tensors = result if isinstance(result, tuple) else [result]
    return [(list(t.shape), t.dtype, t.device.type) for t in tensors]


@pytest.mark.parametrize("op", SKETCHED, ids=lambda op: op.name)
def test_a_sketch_is_what_the_op_returns(op: Any) -> None:
    """Breaks for an op whose sketch has no calls here."""
    if op.traits.sketch is sketch.losses_and_softmax:
        return
    calls = CALLS[op.traits.sketch]
    if op.name.endswith("_along"):
        calls = [(shapes, (-1,)) for shapes, _ in calls]
        calls += [([(2, 3, 4), (3,)], (1,)), ([(2, 3, 4), (2, 3)], (0,))]
    for dtype in DTYPES:
        for shapes, attrs in calls:
            tensors = [_meta(*shape, dtype=dtype) for shape in shapes]
            wanted = _kinds(op.fn(*tensors, *attrs))
            assert _kinds(op.traits.sketch(*tensors, *attrs)) == wanted, (shapes, attrs)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("axis", [-1, 1])
def test_losses_and_softmax(axis: int, soft: bool) -> None:
    op = table.get("softmax_with_cross_entropy")
    logits = _meta(3, 4, 5)
    one = [1 if a == axis % 3 else n for a, n in enumerate(logits.shape)]
    label = _meta(3, 4, 5) if soft else _meta(*one, dtype=torch.int64)
    wanted = _kinds(op.fn(logits, label, soft, -100, axis))
    assert op.traits.sketch is not None
    assert _kinds(op.traits.sketch(logits, label, soft, -100, axis)) == wanted


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (sketch.like, (_meta(2, dtype=torch.int64),)),
        (sketch.elementwise, (_meta(2, 3), _meta(4))),
        (sketch.elementwise, (_meta(2, 3), _meta(3, dtype=torch.float64))),
        (sketch.elementwise, (_meta(2, 3), 1.0)),
        (sketch.elementwise, (_meta(2, 3), _meta(3), 2)),
        (sketch.folded_product, (_meta(2, 3), _meta(4, 5))),
        (sketch.folded_product, (_meta(3), _meta(3, 5))),
        (sketch.product, (_meta(2, 3), _meta(2, 3))),
        (sketch.product, (_meta(3), _meta(3, 2))),
        (sketch.average, (_meta(2, 3), 2)),
        (sketch.average, (_meta(2, 3), [0, 0])),
        (sketch.average, (_meta(2, 3), None, False, torch.float64)),
        (sketch.normalized, (_meta(2, 3), 2)),
        (sketch.losses_and_softmax, (_meta(2, 3), _meta(2, 1))),
        (sketch.losses_and_softmax, (_meta(2, 3), _meta(2, dtype=torch.int64))),
    ],
)
def test_other_calls_are_left_to_the_op(function: Any, args: Any) -> None:
    assert function(*args) is NotImplemented


FIRST_PROGRAM = """
import sys
import numpy as np
import paddle

paddle.enable_static()
x = paddle.static.data("x", [None, 13], "float32")
y = paddle.static.data("y", [None, 1], "int64")
hidden = paddle.static.nn.fc(x, 16, activation="relu")
scores = paddle.static.nn.fc(hidden, 3)
loss = paddle.mean(paddle.nn.functional.cross_entropy(scores, y))
paddle.optimizer.Adam(0.01).minimize(loss)
exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(paddle.static.default_startup_program())
feed = {"x": np.ones((4, 13), "float32"), "y": np.ones((4, 1), "int64")}
exe.run(feed=feed, fetch_list=[loss])
print([name for name in ("sympy", "torch._dynamo", "numba", "pyarrow") if name in sys.modules])
"""


def test_a_first_program_loads_neither_sympy_nor_a_compiler() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr
