"""Memory of the tensors in scopes by hand, and rows."""

import numpy as np
import pytest

import paddle
from paddle.base import core
from paddle.nn import clip

CPU = paddle.CPUPlace()


@pytest.mark.parametrize(
    "tensor", [core.LoDTensor(), core.Scope().var("x").get_tensor()], ids=["alone", "scope"]
)
def test_memory_is_declared_then_made(tensor):
    tensor._set_dims([2, 3])
    tensor._alloc_float(CPU)
    assert tensor.shape() == [2, 3]
    tensor._set_float_element(4, 2.5)
    assert (tensor._get_float_element(4), np.array(tensor)[1, 1]) == (2.5, 2.5)
    with pytest.raises(IndexError, match="element 6 lies outside"):
        tensor._get_float_element(6)
    tensor._alloc_int(CPU)
    assert tensor._dtype() == paddle.int32
    assert tensor._mutable_data(CPU, core.VarDesc.VarType.FP64) == tensor._ptr()
    assert tensor._dtype() == paddle.float64


def test_parts_and_copies():
    tensor, copy = core.LoDTensor(), core.LoDTensor()
    array = np.arange(6).reshape(3, 2)
    tensor.set(array, CPU)
    assert (np.array(tensor[2::-2, 1:]) == array[2::-2, 1:]).all()
    copy._copy_from(tensor, CPU, 2)
    assert (np.array(copy) == array[:2]).all()
    assert copy._ptr() != tensor._ptr() == copy._share_data_with(tensor)._ptr()


def test_rows_of_a_scope():
    scope = core.Scope()
    rows = scope.var("x").get_selected_rows()
    rows.set_rows([4, 1, 4])
    rows.set_height(6)
    rows.get_tensor().set(np.array([[1.0], [2.0], [3.0]], "float32"), CPU)
    assert (rows.rows(), rows.height(), rows.numel()) == ([4, 1, 4], 6, 6)
    assert scope.var("x").get_selected_rows() is rows
    sparse = paddle.Tensor(scope.find_var("x").get_tensor())
    assert clip.get_tensor_from_selected_rows(sparse).tolist() == [[1.0], [2.0], [3.0]]
    merged = clip.merge_selected_rows(sparse)
    assert clip.get_tensor_from_selected_rows(merged).tolist() == [[2.0], [4.0]]
    with pytest.raises(TypeError, match="row-sparse tensor, but received dense_tensor"):
        clip.merge_selected_rows(paddle.ones([2]))


def test_as_many_values_as_rows():
    rows = core.SelectedRows([0, 1], 3)
    rows.get_tensor().set(np.ones([1, 2]), CPU)
    with pytest.raises(ValueError, match="there are 2 rows"):
        rows.raw_tensor()
