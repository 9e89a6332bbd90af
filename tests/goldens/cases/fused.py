"""``paddle.incubate.nn``: what Paddle's CPU build can compute, and the parameters of the rest."""

import numpy as np

from goldens.harness import Cases

cases = Cases("fused")
RTOL = 2e-5


def _tensors(paddle, d, *shapes):
    return [None if s is None else paddle.to_tensor(d.normal(*s)) for s in shapes]


def norm(name, call, shapes, count, **kwargs):
    """The first ``count`` results of a normalisation; the others are not filled by Paddle."""

    @cases.add(name, rtol=RTOL)
    def run(paddle, d):
        x, weight, bias, addend, residual = _tensors(paddle, d, *shapes)
        function = getattr(paddle.incubate.nn.functional, call)
        outs = function(x, weight, bias, 1e-5, bias=addend, residual=residual, **kwargs)
        return [np.asarray(out) for i, out in enumerate(outs) if i in count]


WIDE, FLAT = (2, 3, 4), (4,)
norm("rms_norm", "fused_rms_norm", (WIDE, FLAT, FLAT, None, None), (0,), begin_norm_axis=2)
norm("rms_norm no bias", "fused_rms_norm", (WIDE, FLAT, None, None, None), (0,), begin_norm_axis=-1)
norm("rms_norm bias", "fused_rms_norm", (WIDE, FLAT, FLAT, FLAT, None), (0,), begin_norm_axis=2)
norm("rms_norm sum", "fused_rms_norm", (WIDE, FLAT, None, FLAT, WIDE), (0, 1), begin_norm_axis=2)
norm("rms_norm axes", "fused_rms_norm", (WIDE, (12,), None, None, None), (0,), begin_norm_axis=1)
norm("layer_norm", "fused_layer_norm", (WIDE, FLAT, FLAT, None, None), (0, 2, 3), begin_norm_axis=2)
norm(
    "layer_norm bias",
    "fused_layer_norm",
    (WIDE, FLAT, FLAT, FLAT, None),
    (0, 2, 3),
    begin_norm_axis=2,
)
norm(
    "layer_norm sum",
    "fused_layer_norm",
    (WIDE, FLAT, None, FLAT, WIDE),
    (0, 1, 2, 3),
    begin_norm_axis=2,
    residual_alpha=0.5,
)
norm(
    "layer_norm of nothing",
    "fused_layer_norm",
    (WIDE, None, None, FLAT, WIDE),
    (0,),
    begin_norm_axis=2,
    residual_alpha=2.0,
)
norm(
    "layer_norm bias alone",
    "fused_layer_norm",
    (WIDE, None, None, FLAT, None),
    (0,),
    begin_norm_axis=2,
)


@cases.add("fused_dropout_add")
def dropout_add(paddle, d):
    x, y = _tensors(paddle, d, (3, 4), (3, 4))
    x.stop_gradient = y.stop_gradient = False
    function = paddle.incubate.nn.functional.fused_dropout_add
    outs = [
        function(x, y, p=0.0),
        function(x, y, p=0.3, training=False),
        function(x, y, p=0.3, training=False, mode="downscale_in_infer"),
        paddle.incubate.nn.FusedDropoutAdd(0.0)(x, y),
    ]
    paddle.add_n(outs).sum().backward()
    return [*outs, x.grad, y.grad]


for rate in (1.5, "0.5"):
    cases.error(
        f"fused_dropout_add refused rate {rate!r}",
        lambda paddle, rate=rate: paddle.incubate.nn.functional.fused_dropout_add(
            paddle.ones([1]), paddle.ones([1]), p=rate
        ),
    )


def parameters(name, make):
    @cases.add(name)
    def run(paddle, d):
        layer = make(paddle.incubate.nn)
        return {
            "repr": repr(layer),
            "shapes": {key: list(value.shape) for key, value in layer.state_dict().items()},
            "names": [p.name.split("_")[-1] for p in layer.parameters()],
            "means": {
                key: float(value.mean())
                for key, value in layer.state_dict().items()
                if "weight" not in key
            },
        }


parameters("FusedMultiHeadAttention", lambda nn: nn.FusedMultiHeadAttention(8, 2))
parameters(
    "FusedMultiHeadAttention before",
    lambda nn: nn.FusedMultiHeadAttention(8, 2, 0.1, 0.2, normalize_before=True, epsilon=1e-3),
)
parameters(
    "FusedMultiHeadAttention flat",
    lambda nn: nn.FusedMultiHeadAttention(8, 2, transpose_qkv_wb=True, qkv_bias_attr=False),
)
parameters("FusedFeedForward", lambda nn: nn.FusedFeedForward(8, 16))
parameters(
    "FusedFeedForward before",
    lambda nn: nn.FusedFeedForward(8, 16, 0.3, activation="gelu", normalize_before=True),
)
parameters("FusedTransformerEncoderLayer", lambda nn: nn.FusedTransformerEncoderLayer(8, 2, 16))
parameters("FusedLinear", lambda nn: nn.FusedLinear(8, 4))
parameters(
    "FusedLinear flipped", lambda nn: nn.FusedLinear(8, 4, bias_attr=False, transpose_weight=True)
)
parameters("FusedDropoutAdd", lambda nn: nn.FusedDropoutAdd(0.2, "downscale_in_infer"))
