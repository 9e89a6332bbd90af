"""What ``paddle.fluid`` does not have: one place for the names and the sentence about them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NoReturn

from argosy.static import missing

_UNSUPPORTED = frozenset(
    """
    AsyncExecutor ChunkEvaluator DataFeedDesc DetectionMAP
    DynamicRNN EditDistance IfElse LayerHelper TrainerDesc
    chunk_eval data_feed_desc debugger device_worker evaluator graphviz
    layer_helper_base learning_rate_decay lstm net_drawer trainer_desc
    DGCMomentumOptimizer DecayedAdagrad DecayedAdagradOptimizer Dpsgd DpsgdOptimizer Ftrl
    FtrlOptimizer LookaheadOptimizer
    ModelAverage PipelineOptimizer
    BasicDecoder BeamSearchDecoder Decoder GRUCell LSTMCell RNNCell add_position_encoding
    affine_channel affine_grid
    anchor_generator beam_search beam_search_decode bipartite_match box_clip box_coder
    box_decoder_and_assign center_loss
    collective collect_fpn_proposals continuous_value_model crf_decoding crop crop_tensor
    ctc_greedy_decoder deformable_conv
    deformable_roi_pooling density_prior_box detection detection_output dice_loss
    distribute_fpn_proposals dynamic_decode
    dynamic_lstmp edit_distance filter_by_instag fsp_matrix generate_mask_labels
    generate_proposal_labels
    generate_proposals get_tensor_from_selected_rows grid_sampler hash im2sequence
    image_resize_short inplace_abn
    iou_similarity linear_chain_crf locality_aware_nms matrix_nms mean_iou merge_selected_rows
    multi_box_head
    multiclass_nms multiplex nce pad_constant_like polygon_box_transform prior_box prroi_pool
    psroi_pool random_crop
    reorder_lod_tensor_by_rank resize_trilinear retinanet_detection_output retinanet_target_assign
    roi_align
    roi_perspective_transform roi_pool rpn_target_assign sampled_softmax_with_cross_entropy
    sampling_id
    sigmoid_focal_loss similarity_focus space_to_depth ssd_loss target_assign
    teacher_student_sigmoid_loss
    tensor_array_to_tensor unique_with_counts warpctc yolo_box yolov3_loss
    """.split()  # noqa: SIM905
)


# Modules that few scripts need and names of theirs: imported on first use.
_LAZY = {
    "dataset": "",
    "incubate": "",
    "DatasetFactory": "dataset",
    "InMemoryDataset": "dataset",
    "QueueDataset": "dataset",
    "transpiler": "",
    "DistributeTranspiler": "transpiler",
    "DistributeTranspilerConfig": "transpiler",
}


def lazy_names(scope: dict[str, Any]) -> Callable[[str], Any]:
    """The ``__getattr__`` of ``fluid`` and ``base`` themselves: names that are imported on first
    use, then as ``missing_names``.
    """
    missing = missing_names(scope["__name__"], scope)

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            missing(name)
        module = importlib.import_module(f"argosy.fluid.{_LAZY[name] or name}")
        return getattr(module, name) if _LAZY[name] else module

    return __getattr__


def missing_names(module: str, scope: dict[str, Any]) -> Callable[[str], NoReturn]:
    """A module's ``__getattr__``: names of 1.x are refused as not supported, others with the
    nearest names that exist.
    """
    return missing.missing_names(module, _UNSUPPORTED, scope)
