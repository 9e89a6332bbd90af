"""Layers as functions: each call creates its parameters in the program that is recorded."""

from argosy.static._missing import missing_names
from argosy.static._py_func import py_func
from argosy.static.nn._control import case, cond, switch_case, while_loop
from argosy.static.nn._conv import conv2d, conv3d, row_conv
from argosy.static.nn._conv_transpose import conv2d_transpose, conv3d_transpose
from argosy.static.nn._dense import bilinear_tensor_product, embedding, fc, prelu, sparse_embedding
from argosy.static.nn._norm import batch_norm, data_norm, group_norm, instance_norm, layer_norm, spectral_norm
from argosy.static.nn._sequence import (
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

__getattr__ = missing_names(
    __name__,
    "deform_conv2d nce static_pylayer",
    globals(),
)
