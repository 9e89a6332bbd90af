"""Schedulers: what curves cannot show."""

import pytest

import paddle

lr = paddle.optimizer.lr


def test_verbose_prints_every_step(capsys):
    scheduler = lr.StepDecay(0.5, 1, verbose=True)
    scheduler.step()
    assert capsys.readouterr().out.splitlines() == [
        "Epoch 0: StepDecay set learning rate to 0.5.",
        "Epoch 1: StepDecay set learning rate to 0.05.",
    ]


def test_unused_state_warns():
    with pytest.warns(UserWarning, match=r"unused values in state_dict: \['best'\]"):
        lr.StepDecay(0.5, 1).set_state_dict({"last_epoch": 1, "last_lr": 0.5, "best": 3})


def test_missing_state_is_named():
    with pytest.raises(
        RuntimeError, match=r"Can't find \[ last_epoch \] in state_dict; it has \['last_lr'\]"
    ):
        lr.StepDecay(0.5, 1).set_state_dict({"last_lr": 0.5})


def test_warmup_restores_the_scheduler_inside():
    def make():
        return lr.LinearWarmup(lr.StepDecay(0.5, 2), 3, 0.0, 0.5)

    first, second = make(), make()
    for _ in range(7):
        first.step()
    second.set_state_dict(first.state_dict())
    assert second.learning_rate.last_epoch == first.learning_rate.last_epoch
    assert second() == first()


def test_warm_restarts_take_fractions():
    scheduler = lr.CosineAnnealingWarmRestarts(1.0, T_0=4)
    scheduler.step(2.0)
    assert scheduler() == pytest.approx(0.5)
    scheduler.step(6.5)
    assert scheduler.last_epoch == 6
    assert scheduler.T_cur == 2.5


def test_messages_name_scheduler_and_value():
    with pytest.raises(
        AssertionError, match=r"ExponentialDecay: gamma must be in \(0.0, 1.0\), but received 2"
    ):
        lr.ExponentialDecay(0.1, gamma=2)
    with pytest.raises(TypeError, match=r"StepDecay: step_size must be int, but received 1\.5"):
        lr.StepDecay(0.1, 1.5)


def test_tensor_in_state_becomes_a_number():
    scheduler = lr.ReduceOnPlateau(0.5)
    scheduler.step(paddle.to_tensor([0.25]))
    assert scheduler.state_dict()["best"] == 0.25
