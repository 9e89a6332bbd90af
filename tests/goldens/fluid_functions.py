"""Single functions of ``paddle.fluid`` in programs, built from one text by Paddle 1.8.5 and by
argosy, to compare values and gradients.

They are built on inputs that gradients reach, with parameters set from a generator.
"""

import zlib

import numpy as np

LAYERS = {}


def _rng(name):
    return np.random.RandomState(zlib.crc32(str(name).encode()))


def normal(*shape):
    return lambda rng: rng.randn(*shape).astype("float32")


def positive(*shape):
    return lambda rng: rng.uniform(0.1, 0.9, shape).astype("float32")


def integers(high, *shape):
    return lambda rng: rng.randint(0, high, shape).astype("int64")


def layer(name, inputs, build, grad=True, lengths=None):
    """``build(fluid, *variables)`` gives a variable or a list; ``inputs`` draw the arrays that are
    fed.

    With ``lengths`` the first input is sequences.
    """
    assert name not in LAYERS, name
    LAYERS[name] = (inputs if isinstance(inputs, tuple) else (inputs,), build, grad, lengths)


def run_layer(fluid, name):
    """Outputs, and the gradients of all inputs and parameters, by name."""
    inputs, build, has_grad, lengths = LAYERS[name]
    rng = _rng(name)
    arrays = [draw(rng) for draw in inputs]
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        variables = []
        for i, array in enumerate(arrays):
            # All but the first dimension are declared, as scripts do.
            lod_level = 1 if lengths and i == 0 else 0
            variable = fluid.data(
                f"x{i}", [None] + list(array.shape[1:]), str(array.dtype), lod_level
            )
            variable.stop_gradient = array.dtype.kind != "f" or not has_grad
            variables.append(variable)
        made = build(fluid, *variables)
        outputs = list(made) if isinstance(made, (list, tuple)) else [made]
        terms = [
            fluid.layers.reduce_sum(
                out * out * out * 0.3 + out * 0.5
            )  # no sum of squares: norms would make it constant
            for out in outputs
            if has_grad
            and "float" in fluid.data_feeder.convert_dtype(out.dtype)
            and not out.stop_gradient
        ]
        wanted = [v for v in variables if not v.stop_gradient] if terms else []
        if terms:
            loss = terms[0] if len(terms) == 1 else fluid.layers.sums(terms)
            wanted = wanted + [p for p in main.all_parameters() if p.trainable]
            grads = fluid.gradients(loss, wanted)
        else:
            grads = []
    exe = fluid.Executor(fluid.CPUPlace())
    scope = fluid.core.Scope()
    with fluid.scope_guard(scope):
        exe.run(startup)
        for parameter in sorted(main.all_parameters(), key=lambda p: p.name):
            value = rng.uniform(-0.5, 0.5, [int(n) for n in parameter.shape]).astype("float32")
            if "w_2" in parameter.name or "variance" in parameter.name:
                value = np.abs(value) + 0.5
            scope.find_var(parameter.name).get_tensor().set(value, fluid.CPUPlace())
        names = sorted(p.name for p in main.all_parameters())
        feed = {f"x{i}": array for i, array in enumerate(arrays)}
        if lengths:
            feed["x0"] = fluid.create_lod_tensor(arrays[0], [lengths], fluid.CPUPlace())
        kept = [(v.name, g) for v, g in zip(wanted, grads) if g is not None]  # noqa: B905 (Python 3.7)
        fetched = exe.run(
            main, feed=feed, fetch_list=outputs + [g for _, g in kept], return_numpy=False
        )
        result = {f"out{i}": np.asarray(v) for i, v in enumerate(fetched[: len(outputs)])}
        result.update(
            {"grad/" + n: np.asarray(v) for (n, _), v in zip(kept, fetched[len(outputs) :])}  # noqa: B905
        )
        result.update(
            {
                "after/" + n: np.array(scope.find_var(n).get_tensor())
                for n in names
                if ".w_1" in n or ".w_2" in n
            }
        )
    result["names"] = np.array(" ".join(names))
    return result


