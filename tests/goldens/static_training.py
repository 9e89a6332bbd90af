"""Programs that train in special ways, compared with real Paddle's: row-sparse gradients, averages,
loss scaling, merged gradients.

Each function builds a program in the current guard and returns what to fetch, a function from the
step to feeds, and a function that is called after the last step and returns more values (or None).
It is given the Executor.
"""

from __future__ import annotations

import contextlib
import os

import numpy as np

STEPS = 8


def _rng(step):
    return np.random.RandomState(500 + step)


# -- row-sparse gradients
# ---------------------------------------------------------------------------------------


def _lookup(paddle, optimizer, padding_idx=None, is_sparse=True):
    ids = paddle.static.data("ids", [None, 3], "int64")
    target = paddle.static.data("target", [None, 4], "float32")
    vectors = paddle.static.nn.embedding(
        ids,
        [12, 4],
        is_sparse=is_sparse,
        padding_idx=padding_idx,
        param_attr=paddle.ParamAttr(name="table"),
    )
    hidden = paddle.static.nn.fc(paddle.sum(vectors, axis=1), 4)
    loss = paddle.mean((hidden - target) ** 2)
    optimizer.minimize(loss)

    def feed(step):
        rng = _rng(step)
        # Few of the rows, some of them twice.
        return {
            "ids": rng.randint(0, 5, (4, 3)).astype("int64"),
            "target": rng.randn(4, 4).astype("float32"),
        }

    return [loss], feed, None


def _sparse(make, **options):
    return lambda paddle: _lookup(paddle, make(paddle), **options)


SPARSE = {
    "sparse_sgd": _sparse(lambda p: p.optimizer.SGD(0.1)),
    "sparse_sgd_decay": _sparse(lambda p: p.optimizer.SGD(0.1, weight_decay=0.05)),
    "sparse_sgd_l1": _sparse(
        lambda p: p.optimizer.SGD(0.1, weight_decay=p.regularizer.L1Decay(0.05))
    ),
    "sparse_sgd_clip_norm": _sparse(
        lambda p: p.optimizer.SGD(0.1, grad_clip=p.nn.ClipGradByNorm(0.05))
    ),
    "sparse_momentum": _sparse(lambda p: p.optimizer.Momentum(0.1, 0.9)),
    "sparse_adagrad": _sparse(lambda p: p.optimizer.Adagrad(0.1)),
    "sparse_adam": _sparse(lambda p: p.optimizer.Adam(0.05)),
    "sparse_adam_lazy": _sparse(lambda p: p.optimizer.Adam(0.05, lazy_mode=True)),
    "sparse_adam_clip": _sparse(
        lambda p: p.optimizer.Adam(0.05, grad_clip=p.nn.ClipGradByGlobalNorm(0.1))
    ),
    "sparse_adam_lazy_clip": _sparse(
        lambda p: p.optimizer.Adam(0.05, lazy_mode=True, grad_clip=p.nn.ClipGradByGlobalNorm(0.1))
    ),
    "sparse_rmsprop": _sparse(lambda p: p.optimizer.RMSProp(0.05)),
}


# -- averages
# --------------------------------------------------------------------------------------------------


def _regression(paddle):
    x = paddle.static.data("x", [None, 3], "float32")
    y = paddle.static.data("y", [None, 1], "float32")
    out = paddle.static.nn.fc(
        x, 1, weight_attr=paddle.ParamAttr(name="w"), bias_attr=paddle.ParamAttr(name="b")
    )
    loss = paddle.mean((out - y) ** 2)

    def feed(step):
        rng = _rng(step)
        return {"x": rng.randn(5, 3).astype("float32"), "y": rng.randn(5, 1).astype("float32")}

    return loss, feed


def lookahead(paddle):
    loss, feed = _regression(paddle)
    paddle.incubate.LookAhead(paddle.optimizer.SGD(0.1), alpha=0.3, k=3).minimize(loss)
    return [loss], feed, None


