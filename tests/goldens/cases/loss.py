"""Losses, their layers, and distances."""

import numpy as np

from goldens.harness import Cases

cases = Cases("loss")

REDUCTIONS = ("mean", "sum", "none")
# logarithms and sums are rounded in another order
TIGHT = 1e-5


def fn(name, *args, **kwargs):
    return lambda paddle, *tensors: getattr(paddle.nn.functional, name)(*tensors, *args, **kwargs)


def with_labels(name, labels, **kwargs):
    """Only the first input gets a gradient; ``labels`` are arrays passed after it."""

    def run(paddle, x):
        return getattr(paddle.nn.functional, name)(
            x, *[paddle.to_tensor(a) for a in labels], **kwargs
        )

    return run


def layer(name, *args, **kwargs):
    return lambda paddle, *tensors: getattr(paddle.nn, name)(*args, **kwargs)(*tensors)


# -- cross entropy
# --------------------------------------------------------------------------------------------------

HARD = np.array([2, 0, 1, 2])
SOFT = np.array([[0.1, 0.2, 0.7], [1, 0, 0], [0.3, 0.3, 0.4], [0, 0.5, 0.5]], "float32")
WEIGHT = np.array([0.5, 1.0, 2.0], "float32")


def ce(label, weight=None, **kwargs):
    def run(paddle, x):
        w = None if weight is None else paddle.to_tensor(weight)
        return paddle.nn.functional.cross_entropy(x, paddle.to_tensor(label), weight=w, **kwargs)

    return run


def logits(d):
    return d.normal(4, 3)


for reduction in REDUCTIONS:
    cases.op(f"ce_{reduction}", ce(HARD, reduction=reduction), logits, rtol=TIGHT)
    cases.op(f"ce_column_{reduction}", ce(HARD[:, None], reduction=reduction), logits, rtol=TIGHT)
    cases.op(
        f"ce_soft_{reduction}", ce(SOFT, soft_label=True, reduction=reduction), logits, rtol=TIGHT
    )
    cases.op(f"ce_weight_{reduction}", ce(HARD, WEIGHT, reduction=reduction), logits, rtol=TIGHT)
    cases.op(
        f"ce_soft_weight_{reduction}",
        ce(SOFT, WEIGHT, soft_label=True, reduction=reduction),
        logits,
        rtol=TIGHT,
    )
    cases.op(
        f"ce_ignore_{reduction}", ce(HARD, ignore_index=2, reduction=reduction), logits, rtol=TIGHT
    )
    cases.op(
        f"ce_ignore_zero_{reduction}",
        ce(HARD, ignore_index=0, reduction=reduction),
        logits,
        rtol=TIGHT,
    )
    cases.op(
        f"ce_ignore_weight_{reduction}",
        ce(HARD, WEIGHT, ignore_index=2, reduction=reduction),
        logits,
        rtol=TIGHT,
    )
    cases.op(
        f"ce_minus_100_{reduction}",
        ce(np.array([2, -100, 1, -100]), reduction=reduction),
        logits,
        rtol=TIGHT,
    )
    cases.op(
        f"ce_smooth_{reduction}",
        ce(HARD, label_smoothing=0.1, reduction=reduction),
        logits,
        rtol=TIGHT,
    )
    cases.op(
        f"ce_smooth_weight_{reduction}",
        ce(HARD, WEIGHT, label_smoothing=0.1, reduction=reduction),
        logits,
        rtol=TIGHT,
    )
    cases.op(
        f"ce_no_softmax_{reduction}",
        ce(HARD, use_softmax=False, reduction=reduction),
        lambda d: d.uniform(4, 3, low=0.1),
        rtol=TIGHT,
    )
    cases.op(
        f"ce_soft_no_softmax_{reduction}",
        ce(SOFT, soft_label=True, use_softmax=False, reduction=reduction),
        lambda d: d.uniform(4, 3, low=0.1),
        rtol=TIGHT,
    )
    cases.op(
        f"ce_axis_{reduction}",
        ce(np.array([[0, 1, 2, 1]] * 2), axis=1, reduction=reduction),
        lambda d: d.normal(2, 3, 4),
        rtol=TIGHT,
    )
    cases.op(
        f"ce_axis_weight_{reduction}",
        ce(np.array([[0, 1, 2, 1]] * 2), WEIGHT, axis=1, ignore_index=1, reduction=reduction),
        lambda d: d.normal(2, 3, 4),
        rtol=TIGHT,
    )
    cases.op(
        f"ce_axis_column_{reduction}",
        ce(np.array([[[0, 1, 2, 1]]] * 2), axis=1, reduction=reduction),
        lambda d: d.normal(2, 3, 4),
        rtol=TIGHT,
    )
    cases.op(
        f"ce_sequence_{reduction}",
        ce(np.array([[0, 2], [1, 1]]), reduction=reduction),
        lambda d: d.normal(2, 2, 3),
        rtol=TIGHT,
    )
