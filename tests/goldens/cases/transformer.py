"""MultiHeadAttention and the transformer layers: values, gradients, caches, masks, names.

Attention is fused here and a chain of operations in Paddle, so sums are ordered differently: 1e-5,
and 1e-4 where several layers follow each other.
"""

import functools

import numpy as np

from goldens.harness import Cases

cases = Cases("transformer")
add = functools.partial(cases.add, rtol=1e-5)


def filled(layer, draw, scale=0.3):
    """Values that do not depend on the initialiser; norms keep a scale about one, so that gradients
    do not fade.
    """
    for name, p in layer.named_parameters():
        offset = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        p.set_value(
            np.float32(offset) + np.float32(scale) * draw.normal(*[int(n) for n in p.shape])
        )
    return layer


def tensor(paddle, array, grad=True):
    return paddle.to_tensor(array, stop_gradient=not grad)


def gradients(paddle, draw, out, inputs, layer):
    weight = paddle.to_tensor(draw.normal(*[int(n) for n in out.shape]))
    (out * weight).sum().backward()
    # a bias of the keys shifts all scores of a query alike: its gradient is zero but for rounding
    by_name = {
        name: bool(np.abs(p.grad.numpy()).max() < 1e-5) if name.endswith("k_proj.bias") else p.grad
        for name, p in layer.named_parameters()
    }
    return {"out": out, "dx": [x.grad for x in inputs], "dp": by_name}


MASKS = {
    "none": lambda rng, q, k: None,
    "float": lambda rng, q, k: np.triu(np.full((q, k), -1e4, "float32"), 1),
    "bool": lambda rng, q, k: np.tril(np.ones((q, k), bool)),
    "int": lambda rng, q, k: np.tril(np.ones((q, k), "int64")),
    "float64": lambda rng, q, k: np.triu(np.full((q, k), -1e4, "float64"), 1),
}


def add_mask(name, make):
    @add(f"self_attention_mask_{name}")
    def _(paddle, draw):
        layer = filled(paddle.nn.MultiHeadAttention(8, 2), draw)
        x = tensor(paddle, draw.normal(2, 4, 8))
        mask = make(draw, 4, 4)
        out = layer(x, x, x, attn_mask=None if mask is None else paddle.to_tensor(mask))
        return gradients(paddle, draw, out, [x], layer)


for _name, _make in MASKS.items():
    add_mask(_name, _make)


@add("cross_attention_dims")
def _(paddle, draw):
    layer = filled(paddle.nn.MultiHeadAttention(8, 4, kdim=6, vdim=5), draw)
    q, k, v = (tensor(paddle, draw.normal(*s)) for s in ((2, 3, 8), (2, 5, 6), (2, 5, 5)))
    return gradients(paddle, draw, layer(q, k, v), [q, k, v], layer)


@add("attention_weights")
def _(paddle, draw):
    layer = filled(paddle.nn.MultiHeadAttention(8, 2, need_weights=True), draw)
    x = tensor(paddle, draw.normal(2, 4, 8))
    out, weights = layer(x)
    result = gradients(paddle, draw, out, [x], layer)
    result["weights"] = weights
    return result


@add("attention_without_bias")
def _(paddle, draw):
    layer = filled(paddle.nn.MultiHeadAttention(8, 2, bias_attr=False), draw)
    x = tensor(paddle, draw.normal(2, 4, 8))
    return gradients(paddle, draw, layer(x), [x], layer)


@add("batch_mask_per_head")
def _(paddle, draw):
    layer = filled(paddle.nn.MultiHeadAttention(8, 2), draw)
    x = tensor(paddle, draw.normal(2, 4, 8))
    mask = paddle.to_tensor(draw.normal(2, 2, 4, 4))
    return gradients(paddle, draw, layer(x, attn_mask=mask), [x], layer)


@add("attention_cache")
def _(paddle, draw):
    layer = filled(paddle.nn.MultiHeadAttention(8, 2), draw)
    x = tensor(paddle, draw.normal(2, 3, 8), grad=False)
    cache = layer.gen_cache(x)
    steps = []
    for i in range(3):
        step, cache = layer(x[:, i : i + 1], x[:, i : i + 1], x[:, i : i + 1], None, cache)
        steps.append(step)
    return {"steps": steps, "k": cache.k, "v": cache.v, "empty": list(layer.gen_cache(x).k.shape)}


@add("attention_static_cache")
def _(paddle, draw):
    layer = filled(paddle.nn.MultiHeadAttention(8, 2), draw)
    q, kv = tensor(paddle, draw.normal(2, 3, 8), False), tensor(paddle, draw.normal(2, 5, 8), False)
    cache = layer.gen_cache(kv, kv, type=paddle.nn.MultiHeadAttention.StaticCache)
    out, same = layer(q, q, q, None, cache)
    return {"out": out, "k": same.k, "direct": layer(q, kv, kv)}


@add("attention_cache_from_tensors")
def _(paddle, draw):
    layer = filled(paddle.nn.MultiHeadAttention(8, 2), draw)
    x = tensor(paddle, draw.normal(2, 1, 8), False)
    past = paddle.to_tensor(draw.normal(2, 2, 3, 4))
    out, cache = layer(x, x, x, None, layer.gen_cache(past, past * 2))
    return {"out": out, "k": cache.k}