def _held(paddle):
    scope = paddle.static.global_scope()
    return [np.array(scope.find_var(name).get_tensor()) for name in ("w", "b")]


def model_average(paddle):
    loss, feed = _regression(paddle)
    paddle.optimizer.SGD(0.1).minimize(loss)
    average = paddle.incubate.ModelAverage(0.5, min_average_window=2, max_average_window=4)

    def after(exe):
        with average.apply(exe):
            inside = _held(paddle)
        return inside + _held(paddle)

    return [loss], feed, after


def moving_average(paddle, decay=0.9, scheduled=False, need_restore=True):
    loss, feed = _regression(paddle)
    paddle.optimizer.SGD(0.1).minimize(loss)
    steps = None
    if scheduled:
        steps = paddle.static.create_global_var([1], 3.0, "float32", persistable=True, name="steps")
    average = paddle.static.ExponentialMovingAverage(decay, steps)
    average.update()

    def after(exe):
        with average.apply(exe, need_restore=need_restore):
            inside = _held(paddle)
        return inside + _held(paddle)

    return [loss], feed, after


AVERAGES = {
    "lookahead": lookahead,
    "model_average": model_average,
    "moving_average": moving_average,
    "moving_average_kept": lambda paddle: moving_average(paddle, need_restore=False),
}

# -- merged gradients
# -------------------------------------------------------------------------------------------


def _merged(make, avg=True):
    def build(paddle):
        from paddle.incubate.optimizer.gradient_merge import GradientMergeOptimizer

        loss, feed = _regression(paddle)
        GradientMergeOptimizer(make(paddle), k_steps=3, avg=avg).minimize(loss)
        return [loss], feed, None

    return build


MERGED = {
    "merge_sgd": _merged(lambda p: p.optimizer.SGD(0.1)),
    "merge_sgd_sum": _merged(lambda p: p.optimizer.SGD(0.1), avg=False),
    "merge_adam": _merged(lambda p: p.optimizer.Adam(0.1)),
    "merge_momentum_clip": _merged(
        lambda p: p.optimizer.Momentum(
            0.1, 0.9, weight_decay=0.1, grad_clip=p.nn.ClipGradByGlobalNorm(0.3)
        )
    ),
}


# -- loss scaling
# -----------------------------------------------------------------------------------------------


def _scaled(make, names, **options):
    """Everything stays in float32; steps 2, 3 and 6 overflow."""

    def build(paddle):
        x = paddle.static.data("x", [None, 3], "float32")
        factor = paddle.static.data("factor", [1], "float32")
        weight = paddle.static.create_parameter([3, 2], "float32", name="w")
        loss = paddle.mean(paddle.matmul(x, weight) ** 2) * factor
        kept = {
            "matmul_v2",
            "elementwise_pow",
            "pow",
            "reduce_mean",
            "mean",
            "elementwise_mul",
            "pow_number",
        }
        lists = paddle.static.amp.CustomOpLists(custom_black_list=kept)
        paddle.static.amp.decorate(make(paddle), lists, **options).minimize(loss)
        block = loss.block

        def feed(step):
            factor = np.array([1e38 if step in (2, 3, 6) else 1.0], "float32")
            return {"x": _rng(step).randn(4, 3).astype("float32"), "factor": factor}

        return [block.var(name) for name in names], feed, None

    return build


_COUNTS = ["loss_scaling_0", "num_good_steps_0", "num_bad_steps_0"]

