"""``fluid.layers``."""

import functools

import numpy as np

from goldens.fluid_runs import function
from goldens.harness import Cases

cases = Cases("fluid_functions")
case = functools.partial(function, cases)


def matrix(d):
    return d.normal(3, 4)


def positive(d):
    return d.uniform(3, 4, low=0.2, high=2.0)


def column(d, rows=3, classes=4):
    return d.integers(rows, 1, high=classes)


def probabilities(d, rows=3, classes=4):
    weights = d.uniform(rows, classes, low=0.1, high=1.0)
    return (weights / weights.sum(-1, keepdims=True)).astype("float32")


# Reductions: everything reduced has shape [1].
case("mean", lambda L, x: L.mean(x), matrix)
for word in ("sum", "mean", "max", "min", "prod"):
    case(f"reduce_{word}", lambda L, x, w=word: getattr(L, "reduce_" + w)(x), matrix)
    case(f"reduce_{word} dim", lambda L, x, w=word: getattr(L, "reduce_" + w)(x, dim=1), matrix)
    case(
        f"reduce_{word} dims keep",
        lambda L, x, w=word: getattr(L, "reduce_" + w)(x, dim=[0, 1], keep_dim=True),
        lambda d: d.normal(3, 4, 2),
    )
    case(
        f"reduce_{word} of a vector",
        lambda L, x, w=word: getattr(L, "reduce_" + w)(x, dim=0),
        lambda d: d.normal(4),
    )
case(
    "reduce_sum int32",
    lambda L, x: L.reduce_sum(x),
    lambda d: d.integers(3, 4, dtype="int32"),
    grad=False,
)
case("reduce_mean int64", lambda L, x: L.reduce_mean(x), lambda d: d.integers(3, 4), grad=False)
case("reduce_all", lambda L, x: L.reduce_all(x), lambda d: d.mask(2, 3), grad=False)
case("reduce_any", lambda L, x: L.reduce_any(x, dim=1), lambda d: d.mask(2, 3), grad=False)

# Two operands.
for word in ("add", "sub", "mul", "div", "max", "min"):
    case(
        f"elementwise_{word}",
        lambda L, x, y, w=word: getattr(L, "elementwise_" + w)(x, y),
        lambda d: (matrix(d), d.normal(4)),
    )
    case(
        f"elementwise_{word} axis act",
        lambda L, x, y, w=word: getattr(L, "elementwise_" + w)(x, y, axis=0, act="tanh"),
        lambda d: (d.normal(3, 4, 2), d.normal(3) + np.float32(3)),
        rtol=1e-5,
    )
case(
    "elementwise_add middle axis",
    lambda L, x, y: L.elementwise_add(x, y, axis=1),
    lambda d: (d.normal(2, 3, 4, 5), d.normal(3, 4)),
)
case(
    "elementwise_div int",
    lambda L, x, y: L.elementwise_div(x, y),
    lambda d: (d.integers(6, low=-9), d.integers(6, low=2, high=4)),
    grad=False,
)
case(
    "elementwise_pow",
    lambda L, x, y: L.elementwise_pow(x, y),
    lambda d: (positive(d), positive(d)),
    rtol=1e-5,
)
case(
    "elementwise_mod",
    lambda L, x, y: L.elementwise_mod(x, y),
    lambda d: (d.integers(6), d.integers(6, low=1)),
    grad=False,
)
case(
    "elementwise_floordiv",
    lambda L, x, y: L.elementwise_floordiv(x, y),
    lambda d: (d.integers(6), d.integers(6, low=1)),
    grad=False,
)
case("scale", lambda L, x: L.scale(x, 2.0, 1.0), matrix)
case("scale bias first", lambda L, x: L.scale(x, 2.0, 1.0, bias_after_scale=False), matrix)
case("sum", lambda L, *x: L.sum(list(x)), lambda d: (matrix(d), matrix(d)))
case("sums", lambda L, *x: L.sums(list(x)), lambda d: (matrix(d), matrix(d)))
for word in ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"):
    case(
        word,
        lambda L, x, y, w=word: getattr(L, w)(x, y),
        lambda d: (d.integers(8, high=3), d.integers(8, high=3)),
        grad=False,
    )
