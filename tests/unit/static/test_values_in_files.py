"""Values of scopes and programs through ``paddle.save``, ``paddle.load`` and their relatives."""

from io import BytesIO

import numpy as np
import pytest

import paddle
from argosy.fluid import core
from argosy.framework import io as framework_io
from argosy.framework.io_utils import _open_file_buffer, get_value, is_pir_fetch_var, set_value

# written by Paddle 2.6.2
ROWS = bytes.fromhex(
    "0000000003000000000000000000000000000000040000000000000007000000000000000a000000"
    "000000000000000006000000080510031002000000000000803f0000004000004040000080400000"
    "a040"
)
SEQUENCES = bytes.fromhex(
    "00000000010000000000000018000000000000000000000000000000010000000000000003000000"
    "00000000000000000600000008031003100100000000000000000100000000000000020000000000"
    "0000"
)


def make_rows():
    rows = core.SelectedRows([0, 4, 7], 10)
    rows.get_tensor().set(np.arange(6, dtype="float32").reshape(3, 2), paddle.CPUPlace())
    return rows


def make_sequences():
    tensor = core.LoDTensor()
    tensor.set(np.arange(3).reshape(3, 1), paddle.CPUPlace())
    tensor.set_lod([[0, 1, 3]])
    return tensor


def make_program():
    """A program that trains, run once in a scope of its own."""
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        x = paddle.static.data("x", [None, 3])
        loss = paddle.mean(paddle.static.nn.fc(x, 2))
        paddle.optimizer.Adam().minimize(loss)
    exe = paddle.static.Executor()
    exe.run(startup, scope=scope)
    exe.run(main, {"x": np.ones((2, 3), "float32")}, scope=scope)
    return main, scope


@pytest.mark.parametrize(("make", "written"), [(make_rows, ROWS), (make_sequences, SEQUENCES)])
def test_the_bytes_are_paddles(make, written):
    file = BytesIO()
    paddle.save(make(), file, use_binary_format=True)
    assert file.getvalue() == written


def test_rows_and_sequences_come_back(tmp_path):
    rows = paddle.load(BytesIO(ROWS))
    assert (rows.rows(), rows.height()) == ([0, 4, 7], 10)
    assert np.array(rows.get_tensor()).tolist() == [[0, 1], [2, 3], [4, 5]]
    tensor = paddle.load(BytesIO(SEQUENCES))
    assert (type(tensor), tensor.lod(), tensor.shape()) == (core.LoDTensor, [[0, 1, 3]], [3, 1])
    core.save_lod_tensor(make_sequences(), str(tmp_path / "t"))
    core.save_selected_rows(make_rows(), str(tmp_path / "r"))
    other, others = core.LoDTensor(), core.SelectedRows()
    core.load_lod_tensor(other, str(tmp_path / "t"))
    core.load_selected_rows(others, str(tmp_path / "r"))
    assert (other.lod(), others.rows(), others.height()) == ([[0, 1, 3]], [0, 4, 7], 10)


def test_damaged_rows_are_refused():
    for damaged in (ROWS[:20], ROWS[:-1], b"\0" * 4 + b"\xff" * 40):
        with pytest.raises(ValueError, match=r"paddle\.load"):
            paddle.load(BytesIO(damaged))


def test_wrong_values_and_names_are_refused(tmp_path):
    for empty in (core.LoDTensor(), core.SelectedRows([1], 4)):
        with pytest.raises(ValueError, match="holds no values"):
            paddle.save(empty, str(tmp_path / "a"), use_binary_format=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotImplementedError, match="saves one Tensor"):
        paddle.save({}, str(tmp_path / "a"), use_binary_format=True)
    for save in (core.save_lod_tensor, core.save_selected_rows):
        with pytest.raises(RuntimeError, match="no folder"):
            save(make_rows(), str(tmp_path / "no" / "a"))
    for load, made in (
        (core.load_lod_tensor, make_sequences()),
        (core.load_selected_rows, make_rows()),
    ):
        with pytest.raises(RuntimeError, match="no file"):
            load(made, str(tmp_path / "no"))
    with pytest.raises(NotImplementedError, match="path or a BytesIO"):
        framework_io._save_lod_tensor(make_sequences(), 1)
    with pytest.raises(NotImplementedError, match="path or a BytesIO"):
        framework_io._load_selected_rows(1)
    with pytest.raises(ValueError, match="mode"):
        _open_file_buffer("temp", "b")


def test_a_tensor_in_a_pickle_is_what_the_mode_uses(tmp_path):
    path = str(tmp_path / "w")
    paddle.disable_static()
    try:
        paddle.save([paddle.ones([2]), 3], path)
        assert isinstance(paddle.load(path)[0], paddle.Tensor)
    finally:
        paddle.enable_static()
    loaded = paddle.load(path)
    assert (type(loaded[0]), loaded[1]) == (core.LoDTensor, 3)
    paddle.save({"a": loaded[0]}, path, protocol=2)
    assert paddle.load(path, return_numpy=True)["a"].tolist() == [1, 1]


