"""Data parallelism is exact: n ranks on shards do what one process does on the whole batch, and
what real Paddle does.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import paddle
from support import models
from support.job import run_job

HERE = "multiprocess.dp_workers"
GOLDENS = Path(__file__).resolve().parents[1] / "goldens" / "data" / "data_parallel.npz"
LIMITS = {"float64": 1e-12, "float32": 1e-6}


def difference(a, b):
    """The largest difference relative to the largest value."""
    return np.abs(a - b).max() / max(np.abs(b).max(), 1e-3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", models.NAMES)
def test_ranks_equal_one_process(pool, name, dtype):
    alone = models.build(paddle, name, dtype)
    expected = models.train(paddle, name, alone, 20, dtype, 0, 1)
    state = models.state_of(alone)
    for world_size in (2, 3, 4):
        found = run_job(pool, f"{HERE}:train", world_size, name=name, dtype=dtype, steps=20)
        losses = np.mean([losses for losses, _ in found], 0)
        assert difference(losses, np.array(expected)) <= LIMITS[dtype], world_size
        for _, ours in found:
            for key, value in state.items():
                assert difference(ours[key], value) <= LIMITS[dtype], (world_size, key)


def test_small_buckets_and_gloo_give_the_same(pool):
    wanted = run_job(pool, f"{HERE}:train", 2, name="transformer", dtype="float64", steps=3)
    for options in (
        {"comm_buffer_size": 0.001, "last_comm_buffer_size": 0.0001},
        {"backend": "gloo"},
    ):
        found = run_job(
            pool, f"{HERE}:train", 2, name="transformer", dtype="float64", steps=3, **options
        )
        assert max(difference(found[0][1][k], v) for k, v in wanted[0][1].items()) < 1e-12


@pytest.mark.parametrize("name", models.NAMES)
def test_equals_paddle(pool, name):
    with np.load(GOLDENS) as stored:
        golden = {key: stored[key] for key in stored.files}
    found = run_job(
        pool, f"{HERE}:train", 2, name=name, dtype="float32", steps=8, norm="BatchNorm2D"
    )
    for rank, (losses, state) in enumerate(found):
        # sums are taken in another order, and eight steps carry that on
        assert difference(np.array(losses), golden[f"{rank}/{name}/losses"]) < 2e-6
        for key, value in state.items():
            assert difference(value, golden[f"{rank}/{name}/state/{key}"]) < 1e-5, key


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_accumulation(pool, backend):
    first, second = run_job(pool, f"{HERE}:accumulation", 2, backend=backend)
    # as in Paddle, but for the two backwards through one graph, which it averages only once: 3 is
    # 1.5 twice
    assert first == [1.5, 16.5, 1.0, 16.5, 1.0, 16.5, 3.0, 1.5, 11.5, 1.5]
    assert second == [1.5, 16.5, 2.0, 16.5, 2.0, 16.5, 3.0, 1.5, 21.5, 1.5]


@pytest.mark.parametrize("backend", ["shm", "gloo"])
@pytest.mark.parametrize("find_unused", [False, True])
def test_ranks_use_different_parameters(pool, find_unused, backend):
    for rank, (grads, messages) in enumerate(
        run_job(pool, f"{HERE}:branches", 2, find_unused=find_unused, backend=backend)
    ):
        assert grads[0] == [3.0, 3.0, 3.0]
        assert grads[1] == [3.0, 3.0, None]
        assert grads[2] == [1.0, 2.0, None]
        assert grads[3] == [None, None, 1.0]
        assert grads[4] == [1.0, None, 1.0]
        assert grads[5] == [1.0, 1.5, None]
        if find_unused:
            assert messages == []
        else:
            assert len(messages) == 1
            assert (
                f"1 of 3 parameters got no gradient in this backward on rank {rank}: "
                "'parts.2.weight'" in messages[0]
            )


def test_frozen_later(pool):
    first, second = run_job(pool, f"{HERE}:frozen", 2)
    assert first == [[1.5, 1.5, 1.0], [1.5, None, 1.0], [1.5, 1.5, 1.0]]
    assert second == [[1.5, 1.5, 2.0], [1.5, None, 2.0], [1.5, 1.5, 2.0]]


def test_shared_parameters(pool):
    assert run_job(pool, f"{HERE}:shared", 2) == [3.0, 3.0]


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_row_sparse_gradients(pool, backend):
    for found in run_job(pool, f"{HERE}:sparse_rows", 2, backend=backend):
        assert found == [
            [0.5, 0.5, 0, 0, 0, 1.0],
            [0, 0, 0, 0.5, 0, 0],
            [0] * 6,
            [0.5, 0.5, 0, 0, 1.0, 0],
            [1.5, 0.5, 0.5, 0.5, 0.5, 0.5],
        ]


def test_pylayer_inside(pool):
    assert run_job(pool, f"{HERE}:pylayer", 2) == [[3.0, 3.0]] * 2


@pytest.mark.parametrize("everywhere", [False, True])
def test_backward_that_fails(pool, everywhere):
    assert run_job(pool, f"{HERE}:failure", 2, everywhere=everywhere) == [[2.5, 2.5]] * 2


def test_a_rank_without_any_gradient(pool):
    assert run_job(pool, f"{HERE}:skipped", 2) == [[1.5, 0.5, 1.5]] * 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_parameters_of_16_bits(pool, dtype):
    assert run_job(pool, f"{HERE}:half", 3, dtype=dtype) == [([2.0, 1.0], dtype)] * 3


def test_second_order(pool):
    found = run_job(pool, f"{HERE}:second_order", 2)
    # the penalty's gradient is linear in x x^T: its mean over x = 1 and x = 2, computed here by
    # hand
    weight = np.array([[1.0, 2.0], [3.0, 4.0]])
    parts = []
    for scale in (1.0, 2.0):
        x = np.full((1, 2), scale)
        inner = 2 * x @ weight @ weight.T
        parts.append(4 * (inner.T @ (x @ weight) + x.T @ (inner @ weight)))
    for penalty, _, final in found:
        assert penalty == np.mean(parts, 0).ravel().tolist()
        assert final == 50.0
    assert [handed_out for _, handed_out, _ in found] == [[1.0] * 4, [2.0] * 4]


def test_cast_after_wrapping(pool):
    assert run_job(pool, f"{HERE}:cast_later", 2) == [(1.5, "float64")] * 2


def test_gradients_live_in_the_buckets(pool):
    for grads, buckets, inside in run_job(pool, f"{HERE}:memory", 2):
        assert inside
        assert buckets <= grads * 1.01


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("shape", "'weight [2, 3] float32' on rank 0, 'weight [2, 4] float32' on rank 2"),
        ("dtype", "'weight [2, 3] float32' on rank 0, 'weight [2, 3] float64' on rank 2"),
        ("list", "2 tensors on rank 0, 4 on rank 2; '1.weight [2, 2] float32' is only on rank 2"),
    ],
)
def test_different_models(pool, what, words):
    for message in run_job(pool, f"{HERE}:different_models", 3, what=what):
        assert words in message


def test_backward_against_barrier(pool):
    (first, waited), (second, _) = run_job(pool, f"{HERE}:apart", 2)
    assert "rank 0 is in the average of gradients in backward #2 (bucket 0)" in first
    assert "which waits for rank 0 in barrier #" in first
    assert "rank 1 is in barrier #" in second
    assert "which waits for rank 1 in the average of gradients in backward #2 (bucket 0)" in second
    assert waited < 4.0


def test_a_killed_rank_ends_backward(pool):
    *survivors, _ = run_job(pool, f"{HERE}:killed", 3, may_die=(2,))
    for message, waited in survivors:
        assert "rank 2" in message
        assert waited < 2.0


def test_contract(pool):
    run_job(pool, f"{HERE}:contract", 2)


def test_averages_by_hand(pool):
    assert run_job(pool, f"{HERE}:by_hand", 2) == [[3.0, 3.0]] * 2


@pytest.mark.parametrize("sizes", [[4, 4], [1, 6], [5, 2, 0]])
def test_batch_statistics_span_the_ranks(pool, sizes):
    found = run_job(pool, f"{HERE}:statistics", len(sizes), sizes=sizes)
    whole = np.random.RandomState(0).normal(5.0, 2.0, (sum(sizes), 3)).astype("float32")
    norm = paddle.nn.BatchNorm1D(3)
    x = paddle.to_tensor(whole, stop_gradient=False)
    out = norm(x)
    (out**3).sum().backward()
    assert difference(np.concatenate([f["out"] for f in found]), out.numpy()) < 2e-6
    assert difference(np.concatenate([f["x"] for f in found]), x.grad.numpy()) < 2e-6
    assert difference(sum(f["weight"] for f in found), norm.weight.grad.numpy()) < 2e-6
    norm.eval()
    assert difference(found[0]["eval"], norm(x).numpy()[: sizes[0]]) < 2e-6
    for one in found:
        assert difference(one["mean"], norm._mean.numpy()) < 1e-6
        assert difference(one["variance"], norm._variance.numpy()) < 1e-6


def test_torch_module(pool):
    first, second = run_job(pool, f"{HERE}:torch_module", 2)
    assert (first, second) == ([1.5, 1.0], [1.5, 2.0])


@pytest.mark.parametrize("find_unused", [False, True])
@pytest.mark.parametrize(("backend", "world_size"), [("shm", 2), ("shm", 4), ("gloo", 3)])
def test_random_branches(pool, backend, world_size, find_unused):
    run_job(
        pool,
        f"{HERE}:random_branches",
        world_size,
        seed=world_size,
        backend=backend,
        find_unused=find_unused,
    )


def test_a_slow_rank_is_waited_for(pool):
    assert run_job(pool, f"{HERE}:slow", 2) == [[1.5, 3.0]] * 2


@pytest.mark.parametrize("is_reentrant", [False, True])
def test_recomputation(pool, is_reentrant):
    assert run_job(pool, f"{HERE}:recomputed", 2, is_reentrant=is_reentrant) == [(True, True)] * 2


def test_a_forgotten_wrapper_leaves_nothing(pool):
    assert run_job(pool, f"{HERE}:forgotten", 2) == [True, True]


def test_one_process_only_wraps():
    layer = paddle.nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="single-card operation"):
        model = paddle.DataParallel(layer)
    model(paddle.ones([1, 2])).sum().backward()
    assert float(layer.weight.grad.sum()) == 4.0
    with model.no_sync():
        assert not model.grad_need_sync
    assert model.grad_need_sync
