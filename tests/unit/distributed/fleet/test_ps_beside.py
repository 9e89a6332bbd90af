"""Lookups that are concatenated: what runs in their place, and that it computes the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
import paddle.distributed.fleet as fleet
from argosy.distributed.fleet.servers.beside import beside
from argosy.distributed.fleet.servers.lookup import rows_at
from argosy.foundation.errors import UsageError
from argosy.static.lower.joining import joined

DIM = 3


def parts(count, num_lookups=4, num_rows=5, is_one_tensor=True):
    torch.manual_seed(0)
    rows = torch.randn(num_rows, DIM, requires_grad=True)
    places = torch.randint(0, num_rows, (num_lookups, count))
    found = list(places) if is_one_tensor else [p.clone() for p in places]
    before, after = torch.randn(count, 2, requires_grad=True), torch.randn(count, 4)
    return rows, found, [before], [after]


def apart(rows, positions, before, after, weight=None, bias=None):
    x = torch.cat([*before, *rows_at(rows, positions), *after], 1)
    return x if weight is None else torch.addmm(bias, x, weight)


def gradients(function, given, wanted, factor):
    return torch.autograd.grad((function(*given) * factor).sum(), wanted)


@pytest.mark.parametrize("is_one_tensor", [True, False])
@pytest.mark.parametrize("count", [1, 7])
def test_rows_lie_side_by_side(count, is_one_tensor):
    given = parts(count, is_one_tensor=is_one_tensor)
    found, expected = beside(*given), apart(*given)
    assert torch.equal(found, expected)
    factor = torch.randn(expected.shape)
    wanted = [given[0], given[2][0]]
    for ours, theirs in zip(
        gradients(beside, given, wanted, factor),
        gradients(apart, given, wanted, factor),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


# below the size from which oneDNN multiplies, and above it
@pytest.mark.parametrize(("count", "out"), [(6, 2), (20_000, 64)])
@pytest.mark.parametrize("wants_before", [True, False])
def test_a_linear_map_of_them_is_that_of_their_concatenation(count, out, wants_before):
    rows, positions, [before], after = parts(count)
    weight = torch.randn(2 + 4 * DIM + 4, out, requires_grad=True)
    bias = torch.randn(out, requires_grad=True)
    before = before if wants_before else before.detach()
    given = (rows, positions, [before], after, weight, bias)
    torch.testing.assert_close(beside(*given), apart(*given), rtol=1e-4, atol=1e-4)
    wanted = [rows, weight, bias, *([before] if wants_before else [])]
    factor = torch.randn(count, out) / count
    for ours, theirs in zip(
        gradients(beside, given, wanted, factor),
        gradients(apart, given, wanted, factor),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_positive_parts_and_their_gradients():
    given = (*parts(9), torch.randn(2 + 4 * DIM + 4, 5, requires_grad=True), torch.randn(5))

    def relu_apart(*given):
        return torch.relu(apart(*given))

    found = beside(*given, True)
    assert (found == 0).any()
    torch.testing.assert_close(found, relu_apart(*given))
    wanted, factor = [given[0], given[4]], torch.randn(9, 5)
    ours = torch.autograd.grad((found * factor).sum(), wanted)
    for mine, theirs in zip(ours, gradients(relu_apart, given, wanted, factor), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_no_samples_give_no_lines():
    rows, positions, before, after = parts(0)
    found = beside(rows, positions, before, after)
    assert found.shape == (0, 2 + 4 * DIM + 4)
    assert torch.equal(torch.autograd.grad(found.sum(), rows)[0], torch.zeros(5, DIM))


def test_parts_of_other_lengths_are_refused_in_the_words_of_concat():
    rows, positions, before, _ = parts(3)
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        beside(rows, positions, before, [torch.ones(2, 1)])
    with pytest.raises(UsageError, match="same rank"):
        beside(rows, positions, before, [torch.ones(3)])


# -- in programs
# --------------------------------------------------------------------------------------------------


def looked_up(num_slots):
    slots = [paddle.static.data(f"slot{i}", [None, 1], "int64") for i in range(num_slots)]
    attr = paddle.ParamAttr(name="emb", initializer=paddle.nn.initializer.Uniform(-1.0, 1.0))
    found = [paddle.static.nn.sparse_embedding(s, [9, DIM], param_attr=attr) for s in slots]
    return [paddle.reshape(part, [-1, DIM]) for part in found]


def minimized(loss):
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.05), strategy).minimize(loss)


def ops_of(fetches=()):
    block = paddle.static.default_main_program().global_block()
    feeds = [name for name, v in block.vars.items() if v.is_data]
    found = joined(block, list(block.ops), feeds, [v.name for v in fetches])
    names = [o.op.name for o in found if o.op is not None]
    return [n for n in names if n.startswith("ps_lookup") or n in ("concat", "linear")]


def layer(parts):
    dense = paddle.static.data("dense", [None, 2])
    return paddle.static.nn.fc(paddle.concat([*parts, dense], axis=1), 1)


def test_what_is_looked_up_concatenated_and_multiplied_is_one_op(job):
    job()
    minimized(layer(looked_up(3)).mean())
    assert ops_of() == ["ps_lookup_beside"]


def test_so_is_its_positive_part(job):
    job()
    minimized(paddle.nn.functional.relu(layer(looked_up(3))).mean())
    assert ops_of() == ["ps_lookup_beside"]
    block = paddle.static.default_main_program().global_block()
    found = joined(block, list(block.ops), [], [])
    assert "relu" not in [o.op.name for o in found if o.op is not None]


def test_what_is_read_elsewhere_is_looked_up_by_itself(job):
    job()
    found = looked_up(3)
    minimized((layer(found) + found[0].sum()).mean())
    # two of three go on together, and the one that others read does so by itself
    assert ops_of() == ["ps_lookup", "ps_lookup_beside"]


def test_a_concatenation_that_is_read_twice_is_one_op_before_the_layer(job):
    job()
    x = paddle.concat(looked_up(3), axis=1)
    minimized((paddle.static.nn.fc(x, 1) + x.sum()).mean())
    assert ops_of() == ["ps_lookup_beside", "linear"]


def test_what_is_fetched_is_looked_up_by_itself(job):
    job()
    found = looked_up(2)
    minimized(layer(found).mean())
    assert ops_of([found[0]]) == ["ps_lookup", "concat", "linear"]


def test_rows_one_below_the_other_are_concatenated(job):
    job()
    minimized(paddle.concat(looked_up(3), axis=0).mean())
    assert ops_of() == ["ps_lookup", "concat"]


def test_others_between_them_keep_them_apart(job):
    job()
    found, dense = looked_up(2), paddle.static.data("dense", [None, 2])
    minimized(paddle.concat([found[0], dense, found[1]], axis=1).mean())
    assert ops_of() == ["ps_lookup", "concat"]


def test_it_trains_as_the_operators_apart_do(job):
    """Fetching what lies between keeps them apart, so both ways are run on the same servers."""
    running = job(2)
    found = looked_up(3)
    loss = layer(found).square().mean()
    minimized(loss)
    exe, main = paddle.static.Executor(), paddle.static.default_main_program()
    exe.run(paddle.static.default_startup_program())
    running.serve()
    feed = {f"slot{i}": np.array([[i], [4], [i + 1]]) for i in range(3)}
    feed["dense"] = np.arange(6, dtype=np.float32).reshape(3, 2) / 6
    test = main.clone(for_test=True)
    assert "ps_lookup_beside" in ops_of([loss])
    losses = [exe.run(main, feed=feed, fetch_list=[loss])[0] for _ in range(3)]
    after = exe.run(test, feed=feed, fetch_list=[loss, *found])
    assert losses[0] > losses[1] > losses[2] > after[0]
    dense, weight, bias = (
        feed["dense"],
        *(paddle.static.global_scope().find_var(f"fc_0.{n}_0").get_tensor() for n in "wb"),
    )
    x = np.concatenate([*after[1:], dense], 1)
    expected = np.square(x @ np.array(weight) + np.array(bias)).mean()
    np.testing.assert_allclose(exe.run(test, feed=feed, fetch_list=[loss])[0], expected, rtol=1e-5)