def _parametric():
    add = layer
    add("fc", normal(3, 4), lambda f, x: f.layers.fc(x, 5))
    add("fc_act", normal(3, 2, 4), lambda f, x: f.layers.fc(x, 5, act="tanh"))
    add(
        "fc_flatten",
        normal(3, 2, 4),
        lambda f, x: f.layers.fc(x, 5, num_flatten_dims=2, bias_attr=False),
    )
    add(
        "fc_last",
        normal(3, 2, 4),
        lambda f, x: f.layers.fc(x, 5, num_flatten_dims=-1, act="leaky_relu"),
    )
    add(
        "fc_list",
        (normal(3, 4), normal(3, 2)),
        lambda f, x, y: f.layers.fc([x, y], 5, act="sigmoid"),
    )
    add(
        "fc_names",
        normal(3, 4),
        lambda f, x: f.layers.fc(x, 2, param_attr="own_w", bias_attr=f.ParamAttr(name="own_b")),
    )
    add("fc_twice", normal(3, 4), lambda f, x: f.layers.fc(f.layers.fc(x, 3, name="deep"), 2))
    add("embedding", integers(6, 4, 1), lambda f, x: f.layers.embedding(x, [6, 3]))
    add(
        "embedding_3d",
        integers(6, 4, 2, 1),
        lambda f, x: f.layers.embedding(x, [6, 3], padding_idx=2),
    )
    add("embedding_v2", integers(6, 4, 2), lambda f, x: f.embedding(x, [6, 3], padding_idx=-1))
    add(
        "conv2d",
        normal(2, 3, 6, 5),
        lambda f, x: f.layers.conv2d(x, 4, 3, padding=1, stride=2, act="relu"),
    )
    add(
        "conv2d_groups",
        normal(2, 4, 5, 5),
        lambda f, x: f.layers.conv2d(x, 4, [3, 1], groups=2, dilation=2, bias_attr=False),
    )
    add(
        "conv2d_same",
        normal(1, 2, 5, 5),
        lambda f, x: f.layers.conv2d(x, 3, 3, padding="SAME", stride=2),
    )
    add(
        "conv2d_depthwise",
        normal(1, 3, 5, 5),
        lambda f, x: f.layers.conv2d(x, 3, 3, groups=3, use_cudnn=False),
    )
    add(
        "conv2d_pads",
        normal(1, 2, 5, 5),
        lambda f, x: f.layers.conv2d(x, 2, 3, padding=[1, 0, 2, 1]),
    )
    add(
        "conv2d_transpose",
        normal(2, 3, 4, 4),
        lambda f, x: f.layers.conv2d_transpose(x, 2, filter_size=3, stride=2, padding=1),
    )
    add(
        "conv2d_transpose_size",
        normal(1, 2, 3, 3),
        lambda f, x: f.layers.conv2d_transpose(x, 2, output_size=6, stride=2),
    )
    add("conv3d", normal(1, 2, 4, 4, 4), lambda f, x: f.layers.conv3d(x, 2, 3, padding=1))
    add(
        "conv3d_transpose",
        normal(1, 2, 3, 3, 3),
        lambda f, x: f.layers.conv3d_transpose(x, 2, filter_size=2, groups=1),
    )
    add("batch_norm", normal(4, 3, 2, 2), lambda f, x: f.layers.batch_norm(x, act="relu"))
    add(
        "batch_norm_2d",
        normal(5, 3),
        lambda f, x: f.layers.batch_norm(x, momentum=0.6, epsilon=1e-3),
    )
    add(
        "batch_norm_test",
        normal(4, 3),
        lambda f, x: f.layers.batch_norm(x, is_test=True),
        grad=False,
    )
    add(
        "batch_norm_global",
        normal(4, 3, 2, 2),
        lambda f, x: f.layers.batch_norm(x, use_global_stats=True),
    )
    add(
        "batch_norm_named",
        normal(4, 3),
        lambda f, x: f.layers.batch_norm(
            x, moving_mean_name="m", moving_variance_name="my_variance"
        ),
    )
    add(
        "batch_norm_last",
        normal(4, 2, 2, 3),
        lambda f, x: f.layers.batch_norm(x, data_layout="NHWC"),
    )
    add("layer_norm", normal(4, 3, 2), lambda f, x: f.layers.layer_norm(x, act="tanh"))
    add(
        "layer_norm_inner",
        normal(4, 3, 2),
        lambda f, x: f.layers.layer_norm(x, begin_norm_axis=2, shift=False),
    )
    add(
        "layer_norm_plain",
        normal(4, 3),
        lambda f, x: f.layers.layer_norm(x, scale=False, shift=False),
    )
    add(
        "group_norm",
        normal(2, 4, 3, 3),
        lambda f, x: f.layers.group_norm(x, 2, param_attr="s", bias_attr="b", act="relu"),
    )
    # Paddle's is wrong
    add("group_norm_plain", normal(2, 4, 3, 3), lambda f, x: f.layers.group_norm(x, 2), grad=False)
    add("instance_norm", normal(2, 3, 3, 2), lambda f, x: f.layers.instance_norm(x))
    add("lrn", normal(2, 6, 2, 2), lambda f, x: f.layers.lrn(x, n=3, alpha=0.5))
    add("prelu_all", normal(3, 4), lambda f, x: f.layers.prelu(x, "all"))
    add("prelu_channel", normal(2, 3, 2, 2), lambda f, x: f.layers.prelu(x, "channel"))
    add("prelu_element", normal(2, 3, 2, 2), lambda f, x: f.layers.prelu(x, "element"))
    add(
        "bilinear",
        (normal(3, 2), normal(3, 4)),
        lambda f, x, y: f.layers.bilinear_tensor_product(x, y, 5),
    )
    add(
        "weight_norm",
        normal(3, 4),
        lambda f, x: f.layers.fc(x, 5, param_attr=f.WeightNormParamAttr(dim=1, name="wn")),
    )
    add(
        "weight_norm_all",
        normal(3, 4),
        lambda f, x: f.layers.fc(x, 5, param_attr=f.WeightNormParamAttr(name="wn")),
    )
    add("hsigmoid", (normal(4, 3), integers(6, 4, 1)), lambda f, x, y: f.layers.hsigmoid(x, y, 6))
    add(
        "create_parameter",
        normal(3, 4),
        lambda f, x: (
            f.layers.elementwise_mul(x, f.layers.create_parameter([4], "float32"))
            + f.layers.create_parameter([4], "float32", name="b", is_bias=True)
        ),
    )


