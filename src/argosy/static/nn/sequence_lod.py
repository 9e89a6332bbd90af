"""Layers and functions on sequences of different lengths: variables with a lod.

``Variable.lod_names`` names the variables that hold the offsets of the sequences; what these
functions return gets its own here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError, nearest
from argosy.framework.mode import switch
from argosy.ops.array import initialization as initialization_ops
from argosy.ops.sequences import sequence as ops
from argosy.ops.sequences import sequence_shape as shape_ops
from argosy.ops.table import Op
from argosy.static.ir.variable import Variable
from argosy.static.nn.layer import layer_call
from argosy.static.record.activation import activate
from argosy.static.record.levels import offsets_of
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Tensor, apply

_FLOATS = (torch.float32, torch.float64)
_IDS = (torch.int32, torch.int64)
_NUMBERS = (*_FLOATS, *_IDS)
_ANY = (*_NUMBERS, torch.int8, torch.uint8, torch.int16, torch.float16, torch.bfloat16, torch.bool)


def _checked(call: str, argument: str, value: Any, allowed: Sequence[torch.dtype]) -> Variable:
    if not switch.is_static:
        raise UsageError(
            f"{call}: sequences exist in static programs only; call paddle.enable_static() first"
        )
    if not isinstance(value, Tensor):
        raise DtypeError(
            f"{call}: {argument} must be a Variable, but received {type(value).__name__}"
        )
    value = recorder.admit(value)  # a Tensor with values is a constant of the program
    if value.raw.dtype not in allowed:
        raise DtypeError(
            f"{call}: {argument} must be one of {', '.join(dtypes.name_of(d) for d in allowed)}, "
            f"but {value.name!r} is {dtypes.name_of(value.raw.dtype)}"
        )
    return value  # type: ignore[no-any-return]


def _sequences(
    call: str, argument: str, value: Any, allowed: Sequence[torch.dtype], max_level: int = 1
) -> Variable:
    """``value``, which must be a Variable of sequences that nest at most ``max_level`` deep."""
    variable = _checked(call, argument, value, allowed)
    if not 1 <= variable.lod_level <= max_level:
        hint = (
            "; declare what it is computed from with lod_level=1" if not variable.lod_level else ""
        )
        raise UsageError(
            f"{call}: {argument} must be sequences with a lod_level of "
            f"{' or '.join(map(str, range(1, max_level + 1)))}, "
            f"but {variable.name!r} has lod_level {variable.lod_level}{hint}"
        )
    return variable


def _with_lod(out: Any, lod: Sequence[Any]) -> Any:
    out.lod_names = tuple(level if isinstance(level, str) else level.name for level in lod)
    return out


def _same_sequences(op: Op, x: Variable, *attributes: Any) -> Any:
    return _with_lod(apply(op, x, offsets_of(x), *attributes), x.lod_names)


def with_sequences(call: str, op: Op, x: Any, *arguments: Any) -> Any:
    """The results of an op of the rows of sequences and their offsets, one row for each; they are
    the same sequences.
    """
    rows = _sequences(call, "input", x, _FLOATS)
    out = apply(op, rows, offsets_of(rows), *arguments)
    for variable in out if isinstance(out, tuple) else (out,):
        _with_lod(variable, rows.lod_names)
    return out


def _new_sequences(op: Op, *arguments: Any) -> Any:
    """The result of an op that returns the offsets of its sequences too."""
    out, offsets = apply(op, *arguments)
    return _with_lod(out, [offsets])


# -- layers
# --------------------------------------------------------------------------------------------------


def sequence_pool(input: Any, pool_type: str, is_test: bool = False, pad_value: float = 0.0) -> Any:
    """One row for each innermost sequence: its "sum", "average", "sqrt" (sum over root of length),
    "max", "first" or "last" row.

    An empty sequence gives ``pad_value``. ``is_test`` changes nothing.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     words = paddle.static.data("words", [None, 1], "float32", lod_level=1)
        ...     total = paddle.static.nn.sequence_pool(words, "sum")
        ...     fed = {"words": (numpy.ones((5, 1), "float32"), [[2, 3]])}
        ...     paddle.static.Executor().run(feed=fed, fetch_list=[total])[0].tolist()
        [[2.0], [3.0]]
        >>> paddle.disable_static()
    """
    x = _sequences("sequence_pool", "input", input, _FLOATS, 2)
    kind = str(pool_type).lower()
    if kind not in ops.POOL_TYPES:
        raise UsageError(
            f"sequence_pool: unknown pool_type {pool_type!r}.{nearest(kind, ops.POOL_TYPES)}"
        )
    return _with_lod(
        apply(ops.sequence_pool, x, offsets_of(x), kind, float(pad_value)), x.lod_names[:-1]
    )


def sequence_first_step(input: Any) -> Any:
    """The first row of each sequence; zeros for an empty one."""
    return sequence_pool(input, "first")


def sequence_last_step(input: Any) -> Any:
    """The last row of each sequence; zeros for an empty one."""
    return sequence_pool(input, "last")


def sequence_softmax(input: Any, use_cudnn: bool = False, name: str | None = None) -> Any:
    """Softmax inside each sequence of single numbers, [N] or [N, 1]."""
    return _same_sequences(
        ops.sequence_softmax, _sequences("sequence_softmax", "input", input, _FLOATS)
    )


def sequence_conv(
    input: Any,
    num_filters: int,
    filter_size: int = 3,
    filter_stride: int = 1,
    padding: bool = True,
    padding_start: int | None = None,
    bias_attr: Any = None,
    param_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """Convolve over the rows of each sequence; a filter sees ``filter_size`` rows, the first
    ``padding_start`` (default: minus half of them) after its own.

    Rows outside of a sequence count as zeros, so sequences keep their lengths; ``padding`` changes
    nothing.
    """
    x = _sequences("sequence_conv", "input", input, _FLOATS)
    if filter_stride != 1:
        raise UsageError(
            f"sequence_conv: only filter_stride=1 is possible, but received {filter_stride}"
        )
    if len(x.shape) != 2 or x.shape[1] < 0:
        raise UsageError(
            f"sequence_conv: input must be [rows, known width], but its shape is {list(x.shape)}"
        )
    start = -(filter_size // 2) if padding_start is None else padding_start
    with layer_call("sequence_conv", name, x) as helper:
        weight = helper.create_parameter(
            param_attr, [filter_size * x.shape[1], num_filters], x.dtype
        )
        out = _same_sequences(ops.sequence_conv, x, weight, start, filter_size)
        bias = helper.create_parameter(bias_attr, [num_filters], x.dtype, is_bias=True)
        return activate(out if bias is None else out + bias, act)


# -- sequences by the measure of others
# -------------------------------------------------------------------------


def sequence_expand(x: Any, y: Any, ref_level: int = -1, name: str | None = None) -> Any:
    """Repeat each row of ``x``, or each of its sequences, as often as the sequence of ``y`` at its
    place is long, on level ``ref_level``.
    """
    rows, measure = (
        _checked("sequence_expand", "x", x, _NUMBERS),
        _sequences("sequence_expand", "y", y, _ANY, 2),
    )
    if not -1 <= ref_level < measure.lod_level:
        raise UsageError(
            f"sequence_expand: ref_level={ref_level}, but {measure.name!r} has "
            f"{measure.lod_level} levels"
        )
    lengths = offsets_of(measure, ref_level)
    if not rows.lod_level:
        return apply(shape_ops.sequence_expand, rows, lengths, None)
    _sequences("sequence_expand", "x", rows, _NUMBERS)
    return _new_sequences(shape_ops.sequence_expand, rows, lengths, offsets_of(rows))


def sequence_expand_as(x: Any, y: Any, name: str | None = None) -> Any:
    """Repeat each row of ``x`` as often as the sequence of ``y`` at its place is long; the result
    has the sequences of ``y``.
    """
    rows, measure = (
        _checked("sequence_expand_as", "x", x, _NUMBERS),
        _sequences("sequence_expand_as", "y", y, _ANY),
    )
    return _with_lod(
        apply(shape_ops.sequence_expand_as, rows, offsets_of(measure)), measure.lod_names
    )


def sequence_scatter(input: Any, index: Any, updates: Any, name: str | None = None) -> Any:
    """Add to each row of ``input`` the ``updates`` of the sequence at its place, in the columns
    that ``index`` has for them.
    """
    x = _checked("sequence_scatter", "input", input, _NUMBERS)
    columns = _sequences("sequence_scatter", "index", index, _IDS)
    values = _sequences("sequence_scatter", "updates", updates, [x.raw.dtype])
    return _with_lod(
        apply(ops.sequence_scatter, x, columns, values, offsets_of(columns)), x.lod_names
    )


# -- padding
# --------------------------------------------------------------------------------------------------


def sequence_pad(
    x: Any, pad_value: Any, maxlen: int | None = None, name: str | None = None
) -> tuple[Any, Any]:
    """[sequences, maxlen, ...] with ``pad_value`` (one number, or a row) behind the end of each,
    and their lengths; None: as long as the longest.
    """
    rows = _sequences("sequence_pad", "x", x, _NUMBERS)
    filler = _checked("sequence_pad", "pad_value", pad_value, [rows.raw.dtype])
    filler.stop_gradient = True  # as in Paddle
    out, lengths = apply(
        shape_ops.sequence_pad,
        rows,
        offsets_of(rows),
        filler,
        -1 if maxlen is None else int(maxlen),
    )
    return out, lengths


def sequence_unpad(x: Any, length: Any, name: str | None = None) -> Any:
    """Sequences of the first ``length[i]`` steps of each row of [sequences, steps, ...]."""
    padded = _checked("sequence_unpad", "x", x, _NUMBERS)
    return _new_sequences(
        shape_ops.sequence_unpad,
        padded,
        _checked("sequence_unpad", "length", length, [torch.int64]),
    )


# -- other sequences
# --------------------------------------------------------------------------------------------


def sequence_concat(input: Any, name: str | None = None) -> Any:
    """Join the sequences at the same place of every variable of the list."""
    if not isinstance(input, (list, tuple)) or not input:
        raise DtypeError(
            "sequence_concat: input must be a list of Variables, but received "
            f"{type(input).__name__}"
        )
    parts = [_sequences("sequence_concat", f"input[{i}]", v, _NUMBERS) for i, v in enumerate(input)]
    for i, part in enumerate(parts):
        _checked("sequence_concat", f"input[{i}]", part, [parts[0].raw.dtype])
    return _new_sequences(shape_ops.sequence_concat, parts, [offsets_of(v) for v in parts])


def sequence_reverse(x: Any, name: str | None = None) -> Any:
    """The rows of each sequence from last to first."""
    return _same_sequences(
        ops.sequence_reverse, _sequences("sequence_reverse", "x", x, (*_NUMBERS, torch.int8))
    )


def sequence_slice(input: Any, offset: Any, length: Any, name: str | None = None) -> Any:
    """``length[i]`` rows from ``offset[i]`` on of each sequence; both are integers of shape
    [sequences, 1].
    """
    x = _sequences("sequence_slice", "input", input, _NUMBERS)
    start, count = (
        _checked("sequence_slice", n, v, _IDS) for n, v in (("offset", offset), ("length", length))
    )
    return _new_sequences(shape_ops.sequence_slice, x, offsets_of(x), start, count)


def sequence_reshape(input: Any, new_dim: int) -> Any:
    """Rows of ``new_dim`` numbers, with the numbers of each sequence in their order."""
    x = _sequences("sequence_reshape", "input", input, _NUMBERS)
    return _new_sequences(shape_ops.sequence_reshape, x, offsets_of(x), int(new_dim))


def sequence_enumerate(
    input: Any, win_size: int, pad_value: int = 0, name: str | None = None
) -> Any:
    """For each id the ``win_size`` ids from it on, ``pad_value`` after the end of its sequence."""
    x = _sequences("sequence_enumerate", "input", input, _IDS)
    return _same_sequences(ops.sequence_enumerate, x, int(win_size), int(pad_value))


def lod_reset(x: Any, y: Any = None, target_lod: Sequence[int] | None = None) -> Any:
    """``x`` with other sequences: those of ``y``, those at the offsets that ``y`` without lod
    holds, or those at ``target_lod``.
    """
    rows = _checked("lod_reset", "x", x, _NUMBERS)
    if y is None and target_lod is None:
        raise UsageError("lod_reset: y and target_lod should not be both none")
    if y is not None and not isinstance(y, Variable):
        raise DtypeError(f"lod_reset: y must be a Variable, but received {type(y).__name__}")
    if y is not None and y.lod_level:
        out, _ = apply(shape_ops.lod_reset, rows, offsets_of(y))
        return _with_lod(out, y.lod_names)
    return _new_sequences(shape_ops.lod_reset, rows, y if y is not None else _constant(target_lod))


def lod_append(x: Any, level: Any) -> Any:
    """``x`` with one more, innermost level of sequences: at the offsets ``level``, a list or a
    Variable.

    A Variable with a lod has its lod taken over instead, as by ``lod_reset``.
    """
    if isinstance(level, Variable) and level.lod_level:
        return lod_reset(x, level)
    rows = _checked("lod_append", "x", x, _NUMBERS)
    if not isinstance(level, (Variable, list, tuple)):
        raise UsageError(
            f"lod_append: level must be a list or a Variable, but received {type(level).__name__}"
        )
    out = _new_sequences(
        shape_ops.lod_reset, rows, level if isinstance(level, Variable) else _constant(level)
    )
    return _with_lod(out, [*rows.lod_names, *out.lod_names])


def _constant(offsets: Any) -> Any:
    return apply(initialization_ops.assign_value, np.asarray(list(offsets), np.int64), torch.int64)