cases.op(
    "ce_sequence_soft",
    ce(np.full((2, 2, 3), 1 / 3, "float32"), soft_label=True),
    lambda d: d.normal(2, 2, 3),
    rtol=TIGHT,
)
cases.op(
    "ce_sequence_smooth",
    ce(np.array([[0, 2], [1, 1]]), label_smoothing=0.2),
    lambda d: d.normal(2, 2, 3),
    rtol=TIGHT,
)
cases.op("ce_soft_smooth", ce(SOFT, soft_label=True, label_smoothing=0.2), logits, rtol=TIGHT)
cases.op("ce_smooth_ignore", ce(HARD, label_smoothing=0.1, ignore_index=2), logits, rtol=TIGHT)
cases.op("ce_all_ignored", ce(np.full(4, 2), ignore_index=2), logits)
cases.op("ce_all_minus_100", ce(np.full(4, -100)), logits)
cases.op("ce_all_ignored_weight", ce(np.full(4, 2), WEIGHT, ignore_index=2), logits)
cases.op(
    "ce_unnormalised",
    ce(np.array([[1, 1, 0], [0, 0.2, 0.2], [2, 0, 0], [0, 0, 0]], "float32"), soft_label=True),
    logits,
    rtol=TIGHT,
)
cases.op("ce_int32", ce(HARD.astype("int32")), logits, rtol=TIGHT)
cases.op("ce_float64", ce(HARD), lambda d: d.normal(4, 3, dtype="float64"))
# beyond 64 Paddle cuts the loss of a position off; here it grows
cases.op("ce_large", ce(HARD), lambda d: 20 * d.distinct(4, 3))
cases.op("ce_soft_large", ce(SOFT, soft_label=True), lambda d: 20 * d.distinct(4, 3))
cases.op("ce_vector", ce(np.array(1)), lambda d: d.normal(3), rtol=TIGHT)
cases.op("ce_empty", ce(np.zeros(0, "int64")), lambda d: d.normal(0, 3), grad=False)
cases.op(
    "ce_empty_sum", ce(np.zeros(0, "int64"), reduction="sum"), lambda d: d.normal(0, 3), grad=False
)
cases.op(
    "ce_layer",
    layer("CrossEntropyLoss", reduction="sum"),
    lambda d: (d.normal(4, 3), HARD),
    rtol=TIGHT,
)
cases.op(
    "ce_layer_soft",
    lambda paddle, x: paddle.nn.CrossEntropyLoss(soft_label=True)(x, paddle.to_tensor(SOFT)),
    logits,
    rtol=TIGHT,
)
cases.error(
    "ce_reduction",
    lambda paddle: paddle.nn.functional.cross_entropy(
        paddle.ones([2, 3]), paddle.to_tensor([0, 1]), reduction="avg"
    ),
)
cases.error(
    "ce_soft_ignore",
    lambda paddle: paddle.nn.functional.cross_entropy(
        paddle.ones([2, 3]), paddle.ones([2, 3]), soft_label=True, ignore_index=1
    ),
)
cases.error(
    "ce_out_of_range",
    lambda paddle: paddle.nn.functional.cross_entropy(
        paddle.ones([2, 3]), paddle.to_tensor([0, 3])
    ),
)
cases.error(
    "ce_negative",
    lambda paddle: paddle.nn.functional.cross_entropy(
        paddle.ones([2, 3]), paddle.to_tensor([0, -1])
    ),
)
cases.error(
    "ce_batch",
    lambda paddle: paddle.nn.functional.cross_entropy(
        paddle.ones([2, 3]), paddle.to_tensor([0, 1, 2])
    ),
)
cases.error(
    "ce_rank",
    lambda paddle: paddle.nn.functional.cross_entropy(
        paddle.ones([2, 3]), paddle.to_tensor([[[0]]])
    ),
)
cases.error(
    "ce_two_columns",
    lambda paddle: paddle.nn.functional.cross_entropy(
        paddle.ones([2, 3]), paddle.to_tensor([[0, 1], [1, 2]])
    ),
)
cases.error(
    "ce_0d", lambda paddle: paddle.nn.functional.cross_entropy(paddle.ones([]), paddle.to_tensor(0))
)
cases.error(
    "ce_weight_size",
    lambda paddle: paddle.nn.functional.cross_entropy(
        paddle.ones([2, 3]), paddle.to_tensor([0, 1]), weight=paddle.ones([4])
    ),
)
cases.op("swce", with_labels("softmax_with_cross_entropy", [HARD[:, None]]), logits, rtol=TIGHT)
cases.op(
    "swce_soft",
    with_labels("softmax_with_cross_entropy", [SOFT], soft_label=True),
    logits,
    rtol=TIGHT,
)
cases.op(
    "swce_ignore",
    with_labels("softmax_with_cross_entropy", [HARD[:, None]], ignore_index=0),
    logits,
    rtol=TIGHT,
)
cases.op(
    "swce_axis",
    with_labels("softmax_with_cross_entropy", [np.array([[[0, 1, 2, 1]]] * 2)], axis=1),
    lambda d: d.normal(2, 3, 4),
    rtol=TIGHT,
)
cases.op(
    "swce_softmax",
    with_labels("softmax_with_cross_entropy", [HARD[:, None]], return_softmax=True),
    logits,
    rtol=TIGHT,
    grad=False,
)
cases.error(
    "swce_rank",
    lambda paddle: paddle.nn.functional.softmax_with_cross_entropy(
        paddle.ones([2, 3]), paddle.to_tensor([0, 1])
    ),
)

