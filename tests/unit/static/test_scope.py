"""Scopes inside of scopes, and what else than tensors a variable of a scope may hold."""

import numpy as np
import pytest

import paddle
from paddle.base import core
from paddle.base.default_scope_funcs import find_var, scoped_function, var


@pytest.fixture
def exe():
    return paddle.static.Executor(paddle.CPUPlace())


def test_an_inner_scope_finds_the_variables_around_it():
    outer = core.Scope()
    outer.var("a").get_tensor().set(np.ones(2, "float32"))
    inner = outer.new_scope()
    inner.var("b")
    assert inner.find_var("a") is outer.find_var("a")
    assert outer.find_var("b") is None
    assert (outer.size(), inner.size()) == (1, 1)
    outer.drop_kids()
    assert inner.find_var("b") is None


def test_a_scope_is_taken_out_of_the_pool_once():
    scope = core.Scope()
    scope._remove_from_pool()
    with pytest.raises(RuntimeError, match="Deleting a nonexistent scope is not allowed"):
        scope._remove_from_pool()


def test_a_variable_holds_numbers_strings_or_an_array():
    scope = core.Scope()
    number = scope.var("n")
    assert not number.is_int()
    number.set_int(3)
    assert number.get_int() == 3
    with pytest.raises(RuntimeError, match="holds no float"):
        number.get_float()
    array = scope.var("array").get_lod_tensor_array()
    array.append(core.LoDTensor())
    assert len(scope.var("array").get_lod_tensor_array()) == 1


def test_functions_run_in_scopes_of_their_own():
    scoped_function(lambda: var("local").set_int(1))
    assert find_var("local") is None


def test_a_run_reads_parameters_of_the_scope_around(exe):
    out = paddle.static.create_parameter([2], "float32", name="w") * 2.0
    scope = core.Scope()
    exe.run(paddle.static.default_startup_program(), scope=scope)
    inner = scope.new_scope()
    [first] = exe.run(fetch_list=[out], scope=inner)
    scope.find_var("w").get_tensor().set(np.zeros(2, "float32"))
    [second] = exe.run(fetch_list=[out], scope=inner)
    assert second.tolist() == [0.0, 0.0] != first.tolist()


def test_a_scope_makes_room_for_what_is_loaded(exe):
    weight = paddle.static.create_parameter([2, 3], "float32", name="w")
    scope = core.Scope()
    core._create_loaded_parameter([weight], scope, exe._default_executor)
    assert scope.find_var("w").get_tensor().shape() == [2, 3]


def test_what_a_run_frees_is_told_by_block_and_operator():
    x = paddle.static.data("x", [2])
    hidden = x * 2.0
    out = hidden + 1.0
    main = paddle.static.default_main_program()
    [freed] = core._get_eager_deletion_vars(main.desc, [out.name])
    assert freed == [["x"], [hidden.name]]


def test_lists_of_what_is_fed_and_fetched_have_columns():
    core = paddle.base.core
    scope, value = core.Scope(), core.LoDTensor([[1, 3]])
    value.set(np.arange(4.0).reshape(4, 1), paddle.CPUPlace())
    core.set_feed_variable(scope, value, "feed", 1)
    assert core.get_fetch_variable(scope, "feed", 1).recursive_sequence_lengths() == [[1, 3]]
    scope.var("fetch").get_fetch_list().append(value)
    found = core.get_fetch_variable(scope, "fetch", 0)
    np.testing.assert_array_equal(np.array(found), np.arange(4.0).reshape(4, 1))
    with pytest.raises(RuntimeError, match="has 1 columns"):
        core.get_fetch_variable(scope, "fetch", 1)