def _shapes():
    add, x34, x234 = layer, normal(3, 4), normal(2, 3, 4)
    add("reshape", x234, lambda f, x: f.layers.reshape(x * 1.0, [-1, 12], act="tanh", inplace=True))
    add("reshape_zero", x234, lambda f, x: f.layers.reshape(x, [0, -1]))
    add("transpose", x234, lambda f, x: f.layers.transpose(x, [1, 0, 2]))
    add("squeeze", normal(2, 1, 3, 1), lambda f, x: f.layers.squeeze(x, [1]))
    add("unsqueeze", x34, lambda f, x: f.layers.unsqueeze(x, [0, 2]))
    add(
        "flatten",
        x234,
        lambda f, x: [f.layers.flatten(x, 2), f.layers.flatten(x, 1), f.layers.flatten(x, 0)],
    )
    add("split", x34, lambda f, x: f.layers.split(x, 2) + f.layers.split(x, [1, 3], dim=1))
    add("concat", (x34, normal(3, 2)), lambda f, x, y: f.layers.concat([x, y], axis=1))
    add("stack", (x34, x34), lambda f, x, y: f.layers.stack([x, y], axis=1))
    add("unstack", x34, lambda f, x: f.layers.unstack(x, axis=1))
    add("expand", normal(2, 3), lambda f, x: f.layers.expand(x, [2, 1]))
    add("expand_as", (normal(3, 1), x34), lambda f, x, y: f.layers.expand_as(x, y))
    add("slice", x234, lambda f, x: f.layers.slice(x, [1, 2], [0, -3], [2, 4]))
    add("gather", (x34, integers(3, 5)), lambda f, x, i: f.layers.gather(x, i, overwrite=False))
    add("gather_nd", (x34, integers(3, 2, 2)), lambda f, x, i: f.layers.gather_nd(x, i))
    add("shape", x234, lambda f, x: f.layers.shape(x))
    add("one_hot", integers(5, 4, 1), lambda f, x: f.layers.one_hot(x, 5))
    add("one_hot_v2", integers(5, 4), lambda f, x: f.one_hot(x, 5))
    add("topk", x34, lambda f, x: f.layers.topk(x, 2))
    add("argmax", x34, lambda f, x: [f.layers.argmax(x, axis=1), f.layers.argmin(x, axis=-1)])
    add("argsort", x34, lambda f, x: f.layers.argsort(x, axis=1, descending=True))
    add("cast", x34, lambda f, x: f.layers.cast(x, "int32"))
    add(
        "fill_like",
        x34,
        lambda f, x: f.layers.fill_constant_batch_size_like(x, [1, 2], "float32", 1.5),
    )
    add(
        "fill_like_dim",
        x234,
        lambda f, x: f.layers.fill_constant_batch_size_like(
            x, [7, 1], "int64", 3, output_dim_idx=1
        ),
    )
    add(
        "zeros_ones",
        x34,
        lambda f, x: [
            f.layers.zeros([2], "float32"),
            f.layers.ones([2], "int64"),
            f.layers.zeros_like(x),
            f.layers.ones_like(x),
        ],
    )
    add(
        "range",
        x34,
        lambda f, x: [f.layers.range(0, 6, 2, "int64"), f.layers.linspace(0.0, 1.0, 3, "float32")],
    )
    add(
        "assign",
        x34,
        lambda f, x: [f.layers.assign(x), f.layers.assign(np.array([1.5, 2.5], "float32"))],
    )
    add("reverse", x34, lambda f, x: f.layers.reverse(x, [1]))
    add("sequence_mask", integers(5, 3), lambda f, x: f.layers.sequence_mask(x, maxlen=5))
    add("pad", x34, lambda f, x: f.layers.pad(x, [0, 1, 2, 0], 0.5))
    add("pad_4d", normal(1, 2, 2, 2), lambda f, x: f.layers.pad(x, [0, 0, 1, 0, 0, 1, 2, 0], 0.5))
    add(
        "pad2d",
        normal(1, 2, 3, 3),
        lambda f, x: [
            f.layers.pad2d(x, [1, 0, 2, 1]),
            f.layers.pad2d(x, [1, 1, 1, 1], mode="reflect"),
            f.layers.pad2d(x, [1, 0, 0, 2], mode="edge"),
        ],
    )

    def made(f, x):
        out = f.layers.create_tensor("float32", name="made")
        f.layers.assign(x, output=out)
        total = f.layers.create_global_var([1], 2.0, "float32", persistable=True, name="total")
        return [out * 2.0, total + 1.0]

    add("create_tensor", x34, made)