# -- likelihoods and margins over classes
# -------------------------------------------------------------------------------

for reduction in REDUCTIONS:
    cases.op(f"nll_{reduction}", with_labels("nll_loss", [HARD], reduction=reduction), logits)
    cases.op(
        f"nll_weight_{reduction}",
        with_labels("nll_loss", [HARD, WEIGHT], reduction=reduction),
        logits,
    )
    cases.op(
        f"nll_ignore_{reduction}",
        with_labels("nll_loss", [HARD, WEIGHT], ignore_index=2, reduction=reduction),
        logits,
    )
    cases.op(
        f"nll_minus_100_{reduction}",
        with_labels("nll_loss", [np.array([2, -100, 1, 0])], reduction=reduction),
        logits,
    )
    cases.op(
        f"nll_image_{reduction}",
        with_labels("nll_loss", [np.array([[[0, 1], [2, 2]]])], reduction=reduction),
        lambda d: d.normal(1, 3, 2, 2),
    )
    cases.op(
        f"nll_sequence_{reduction}",
        with_labels("nll_loss", [np.array([[0, 1], [2, 2]])], reduction=reduction),
        lambda d: d.normal(2, 3, 2),
    )
    cases.op(
        f"multi_margin_{reduction}",
        with_labels("multi_margin_loss", [HARD], reduction=reduction),
        logits,
        rtol=TIGHT,
    )
    cases.op(
        f"multi_label_margin_{reduction}",
        with_labels(
            "multi_label_margin_loss",
            [np.array([[0, 2, -1], [1, -1, 0], [2, 1, 0], [-1, 0, 1]])],
            reduction=reduction,
        ),
        logits,
        rtol=TIGHT,
    )
    cases.op(
        f"multi_label_soft_margin_{reduction}",
        fn("multi_label_soft_margin_loss", reduction=reduction),
        lambda d: (d.normal(4, 3), d.mask(4, 3).astype("float32")),
        rtol=TIGHT,
    )
cases.op("nll_all_ignored", with_labels("nll_loss", [np.full(4, 1)], ignore_index=1), logits)
cases.op(
    "nll_layer",
    lambda paddle, x: paddle.nn.NLLLoss(paddle.to_tensor(WEIGHT), ignore_index=0)(
        x, paddle.to_tensor(HARD)
    ),
    logits,
)
cases.error(
    "nll_vector",
    lambda paddle: paddle.nn.functional.nll_loss(paddle.ones([3]), paddle.to_tensor(1)),
)
cases.error(
    "nll_out_of_range",
    lambda paddle: paddle.nn.functional.nll_loss(paddle.ones([2, 3]), paddle.to_tensor([0, 3])),
)
cases.error(
    "nll_rank",
    lambda paddle: paddle.nn.functional.nll_loss(paddle.ones([2, 3]), paddle.to_tensor([[[0]]])),
)
cases.op(
    "multi_margin_square",
    with_labels("multi_margin_loss", [HARD], p=2, margin=0.7),
    logits,
    rtol=TIGHT,
)
cases.op(
    "multi_margin_weight",
    lambda paddle, x: paddle.nn.functional.multi_margin_loss(
        x, paddle.to_tensor(HARD), weight=paddle.to_tensor(WEIGHT)
    ),
    logits,
    rtol=TIGHT,
)
cases.op(
    "multi_margin_layer",
    lambda paddle, x: paddle.nn.MultiMarginLoss(p=2)(x, paddle.to_tensor(HARD)),
    logits,
    rtol=TIGHT,
)
cases.op(
    "multi_label_margin_layer",
    lambda paddle, x: paddle.nn.MultiLabelMarginLoss()(x, paddle.to_tensor([[0, -1, -1]] * 4)),
    logits,
    rtol=TIGHT,
)
cases.op(
    "multi_label_soft_margin_layer",
    lambda paddle, x: paddle.nn.MultiLabelSoftMarginLoss(weight=paddle.to_tensor(WEIGHT))(
        x, paddle.to_tensor(SOFT)
    ),
    logits,
    rtol=TIGHT,
)
cases.error(
    "multi_margin_batch",
    lambda paddle: paddle.nn.functional.multi_margin_loss(
        paddle.ones([2, 3]), paddle.to_tensor([0])
    ),
)
cases.error(
    "multi_label_margin_range",
    lambda paddle: paddle.nn.functional.multi_label_margin_loss(
        paddle.ones([1, 2]), paddle.to_tensor([[2, -1]])
    ),
)

