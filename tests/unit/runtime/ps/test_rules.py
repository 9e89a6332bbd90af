"""Each compiled rule against a plain NumPy one in double precision."""

import numpy as np
import pytest

from argosy.runtime.ps.tables.rules import Rule


def sgd(w, s, g, shows, lr, t):
    return w - lr * g, s


def momentum(w, s, g, shows, lr, t):
    v = 0.9 * s + g
    return w - lr * v, v


def nesterov(w, s, g, shows, lr, t):
    v = 0.9 * s + g
    return w - lr * (g + 0.9 * v), v


def adagrad(w, s, g, shows, lr, t):
    total = s + g * g
    return w - lr * g / (np.sqrt(total) + 1e-6), total


def table_adagrad(w, s, g, shows, lr, t):
    g = g / shows[:, None]
    return w - lr * g * np.sqrt(3.0 / (3.0 + s)), s + (g * g).mean(1, keepdims=True)


def table_std_adagrad(w, s, g, shows, lr, t):
    g = g / shows[:, None]
    return w - lr * g * np.sqrt(3.0 / (3.0 + s)), s + g * g


def table_adagrad_v2(w, s, g, shows, lr, t):
    g = g / shows[:, None]
    total = s + (g * g).mean(1, keepdims=True)
    return w - lr * g / (np.sqrt(total) + 1e-8), total


def table_shared_adam(w, s, g, shows, lr, t):
    m = 0.9 * s[:, :1] + 0.1 * g
    v = 0.999 * s[:, 1:2] + 0.001 * g * g
    rate = lr * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    state = np.stack([m.mean(1), v.mean(1), np.full(len(w), t)], 1)
    return w - rate * m / (np.sqrt(v) + 1e-8), state


def adam(w, s, g, shows, lr, t):
    dim = w.shape[1]
    m = 0.9 * s[:, :dim] + 0.1 * g
    v = 0.999 * s[:, dim : 2 * dim] + 0.001 * g * g
    rate = lr * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    state = np.concatenate([m, v, np.full((len(w), 1), t)], 1)
    return w - rate * m / (np.sqrt(v) + 1e-8 * np.sqrt(1 - 0.999**t)), state


def adamw(w, s, g, shows, lr, t):
    return adam(w * (1 - lr * 0.02), s, g, shows, lr, t)


CASES = [
    (Rule("sgd"), sgd),
    (Rule("momentum"), momentum),
    (Rule("momentum", settings={"use_nesterov": 1.0}), nesterov),
    (Rule("adagrad"), adagrad),
    (Rule("table_adagrad"), table_adagrad),
    (Rule("table_std_adagrad"), table_std_adagrad),
    (Rule("table_adagrad_v2"), table_adagrad_v2),
    (Rule("table_shared_adam"), table_shared_adam),
    (Rule("adam"), adam),
    (Rule("adam", settings={"decoupled_decay": 0.02}), adamw),
]


@pytest.mark.parametrize(
    ("rule", "plain"), CASES, ids=[f"{i}-{r.name}" for i, (r, _) in enumerate(CASES)]
)
def test_five_steps(rule, plain):
    rng = np.random.default_rng(1)
    dim, rows = 5, np.array([7, 2, 9], np.int32)
    memory = np.zeros((10, rule.row_width(dim)), np.float32)
    memory[:, :dim] = rng.normal(size=(10, dim))
    before = memory.copy()
    w, s = (memory[rows, :dim].astype(np.float64), memory[rows, dim:].astype(np.float64))
    for t in range(1, 6):
        g = rng.normal(size=(3, dim)).astype(np.float32)
        shows = np.array([1, 2, 4], np.float32)
        rule.update(memory, rows, g, shows, learning_rate=0.05)
        w, s = plain(w, s, g.astype(np.float64), shows, 0.05, t)
    np.testing.assert_allclose(memory[rows, :dim], w, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(memory[rows, dim:], s, rtol=2e-5, atol=1e-6)
    others = np.setdiff1d(np.arange(10), rows)
    assert (memory[others] == before[others]).all()


def test_rows_of_one_push_may_be_in_different_steps():
    """Also in steps that share a place among those that Adam keeps the corrections of."""
    rule, dim, steps = Rule("adam"), 3, np.array([0, 4, 260, 4, 516])
    rng = np.random.default_rng(2)
    memory = rng.random(size=(5, rule.row_width(dim))).astype(np.float32)
    memory[:, -1] = steps
    g, shows = rng.normal(size=(5, dim)).astype(np.float32), np.ones(5, np.float32)
    expected = []
    for row, grad, step in zip(memory.astype(np.float64), g, steps, strict=True):
        w, s = row[None, :dim], row[None, dim:]
        expected.append(adam(w, s, grad[None].astype(np.float64), None, 0.05, step + 1)[0][0])
    rule.update(memory, np.arange(5, dtype=np.int32), g, shows, 0.05)
    np.testing.assert_allclose(memory[:, :dim], expected, rtol=2e-5, atol=1e-6)
    assert memory[:, -1].tolist() == (steps + 1).tolist()


def test_decay_and_bounds():
    memory = np.array([[1.0, -1.0], [1.0, -1.0]], np.float32)
    rule = Rule("sgd", weight_decay=0.5, bounds=(-0.9, 0.4))
    rule.update(
        memory,
        np.array([1], np.int32),
        np.array([[0.5, 0.0]], np.float32),
        np.ones(1, np.float32),
        1.0,
    )
    np.testing.assert_allclose(memory, [[1.0, -1.0], [0.0, -0.5]])
    rule.update(
        memory,
        np.array([1], np.int32),
        np.array([[-9.0, 9.0]], np.float32),
        np.ones(1, np.float32),
        1.0,
    )
    np.testing.assert_allclose(memory[1], [0.4, -0.9])
    clipped = Rule("sgd", clip=(-0.1, 0.2))
    clipped.update(
        memory,
        np.array([0], np.int32),
        np.array([[-9.0, 9.0]], np.float32),
        np.ones(1, np.float32),
        1.0,
    )
    np.testing.assert_allclose(memory[0], [1.1, -1.2])
