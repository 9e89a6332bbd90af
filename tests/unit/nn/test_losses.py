"""Losses: messages, what gets a gradient, and that one op does the common cases."""

import pytest

import paddle
import paddle.nn.functional as F
from argosy.tensor.engine import execute, pop_mode, push_mode


def ops_of(fn):
    """The names of the ops that ``fn`` applies."""
    seen = []

    def mode(op, args, attrs):
        seen.append(op.name)
        return execute(op, args, attrs)

    push_mode(mode)
    try:
        fn()
    finally:
        pop_mode()
    return seen


@pytest.mark.parametrize("shape", [[4], [4, 1]])
def test_plain_cross_entropy_is_one_op(shape):
    x, label = paddle.ones([4, 3]), paddle.zeros(shape, "int64")
    assert ops_of(lambda: F.cross_entropy(x, label)) == ["mean_cross_entropy"]
    assert ops_of(lambda: paddle.nn.CrossEntropyLoss()(x, label)) == ["mean_cross_entropy"]


def test_mse_is_one_op():
    x = paddle.ones([4, 3])
    assert ops_of(lambda: paddle.nn.MSELoss()(x, x)) == ["mse_loss"]


def test_cross_entropy_shows_both_shapes():
    with pytest.raises(ValueError, match=r"input \[2, 2, 3\], label \[2, 3\]"):
        F.cross_entropy(paddle.ones([2, 2, 3]), paddle.zeros([2, 3], "int64"))


def test_cross_entropy_refuses_weights_for_another_number_of_classes():
    with pytest.raises(ValueError, match="3 classes, but weight is for 4"):
        F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0, 1]), weight=paddle.ones([4]))


def test_cross_entropy_label_out_of_range_is_an_index_error():
    with pytest.raises(IndexError, match="out of bounds"):
        F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0, 3]))


@pytest.mark.parametrize(
    "name", ["binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div", "log_loss"]
)
def test_labels_get_no_gradient(name):
    x = paddle.full([2, 2], 0.5)
    label = paddle.full([2, 2], 0.25)
    x.stop_gradient = label.stop_gradient = False
    getattr(F, name)(x, label).sum().backward()
    assert x.grad is not None
    assert label.grad is None


def test_the_gradient_of_bce_with_logits_is_right_at_zero():
    x = paddle.to_tensor([0.0, 0.0], stop_gradient=False)
    F.binary_cross_entropy_with_logits(x, paddle.to_tensor([0.0, 1.0]), reduction="sum").backward()
    assert x.grad.tolist() == [0.5, -0.5]


def test_probabilities_outside_the_unit_interval_are_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.binary_cross_entropy(paddle.to_tensor([1.5]), paddle.to_tensor([1.0]))


def test_an_unknown_reduction_is_named():
    with pytest.raises(ValueError, match=r"kl_div: .*received avg"):
        F.kl_div(paddle.ones([2]), paddle.ones([2]), reduction="avg")
    with pytest.raises(ValueError, match=r"L1Loss: .*received avg"):
        paddle.nn.L1Loss("avg")


def test_the_triplet_layer_uses_its_distance_function():
    calls = []

    def distance(x, y):
        calls.append(1)
        return (x - y).abs().sum(-1)

    loss = paddle.nn.TripletMarginWithDistanceLoss(distance, swap=True)
    loss(paddle.ones([2, 3]), paddle.zeros([2, 3]), paddle.ones([2, 3]))
    assert len(calls) == 3


def test_a_negative_distance_is_refused():
    x = paddle.ones([2, 3])
    with pytest.raises(ValueError, match="negative distance"):
        F.triplet_margin_with_distance_loss(x, x, x, lambda x, y: (x - y).sum(-1) - 1)


def test_adaptive_softmax_checks_labels_and_cutoffs():
    with pytest.raises(ValueError, match="increasing order"):
        paddle.nn.AdaptiveLogSoftmaxWithLoss(8, 9, [5, 2])
    layer = paddle.nn.AdaptiveLogSoftmaxWithLoss(8, 9, [2, 5])
    with pytest.raises(ValueError, match=r"in \[0, 8\], but values in range \[0, 9\]"):
        layer(paddle.ones([2, 8]), paddle.to_tensor([0, 9]))


def test_adaptive_softmax_predicts_the_most_likely_class():
    layer = paddle.nn.AdaptiveLogSoftmaxWithLoss(8, 9, [2, 5], div_value=2.0)
    x = paddle.randn([6, 8])
    log_prob = layer.log_prob(x)
    assert log_prob.exp().sum(axis=1).tolist() == pytest.approx([1.0] * 6, rel=1e-5)
    assert layer.predict(x).tolist() == log_prob.argmax(axis=1).tolist()


def test_pairwise_distance_has_the_aliases_of_its_options():
    layer = paddle.nn.PairwiseDistance(p=3.0)
    layer.norm, layer.eps = 1.0, 0.0
    assert (layer.p, layer.epsilon) == (1.0, 0.0)
    assert layer(paddle.ones([2, 3]), paddle.zeros([2, 3])).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(("left", "right"), [("float32", "float64"), ("float64", "float32")])
def test_smooth_l1_promotes_its_inputs(left, right):
    loss = paddle.nn.functional.smooth_l1_loss(paddle.ones([2], left), paddle.zeros([2], right))
    assert loss.dtype == paddle.float64
