"""Operators on sequences, and on arrays whose elements may be such: Paddle's tensors hold their
offsets themselves, here they are variables that such an operator takes. So these are recorded by
the functions of ``static.nn`` and ``static.record``, which find them.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError
from argosy.ops.sequences import crf as crf_ops
from argosy.ops.sequences import sequence as ops
from argosy.ops.sequences import sequence_rnn as rnn_ops
from argosy.static.nn import sequence_lod as faces
from argosy.static.record import arrays, ranks
from argosy.static.record.op_types import define, listed
from argosy.tensor.creation import assign


@define("sequence_pool", unused=("MaxIndex",))
def _pool(X: Any, pooltype: str = "AVERAGE", pad_value: float = 0.0, is_test: bool = False) -> Any:
    return faces.sequence_pool(X, pooltype.lower(), is_test, pad_value)


@define("sequence_softmax")
def _softmax(X: Any) -> Any:
    return faces.sequence_softmax(X)


@define("sequence_conv")
def _conv(
    X: Any, Filter: Any, contextLength: int, contextStart: int = 0, contextStride: int = 1
) -> Any:
    return faces.with_sequences(
        "sequence_conv", ops.sequence_conv, X, Filter, contextStart, contextLength
    )


@define("sequence_reverse", outputs=("Y",))
def _reverse(X: Any) -> Any:
    return faces.sequence_reverse(X)


@define("sequence_expand")
def _expand(X: Any, Y: Any, ref_level: int = -1) -> Any:
    return faces.sequence_expand(X, Y, ref_level)


@define("sequence_expand_as")
def _expand_as(X: Any, Y: Any) -> Any:
    return faces.sequence_expand_as(X, Y)


@define("sequence_concat", lists=("X",))
def _concat(X: Any) -> Any:
    return faces.sequence_concat(listed(X))


@define("sequence_reshape")
def _reshape(X: Any, new_dim: int) -> Any:
    return faces.sequence_reshape(X, new_dim)


@define("sequence_enumerate")
def _enumerate(X: Any, win_size: int, pad_value: int = 0) -> Any:
    return faces.sequence_enumerate(X, win_size, pad_value)


@define("sequence_slice")
def _slice(X: Any, Offset: Any, Length: Any) -> Any:
    return faces.sequence_slice(X, Offset, Length)


@define("sequence_pad", outputs=("Out", "Length"))
def _pad(X: Any, PadValue: Any, padded_length: int = -1) -> Any:
    return faces.sequence_pad(X, PadValue, None if padded_length < 0 else padded_length)


@define("sequence_unpad")
def _unpad(X: Any, Length: Any) -> Any:
    return faces.sequence_unpad(X, Length)


@define("crf_decoding", outputs=("ViterbiPath",))
def _crf_decoding(Emission: Any, Transition: Any) -> Any:
    return faces.with_sequences("crf_decoding", crf_ops.crf_decoding_of_rows, Emission, Transition)


@define("lod_reset")
def _lod_reset(X: Any, Y: Any = None, target_lod: Any = ()) -> Any:
    return faces.lod_reset(X, Y, list(target_lod) or None)


@define("lstm", outputs=("Hidden", "Cell"), unused=("BatchGate", "BatchCellPreAct"))
def _lstm(
    Input: Any,
    Weight: Any,
    Bias: Any,
    H0: Any = None,
    C0: Any = None,
    use_peepholes: bool = True,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    candidate_activation: str = "tanh",
) -> Any:
    return faces.with_sequences(
        "lstm", rnn_ops.dynamic_lstm, Input, Weight, Bias, H0, C0, use_peepholes, is_reverse,
        gate_activation, cell_activation, candidate_activation,
    )  # fmt: skip


@define("gru", outputs=("Hidden",), unused=("BatchGate", "BatchResetHiddenPrev", "BatchHidden"))
def _gru(
    Input: Any,
    Weight: Any,
    Bias: Any = None,
    H0: Any = None,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    activation: str = "tanh",
    origin_mode: bool = False,
) -> Any:
    return faces.with_sequences(
        "gru", rnn_ops.dynamic_gru, Input, Weight, Bias, H0, is_reverse, gate_activation,
        activation, origin_mode,
    )  # fmt: skip


# -- sequences by rank, rows by a mask, beams
# --------------------------------------------------------------------------------------------------


@define("lod_rank_table")
def _rank_table(X: Any, level: int = 0) -> Any:
    return ranks.rank_table(X, _count("level", level))


@define("shrink_rnn_memory")
def _shrunk(X: Any, I: Any, RankTable: Any) -> Any:
    return ranks.shrunk(X, I, RankTable)


@define("reorder_lod_tensor_by_rank")
def _reordered(X: Any, RankTable: Any) -> Any:
    return ranks.reordered(X, RankTable)


@define("split_lod_tensor", outputs=("OutTrue", "OutFalse"))
def _divided(X: Any, Mask: Any, level: int = 0) -> Any:
    return ranks.divided(X, _mask(Mask), _count("level", level))


@define("merge_lod_tensor", "merge_lod_tensor_infer")
def _merged(X: Any, Mask: Any, InTrue: Any, InFalse: Any, level: int = 0) -> Any:
    if level:
        raise UsageError(f"has level={level}, which is not supported")
    return ranks.merged(InTrue, InFalse, _mask(Mask))


@define(
    "beam_search",
    outputs=("selected_ids", "selected_scores", "parent_idx"),
    small_slots=("pre_ids", "pre_scores", "ids", "scores"),
)
def _beam_search(
    pre_ids: Any,
    pre_scores: Any,
    scores: Any,
    level: int,
    beam_size: int,
    end_id: int,
    ids: Any = None,
    is_accumulated: bool = True,
) -> Any:
    sizes = _count("level", level), _count("beam_size", beam_size), _count("end_id", end_id)
    return ranks.best_beams(pre_ids, pre_scores, ids, scores, *sizes, bool(is_accumulated))


@define("rnn_memory_helper")
def _memory(X: Any, dtype: int = 5) -> Any:
    return assign(X)


def _count(name: str, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise UsageError(f"has {name}={value!r:.60}, which must be a number from 0 on")
    return value


def _mask(variable: Any) -> Any:
    if variable.raw.dtype is not torch.bool:
        raise UsageError(f"the mask {variable.name!r} is {dtypes.name_of(variable.raw.dtype)}")
    return variable


# -- arrays
# --------------------------------------------------------------------------------------------------


@define("read_from_array")
def _read(X: Any, I: Any) -> Any:
    array = _array(X)
    array.is_known = True  # what nothing was written to yet has the declared elements
    return arrays.record_read(array, I)


@define("lod_array_length")
def _length(X: Any) -> Any:
    return arrays.record_length(_array(X))


@define("lod_tensor_to_array")
def _steps(X: Any, RankTable: Any) -> Any:
    return ranks.steps(X, RankTable)


@define("array_to_lod_tensor")
def _sequences(X: Any, RankTable: Any) -> Any:
    return arrays.record_sequences(_array(X), RankTable)


@define("tensor_array_to_tensor", outputs=("Out", "OutIndex"))
def _joined(X: Any, axis: int = 0, use_stack: bool = False) -> Any:
    return arrays.record_joined(_array(X), axis, use_stack)


@define("beam_search_decode", outputs=("SentenceIds", "SentenceScores"))
def _backtrace(Ids: Any, Scores: Any, beam_size: int, end_id: int) -> Any:
    sizes = _count("beam_size", beam_size), _count("end_id", end_id)
    return arrays.record_backtrace(_array(Ids), _array(Scores), *sizes)


def _array(variable: Any) -> Any:
    if not isinstance(variable, arrays.ArrayVariable):
        raise UsageError(f"{variable.name!r} is no array")
    return variable
