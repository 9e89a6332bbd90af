"""``static.nn.common``: layers as functions, in programs only."""

from argosy.static.nn import _conv, _conv_transpose, _dense, _norm
from argosy.static.nn._layer import recorded

__all__ = [
    "batch_norm",
    "bilinear_tensor_product",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "data_norm",
    "embedding",
    "fc",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "prelu",
    "row_conv",
    "sparse_embedding",
    "spectral_norm",
]

batch_norm = recorded(_norm.batch_norm)
bilinear_tensor_product = recorded(_dense.bilinear_tensor_product)
conv2d = recorded(_conv.conv2d)
conv2d_transpose = recorded(_conv_transpose.conv2d_transpose)
conv3d = recorded(_conv.conv3d)
conv3d_transpose = recorded(_conv_transpose.conv3d_transpose)
data_norm = recorded(_norm.data_norm)
embedding = recorded(_dense.embedding)
fc = recorded(_dense.fc)
group_norm = recorded(_norm.group_norm)
instance_norm = recorded(_norm.instance_norm)
layer_norm = recorded(_norm.layer_norm)
prelu = recorded(_dense.prelu)
row_conv = recorded(_conv.row_conv)
sparse_embedding = recorded(_dense.sparse_embedding)
spectral_norm = recorded(_norm.spectral_norm)
