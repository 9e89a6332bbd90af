"""GradScaler: scaling, skipping and the life of the scale."""

import numpy as np
import pytest

import paddle


@pytest.fixture(autouse=True)
def float16_was_asked_for(amp_state):
    """Dynamic scaling turns itself off unless the last auto_cast was for float16."""
    amp_state.amp_dtype = "float16"


def setup(**settings):
    w = paddle.create_parameter(
        [2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0)
    )
    sgd = paddle.optimizer.SGD(0.25, parameters=[w])
    settings = {"init_loss_scaling": 1024.0, "incr_every_n_steps": 3, **settings}
    return w, sgd, paddle.amp.GradScaler(**settings)


def backward(scaler, w, factor=1.0):
    loss = scaler.scale((w * w).sum() * factor)
    loss.backward()
    return loss


def test_step_sees_unscaled_gradients():
    w, sgd, scaler = setup()
    loss = backward(scaler, w)
    assert loss.item() == 2048.0
    scaler.step(sgd)
    scaler.update()
    assert w.tolist() == [0.5, 0.5]
    assert w.grad.tolist() == [2.0, 2.0]


def test_minimize_unscales_updates_and_adapts():
    w, sgd, scaler = setup(incr_every_n_steps=1)
    scaled = backward(scaler, w)
    _, pairs = scaler.minimize(sgd, scaled)
    assert w.tolist() == [0.5, 0.5]
    assert [g.tolist() for _, g in pairs] == [[2.0, 2.0]]
    assert scaler.state_dict()["scale"] == [2048.0]


def test_overflow_skips_the_update_and_shrinks_the_scale(capsys):
    w, sgd, scaler = setup()
    backward(scaler, w, float("inf"))
    scaler.step(sgd)
    scaler.update()
    assert w.tolist() == [1.0, 1.0]
    assert scaler.state_dict()["scale"] == [512.0]
    assert "decrease to: 1024.0*0.5" in capsys.readouterr().out
    sgd.clear_grad()
    backward(scaler, w)
    scaler.step(sgd)
    assert w.tolist() == [0.5, 0.5]


def test_shrinks_only_after_enough_overflows_in_a_row():
    w, sgd, scaler = setup(decr_every_n_nan_or_inf=2)
    scales = []
    for factor in (np.nan, 1.0, np.nan, np.nan):
        sgd.clear_grad()
        w.set_value(np.ones(2, "float32"))
        backward(scaler, w, factor)
        scaler.step(sgd)
        scaler.update()
        scales.append(scaler.state_dict()["scale"][0])
    assert scales == [1024.0, 1024.0, 1024.0, 512.0]


def test_grows_after_enough_good_steps_in_a_row():
    w, sgd, scaler = setup()
    seen = []
    for factor in (1.0, 1.0, np.inf, 1.0, 1.0, 1.0, 1.0):
        sgd.clear_grad()
        w.set_value(np.ones(2, "float32"))
        backward(scaler, w, factor)
        scaler.step(sgd)
        scaler.update()
        state = scaler.state_dict()
        seen.append((state["scale"][0], state["incr_count"]))
    assert seen == [(1024, 1), (1024, 2), (512, 0), (512, 1), (512, 2), (1024, 0), (1024, 1)]


def test_clip_by_hand_between_unscale_and_step():
    w, sgd, scaler = setup()
    backward(scaler, w)
    scaler.unscale_(sgd)
    assert w.grad.tolist() == [2.0, 2.0]
    scaler.step(sgd)
    assert w.tolist() == [0.5, 0.5]


def test_order_of_calls_is_checked():
    w, sgd, scaler = setup()
    backward(scaler, w)
    scaler.unscale_(sgd)
    with pytest.raises(
        RuntimeError, match="already been called on this optimizer since the last update"
    ):
        scaler.unscale_(sgd)
    scaler.step(sgd)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(sgd)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step\(\)"):
        scaler.unscale_(sgd)
    scaler.update()
    scaler.unscale_(sgd)


