"""Types of Paddle's operators that ``Block.append_op`` records: functions whose parameters are the
operator's input slots and attributes.

Every op of the table with one or two tensors and nothing else is such a type by its name and
aliases; here are those that differ.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from argosy import tensor as T
from argosy.foundation import dtypes
from argosy.foundation.errors import NotSupported, nearest
from argosy.nn import functional as F
from argosy.ops import table
from argosy.ops.array import initialization
from argosy.ops.fluid.product import ALONG
from argosy.static.record.activation import ACTIVATIONS
from argosy.static.record.folding import mul
from argosy.tensor.engine import apply
from argosy.tensor.random import gaussian

# Attributes that tell Paddle how to run an operator, not what it computes.
HINTS = frozenset(
    """
    Input_scale Out0_threshold Out_threshold Output_scale ScaleAlpha Scale_in Scale_in_eltwise
    Scale_out Scale_weights Scale_x Scale_y X0_threshold alpha_mkldnn auto_grown_table
    beta_mkldnn dynamic_shape entry entry_config epmap exhaustive_search fix_seed
    force_cpu fuse_brelu_threshold fused_output_scale fused_reshape_Out fused_reshape_X
    fused_reshape_Y
    fused_transpose_Out fused_transpose_X fused_transpose_Y fused_unsqueeze2_axes grad_inplace
    head_number height_sections infer_flags input_scale mkldnn_data_type
    numeric_stable_mode op_callstack op_device op_namescope op_role_var output_scale place_type
    remote_prefetch scale_in scale_in_eltwise scale_out scale_weights scale_x scale_y skip_quant
    table_names trainer_id use_addto use_calc_stream use_cudnn use_mkldnn use_model_parallel
    use_quantizer with_quant_attr workspace_size_MB x_data_format y_data_format
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class OpType:
    """What records an operator. ``unused`` are outputs that only Paddle's own gradient operators
    read: they get no value. ``lists`` are slots that may have several variables. Inputs begin with
    a capital letter, but for ``small_slots``.
    """

    record: Callable[..., Any]
    outputs: tuple[str, ...] = ("Out",)
    unused: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    small_slots: tuple[str, ...] = ()


_TYPES: dict[str, OpType] = {}


def input_slots(name: str) -> tuple[str, ...]:
    """The slots for the inputs of a type, in their order."""
    kind = find(name)
    parameters = inspect.signature(kind.record).parameters
    return tuple(p for p in parameters if p[0].isupper() or p in kind.small_slots)


def is_defined(name: str) -> bool:
    """Whether a function here records a type."""
    return name in _TYPES


def names_of(name: str) -> tuple[str, ...]:
    """The inputs and attributes of a type."""
    return tuple(inspect.signature(find(name).record).parameters)


def find(name: str) -> OpType:
    """The type of this name."""
    if name in _TYPES:
        return _TYPES[name]
    if name in ACTIVATIONS:
        return OpType(lambda X: ACTIVATIONS[name](X))
    op = next(iter(table.of_type(name)), None) or table.find(name)
    if op is not None and op.params == ("x",):
        return OpType(lambda X: apply(op, X))
    if op in ALONG:
        return OpType(lambda X, Y, axis=-1: apply(ALONG[op], X, Y, axis))
    if op is not None and op.params == ("x", "y"):
        return OpType(lambda X, Y, axis=-1: apply(op, X, Y))
    raise NotSupported(
        f"append_op(type={name!r}): operators of this type cannot be added by hand; call the "
        "function of paddle that "
        f"computes it.{nearest(name, _TYPES)}"
    )


def known() -> list[str]:
    """The names of all types."""
    plain = (
        name
        for op in map(table.get, table.names())
        if op.params in (("x",), ("x", "y"))
        for name in op.known_names
    )
    return sorted({*_TYPES, *ACTIVATIONS, *plain})


def define(
    *names: str,
    outputs: tuple[str, ...] = ("Out",),
    unused: tuple[str, ...] = (),
    lists: tuple[str, ...] = (),
    small_slots: tuple[str, ...] = (),
) -> Callable[[Any], Any]:
    """Decorate a function that records operators of these types."""

    def add(record: Callable[..., Any]) -> Callable[..., Any]:
        _TYPES.update(dict.fromkeys(names, OpType(record, outputs, unused, lists, small_slots)))
        return record

    return add


def listed(values: Any) -> list[Any]:
    """The values of a slot that may have one or several."""
    return values if isinstance(values, list) else [values]


# -- numbers
# --------------------------------------------------------------------------------------------------


