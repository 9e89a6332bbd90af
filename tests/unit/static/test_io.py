"""Files of programs and of what a scope holds for them."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import CheckpointError, NotSupported
from argosy.static.files import programs

X = np.random.RandomState(0).randn(4, 6).astype("float32")
Y = np.array([[0], [1], [2], [1]])


def build():
    x = paddle.static.data("x", [None, 6])
    y = paddle.static.data("y", [None, 1], "int64")
    hidden = paddle.static.nn.batch_norm(paddle.static.nn.fc(x, 5), act="relu")
    hidden = paddle.nn.functional.dropout(hidden, 0.5)[:, 1:] * paddle.to_tensor(
        [1.0, 2.0, 3.0, 4.0]
    )
    scores = paddle.static.nn.fc(hidden, 3, activation="softmax")
    loss = paddle.nn.functional.cross_entropy(scores, y, use_softmax=False)
    paddle.optimizer.Adam(0.05, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)).minimize(loss)
    return scores, loss


@pytest.fixture
def exe():
    return paddle.static.Executor()


def test_training_goes_on_where_it_was_saved(exe, tmp_path):
    prefix = str(tmp_path / "folder" / "model")
    _, loss = build()
    main = paddle.static.default_main_program()
    main.random_seed = 5  # dropout
    exe.run(paddle.static.default_startup_program())

    def step():
        return float(exe.run(main, feed={"x": X, "y": Y}, fetch_list=[loss])[0])

    step()
    paddle.static.save(main, prefix)
    expected = [step() for _ in range(3)]
    with paddle.static.scope_guard(paddle.static.Scope()):
        paddle.static.load(main, prefix)
        assert [step() for _ in range(3)] == expected
    state = paddle.static.load_program_state(prefix)
    assert {"fc_0.w_0", "batch_norm_0.w_1", "fc_0.w_0_beta1_pow_acc_0", "learning_rate_0"} <= set(
        state
    )
    assert state["fc_0.w_0_beta1_pow_acc_0"] == np.float32(0.9) * np.float32(0.9)
    paddle.static.set_program_state(main, {"fc_0.b_0": np.full(5, 7.0, "float32")})
    assert (
        np.array(paddle.static.global_scope().find_var("fc_0.b_0").get_tensor()).tolist()
        == [7.0] * 5
    )


def test_a_program_survives_its_file(exe):
    _, loss = build()
    main = paddle.static.default_main_program()
    main.random_seed = 5
    exe.run(paddle.static.default_startup_program())
    again, extra = programs.loads(programs.dumps(main, {"note": 1}), "bytes")
    assert extra == {"note": 1}
    assert str(again) == str(main)
    again.verify()
    values = {
        v: np.array(paddle.static.global_scope().find_var(v).get_tensor())
        for v in ("fc_0.w_0", "fc_1.w_0")
    }
    first = exe.run(main, feed={"x": X, "y": Y}, fetch_list=[loss.name])
    exe.run(paddle.static.default_startup_program())
    for name, value in values.items():
        paddle.static.global_scope().find_var(name).get_tensor().set(value)
    np.testing.assert_array_equal(
        exe.run(again, feed={"x": X, "y": Y}, fetch_list=[loss.name])[0], first[0]
    )


def test_an_inference_model_is_pruned_and_in_test_mode(exe, tmp_path):
    prefix = str(tmp_path / "model")
    scores, _ = build()
    main = paddle.static.default_main_program()
    exe.run(paddle.static.default_startup_program())
    exe.run(main, feed={"x": X, "y": Y})
    [expected] = exe.run(main.clone(for_test=True), feed={"x": X, "y": Y}, fetch_list=[scores.name])
    paddle.static.save_inference_model(prefix, [main.global_block().var("x")], [scores], exe)
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, feeds, fetches = paddle.static.load_inference_model(prefix, exe)
        assert feeds == ["x"]
        assert "y" not in program.global_block().vars
        assert "fc_0.w_0_moment1_0" not in program.global_block().vars
        np.testing.assert_array_equal(
            exe.run(program, feed={"x": X}, fetch_list=fetches)[0], expected
        )


def test_wrong_files(exe, tmp_path):
    prefix = str(tmp_path / "model")
    scores, loss = build()
    main = paddle.static.default_main_program()
    exe.run(paddle.static.default_startup_program())
    with (
        pytest.warns(UserWarning, match="own format, which Paddle does not read.*'cross_entropy'"),
        pytest.warns(UserWarning, match=r"depend on \['y'\], which are not among feed_vars"),
    ):
        paddle.static.save_inference_model(
            str(tmp_path / "needs_y"), [main.global_block().var("x")], [loss], exe
        )
    with pytest.raises(CheckpointError, match="no file"):
        paddle.static.load(main, prefix)
    paddle.static.save_inference_model(prefix, [main.global_block().var("x")], [scores], exe)
    path = tmp_path / "model.pdmodel"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CheckpointError, match="damaged or cut short"):
        paddle.static.load_inference_model(prefix, exe)
    path.write_bytes(b"\x0a\x05protobuf")
    with pytest.raises(CheckpointError, match="is damaged or cut short"):
        paddle.static.load_inference_model(prefix, exe)
    np.savez(tmp_path / "other.npz", a=1)
    paddle.static.save(main, prefix)
    paddle.static.default_main_program().global_block().create_var("fresh", [2], persistable=True)
    with pytest.raises(CheckpointError, match="no value for 'fresh'"):
        paddle.static.load(main, prefix)


def test_attributes_without_a_form_are_refused():
    x = paddle.static.data("x", [2])
    paddle.nn.functional.relu(x)
    main = paddle.static.default_main_program()
    main.global_block().ops[0].kwargs["odd"] = object()
    with pytest.raises(NotSupported, match=r"operator 0 'relu'.*an attribute of type object"):
        programs.dumps(main)


@pytest.mark.attack("a pickle of something else for static.load")
@pytest.mark.parametrize("content", [[1], {"w": 1}, {1: np.ones(2)}, {"w": np.array(["a"])}])
def test_files_that_hold_no_arrays_by_name(tmp_path, content):
    prefix = str(tmp_path / "m")
    paddle.save(content, prefix + ".pdparams")
    for load in (
        paddle.static.load_program_state,
        lambda path: paddle.static.load(paddle.static.Program(), path),
    ):
        with pytest.raises(CheckpointError, match=r"m\.pdparams' holds"):
            load(prefix)
