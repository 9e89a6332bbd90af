"""Branches and loops on the values of tensors: ``cond``, ``case``, ``switch_case``, ``while_loop``.

While a program is recorded they become operators; otherwise the functions simply run.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.framework.mode import switch
from argosy.static.record.control import Branches, record_branches, record_while
from argosy.static.record.kinds import require_same_structure
from argosy.static.record.recorder import recorder
from argosy.tensor import logical_and, numel
from argosy.tensor.engine import Tensor

Function = Callable[[], Any]


def cond(
    pred: Any,
    true_fn: Function | None = None,
    false_fn: Function | None = None,
    name: str | None = None,
    return_names: Any = None,
) -> Any:
    """What ``true_fn()`` returns where ``pred``, a bool tensor of one element, is true, else what
    ``false_fn()`` returns.

    Both must return values nested alike. Where shapes differ, the result's extent is unknown;
    where dtypes or numbers of dimensions do, later calls see those of ``true_fn``, with a warning.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor(3.0)
        >>> float(paddle.static.nn.cond(x > 2, lambda: x * 2, lambda: x))
        6.0
    """
    _require_tensor("cond", "pred", pred, ("bool",))
    for argument, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if function is not None:
            _require_callable("cond", argument, function)
    if name is not None and not isinstance(name, str):
        raise DtypeError(f"cond: name must be a string or None, but received {type(name).__name__}")
    true, false = true_fn or _nothing, false_fn or _nothing
    if not switch.is_static:
        _require_one_element("cond", "pred", pred)
        return true() if pred else false()
    return record_branches([recorder.admit(pred)], (true, false), ("true_fn", "false_fn"), "cond")


def case(pred_fn_pairs: Any, default: Function | None = None, name: str | None = None) -> Any:
    """The result of the first function whose condition holds, or of ``default``; the last function
    is the default if there is none.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor(3.0)
        >>> pairs = [(x < 1, lambda: x - 1), (x < 5, lambda: x + 1)]
        >>> float(paddle.static.nn.case(pairs, default=lambda: x))
        4.0
    """
    _check_pairs(pred_fn_pairs)
    if default is not None:
        _require_callable("case", "default", default)
    conditions, functions = [pair[0] for pair in pred_fn_pairs], [pair[1] for pair in pred_fn_pairs]
    names = [f"function {i} of pred_fn_pairs" for i in range(len(functions))]
    if default is None:
        default = functions.pop()
        conditions.pop()
    else:
        names.append("default")
    return _first_true(conditions, functions, default, names, "case")


def _check_pairs(pred_fn_pairs: Any) -> None:
    if not isinstance(pred_fn_pairs, (list, tuple)):
        raise DtypeError(
            "case: pred_fn_pairs must be a list or tuple, but received "
            f"{type(pred_fn_pairs).__name__}"
        )
    if not pred_fn_pairs:
        raise UsageError("case: pred_fn_pairs is empty")
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple):
            raise DtypeError(
                "case: the items of pred_fn_pairs must be tuples, but received "
                f"{type(pair).__name__}"
            )
        if len(pair) != 2:
            raise DtypeError(
                "case: the items of pred_fn_pairs must be (pred, function), but one has "
                f"{len(pair)} items"
            )
        _require_tensor("case", "pred", pair[0], ("bool",))
        _require_callable("case", "a function of pred_fn_pairs", pair[1])


def _first_true(
    conditions: Sequence[Any],
    functions: Sequence[Function],
    default: Function,
    names: Sequence[str],
    call: str,
) -> Any:
    if not conditions:
        return default()
    if switch.is_static:
        return record_branches(
            [recorder.admit(c) for c in conditions], [*functions, default], names, call
        )
    for condition, function in zip(conditions, functions, strict=True):
        _require_one_element(call, "pred", condition)
        if condition:
            return function()
    return default()


def switch_case(
    branch_index: Any, branch_fns: Any, default: Function | None = None, name: str | None = None
) -> Any:
    """The result of the function whose number is the value of ``branch_index``, or of ``default``.

    ``branch_fns`` is a dict, a list of (number, function) or a list of functions. Without
    ``default`` the function with the largest number takes its place.

    Example:
        >>> import paddle
        >>> index = paddle.to_tensor(1)
        >>> float(paddle.static.nn.switch_case(index, [lambda: paddle.zeros([]),
        ...     lambda: paddle.ones([])]))
        1.0
    """
    _require_tensor("switch_case", "branch_index", branch_index, ("uint8", "int32", "int64"))
    functions = _numbered(branch_fns)
    if default is not None:
        _require_callable("switch_case", "default", default)
    else:
        default = functions.pop(max(functions))
    if not switch.is_static:
        _require_one_element("switch_case", "branch_index", branch_index)
        return functions.get(int(branch_index), default)()
    names = [*[f"function {number} of branch_fns" for number in functions], "default"]
    conditions = [branch_index == number for number in functions]
    return _first_true(conditions, list(functions.values()), default, names, "switch_case")


def _numbered(branch_fns: Any) -> dict[int, Function]:
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise DtypeError(
            "switch_case: branch_fns must be a list, tuple or dict, but received "
            f"{type(branch_fns).__name__}"
        )
    if not branch_fns:
        raise UsageError("switch_case: branch_fns is empty")
    items = list(branch_fns.items()) if isinstance(branch_fns, dict) else list(branch_fns)
    if all(callable(item) for item in items):
        items = list(enumerate(items))
    found: dict[int, Function] = {}
    for item in items:
        if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[0], int):
            raise DtypeError(
                "switch_case: branch_fns must hold functions or pairs (int, function), but one "
                f"item is {item!r}"
            )
        number, function = item
        if number in found:
            raise UsageError(f"switch_case: the number {number} appears twice in branch_fns")
        _require_callable("switch_case", f"function {number} of branch_fns", function)
        found[number] = function
    return found


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    is_test: bool = False,
    name: str | None = None,
) -> Any:
    """Replace the loop variables by ``body(*loop_vars)`` while ``cond(*loop_vars)`` holds; returns
    them after the loop.

    Loop variables may be nested. ``body`` returns as many, nested alike; plain numbers among them
    cannot change. ``is_test``, a hint that no gradient is wanted, changes nothing.

    Example:
        >>> import paddle
        >>> i, total = paddle.zeros([], "int64"), paddle.zeros([])
        >>> i, total = paddle.static.nn.while_loop(lambda i, t: i < 4, lambda i, t: [i + 1,
        ...     t + 2.0], [i, total])
        >>> int(i), float(total)
        (4, 8.0)
    """
    _require_callable("while_loop", "cond", cond)
    _require_callable("while_loop", "body", body)
    if not isinstance(loop_vars, (list, tuple)):
        raise DtypeError(
            "while_loop: loop_vars must be a list or tuple, but received "
            f"{type(loop_vars).__name__}"
        )
    if not loop_vars:
        raise UsageError("while_loop: loop_vars is empty")
    return (
        record_while(cond, body, loop_vars)
        if switch.is_static
        else _run_loop(cond, body, loop_vars)
    )


def _run_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any) -> Any:
    while True:
        pred = cond(*loop_vars)
        if isinstance(pred, Tensor):
            _require_one_element("while_loop", "what cond returns", pred)
        if not pred:
            return loop_vars
        results = body(*loop_vars)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        require_same_structure(
            list(loop_vars), results, ("loop_vars", "what body returns"), "while_loop"
        )
        loop_vars = results


class ConditionalBlock:
    """Runs a block if a condition holds; the block writes variables made outside.

    With ``is_scalar_condition``, ``inputs`` is one bool tensor of one element; without it the
    block runs if none of ``inputs`` is empty.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x = paddle.static.data("x", [1])
        ...     out = paddle.full([1], 0.0)
        ...     branch = paddle.static.nn.control_flow.ConditionalBlock([x > 1.0], True)
        ...     with branch.block():
        ...         _ = paddle.assign(x * 2.0, out)
        ...     exe = paddle.static.Executor()
        ...     exe.run(feed={"x": numpy.full([1], 3.0, "float32")}, fetch_list=[out])
        [array([6.], dtype=float32)]
        >>> paddle.disable_static()
    """

    def __init__(
        self, inputs: Any, is_scalar_condition: bool = False, name: str | None = None
    ) -> None:
        self._inputs = list(inputs)
        self._is_scalar = is_scalar_condition
        for value in self._inputs:
            _require_tensor(
                "ConditionalBlock", "inputs", value, ("bool",) if is_scalar_condition else ()
            )

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Record what happens if the condition holds."""
        condition = recorder.admit(self._inputs[0] if self._is_scalar else self._all_filled())
        branches = Branches()
        with branches.branch():
            yield
        with branches.branch():
            pass
        names = ("the block", "no block")
        branches.finish([condition], [None, None], names, "ConditionalBlock")

    def _all_filled(self) -> Any:
        filled = [numel(value) > 0 for value in self._inputs]
        return functools.reduce(logical_and, filled)


def _nothing() -> None:
    return None


def _require_callable(call: str, argument: str, value: Any) -> None:
    if not callable(value):
        raise DtypeError(
            f"{call}: {argument} must be callable, but received {type(value).__name__}"
        )


def _require_tensor(call: str, argument: str, value: Any, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, Tensor):
        raise DtypeError(
            f"{call}: {argument} must be a Tensor, but received {type(value).__name__}"
        )
    dtype = dtypes.name_of(value.raw.dtype)
    if switch.is_static and allowed and dtype not in allowed:
        raise DtypeError(
            f"{call}: the dtype of {argument} must be {' or '.join(allowed)}, but received {dtype}"
        )


def _require_one_element(call: str, argument: str, value: Any) -> None:
    if value.size != 1:
        raise BadArgument(
            f"{call}: {argument} must have one element, but its shape is {list(value.shape)}"
        )
