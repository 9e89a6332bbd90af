"""Two ways to find the shapes of a program while it is recorded: the op run on stand-in sizes, as
``static.record.infer`` does, and torch's symbolic shapes (FakeTensorMode with a ShapeEnv).

    python benchmarks/bench_shape_inference.py [--layers 50]

Prints what torch's way costs to import, the time that both take for the operators of a program of
fully connected layers, and for calls with sizes that only a run tells, the shapes that both find.
Times are of the processor, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import torch

import paddle
from argosy.static.ir.operator import FORWARD, Ref, leaves, mapped
from argosy.static.ir.variable import Variable
from argosy.static.record.infer import infer
from paddle import static

_IMPORTS = "import torch, time; t = time.process_time(); {}; print(time.process_time() - t)"
_SYMBOLIC = (
    "import torch._subclasses.fake_tensor, torch.fx.experimental.symbolic_shapes",
    "import torch._dynamo",
)


class Symbolic:
    """Runs ops on fake tensors in which every unknown extent is a symbol."""

    def __init__(self) -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental import symbolic_shapes

        self._shapes = symbolic_shapes
        self.mode = FakeTensorMode(shape_env=symbolic_shapes.ShapeEnv(), allow_non_fake_inputs=True)

    def tensor(self, variable: Variable) -> torch.Tensor:
        dynamic = self._shapes.DimDynamic
        context = self._shapes.StatelessSymbolicContext(
            [dynamic.DYNAMIC if n < 0 else dynamic.STATIC for n in variable.shape]
        )
        real = torch.empty([32 if n < 0 else n for n in variable.shape], dtype=variable.raw.dtype)
        return self.mode.from_tensor(real, symbolic_context=context)

    def shape(self, tensor: torch.Tensor) -> list[int]:
        return [-1 if isinstance(n, torch.SymInt) else n for n in tensor.shape]

    def run(self, operators: list, variables: dict) -> dict[str, torch.Tensor]:
        """What the operators compute, from fake tensors for what they do not."""
        found: dict[str, torch.Tensor] = {}

        def fake(leaf: object) -> object:
            if not isinstance(leaf, Ref):
                return leaf
            if leaf.name not in found:
                found[leaf.name] = self.tensor(variables[leaf.name])
            return found[leaf.name]

        for operator in operators:
            args, kwargs = mapped(operator.args, fake), mapped(operator.kwargs, fake)
            with self.mode, torch.no_grad():
                result = operator.op.fn(*args, **kwargs)
            for ref, value in zip(leaves(operator.out), leaves(result), strict=True):
                found[ref.name] = value
        return found


def _layers(count: int) -> static.Program:
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [None, 64])
        for _ in range(count):
            x = static.nn.fc(x, 64, activation="relu")
    return main


def _stand_ins(operators: list, variables: dict) -> None:
    def known(leaf: object) -> object:
        return variables[leaf.name] if isinstance(leaf, Ref) else leaf

    for operator in operators:
        infer(operator.op, mapped(operator.args, known), mapped(operator.kwargs, known))


def _best(function: Callable[[], object], repeat: int = 5) -> float:
    times = []
    for _ in range(repeat):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


# Calls on x [-1, 6], y [-1, 6], z [4, 6] and i [-1] of int64.
CASES = {
    "x + y": lambda x, y, z, i: x + y,
    "x + z": lambda x, y, z, i: x + z,
    "reshape(x, [-1, 3])": lambda x, y, z, i: paddle.reshape(x, [-1, 3]),
    "reshape(x, [0, 2, 3])": lambda x, y, z, i: paddle.reshape(x, [0, 2, 3]),
    "reshape(x, [4, 6])": lambda x, y, z, i: paddle.reshape(x, [4, 6]),
    "concat([x, y])": lambda x, y, z, i: paddle.concat([x, y]),
    "concat([x, x], 1)": lambda x, y, z, i: paddle.concat([x, x], 1),
    "x[1:3]": lambda x, y, z, i: x[1:3],
    "x[:-1]": lambda x, y, z, i: x[:-1],
    "split(x, 2)": lambda x, y, z, i: paddle.split(x, 2)[0],
    "matmul(x, z.T)": lambda x, y, z, i: paddle.matmul(x, z, transpose_y=True),
    "matmul(x, y.T)": lambda x, y, z, i: paddle.matmul(x, y, transpose_y=True),
    "mean(x, 0)": lambda x, y, z, i: paddle.mean(x, 0),
    "topk(x, 2, 0)": lambda x, y, z, i: paddle.topk(x, 2, 0)[0],
    "gather(x, i)": lambda x, y, z, i: paddle.gather(x, i),
    "one_hot(i, 5)": lambda x, y, z, i: paddle.nn.functional.one_hot(i, 5),
    "nonzero(x)": lambda x, y, z, i: paddle.nonzero(x),
    "masked_select(x)": lambda x, y, z, i: paddle.masked_select(x, x > 0.0),
    "unique(i)": lambda x, y, z, i: paddle.unique(i),
    "cumsum(x, 0)": lambda x, y, z, i: paddle.cumsum(x, 0),
}


def _compare(call: Callable[..., Variable]) -> tuple[str, str]:
    main = static.Program()
    with static.program_guard(main, static.Program()):
        given = [static.data(n, [None, 6]) for n in ("x", "y")]
        given += [static.data("z", [4, 6]), static.data("i", [None], "int64")]
        try:
            out = call(*given)
        except Exception as error:
            return f"{type(error).__name__}", ""
        block = main.global_block()
        try:
            symbolic = Symbolic()
            found = symbolic.run(block.ops, block.vars)[out.name]
            other = str(symbolic.shape(found))
        except Exception as error:
            other = type(error).__name__
    return str(list(out.shape)), other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=50)
    layers = parser.parse_args().layers
    warnings.simplefilter("ignore")
    logging.disable()  # torch tells of every op that it cannot trace
    for line in _SYMBOLIC:
        done = subprocess.run(
            [sys.executable, "-c", _IMPORTS.format(line)], capture_output=True, text=True
        )
        print(f"{line}: {float(done.stdout):.2f} s")
    paddle.enable_static()
    print(f"recording {layers} layers: {_best(lambda: _layers(layers), 3) * 1e3:.1f} ms")
    program = _layers(layers)
    block = program.global_block()
    operators = [o for o in block.ops if o.op is not None and o.role == FORWARD]
    print(f"stand-ins, {len(operators)} operators:", end=" ")
    print(f"{_best(lambda: _stand_ins(operators, block.vars)) * 1e3:.1f} ms")
    print(f"symbolic shapes, {len(operators)} operators:", end=" ")
    print(f"{_best(lambda: Symbolic().run(operators, block.vars)) * 1e3:.1f} ms")
    for name, call in CASES.items():
        mine, other = _compare(call)
        print(f"{name:24} {mine:16} {other}{'' if mine == other else '   differ'}")


if __name__ == "__main__":
    main()
