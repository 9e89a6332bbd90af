"""Gradient clipping, by the classes and in place, and paddle.nn.utils."""

import numpy as np

from goldens.harness import Cases

cases = Cases("clip")


def pairs(paddle, draw, scale=1.0, need=(True, True, True)):
    result = []
    for shape, need_clip in zip(((2, 3), (4,), (1, 2, 2)), need, strict=True):
        p = paddle.create_parameter(
            list(shape), "float32", attr=paddle.ParamAttr(need_clip=need_clip)
        )
        result.append((p, paddle.to_tensor(scale * draw.normal(*shape))))
    return result


def grads(clipped):
    return [g for _, g in clipped]


CLIPS = {
    "value": lambda paddle: paddle.nn.ClipGradByValue(0.5),
    "value_range": lambda paddle: paddle.nn.ClipGradByValue(max=0.75, min=-0.25),
    "norm": lambda paddle: paddle.nn.ClipGradByNorm(0.8),
    "norm_large": lambda paddle: paddle.nn.ClipGradByNorm(100.0),
    "global_norm": lambda paddle: paddle.nn.ClipGradByGlobalNorm(1.5),
    "global_norm_large": lambda paddle: paddle.nn.ClipGradByGlobalNorm(100.0),
    "global_norm_skip": lambda paddle: paddle.nn.ClipGradByGlobalNorm(1.5, auto_skip_clip=True),
}


def add_clip(name, make):
    @cases.add(f"by_{name}")
    def _(paddle, draw):
        clip = make(paddle)
        return {"grads": grads(clip(pairs(paddle, draw, 2.0))), "text": str(clip)}

    @cases.add(f"by_{name}_need_clip")
    def _(paddle, draw):
        return grads(make(paddle)(pairs(paddle, draw, 2.0, (True, False, True))))

    @cases.add(f"by_{name}_without_gradient")
    def _(paddle, draw):
        given = pairs(paddle, draw, 2.0)
        given[1] = (given[1][0], None)
        return grads(make(paddle)(given))

    @cases.add(f"by_{name}_in_training")
    def _(paddle, draw):
        layer = paddle.nn.Linear(3, 2)
        for p in layer.parameters():
            p.set_value(draw.normal(*p.shape))
        optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters(), grad_clip=make(paddle))
        for _ in range(2):
            (layer(paddle.to_tensor(3 * draw.normal(4, 3))) ** 2).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
        return list(layer.parameters())

    if "value" in name:  # Paddle fails to clip a sparse gradient by value
        return

    @cases.add(f"by_{name}_sparse")
    def _(paddle, draw):
        table = paddle.nn.Embedding(6, 3, sparse=True)
        table.weight.set_value(draw.normal(6, 3))
        dense = paddle.create_parameter([3], "float32")
        dense.set_value(draw.normal(3))
        optimizer = paddle.optimizer.SGD(
            0.1, parameters=[table.weight, dense], grad_clip=make(paddle)
        )
        rows = table(paddle.to_tensor([4, 1, 4, 4]))
        (rows * dense * paddle.to_tensor(draw.normal(4, 3))).sum().backward()
        optimizer.step()
        return [table.weight, dense]


for _name, _make in CLIPS.items():
    add_clip(_name, _make)


@cases.add("global_norm_in_place")
def _(paddle, draw):
    given = pairs(paddle, draw, 2.0)
    clipped = paddle.nn.ClipGradByGlobalNorm(1.5)(given)
    return {
        "same": [a is b for (_, a), (_, b) in zip(given, clipped, strict=True)],
        "given": grads(given),
    }


@cases.add("global_norm_mixed_dtypes", rtol=1e-5)
def _(paddle, draw):
    given = [
        (paddle.create_parameter([3], dtype), paddle.to_tensor(draw.normal(3, dtype=dtype)))
        for dtype in ("float32", "float64")
    ]
    return grads(paddle.nn.ClipGradByGlobalNorm(0.5)(given))