def _math():
    add, x34, y34 = layer, normal(3, 4), normal(3, 4)
    for word in ("add", "sub", "mul", "div", "max", "min"):
        add(
            "elementwise_" + word,
            (x34, y34),
            lambda f, x, y, word=word: getattr(f.layers, "elementwise_" + word)(x, y),
        )
    add(
        "elementwise_pow",
        (positive(3, 4), positive(3, 4)),
        lambda f, x, y: f.layers.elementwise_pow(x, y),
    )
    add(
        "elementwise_int",
        (integers(9, 3), integers(3, 3)),
        lambda f, x, y: [
            f.layers.elementwise_mod(x, y + 1),
            f.layers.elementwise_floordiv(x, y + 1),
        ],
    )
    add(
        "elementwise_axis",
        (normal(2, 3, 4), normal(2, 3)),
        lambda f, x, y: f.layers.elementwise_add(x, y, axis=0, act="relu"),
    )
    add(
        "elementwise_rows",
        (normal(3, 2, 4), normal(3)),
        lambda f, x, y: f.layers.elementwise_mul(x, y, axis=0),
    )
    for word in ("sum", "mean", "max", "min", "prod"):
        add(
            "reduce_" + word,
            normal(2, 3, 4),
            lambda f, x, word=word: [
                getattr(f.layers, "reduce_" + word)(x),
                getattr(f.layers, "reduce_" + word)(x, dim=[1, 2]),
                getattr(f.layers, "reduce_" + word)(x, dim=-1, keep_dim=True),
            ],
        )
    add("mean", x34, lambda f, x: f.layers.mean(x))
    add(
        "matmul",
        (normal(2, 3, 4), normal(2, 5, 4)),
        lambda f, x, y: f.layers.matmul(x, y, transpose_y=True, alpha=0.5),
    )
    add(
        "mul",
        normal(2, 3, 4),
        lambda f, x: f.layers.mul(x, f.layers.create_parameter([2, 6, 5], "float32"), 1, 2),
    )
    add(
        "mul_rows",
        normal(2, 3, 4),
        lambda f, x: f.layers.mul(x, f.layers.create_parameter([4, 2, 3], "float32"), 2),
    )
    add(
        "scale",
        x34,
        lambda f, x: [
            f.layers.scale(x, 2.0, 1.0),
            f.layers.scale(x, 2.0, 1.0, bias_after_scale=False, act="tanh"),
        ],
    )
    add("sums", (x34, y34), lambda f, x, y: [f.layers.sums([x, y]), f.layers.sum([x, y, x])])
    add("clip", x34, lambda f, x: f.layers.clip(x, -0.5, 0.5))
    add("clip_by_norm", x34, lambda f, x: f.layers.clip_by_norm(x, 1.0), grad=False)
    add("l2_normalize", x34, lambda f, x: f.layers.l2_normalize(x, axis=1))
    add("cos_sim", (x34, y34), lambda f, x, y: f.layers.cos_sim(x, y))
    add(
        "operators",
        (positive(3, 4), positive(3, 4)),
        lambda f, x, y: [x + y, x - 1.0, 2.0 * x, x / y, 1.0 / x, x**2.0, -x, x * 3, 1.0 - x],
    )
    add(
        "compare",
        (integers(3, 4), integers(3, 4)),
        lambda f, x, y: [
            f.layers.cast(v, "int32")
            for v in (f.layers.less_than(x, y), f.layers.equal(x, y), x >= y)
        ],
    )
    acts = (
        "relu sigmoid tanh softmax sqrt exp log square abs softplus softsign logsigmoid "
        "leaky_relu relu6 swish elu gelu hard_sigmoid hard_swish brelu stanh soft_relu selu "
        "reciprocal sin cos floor ceil rsqrt"
    )
    for word in acts.split():
        add(
            "act_" + word,
            positive(3, 4) if word in ("sqrt", "log", "rsqrt", "reciprocal") else normal(3, 4),
            lambda f, x, word=word: getattr(f.layers, word)(x),
        )
    add("pow", positive(3, 4), lambda f, x: f.layers.pow(x, 1.5))
    add("maxout", normal(2, 4, 2, 2), lambda f, x: f.layers.maxout(x, 2))
    add("cumsum", x34, lambda f, x: f.layers.cumsum(x, axis=1))
    image = normal(2, 2, 5, 5)
    add(
        "pool2d",
        image,
        lambda f, x: [
            f.layers.pool2d(x, 3),
            f.layers.pool2d(x, 2, "avg", 2, 1),
            f.layers.pool2d(x, 2, "avg", 2, 1, exclusive=False),
        ],
    )
    add(
        "pool2d_ceil",
        image,
        lambda f, x: [
            f.layers.pool2d(x, 2, "max", 2, ceil_mode=True),
            f.layers.pool2d(x, 2, "avg", 2, ceil_mode=True),
            f.layers.pool2d(x, 2, "avg", 2, ceil_mode=True, exclusive=False),
        ],
    )
    add(
        "pool2d_global",
        image,
        lambda f, x: [
            f.layers.pool2d(x, pool_type="avg", global_pooling=True),
            f.layers.pool2d(x, pool_type="max", global_pooling=True),
        ],
    )
    add(
        "pool3d",
        normal(1, 2, 4, 4, 4),
        lambda f, x: [f.layers.pool3d(x, 2, "max", 2), f.layers.pool3d(x, 2, "avg", 2)],
    )
    add(
        "adaptive_pool2d",
        image,
        lambda f, x: [
            f.layers.adaptive_pool2d(x, 2, "avg"),
            f.layers.adaptive_pool2d(x, [2, 3], "max"),
        ],
    )
    add(
        "dropout_test",
        x34,
        lambda f, x: [
            f.layers.dropout(x, 0.4, is_test=True),
            f.layers.dropout(x, 0.4, is_test=True, dropout_implementation="upscale_in_train"),
            f.layers.dropout(x, 0.0),
        ],
        grad=False,
    )


