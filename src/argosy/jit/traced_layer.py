"""TracedLayer: a layer recorded while it runs on example inputs, as 1.x and 2.0 have it. The values
of these decide branches and loops, once for all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.jit.model_files import SavedMethod, split_prefix, write_method
from argosy.jit.partial_program import PartialProgram
from argosy.jit.recording import Captures
from argosy.nn import Layer
from argosy.ops.table import Op
from argosy.static.ir.operator import leaves
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Variable
from argosy.static.parallel.strategy import BuildStrategy, ExecutionStrategy
from argosy.static.record.recorder import program_guard, recorder
from argosy.tensor.engine import Tensor, execute, pop_mode, push_mode, unique_name


class TracedLayer:
    """A recorded layer; ``trace`` makes one.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Linear(2, 1)
        >>> x = paddle.ones([3, 2])
        >>> out, traced = paddle.jit.api.TracedLayer.trace(net, [x])
        >>> [y] = traced([x])
        >>> bool((out == y).all())
        True
    """

    def __init__(self, traced: Tracer, inputs: list[Variable], outputs: list[Variable]) -> None:
        self.program = traced.program
        self._tensors = traced.captures.by_name()
        self._inputs = inputs
        self._outputs = outputs
        self._partial = PartialProgram(
            self.program,
            [v.name for v in inputs],
            [v.name for v in outputs],
            self._tensors,
            "TracedLayer",
        )

    @staticmethod
    def trace(layer: Any, inputs: Any) -> tuple[Any, TracedLayer]:
        """Call ``layer`` on ``inputs``, a Tensor or a list of them, and record it; returns what it
        returned and the TracedLayer.
        """
        if not isinstance(layer, Layer):
            raise BadArgument(
                "The type of 'layer' in paddle.jit.TracedLayer.trace must be paddle.nn.Layer, but "
                f"received {type(layer)}."
            )
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        _require_tensors(given, "inputs")
        tracer = Tracer()
        with tracer.tracing():
            feeds = [tracer.declare(f"feed_{i}", value) for i, value in enumerate(given)]
            outputs = layer(*given)
        found = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        _require_tensors(found, "outputs")
        return outputs, TracedLayer(tracer, feeds, [tracer.variable(t) for t in leaves(found)])

    def set_strategy(self, build_strategy: Any = None, exec_strategy: Any = None) -> None:
        """Take Paddle's strategies, which choose how its engine runs; there is one way here."""
        for name, value, kind in (
            ("build_strategy", build_strategy, BuildStrategy),
            ("exec_strategy", exec_strategy, ExecutionStrategy),
        ):
            if not isinstance(value, (kind, type(None))):
                raise BadArgument(
                    f"The type of '{name}' in paddle.jit.TracedLayer.set_strategy must be "
                    f"base.{kind.__name__}, but received {type(value)}."
                )

    def __call__(self, inputs: Any) -> list[Any]:
        """Run on a list of Tensors; returns a list."""
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        _require_tensors(given, "inputs")
        if len(given) != len(self._inputs):
            raise BadArgument(
                f"TracedLayer: it was traced with {len(self._inputs)} inputs, but received "
                f"{len(given)}"
            )
        found = self._partial([value.raw for value in given])
        for value in found:
            value.stop_gradient = True
        return found

    def save_inference_model(
        self, path: Any, feed: Any = None, fetch: Any = None, **kwargs: Any
    ) -> None:
        """Write it for inference to ``path``.pdmodel and .pdiparams; ``feed`` and ``fetch`` choose
        inputs and outputs by their numbers.
        """
        call = "paddle.jit.TracedLayer.save_inference_model"
        if not isinstance(path, str):
            raise _wrong_type("path", call, str, path)
        for name, value in (("feed", feed), ("fetch", fetch)):
            if not isinstance(value, (list, range, type(None))):
                raise _wrong_type(name, call, (type(None), list), value)
            for item in value or ():
                if not isinstance(item, int):
                    raise _wrong_type(f"each element of {name}", call, int, item)
        unknown = set(kwargs) - {"clip_extra"}
        if unknown:
            raise UsageError(f"{call}: unknown options {sorted(unknown)}")
        folder, _ = split_prefix(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        chosen = _chosen(self._inputs, feed), _chosen(self._outputs, fetch)
        values = {name: t.raw for name, t in self._tensors.items()}
        write_method(path, SavedMethod(self.program, *chosen), values)


class Tracer:
    """The mode in which ops run and are recorded at once."""

    records = False

    def __init__(self) -> None:
        self.program = Program()
        self.captures = Captures(self.program)
        # variables by the tensors that hold their values, kept alive so that ids stay theirs
        self._variables: dict[int, tuple[Any, Variable]] = {}

    @contextlib.contextmanager
    def tracing(self) -> Iterator[None]:
        """Record what runs inside."""
        with program_guard(self.program, Program()), recorder.capturing(self.variable):
            push_mode(self)
            try:
                with unique_name.guard():  # two traces of one layer have the same names
                    yield
            finally:
                pop_mode()

    def declare(self, name: str, tensor: Tensor) -> Variable:
        """An input that holds ``tensor``."""
        variable = self.program.global_block().create_var(
            name, tensor.shape, tensor.dtype, is_data=True, stop_gradient=tensor.stop_gradient
        )
        self._variables[id(tensor.raw)] = (tensor.raw, variable)
        return variable

    def variable(self, tensor: Tensor) -> Variable:
        """What stands for a Tensor: the result of what was recorded, or one from outside."""
        known = self._variables.get(id(tensor.raw))
        return self.captures(tensor) if known is None else known[1]

    def __call__(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        out = execute(op, args, attrs)
        recorded = recorder(op, args, attrs)
        for value, variable in zip(leaves(out), leaves(recorded), strict=True):
            if isinstance(value, Tensor):
                self._variables.setdefault(id(value.raw), (value.raw, variable))
        return out


def _chosen(variables: list[Any], numbers: Any) -> list[Any]:
    return list(variables) if numbers is None else [variables[i] for i in numbers]


def extract_vars(inputs: Any, err_tag: str = "inputs") -> list[Tensor]:
    """The Tensors in nested lists, tuples and dicts."""
    found = list(leaves(inputs))
    _require_tensors(found, err_tag)
    return found


def _require_tensors(values: Any, name: str) -> None:
    for value in leaves(list(values)):
        if not isinstance(value, Tensor):
            raise DtypeError(
                f"The type of 'each element of {name}' in paddle.jit.TracedLayer.trace must be "
                f"base.Variable, but received {type(value)}."
            )


def _wrong_type(name: str, call: str, expected: Any, value: Any) -> DtypeError:
    return DtypeError(
        f"The type of '{name}' in {call} must be {expected}, but received {type(value)}. "
    )