@cases.add("nothing_to_clip")
def _(paddle, draw):
    return grads(
        paddle.nn.ClipGradByGlobalNorm(0.5)(pairs(paddle, draw, 2.0, (False, False, False)))
    )


@cases.add("zero_gradients")
def _(paddle, draw):
    return [
        grads(clip(pairs(paddle, draw, 0.0)))
        for clip in (paddle.nn.ClipGradByNorm(1.0), paddle.nn.ClipGradByGlobalNorm(1.0))
    ]


def with_grads(paddle, draw):
    owners = []
    for shape in ((2, 3), (4,), (2,)):
        p = paddle.create_parameter(list(shape), "float32")
        owners.append(p)
        (p * paddle.to_tensor(2 * draw.normal(*shape))).sum().backward()
    owners.append(paddle.create_parameter([2], "float32"))
    return owners


def add_norm(name, norm_type, max_norm=1.0):
    @cases.add(f"clip_grad_norm_{name}")
    def _(paddle, draw):
        owners = with_grads(paddle, draw)
        total = paddle.nn.utils.clip_grad_norm_(owners, max_norm, norm_type)
        return {"total": total, "grads": [p.grad for p in owners]}


add_norm("2", 2.0)
add_norm("1", 1)
add_norm("0", 0)
add_norm("inf", float("inf"))
add_norm("large", 2.0, 1000.0)


@cases.add("clip_grad_norm_single")
def _(paddle, draw):
    p = with_grads(paddle, draw)[0]
    return {"total": paddle.nn.utils.clip_grad_norm_(p, 0.5), "grad": p.grad}


@cases.add("clip_grad_norm_without_gradients")
def _(paddle, draw):
    return paddle.nn.utils.clip_grad_norm_([paddle.create_parameter([2], "float32")], 0.5)


@cases.add("clip_grad_value")
def _(paddle, draw):
    owners = with_grads(paddle, draw)
    paddle.nn.utils.clip_grad_value_(owners, 0.75)
    return [p.grad for p in owners]


@cases.add("vector")
def _(paddle, draw):
    layer = paddle.nn.Linear(3, 2)
    for p in layer.parameters():
        p.set_value(draw.normal(*p.shape))
    vector = paddle.nn.utils.parameters_to_vector(layer.parameters())
    paddle.nn.utils.vector_to_parameters(vector * 2.0, layer.parameters())
    return {"vector": vector, "stop": bool(vector.stop_gradient), "back": list(layer.parameters())}


@cases.add("vector_longer_than_needed")
def _(paddle, draw):
    layer = paddle.nn.Linear(2, 2)
    paddle.nn.utils.vector_to_parameters(paddle.to_tensor(draw.normal(9)), layer.parameters())
    return list(layer.parameters())


def add_weight_norm(name, make, dim):
    @cases.add(f"weight_norm_{name}", rtol=1e-5)
    def _(paddle, draw):
        layer = make(paddle)
        for p in layer.parameters():
            p.set_value(draw.normal(*[int(n) for n in p.shape]))
        paddle.nn.utils.weight_norm(layer, dim=dim)
        names = [str(k) for k in layer.state_dict()]
        shape = [5, 3] if len(layer.weight.shape) == 2 else [1, 3, 5, 5]
        magnitude = layer.weight_g
        magnitude.set_value(np.asarray(magnitude.numpy() * 1.5))
        out = layer(paddle.to_tensor(draw.normal(*shape)))
        (out * out).sum().backward()
        result = {
            "names": names, "g": magnitude, "dg": magnitude.grad, "dv": layer.weight_v.grad,
            "weight": layer.weight, "out": out,
        }  # fmt: skip
        paddle.nn.utils.remove_weight_norm(layer)
        result["names_after"] = [str(k) for k in layer.state_dict()]
        result["weight_after"] = layer.weight
        return result