def _losses():
    add, x34 = layer, normal(3, 4)
    add(
        "cross_entropy",
        (positive(3, 4), integers(4, 3, 1)),
        lambda f, x, y: f.layers.cross_entropy(x, y),
    )
    add(
        "cross_entropy_soft",
        (positive(3, 4), positive(3, 4)),
        lambda f, x, y: f.layers.cross_entropy(x, y, soft_label=True),
    )
    add(
        "cross_entropy_ignore",
        (positive(3, 4), integers(4, 3, 1)),
        lambda f, x, y: f.layers.cross_entropy(x, y, ignore_index=1),
    )
    add(
        "softmax_cross_entropy",
        (x34, integers(4, 3, 1)),
        lambda f, x, y: f.layers.softmax_with_cross_entropy(x, y, return_softmax=True)[0],
    )
    add(
        "softmax_cross_entropy_soft",
        (x34, positive(3, 4)),
        lambda f, x, y: f.layers.softmax_with_cross_entropy(x, y, soft_label=True),
    )
    add(
        "sigmoid_cross_entropy",
        (x34, positive(3, 4)),
        lambda f, x, y: [f.layers.sigmoid_cross_entropy_with_logits(x, y)],
    )
    add("square_error_cost", (x34, normal(3, 4)), lambda f, x, y: f.layers.square_error_cost(x, y))
    add("mse_loss", (x34, normal(3, 4)), lambda f, x, y: f.layers.mse_loss(x, y))
    add("log_loss", (positive(3, 1), positive(3, 1)), lambda f, x, y: f.layers.log_loss(x, y))
    add("huber_loss", (normal(4, 1), normal(4, 1)), lambda f, x, y: f.layers.huber_loss(x, y, 0.7))
    add(
        "smooth_l1",
        (normal(4, 3), normal(4, 3)),
        lambda f, x, y: [f.layers.smooth_l1(x, y), f.layers.smooth_l1(x, y, sigma=2.0)],
    )
    add(
        "rank_loss",
        (positive(4, 1), normal(4, 1), normal(4, 1)),
        lambda f, y, a, b: f.layers.rank_loss(y, a, b),
    )
    add(
        "margin_rank_loss",
        (positive(4, 1), normal(4, 1), normal(4, 1)),
        lambda f, y, a, b: f.layers.margin_rank_loss(y, a, b),
    )
    add("bpr_loss", (normal(4, 3), integers(3, 4, 1)), lambda f, x, y: f.layers.bpr_loss(x, y))
    add("kldiv_loss", (x34, positive(3, 4)), lambda f, x, y: f.layers.kldiv_loss(x, y))
    add("label_smooth", positive(3, 4), lambda f, x: f.layers.label_smooth(x))
    add(
        "accuracy",
        (positive(6, 4), integers(4, 6, 1)),
        lambda f, x, y: [f.layers.accuracy(x, y), f.layers.accuracy(x, y, k=2)],
    )
    add("auc", (positive(6, 2), integers(2, 6, 1)), lambda f, x, y: list(f.layers.auc(x, y)[:2]))
    add(
        "conv_pool",
        normal(2, 1, 6, 6),
        lambda f, x: f.nets.simple_img_conv_pool(x, 2, 3, 2, 2, act="relu"),
    )
    add(
        "conv_group",
        normal(2, 2, 6, 6),
        lambda f, x: f.nets.img_conv_group(
            x, [2, 3], 2, conv_act="relu", conv_with_batchnorm=[True, False], pool_stride=2
        ),
    )
    add("glu", normal(3, 4), lambda f, x: f.nets.glu(x))
    add(
        "attention",
        (normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 6)),
        lambda f, q, k, v: f.nets.scaled_dot_product_attention(q, k, v),
    )
    add(
        "attention_heads",
        (normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 6)),
        lambda f, q, k, v: f.nets.scaled_dot_product_attention(
            f.layers.reshape(q, [2, 3, 4]),
            f.layers.reshape(k, [2, 5, 4]),
            f.layers.reshape(v, [2, 5, 6]),
            num_heads=2,
        ),
    )


