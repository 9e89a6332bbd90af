"""Fleet's strategies in programs: workers against one process, or against their arithmetic done in
the test.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from multiprocess import fleet_static_workers as workers
from support.job import run_job

HERE = "multiprocess.fleet_static_workers"
MERGE = {"gradient_merge": True, "gradient_merge_configs": {"k_steps": 2}}
SHARD_1 = {"sharding": True, "sharding_configs": {"stage": 1}}
SHARD_2 = {"sharding": True, "sharding_configs": {"stage": 2}}


def check(results, expected, rtol=1e-5, atol=1e-6):
    for found in results:
        for name, value in expected.items():
            np.testing.assert_allclose(
                found["parameters"][name], value, rtol=rtol, atol=atol, err_msg=name
            )


@pytest.fixture(autouse=True)
def no_traces():
    import paddle.distributed.fleet as fleet

    yield
    fleet.init(is_collective=True)


@pytest.mark.parametrize(
    ("optimizer", "switches", "stages"),
    [
        ("adam", {}, ["data_parallel"]),
        ("adam", {"without_graph_optimization": True, "use_hierarchical_allreduce": True,
        "fuse_all_reduce_ops": False}, ["data_parallel"]),
        ("decayed", {"recompute": True}, ["recompute", "data_parallel"]),
        ("adam", MERGE, ["data_parallel", "gradient_merge"]),
        ("momentum", {"lars": True, "lars_configs": {"lars_coeff": 0.1}},
        ["data_parallel", "lars"]),
        ("adam", {"lamb": True, **MERGE, "recompute": True},
        ["recompute", "data_parallel", "gradient_merge", "lamb"]),
        # without clipping a worker's program reads its own gradients only
        ("sgd", SHARD_1, ["data_parallel", "sharding"]),
        ("momentum", SHARD_2, ["data_parallel", "sharding"]),
        ("adam", SHARD_1, ["data_parallel", "sharding"]),
        ("adam", SHARD_2, ["data_parallel", "sharding"]),
        ("decayed", {**SHARD_2, **MERGE}, ["data_parallel", "gradient_merge", "sharding"]),
        ("decayed", {**SHARD_1, **MERGE, "recompute": True},
        ["recompute", "data_parallel", "gradient_merge", "sharding"]),
    ],
)  # fmt: skip
def test_workers_equal_one_process(pool, optimizer, switches, stages):
    """Startup gives all workers the values of worker 0, the test copy runs without communication,
    and losses are the worker's own.
    """
    plain = {k: v for k, v in switches.items() if not k.startswith("sharding")}
    expected, losses = workers.alone(optimizer, plain, 6)
    results = run_job(pool, f"{HERE}:train", 2, optimizer=optimizer, switches=switches, steps=6)
    check(results, expected)
    assert results[0]["stages"] == stages
    for name, value in results[0]["start"].items():
        np.testing.assert_array_equal(results[1]["start"][name], value)
    np.testing.assert_allclose(np.mean([r["losses"] for r in results], axis=0), losses, rtol=1e-5)
    assert results[0]["losses"] != results[1]["losses"]
    assert results[0]["tested"] == pytest.approx(results[1]["tested"], rel=1e-6)


@pytest.mark.parametrize("stage", [1, 2])
def test_sharding_among_more_workers_and_copies(pool, stage):
    expected, _ = workers.alone("decayed", {}, 4)
    for degree in (4, 2):
        switches = {
            "sharding": True,
            "sharding_configs": {"stage": stage, "sharding_degree": degree},
        }
        check(
            run_job(pool, f"{HERE}:train", 4, optimizer="decayed", switches=switches, steps=4),
            expected,
        )


def test_hybrid_degrees_shard_programs_too(pool):
    expected, _ = workers.alone("decayed", {}, 4)
    switches = {"hybrid_configs": {"dp_degree": 2, "sharding_degree": 2}}
    results = run_job(pool, f"{HERE}:train", 4, optimizer="decayed", switches=switches, steps=4)
    check(results, expected)
    kept = [set(r["kept"]) for r in results]
    assert kept[0] == kept[2] != kept[1] == kept[3]


@pytest.mark.parametrize("stage", [1, 2])
def test_sharded_state_is_split_and_gathered(pool, stage):
    results = run_job(pool, f"{HERE}:sharded_state", 2, stage=stage)
    expected = workers.state_alone(3)
    (mine, whole), (other, same) = results
    assert mine
    assert other
    assert sorted(mine + other) == sorted(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(whole[name], value, rtol=1e-4, atol=1e-7, err_msg=name)
        np.testing.assert_array_equal(whole[name], same[name])


@pytest.mark.parametrize("switches", [SHARD_1, SHARD_2, {**SHARD_2, **MERGE}])
def test_gradients_that_are_added(pool, switches):
    """The sum over two workers is twice the mean, so a first update goes twice as far."""
    merge = {k: v for k, v in switches.items() if k.startswith("gradient_merge")}
    switches = {**switches, "gradient_scale_configs": {"scale_strategy": "sum"}}
    steps = 2 if merge else 1
    results = run_job(pool, f"{HERE}:train", 2, optimizer="sgd", switches=switches, steps=steps)
    first, (single, _) = workers.alone("sgd", merge, 0)[0], workers.alone("sgd", merge, steps)
    check(
        results, {name: first[name] + 2 * (value - first[name]) for name, value in single.items()}
    )


def test_synchronised_batch_norm(pool):
    switches = {"sync_batch_norm": True}
    expected, _ = workers.alone("momentum", {}, 4, has_norm=True)
    check(
        run_job(
            pool,
            f"{HERE}:train",
            2,
            optimizer="momentum",
            switches=switches,
            steps=4,
            has_norm=True,
        ),
        expected,
    )


@pytest.mark.parametrize("places", [0, 1, 2])
def test_a_program_that_the_script_compiles(pool, places):
    """What Fleet attached to the program goes along."""
    expected, _ = workers.alone("momentum", {}, 4)
    check(run_job(pool, f"{HERE}:compiled", 2, switches={}, places=places), expected)


def test_strategies_take_one_place(pool):
    found = run_job(pool, f"{HERE}:compiled", 2, switches=SHARD_2, places=1)
    check(found, workers.alone("momentum", {}, 4)[0])
    for refused in ({"localsgd": True}, SHARD_1, MERGE):
        with pytest.raises(AssertionError, match="a worker runs it on one place, not on 2"):
            run_job(pool, f"{HERE}:compiled", 2, switches=refused, places=2)


@pytest.mark.parametrize("backend", ["auto", "gloo"])
def test_unequal_programs_are_an_error(pool, backend):
    for message in run_job(pool, f"{HERE}:unequal", 2, backend=backend, width=9):
        assert message.endswith(
            "the workers' startup programs fill different parameters: 'parameter [6, 8] float32' "
            "on rank 0, 'parameter [6, 9] float32' on rank 1"
        )
    for message in run_job(pool, f"{HERE}:unequal", 2, backend=backend, freezes=True):
        assert (
            "the trainers run different programs: 'gradient [5] float32' on rank 0, 'gradient ["
            in message
        )


# -- parameters instead of gradients
# ------------------------------------------------------------------------------


@pytest.mark.parametrize(("optimizer", "k_steps", "begin"), [("momentum", 2, 1), ("sgd", 3, 2)])
def test_localsgd(pool, optimizer, k_steps, begin):
    switches = {"localsgd": True, "localsgd_configs": {"k_steps": k_steps, "begin_step": begin}}
    results = run_job(pool, f"{HERE}:train", 2, optimizer=optimizer, switches=switches, steps=6)
    with workers.static_mode():
        simulated, last = workers.Simulated(optimizer, 2), 0
        for step, batch in enumerate(workers.batches(6), 1):
            simulated.step(batch)
            if step <= begin or step - last == k_steps:
                simulated.average()
                last = step
            for result, model in zip(results, simulated.models, strict=True):
                for name, value in model.parameters().items():
                    np.testing.assert_allclose(
                        result["history"][step - 1][name], value, rtol=1e-5, atol=1e-6
                    )


def test_localsgd_with_merged_gradients(pool):
    """Workers meet after updates, not after runs."""
    switches = {"localsgd": True, "localsgd_configs": {"k_steps": 1}, **MERGE}
    expected, _ = workers.alone("sgd", MERGE, 4)
    check(run_job(pool, f"{HERE}:train", 2, optimizer="sgd", switches=switches, steps=4), expected)


def test_adaptive_localsgd(pool):
    switches = {
        "adaptive_localsgd": True,
        "adaptive_localsgd_configs": {"init_k_steps": 2, "begin_step": 1},
    }
    results = run_job(pool, f"{HERE}:train", 2, optimizer="scheduled", switches=switches, steps=8)
    with workers.static_mode():
        simulated, last, k_steps, first = workers.Simulated("scheduled", 2), 0, 2, 0.0
        meetings = []
        for step, batch in enumerate(workers.batches(8), 1):
            rate = 0.4 * 0.25 ** ((step - 1) // 2)
            loss = float(np.mean(simulated.step(batch)))
            first = first or loss
            if step <= 1 or step - last == k_steps:
                simulated.average()
                last = step
                meetings.append(step)
                if step > 1:
                    k_steps = min(max(math.ceil(math.sqrt(0.4 * loss / (rate * first) * 2)), 1), 16)
            for result, model in zip(results, simulated.models, strict=True):
                for name, value in model.parameters().items():
                    np.testing.assert_allclose(
                        result["history"][step - 1][name], value, rtol=1e-5, atol=1e-6
                    )
    assert len({b - a for a, b in itertools.pairwise(meetings)}) > 1  # k_steps changed


# -- smaller gradients
# ----------------------------------------------------------------------------------------------


def test_gradients_travel_as_float16(pool):
    results = run_job(
        pool, f"{HERE}:train", 2, optimizer="sgd", switches={"fp16_allreduce": True}, steps=3
    )
    with workers.static_mode():
        simulated = workers.Simulated("sgd", 2)
        for batch in workers.batches(3):
            before, grads = simulated.models[0].parameters(), simulated.gradients(batch)
            mean = {
                n: np.mean([g[n].astype("float16").astype("float32") for g in grads], axis=0)
                for n in before
            }
            simulated.set(
                {
                    n: value - np.float32(0.1) * mean[n].astype("float16")
                    for n, value in before.items()
                }
            )
        check(results, simulated.models[0].parameters(), rtol=0, atol=2e-6)
    exact, _ = workers.alone("sgd", {}, 3)
    assert any(
        np.abs(results[0]["parameters"][n] - value).max() > 5e-6 for n, value in exact.items()
    )


def test_dgc(pool):
    """Momentum up to the ramp, then the largest entries of what has accumulated, for large
    parameters.
    """
    configs = {"rampup_begin_step": 2, "rampup_step": 2, "sparsity": [0.75, 0.99]}
    switches = {"dgc": True, "dgc_configs": configs}
    results = run_job(
        pool, f"{HERE}:train", 2, optimizer="momentum", switches=switches, steps=5, width=4096
    )
    with workers.static_mode():
        simulated = workers.Simulated("sgd", 2, width=4096)
        first = simulated.models[0].parameters()
        u = [{n: np.zeros_like(p) for n, p in first.items()} for _ in range(2)]
        v = [{n: np.zeros_like(p) for n, p in first.items()} for _ in range(2)]
        for step, batch in enumerate(workers.batches(5)):
            before, grads = simulated.models[0].parameters(), simulated.gradients(batch)
            keep = 1.0 - [0.0, 0.0, 0.75, 0.99, 0.99][step]
            after = {}
            for name, value in before.items():
                if step < 2 or value.size < 16384:
                    mean = (grads[0][name] + grads[1][name]) / 2
                    for rank in range(2):
                        u[rank][name] = 0.9 * u[rank][name] + mean
                    direction = u[0][name]
                else:
                    direction = (
                        sum(_sent(u[r], v[r], name, grads[r][name], keep) for r in range(2)) / 2
                    )
                after[name] = value - np.float32(0.1) * direction
            simulated.set(after)
        check(results, simulated.models[0].parameters(), rtol=1e-4, atol=2e-5)


def _sent(u, v, name, grad, keep):
    """What one worker sends of a parameter, as a dense array."""
    u[name] = 0.9 * u[name] + grad
    v[name] = v[name] + u[name]
    size = max(1, round(v[name].size * keep))
    where = np.argpartition(-np.abs(v[name]).ravel(), size - 1)[:size]
    mask = np.zeros(v[name].size, bool)
    mask[where] = True
    mask = mask.reshape(v[name].shape)
    sent = np.where(mask, v[name], 0.0)
    u[name], v[name] = np.where(mask, 0.0, u[name]), np.where(mask, 0.0, v[name])
    return sent


def test_bytes_shrink(pool):
    whole, half, few = (
        run_job(pool, f"{HERE}:sent_bytes", 2, switches=switches)[0]
        for switches in (
            {},
            {"fp16_allreduce": True},
            {"dgc": True, "dgc_configs": {"sparsity": [0.99]}},
        )
    )
    assert half == whole // 2
    assert few < whole // 5
    merged = run_job(
        pool,
        f"{HERE}:sent_bytes",
        2,
        switches={"gradient_merge": True, "gradient_merge_configs": {"k_steps": 8}},
    )
    assert merged == [0, 0]


# -- mixed precision
# ------------------------------------------------------------------------------------------------

PURE = {"amp": True, "amp_configs": {"use_pure_bf16": True}}


@pytest.mark.parametrize(
    "switches", [{}, SHARD_1, SHARD_2, {"localsgd": True, "localsgd_configs": {"k_steps": 1}}]
)
def test_loss_scaling_is_one_for_all_workers(pool, switches):
    optimizer = "momentum" if "localsgd" in switches else "adam"
    results = run_job(pool, f"{HERE}:amp_state", 2, switches=switches, optimizer=optimizer)
    assert [(r["grown"], r["shrunk"]) for r in results] == [(512.0, 256.0)] * 2
    if optimizer == "adam":
        assert [r["stays"] for r in results] == [True, True]
    for name, value in results[0]["parameters"].items():
        np.testing.assert_array_equal(results[1]["parameters"][name], value)
        assert np.isfinite(value).all()


@pytest.mark.parametrize(
    "switches",
    [{"amp": True}, {"amp": True, **MERGE, "recompute": True}, {"amp": True, **SHARD_2, **MERGE}],
)
@pytest.mark.parametrize(("dtype", "atol"), [("bfloat16", 2e-2), ("float16", 5e-3)])
def test_mixed_precision_stays_near_float32(pool, switches, dtype, atol):
    """On a processor in bfloat16; in float16 as on other devices. Both round, bfloat16 to 8 bits
    and float16 to 11.
    """
    expected, _ = workers.alone(
        "sgd", {k: v for k, v in switches.items() if k.startswith("gradient_merge")}, 4
    )
    args = {"optimizer": "sgd", "switches": switches, "steps": 4, "as_on_a_gpu": dtype == "float16"}
    results = run_job(pool, f"{HERE}:train", 2, **args)
    check(results, expected, rtol=0.02, atol=atol)
    assert {r["amp"] for r in results} == {dtype}
    assert {r["casts"] for r in results} == {dtype}
    assert any(
        not np.allclose(results[0]["parameters"][n], v, rtol=0, atol=1e-6)
        for n, v in expected.items()
    )


@pytest.mark.parametrize("more", [{}, SHARD_1, {**SHARD_2, **MERGE}])
def test_bfloat16_with_masters(pool, more):
    results = run_job(pool, f"{HERE}:train", 2, optimizer="sgd", switches={**PURE, **more}, steps=4)
    merge = {k: v for k, v in more.items() if k.startswith("gradient_merge")}
    check(results, workers.alone("sgd", merge, 4)[0], rtol=0, atol=0.008)
    masters = [[name for name in r["kept"] if "_fp32_master" in name] for r in results]
    assert len(set(masters[0] + masters[1])) == 6
    assert set(masters[0]).isdisjoint(masters[1]) == bool(more)
    for name, value in results[0]["parameters"].items():
        np.testing.assert_array_equal(results[1]["parameters"][name], value)


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_auto(pool, optimizer):
    results = run_job(
        pool, f"{HERE}:train", 2, optimizer=optimizer, switches={"auto": True}, steps=3
    )
    rule = "lars" if optimizer == "momentum" else "lamb"
    assert results[0]["stages"] == ["amp", "data_parallel", rule, "sharding"]
    for name, value in results[0]["parameters"].items():
        np.testing.assert_array_equal(results[1]["parameters"][name], value)
    plain, _ = workers.alone(optimizer, {rule: True}, 3)
    check(results, plain, rtol=0.05, atol=0.02)