add_weight_norm("linear_0", lambda paddle: paddle.nn.Linear(3, 4), 0)
add_weight_norm("linear_1", lambda paddle: paddle.nn.Linear(3, 4), 1)
add_weight_norm("linear_none", lambda paddle: paddle.nn.Linear(3, 4), None)
add_weight_norm("conv_0", lambda paddle: paddle.nn.Conv2D(3, 2, 3), 0)
add_weight_norm("conv_1", lambda paddle: paddle.nn.Conv2D(3, 2, 3), 1)
add_weight_norm("conv_negative", lambda paddle: paddle.nn.Conv2D(3, 2, 3), -2)
add_weight_norm("conv_last", lambda paddle: paddle.nn.Conv2D(3, 2, 3), 3)


@cases.add("spectral_norm", rtol=1e-5)
def _(paddle, draw):
    layer = paddle.nn.Linear(3, 4)
    for p in layer.parameters():
        p.set_value(draw.normal(*[int(n) for n in p.shape]))
    paddle.nn.utils.spectral_norm(layer, n_power_iterations=2)
    layer.weight_u.set_value(np.float32([0.5, 0.5, 0.5, 0.5]))
    layer.weight_v.set_value(np.float32([0.6, 0.0, 0.8]))
    x = paddle.to_tensor(draw.normal(5, 3))
    first = layer(x)
    (first * first).sum().backward()
    second = layer(x)
    layer.eval()
    still = layer(x)
    return {
        "names": [str(k) for k in layer.state_dict()],
        "first": first, "second": second, "still": still, "again": layer(x),
        "grad": layer.weight_orig.grad, "u": layer.weight_u, "v": layer.weight_v,
    }  # fmt: skip


cases.error("negative_bound", lambda paddle: paddle.nn.ClipGradByValue(-1.0))
cases.error(
    "negative_norm",
    lambda paddle: paddle.nn.ClipGradByNorm(-1.0)(
        [(paddle.create_parameter([2], "float32"), paddle.ones([2]))]
    ),
)
cases.error("norm_text", lambda paddle: paddle.nn.ClipGradByGlobalNorm("large"))
cases.error("skip_number", lambda paddle: paddle.nn.ClipGradByGlobalNorm(1.0, auto_skip_clip=1))
cases.error(
    "norm_type",
    lambda paddle: paddle.nn.utils.clip_grad_norm_(
        [paddle.create_parameter([2], "float32")], 1.0, 3
    ),
)
cases.error(
    "vector_short",
    lambda paddle: paddle.nn.utils.vector_to_parameters(
        paddle.ones([3]), paddle.nn.Linear(2, 2).parameters()
    ),
)
cases.error(
    "vector_rank",
    lambda paddle: paddle.nn.utils.vector_to_parameters(
        paddle.ones([3, 2]), paddle.nn.Linear(2, 2).parameters()
    ),
)
cases.error(
    "weight_norm_twice",
    lambda paddle: paddle.nn.utils.weight_norm(paddle.nn.utils.weight_norm(paddle.nn.Linear(2, 2))),
)
cases.error(
    "weight_norm_axis", lambda paddle: paddle.nn.utils.weight_norm(paddle.nn.Linear(2, 2), dim=2)
)
cases.error(
    "remove_missing_weight_norm",
    lambda paddle: paddle.nn.utils.remove_weight_norm(paddle.nn.Linear(2, 2)),
)
cases.error(
    "spectral_norm_iterations",
    lambda paddle: paddle.nn.utils.spectral_norm(paddle.nn.Linear(2, 2), n_power_iterations=0),
)
cases.error(
    "spectral_norm_twice",
    lambda paddle: paddle.nn.utils.spectral_norm(
        paddle.nn.utils.spectral_norm(paddle.nn.Linear(2, 2))
    ),
)


def _non_finite(paddle):
    p = paddle.create_parameter([2], "float32")
    (p * paddle.to_tensor([1.0, float("inf")])).sum().backward()
    paddle.nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)


cases.error("non_finite_norm", _non_finite)