def test_static_scale_does_not_move():
    w, sgd, scaler = setup(use_dynamic_loss_scaling=False, incr_every_n_steps=1)
    for _ in range(2):
        backward(scaler, w)
        scaler.step(sgd)
        scaler.update()
        sgd.clear_grad()
    assert scaler.state_dict()["scale"] == [1024.0]


def test_disabled_scaler_passes_through():
    w, sgd, scaler = setup(enable=False)
    assert backward(scaler, w).item() == 2.0
    scaler.step(sgd)
    scaler.update()
    assert w.tolist() == [0.5, 0.5]
    assert scaler.state_dict() == {}
    assert scaler.get_init_loss_scaling() == 1.0
    scaler.load_state_dict({})


def test_turns_itself_off_for_bfloat16(amp_state):
    w, _, scaler = setup()
    amp_state.amp_dtype = "bfloat16"
    with pytest.warns(
        UserWarning, match="not recommended to use dynamic loss scaling for bfloat16"
    ):
        assert backward(scaler, w).item() == 2.0
    assert not scaler.is_enable()


def test_state_round_trip():
    w, sgd, scaler = setup(incr_ratio=4.0)
    backward(scaler, w)
    scaler.step(sgd)
    scaler.update()
    _, _, other = setup()
    other.load_state_dict(scaler.state_dict())
    assert {k: np.asarray(v).tolist() for k, v in other.state_dict().items()} == {
        "scale": [1024.0],
        "incr_ratio": 4.0,
        "decr_ratio": 0.5,
        "incr_every_n_steps": 3,
        "decr_every_n_nan_or_inf": 1,
        "incr_count": 1,
        "decr_count": 0,
        "use_dynamic_loss_scaling": True,
    }
    with pytest.raises(RuntimeError, match="The input state dict is empty"):
        other.load_state_dict({})


def test_getters_and_setters():
    _, _, scaler = setup()
    scaler.set_incr_ratio(3.0)
    scaler.set_decr_ratio(0.25)
    scaler.set_incr_every_n_steps(7)
    scaler.set_decr_every_n_nan_or_inf(5)
    scaler.set_init_loss_scaling(64.0)
    assert scaler.get_incr_ratio() == 3.0
    assert scaler.get_decr_ratio() == 0.25
    assert scaler.get_incr_every_n_steps() == 7
    assert scaler.get_decr_every_n_nan_or_inf() == 5
    assert scaler.get_init_loss_scaling() == 64.0
    assert scaler.is_use_dynamic_loss_scaling()
    with pytest.raises(AssertionError, match=r"incr_ratio must be > 1\.0"):
        scaler.set_incr_ratio(1.0)
    with pytest.raises(AssertionError, match=r"decr_ratio must be < 1\.0"):
        paddle.amp.GradScaler(decr_ratio=1.0)


def test_row_sparse_gradients_are_unscaled():
    table = paddle.nn.Embedding(4, 2, sparse=True)
    table.weight.set_value(np.ones([4, 2], "float32"))
    sgd = paddle.optimizer.SGD(0.5, parameters=table.parameters())
    _, _, scaler = setup()
    scaler.scale(table(paddle.to_tensor([1, 3])).sum()).backward()
    scaler.step(sgd)
    assert table.weight.numpy()[:, 0].tolist() == [1.0, 0.5, 1.0, 0.5]


def test_parameter_groups_are_unscaled():
    w, _, scaler = setup()
    sgd = paddle.optimizer.SGD(0.25, parameters=[{"params": [w], "learning_rate": 2.0}])
    backward(scaler, w)
    scaler.step(sgd)
    assert w.tolist() == [0.0, 0.0]


def test_amp_scaler_has_its_own_defaults():
    scaler = paddle.amp.AmpScaler()
    assert scaler.get_init_loss_scaling() == 2.0**15
    assert scaler.get_incr_every_n_steps() == 1000
    assert paddle.amp.GradScaler().get_init_loss_scaling() == 2.0**16
