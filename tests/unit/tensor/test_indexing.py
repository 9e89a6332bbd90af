"""Indexing against NumPy over many shapes of index, and what assignment does to the graph."""

import numpy as np
import pytest

import paddle

SHAPE = (3, 4, 5)
INDICES = [
    np.s_[1], np.s_[-1, 2], np.s_[..., -1], np.s_[1:, ::2], np.s_[::-1], np.s_[:, ::-2, 1:4],
    np.s_[2:0:-1, ..., ::-1],
    np.s_[None, 1, None, 2], np.s_[[2, 0]], np.s_[:, [3, 0, 0]], np.s_[[0, 2], [1, 3]],
    np.s_[:, [1, 2], [0, 4]],
    np.s_[[[0], [1]], [0, 1, 2]], np.s_[np.array([True, False, True])],
    np.s_[:, np.array([True, False, True, True]), 1:],
    np.s_[1:, [2, 0], ::-1], np.s_[5:], np.s_[()], np.s_[...], np.s_[::3, ::3, ::3],
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reads_as_numpy(index):
    data = np.arange(60).reshape(SHAPE)
    assert paddle.to_tensor(data)[index].numpy().tolist() == data[index].tolist()


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_writes_as_numpy(index):
    data = np.arange(60).reshape(SHAPE)
    x = paddle.to_tensor(data)
    value = -np.arange(data[index].size).reshape(data[index].shape)
    x[index] = paddle.to_tensor(value)
    data[index] = value
    assert x.numpy().tolist() == data.tolist()


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_gradient_goes_back_to_where_it_came_from(index):
    data = np.arange(60, dtype="float32").reshape(SHAPE)
    x = paddle.to_tensor(data, stop_gradient=False)
    part = x[index]
    weight = np.arange(1, data[index].size + 1, dtype="float32").reshape(data[index].shape)
    (part * paddle.to_tensor(weight)).sum().backward()
    expected = np.zeros(SHAPE, "float32")
    np.add.at(expected, index, weight)
    assert x.grad.numpy().tolist() == expected.tolist()


def test_assignment_cuts_the_overwritten_part_from_the_graph():
    x = paddle.ones([3], requires_grad=True)
    v = paddle.to_tensor([5.0], stop_gradient=False)
    y = x * 2
    y[1:2] = v
    (y * y).sum().backward()
    assert x.grad.tolist() == [8.0, 0.0, 8.0]
    assert v.grad.tolist() == [10.0]


def test_backward_assignment_reaches_a_reversed_slice():
    v = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    y = paddle.zeros([3])
    y[::-1] = v
    (y * paddle.to_tensor([1.0, 10.0, 100.0])).sum().backward()
    assert y.tolist() == [3.0, 2.0, 1.0]
    assert v.grad.tolist() == [100.0, 10.0, 1.0]


def test_parameter_may_be_written_outside_the_graph_only():
    weight = paddle.create_parameter([2], "float32")
    with pytest.raises(ValueError, match="Leaf Tensor"):
        weight[0] = 1.0
    with paddle.no_grad():
        weight[0] = 1.0
    assert float(weight[0]) == 1.0
    assert not weight.stop_gradient


def test_result_of_a_parameter_is_a_plain_tensor():
    weight = paddle.create_parameter([2, 2], "float32")
    assert type(weight[0]) is paddle.Tensor
    assert not weight[0].is_leaf


@pytest.mark.parametrize("index", [3, (0, 4), (slice(None), -5), (0, 0, 0, 0)])
def test_outside_is_an_index_error_that_shows_the_shape(index):
    with pytest.raises(IndexError, match=r"float32\[3, 4, 5\]"):
        paddle.zeros(SHAPE)[index]


@pytest.mark.parametrize(
    ("part", "values", "gradient"),
    [
        (lambda x: x[0], [[1, 4, 1], [1, 1, 1]], [[1, 0, 1], [0, 0, 0]]),
        (lambda x: x.reshape([6]), [[1, 4, 1], [1, 1, 1]], [[1, 0, 1], [1, 1, 1]]),
        (lambda x: x.t(), [[1, 4, 1], [1, 4, 1]], [[1, 0, 1], [1, 0, 1]]),
    ],
)
def test_writing_to_a_view_of_a_leaf_reaches_its_memory_and_stops_gradients_there(
    part, values, gradient
):
    x = paddle.ones([2, 3])
    x.stop_gradient = False
    view = part(x)
    view[1] = 4.0
    assert x.tolist() == values
    assert view.tolist() == part(x).tolist()
    view.sum().backward()
    assert x.grad.tolist() == gradient


def test_writing_to_a_view_of_a_leaf_twice_and_with_a_gradient():
    x = paddle.ones([2, 3])
    x.stop_gradient = False
    view = x.reshape([6])
    view[0] = 2.0
    view[1] = view[5] + 3.0
    assert x.tolist() == [[2, 4, 1], [1, 1, 1]]
    view.sum().backward()
    assert x.grad.tolist() == [[0, 0, 1], [1, 1, 2]]


def test_what_backward_needs_cannot_be_overwritten_through_a_view_of_a_leaf():
    x = paddle.ones([2, 3])
    x.stop_gradient = False
    loss = (x * x).sum()
    x[0][1] = 5.0
    with pytest.raises(RuntimeError, match="changed in place after it was used"):
        loss.backward()


def test_other_in_place_functions_take_a_view_of_a_leaf_too():
    x = paddle.ones([2, 3])
    x.stop_gradient = False
    x[0].add_(paddle.full([3], 2.0))
    assert x.tolist() == [[3, 3, 3], [1, 1, 1]]


def test_a_wrong_index_into_a_view_of_a_leaf():
    x = paddle.ones([2, 3])
    x.stop_gradient = False
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        x[0][7] = 5.0


@pytest.mark.parametrize(
    "index",
    [slice(1.1, None), slice(None, 2.0), slice(None, None, 1.5), slice(np.float64(1), None)],
)
def test_bounds_of_slices_are_integers(index):
    x = paddle.ones([4, 5])
    with pytest.raises(ValueError, match="its bounds must be integers"):
        x[index]
    with pytest.raises(ValueError, match="at position 1 of the index"):
        x[:, index]


@pytest.mark.parametrize("index", [[1.0, 2.0], np.array([0.5])])
def test_arrays_of_floats_are_no_index(index):
    with pytest.raises(ValueError, match="must hold bools or integers, but this one holds float64"):
        paddle.ones([4, 5])[index]
