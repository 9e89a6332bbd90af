"""Linear chains of tags: their cost, the best tags, and how well chunks are found."""

from __future__ import annotations

from typing import Any

import torch

from argosy import tensor as T
from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.sequences import crf as ops
from argosy.static.nn.layer import layer_call
from argosy.static.nn.sequence_lod import with_sequences
from argosy.static.record.levels import lod_variables
from argosy.static.record.recorder import default_main_program
from argosy.tensor.engine import Tensor, apply


def linear_chain_crf(input: Any, label: Any, param_attr: Any = None, length: Any = None) -> Any:
    """What the tags ``label`` cost, a row for each sequence: the negative logarithm of their
    likelihood, given emissions ``input`` and a learned matrix of transitions.

    Sequences have a lod, or are padded, [batch, steps, tags], with their ``length``.
    """
    _require("linear_chain_crf", "input", input, (torch.float32, torch.float64))
    _require("linear_chain_crf", "label", label, (torch.int64,))
    size = input.shape[1 if length is None else 2]
    with layer_call("linear_chain_crf") as helper:
        transition = helper.create_parameter(param_attr, [size + 2, size], input.dtype)
        if length is None:
            x, length = _padded("linear_chain_crf", input)
            label, _ = _padded("linear_chain_crf", label)
        else:
            x = input
        return apply(ops.linear_chain_crf, x, transition, label, length)


def crf_decoding(input: Any, param_attr: Any, label: Any = None, length: Any = None) -> Any:
    """The best tag of each step, by the transitions that ``linear_chain_crf`` learns under the
    name of ``param_attr``; with ``label``, 1 where it is that tag and 0 elsewhere.
    """
    _require("crf_decoding", "input", input, (torch.float32, torch.float64))
    transition = default_main_program().global_block().var(param_attr.name)
    if length is not None:
        path = apply(ops.crf_decoding, input, transition, length)
        if label is None:
            return path
        inside = T.unsqueeze(T.arange(0, input.shape[1], 1, "int64"), [0])
        inside = inside < T.reshape(length, [-1, 1])
        is_right = T.equal(path, T.reshape(label, path.shape))
        return T.cast(T.logical_and(is_right, inside), "int64")
    _levels("crf_decoding", input)
    path = with_sequences("crf_decoding", ops.crf_decoding_of_rows, input, transition)
    if label is not None:
        path = T.cast(T.equal(path, T.reshape(label, [-1, 1])), "int64")
    path.lod_names = input.lod_names
    return path


def chunk_eval(
    input: Any,
    label: Any,
    chunk_scheme: str,
    num_chunk_types: int,
    excluded_chunk_types: Any = None,
    seq_length: Any = None,
) -> Any:
    """Precision, recall and F1 of the chunks that the tags ``input`` mark, by the tags ``label``,
    and how many are in the first, in the second and in both.
    """
    for argument, value in (("input", input), ("label", label)):
        _require("chunk_eval", argument, value, (torch.int64,))
    if seq_length is None:
        [offsets] = _levels("chunk_eval", label)
        found, wanted = input, label
    else:
        shape = [input.shape[0], input.shape[1]]
        found, wanted, offsets = apply(
            ops.rows_of_lengths, T.reshape(input, shape), T.reshape(label, shape), seq_length
        )
    excluded = [int(n) for n in excluded_chunk_types or []]
    return apply(
        ops.chunk_eval, found, wanted, offsets, chunk_scheme, int(num_chunk_types), excluded
    )


def _levels(call: str, x: Any) -> list[Any]:
    if x.lod_level != 1:
        raise UsageError(
            f"{call}: Input must be a sequence with a lod_level of 1, but {x.name!r} has "
            f"{x.lod_level}"
        )
    return lod_variables(x)


def _padded(call: str, x: Any) -> Any:
    return apply(ops.padded_from_rows, x, _levels(call, x)[0])


def _require(call: str, argument: str, value: Any, allowed: tuple[torch.dtype, ...]) -> None:
    if not isinstance(value, Tensor):
        raise DtypeError(
            f"{call}: {argument} must be a Variable, but received {type(value).__name__}"
        )
    if value.raw.dtype not in allowed:
        raise DtypeError(
            f"{call}: {argument} must be {' or '.join(map(dtypes.name_of, allowed))}, but is "
            f"{dtypes.name_of(value.raw.dtype)}"
        )