def _more():
    add, image = layer, normal(2, 2, 3, 4)
    add(
        "resize_bilinear",
        image,
        lambda f, x: [f.layers.resize_bilinear(x, [5, 6]), f.layers.resize_bilinear(x, scale=2.0)],
    )
    add(
        "resize_bilinear_mode",
        image,
        lambda f, x: [
            f.layers.resize_bilinear(x, [5, 6], align_corners=False),
            f.layers.image_resize(x, [5, 6], align_corners=False, align_mode=0),
        ],
    )
    add(
        "resize_nearest",
        image,
        lambda f, x: [
            f.layers.resize_nearest(x, [5, 7]),
            f.layers.resize_nearest(x, [5, 7], align_corners=False),
        ],
    )
    add("pixel_shuffle", normal(1, 4, 2, 2), lambda f, x: f.layers.pixel_shuffle(x, 2))
    add(
        "strided_slice",
        normal(4, 6),
        lambda f, x: f.layers.strided_slice(x, [0, 1], [1, 0], [4, 6], [1, 2]),
    )
    add(
        "scatter_nd_add",
        (normal(4, 2), integers(4, 3, 1), normal(3, 2)),
        lambda f, x, i, u: f.layers.scatter_nd_add(x, i, u),
    )
    add(
        "scatter_nd",
        (integers(4, 3, 1), normal(3, 2)),
        lambda f, i, u: f.layers.scatter_nd(i, u, [4, 2]),
    )
    add(
        "cumsum_ways",
        normal(3, 4),
        lambda f, x: [
            f.layers.cumsum(x),
            f.layers.cumsum(x, 0, exclusive=True),
            f.layers.cumsum(x, 1, True, True),
        ],
    )
    add("hard_swish_own", normal(3, 4), lambda f, x: f.layers.hard_swish(x, 4.0, 5.0, 2.0))
    add("size", normal(3, 4), lambda f, x: f.layers.size(x))
    add("isfinite", normal(3, 4), lambda f, x: f.layers.isfinite(x))
    for word in ("hard_shrink", "softshrink", "tanh_shrink", "thresholded_relu"):
        add(word, normal(3, 4), lambda f, x, word=word: getattr(f.layers, word)(x))