@define("scale")
def _scale(X: Any, scale: float = 1.0, bias: float = 0.0, bias_after_scale: bool = True) -> Any:
    return T.scale(X, scale, bias, bias_after_scale)


@define("sum", lists=("X",))
def _sum(X: Any) -> Any:
    return T.add_n(listed(X))


@define("mean")
def _mean(X: Any) -> Any:
    return T.mean(X)


@define("mul")
def _mul(X: Any, Y: Any, x_num_col_dims: int = 1, y_num_col_dims: int = 1) -> Any:
    return mul(X, Y, x_num_col_dims, y_num_col_dims)


@define("matmul")
def _matmul(
    X: Any, Y: Any, transpose_X: bool = False, transpose_Y: bool = False, alpha: float = 1.0
) -> Any:
    out = T.matmul(X, Y, transpose_X, transpose_Y)
    return out if alpha == 1.0 else out * alpha


@define("matmul_v2")
def _matmul_v2(X: Any, Y: Any, trans_x: bool = False, trans_y: bool = False) -> Any:
    return T.matmul(X, Y, trans_x, trans_y)


@define("pow")
def _pow(X: Any, factor: float = 1.0) -> Any:
    return T.pow(X, factor)


@define("clip")
def _clip(X: Any, min: float, max: float) -> Any:
    return T.clip(X, min, max)


@define("increment")
def _increment(X: Any, step: float = 1.0) -> Any:
    return T.scale(X, 1.0, step)


@define("leaky_relu")
def _leaky_relu(X: Any, alpha: float = 0.02) -> Any:
    return F.leaky_relu(X, alpha)


@define("gelu")
def _gelu(X: Any, approximate: bool = False) -> Any:
    return F.gelu(X, approximate)


@define("softmax")
def _softmax(X: Any, axis: int = -1) -> Any:
    return F.softmax(X, axis)


@define("log_softmax")
def _log_softmax(X: Any, axis: int = -1) -> Any:
    return F.log_softmax(X, axis)


@define("dropout", unused=("Mask",))
def _dropout(
    X: Any,
    dropout_prob: float = 0.5,
    is_test: bool = False,
    dropout_implementation: str = "downgrade_in_infer",
    seed: int = 0,
) -> Any:
    if seed:
        raise NotSupported("append_op(type='dropout'): seed; set the random_seed of the program")
    mode = (
        "downscale_in_infer"
        if dropout_implementation == "downgrade_in_infer"
        else dropout_implementation
    )
    return F.dropout(X, dropout_prob, training=not is_test, mode=mode)


def _reduction(compute: Callable[..., Any]) -> Callable[..., Any]:
    def record(X: Any, dim: Any = (0,), keep_dim: bool = False, reduce_all: bool = False) -> Any:
        return compute(X, axis=None if reduce_all or not listed(dim) else dim, keepdim=keep_dim)

    return record


_TYPES.update(
    {
        f"reduce_{c.__name__}": OpType(_reduction(c))
        for c in (T.sum, T.mean, T.max, T.min, T.prod, T.all, T.any)
    }
)


# -- new tensors
# ------------------------------------------------------------------------------------------------


@define("fill_constant")
def _fill_constant(
    shape: Any, dtype: Any = "float32", value: float = 0.0, str_value: str = ""
) -> Any:
    return T.full(shape, float(str_value) if str_value else value, dtype)


@define("fill_zeros_like")
def _fill_zeros_like(X: Any) -> Any:
    return T.zeros_like(X)


@define("fill_any_like")
def _fill_any_like(X: Any, value: float = 0.0, dtype: Any = -1) -> Any:
    return T.full_like(X, value, None if dtype == -1 else dtype)


@define("uniform_random")
def _uniform_random(
    shape: Any, min: float = -1.0, max: float = 1.0, seed: int = 0, dtype: Any = "float32"
) -> Any:
    return T.uniform(shape, dtype, min, max, seed)


@define("gaussian_random")
def _gaussian_random(
    shape: Any, mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: Any = "float32"
) -> Any:
    return gaussian(shape, mean, std, seed, dtype)


@define("truncated_gaussian_random")
def _truncated_gaussian_random(
    shape: Any,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int = 0,
    dtype: Any = "float32",
    a: float | None = None,
    b: float | None = None,
) -> Any:
    bounds = (mean - 2.0 * std if a is None else a, mean + 2.0 * std if b is None else b)
    op = initialization.truncated_gaussian_random
    return apply(op, list(shape), mean, std, *bounds, dtypes.to_torch(dtype), seed)


@define("cast")
def _cast(X: Any, out_dtype: Any, in_dtype: Any = None) -> Any:
    return T.cast(X, out_dtype)


