"""LBFGS: its closure, its state, what has no effect."""

import pytest

import paddle


def problem(**settings):
    w = paddle.create_parameter(
        [2], "float32", default_initializer=paddle.nn.initializer.Constant(3.0)
    )
    lbfgs = paddle.optimizer.LBFGS(parameters=[w], max_iter=2, learning_rate=0.1, **settings)

    def closure():
        lbfgs.clear_grad()
        loss = ((w - 1.0) ** 4).sum()
        loss.backward()
        return loss

    return w, lbfgs, closure


def test_step_returns_the_first_loss():
    _, lbfgs, closure = problem()
    assert lbfgs.step(closure).item() == 32.0


def test_state_round_trip():
    w, lbfgs, closure = problem()
    assert lbfgs.state_dict() == {"state": {}}
    lbfgs.step(closure)
    state, value = lbfgs.state_dict(), w.numpy()
    other, again, other_closure = problem()
    other.set_value(value)
    again.set_state_dict(state)
    lbfgs.step(closure)
    again.step(other_closure)
    assert other.tolist() == w.tolist()
    assert again.state_dict()["state"]["n_iter"] == 2


def test_decay_warns_that_it_has_no_effect():
    with pytest.warns(UserWarning, match="no effect, as in Paddle"):
        problem(weight_decay=0.1)


def test_unknown_line_search():
    with pytest.raises(
        RuntimeError, match="only 'strong_wolfe' is supported, but received 'armijo'"
    ):
        problem(line_search_fn="armijo")


def test_minimize_points_to_step():
    w, lbfgs, _ = problem()
    with pytest.raises(NotImplementedError, match=r"call step\(closure\)"):
        lbfgs.minimize((w * w).sum())
