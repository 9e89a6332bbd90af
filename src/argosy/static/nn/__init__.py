"""Layers as functions: each call creates its parameters in the program that is recorded."""

from argosy.static._missing import missing_names
from argosy.static.nn._conv import conv2d
from argosy.static.nn._dense import embedding, fc
from argosy.static.nn._norm import batch_norm, layer_norm

__getattr__ = missing_names(
    __name__,
    """
    bilinear_tensor_product case cond conv2d_transpose conv3d conv3d_transpose data_norm deform_conv2d group_norm
    instance_norm nce prelu py_func row_conv sequence_conv sequence_enumerate sequence_expand sequence_expand_as
    sequence_first_step sequence_last_step sequence_pad sequence_pool sequence_reshape sequence_scatter sequence_slice
    sequence_softmax sequence_unpad sparse_embedding spectral_norm static_pylayer switch_case while_loop
    """,
    globals(),
)
