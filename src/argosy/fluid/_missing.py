"""What ``paddle.fluid`` does not have yet: one place for the names of static graphs and the sentence about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from argosy.foundation.errors import nearest

_STATIC = frozenset(
    """
    BuildStrategy CompiledProgram DataFeedDesc DataFeeder DatasetFactory DistributeTranspiler DistributeTranspilerConfig
    ExecutionStrategy Executor LoDTensor LoDTensorArray ParallelExecutor Program Scope WeightNormParamAttr append_backward
    backward batch_norm bilinear_tensor_product compiler conv2d conv2d_transpose conv3d conv3d_transpose create_global_var
    create_lod_tensor create_py_reader_by_data create_random_int_lodtensor create_tensor data data_feed_desc dataset
    device_guard double_buffer dynamic_gru dynamic_lstm dynamic_lstmp embedding evaluator executor fc global_scope gradients
    group_norm gru_unit hsigmoid incubate instance_norm is_parameter is_persistable layer_norm load load_inference_model
    load_params load_persistables load_program_state load_vars lod_tensor lstm lstm_unit memory_optimize name_scope nce nets
    parallel_executor prelu program_guard py_func py_reader read_file release_memory row_conv save save_inference_model
    save_params save_persistables save_vars scope_guard sequence_conv sequence_expand sequence_pad sequence_pool
    sequence_softmax sequence_unpad set_gradient_clip set_program_state spectral_norm transpiler
    Switch While IfElse StaticRNN DynamicRNN Print Assert LayerHelper auc chunk_eval
    """.split()  # noqa: SIM905
)


def refuse(name: str) -> NoReturn:
    """Say that ``name`` belongs to static graphs."""
    raise AttributeError(
        f"{name}: static graphs are not available yet; paddle.fluid runs dygraph scripts, inside `with fluid.dygraph.guard():`."
    )


def missing_names(module: str, scope: dict[str, Any]) -> Callable[[str], NoReturn]:
    """A module's ``__getattr__``: static names are refused with the reason, others with the nearest names that exist."""
    shown = module.replace("argosy", "paddle", 1)

    def __getattr__(name: str) -> NoReturn:
        if name in _STATIC:
            refuse(f"{shown}.{name}")
        known = [] if name.startswith("_") else [key for key in scope if not key.startswith("_")]
        raise AttributeError(f"module {shown!r} has no attribute {name!r}.{nearest(name, known)}")

    return __getattr__
