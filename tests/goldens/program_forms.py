"""Layers and models whose programs are compared with Paddle's, operator by operator.

``forms`` builds one and lists the operators of its forward part: type, variables by input slot,
variables by output slot, attributes. It runs under real Paddle 1.8.5 and 2.6.2 as under argosy.
"""


def forms(program):
    """The forward operators of ``program`` as plain data."""
    return [
        [
            op.type,
            {slot: list(op.input(slot)) for slot in op.input_names if op.input(slot)},
            {slot: list(op.output(slot)) for slot in op.output_names if op.output(slot)},
            {name: _plain(op.attr(name)) for name in sorted(op.attr_names) if name not in HINTS},
        ]
        for op in program.global_block().ops
        if op.attr("op_role") in (0, 256)
    ]


# Attributes that say how an operator runs or who recorded it, not what it computes.
HINTS = frozenset(
    """
    Out0_threshold Out_threshold Output_scale ScaleAlpha Scale_in Scale_in_eltwise Scale_out
    Scale_weights Scale_x Scale_y Input_scale X0_threshold activation_type alpha_mkldnn
    beta_mkldnn fuse_activation fuse_alpha fuse_beta fuse_relu fuse_relu_before_depthwise_conv
    fuse_residual_connection fuse_with_relu fused_output_scale fused_reshape_Out fused_reshape_X
    fused_reshape_Y fused_transpose_Out fused_transpose_X fused_transpose_Y
    fused_unsqueeze2_axes force_fp32_output head_number input_scale is_bidirectional
    mkldnn_data_type op_callstack op_device op_namescope op_role op_role_var output_scale
    scale_in scale_in_eltwise scale_out scale_weights scale_x scale_y skip_quant use_addto
    use_cudnn use_mkldnn use_quantizer with_quant_attr workspace_size_MB x_data_format
    y_data_format exhaustive_search force_cpu grad_inplace remote_prefetch table_names epmap
    height_sections trainer_id entry entry_config fix_seed seed auto_grown_table
    """.split()  # noqa: SIM905
)


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return round(value, 6)
    return value if isinstance(value, (bool, int, str, type(None))) else str(value)


# -- 1.8.5 -----------------------------------------------------------------------------------------