@define("shape")
def _shape(Input: Any) -> Any:
    return T.cast(T.shape(Input), "int32")


# -- shapes and places
# ------------------------------------------------------------------------------------------


@define("reshape", "reshape2", unused=("XShape",))
def _reshape(X: Any, shape: Any) -> Any:
    return T.reshape(X, shape)


@define("transpose", "transpose2", unused=("XShape",))
def _transpose(X: Any, axis: Any) -> Any:
    return T.transpose(X, axis)


@define("squeeze", "squeeze2", unused=("XShape",))
def _squeeze(X: Any, axes: Any = ()) -> Any:
    return T.squeeze(X, list(axes) or None)


@define("unsqueeze", "unsqueeze2", unused=("XShape",))
def _unsqueeze(X: Any, axes: Any) -> Any:
    return T.unsqueeze(X, axes)


@define("flatten_contiguous_range", unused=("XShape",))
def _flatten(X: Any, start_axis: int = 1, stop_axis: int = 1) -> Any:
    return T.flatten(X, start_axis, stop_axis)


@define("concat", lists=("X",))
def _concat(X: Any, axis: int = 0) -> Any:
    return T.concat(listed(X), axis)


@define("stack", outputs=("Y",), lists=("X",))
def _stack(X: Any, axis: int = 0) -> Any:
    return T.stack(listed(X), axis)


@define("split", lists=("Out",))
def _split(X: Any, num: int = 0, sections: Any = (), axis: int = 0) -> Any:
    return list(T.split(X, list(sections) or num, axis))


@define("slice")
def _slice(Input: Any, axes: Any, starts: Any, ends: Any, decrease_axis: Any = ()) -> Any:
    out = T.slice(Input, axes, starts, ends)
    return T.squeeze(out, list(decrease_axis)) if decrease_axis else out


@define("gather")
def _gather(X: Any, Index: Any, axis: int = 0) -> Any:
    return T.gather(X, Index, axis)


@define("where")
def _where(Condition: Any, X: Any, Y: Any) -> Any:
    return T.where(Condition, X, Y)


@define("top_k", "top_k_v2", outputs=("Out", "Indices"))
def _top_k(X: Any, k: int = 1, axis: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return T.topk(X, k, axis, largest, sorted)


@define("lookup_table_v2")
def _lookup_v2(
    W: Any, Ids: Any, padding_idx: int = -1, is_sparse: bool = False, is_distributed: bool = False
) -> Any:
    return F.embedding(Ids, W, None if padding_idx == -1 else padding_idx, is_sparse)


@define("lookup_table")
def _lookup(
    W: Any, Ids: Any, padding_idx: int = -1, is_sparse: bool = False, is_distributed: bool = False
) -> Any:
    return _lookup_v2(W, T.squeeze(Ids, [-1]), padding_idx, is_sparse)


# -- losses
# --------------------------------------------------------------------------------------------------


@define("cross_entropy", outputs=("Y",))
def _cross_entropy(X: Any, Label: Any, soft_label: bool = False, ignore_index: int = -100) -> Any:
    out = F.cross_entropy(
        X,
        Label,
        ignore_index=ignore_index,
        reduction="none",
        soft_label=soft_label,
        use_softmax=False,
    )
    return out if out.ndim == X.ndim else T.unsqueeze(out, [-1])


@define("softmax_with_cross_entropy", outputs=("Loss", "Softmax"))
def _softmax_with_cross_entropy(
    Logits: Any, Label: Any, soft_label: bool = False, ignore_index: int = -100, axis: int = -1
) -> Any:
    return F.softmax_with_cross_entropy(Logits, Label, soft_label, ignore_index, True, True, axis)


# -- updates
# --------------------------------------------------------------------------------------------------


@define(
    "dgc_momentum",
    outputs=("ParamOut", "VelocityOut", "Grad_out"),
    small_slots=("current_step", "nranks"),
)
def _dgc_momentum(
    Param: Any,
    Grad: Any,
    Velocity: Any,
    LearningRate: Any,
    current_step: Any,
    nranks: Any,
    mu: float = 0.9,
    use_nesterov: bool = False,
    rampup_begin_step: float = 0.0,
) -> Any:
    """Momentum with the mean over ranks; from ``rampup_begin_step`` on, when gradients are
    compressed ones that carry the momentum already, SGD.
    """
    grad = Grad / nranks
    velocity = mu * Velocity + grad
    has_begun = current_step >= rampup_begin_step
    direction = T.where(has_begun, grad, grad + mu * velocity if use_nesterov else velocity)
    return Param - LearningRate * direction, T.where(has_begun, Velocity, velocity), grad
