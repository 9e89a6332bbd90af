"""The switches of DistributedStrategy between real processes: n ranks equal one process where the
mathematics says so.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
from argosy.optimizer.lars import LarsMomentumOptimizer
from argosy.runtime.parallel.power_sgd import is_worth_it
from multiprocess import fleet_stage_workers as workers
from support.job import run_job

HERE = "multiprocess.fleet_stage_workers"
KINDS = ["layer", "torch"]
ORDERS = ["model", "optimizer", "late"]


def check(results, expected, rtol=1e-12, atol=1e-14):
    for result in results:
        for mine, whole in zip(result["steps"], expected, strict=True):
            for a, b in zip(mine, whole, strict=True):
                np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("stage", [1, 2])
def test_sharding(pool, kind, order, stage):
    switches = {"sharding": True, "sharding_configs": {"stage": stage}}
    results = run_job(
        pool, f"{HERE}:trained", 2, kind=kind, switches=switches, optimizer="Adam", order=order
    )
    check(results, workers.alone(kind, "Adam"), rtol=1e-10)
    assert [r["notes"] for r in results] == [[], []]
    parts = [r["entries"] for r in results]
    total = 2 * sum(w.size for w in workers.weights(8))
    assert total <= sum(parts) < total + 40  # a moment each, and some counters
    assert max(parts) < 0.8 * total
    assert all(r["is_torch"] for r in results) == (kind == "torch")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("switches", [
    {"sharding": True, "sharding_configs": {"stage": 2, "sharding_degree": 2}},
    {"hybrid_configs": {"dp_degree": 2, "sharding_degree": 2}},
])  # fmt: skip
def test_sharding_beside_data_parallelism(pool, kind, switches):
    results = run_job(pool, f"{HERE}:trained", 4, kind=kind, switches=switches, optimizer="Adam")
    check(results, workers.alone(kind, "Adam"), rtol=1e-10)
    parts = [r["entries"] for r in results]
    assert parts[:2] == parts[2:]


def test_full_sharding(pool):
    switches = {"sharding": True, "sharding_configs": {"stage": 3}}
    for order in ORDERS:
        results = run_job(
            pool,
            f"{HERE}:trained",
            2,
            kind="torch",
            switches=switches,
            optimizer="Adam",
            order=order,
            dtype="float32",
        )
        check(results, workers.alone("torch", "Adam", dtype="float32"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_merge_with_sharding(pool, kind):
    switches = {
        "sharding": True, "sharding_configs": {"stage": 2},
        "gradient_merge": True, "gradient_merge_configs": {"k_steps": 2, "avg": True},
    }  # fmt: skip
    results = run_job(pool, f"{HERE}:trained", 2, kind=kind, switches=switches)
    plain = run_job(
        pool,
        f"{HERE}:trained",
        2,
        kind=kind,
        switches={k: v for k, v in switches.items() if "merge" in k},
    )
    check(results, plain[0]["steps"])
    first, second = plain[0]["steps"][0][0], plain[0]["steps"][1][0]
    np.testing.assert_array_equal(first, values_at_start()[0])
    assert (first != second).all()


def values_at_start():
    return workers.values(workers.layer())


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_merge_is_the_mean_of_its_batches(pool, kind):
    """One step of SGD on the mean gradient of two batches, twice."""
    switches = {"gradient_merge": True, "gradient_merge_configs": {"k_steps": 2, "avg": True}}
    results = run_job(pool, f"{HERE}:trained", 2, kind=kind, switches=switches, order="optimizer")
    model = workers.layer()
    rule = workers.optimizer_of(model, "SGD", 0.1)
    for pair in workers.batches().reshape(2, 2 * workers.ROWS, workers.WIDTH):
        workers.loss_of(model, pair, "float64").backward()
        rule.step()
        rule.clear_grad()
    for result in results:
        for a, b in zip(result["steps"][-1], workers.values(model), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", ["sum", "customized"])
def test_gradient_scale(pool, kind, scale):
    switches = {"gradient_scale_configs": {"scale_strategy": scale}}
    results = run_job(pool, f"{HERE}:trained", 3, kind=kind, switches=switches)
    check(results, workers.alone(kind, scale=3.0))


@pytest.mark.parametrize("kind", KINDS)
def test_every_gradient_alone(pool, kind):
    switches = {"fuse_all_reduce_ops": False}
    results = run_job(pool, f"{HERE}:trained", 2, kind=kind, switches=switches)
    together = run_job(pool, f"{HERE}:trained", 2, kind=kind, switches={})
    check(results, workers.alone(kind))
    assert results[0]["calls"]["bucket"] == 6 * workers.STEPS
    assert together[0]["calls"]["bucket"] < 6 * workers.STEPS


@pytest.mark.parametrize("kind", KINDS)
def test_batch_norm_over_all_ranks(pool, kind):
    results = run_job(
        pool, f"{HERE}:trained", 2, kind=kind, switches={"sync_batch_norm": True}, norm=True
    )
    check(results, workers.alone(kind, norm=True), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ORDERS)
def test_recompute(pool, kind, order):
    switches = {
        "recompute": True,
        "recompute_configs": {"checkpoints": ["0", "2"]},
        "find_unused_parameters": True,
    }
    results = run_job(pool, f"{HERE}:trained", 2, kind=kind, switches=switches, order=order)
    check(results, workers.alone(kind))
    assert "recompute" in results[0]["stages"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["loss", "minimize"])
def test_adaptive_localsgd(pool, kind, how):
    if kind == "torch" and how == "minimize":
        pytest.skip("optimizers of torch have no minimize")
    switches = {
        "adaptive_localsgd": True,
        "adaptive_localsgd_configs": {"init_k_steps": 1, "begin_step": 4},
    }
    results = run_job(pool, f"{HERE}:trained", 2, kind=kind, switches=switches, how=how)
    check(results, workers.alone(kind))  # up to begin_step ranks meet after every step


@pytest.mark.parametrize("kind", KINDS)
def test_adaptive_localsgd_goes_alone_for_longer(pool, kind):
    switches = {
        "adaptive_localsgd": True,
        "adaptive_localsgd_configs": {"init_k_steps": 2, "begin_step": 1},
    }
    first, second = run_job(pool, f"{HERE}:trained", 2, kind=kind, switches=switches, how="loss")
    is_together = [
        np.array_equal(a[0], b[0]) for a, b in zip(first["steps"], second["steps"], strict=True)
    ]
    assert is_together[:3] == [True, False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_adaptive_localsgd_needs_the_loss(pool, kind):
    switches = {"adaptive_localsgd": True}
    with pytest.raises(AssertionError, match=r"call minimize\(loss\) or step\(loss=loss\)"):
        run_job(pool, f"{HERE}:trained", 2, kind=kind, switches=switches)


@pytest.mark.parametrize("kind", KINDS)
def test_localsgd(pool, kind):
    switches = {"localsgd": True, "localsgd_configs": {"k_steps": 1}}
    check(run_job(pool, f"{HERE}:trained", 2, kind=kind, switches=switches), workers.alone(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_dgc_that_sends_everything_starts_as_sgd(pool, kind):
    """With a sparsity of 0 nothing stays behind, and masking clears the momentum that Momentum
    would keep: so it is SGD.
    """
    switches = {"dgc": True, "dgc_configs": {"rampup_begin_step": 0, "sparsity": [0.0]}}
    results = run_job(
        pool,
        f"{HERE}:trained",
        2,
        kind=kind,
        switches=switches,
        optimizer="Momentum",
        width=128,
        lr=0.01,
    )
    found = results[0]["steps"]
    plain = workers.alone(kind, "SGD", lr=0.01, width=128)
    large = 2  # the 128 x 128 matrix is the only tensor that is compressed
    np.testing.assert_allclose(found[0][large], plain[0][large], rtol=1e-12)
    momentum = workers.alone(kind, "Momentum", lr=0.01, width=128)
    np.testing.assert_allclose(found[1][0], momentum[1][0], rtol=1e-12)


class Compression:
    """Deep gradient compression of the ranks' gradients, as the paper has it."""

    def __init__(self, momentum, begin, sparsity, min_numel=16384):
        self.momentum, self.begin, self.sparsity, self.min_numel = (
            momentum,
            begin,
            sparsity,
            min_numel,
        )
        self.u, self.v = {}, {}

    def direction(self, step, number, grads):
        if step < self.begin or grads[0].size < self.min_numel:
            mean = np.mean(grads, axis=0)
            for rank in range(len(grads)):
                self.u[rank, number] = self.momentum * self.u.get((rank, number), 0.0) + mean
            return self.u[0, number]
        behind = self.sparsity[min(step - self.begin, len(self.sparsity) - 1)]
        return np.mean(
            [self.sent((rank, number), grad, behind) for rank, grad in enumerate(grads)], axis=0
        )

    def sent(self, key, grad, behind):
        u = self.momentum * self.u.get(key, 0.0) + grad
        v = self.v.get(key, 0.0) + u  # momentum correction: what waits is a velocity
        least = np.sort(np.abs(v).ravel())[-round(v.size * (1 - behind))]
        is_sent = np.abs(v) >= least
        # factor masking
        self.u[key], self.v[key] = np.where(is_sent, 0.0, u), np.where(is_sent, 0.0, v)
        return np.where(is_sent, v, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_dgc_over_steps(pool, kind):
    """A step of Momentum, then a ramp of two: what was held back comes later, and momentum stops
    where something was sent.
    """
    configs = {"rampup_begin_step": 1, "rampup_step": 2, "sparsity": [0.75, 0.99]}
    args = {"kind": kind, "lr": 0.01, "width": 128}
    switches = {"dgc": True, "dgc_configs": configs}
    results = run_job(pool, f"{HERE}:trained", 2, switches=switches, optimizer="Momentum", **args)
    compression = Compression(0.9, 1, configs["sparsity"])
    check(
        results,
        workers.simulated(direction=compression.direction, world_size=2, **args),
        rtol=1e-9,
        atol=1e-11,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_dgc_sends_less(pool, kind):
    switches = {"dgc": True, "dgc_configs": {"rampup_begin_step": 0, "sparsity": [0.99]}}
    args = {"kind": kind, "optimizer": "Momentum", "width": 256, "dtype": "float32", "lr": 0.01}
    results = run_job(pool, f"{HERE}:trained", 2, switches=switches, **args)
    dense = run_job(pool, f"{HERE}:trained", 2, switches={}, **args)
    assert sum(results[0]["bytes"].values()) < 0.1 * sum(dense[0]["bytes"].values())
    check(results[:1], results[1]["steps"])  # ranks stay together
    moved = results[0]["steps"][0][2] != workers.values(workers.layer(256, "float32"))[2]
    assert 0.009 < moved.mean() < 0.021  # a hundredth of the entries, of either rank


@pytest.mark.parametrize("kind", KINDS)
def test_dgc_of_another_optimizer_is_plain_averaging(pool, kind):
    """The model was made when dgc was still possible; the optimizer then rules it out."""
    results = run_job(
        pool, f"{HERE}:trained", 2, kind=kind, switches={"dgc": True}, optimizer="Adam"
    )
    assert results[0]["notes"] == ["dgc"]
    check(results, workers.alone(kind, "Adam"), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_half_gradients_halve_the_bytes(pool, kind):
    args = {"kind": kind, "width": 64, "dtype": "float32", "lr": 0.01}
    half = run_job(
        pool, f"{HERE}:trained", 2, switches={"fp16_allreduce": True}, order="late", **args
    )
    full = run_job(pool, f"{HERE}:trained", 2, switches={}, **args)
    assert sum(half[0]["bytes"].values()) == pytest.approx(
        0.5 * sum(full[0]["bytes"].values()), rel=0.01
    )


class Factors:
    """PowerSGD of the ranks' gradients, as the paper has it."""

    def __init__(self, rank, begin):
        self.rank, self.begin, self.q, self.left = rank, begin, {}, {}

    def direction(self, step, number, grads):
        if step < self.begin or not is_worth_it(grads[0].shape, self.rank):
            return np.mean(grads, axis=0)
        matrices = [grad + self.left.get((r, number), 0.0) for r, grad in enumerate(grads)]
        if number not in self.q:
            draw = torch.Generator().manual_seed(1 + number)
            shape = (grads[0].shape[1], self.rank)
            self.q[number] = torch.randn(shape, generator=draw, dtype=torch.float64).numpy()
        p = np.linalg.qr(np.mean([m @ self.q[number] for m in matrices], axis=0))[0]
        self.q[number] = np.mean([m.T @ p for m in matrices], axis=0)
        near = p @ self.q[number].T
        self.left |= {(r, number): m - near for r, m in enumerate(matrices)}
        return near


@pytest.mark.parametrize("kind", KINDS)
def test_powersgd(pool, kind):
    """A step with whole gradients, then approximations of rank 2."""
    args = {"kind": kind, "lr": 0.1, "width": 32}
    switches = {"powersgd": True, "powersgd_configs": {"rank": 2, "begin_step": 1}}
    for order in ("model", "optimizer"):
        found = run_job(pool, f"{HERE}:trained", 2, switches=switches, order=order, **args)
        factors = Factors(2, 1)
        wanted = workers.simulated(direction=factors.direction, world_size=2, **args)
        check(found, wanted, rtol=1e-8, atol=1e-10)
        assert len(factors.q) == 2  # of the two larger matrices
    full = run_job(pool, f"{HERE}:trained", 2, switches={}, **args)
    assert sum(found[0]["bytes"].values()) < 0.6 * sum(full[0]["bytes"].values())


@pytest.mark.parametrize("order", ["model", "optimizer"])
@pytest.mark.parametrize("kind", KINDS)
def test_diloco_that_averages_each_step_is_sgd(pool, kind, order):
    configs = {
        "k_steps": 1, "num_fragments": 1, "overlap_steps": 0, "outer_lr": 1.0,
        "outer_momentum": 0.0, "mixing": 0.0,
    }  # fmt: skip
    switches = {"diloco": True, "diloco_configs": configs}
    found = run_job(pool, f"{HERE}:trained", 2, kind=kind, switches=switches, order=order)
    assert found[0]["stages"] == ["data_parallel", "diloco"]
    check(found, workers.alone(kind), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_diloco_in_turns(pool, kind):
    """Ranks go their own ways, and nearer to each other than without it."""
    args = {"kind": kind, "lr": 0.05, "width": 16}
    spread = []
    for k_steps in (2, 1000):
        configs = {"k_steps": k_steps, "num_fragments": 2, "overlap_steps": 1}
        switches = {"diloco": True, "diloco_configs": configs}
        found = run_job(pool, f"{HERE}:trained", 2, switches=switches, **args)
        pairs = zip(found[0]["steps"][-1], found[1]["steps"][-1], strict=True)
        spread.append(sum(float(np.abs(a - b).sum()) for a, b in pairs))
    assert 0 < spread[0] < 0.8 * spread[1]


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_8_bits(pool, kind):
    """Near to training with whole gradients, and with equal weights on both ranks."""
    args = {"kind": kind, "dtype": "float32", "lr": 0.1, "width": 16}
    switches = {"int8_allreduce": True, "int8_allreduce_configs": {"block_size": 32}}
    for order in ("model", "late"):
        found = run_job(
            pool, f"{HERE}:trained", 2, backend="gloo", switches=switches, order=order, **args
        )
        assert "int8_allreduce" in found[0]["stages"]
        exact = workers.alone(**args)[-1]
        start = workers.values(workers.layer(16))
        moved = max(np.abs(a - b).max() for a, b in zip(start, exact, strict=True))
        pairs = list(zip(found[0]["steps"][-1], exact, strict=True))
        # a gradient is off by a half of 1/127 at most, of the largest of its block
        assert 1e-5 * moved < max(np.abs(a - b).max() for a, b in pairs) < 0.02 * moved
        for a, b in zip(found[0]["steps"][-1], found[1]["steps"][-1], strict=True):
            np.testing.assert_array_equal(a, b)
    # in shared memory there is nothing to save
    found = run_job(pool, f"{HERE}:trained", 2, switches=switches, **args)
    assert found[0]["notes"] == ["int8_allreduce"]


@pytest.mark.parametrize("order", ["model", "late"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_that_travel_as_factors(pool, kind, order):
    """Training as in one process, with a fraction of the bytes."""
    args = {"kind": kind, "width": 512, "lr": 1e-4}
    switches = {"factored_allreduce": True}
    found = run_job(
        pool, f"{HERE}:trained", 2, backend="hosts ab", switches=switches, order=order, **args
    )
    assert "factored_allreduce" in found[0]["stages"]
    check(found, workers.alone(**args), rtol=1e-9)
    assert found[0]["bytes"]["bucket"] < workers.STEPS * 512 * 512 * 8 / 10
    # in shared memory they travel so without being asked
    found = run_job(pool, f"{HERE}:trained", 2, switches=switches, **args)
    assert found[0]["notes"] == ["factored_allreduce"]


def rounded(step, number, grads):
    """The mean of gradients that were rounded on their way, itself rounded on its way back."""
    total = sum(g.astype("float16").astype("float32") for g in grads)
    return (total / len(grads)).astype("float16").astype("float32")


@pytest.mark.parametrize("kind", KINDS)
def test_half_gradients_are_rounded_twice(pool, kind):
    args = {"kind": kind, "lr": 0.1, "dtype": "float32"}
    half = run_job(pool, f"{HERE}:trained", 2, switches={"fp16_allreduce": True}, **args)
    check(half, workers.simulated(world_size=2, direction=rounded, **args), rtol=0, atol=5e-7)
    exact = workers.alone(**args)[-1]
    assert max(np.abs(a - b).max() for a, b in zip(half[0]["steps"][-1], exact, strict=True)) > 5e-6


@pytest.mark.parametrize(("switch", "optimizer"), [("lars", "Momentum"), ("lamb", "Adam")])
def test_adaptive_rules(pool, switch, optimizer):
    """The rules of torch and of the face give the same numbers, for two workers and for three, and
    others than the plain optimizer.
    """
    switches = {switch: True, f"{switch}_configs": {"exclude_from_weight_decay": ["bias", "b_0"]}}
    results = [
        run_job(pool, f"{HERE}:trained", n, kind=kind, switches=switches, optimizer=optimizer)
        for kind in KINDS
        for n in (2, 3)
    ]
    assert all(r["notes"] == [] for run in results for r in run)
    for run in results:
        check(run, results[0][0]["steps"], rtol=1e-5, atol=1e-7)
    model = workers.layer()
    excluded = [p.name for p in model.parameters() if p.ndim == 1]
    if switch == "lars":
        rule = LarsMomentumOptimizer(
            0.1,
            0.9,
            parameter_list=model.parameters(),
            exclude_from_weight_decay=excluded,
            epsilon=0.0,
        )
    else:
        rule = paddle.optimizer.Lamb(
            0.1,
            epsilon=1e-8,
            parameters=model.parameters(),
            exclude_from_weight_decay_fn=lambda param: param.name in excluded,
        )
    alone = workers.with_rule(rule, model)
    for run in results[:2]:
        check(run, alone, rtol=1e-6, atol=1e-8)
    plain = workers.alone("layer", optimizer)
    assert not np.allclose(results[0][0]["steps"][-1][0], plain[-1][0], rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ORDERS)
def test_mixed_precision(pool, kind, order):
    switches = {"amp": True}
    results = run_job(
        pool, f"{HERE}:trained", 2, kind=kind, switches=switches, order=order, dtype="float32"
    )
    exact = workers.alone(kind, dtype="float32")
    check(results, exact, rtol=3e-2, atol=2e-2)
    assert not np.array_equal(results[0]["steps"][0][0], exact[0][0])  # it did round
    assert results[0]["dtypes"] == ["paddle.float32" if kind == "layer" else "torch.float32"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("more", [{}, {"sharding": True, "sharding_configs": {"stage": 2}}])
def test_pure_mixed_precision(pool, order, more):
    switches = {"amp": True, "amp_configs": {"use_pure_bf16": True}, **more}
    results = run_job(
        pool,
        f"{HERE}:trained",
        2,
        kind="layer",
        switches=switches,
        order=order,
        optimizer="Adam",
        lr=0.01,
        dtype="float32",
    )
    assert results[0]["dtypes"] == ["paddle.bfloat16"]
    check(results, workers.alone("layer", "Adam", lr=0.01, dtype="float32"), rtol=3e-2, atol=2e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_that_overflow_are_left_out_by_all(pool, kind):
    results = run_job(pool, f"{HERE}:overflowing", 2, kind=kind)
    for result in results:
        assert result["scales"] == [32768.0, 32768.0, 16384.0, 16384.0]
        assert result["is_moved"] == [True, False, True]
    for a, b in zip(results[0]["values"], results[1]["values"], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_a_scaler_of_the_script(pool, kind):
    expected = workers.alone(kind, dtype="float32")[-1]
    for found in run_job(pool, f"{HERE}:scaled_by_the_script", 2, kind=kind):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=3e-2, atol=2e-2)


@pytest.mark.parametrize("switches", [
    {"sharding": True}, {"localsgd": True}, {"gradient_scale_configs": {"scale_strategy": "sum"}},
])  # fmt: skip
def test_schedulers_of_torch(pool, switches):
    scale = 2.0 if "gradient_scale_configs" in switches else 1.0
    plain = workers.module()
    rule = workers.optimizer_of(plain, "SGD", 0.1 * scale)
    expected = workers.with_schedule(plain, plain, rule)
    for found in run_job(pool, f"{HERE}:scheduled", 2, switches=switches, optimizer="SGD"):
        check([{"steps": found}], expected)


def test_auto(pool):
    results = run_job(
        pool,
        f"{HERE}:trained",
        2,
        kind="layer",
        switches={"auto": True},
        optimizer="Adam",
        dtype="float32",
    )
    assert results[0]["stages"] == ["amp", "data_parallel", "lamb", "sharding"]
    check(results[:1], results[1]["steps"])


@pytest.mark.parametrize("kind", KINDS)
def test_auto_measures_the_link_between_hosts(pool, kind):
    """All ranks decide alike, and say why."""
    found = run_job(pool, f"{HERE}:chosen", 2, kind=kind, backend="hosts ab")
    (choices, stages, text, values), other = found
    assert other[:3] == (choices, stages, text)
    (choice,) = choices
    assert choice.switch in ("", "fp16_allreduce", "int8_allreduce")
    assert not choice.switch or choice.switch in stages
    assert "Gb/s; a step computes about" in text
    for a, b in zip(values, other[3], strict=True):
        np.testing.assert_array_equal(a, b)
    (choices, *_), _ = run_job(pool, f"{HERE}:chosen", 2, kind=kind, backend="auto")
    assert choices == ()