def fluid_forms(fluid, name):
    """The operators of ``FLUID[name]``."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        FLUID[name](fluid, fluid.layers)
    return forms(main)


def _x(L, *shape):
    return L.data("x", list(shape or (4,)))


def _ids(L):
    return L.data("ids", [1], dtype="int64")


def _image(L):
    return L.data("image", [3, 8, 8])


def _of_x(name, *args, **kwargs):
    """A layer of one input of two dimensions."""
    return lambda fluid, L: getattr(L, name)(_x(L), *args, **kwargs)


def _of_images(name, *args, **kwargs):
    return lambda fluid, L: getattr(L, name)(_image(L), *args, **kwargs)


def _of_two(name, *args, **kwargs):
    return lambda fluid, L: getattr(L, name)(_x(L), L.data("y", [4]), *args, **kwargs)


def _operators(compute):
    return lambda fluid, L: compute(_x(L))


def _fit_a_line(fluid, L):
    x, y = L.data("x", [13]), L.data("y", [1])
    L.mean(L.square_error_cost(input=L.fc(input=x, size=1, act=None), label=y))


def _digits(fluid, L):
    image, label = L.data("img", [1, 28, 28]), L.data("label", [1], dtype="int64")
    nets = fluid.nets
    first = nets.simple_img_conv_pool(image, 20, 5, 2, 2, act="relu")
    second = nets.simple_img_conv_pool(L.batch_norm(first), 50, 5, 2, 2, act="relu")
    prediction = L.fc(second, 10, act="softmax")
    L.mean(L.cross_entropy(prediction, label))
    L.accuracy(prediction, label)


def _words(fluid, L):
    words = [L.data(f"word{i}", [1], dtype="int64") for i in range(2)]
    embedded = [L.embedding(w, [20, 8], is_sparse=True, param_attr="shared_w") for w in words]
    hidden = L.fc(L.concat(embedded, axis=1), 16, act="sigmoid")
    prediction = L.fc(hidden, 20, act="softmax")
    L.mean(L.cross_entropy(prediction, L.data("next", [1], dtype="int64")))


def _click(fluid, L):
    dense = L.data("dense", [13])
    slots = [L.data(f"C{i}", [1], dtype="int64", lod_level=1) for i in range(2)]
    pooled = [L.sequence_pool(L.embedding(s, [100, 8]), "sum") for s in slots]
    both = L.concat(pooled + [dense], axis=1)
    prediction = L.fc(L.fc(both, 32, act="relu"), 2, act="softmax")
    label = L.data("label", [1], dtype="int64")
    L.reduce_mean(L.cross_entropy(prediction, label))
    L.auc(prediction, label)


FLUID = {
    "fc": _of_x("fc", 3),
    "fc_act": _of_x("fc", 3, act="relu"),
    "fc_no_bias": _of_x("fc", 3, bias_attr=False),
    "fc_flattened": lambda fluid, L: L.fc(_x(L, 2, 3), 5),
    "fc_flatten_2": lambda fluid, L: L.fc(_x(L, 2, 3), 5, num_flatten_dims=2),
    "fc_two_inputs": lambda fluid, L: L.fc([_x(L), L.data("y", [5])], 3, act="tanh"),
    "conv2d": _of_images("conv2d", 4, 3),
    "conv2d_act": _of_images("conv2d", 4, 3, stride=2, padding=1, act="relu"),
    "conv2d_no_bias": _of_images("conv2d", 4, 3, bias_attr=False),
    "conv2d_depthwise": _of_images("conv2d", 3, 3, groups=3, use_cudnn=False),
    "conv2d_transpose": _of_images("conv2d_transpose", 4, filter_size=3),
    "conv3d": lambda fluid, L: L.conv3d(L.data("x", [2, 4, 4, 4]), 3, 2),
    "pool2d_max": _of_images("pool2d", 2, "max", 2),
    "pool2d_avg": _of_images("pool2d", 2, "avg", 2, 1),
    "pool2d_global": _of_images("pool2d", pool_type="avg", global_pooling=True),
    "adaptive_pool2d": _of_images("adaptive_pool2d", 2, "avg"),
    "batch_norm": _of_images("batch_norm", act="relu"),
    "batch_norm_test": _of_images("batch_norm", is_test=True),
    "layer_norm": _of_x("layer_norm"),
    "group_norm": lambda fluid, L: L.group_norm(L.data("x", [4, 8, 8]), 2),
    "instance_norm": _of_images("instance_norm"),
    "dropout": _of_x("dropout", 0.3),
    "dropout_upscale": _of_x("dropout", 0.3, dropout_implementation="upscale_in_train"),
    "embedding": lambda fluid, L: L.embedding(_ids(L), [10, 4]),
    "embedding_sparse": lambda fluid, L: L.embedding(
        _ids(L), [10, 4], is_sparse=True, padding_idx=0
    ),
    "embedding_v2": lambda fluid, L: fluid.embedding(_ids(L), [10, 4]),
    "one_hot": lambda fluid, L: L.one_hot(_ids(L), 7),
    "one_hot_v2": lambda fluid, L: fluid.one_hot(_ids(L), 7),
    "mean": _of_x("mean"),
    "reduce_sum": _of_x("reduce_sum"),
    "reduce_mean": _of_x("reduce_mean", dim=1),
    "reduce_max": _of_x("reduce_max", dim=[1], keep_dim=True),
    "reduce_min": _of_x("reduce_min"),
    "reduce_prod": _of_x("reduce_prod"),
    "sum": lambda fluid, L: L.sum([_x(L), L.data("y", [4])]),
    "sums": lambda fluid, L: L.sums([_x(L), L.data("y", [4])]),
    "square_error_cost": _of_two("square_error_cost"),
    "cross_entropy": lambda fluid, L: L.cross_entropy(_x(L), _ids(L)),
    "cross_entropy_soft": _of_two("cross_entropy", soft_label=True),
    "softmax_with_cross_entropy": lambda fluid, L: L.softmax_with_cross_entropy(_x(L), _ids(L)),
    "sigmoid_cross_entropy": _of_two("sigmoid_cross_entropy_with_logits"),
    "smooth_l1": _of_two("smooth_l1"),
    "huber_loss": _of_two("huber_loss", 1.0),
    "log_loss": _of_two("log_loss"),
    "mse_loss": _of_two("mse_loss"),
    "cos_sim": _of_two("cos_sim"),
    "rank_loss": lambda fluid, L: L.rank_loss(
        L.data("label", [1]), L.data("left", [1]), L.data("right", [1])
    ),
    "accuracy": lambda fluid, L: L.accuracy(_x(L), _ids(L), k=2),
    "auc": lambda fluid, L: L.auc(L.data("x", [2]), _ids(L)),
    "add": _of_two("elementwise_add"),
    "add_axis": lambda fluid, L: L.elementwise_add(_x(L, 3, 4), L.data("y", [3]), axis=0),
    "sub_act": _of_two("elementwise_sub", act="relu"),
    "mul": _of_two("elementwise_mul"),
    "div": _of_two("elementwise_div"),
    "max": _of_two("elementwise_max"),
    "pow_two": _of_two("elementwise_pow"),
    "matmul": lambda fluid, L: L.matmul(_x(L, 2, 3), L.data("y", [2, 3]), transpose_y=True),
    "matmul_alpha": lambda fluid, L: L.matmul(_x(L, 2, 3), L.data("y", [3, 2]), alpha=0.5),
    "matmul_4": lambda fluid, L: L.mul(_x(L, 3), L.data("y", [3, 2], append_batch_size=False)),
    "scale": _of_x("scale", 2.0, 1.0),
    "scale_act": _of_x("scale", 2.0, act="relu"),
    "clip": _of_x("clip", -1.0, 1.0),
    "pow": _of_x("pow", 2.0),
    "relu": _of_x("relu"),
    "sigmoid": _of_x("sigmoid"),
    "tanh": _of_x("tanh"),
    "leaky_relu": _of_x("leaky_relu", 0.1),
    "softmax": _of_x("softmax"),
    "log_softmax": lambda fluid, L: L.log(L.softmax(_x(L))),
    "gelu": _of_x("gelu"),
    "swish": _of_x("swish"),
    "hard_sigmoid": _of_x("hard_sigmoid"),
    "relu6": _of_x("relu6"),
    "elu": _of_x("elu"),
    "exp": _of_x("exp"),
    "log": _of_x("log"),
    "sqrt": _of_x("sqrt"),
    "square": _of_x("square"),
    "abs": _of_x("abs"),
    "floor": _of_x("floor"),
    "softplus": _of_x("softplus"),
    "reshape": _of_x("reshape", [-1, 2, 2]),
    "transpose": _of_x("transpose", [1, 0]),
    "squeeze": lambda fluid, L: L.squeeze(_x(L, 1), [1]),
    "unsqueeze": _of_x("unsqueeze", [1]),
    "flatten": lambda fluid, L: L.flatten(_x(L, 2, 3)),
    "concat": lambda fluid, L: L.concat([_x(L), L.data("y", [4])], axis=1),
    "split": _of_x("split", 2, dim=1),
    "stack": lambda fluid, L: L.stack([_x(L), L.data("y", [4])]),
    "slice": _of_x("slice", [1], [0], [2]),
    "expand": _of_x("expand", [1, 2]),
    "gather": lambda fluid, L: L.gather(_x(L), _ids(L)),
    "topk": _of_x("topk", 2),
    "argmax": _of_x("argmax", 1),
    "argsort": _of_x("argsort"),
    "cast": _of_x("cast", "int64"),
    "shape": _of_x("shape"),
    "assign": _of_x("assign"),
    "fill_constant": lambda fluid, L: L.fill_constant([2, 3], "float32", 1.5),
    "fill_like": lambda fluid, L: L.fill_constant_batch_size_like(_x(L), [1, 3], "float32", 0.0),
    "zeros": lambda fluid, L: L.zeros([2], "int64"),
    "zeros_like": _of_x("zeros_like"),
    "uniform_random": lambda fluid, L: L.uniform_random([2, 3], min=0.0, max=1.0),
    "gaussian_random": lambda fluid, L: L.gaussian_random([2, 3]),
    "cumsum": _of_x("cumsum"),
    "increment": lambda fluid, L: L.increment(L.fill_constant([1], "int64", 0)),
    "equal": _of_two("equal"),
    "less_than": _of_two("less_than"),
    "logical_and": lambda fluid, L: L.logical_and(
        L.data("a", [1], dtype="bool"), L.data("b", [1], dtype="bool")
    ),
    "where": lambda fluid, L: L.where(L.data("a", [1], dtype="bool")),
    "pad": _of_x("pad", [0, 0, 1, 1]),
    "pad2d": _of_images("pad2d", [1, 1, 1, 1]),
    "resize_bilinear": _of_images("resize_bilinear", [16, 16]),
    "resize_nearest": _of_images("resize_nearest", [16, 16]),
    "lrn": _of_images("lrn"),
    "l2_normalize": _of_x("l2_normalize", 1),
    "label_smooth": _of_x("label_smooth"),
    "prelu": _of_images("prelu", "all"),
    "sequence_pool": lambda fluid, L: L.sequence_pool(L.data("x", [4], lod_level=1), "sum"),
    "plus_number": _operators(lambda x: x + 1.5),
    "minus_number": _operators(lambda x: x - 1.5),
    "number_minus": _operators(lambda x: 1.5 - x),
    "times_number": _operators(lambda x: x * 2.0),
    "divided_by_number": _operators(lambda x: x / 4.0),
    "number_divided": _operators(lambda x: 4.0 / x),
    "to_the_number": _operators(lambda x: x**2),
    "negative": _operators(lambda x: -x),
    "greater_number": _operators(lambda x: x > 0.5),
    "sum_of_two": _operators(lambda x: x + x),
    "product_of_two": _operators(lambda x: x * x),
    "quotient_of_two": _operators(lambda x: x / x),
    "row": _operators(lambda x: x[0]),
    "columns": _operators(lambda x: x[:, 1:3]),
    "fit_a_line": _fit_a_line,
    "digits": _digits,
    "words": _words,
    "click": _click,
}


# -- 2.6.2 -----------------------------------------------------------------------------------------


def static_forms(paddle, name):
    """The operators of ``STATIC[name]``."""
    main = paddle.static.Program()
    guard = paddle.static.program_guard(main, paddle.static.Program())
    with guard, paddle.utils.unique_name.guard():
        STATIC[name](paddle)
    return forms(main)


def _data(paddle, *shape, **kwargs):
    shape = list(shape or (-1, 4))
    return paddle.static.data(kwargs.get("name", "x"), shape, kwargs.get("dtype", "float32"))


def _second(paddle, *shape):
    return _data(paddle, *shape, name="y")


def _long(paddle, *shape):
    return _data(paddle, *(shape or (-1, 1)), name="ids", dtype="int64")


def _pixels(paddle):
    return _data(paddle, -1, 3, 8, 8, name="image")


def _at(paddle, path):
    for part in path.split("."):
        paddle = getattr(paddle, part)
    return paddle


def _unary(path, *args, **kwargs):
    return lambda paddle: _at(paddle, path)(_data(paddle), *args, **kwargs)


def _binary(path, *args, **kwargs):
    return lambda paddle: _at(paddle, path)(_data(paddle), _second(paddle), *args, **kwargs)


def _pictures(path, *args, **kwargs):
    return lambda paddle: _at(paddle, path)(_pixels(paddle), *args, **kwargs)


def _layer(path, *args, **kwargs):
    """A layer of ``paddle.nn`` on rows."""
    return lambda paddle: _at(paddle, path)(*args, **kwargs)(_data(paddle))


def _layer_on_pictures(path, *args, **kwargs):
    return lambda paddle: _at(paddle, path)(*args, **kwargs)(_pixels(paddle))


def _with(compute):
    return lambda paddle: compute(_data(paddle))


def _classifier(paddle):
    nn = paddle.nn
    net = nn.Sequential(
        nn.Conv2D(3, 6, 3, padding=1), nn.BatchNorm2D(6), nn.ReLU(), nn.MaxPool2D(2, 2),
        nn.Flatten(), nn.Linear(96, 10),
    )  # fmt: skip
    loss = nn.functional.cross_entropy(net(_pixels(paddle)), _long(paddle))
    return loss


def _regression(paddle):
    y = paddle.static.nn.fc(_data(paddle), 1)
    return paddle.mean(paddle.nn.functional.square_error_cost(y, _data(paddle, -1, 1, name="y")))


def _attention(paddle):
    nn = paddle.nn
    x = _data(paddle, -1, 5, 8)
    q, k, v = (nn.Linear(8, 8)(x).reshape([0, 0, 2, 4]).transpose([0, 2, 1, 3]) for _ in range(3))
    weights = nn.functional.softmax(paddle.matmul(q, k, transpose_y=True) * 0.5)
    out = paddle.matmul(nn.functional.dropout(weights, 0.1), v)
    return nn.LayerNorm(8)(x + out.transpose([0, 2, 1, 3]).reshape([0, 0, 8]))


STATIC = {
    "fc": _unary("static.nn.fc", 3),
    "fc_act": _unary("static.nn.fc", 3, activation="relu"),
    "fc_no_bias": _unary("static.nn.fc", 3, bias_attr=False),
    "fc_flatten_2": lambda paddle: paddle.static.nn.fc(_data(paddle, -1, 2, 3), 5, 2),
    "conv2d": _pictures("static.nn.conv2d", 4, 3),
    "conv2d_act": _pictures("static.nn.conv2d", 4, 3, padding=1, act="relu"),
    "batch_norm": _pictures("static.nn.batch_norm", act="relu"),
    "layer_norm": _unary("static.nn.layer_norm"),
    "embedding": lambda paddle: paddle.static.nn.embedding(_long(paddle), [10, 4]),
    "sparse_embedding": lambda paddle: paddle.static.nn.sparse_embedding(_long(paddle), [10, 4]),
    "Linear": _layer("nn.Linear", 4, 3),
    "Linear_no_bias": _layer("nn.Linear", 4, 3, bias_attr=False),
    "Conv2D": _layer_on_pictures("nn.Conv2D", 3, 4, 3),
    "Conv2D_no_bias": _layer_on_pictures("nn.Conv2D", 3, 4, 3, bias_attr=False),
    "Conv2D_groups": _layer_on_pictures("nn.Conv2D", 3, 6, 3, groups=3),
    "Conv2DTranspose": _layer_on_pictures("nn.Conv2DTranspose", 3, 4, 3),
    "Conv1D": lambda paddle: paddle.nn.Conv1D(3, 4, 3)(_data(paddle, -1, 3, 9)),
    "BatchNorm2D": _layer_on_pictures("nn.BatchNorm2D", 3),
    "LayerNorm": _layer("nn.LayerNorm", 4),
    "GroupNorm": lambda paddle: paddle.nn.GroupNorm(2, 4)(_data(paddle, -1, 4, 8, 8)),
    "InstanceNorm2D": _layer_on_pictures("nn.InstanceNorm2D", 3),
    "Embedding": lambda paddle: paddle.nn.Embedding(10, 4)(_long(paddle)),
    "Dropout": _layer("nn.Dropout", 0.3),
    "dropout_downscale": _unary("nn.functional.dropout", 0.3, mode="downscale_in_infer"),
    "MaxPool2D": _layer_on_pictures("nn.MaxPool2D", 2, 2),
    "AvgPool2D": _layer_on_pictures("nn.AvgPool2D", 2, 2),
    "AdaptiveAvgPool2D": _layer_on_pictures("nn.AdaptiveAvgPool2D", 1),
    "AdaptiveMaxPool2D": _layer_on_pictures("nn.AdaptiveMaxPool2D", 2),
    "ReLU": _layer("nn.ReLU"),
    "GELU": _layer("nn.GELU"),
    "Sigmoid": _layer("nn.Sigmoid"),
    "Tanh": _layer("nn.Tanh"),
    "LeakyReLU": _layer("nn.LeakyReLU"),
    "Softmax": _layer("nn.Softmax"),
    "log_softmax": _unary("nn.functional.log_softmax"),
    "Hardswish": _layer("nn.Hardswish"),
    "Hardsigmoid": _layer("nn.Hardsigmoid"),
    "Swish": _layer("nn.Swish"),
    "SiLU": _layer("nn.Silu"),
    "ReLU6": _layer("nn.ReLU6"),
    "PReLU": _layer("nn.PReLU"),
    "Softplus": _layer("nn.Softplus"),
    "cross_entropy": lambda paddle: paddle.nn.functional.cross_entropy(
        _data(paddle), _long(paddle)
    ),
    "softmax_with_cross_entropy": lambda paddle: paddle.nn.functional.softmax_with_cross_entropy(
        _data(paddle), _long(paddle)
    ),
    "mse_loss": _binary("nn.functional.mse_loss"),
    "l1_loss": _binary("nn.functional.l1_loss"),
    "smooth_l1_loss": _binary("nn.functional.smooth_l1_loss"),
    "binary_cross_entropy": _binary("nn.functional.binary_cross_entropy"),
    "bce_with_logits": _binary("nn.functional.binary_cross_entropy_with_logits"),
    "square_error_cost": _binary("nn.functional.square_error_cost"),
    "log_loss": lambda paddle: paddle.nn.functional.log_loss(
        _data(paddle, -1, 1), _second(paddle, -1, 1)
    ),
    "accuracy": lambda paddle: paddle.static.accuracy(_data(paddle), _long(paddle)),
    "mean": _unary("mean"),
    "mean_axis": _unary("mean", axis=1),
    "sum": _unary("sum"),
    "sum_axis": _unary("sum", axis=[1], keepdim=True),
    "max": _unary("max", axis=1),
    "min": _unary("min"),
    "prod": _unary("prod"),
    "add": _binary("add"),
    "subtract": _binary("subtract"),
    "multiply": _binary("multiply"),
    "divide": _binary("divide"),
    "maximum": _binary("maximum"),
    "minimum": _binary("minimum"),
    "pow": _unary("pow", 2.0),
    "matmul": lambda paddle: paddle.matmul(
        _data(paddle, -1, 2, 3), _second(paddle, -1, 2, 3), transpose_y=True
    ),
    "bmm": lambda paddle: paddle.bmm(_data(paddle, -1, 2, 3), _second(paddle, -1, 3, 2)),
    "mm": lambda paddle: paddle.mm(_data(paddle, 2, 3), _second(paddle, 3, 2)),
    "dot": lambda paddle: paddle.dot(_data(paddle, 3), _second(paddle, 3)),
    "scale": _unary("scale", 2.0, 1.0),
    "clip": _unary("clip", -1.0, 1.0),
    "exp": _unary("exp"),
    "log": _unary("log"),
    "sqrt": _unary("sqrt"),
    "rsqrt": _unary("rsqrt"),
    "square": _unary("square"),
    "abs": _unary("abs"),
    "floor": _unary("floor"),
    "sign": _unary("sign"),
    "erf": _unary("erf"),
    "sin": _unary("sin"),
    "reshape": _unary("reshape", [-1, 2, 2]),
    "transpose": _unary("transpose", [1, 0]),
    "squeeze": lambda paddle: paddle.squeeze(_data(paddle, -1, 1), [1]),
    "unsqueeze": _unary("unsqueeze", 1),
    "flatten": lambda paddle: paddle.flatten(_data(paddle, -1, 2, 3), 1),
    "concat": lambda paddle: paddle.concat([_data(paddle), _second(paddle)], 1),
    "stack": lambda paddle: paddle.stack([_data(paddle), _second(paddle)]),
    "split": _unary("split", 2, axis=1),
    "slice": _unary("slice", [1], [0], [2]),
    "expand": lambda paddle: paddle.expand(_data(paddle, 1, 4), [3, 4]),
    "tile": _unary("tile", [1, 2]),
    "gather": lambda paddle: paddle.gather(_data(paddle), _long(paddle, -1)),
    "gather_nd": lambda paddle: paddle.gather_nd(_data(paddle), _long(paddle)),
    "scatter": lambda paddle: paddle.scatter(
        _data(paddle, 5, 4), _long(paddle, 2), _second(paddle, 2, 4)
    ),
    "index_select": lambda paddle: paddle.index_select(_data(paddle), _long(paddle, 2), 1),
    "where": lambda paddle: paddle.where(
        _data(paddle) > _second(paddle), _data(paddle, name="z"), _data(paddle, name="w")
    ),
    "topk": _unary("topk", 2),
    "argmax": _unary("argmax", axis=1),
    "argsort": _unary("argsort"),
    "sort": _unary("sort"),
    "cast": _unary("cast", "int64"),
    "shape": _unary("shape"),
    "assign": _unary("assign"),
    "full": lambda paddle: paddle.full([2, 3], 1.5),
    "zeros": lambda paddle: paddle.zeros([2], "int64"),
    "zeros_like": _unary("zeros_like"),
    "ones_like": _unary("ones_like"),
    "full_like": _unary("full_like", 2.0),
    "arange": lambda paddle: paddle.arange(0, 6, 1, "int64"),
    "uniform": lambda paddle: paddle.uniform([2, 3]),
    "cumsum": _unary("cumsum", axis=1),
    "one_hot": lambda paddle: paddle.nn.functional.one_hot(_long(paddle, -1), 7),
    "equal": _binary("equal"),
    "less_than": _binary("less_than"),
    "greater_equal": _binary("greater_equal"),
    "logical_and": lambda paddle: paddle.logical_and(
        _data(paddle, dtype="bool"), _data(paddle, dtype="bool", name="y")
    ),
    "add_n": lambda paddle: paddle.add_n([_data(paddle), _second(paddle)]),
    "norm": _unary("norm"),
    "tril": _unary("tril"),
    "interpolate": _pictures("nn.functional.interpolate", [16, 16]),
    "pad": _pictures("nn.functional.pad", [1, 1, 1, 1]),
    "plus_number": _with(lambda x: x + 1.5),
    "minus_number": _with(lambda x: x - 1.5),
    "number_minus": _with(lambda x: 1.5 - x),
    "times_number": _with(lambda x: x * 2.0),
    "divided_by_number": _with(lambda x: x / 4.0),
    "number_divided": _with(lambda x: 4.0 / x),
    "to_the_number": _with(lambda x: x**2),
    "negative": _with(lambda x: -x),
    "greater_number": _with(lambda x: x > 0.5),
    "sum_of_two": _with(lambda x: x + x),
    "product_of_two": _with(lambda x: x * x),
    "matrix_product": lambda paddle: _data(paddle, 2, 3) @ _second(paddle, 3, 2),
    "row": _with(lambda x: x[0]),
    "columns": _with(lambda x: x[:, 1:3]),
    "classifier": _classifier,
    "regression": _regression,
    "attention": _attention,
}