for word in ("logical_and", "logical_or", "logical_xor"):
    case(
        word,
        lambda L, x, y, w=word: getattr(L, w)(x, y),
        lambda d: (d.mask(8), d.mask(8)),
        grad=False,
    )
case("logical_not", lambda L, x: L.logical_not(x), lambda d: d.mask(8), grad=False)
case("increment", lambda L, x: L.increment(x), lambda d: d.normal(1), grad=False)

# One operand; exponentials and the like differ in the last digits.
for word in ("abs", "ceil", "cos", "exp", "floor", "gelu", "hard_sigmoid", "leaky_relu",
    "logsigmoid", "relu", "relu6", "round", "sigmoid",
             "sign", "sin", "softmax", "softplus", "softsign", "square", "swish", "tanh", "elu",
             "hard_swish", "erf"):  # fmt: skip
    case(word, lambda L, x, w=word: getattr(L, w)(x), matrix, rtol=1e-5)
for word in ("log", "sqrt", "rsqrt", "reciprocal"):
    case(word, lambda L, x, w=word: getattr(L, w)(x), positive, rtol=1e-5)
case("softmax axis", lambda L, x: L.softmax(x, axis=0), matrix, rtol=1e-5)
case("relu6 threshold", lambda L, x: L.relu6(x, threshold=1.0), matrix)
case("pow", lambda L, x: L.pow(x, 3.0), positive, rtol=1e-5)
case("clip", lambda L, x: L.clip(x, -0.5, 0.5), matrix)
case("clip_by_norm", lambda L, x: L.clip_by_norm(x, 1.0), matrix, grad=False)
case("cumsum", lambda L, x: L.cumsum(x, axis=1), matrix)
case("cast", lambda L, x: L.cast(x, "int64"), matrix, grad=False)
case("cast float64", lambda L, x: L.cast(x, "float64"), matrix)

# Shapes and parts.
case("reshape", lambda L, x: L.reshape(x, [0, 2, -1]), matrix)
case("reshape act", lambda L, x: L.reshape(x, [-1], act="relu"), matrix)
case("transpose", lambda L, x: L.transpose(x, [1, 0, 2]), lambda d: d.normal(2, 3, 4))
case("concat", lambda L, *x: L.concat(list(x), axis=1), lambda d: (d.normal(2, 3), d.normal(2, 1)))
case("split", lambda L, x: L.split(x, 2), matrix)
case("split sections", lambda L, x: L.split(x, [1, 2], dim=0), matrix)
case("stack", lambda L, *x: L.stack(list(x), axis=1), lambda d: (matrix(d), matrix(d)))
case("unstack", lambda L, x: L.unstack(x, axis=1), matrix)
case("squeeze", lambda L, x: L.squeeze(x, [1]), lambda d: d.normal(2, 1, 3))
case("unsqueeze", lambda L, x: L.unsqueeze(x, [0, 2]), matrix)
case("flatten", lambda L, x: L.flatten(x), lambda d: d.normal(2, 3, 4))
case("flatten axis", lambda L, x: L.flatten(x, axis=2), lambda d: d.normal(2, 3, 4))
case("flatten 0", lambda L, x: L.flatten(x, axis=0), lambda d: d.normal(2, 3))
case("expand", lambda L, x: L.expand(x, [2, 3]), lambda d: d.normal(2, 1))
case(
    "expand_as",
    lambda L, x, y: L.expand_as(x, y),
    lambda d: (d.normal(2, 1), d.normal(4, 3)),
    grad=False,
)
case("slice", lambda L, x: L.slice(x, axes=[0, 1], starts=[1, -3], ends=[3, -1]), matrix)
case("gather", lambda L, x, i: L.gather(x, i), lambda d: (matrix(d), np.array([2, 0], "int64")))
case(
    "gather_nd",
    lambda L, x, i: L.gather_nd(x, i),
    lambda d: (matrix(d), np.array([[2, 1], [0, 3]], "int64")),
)
case(
    "scatter",
    lambda L, x, i, u: L.scatter(x, i, u),
    lambda d: (matrix(d), np.array([2, 0], "int64"), d.normal(2, 4)),
    grad=False,
)
case("where", lambda L, x: L.where(x), lambda d: d.mask(3, 4), grad=False)
case("topk", lambda L, x: L.topk(x, 2), lambda d: d.distinct(3, 4), grad=False)
case("argmax", lambda L, x: L.argmax(x), lambda d: d.distinct(3, 4), grad=False)
case("argmax axis", lambda L, x: L.argmax(x, axis=-1), lambda d: d.distinct(3, 4), grad=False)
case("argmin", lambda L, x: L.argmin(x), lambda d: d.distinct(3, 4), grad=False)
case("argsort", lambda L, x: L.argsort(x, descending=True), lambda d: d.distinct(3, 4), grad=False)
case("shape", lambda L, x: L.shape(x), matrix, grad=False)
case("one_hot", lambda L, x: L.one_hot(x, 4), column, grad=False)
case(
    "one_hot out of range",
    lambda L, x: L.one_hot(x, 3, allow_out_of_range=True),
    column,
    grad=False,
)
case(
    "sequence_mask", lambda L, x: L.sequence_mask(x, 5), lambda d: d.integers(3, high=6), grad=False
)