SCALED = {
    "scaled_sgd": _scaled(
        lambda p: p.optimizer.SGD(0.1), _COUNTS, init_loss_scaling=8.0, incr_every_n_steps=2
    ),
    "scaled_momentum": _scaled(
        lambda p: p.optimizer.Momentum(0.1, 0.9),
        _COUNTS,
        init_loss_scaling=1024.0,
        decr_every_n_nan_or_inf=2,
        decr_ratio=0.3,
        incr_every_n_steps=3,
        incr_ratio=5.0,
    ),
    "scaled_adam": _scaled(
        lambda p: p.optimizer.Adam(0.1), _COUNTS, init_loss_scaling=2.0, decr_ratio=0.1
    ),
    "scaled_adamw": _scaled(
        lambda p: p.optimizer.AdamW(0.1), _COUNTS, init_loss_scaling=64.0, incr_every_n_steps=1
    ),
    "scaled_lamb": _scaled(lambda p: p.optimizer.Lamb(0.1), _COUNTS, init_loss_scaling=64.0),
    "scaled_adagrad_clip": _scaled(
        lambda p: p.optimizer.Adagrad(0.1, grad_clip=p.nn.ClipGradByGlobalNorm(0.2)),
        _COUNTS,
        init_loss_scaling=64.0,
    ),
    "scaled_fixed": _scaled(
        lambda p: p.optimizer.Adam(0.1),
        ["loss_scaling_0"],
        init_loss_scaling=16.0,
        use_dynamic_loss_scaling=False,
    ),
    "scaled_old": _scaled(
        lambda p: p.optimizer.Adam(0.1),
        _COUNTS,
        init_loss_scaling=256.0,
        use_dynamic_loss_scaling=True,
        use_pure_fp16=False,
    ),
}


# -- layers
# --------------------------------------------------------------------------------------------------


def _layer(shape, call, rate=0.1):
    """Train a layer on random inputs; the shape is without the batch."""

    def build(paddle):
        x = paddle.static.data("x", [None, *shape], "float32")
        one = paddle.nn.initializer.Constant(1.0)
        scale = paddle.static.create_parameter([1], "float32", name="s", default_initializer=one)
        out = call(paddle, x * scale)  # so that a gradient of the input is needed
        # A weighted sum, because the mean square of what a norm returns does not depend on its
        # input.
        weights = (
            np.linspace(0.5, 1.5, int(np.prod(out.shape[1:])))
            .reshape(out.shape[1:])
            .astype("float32")
        )
        loss = paddle.mean((out * paddle.assign(weights)) ** 2)
        paddle.optimizer.SGD(rate).minimize(loss)
        return [loss, out], lambda step: {"x": _rng(step).randn(4, *shape).astype("float32")}, None

    return build


def _prelu(mode, data_format="NCHW"):
    def call(paddle, x):
        hidden = paddle.static.nn.fc(x, 5) if data_format == "NC" else x
        return paddle.static.nn.prelu(hidden, mode, data_format=data_format)

    return call


def _bilinear(paddle, x):
    return paddle.static.nn.bilinear_tensor_product(x, x * x, 4, act="tanh")


def _norm_with_slots(paddle, x):
    shown = paddle.cast(x > 0, "float32")
    out = paddle.static.nn.data_norm(
        x * shown, slot_dim=2, param_attr={"batch_size": 50.0, "batch_square": 60.0}
    )
    return paddle.static.nn.fc(out, 2)


