"""Layers as functions: each call creates its parameters in the program that is recorded."""

from argosy.foundation.missing import missing_names
from argosy.static.nn.common import (
    batch_norm,
    bilinear_tensor_product,
    continuous_value_model,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    data_norm,
    embedding,
    fc,
    group_norm,
    instance_norm,
    layer_norm,
    prelu,
    row_conv,
    sparse_embedding,
    spectral_norm,
)
from argosy.static.nn.control_flow import case, cond, switch_case, while_loop
from argosy.static.nn.deform import deform_conv2d
from argosy.static.nn.sequence_lod import (
    sequence_concat,
    sequence_conv,
    sequence_enumerate,
    sequence_expand,
    sequence_expand_as,
    sequence_first_step,
    sequence_last_step,
    sequence_pad,
    sequence_pool,
    sequence_reshape,
    sequence_reverse,
    sequence_scatter,
    sequence_slice,
    sequence_softmax,
    sequence_unpad,
)
from argosy.static.nn.static_pylayer import static_pylayer
from argosy.static.record.py_func import py_func

__getattr__ = missing_names(
    __name__,
    ("nce",),
    globals(),
)