# Making tensors.
case("fill_constant", lambda L: L.fill_constant([2, 3], "float32", 1.5), lambda d: (), grad=False)
case(
    "fill_constant_batch_size_like",
    lambda L, x: L.fill_constant_batch_size_like(x, [1, 2], "int64", 7),
    matrix,
    grad=False,
)
case("zeros", lambda L: L.zeros([2, 3], "int32"), lambda d: (), grad=False)
case("ones", lambda L: L.ones([2, 3], "float32"), lambda d: (), grad=False)
case("zeros_like", lambda L, x: L.zeros_like(x), matrix, grad=False)
case("ones_like", lambda L, x: L.ones_like(x), matrix, grad=False)
case("range", lambda L: L.range(1, 9, 2, "int64"), lambda d: (), grad=False)
case("linspace", lambda L: L.linspace(0.0, 1.0, 5, "float32"), lambda d: (), grad=False)
case("eye", lambda L: L.eye(2, 3), lambda d: (), grad=False)
case("eye batch", lambda L: L.eye(2, batch_shape=[3]), lambda d: (), grad=False)
case("diag", lambda L, x: L.diag(x), lambda d: d.normal(3), grad=False)
case("assign", lambda L, x: L.assign(x), matrix)

# Products and similarities.
case(
    "matmul",
    lambda L, x, y: L.matmul(x, y, transpose_y=True, alpha=0.5),
    lambda d: (d.normal(2, 3, 4), d.normal(2, 5, 4)),
    rtol=1e-5,
)
case(
    "matmul of vectors",
    lambda L, x, y: L.matmul(x, y),
    lambda d: (d.normal(4), d.normal(4)),
    rtol=1e-5,
)
case("mul", lambda L, x, y: L.mul(x, y), lambda d: (d.normal(2, 3, 2), d.normal(6, 4)), rtol=1e-5)
case(
    "mul columns",
    lambda L, x, y: L.mul(x, y, x_num_col_dims=2, y_num_col_dims=2),
    lambda d: (d.normal(2, 3, 4), d.normal(2, 2, 5)),
    rtol=1e-5,
)
case("cos_sim", lambda L, x, y: L.cos_sim(x, y), lambda d: (matrix(d), matrix(d)), rtol=1e-5)
case(
    "cos_sim one row",
    lambda L, x, y: L.cos_sim(x, y),
    lambda d: (matrix(d), d.normal(1, 4)),
    rtol=1e-5,
)
case("l2_normalize", lambda L, x: L.l2_normalize(x, axis=1), matrix, rtol=1e-5)
case("l2_normalize small", lambda L, x: L.l2_normalize(x, axis=0, epsilon=0.1), matrix, rtol=1e-5)