def add_encoder(name, **kwargs):
    @add(f"encoder_layer_{name}")
    def _(paddle, draw):
        layer = filled(paddle.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, **kwargs), draw)
        x = tensor(paddle, draw.normal(2, 4, 8))
        mask = paddle.to_tensor(np.tril(np.ones((4, 4), bool)))
        return gradients(paddle, draw, layer(x, mask), [x], layer)


add_encoder("default")
add_encoder("pre_norm", normalize_before=True)
add_encoder("gelu", activation="gelu")
add_encoder("wide_epsilon", layer_norm_eps=1e-3)


def add_decoder(name, **kwargs):
    @add(f"decoder_layer_{name}")
    def _(paddle, draw):
        layer = filled(paddle.nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0, **kwargs), draw)
        x, memory = tensor(paddle, draw.normal(2, 3, 8)), tensor(paddle, draw.normal(2, 5, 8))
        mask = paddle.to_tensor(np.triu(np.full((3, 3), -np.inf, "float32"), 1))
        return gradients(paddle, draw, layer(x, memory, mask), [x, memory], layer)


add_decoder("default")
add_decoder("pre_norm", normalize_before=True)


@add("encoder_stack", rtol=1e-4)
def _(paddle, draw):
    layer = paddle.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0)
    stack = filled(paddle.nn.TransformerEncoder(layer, 3, paddle.nn.LayerNorm(8)), draw)
    x = tensor(paddle, draw.normal(2, 4, 8))
    return gradients(paddle, draw, stack(x), [x], stack)


@add("encoder_cache")
def _(paddle, draw):
    layer = paddle.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0)
    stack = filled(paddle.nn.TransformerEncoder(layer, 2), draw)
    x = tensor(paddle, draw.normal(2, 3, 8), False)
    cache = stack.gen_cache(x)
    steps = []
    for i in range(3):
        out, cache = stack(x[:, i : i + 1], None, cache)
        steps.append(out)
    return {"steps": steps, "last_k": cache[1].k}


@add("decoder_cache")
def _(paddle, draw):
    layer = paddle.nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0)
    stack = filled(paddle.nn.TransformerDecoder(layer, 2, paddle.nn.LayerNorm(8)), draw)
    x, memory = (
        tensor(paddle, draw.normal(2, 3, 8), False),
        tensor(paddle, draw.normal(2, 5, 8), False),
    )
    cache = stack.gen_cache(memory)
    steps = []
    for i in range(3):
        out, cache = stack(x[:, i : i + 1], memory, None, None, cache)
        steps.append(out)
    zipped = stack.gen_cache(memory, do_zip=True)
    return {
        "steps": steps,
        "own": cache[1][0].k,
        "memory": cache[1][1].v,
        "zipped": [len(zipped), len(zipped[0])],
    }


@add("whole", rtol=1e-4)
def _(paddle, draw):
    model = filled(paddle.nn.Transformer(8, 2, 2, 2, 12, dropout=0.0), draw)
    src, tgt = tensor(paddle, draw.normal(2, 4, 8)), tensor(paddle, draw.normal(2, 3, 8))
    mask = model.generate_square_subsequent_mask(3)
    result = gradients(paddle, draw, model(src, tgt, tgt_mask=mask), [src, tgt], model)
    result["mask"] = mask
    return result


@add("names")
def _(paddle, draw):
    model = paddle.nn.Transformer(
        8, 2, 2, 1, 12, weight_attr=[None, None, None], bias_attr=[None, False]
    )
    return {
        "state": [str(k) for k in model.state_dict()],
        "parameters": [[int(n) for n in p.shape] for p in model.parameters()],
        "sublayers": [n for n, _ in model.named_sublayers()],
    }


@add("attributes_by_part")
def _(paddle, draw):
    attrs = [paddle.ParamAttr(learning_rate=0.5), paddle.ParamAttr(learning_rate=0.25)]
    layer = paddle.nn.TransformerEncoderLayer(4, 2, 6, weight_attr=attrs)
    return [p.optimize_attr["learning_rate"] for p in layer.parameters()]


@add("dropout_settings")
def _(paddle, draw):
    layer = paddle.nn.TransformerEncoderLayer(
        4, 2, 6, dropout=0.1, attn_dropout=0.2, act_dropout=0.3
    )
    return [layer.self_attn.dropout, layer.dropout.p, layer.dropout1.p, layer.dropout2.p]


cases.error("indivisible_heads", lambda paddle: paddle.nn.MultiHeadAttention(8, 3))
cases.error("no_heads", lambda paddle: paddle.nn.MultiHeadAttention(8, 0))
cases.error("no_width", lambda paddle: paddle.nn.TransformerEncoderLayer(0, 2, 4))
cases.error(
    "attr_count",
    lambda paddle: paddle.nn.TransformerEncoderLayer(4, 2, 4, weight_attr=[None, None, None]),
)
cases.error(
    "whole_attr_count", lambda paddle: paddle.nn.Transformer(4, 2, 1, 1, 4, bias_attr=[None] * 4)
)
cases.error(
    "activation", lambda paddle: paddle.nn.TransformerEncoderLayer(4, 2, 4, activation="no_such")
)
