"""What goldens cannot show about manipulation: gradients where Paddle's are wrong, aliasing,
messages, conversions.
"""

import numpy as np
import pytest
import torch

import paddle


def test_unfold_accumulates_the_gradient_of_overlaps():
    x = paddle.ones([4], requires_grad=True)
    x.unfold(0, 2, 1).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0, 1.0]


def test_diagonal_scatter_sends_a_gradient_to_the_diagonal():
    x, y = paddle.zeros([2, 2], requires_grad=True), paddle.ones([2], requires_grad=True)
    (paddle.diagonal_scatter(x, y) * 3).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [[0.0, 3.0], [3.0, 0.0]]


def test_masked_fill_sends_a_gradient_to_its_value():
    x, value = paddle.ones([3], requires_grad=True), paddle.to_tensor(2.0, stop_gradient=False)
    x.masked_fill(paddle.to_tensor([True, False, True]), value).sum().backward()
    assert float(value.grad) == 2.0
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


def test_negative_index_select_gradient():
    x = paddle.ones([3], requires_grad=True)
    x.index_select(paddle.to_tensor([-1, -1, 0])).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 2.0]


def test_in_place_on_a_part_of_a_split_leaves_the_whole():
    x = paddle.zeros([4])
    first, _ = paddle.split(x, 2)
    first.add_(paddle.ones([2]))
    x.expand([2, 4])[0].fill_(5.0)
    assert x.tolist() == [0.0] * 4


def test_in_place_reshape_shares_memory_and_keeps_views():
    x = paddle.zeros([2, 3])
    row = x[0]
    assert x.reshape_([3, 2]) is x
    row.fill_(1.0)
    assert x.tolist() == [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]


def test_in_place_transpose_of_a_square():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    memory = x.data_ptr()
    assert x.t_().tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert x.transpose_([1, 0]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.data_ptr() == memory


def test_in_place_reshape_of_a_parameter_leaves_it_one():
    weight = paddle.create_parameter([2, 3], "float32")
    with paddle.no_grad():
        weight.reshape_([3, 2])
    assert weight.shape == [3, 2]
    assert not weight.stop_gradient
    assert weight.is_leaf
    (weight * 2).sum().backward()
    assert weight.grad.shape == [3, 2]


def test_astype_returns_itself_and_cast_copies():
    x = paddle.zeros([2])
    assert x.astype("float32") is x
    x.cast("float32").fill_(1.0)
    assert x.tolist() == [0.0, 0.0]


def test_cast_of_complex_keeps_the_real_part_without_a_warning():
    assert paddle.to_tensor([1 + 2j]).astype("float32").tolist() == [1.0]


def test_data_is_outside_the_graph_and_can_be_replaced():
    x = paddle.ones([2], requires_grad=True)
    assert x.data.stop_gradient
    x.data = paddle.full([2], 3.0)
    assert x.tolist() == [3.0, 3.0]
    assert not x.stop_gradient


def test_gpu_falls_back_where_there_is_none():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    x = paddle.ones([2])
    with pytest.warns(UserWarning, match="no GPU"):
        assert x.cuda() is x
    assert x.pin_memory() is x


def test_apply_refuses_tensors_in_training():
    x = paddle.ones([2])
    assert x.apply(lambda v: v * 2).tolist() == [2.0, 2.0]
    x.apply_(lambda v: v * 3)
    assert x.tolist() == [3.0, 3.0]
    x.stop_gradient = False
    with pytest.raises(RuntimeError, match=r"Tensor\.apply_"):
        x.apply_(lambda v: v)


def test_transpose_of_two_ints_swaps():
    assert paddle.ones([2, 3, 4]).transpose(0, 2).shape == [4, 3, 2]


def test_unique_index_is_the_first_occurrence():
    rng = np.random.RandomState(0)
    data = rng.randint(0, 7, 200)
    values, index, inverse, counts = paddle.unique(paddle.to_tensor(data), True, True, True)
    expected = np.unique(data, True, True, True)
    for ours, numpys in zip((values, index, inverse, counts), expected, strict=True):
        assert ours.tolist() == numpys.tolist()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: paddle.reshape(x, [5, -1]), r"reshape\(x=float32\[2, 3\], shape=\[5, -1\]\)"),
        (lambda x: paddle.reshape(x, [2, 3, 0]), "entry 2 of the shape"),
        (
            lambda x: paddle.concat([x, x.astype("int64")]),
            "input 0 is .*float32 and input 1 is .*int64",
        ),
        (
            lambda x: paddle.concat([x, x[0]]),
            r"input 0 has shape \[2, 3\] and input 1 has shape \[3\]",
        ),
        (
            lambda x: paddle.concat(x),
            "concat: argument 'x' must be a list of Tensors, but received Tensor",
        ),
        (lambda x: paddle.split(x, [1, 1], 1), r"sections \[1, 1\] must add up to 3"),
        (lambda x: paddle.squeeze(x, 7), r"squeeze: axis 7 is outside \[-2, 2\)"),
        (lambda x: x["a"], "received str at position 0"),
        (lambda x: paddle.gather(x, paddle.to_tensor([9])), "outside axis 0"),
        (
            lambda x: paddle.put_along_axis(x, paddle.to_tensor([[0]]), 1.0, 0, "max"),
            "reduce must be one of assign, add",
        ),
        (lambda x: paddle.topk(x, 4), "k is 4, but must be between 1 and 3"),
        (lambda x: x.to(dtype="float32", color="red"), "color"),
    ],
)
def test_messages_name_the_call_and_the_values(call, words):
    with pytest.raises(ValueError, match=words):
        call(paddle.ones([2, 3]))


def index(x, *values):
    """Indices on the device of ``x``."""
    return paddle.from_torch(torch.tensor(values).to(x.torch().device))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.reshape([3, -1]),
        lambda x: x[:, 1:],
        lambda x: x[::-1],
        lambda x: paddle.concat([x, x]),
        lambda x: paddle.split(x, [1, -1]),
        lambda x: x.expand([4, 2, 3]),
        lambda x: paddle.topk(x, 2),
        lambda x: x.argmax(-1),
        lambda x: x.tril(),
        lambda x: paddle.scatter(x, index(x, 1), x[:1]),
        lambda x: paddle.gather(x, index(x, 0, 2, 1, 1), 1),
        lambda x: paddle.where(x > 0, x, x),
        lambda x: paddle.zeros_like(x),
        lambda x: paddle.diagonal_scatter(x, x[0, :2]),
    ],
)
def test_shapes_can_be_inferred_without_data(fn):
    real, inferred = (
        fn(paddle.ones([2, 3])),
        fn(paddle.from_torch(torch.empty(2, 3, device="meta"))),
    )
    as_list = lambda out: out if isinstance(out, (list, tuple)) else [out]  # noqa: E731
    assert [v.shape for v in as_list(inferred)] == [v.shape for v in as_list(real)]
    assert all(v.torch().device.type == "meta" for v in as_list(inferred))