# Losses.
case(
    "cross_entropy",
    lambda L, p, y: L.cross_entropy(p, y),
    lambda d: (probabilities(d), column(d)),
    rtol=1e-5,
)
case(
    "cross_entropy ignore",
    lambda L, p, y: L.cross_entropy(p, y, ignore_index=2),
    lambda d: (probabilities(d), np.array([[2], [1], [2]], "int64")),
    rtol=1e-5,
)
case(
    "cross_entropy soft",
    lambda L, p, y: L.cross_entropy(p, y, soft_label=True),
    lambda d: (probabilities(d), probabilities(d)),
    rtol=1e-5,
)
case(
    "cross_entropy sequence",
    lambda L, p, y: L.cross_entropy(p, y),
    lambda d: (probabilities(d, 6).reshape(2, 3, 4), d.integers(2, 3, 1, high=4)),
    rtol=1e-5,
)
case(
    "softmax_with_cross_entropy",
    lambda L, x, y: L.softmax_with_cross_entropy(x, y),
    lambda d: (matrix(d), column(d)),
    rtol=1e-5,
)
case(
    "softmax_with_cross_entropy both",
    lambda L, x, y: L.softmax_with_cross_entropy(x, y, return_softmax=True)[0],
    lambda d: (matrix(d), column(d)),
    rtol=1e-5,
)
case(
    "softmax_with_cross_entropy soft",
    lambda L, x, y: L.softmax_with_cross_entropy(x, y, soft_label=True),
    lambda d: (matrix(d), probabilities(d)),
    rtol=1e-5,
)
case(
    "sigmoid_cross_entropy_with_logits",
    lambda L, x, y: L.sigmoid_cross_entropy_with_logits(x, y),
    lambda d: (matrix(d), d.uniform(3, 4)),
    rtol=1e-5,
)
case(
    "sigmoid_cross_entropy_with_logits ignore",
    lambda L, x, y: L.sigmoid_cross_entropy_with_logits(x, y, ignore_index=1, normalize=True),
    lambda d: (matrix(d), d.integers(3, 4, high=3).astype("float32")),
    rtol=1e-5,
)
case(
    "square_error_cost", lambda L, x, y: L.square_error_cost(x, y), lambda d: (matrix(d), matrix(d))
)
case("mse_loss", lambda L, x, y: L.mse_loss(x, y), lambda d: (matrix(d), matrix(d)))
case(
    "log_loss",
    lambda L, x, y: L.log_loss(x, y),
    lambda d: (d.uniform(5, 1, low=0.1, high=0.9), d.mask(5, 1).astype("float32")),
    rtol=1e-5,
)
case(
    "kldiv_loss", lambda L, x, y: L.kldiv_loss(x, y), lambda d: (matrix(d), positive(d)), rtol=1e-5
)
case(
    "label_smooth",
    lambda L, x: L.label_smooth(x, epsilon=0.2),
    lambda d: np.eye(4, dtype="float32")[d.integers(3, high=4)],
)
case(
    "accuracy",
    lambda L, x, y: L.accuracy(x, y),
    lambda d: (d.distinct(8, 4), column(d, 8)),
    grad=False,
)
case(
    "accuracy top 2",
    lambda L, x, y: L.accuracy(x, y, k=2),
    lambda d: (d.distinct(8, 4), column(d, 8)),
    grad=False,
)

# Windows.
case("pool2d max", lambda L, x: L.pool2d(x, 2), lambda d: d.distinct(1, 2, 4, 5))
case(
    "pool2d avg",
    lambda L, x: L.pool2d(x, 3, "avg", 2, 1),
    lambda d: d.normal(1, 2, 5, 5),
    rtol=1e-5,
)
case(
    "pool2d inclusive ceil",
    lambda L, x: L.pool2d(x, 3, "avg", 2, 1, ceil_mode=True, exclusive=False),
    lambda d: d.normal(1, 2, 6, 6),
    rtol=1e-5,
)
case(
    "pool2d global",
    lambda L, x: L.pool2d(x, pool_type="avg", global_pooling=True),
    lambda d: d.normal(1, 2, 3, 4),
    rtol=1e-5,
)
