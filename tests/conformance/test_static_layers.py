"""Layers recorded into a program compute what they compute in eager mode, with known and with
unknown batch sizes.
"""

from __future__ import annotations

import numpy as np
import pytest

import paddle

nn = paddle.nn


def normal(*shape):
    return np.random.RandomState(sum(shape)).randn(*shape).astype("float32")


LAYERS = {
    "lstm": (lambda: nn.LSTM(4, 5, 2, direction="bidirect"), [normal(3, 6, 4)]),
    "gru": (lambda: nn.GRU(4, 5), [normal(3, 6, 4)]),
    "simple_rnn": (lambda: nn.SimpleRNN(4, 5), [normal(3, 6, 4)]),
    "lstm_cell": (lambda: nn.LSTMCell(4, 5), [normal(3, 4)]),
    "rnn": (lambda: nn.RNN(nn.GRUCell(4, 5)), [normal(3, 6, 4)]),
    "encoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 2),
        [normal(2, 5, 8)],
    ),
    "transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, dropout=0.0),
        [normal(2, 5, 8), normal(2, 3, 8)],
    ),
    "attention": (lambda: nn.MultiHeadAttention(8, 2), [normal(2, 5, 8)]),
    "conv1d": (lambda: nn.Conv1D(3, 4, 3), [normal(2, 3, 7)]),
    "conv3d": (lambda: nn.Conv3D(2, 3, 2), [normal(1, 2, 4, 4, 4)]),
    "conv2d_transpose": (lambda: nn.Conv2DTranspose(2, 3, 2), [normal(1, 2, 4, 4)]),
    "group_norm": (lambda: nn.GroupNorm(2, 4), [normal(2, 4, 3)]),
    "instance_norm": (lambda: nn.InstanceNorm2D(4), [normal(2, 4, 3, 3)]),
    "prelu": (lambda: nn.PReLU(3), [normal(2, 3, 4)]),
    "upsample": (lambda: nn.Upsample(scale_factor=2), [normal(1, 2, 3, 3)]),
    "adaptive_pool": (lambda: nn.AdaptiveAvgPool2D(2), [normal(1, 2, 5, 5)]),
    "bilinear": (lambda: nn.Bilinear(3, 4, 2), [normal(2, 3), normal(2, 4)]),
    "pixel_shuffle": (lambda: nn.PixelShuffle(2), [normal(1, 4, 2, 2)]),
    "embedding": (lambda: nn.Embedding(5, 3, padding_idx=1), [np.array([[1, 2]])]),
}


def _tensors(out):
    return [t for item in out for t in _tensors(item)] if isinstance(out, (tuple, list)) else [out]


@pytest.mark.parametrize("is_dynamic", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_recorded_layer_equals_the_eager_one(name, is_dynamic):
    make, arrays = LAYERS[name]
    layer = make()
    expected = [t.numpy() for t in _tensors(layer(*[paddle.to_tensor(a) for a in arrays]))]
    values = [p.numpy() for p in layer.parameters()]
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with (
            paddle.static.program_guard(main, startup),
            paddle.static.scope_guard(paddle.static.Scope()),
        ):
            inputs = [
                paddle.static.data(
                    f"x{i}", [None if is_dynamic else len(a), *a.shape[1:]], str(a.dtype)
                )
                for i, a in enumerate(arrays)
            ]
            recorded = make()
            out = _tensors(recorded(*inputs))
            exe = paddle.static.Executor()
            exe.run(startup)
            for parameter, value in zip(recorded.parameters(), values, strict=True):
                parameter.set_value(value)
            got = exe.run(main, feed={f"x{i}": a for i, a in enumerate(arrays)}, fetch_list=out)
    finally:
        paddle.disable_static()
    for variable, value, wanted in zip(out, got, expected, strict=True):
        assert all(n in (-1, m) for n, m in zip(variable.shape, wanted.shape, strict=True))
        assert (-1 in variable.shape) == is_dynamic
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)
