"""Update ops: what they touch, and the powers of beta that Paddle's kernels see."""

import inspect

import numpy as np
import pytest
import torch

from argosy.ops import table
from argosy.ops.training import adam_updates, row_updates, updates

DENSE = ["sgd_", "momentum_", "lars_momentum_", "adam_", "adamw_", "adamax_", "adagrad_",
    "rmsprop_", "adadelta_", "lamb_",
         "nadam_", "radam_", "rprop_"]  # fmt: skip

SETTINGS = {
    "lr": 0.1, "mu": 0.9, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-6, "rho": 0.9,
    "lars_coeff": 0.1, "momentum": 0.5,
    "lars_weight_decay": 0.1, "momentum_decay": 0.01, "lr_min": 1e-3, "lr_max": 1.0,
    "eta_minus": 0.5, "eta_plus": 1.2,
}  # fmt: skip


def call(name, params, grads):
    """Call the op with fresh state; returns what it returned and the state."""
    state, args = {}, []
    for key in list(inspect.signature(table.get(name).fn).parameters)[2:]:
        if key in table.get(name).traits.alike:
            state[key] = [torch.full((1,), SETTINGS[key.removesuffix("_pows")]) for _ in params]
        elif key in SETTINGS:
            args.append(SETTINGS[key])
            continue
        elif key == "moment2_maxs":
            args.append([])
            continue
        elif key.endswith("s"):
            fill = (
                torch.ones_like
                if "pow" in key or "product" in key or key in ("rhos", "rates")
                else torch.zeros_like
            )
            state[key] = [fill(p) for p in params]
        else:
            break
        args.append(state[key])
    return table.get(name).fn(params, grads, *args), state


@pytest.mark.parametrize("name", DENSE)
def test_updates_in_place_and_leaves_gradients_alone(name):
    params = [torch.full((2, 3), 2.0), torch.full((4,), -1.0)]
    grads = [torch.full((2, 3), 0.5), torch.full((4,), -0.5)]
    memory = [p.data_ptr() for p in params]
    returned, state = call(name, params, grads)
    assert returned is params
    assert [p.data_ptr() for p in params] == memory
    assert (params[0] < 2.0).all()
    assert (params[1] > -1.0).all()
    assert [g.unique().tolist() for g in grads] == [[0.5], [-0.5]]
    for key in table.get(name).traits.alike:
        beta = torch.tensor(SETTINGS[key.removesuffix("_pows")])
        assert [t.item() for t in state[key]] == [(beta * beta).item()] * 2


@pytest.mark.parametrize("name", ["adam_", "adamw_", "adamax_", "lamb_"])
def test_one_tensor_may_stand_for_equal_powers(name):
    results = []
    for shared in (False, True, None):
        params = [torch.full((2, 3), 2.0), torch.full((4,), -1.0)]
        moments = [[torch.zeros_like(p) for p in params] for _ in range(2)]
        given = [*moments, []] if name.startswith("adam") and name != "adamax_" else moments
        pows = []
        for beta in table.get(name).traits.alike:
            one = torch.full((1,), SETTINGS[beta.removesuffix("_pows")])
            pows.append([one.clone(), one.clone()] if not shared else [one, one])
            pows[-1] = pows[-1] if shared is not None else [one]
        settings = [SETTINGS[k] for k in ("lr", "beta1", "beta2", "epsilon")]
        for _ in range(2):
            table.get(name).fn(
                params, [torch.ones_like(p) for p in params], *given, *pows, *settings
            )
        results.append((params, [p[-1] for p in pows]))
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], rtol=0, atol=0)


def test_parameters_with_unequal_powers_are_corrected_each_by_its_own():
    params = [torch.zeros(3), torch.zeros(3)]
    pows = [[torch.tensor([0.9]), torch.tensor([0.9**50])], [torch.tensor([0.5])] * 2]
    moments = [[torch.zeros(3), torch.zeros(3)] for _ in range(2)]
    adam_updates.adam_.fn(params, [torch.ones(3)] * 2, *moments, [], *pows, 1.0, 0.9, 0.5, 0.0)
    expected = [-1.0, -0.1 / (1 - 0.9**50)]
    torch.testing.assert_close([p[0].item() for p in params], expected, rtol=1e-5, atol=0)
    assert [t.item() for t in pows[1]] == [0.25, 0.25]


