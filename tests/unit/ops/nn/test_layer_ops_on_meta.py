"""Ops behind layers infer shapes and dtypes on the meta device as they compute them on real
ones.
"""

import pytest
import torch

from argosy.ops.images import resize, vision
from argosy.ops.nn import attention, conv, dropout, embedding, norm, pooling

X = torch.randn(2, 4, 6, 5)
IDS = torch.tensor([[1, 2], [3, 0]])
V4 = torch.ones(4)

CALLS = {
    "conv2d same": (
        conv.conv2d,
        X,
        torch.randn(3, 4, 2, 2),
        None,
        [2, 2],
        "SAME",
        [1, 1],
        1,
        False,
    ),
    "conv2d last": (
        conv.conv2d,
        X,
        torch.randn(3, 5, 2, 2),
        None,
        [1, 1],
        [0, 1, 0, 0],
        [1, 1],
        1,
        True,
    ),
    "conv2d_transpose": (
        conv.conv2d_transpose,
        X,
        torch.randn(4, 3, 3, 3),
        None,
        [2, 2],
        [1, 0, 0, 0],
        [0, 0],
        [13, 11],
        [1, 1],
        1,
        False,
    ),
    "max_pool": (pooling.max_pool, X, [2, 2], [2, 2], [1, 1], True, False),
    "max_pool_with_index": (pooling.max_pool_with_index, X, [2, 2], [2, 2], [1, 1], True),
    "avg_pool": (pooling.avg_pool, X, [3, 3], [2, 2], [0, 1, 1, 0], True, True, False),
    "lp_pool": (pooling.lp_pool, X, 2.0, [2, 2], [2, 2], [0, 0], False, True),
    "adaptive_avg_pool": (pooling.adaptive_avg_pool, X, [2, 3], False),
    "adaptive_max_pool": (pooling.adaptive_max_pool_with_index, X, [2, 3]),
    "fractional_max_pool": (pooling.fractional_max_pool, X, [3, 3], None, 0.5),
    "batch_norm": (norm.batch_norm_, X, V4, V4, V4, V4, False, 0.9, 1e-5, False, False, False),
    "channel_moments": (norm.channel_moments, X, False),
    "layer_norm": (norm.layer_norm, X, torch.ones(30), None, 1e-5, 2),
    "rms_norm": (norm.rms_norm, X, torch.ones(5), 1e-5, 3),
    "instance_norm": (norm.instance_norm, X, V4, V4, 1e-5),
    "spectral_norm": (norm.spectral_norm, X, torch.ones(4), torch.ones(60), 1, 1, 1e-6),
    "embedding": (embedding.embedding, IDS, torch.ones(4, 3), 1, False, False),
    "one_hot": (embedding.one_hot, IDS, 5),
    "sequence_mask": (embedding.sequence_mask, IDS, 4, torch.float32),
    "dropout": (dropout.dropout, X, 0.5, False, False, [0, 1]),
    "alpha_dropout": (dropout.alpha_dropout, X, 0.5, False, True),
    "interpolate": (resize.interpolate, X, "bilinear", [9, 4], None, False, 1, False, False),
    "interpolate bicubic": (
        resize.interpolate,
        X,
        "bicubic",
        [9, 4],
        [1.5, 0.8],
        False,
        0,
        False,
        True,
    ),
    "pad": (vision.pad, X, [0, 0, 0, 0, 1, 2, 3, 0], "reflect", 0.0),
    "pad circular": (vision.pad, IDS, [1, 0, 0, 2], "circular", 0.0),
    "grid_sample": (vision.grid_sample, X, torch.zeros(2, 3, 3, 2), "bilinear", "zeros", True),
    "temporal_shift": (vision.temporal_shift, X, 2, 0.25, False),
    "channel_shuffle": (vision.channel_shuffle, X, 2, False),
    "unfold": (vision.unfold, X, [2, 2], [1, 1], [1, 0, 0, 1], [1, 1]),
    "cosine_similarity": (vision.cosine_similarity, X, X, 1, 1e-8),
    "attention": (attention.scaled_dot_product_attention, X, X, X, None, 0.0, True, True, None),
}


def _shapes(result):
    return [(t.shape, t.dtype) for t in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("name", CALLS)
def test_meta_agrees_with_the_real_device(name):
    op, *args = CALLS[name]
    real = op(*[a.clone() if isinstance(a, torch.Tensor) else a for a in args])
    abstract = op(*[a.to("meta") if isinstance(a, torch.Tensor) else a for a in args])
    assert _shapes(abstract) == _shapes(real)
    assert all(
        t.device.type == "meta" for t in (abstract if isinstance(abstract, tuple) else (abstract,))
    )