LAYERS = {
    "conv3d": _layer(
        [2, 4, 4, 4], lambda p, x: p.static.nn.conv3d(x, 4, 3, padding=1, groups=2, act="relu")
    ),
    "conv2d_transpose": _layer(
        [2, 3, 3],
        lambda p, x: p.static.nn.conv2d_transpose(x, 4, filter_size=3, stride=2, padding=1),
    ),
    "conv2d_transpose_size": _layer(
        [3, 4, 2],
        lambda p, x: p.static.nn.conv2d_transpose(
            x, 2, [7, 8], stride=2, data_format="NHWC", act="tanh"
        ),
    ),
    "conv3d_transpose": _layer(
        [2, 2, 3, 2],
        lambda p, x: p.static.nn.conv3d_transpose(x, 4, filter_size=2, stride=2, groups=2),
    ),
    "group_norm_affine": _layer(
        [4, 3],
        lambda p, x: p.static.nn.group_norm(
            x, 2, param_attr=p.ParamAttr(name="g"), bias_attr=p.ParamAttr(name="h")
        ),
    ),
    "instance_norm": _layer(
        [3, 4, 2], lambda p, x: p.static.nn.instance_norm(p.static.nn.conv2d(x, 2, 1))
    ),
    "instance_norm_affine": _layer(
        [3, 4, 2],
        lambda p, x: p.static.nn.instance_norm(
            x, param_attr=p.ParamAttr(name="g"), bias_attr=p.ParamAttr(name="h")
        ),
    ),
    "prelu_all": _layer([3, 2, 2], _prelu("all")),
    "prelu_channel": _layer([3, 2, 2], _prelu("channel")),
    "prelu_channel_last": _layer([2, 2, 3], _prelu("channel", "NHWC")),
    "prelu_element": _layer([3, 2, 2], _prelu("element")),
    "bilinear_tensor_product": _layer([3], _bilinear),
    "weight_norm": _layer(
        [3],
        lambda p, x: p.static.nn.fc(
            x, 4, weight_attr=p.static.WeightNormParamAttr(dim=None, name="n")
        ),
    ),
    "row_conv": _layer([5, 3], lambda p, x: p.static.nn.row_conv(x, 2, act="tanh")),
    "data_norm": _layer([3], lambda p, x: p.static.nn.fc(p.static.nn.data_norm(x), 2)),
    "data_norm_shift": _layer(
        [3],
        lambda p, x: p.static.nn.data_norm(
            p.static.nn.fc(x, 3),
            name="d",
            enable_scale_and_shift=True,
            param_attr={"batch_size": 80.0, "scale_w": 2.0},
        ),
    ),
    "data_norm_slots": _layer([4], _norm_with_slots, 1e-3),
}


CASES = {}
for group in (SPARSE, AVERAGES, MERGED, SCALED, LAYERS):
    CASES.update(group)


def resumed(paddle, prefix):
    """Losses of a program with Adam; its values come from the files ``prefix``, which are written
    first where they are missing.
    """
    main, startup = paddle.static.Program(), paddle.static.Program()
    exe = paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.scope_guard(paddle.static.Scope()):
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            loss, feed = _regression(paddle)
            paddle.optimizer.Adam(0.1, beta1=0.8).minimize(loss)
        exe.run(startup)
        if not os.path.exists(prefix + ".pdopt"):
            for step in range(STEPS):
                exe.run(main, feed=feed(step))
            paddle.static.save(main, prefix)
            os.unlink(prefix + ".pdmodel")
        paddle.static.load(main, prefix)
        return np.array(
            [float(exe.run(main, feed=feed(step), fetch_list=[loss])[0]) for step in range(STEPS)]
        )


def train(paddle, case, initial=None):
    """Run a case; returns a dict of arrays: what was fetched, first and last values of the
    parameters, and what came after.
    """
    main, startup = paddle.static.Program(), paddle.static.Program()
    exe = paddle.static.Executor(paddle.CPUPlace())
    scope = paddle.static.Scope()
    out = {}
    with contextlib.ExitStack() as stack:
        stack.enter_context(paddle.static.scope_guard(scope))
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            fetches, feed, after = CASES[case](paddle)
        exe.run(startup)
        names = [p.name for p in main.all_parameters()]
        for name, value in (initial or {}).items():
            scope.find_var(name).get_tensor().set(value, paddle.CPUPlace())
        for name in names:
            out[f"first/{name}"] = np.array(scope.find_var(name).get_tensor())
        fetched = []
        for step in range(STEPS):
            values = exe.run(main, feed=feed(step), fetch_list=fetches)
            fetched.append([float(np.asarray(v).reshape(-1)[0]) for v in values])
        out["fetched"] = np.array(fetched)
        for name in names:
            out[f"last/{name}"] = np.array(scope.find_var(name).get_tensor())
        for index, value in enumerate(after(exe) if after else ()):
            out[f"after/{index}"] = np.asarray(value)
    return out