# -- regression and binary
# ------------------------------------------------------------------------------------------------

for reduction in REDUCTIONS:
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss"):
        cases.op(
            f"{name}_{reduction}",
            fn(name, reduction=reduction),
            lambda d: (2 * d.normal(3, 4), d.normal(3, 4)),
            rtol=TIGHT,
        )
    cases.op(
        f"bce_{reduction}",
        with_labels("binary_cross_entropy", [SOFT], reduction=reduction),
        lambda d: d.uniform(4, 3, low=0.05, high=0.95),
        rtol=TIGHT,
    )
    cases.op(
        f"bce_logits_{reduction}",
        with_labels("binary_cross_entropy_with_logits", [SOFT], reduction=reduction),
        logits,
        rtol=TIGHT,
    )
    cases.op(
        f"kl_{reduction}", with_labels("kl_div", [SOFT], reduction=reduction), logits, rtol=TIGHT
    )
    cases.op(
        f"poisson_{reduction}",
        fn("poisson_nll_loss", reduction=reduction),
        lambda d: (d.normal(3), d.uniform(3, high=5)),
        rtol=TIGHT,
    )
    cases.op(
        f"gaussian_{reduction}",
        fn("gaussian_nll_loss", reduction=reduction),
        lambda d: (d.normal(3, 2), d.normal(3, 2), d.uniform(3, 2, low=0.1)),
        rtol=TIGHT,
    )
    cases.op(
        f"focal_{reduction}",
        with_labels("sigmoid_focal_loss", [SOFT.round()], reduction=reduction),
        logits,
        rtol=TIGHT,
    )
    cases.op(
        f"soft_margin_{reduction}",
        with_labels("soft_margin_loss", [np.sign(SOFT - 0.25)], reduction=reduction),
        logits,
        rtol=TIGHT,
    )