@pytest.mark.parametrize("name", DENSE)
def test_layout_of_gradients_does_not_matter(name):
    grad = torch.arange(6.0).reshape(3, 2).t()
    straight, strided = torch.ones(2, 3), torch.ones(2, 3)
    call(name, [straight], [grad.contiguous()])
    call(name, [strided], [grad])
    torch.testing.assert_close(straight, strided, rtol=0, atol=0)


def test_power_is_multiplied_up_in_float32():
    beta = updates.single(0.999)
    product = np.float32(1.0)
    for count in range(1, 600):
        product = np.float32(product * np.float32(beta))
        assert adam_updates.power(beta, float(count)) == float(product)


def test_power_of_distant_counts():
    beta = updates.single(0.999)
    near = adam_updates.power(beta, 700.0)
    far = adam_updates.power(beta, 5000.0)
    assert far < near
    assert adam_updates.power(beta, 701.0) == updates.single(near * beta)
    assert adam_updates.power(beta, 5001.0) == updates.single(far * beta)


def test_power_settles_when_it_can_shrink_no_more():
    assert 0.0 <= adam_updates.power(updates.single(0.9), 1e8) < 1e-40


def test_power_of_fractions_and_doubles():
    assert adam_updates.power(0.9, 1.5) == 0.9**1.5
    assert adam_updates.power(0.9, 3.0, torch.float64) == 0.9**3


def test_row_updates_touch_only_their_rows():
    param, moment = torch.ones(5, 2), torch.zeros(5, 2)
    rows, values = torch.tensor([3, 1]), torch.full((2, 2), 0.5)
    row_updates.adagrad_rows_.fn(param, rows, values, moment, 0.1, 1e-6)
    assert moment[:, 0].tolist() == [0.0, 0.25, 0.0, 0.25, 0.0]
    np.testing.assert_allclose(param[:, 0], [1, 0.9, 1, 0.9, 1], rtol=1e-5)


def test_split_rows_sums_repeats():
    grad = torch.sparse_coo_tensor([[4, 1, 4]], torch.ones(3, 2), (6, 2), check_invariants=True)
    rows, values = row_updates.split_rows(grad)
    assert rows.tolist() == [1, 4]
    assert values[:, 0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("num_states", [0, 1, 3])
def test_small_and_large_tensors_of_one_call_get_the_same_update(num_states):
    """With several threads small tensors go another way than large ones; the numbers stay those of
    one thread.
    """
    name, settings = {
        0: ("sgd_", {"lr": 0.1, "weight_decay": 0.01}),
        1: ("momentum_", {"lr": 0.1, "mu": 0.9, "use_nesterov": True, "weight_decay": 0.01}),
        3: (
            "adam_",
            {
                "lr": 0.1,
                "beta1": 0.9,
                "beta2": 0.999,
                "epsilon": 1e-8,
                "weight_decay": 0.01,
                "amsgrad": True,
            },
        ),
    }[num_states]

    def run(threads):
        generator = torch.Generator().manual_seed(3)
        shapes = [(10,), (40_000,), (3, 5), (50_000,)]
        params = [torch.randn(shape, generator=generator) for shape in shapes]
        state = [[torch.zeros(shape) for shape in shapes] for _ in range(num_states)]
        extra = [[torch.tensor([b])] for b in (0.9, 0.999)] if name == "adam_" else []
        torch.set_num_threads(threads)
        for _ in range(3):
            grads = [torch.randn(shape, generator=generator) for shape in shapes]
            table.get(name).fn(params, grads, *state, *extra, **settings)
        return [*params, *(t for tensors in state for t in tensors)]

    before = torch.get_num_threads()
    try:
        for ours, expected in zip(run(2), run(1), strict=True):
            torch.testing.assert_close(ours, expected, rtol=1e-6, atol=1e-6)
    finally:
        torch.set_num_threads(before)
