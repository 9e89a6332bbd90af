"""Recording: programs, variables, names, copies and checks."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported, ProgramError, UsageError
from argosy.static.ir.operator import Ref

F = paddle.nn.functional


def types(program):
    return [operator.type for operator in program.global_block().ops]


def test_ops_are_recorded_not_run():
    x = paddle.static.data("x", [None, 3])
    y = F.relu(x) + 1.0
    assert isinstance(y, paddle.static.Variable)
    assert isinstance(y, paddle.Tensor)
    assert types(paddle.static.default_main_program()) == ["relu", "scale"]
    assert y.name == "tmp_0"
    assert not paddle.in_dynamic_mode()


def test_mode_goes_back_to_eager():
    paddle.disable_static()
    assert float(paddle.ones([2]).sum()) == 2.0
    paddle.enable_static()


def test_guard_chooses_the_programs():
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        assert paddle.static.default_main_program() is main
        paddle.nn.Linear(2, 3)
    assert paddle.static.default_main_program() is not main
    assert [p.name for p in main.all_parameters()] == ["linear_0.w_0", "linear_0.b_0"]
    assert types(startup) == ["uniform_random", "fill_constant"]
    assert types(main) == []
    with (
        pytest.raises(UsageError, match="main_program must be a Program"),
        paddle.static.program_guard("main"),
    ):
        pass


def test_a_guard_without_startup_keeps_it():
    startup = paddle.static.default_startup_program()
    with paddle.static.program_guard(paddle.static.Program()):
        paddle.static.create_parameter([2], "float32")
    assert len(startup.global_block().ops) == 1


@pytest.mark.parametrize("unknown", [None, -1])
def test_unknown_dimensions_read_as_minus_one(unknown):
    x = paddle.static.data("x", [unknown, 4, 6])
    assert x.shape == [-1, 4, 6]
    assert x.ndim == 3
    assert x.size == -1
    assert x.reshape([-1, 8]).shape == [-1, 8]
    assert x.transpose([1, 0, 2]).shape == [4, -1, 6]
    assert x.sum().shape == []
    assert paddle.concat([x, x], axis=0).shape == [-1, 4, 6]
    assert paddle.concat([x, x], axis=1).shape == [-1, 8, 6]
    assert x[0].shape == [4, 6]
    assert x.astype("int64").dtype == paddle.int64


def test_a_shape_read_while_recording_can_shape():
    x = paddle.static.data("x", [None, 6])
    rows = paddle.shape(x)[0]
    out = paddle.reshape(x, [rows, 2, 3])
    assert out.shape == [-1, 2, 3]
    [value] = paddle.static.Executor().run(
        feed={"x": np.arange(12, dtype="float32").reshape(2, 6)}, fetch_list=[out]
    )
    assert value.shape == (2, 2, 3)


def test_a_fixed_size_meets_an_unknown_one():
    x = paddle.static.data("x", [None, 3])
    assert (x + paddle.ones([4, 3])).shape == [4, 3]
    assert x.reshape([2, 6]).shape == [2, 6]
    with pytest.raises(ValueError, match="reshape"):
        x.reshape([5, 5])


def test_sizes_that_values_decide_are_unknown():
    x = paddle.static.data("x", [5])
    assert paddle.nonzero(x).shape == [-1, 1]
    assert paddle.unique(x).shape == [-1]
    assert paddle.masked_select(x, x > 0).shape == [-1]


def test_a_wrong_shape_is_an_error_at_its_line():
    x = paddle.static.data("x", [None, 3])
    with pytest.raises(
        ValueError, match=r"matmul_v2|matmul\(x=float32\[-1, 3\], y=float32\[4, 2\]"
    ):
        x @ paddle.ones([4, 2])
    assert types(paddle.static.default_main_program()) == ["fill_constant"]


def test_values_are_not_there():
    x = paddle.static.data("x", [1])
    for read in (
        float,
        bool,
        int,
        lambda v: v.numpy(),
        np.asarray,
        lambda v: v.tolist(),
    ):
        with pytest.raises(ProgramError, match=r"'x'.*has no value while the program is recorded"):
            read(x)
    with pytest.raises(ProgramError, match="append_backward"):
        x.backward()


def test_the_item_of_a_variable_is_recorded():
    x = paddle.static.data("x", [None, 3])
    count = paddle.shape(x)[0].item()
    out = paddle.full([count, 2], 7.0)
    [value] = paddle.static.Executor().run(
        feed={"x": np.zeros([5, 3], "float32")}, fetch_list=[out]
    )
    assert value.shape == (5, 2)
    with pytest.raises(TypeError, match="1-D Variable"):
        x.item()


def test_tensors_with_values_become_constants_once():
    table = paddle.to_tensor([1.0, 2.0])
    x = paddle.static.data("x", [2])
    out = x * table + table
    assert types(paddle.static.default_main_program()) == [
        "assign_value",
        "elementwise_mul",
        "elementwise_add",
    ]
    [value] = paddle.static.Executor().run(feed={"x": np.ones(2, "float32")}, fetch_list=[out])
    np.testing.assert_array_equal(value, [2.0, 4.0])


def test_a_variable_of_another_program_is_refused():
    with paddle.static.program_guard(paddle.static.Program()):
        x = paddle.static.data("elsewhere", [2])
    with pytest.raises(UsageError, match="'elsewhere' belongs to another program"):
        F.relu(x)


def test_operators_tell_inputs_outputs_and_attributes():
    x = paddle.static.data("x", [None, 4])
    layer = paddle.nn.Linear(4, 2)
    with paddle.static.name_scope("head"):
        F.dropout(layer(x), 0.3)
    product, total, dropout = paddle.static.default_main_program().global_block().ops
    assert (product.type, total.type) == ("matmul_v2", "elementwise_add")
    assert product.input_names == ["X", "Y"]
    assert product.input("Y") == ["linear_0.w_0"]
    assert product.desc.output("Out") == ["linear_1.tmp_0"]
    assert product.attr("trans_y") is False
    assert total.input("Y") == ["linear_0.b_0"]
    assert dropout.input("X") == total.output("Out") == ["linear_1.tmp_1"]
    assert dropout.attr("dropout_prob") == 0.3
    assert dropout.attr("dropout_implementation") == "upscale_in_train"
    assert dropout.has_attr("is_test")
    assert dropout.all_attrs()["op_namescope"] == "/head/"
    assert product.idx == 0
    with pytest.raises(UsageError, match="no input 'W'"):
        product.input("W")


def test_attributes_are_set_in_the_words_of_paddle():
    x = paddle.static.data("x", [None, 4])
    out = F.dropout(x, 0.3)
    dropout = out.op
    dropout._set_attr("dropout_prob", 0.9)
    dropout._set_attr("dropout_implementation", "downgrade_in_infer")
    assert dropout.named_args["p"] == 0.9
    assert dropout.named_args["upscale"] is False
    dropout._set_attr("is_test", True)
    [value] = paddle.static.Executor().run(feed={"x": np.ones([1, 4], "float32")}, fetch_list=[out])
    np.testing.assert_allclose(value, np.full([1, 4], 0.1), rtol=1e-5)


def test_text_of_a_program():
    x = paddle.static.data("x", [None, 4])
    F.relu(paddle.nn.Linear(4, 2)(x))
    text = str(paddle.static.default_main_program())
    assert "var x : shape(-1, 4).dtype(float32).stop_gradient(True)" in text
    assert "persist trainable param linear_0.w_0 : shape(4, 2)" in text
    assert "[relu_0.tmp_0] = relu(x=linear_1.tmp_1)" in text


def test_clone_for_test_leaves_the_forward_part_in_test_mode():
    x = paddle.static.data("x", [None, 4])
    norm = paddle.nn.BatchNorm1D(4)
    loss = F.dropout(norm(x), 0.5).mean()
    paddle.optimizer.SGD(0.1).minimize(loss)
    main = paddle.static.default_main_program()
    test = main.clone(for_test=True)
    assert types(test) == ["batch_norm", "dropout", "reduce_mean"]
    assert [o.attr("is_test") for o in test.global_block().ops[:2]] == [True, True]
    assert [o.attr("is_test") for o in main.global_block().ops[:2]] == [False, False]
    assert len(main.clone().global_block().ops) == len(main.global_block().ops)
    assert test.global_block().var("x").block.program is test


def test_clone_is_independent():
    x = paddle.static.data("x", [2])
    main = paddle.static.default_main_program()
    other = main.clone()
    F.relu(x)
    assert (len(main.global_block().ops), len(other.global_block().ops)) == (1, 0)


def test_parameters_are_shared_by_name():
    attr = paddle.ParamAttr(name="shared")
    first, second = paddle.nn.Linear(3, 3, attr), paddle.nn.Linear(3, 3, attr)
    assert first.weight is second.weight
    assert types(paddle.static.default_startup_program()).count("uniform_random") == 1
    with pytest.raises(UsageError, match="cannot be shared"):
        paddle.nn.Linear(3, 5, attr)


def test_layers_can_be_copied():
    layer = paddle.nn.Linear(2, 2)
    other = copy.deepcopy(layer)
    assert other.weight.name == "linear_0.w_0_0"
    assert types(paddle.static.default_startup_program()) == ["uniform_random", "fill_constant"] * 2


def test_in_place_functions_make_a_new_variable_and_say_so():
    x = paddle.static.data("x", [3])
    with pytest.warns(UserWarning, match=r"add_\(\) is the same as add\(\)"):
        made = x.add_(paddle.ones([3]))
    with pytest.warns(UserWarning, match=r"tanh_\(\) is the same as tanh\(\)"):
        paddle.tanh_(x)
    fetched = paddle.static.Executor().run(feed={"x": np.ones(3, "float32")}, fetch_list=[x, made])
    np.testing.assert_array_equal(fetched[0], [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(fetched[1], [2.0, 2.0, 2.0])


def test_assignments_write_the_variable():
    x = paddle.static.data("x", [3])
    y = x * 2.0
    kept = y + 0.0
    y[0] = 9.0
    fetched = paddle.static.Executor().run(feed={"x": np.ones(3, "float32")}, fetch_list=[y, kept])
    np.testing.assert_array_equal(fetched[0], [9.0, 2.0, 2.0])
    np.testing.assert_array_equal(fetched[1], [2.0, 2.0, 2.0])


def test_writing_a_fed_variable_leaves_the_array_alone():
    x = paddle.static.data("x", [2])
    x[0] = 5.0
    array = np.ones(2, "float32")
    [value] = paddle.static.Executor().run(feed={"x": array}, fetch_list=[x])
    np.testing.assert_array_equal(value, [5.0, 1.0])
    np.testing.assert_array_equal(array, [1.0, 1.0])


def test_verify_names_the_operator():
    x = paddle.static.data("x", [2])
    y = F.relu(x)
    F.tanh(y)
    program = paddle.static.default_main_program()
    program.verify()
    operators = program.global_block().ops
    operators.reverse()
    with pytest.raises(
        ProgramError,
        match=r"operator 0 'tanh', recorded at .*test_program.py:\d+ reads 'relu_0.tmp_0' before",
    ):
        program.verify()
    operators.reverse()
    operators[1].args = (Ref("nowhere"),)
    with pytest.raises(
        ProgramError, match=r"operator 1 'tanh'.* reads 'nowhere', which is no variable"
    ):
        program.verify()


def test_contents_of_a_program():
    x = paddle.static.data("x", [2])
    paddle.nn.Linear(2, 1)(x)
    program = paddle.static.default_main_program()
    block = program.global_block()
    assert {v.name for v in program.list_vars()} == {
        "x",
        "linear_0.w_0",
        "linear_0.b_0",
        "linear_1.tmp_0",
        "linear_1.tmp_1",
    }
    assert block.has_var("x")
    assert block.var("x") is x
    with pytest.raises(ProgramError, match=r"Did you mean 'linear_0.w_0'"):
        block.var("linear_0.w")
    assert program.num_blocks == 1
    with pytest.raises(UsageError, match="random_seed"):
        program.random_seed = "1"


def test_descriptions_tell_what_changed():
    def built():
        main = paddle.static.Program()
        with paddle.utils.unique_name.guard(), paddle.static.program_guard(main):
            paddle.static.nn.fc(paddle.static.data("x", [3, 2]), 1)
        return main

    one, other = (built() for _ in range(2))
    assert one.desc.need_update()
    assert one.desc.cached_hash_str() == other.desc.cached_hash_str()
    assert one.desc.cached_hash_str() == one.clone().desc.cached_hash_str()
    assert not one.desc.need_update()
    one.global_block().ops[-1]._set_attr("use_mkldnn", True)
    assert one.desc.need_update()
    assert one.desc.cached_hash_str() != other.desc.cached_hash_str()
    other.global_block().var("x").desc._set_attr("a", 1)
    assert other.desc.need_update()
    assert one.desc.block(0).op(0).type() == one.global_block().ops[0].type


def test_what_is_not_needed_is_pruned():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2])
        hidden = x * 2.0
        out = hidden + 1.0
        _ = x - 3.0
    assert len(main._prune([out]).global_block().ops) == 2
    assert len(main._prune_with_input([hidden.name], [out]).global_block().ops) == 1
    with pytest.raises(ValueError, match="must be names"):
        main._prune_with_input([2, 3], [])
    with pytest.raises(TypeError, match="expected a Program"):
        main._copy_param_info_from("program")


def test_wrong_declarations():
    with pytest.raises(TypeError, match="name must be a string"):
        paddle.static.data(3, [2])
    with pytest.raises(TypeError, match="shape must be a list"):
        paddle.static.data("x", 2)
    with pytest.raises(UsageError, match="lod_level must be 0 or more"):
        paddle.static.data("words", [None, 1], "int64", lod_level=-1)


def test_input_spec():
    spec = paddle.static.InputSpec([None, 3], "float32", "x")
    assert spec.shape == (-1, 3)
    assert spec == paddle.static.InputSpec([-1, 3], paddle.float32, "x")
    assert spec.batch(8).shape == (8, -1, 3)
    assert spec.unbatch().shape == (-1, 3)
    assert paddle.static.InputSpec.from_numpy(np.ones((2, 2), "int64")).dtype == paddle.int64


def test_what_is_missing_is_refused_by_name():
    with pytest.raises(NotSupported, match=r"paddle.static.nn.nce is not supported"):
        paddle.static.nn.nce  # noqa: B018
    with pytest.raises(NotSupported, match=r"paddle.static.IpuStrategy"):
        paddle.static.IpuStrategy  # noqa: B018
    assert not hasattr(paddle.static, "IpuCompiledProgram")
    with pytest.raises(AttributeError, match="Did you mean 'Program'"):
        paddle.static.Programm  # noqa: B018


def test_variables_made_by_hand_with_an_initialiser():
    startup = paddle.static.default_startup_program().global_block()
    kind = paddle.fluid.core.VarDesc.VarType
    initializer = paddle.nn.initializer.Constant(4.0)
    made = startup.create_var(
        name="made",
        shape=[2],
        dtype="float32",
        persistable=True,
        type=kind.LOD_TENSOR,
        initializer=initializer,
    )
    assert (made.shape, types(paddle.static.default_startup_program())) == ([2], ["fill_constant"])
    paddle.static.Executor().run(paddle.static.default_startup_program())
    assert np.array(made.get_value()).tolist() == [4.0, 4.0]
    with pytest.raises(NotSupported, match="type='selected_rows'"):
        startup.create_var(name="rows", type=kind.SELECTED_ROWS)
    with pytest.raises(UsageError, match=r"unknown arguments \['shap'\]"):
        startup.create_var(name="wrong", shap=[2])


def test_a_variable_made_by_hand_need_not_tell_its_shape_and_dtype():
    variable = paddle.static.Program().global_block().create_var("x", shape=None, dtype=None)
    assert variable.shape == []
    assert variable.dtype == paddle.float32


@pytest.mark.parametrize(
    ("left", "right"), [("float32", "int64"), ("int64", "float32"), ("int32", "int64")]
)
def test_an_operator_of_unlike_dtypes_follows_its_left_side(left, right):
    x, y = paddle.static.data("x", [None], left), paddle.static.data("y", [None], right)
    results = [x + y, x * y, x < y]
    feed = {"x": np.array([3, 8], left), "y": np.array([2, 4], right)}
    total, product, is_less = paddle.static.Executor().run(feed=feed, fetch_list=results)
    assert total.dtype == product.dtype == left
    np.testing.assert_array_equal(total, [5, 12])
    np.testing.assert_array_equal(product, [6, 32])
    np.testing.assert_array_equal(is_less, [False, False])


def test_operators_of_two_floating_dtypes_promote():
    x, y = paddle.static.data("x", [2], "float32"), paddle.static.data("y", [2], "float64")
    assert (x + y).dtype == (y - x).dtype == paddle.float64


def test_squeeze_takes_an_unknown_extent_for_one():
    x = paddle.static.data("x", [None, None, 3])
    results = [paddle.squeeze(x, [1]), paddle.squeeze(x, 0), paddle.squeeze(x)]
    assert [out.shape for out in results] == [[-1, 3], [-1, 3], [-1, -1, 3]]
    exe = paddle.static.Executor()
    got = exe.run(feed={"x": np.ones([2, 1, 3], "float32")}, fetch_list=results)
    assert [value.shape for value in got] == [(2, 3), (2, 1, 3), (2, 3)]


def test_a_program_for_inference_keeps_all_operators():
    x = paddle.static.data("x", [None, 4])
    out = paddle.nn.functional.dropout(paddle.static.nn.fc(x, 3), 0.5)
    paddle.optimizer.SGD(0.1).minimize(out.mean())
    main = paddle.static.default_main_program()
    copy = main._inference_optimize()
    kinds = [[o.type for o in program.global_block().ops] for program in (main, copy)]
    assert kinds[0] == kinds[1]
    tests = [
        next(o for o in program.global_block().ops if o.type == "dropout").attr("is_test")
        for program in (main, copy)
    ]
    assert tests == [False, True]


def test_setitem_leaves_its_input_as_it_is():
    x = paddle.static.data("x", [2, 3])
    doubled = x * 2
    out = paddle.static.setitem(doubled, (1, slice(0, 2)), 9.0)
    feed = {"x": np.arange(6, dtype="float32").reshape(2, 3)}
    before, after = paddle.static.Executor().run(feed=feed, fetch_list=[doubled, out])
    np.testing.assert_array_equal(before, feed["x"] * 2)
    np.testing.assert_array_equal(after, [[0, 2, 4], [9, 9, 10]])


def test_a_variable_is_renamed_with_its_uses():
    x = paddle.static.data("x", [2])
    doubled = x * 2.0
    block = paddle.static.default_main_program().global_block()
    assert block._rename_var("x", b"y").name == "y"
    assert "x" not in block.vars
    exe = paddle.static.Executor()
    [value] = exe.run(feed={"y": np.ones(2, "float32")}, fetch_list=[doubled])
    assert value.tolist() == [2, 2]
    with pytest.raises(ValueError, match="no variable 'x'"):
        block._rename_var("x", "z")
    with pytest.raises(ValueError, match="another"):
        block._rename_var("y", doubled.name)


@pytest.mark.parametrize(
    ("recorded", "expected", "shape"),
    [
        (lambda x, n: x[:, :n], lambda x: x[:, :3], [-1, -1, 4]),
        (lambda x, n: x[..., n:], lambda x: x[..., 3:], [-1, -1, -1]),
        (lambda x, n: x[:, : paddle.shape(x)[1] - 1], lambda x: x[:, :4], [-1, -1, 4]),
        (lambda x, n: x[:, ::n], lambda x: x[:, ::3], [-1, -1, 4]),
        (lambda x, n: x[:, n::-1], lambda x: x[:, 3::-1], [-1, -1, 4]),
        (lambda x, n: x[:, :n:-1], lambda x: x[:, :3:-1], [-1, -1, 4]),
        (lambda x, n: x[0, -n:, None, 2], lambda x: x[0, -3:, None, 2], [-1, 1]),
        (lambda x, n: x[n - 2, 1:n], lambda x: x[[1], 1:3], [1, -1, 4]),
    ],
)
def test_slices_take_bounds_that_only_a_run_has(recorded, expected, shape):
    x = paddle.static.data("x", [None, None, 4])
    n = paddle.static.data("n", [1], "int64")
    out = recorded(x, n)
    assert list(out.shape) == shape
    values = np.arange(40, dtype="float32").reshape(2, 5, 4)
    feed = {"x": values, "n": np.array([3])}
    (got,) = paddle.static.Executor().run(feed=feed, fetch_list=[out])
    np.testing.assert_array_equal(got, expected(values))


def test_a_slice_with_a_late_bound_is_one_operator():
    x = paddle.static.data("x", [None, 4])
    n = paddle.static.data("n", [1], "int64")
    _ = x[:n]
    assert types(paddle.static.default_main_program()) == ["slice"]