cases.op("mse_broadcast", fn("mse_loss"), lambda d: (d.normal(3, 4), d.normal(4)), rtol=TIGHT)
cases.op("mse_promoted", fn("mse_loss"), lambda d: (d.normal(3), d.normal(3, dtype="float64")))
cases.op("mse_int", fn("mse_loss"), lambda d: (d.integers(5), d.integers(5)))
cases.op("mse_0d", fn("mse_loss"), lambda d: (d.normal(), d.normal()))
cases.op("mse_empty", fn("mse_loss"), lambda d: (d.normal(0), d.normal(0)), grad=False)
cases.op("mse_layer", layer("MSELoss", "sum"), lambda d: (d.normal(3), d.normal(3)))
cases.error(
    "mse_reduction",
    lambda paddle: paddle.nn.functional.mse_loss(paddle.ones([2]), paddle.ones([2]), "avg"),
)
cases.error("mse_layer_reduction", lambda paddle: paddle.nn.MSELoss("avg"))
cases.error(
    "mse_dtypes",
    lambda paddle: paddle.nn.functional.mse_loss(paddle.ones([2]), paddle.ones([2], "int64")),
)
cases.error(
    "mse_shapes", lambda paddle: paddle.nn.functional.mse_loss(paddle.ones([2]), paddle.ones([3]))
)
cases.op("l1_broadcast", fn("l1_loss"), lambda d: (d.normal(3, 4), d.normal(3, 1)), rtol=TIGHT)
cases.op("l1_layer", layer("L1Loss", "sum"), lambda d: (d.normal(3), d.normal(3)))
cases.op(
    "smooth_l1_delta",
    fn("smooth_l1_loss", delta=0.5),
    lambda d: (d.normal(3, 4), d.normal(3, 4)),
    rtol=TIGHT,
)
cases.op(
    "smooth_l1_not_huber",
    fn("smooth_l1_loss", delta=0.5, is_huber=False),
    lambda d: (d.normal(3, 4), d.normal(3, 4)),
    rtol=TIGHT,
)
cases.op(
    "smooth_l1_layer",
    layer("SmoothL1Loss", delta=2.0),
    lambda d: (4 * d.normal(3), d.normal(3)),
    rtol=TIGHT,
)
cases.op("square_error_cost", fn("square_error_cost"), lambda d: (d.normal(3, 1), d.normal(3, 1)))
cases.op(
    "bce_ends",
    with_labels("binary_cross_entropy", [np.array([1, 0, 1], "float32")], reduction="none"),
    lambda d: np.array([0, 1, 1], "float32"),
)
cases.op(
    "bce_weight",
    fn("binary_cross_entropy"),
    lambda d: (d.uniform(4, 3, low=0.1, high=0.9), d.mask(4, 3).astype("float32"), d.uniform(3)),
    rtol=TIGHT,
    grad=False,
)
cases.op(
    "bce_layer",
    layer("BCELoss", reduction="sum"),
    lambda d: (d.uniform(3, low=0.1, high=0.9), d.mask(3).astype("float32")),
    rtol=TIGHT,
    grad=False,
)
cases.op(
    "bce_logits_weights",
    lambda paddle, x: paddle.nn.functional.binary_cross_entropy_with_logits(
        x,
        paddle.to_tensor(SOFT),
        weight=paddle.to_tensor(WEIGHT),
        pos_weight=paddle.to_tensor(2 * WEIGHT),
    ),
    logits,
    rtol=TIGHT,
)
cases.op(
    "bce_logits_layer",
    lambda paddle, x: paddle.nn.BCEWithLogitsLoss(
        pos_weight=paddle.to_tensor(WEIGHT), reduction="sum"
    )(x, paddle.to_tensor(SOFT)),
    logits,
    rtol=TIGHT,
)
cases.op(
    "bce_logits_large",
    with_labels("binary_cross_entropy_with_logits", [SOFT], reduction="none"),
    lambda d: 100 * d.distinct(4, 3) + 1,
)
cases.error(
    "bce_reduction",
    lambda paddle: paddle.nn.functional.binary_cross_entropy(
        paddle.ones([2]), paddle.ones([2]), reduction="avg"
    ),
)
cases.op(
    "log_loss",
    with_labels("log_loss", [np.array([[1], [0], [1]], "float32")]),
    lambda d: d.uniform(3, 1),
    rtol=TIGHT,
)
cases.op(
    "log_loss_epsilon",
    with_labels("log_loss", [np.array([[1], [0]], "float32")], epsilon=0.01),
    lambda d: np.array([[0], [1]], "float32"),
    rtol=TIGHT,
)
cases.op("kl_batchmean", with_labels("kl_div", [SOFT], reduction="batchmean"), logits, rtol=TIGHT)
cases.op(
    "kl_log_target",
    with_labels("kl_div", [SOFT], log_target=True, reduction="sum"),
    logits,
    rtol=TIGHT,
)
cases.op("kl_negative_label", with_labels("kl_div", [-SOFT], reduction="sum"), logits)
cases.op("kl_promoted", with_labels("kl_div", [SOFT.astype("float64")]), logits, rtol=TIGHT)
cases.op(
    "kl_layer",
    lambda paddle, x: paddle.nn.KLDivLoss("batchmean")(x, paddle.to_tensor(SOFT)),
    logits,
    rtol=TIGHT,
)
cases.error(
    "kl_shapes", lambda paddle: paddle.nn.functional.kl_div(paddle.ones([2, 2]), paddle.ones([2]))
)
cases.op(
    "poisson_rate",
    fn("poisson_nll_loss", log_input=False),
    lambda d: (d.uniform(3, low=0.1), d.uniform(3, high=5)),
    rtol=TIGHT,
)
cases.op(
    "poisson_full",
    fn("poisson_nll_loss", full=True),
    lambda d: (d.normal(4), d.uniform(4, low=0.1, high=5)),
    rtol=TIGHT,
)
cases.op(
    "poisson_layer",
    layer("PoissonNLLLoss", reduction="sum"),
    lambda d: (d.normal(4), d.uniform(4, high=5)),
    rtol=TIGHT,
)
cases.error(
    "poisson_epsilon",
    lambda paddle: paddle.nn.functional.poisson_nll_loss(
        paddle.ones([2]), paddle.ones([2]), epsilon=0
    ),
)
cases.error(
    "poisson_shapes",
    lambda paddle: paddle.nn.functional.poisson_nll_loss(paddle.ones([2]), paddle.ones([3])),
)
cases.op(
    "gaussian_full",
    fn("gaussian_nll_loss", full=True, epsilon=0.5),
    lambda d: (d.normal(3, 2), d.normal(3, 2), d.uniform(3)),
    rtol=TIGHT,
)
cases.op(
    "gaussian_layer",
    layer("GaussianNLLLoss", full=True),
    lambda d: (d.normal(3, 2), d.normal(3, 2), d.uniform(3, 1)),
    rtol=TIGHT,
)
cases.error(
    "gaussian_negative",
    lambda paddle: paddle.nn.functional.gaussian_nll_loss(
        paddle.ones([2]), paddle.ones([2]), -paddle.ones([2])
    ),
)
cases.error(
    "gaussian_shape",
    lambda paddle: paddle.nn.functional.gaussian_nll_loss(
        paddle.ones([2, 2]), paddle.ones([2, 2]), paddle.ones([3])
    ),
)
cases.op(
    "focal_options",
    with_labels(
        "sigmoid_focal_loss", [SOFT.round(), np.array([4.0], "float32")], alpha=0.4, gamma=1.5
    ),
    logits,
    rtol=TIGHT,
)
cases.error(
    "focal_normalizer",
    lambda paddle: paddle.nn.functional.sigmoid_focal_loss(
        paddle.ones([2]), paddle.ones([2]), paddle.ones([1, 1])
    ),
)
cases.op(
    "soft_margin_int",
    with_labels("soft_margin_loss", [np.array([1, -1, 1])]),
    lambda d: d.normal(3),
    rtol=TIGHT,
)
cases.op(
    "soft_margin_layer",
    layer("SoftMarginLoss"),
    lambda d: (d.normal(3), np.array([1, -1, 1])),
    rtol=TIGHT,
)
cases.op(
    "dice",
    with_labels("dice_loss", [np.array([[[0], [2]], [[1], [1]]])]),
    lambda d: d.uniform(2, 2, 3),
    rtol=TIGHT,
)
cases.error(
    "dice_column",
    lambda paddle: paddle.nn.functional.dice_loss(
        paddle.ones([2, 3]), paddle.ones([2, 2], "int64")
    ),
)