def test_a_program_comes_back():
    main, _ = make_program()
    file = BytesIO()
    paddle.save(main, file)
    file.seek(0)
    assert paddle.load(file).desc.serialize_to_string() == main.desc.serialize_to_string()


def test_the_state_of_a_program():
    main, scope = make_program()
    params, others = main.state_dict("param", scope), main.state_dict("opt", scope)
    assert set(params) == {"fc_0.w_0", "fc_0.b_0"}
    assert "learning_rate_0" in others
    assert set(main.state_dict(scope=scope)) == set(params) | set(others)
    kept = {name: np.array(value) for name, value in {**params, **others}.items()}
    scope.find_var("fc_0.w_0").get_tensor().set(np.zeros((3, 2), "float32"))
    main.set_state_dict(kept, scope)
    assert np.array(scope.find_var("fc_0.w_0").get_tensor()).tolist() == kept["fc_0.w_0"].tolist()
    with pytest.warns(UserWarning, match="'unknown' is not set"):
        main.set_state_dict({"unknown": np.zeros(1)}, scope)
    with pytest.warns(UserWarning, match="'fc_0.w_0' is not set"):
        main.set_state_dict({"fc_0.w_0": np.zeros(1)}, scope)
    for wrong in ({"mode": 1}, {"scope": 1}):
        with pytest.raises(TypeError, match="must be"):
            main.state_dict(**wrong)
    with pytest.raises(ValueError, match="'param', 'opt' or 'all'"):
        main.state_dict("x")
    with pytest.raises(TypeError, match="expected a dict"):
        main.set_state_dict(1)


def test_values_of_variables_are_asked_of_a_scope():
    main, scope = make_program()
    w = main.global_block().var("fc_0.w_0")
    set_value(w, np.ones((3, 2), "float32"), scope)
    assert np.array(get_value(w, scope)).sum() == 6
    assert not is_pir_fetch_var(w)
    with pytest.raises(TypeError, match="must be a Scope"):
        get_value(w, "scope")
    with pytest.raises(TypeError, match="an array or a tensor"):
        set_value(w, "1", scope)
    with pytest.raises(ValueError, match="holds no value"):
        main.global_block().var("x").get_value(scope)


def test_a_declared_shape_that_the_file_has_not_is_refused(tmp_path):
    main, scope = make_program()
    exe = paddle.static.Executor()
    with paddle.static.scope_guard(scope):
        paddle.static.io.save_vars(exe, str(tmp_path), main, main.all_parameters())
        some = [main.global_block().var("fc_0.b_0")]
        scope.find_var("fc_0.w_0").get_tensor().set(np.zeros((3, 2), "float32"))
        paddle.static.load(main, str(tmp_path), exe, some)
        assert not np.array(scope.find_var("fc_0.w_0").get_tensor()).any()
        main.global_block().var("fc_0.w_0").desc.set_shape([13, 12])
        with pytest.raises(RuntimeError, match="has shape"):
            paddle.static.load(main, str(tmp_path), exe)
        with pytest.raises(TypeError, match="must hold variables"):
            paddle.static.load_program_state(str(tmp_path), ["fc_0.b_0"])


def test_the_protocol_of_static_save(tmp_path):
    main, scope = make_program()
    with paddle.static.scope_guard(scope):
        with pytest.raises(ValueError, match="2, 3 or 4"):
            paddle.static.save(main, str(tmp_path / "m"), 2.0)
        with pytest.warns(DeprecationWarning, match="pickle_protocol"):
            paddle.static.save(main, str(tmp_path / "m"), pickle_protocol=2)
        assert (tmp_path / "m.pdparams").read_bytes()[:2] == b"\x80\x02"


def test_the_shape_of_a_variable_equals_lists_and_tuples():
    with paddle.static.program_guard(paddle.static.Program()):
        shape = paddle.static.data("x", [None, 3]).shape
    assert shape == [-1, 3] == shape
    assert shape == (-1, 3) == shape
    assert shape != (1, 3)
    assert shape != 3


def test_a_feed_that_nothing_needs_and_a_model_without_variables(tmp_path):
    with paddle.static.program_guard(paddle.static.Program()):
        x, y = paddle.static.data("x", [2]), paddle.static.data("y", [2])
        exe, path = paddle.static.Executor(), str(tmp_path / "m")
        with pytest.raises(ValueError, match="'y', which is not involved in the target_vars"):
            paddle.static.save_inference_model(path, [x, y], [x + 1], exe)
        with pytest.warns(UserWarning, match="no variable in your model"):
            paddle.static.save_inference_model(path, [x], [x + 1], exe)


def test_the_first_extent_of_sequences_may_be_their_number():
    with paddle.static.program_guard(paddle.static.Program()):
        out = paddle.static.data("x", [2, 1], "int64") + 1
        exe = paddle.static.Executor()
        assert exe.run(feed={"x": make_sequences()}, fetch_list=[out])[0].tolist() == [
            [1],
            [2],
            [3],
        ]
        with pytest.raises(ValueError, match="The fed Variable 'x' should have"):
            exe.run(feed={"x": np.zeros((3, 1), "int64")}, fetch_list=[out])