def _first_only(made):
    """Paddle passes gradients through the first output only."""
    for variable in made[1:]:
        variable.stop_gradient = True
    return list(made)


def _sequences():
    def add(name, inputs, build):
        layer(name, inputs, build, lengths=[2, 4, 1])

    add("lstm", normal(7, 12), lambda f, x: _first_only(f.layers.dynamic_lstm(x, 12)))
    add(
        "lstm_plain",
        normal(7, 12),
        lambda f, x: _first_only(
            f.layers.dynamic_lstm(x, 12, use_peepholes=False, is_reverse=True)
        ),
    )
    add(
        "lstm_acts",
        normal(7, 12),
        lambda f, x: f.layers.dynamic_lstm(
            x, 12, candidate_activation="relu", cell_activation="identity"
        )[0],
    )
    add("gru", normal(7, 9), lambda f, x: f.layers.dynamic_gru(x, 3))
    add(
        "gru_reverse",
        normal(7, 9),
        lambda f, x: f.layers.dynamic_gru(x, 3, is_reverse=True, origin_mode=True),
    )
    add(
        "gru_bare",
        normal(7, 9),
        lambda f, x: f.layers.dynamic_gru(x, 3, candidate_activation="relu"),
    )
    add(
        "embedded_words",
        integers(9, 7, 1),
        lambda f, x: f.layers.sequence_pool(
            f.layers.fc(f.layers.embedding(x, [9, 3]), 4, act="tanh"), "sum"
        ),
    )
    add(
        "conv_pool_words",
        integers(9, 7, 1),
        lambda f, x: f.nets.sequence_conv_pool(f.layers.embedding(x, [9, 3]), 4, 3, act="tanh"),
    )
    layer("gru_unit", (normal(2, 9), normal(2, 3)), lambda f, x, h: f.layers.gru_unit(x, h, 9)[0])
    layer(
        "lstm_unit",
        (normal(2, 4), normal(2, 3), normal(2, 3)),
        lambda f, x, h, c: list(f.layers.lstm_unit(x, h, c, forget_bias=0.5)),
    )


_parametric()
_sequences()
_more()
_shapes()
_math()
_losses()