# -- pairs and triplets
# ------------------------------------------------------------------------------------------------

SIGNS = np.array([1, -1, 1], "float32")
for reduction in REDUCTIONS:
    cases.op(
        f"ranking_{reduction}",
        fn("margin_ranking_loss", margin=0.3, reduction=reduction),
        lambda d: (d.normal(3), d.normal(3), SIGNS),
        rtol=TIGHT,
    )
    cases.op(
        f"hinge_{reduction}",
        with_labels("hinge_embedding_loss", [SIGNS], reduction=reduction),
        lambda d: d.normal(3),
        rtol=TIGHT,
    )
    cases.op(
        f"cosine_{reduction}",
        lambda paddle, a, b, r=reduction: paddle.nn.functional.cosine_embedding_loss(
            a, b, paddle.to_tensor(SIGNS), margin=-0.5, reduction=r
        ),
        lambda d: (d.normal(3, 4), d.normal(3, 4)),
        rtol=TIGHT,
    )
    for swap in (False, True):
        cases.op(
            f"triplet_{reduction}_{swap}",
            fn("triplet_margin_loss", margin=1.5, swap=swap, reduction=reduction),
            lambda d: (d.normal(3, 4), d.normal(3, 4), d.normal(3, 4)),
            rtol=TIGHT,
        )
        cases.op(
            f"triplet_distance_{reduction}_{swap}",
            fn("triplet_margin_with_distance_loss", margin=1.5, swap=swap, reduction=reduction),
            lambda d: (d.normal(3, 4), d.normal(3, 4), d.normal(3, 4)),
            rtol=TIGHT,
        )
cases.op(
    "triplet_p1",
    fn("triplet_margin_loss", p=1),
    lambda d: (d.normal(3, 4), d.normal(3, 4), d.normal(3, 4)),
    rtol=TIGHT,
)
cases.op(
    "triplet_own_distance",
    lambda paddle, *t: paddle.nn.functional.triplet_margin_with_distance_loss(
        *t, lambda x, y: ((x - y) * (x - y)).sum(-1), swap=True
    ),
    lambda d: (d.normal(3, 4), d.normal(3, 4), d.normal(3, 4)),
    rtol=TIGHT,
)
cases.op(
    "triplet_layer",
    layer("TripletMarginLoss", margin=2.0, p=3.0),
    lambda d: (d.normal(3, 4), d.normal(3, 4), d.normal(3, 4)),
    rtol=TIGHT,
)
cases.op(
    "ranking_layer",
    layer("MarginRankingLoss", margin=0.1),
    lambda d: (d.normal(3), d.normal(3), SIGNS),
    rtol=TIGHT,
)
cases.op(
    "hinge_layer",
    layer("HingeEmbeddingLoss", margin=0.5),
    lambda d: (d.normal(3), SIGNS.astype("int64")),
    rtol=TIGHT,
)
cases.op(
    "cosine_layer",
    layer("CosineEmbeddingLoss"),
    lambda d: (d.normal(3, 4), d.normal(3, 4), SIGNS.astype("int64")),
    rtol=TIGHT,
)
cases.op(
    "npair",
    lambda paddle, a, p: paddle.nn.functional.npair_loss(a, p, paddle.to_tensor([0.0, 1.0, 0.0])),
    lambda d: (d.normal(3, 4), d.normal(3, 4)),
    rtol=TIGHT,
)
cases.error(
    "ranking_dtypes",
    lambda paddle: paddle.nn.functional.margin_ranking_loss(
        paddle.ones([2]), paddle.ones([2]), paddle.ones([2], "int64")
    ),
)
cases.error(
    "log_loss_shapes",
    lambda paddle: paddle.nn.functional.log_loss(paddle.ones([2, 1]), paddle.ones([3, 1])),
)
cases.error(
    "bce_shapes",
    lambda paddle: paddle.nn.functional.binary_cross_entropy(paddle.ones([2, 1]), paddle.ones([2])),
)
cases.error(
    "triplet_margin",
    lambda paddle: paddle.nn.functional.triplet_margin_loss(*[paddle.ones([2, 2])] * 3, margin=-1),
)
cases.error(
    "triplet_shapes",
    lambda paddle: paddle.nn.functional.triplet_margin_loss(
        paddle.ones([2, 2]), paddle.ones([2, 3]), paddle.ones([2, 2])
    ),
)
cases.error(
    "cosine_label",
    lambda paddle: paddle.nn.functional.cosine_embedding_loss(
        paddle.ones([2, 2]), paddle.ones([2, 2]), paddle.ones([2, 1])
    ),
)
cases.error("cosine_margin", lambda paddle: paddle.nn.CosineEmbeddingLoss(margin=2))
for label, kwargs in {
    "default": {},
    "p1": {"p": 1.0},
    "keepdim": {"keepdim": True, "epsilon": 0.0},
    "inf": {"p": float("inf")},
}.items():
    cases.op(
        f"pairwise_distance_{label}",
        fn("pairwise_distance", **kwargs),
        lambda d: (d.normal(3, 4), d.normal(3, 4)),
        rtol=TIGHT,
    )
cases.op(
    "pairwise_distance_layer",
    layer("PairwiseDistance", p=3.0),
    lambda d: (d.normal(3, 4), d.normal(4)),
    rtol=TIGHT,
)


@cases.add("pairwise_distance_repr")
def _(paddle, d):
    return [
        repr(paddle.nn.PairwiseDistance(1.0)),
        repr(paddle.nn.PairwiseDistance(epsilon=0.1, keepdim=True)),
        repr(paddle.nn.CTCLoss()),
    ]


# -- alignments and trees
# ------------------------------------------------------------------------------------------------


def ctc(**kwargs):
    def run(paddle, x):
        arrays = (np.array([[1, 2], [1, 0]], "int32"), np.array([5, 3]), np.array([2, 1]))
        return paddle.nn.functional.ctc_loss(x, *[paddle.to_tensor(a) for a in arrays], **kwargs)

    return run


for reduction in REDUCTIONS:
    cases.op(f"ctc_{reduction}", ctc(reduction=reduction), lambda d: d.normal(5, 2, 3), rtol=1e-4)
cases.op(
    "ctc_norm_by_times",
    ctc(reduction="sum", norm_by_times=True),
    lambda d: d.normal(5, 2, 3),
    rtol=1e-4,
)
cases.op(
    "ctc_blank",
    lambda paddle, x: paddle.nn.CTCLoss(blank=2, reduction="none")(
        x,
        paddle.to_tensor([[0, 1], [1, 1]], dtype="int32"),
        paddle.to_tensor([5, 5]),
        paddle.to_tensor([2, 2]),
    ),
    lambda d: d.normal(5, 2, 3),
    rtol=1e-4,
)
cases.op(
    "ctc_impossible",
    lambda paddle, x: paddle.nn.functional.ctc_loss(
        x,
        paddle.to_tensor([[1, 2]], dtype="int32"),
        paddle.to_tensor([1]),
        paddle.to_tensor([2]),
        reduction="none",
    ),
    lambda d: d.normal(1, 1, 3),
)
cases.error("ctc_reduction", lambda paddle: ctc(reduction="avg")(paddle, paddle.ones([5, 2, 3])))


def rnnt(paddle, x, **kwargs):
    arrays = (np.array([[1, 2], [3, 1]]), np.array([4, 2]), np.array([2, 1]))
    return paddle.nn.RNNTLoss(**kwargs)(x, *[paddle.to_tensor(a.astype("int32")) for a in arrays])


for reduction in REDUCTIONS:
    cases.op(
        f"rnnt_{reduction}",
        lambda paddle, x, r=reduction: rnnt(paddle, x, reduction=r),
        lambda d: d.normal(2, 4, 3, 4),
        rtol=1e-4,
    )
cases.op(
    "rnnt_fastemit",
    lambda paddle, x: rnnt(paddle, x, fastemit_lambda=0.5),
    lambda d: d.normal(2, 4, 3, 4),
    rtol=1e-4,
)
cases.op(
    "rnnt_blank",
    lambda paddle, x: rnnt(paddle, x, blank=0, fastemit_lambda=0.0),
    lambda d: d.normal(2, 4, 3, 4),
    rtol=1e-4,
)
cases.op(
    "hsigmoid",
    lambda paddle, x, w, b: paddle.nn.functional.hsigmoid_loss(
        x, paddle.to_tensor([0, 4, 2, 3]), 5, w, b
    ),
    lambda d: (d.normal(4, 3), d.normal(4, 3), d.normal(4, 1)),
    rtol=TIGHT,
)
cases.op(
    "hsigmoid_custom",
    lambda paddle, x, w: paddle.nn.functional.hsigmoid_loss(
        x,
        paddle.to_tensor([[0], [1]]),
        3,
        w,
        path_table=paddle.to_tensor([[0, 2, -1], [0, 1, 2]]),
        path_code=paddle.to_tensor([[1, 0, -1], [0, 1, 1]]),
    ),
    lambda d: (d.normal(2, 3), d.normal(3, 3)),
    rtol=TIGHT,
    grad=False,
)
cases.error(
    "hsigmoid_classes",
    lambda paddle: paddle.nn.functional.hsigmoid_loss(
        paddle.ones([2, 3]), paddle.to_tensor([0, 0]), 1, paddle.ones([1, 3])
    ),
)


@cases.add("adaptive_log_softmax", rtol=TIGHT)
def _(paddle, d):
    x = paddle.to_tensor(d.normal(5, 8))
    x.stop_gradient = False
    head = paddle.to_tensor(d.normal(8, 4))
    tails = [
        [paddle.to_tensor(d.normal(8, 4)), paddle.to_tensor(d.normal(4, 3))],
        [paddle.to_tensor(d.normal(8, 2)), paddle.to_tensor(d.normal(2, 4))],
    ]
    out, loss = paddle.nn.functional.adaptive_log_softmax_with_loss(
        x, paddle.to_tensor([0, 1, 3, 8, 5]), head, tails, [2, 5, 9]
    )
    loss.backward()
    return out, loss, x.grad


@cases.add("adaptive_layer", rtol=TIGHT)
def _(paddle, d):
    layer = paddle.nn.AdaptiveLogSoftmaxWithLoss(8, 9, [2, 5], div_value=2.0, head_bias=True)
    for parameter in [
        layer.head_weight,
        layer.head_bias,
        *layer.tail_weights[0],
        *layer.tail_weights[1],
    ]:
        parameter.set_value(d.normal(*parameter.shape))
    x = paddle.to_tensor(d.normal(5, 8))
    return (
        layer(x, paddle.to_tensor([0, 1, 3, 8, 5])),
        layer.log_prob(x),
        sorted(layer.state_dict()),
        list(layer.head_weight.shape),
    )


@cases.add("hsigmoid_layer", rtol=TIGHT)
def _(paddle, d):
    layer = paddle.nn.HSigmoidLoss(3, 6)
    layer.weight.set_value(d.normal(5, 3))
    layer.bias.set_value(d.normal(5, 1))
    x = paddle.to_tensor(d.normal(4, 3))
    x.stop_gradient = False
    loss = layer(x, paddle.to_tensor([[0], [1], [4], [5]]))
    loss.sum().backward()
    return loss, x.grad, layer.weight.grad, layer.bias.grad
