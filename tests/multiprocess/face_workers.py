"""What the ranks do in the tests of ``paddle.distributed``'s collectives; each function runs in the
workers of the pool.
"""

from __future__ import annotations

import gc
import os
import threading
from typing import Any

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from paddle.distributed import ReduceOp
from support.job import environment, job_variables, joined_job

Meeting = dict[str, Any]


def _values(tensor: paddle.Tensor) -> list[Any]:
    return tensor.numpy().tolist()


def reductions(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    with joined_job(rank, world_size, meeting, backend):
        n = world_size
        for op, expected in (
            (ReduceOp.SUM, n * (n + 1) / 2),
            (ReduceOp.MAX, n),
            (ReduceOp.MIN, 1),
            (ReduceOp.PROD, float(np.prod(np.arange(1, n + 1)))),
            (ReduceOp.AVG, (n + 1) / 2),
        ):
            x = paddle.full([3], rank + 1.0)
            assert dist.all_reduce(x, op).is_completed()
            assert _values(x) == [expected] * 3
            x = paddle.full([2, 2], rank + 1.0)
            dist.reduce(x, n - 1, op)
            assert _values(x) == [[expected if rank == n - 1 else rank + 1.0] * 2] * 2
        with pytest.raises(ValueError, match="op must be"):
            dist.all_reduce(paddle.ones([1]), 9)
        with pytest.raises(TypeError, match="must be a Tensor, but received list"):
            dist.all_reduce([1.0])
        with pytest.raises(AssertionError, match="rank 7 is not in group"):
            dist.broadcast(paddle.ones([1]), 7)
        half = paddle.full([2], rank + 1, "bfloat16")
        dist.all_reduce(half, ReduceOp.AVG)
        assert half.dtype is paddle.bfloat16
        assert _values(half.astype("float32")) == [(n + 1) / 2] * 2
        columns = paddle.arange(6, dtype="int64").reshape([2, 3]).t()
        dist.all_reduce(columns)
        assert _values(columns) == (np.arange(6).reshape(2, 3).T * n).tolist()
        truth = paddle.to_tensor([rank == 0, False])
        dist.all_reduce(truth)
        assert _values(truth) == [True, False]
        param = paddle.nn.Linear(1, 1).weight
        dist.all_reduce(param)
        assert not param.stop_gradient


def asynchronous(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    """Tasks: in the order of the calls, whatever is waited for first."""
    with joined_job(rank, world_size, meeting, backend):
        tensors = [paddle.full([50000], float(rank + i)) for i in range(5)]
        tasks = [dist.all_reduce(t, sync_op=False) for t in tensors]
        last = paddle.full([1], float(rank))
        dist.broadcast(last, 1)  # waits its turn
        for i in reversed(range(5)):
            tasks[i].wait()
            assert float(tensors[i][0]) == sum(range(world_size)) + i * world_size
        assert float(last) == 1.0
        parts: list[Any] = []
        task = dist.all_gather(parts, paddle.full([2], rank), sync_op=False)
        task.wait()
        assert [int(p[0]) for p in parts] == list(range(world_size))
        dist.wait(tensors[0])
        task = dist.stream.all_reduce(paddle.ones([3]), ReduceOp.SUM, None, False)
        task.wait()
        with pytest.raises(RuntimeError, match="use_calc_stream"):
            dist.stream.all_reduce(paddle.ones([3]), sync_op=False, use_calc_stream=True)


def exchanges(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    with joined_job(rank, world_size, meeting, backend):
        n = world_size
        out: list[Any] = []
        dist.all_gather(out, paddle.full([2], rank))
        assert [_values(t) for t in out] == [[r, r] for r in range(n)]
        whole = paddle.zeros([2 * n], "int64")
        dist.stream.all_gather(whole, paddle.full([2], rank, "int64"))
        assert _values(whole) == [r for r in range(n) for _ in range(2)]
        columns = paddle.zeros([2, n], "int64").t()
        dist.stream.all_gather(columns, paddle.full([2], rank, "int64"))
        assert _values(columns) == [[r, r] for r in range(n)]
        dist.stream.all_gather(paddle.zeros([0]), paddle.zeros([0]))
        with pytest.raises(ValueError, match="times as many elements"):
            dist.stream.all_gather(paddle.zeros([1]), paddle.full([2], 1.0))

        got: list[Any] = []
        dist.gather(paddle.full([1], rank), got, dst=1)
        assert [int(t) for t in got] == (list(range(n)) if rank == 1 else [])

        part = paddle.zeros([2])
        dist.scatter(
            part, [paddle.full([2], 10.0 * r) for r in range(n)] if rank == 0 else None, src=0
        )
        assert _values(part) == [10.0 * rank] * 2
        dist.stream.scatter(part, paddle.arange(2 * n, dtype="float32") if rank == 1 else None, 1)
        assert _values(part) == [2.0 * rank, 2.0 * rank + 1]

        dist.reduce_scatter(part, [paddle.full([2], float(r)) for r in range(n)], ReduceOp.AVG)
        assert _values(part) == [float(rank)] * 2

        received: list[Any] = []
        dist.alltoall(received, [paddle.full([1], 10 * rank + r) for r in range(n)])
        assert [int(t) for t in received] == [10 * r + rank for r in range(n)]

        # rank s sends s + 1 rows to each
        sent = paddle.full([n * (rank + 1), 2], rank, "float32")
        taken = paddle.zeros([sum(range(1, n + 1)), 2])
        dist.alltoall_single(taken, sent, [rank + 1] * n, list(range(1, n + 1)))
        assert _values(taken[:, 0]) == [s for s in range(n) for _ in range(s + 1)]
        dist.stream.alltoall_single(taken, sent, list(range(1, n + 1)), [rank + 1] * n)
        with pytest.raises(ValueError, match="add up to"):
            dist.alltoall_single(taken, sent, [1] * n, [1] * n)
        empty = paddle.zeros([0, 3])
        dist.all_reduce(empty)
        dist.barrier()


def messages(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    """Large messages in both directions at once, and between all pairs in an order that a queue
    would not survive.
    """
    with joined_job(rank, world_size, meeting, backend):
        n = world_size
        following, previous = (rank + 1) % n, (rank - 1) % n
        if rank == 0:
            dist.send(paddle.full([3], 7.0), 1)
        elif rank == 1:
            x = paddle.zeros([3])
            dist.recv(x, 0)
            assert _values(x) == [7.0] * 3
        size = 400_000
        sent, taken = paddle.full([size], float(rank)), paddle.zeros([size])
        tasks = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, sent, following), dist.P2POp(dist.irecv, taken, previous)]
        )
        for task in tasks:
            task.wait()
        assert float(taken.min()) == float(taken.max()) == previous
        order = [(rank + k) % n for k in range(1, n)]
        inboxes = {peer: paddle.zeros([size]) for peer in order}
        tasks = [dist.isend(sent, peer) for peer in order]
        tasks += [dist.irecv(inboxes[peer], peer) for peer in order]
        for task in tasks:
            task.wait()
        assert all(float(box.max()) == peer for peer, box in inboxes.items())
        with pytest.raises(ValueError, match="cannot send to itself"):
            dist.send(sent, rank)
        with pytest.raises(AssertionError, match="not in group"):
            dist.isend(sent, n)


def groups(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    """Groups of three ranks that overlap; this process is not in each of them."""
    with joined_job(rank, world_size, meeting, backend) as world:
        assert dist.init_parallel_env() is world is dist.get_group() is dist.get_group(0)
        assert dist.get_backend() == backend.upper()
        nobody = dist.new_group([-1, -2])
        assert nobody.process_group is None
        assert dist.barrier(nobody) is None
        with pytest.raises(ValueError, match="outside the job"):
            dist.new_group([0, world_size])
        left, right = dist.new_group([0, 1]), dist.new_group([2, 1])
        assert (left.nranks, right.ranks) == (2, [1, 2])
        assert dist.get_group(right.id) is right
        assert [left.rank, right.rank] == [[0, -1], [1, 0], [-1, 1]][rank]
        assert [left.world_size, right.world_size] == [[2, -1], [2, 2], [-1, 2]][rank]
        assert (dist.get_rank(right), dist.get_world_size(left)) == (right.rank, left.world_size)
        assert (right.get_group_rank(2), right.get_group_rank(0)) == (1, -1)
        assert right.is_member() == (rank > 0)
        x = paddle.full([1], rank + 1.0)
        for group in (left, right):
            if group.rank >= 0:
                dist.all_reduce(x, group=group)
            else:
                with pytest.warns(UserWarning, match="not in group"):
                    assert dist.all_reduce(x, group=group) is None
        dist.barrier(left)
        assert float(x) == [3.0, 6.0, 6.0][rank]
        if right.rank >= 0:
            dist.broadcast(x, 2, right)  # global rank
            with pytest.raises(AssertionError, match="rank 0 is not in group"):
                dist.broadcast(x, 0, right)
        with pytest.raises(TypeError, match="must be a Group"):
            dist.all_reduce(x, group=[0, 1])
        dist.destroy_process_group(left)
        with pytest.warns(UserWarning, match="is not initialized"):
            assert dist.get_group(left.id) is None
        dist.all_reduce(x)


def again(rank: int, world_size: int, meeting: Meeting, *, second: Meeting) -> list[float]:
    """Leave the job and join another one in the same process."""
    seen = []
    for where in (meeting, second):
        with environment(job_variables(rank, world_size, where)):
            dist.init_parallel_env()
            assert dist.is_initialized()
            x = paddle.full([1], rank + 1.0)
            dist.all_reduce(x)
            seen.append(float(x))
            dist.destroy_process_group()
            assert not dist.is_initialized()
    return seen


class Secret:
    """A class that nobody has admitted."""


class Admitted:
    def __init__(self, value: int) -> None:
        self.value = value


def objects(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    with joined_job(rank, world_size, meeting, backend):
        found: list[Any] = []
        mine = {
            "rank": rank,
            "array": np.arange(rank + 1),
            "tensor": paddle.full([2], rank, "bfloat16"),
            "long": "x" * 3000 * rank,
        }
        dist.all_gather_object(found, mine)
        assert [f["rank"] for f in found] == list(range(world_size))
        assert [len(f["array"]) for f in found] == [r + 1 for r in range(world_size)]
        assert all(
            f["tensor"].dtype is paddle.bfloat16 and float(f["tensor"][0]) == r
            for r, f in enumerate(found)
        )
        listed = [rank, "a"] if rank == 1 else [None, None]
        dist.broadcast_object_list(listed, 1)
        assert listed == [1, "a"]
        out: list[Any] = []
        dist.scatter_object_list(
            out, [("for", r) for r in range(world_size)] if rank == 0 else None, 0
        )
        assert out == [("for", rank)]
        gathered: list[Any] = []
        dist.communication.gather_object(rank, gathered, 1)
        assert gathered == (list(range(world_size)) if rank == 1 else [])
        if rank == 0:
            dist.send_object_list([1, {"b": 2}], dst=1)
        elif rank == 1:
            inbox = [None, None]
            assert dist.recv_object_list(inbox, src=0) == 0
            assert inbox == [1, {"b": 2}]
        with pytest.raises(ValueError, match="Secret"):
            dist.all_gather_object([], Secret())
        paddle.framework.add_safe_globals([Admitted])
        found.clear()
        dist.all_gather_object(found, Admitted(rank))
        assert [f.value for f in found] == list(range(world_size))
        with pytest.raises(ValueError, match="at least one element"):
            dist.broadcast_object_list([], 0)


def leavings(rank: int, world_size: int, meeting: Meeting, *, second: Meeting) -> tuple[int, int]:
    """How many threads and descriptors a job leaves behind; the first one loads what stays."""
    counts = []
    for where in (meeting, second):
        with joined_job(rank, world_size, where):
            dist.all_reduce(paddle.ones([1]), sync_op=False).wait()
            layer = paddle.nn.Linear(2, 2)
            model = paddle.DataParallel(layer)
            model(paddle.ones([1, 2])).sum().backward()
            del layer, model
        gc.collect()
        counts.append((threading.active_count(), len(os.listdir("/proc/self/fd"))))
    return counts[1][0] - counts[0][0], counts[1][1] - counts[0][1]


def _appended(x: Any, kind: str, slot: str, result: str, **attributes: Any) -> list[Any]:
    """The result of an operator that is added by hand."""
    block = paddle.static.default_main_program().current_block()
    out = block.create_var(name="out", dtype="float32")
    attributes["ring_id"] = 0
    block.append_op(type=kind, inputs={slot: [x]}, outputs={result: [out]}, attrs=attributes)
    return [out]


def programs(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    """Each collective as an operator of a program; a feed says whose it is and which row."""
    n = world_size
    rows = [paddle.to_tensor([10.0 * r + i for i in range(n)]) for r in range(n)]
    own, total = rows[rank].tolist(), sum(rows).tolist()
    with joined_job(rank, world_size, meeting, backend):

        def run(build: Any) -> list[list[float]]:
            main = paddle.static.Program()
            with paddle.static.program_guard(main):
                x = paddle.static.data("x", [n])
                made = build(x) or [x]
            feed = np.array(own, "float32")
            got = paddle.static.Executor().run(main, feed={"x": feed}, fetch_list=made)
            assert feed.tolist() == own
            return [value.tolist() for value in got]

        def listed(call: Any) -> Any:
            def build(x: Any) -> Any:
                made: list[Any] = []
                call(made, x)
                return made

            return build

        def part(call: Any) -> Any:
            def build(x: Any) -> Any:
                made = x[:1]
                call(made, paddle.split(x, n))
                return [made]

            return build

        def message(x: Any) -> None:
            if rank == 0:
                dist.send(x, 1)
            if rank == 1:
                dist.recv(x, 0)
            dist.barrier()

        paddle.enable_static()
        try:
            assert run(dist.all_reduce) == [total]
            assert run(lambda x: dist.all_reduce(x, ReduceOp.MAX)) == [rows[-1].tolist()]
            assert run(lambda x: dist.broadcast(x, n - 1)) == [rows[-1].tolist()]
            assert run(lambda x: dist.reduce(x, 0)) == [total if rank == 0 else own]
            assert run(message) == [rows[0].tolist() if rank == 1 else own]
            assert run(listed(dist.all_gather)) == [row.tolist() for row in rows]
            sent = listed(lambda made, x: dist.alltoall(made, paddle.split(x, n)))
            assert run(sent) == [[10.0 * r + rank] for r in range(n)]
            assert run(part(dist.reduce_scatter)) == [[total[rank]]]
            assert run(part(dist.scatter)) == [[float(rank)]]
            with pytest.raises(TypeError, match="takes Variables"):
                dist.all_reduce(rows[0])
            assert run(lambda x: _appended(x, "c_allreduce_sum", "X", "Out")) == [total]
            assert run(lambda x: _appended(x, "all_reduce", "x", "out", reduce_type=0)) == [total]
            assert run(lambda x: _appended(x, "broadcast", "x", "out", root=1)) == [
                rows[1].tolist()
            ]
            whole = [value for row in rows for value in row.tolist()]
            assert run(lambda x: _appended(x, "all_gather", "x", "out", nranks=n)) == [whole]
        finally:
            paddle.disable_static()


def strategies(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    """Four ranks as two pairs of replicas, and as the stages of a pipeline."""
    from paddle.distributed.fleet.base.orthogonal_strategy import OrthogonalStrategy
    from paddle.distributed.fleet.base.strategy_group import DPGroup, PPGroup, ShardingGroup

    with joined_job(rank, world_size, meeting, backend):
        sides = [("dp", 2, DPGroup), ("sharding", 2, ShardingGroup), ("pp", 1, PPGroup)]
        strategy = OrthogonalStrategy(sides, {"all": ["dp", "sharding"]})
        assert strategy.strategy_group("dp").group.ranks == [rank % 2, rank % 2 + 2]
        assert strategy.strategy_group("sharding").group.ranks == [rank // 2 * 2, rank // 2 * 2 + 1]
        assert strategy.rank_in_strategy("dp") == rank // 2
        assert strategy.fused_strategy_group("all").world_size == 4
        with pytest.raises(AssertionError, match="need 2 ranks"):
            OrthogonalStrategy(sides[:1])
        stages = PPGroup([[0, 1, 2, 3]])
        assert (stages.rank_of_next_stage, stages.rank_of_prev_stage) == (
            (rank + 1) % 4, (rank - 1) % 4,
        )  # fmt: skip
        to_next, to_prev, from_next, from_prev = stages.p2p_groups
        assert sorted(to_next.ranks) == sorted(from_next.ranks) == sorted([rank, (rank + 1) % 4])
        assert sorted(to_prev.ranks) == sorted(from_prev.ranks) == sorted([rank, (rank - 1) % 4])
        with pytest.raises(AssertionError, match="multi dp groups"):
            DPGroup([[0, 1, 2, 3], [0, 1, 2, 3]])


def process_groups(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    """The collectives by their names in Paddle's core, on tensors of the face."""
    with joined_job(rank, world_size, meeting, backend):
        pg, n = dist.get_group().process_group, world_size
        assert (pg.rank(), pg.size()) == (rank, n)
        own = paddle.full([2], rank + 1.0)
        pg.allreduce(own).wait()
        assert _values(own) == [n * (n + 1) / 2] * 2
        pg.all_reduce(own, ReduceOp.MAX, sync_op=False).wait()
        assert _values(own) == [n * (n + 1) / 2] * 2
        own = paddle.full([1], float(rank))
        pg.reduce(own, 0)
        assert _values(own) == [n * (n - 1) / 2 if rank == 0 else rank]
        own = paddle.full([1], float(rank))
        pg.broadcast(own, n - 1)
        assert _values(own) == [n - 1]
        own, every = paddle.full([1], float(rank)), paddle.zeros([n])
        pg.all_gather(own, every)
        assert _values(every) == list(range(n))
        parts = [paddle.zeros([1]) for _ in range(n)]
        pg.all_gather(parts, own, True)
        pg.gather(own, parts, 0, True)
        assert [_values(part) for part in parts] == [[r] for r in range(n)]
        pg.scatter(every, own, 0)
        assert _values(own) == [rank]
        pg.scatter(own, parts[::-1], 0, True)
        assert _values(own) == [n - 1 - rank]
        pg.reduce_scatter(own, parts)
        assert _values(own) == [n * rank]
        out = paddle.zeros([n])
        pg.all_to_all(out, every)
        assert _values(out) == [rank] * n
        peer = (rank + 1) % n
        sent = pg.send(paddle.full([1], float(rank)), peer, False)
        pg.recv(own, (rank - 1) % n, True)
        sent.wait()
        assert _values(own) == [(rank - 1) % n]
        pg.barrier().wait()


def model_parallel(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    """Parts of weights on all ranks compute what the whole weights do, and get their gradients."""
    from paddle.distributed.fleet.layers.mpu import mp_ops

    with joined_job(rank, world_size, meeting, backend):
        n, world = world_size, dist.collective._get_default_group()
        values = np.arange(2.0 * n, dtype="float32")
        whole = [values.reshape(1, -1) - 1.5, values.reshape(-1, 1) * 0.5]
        x, first, second = (
            paddle.to_tensor(v, stop_gradient=False) for v in ([[2.0], [-3.0]], *whole)
        )
        (paddle.tanh(x @ first) @ second).square().sum().backward()
        expected = [x.grad.numpy(), *(w.grad.numpy() for w in (first, second))]
        own = slice(2 * rank, 2 * rank + 2)
        x, first, second = (
            paddle.to_tensor(v, stop_gradient=False)
            for v in ([[2.0], [-3.0]], whole[0][:, own], whole[1][own])
        )
        hidden = paddle.tanh(mp_ops._c_identity(x, world) @ first)
        hidden = mp_ops._c_split(mp_ops._c_concat(hidden, world), world)
        mp_ops._mp_allreduce(hidden @ second, group=world).square().sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), expected[0], rtol=1e-5)
        np.testing.assert_allclose(first.grad.numpy(), expected[1][:, own], rtol=1e-5)
        np.testing.assert_allclose(second.grad.numpy(), expected[2][own], rtol=1e-5)
        _sequences(rank, n, world)


def _sequences(rank: int, n: int, world: Any) -> None:
    from paddle.distributed.fleet.utils import sequence_parallel_utils as sequence

    weight = paddle.arange(1.0, 2 * n + 1).reshape([2 * n, 1])  # alike on all ranks
    whole = paddle.to_tensor(weight.numpy() * 10, stop_gradient=False)
    part = sequence.ScatterOp.apply(whole, group=world)
    assert _values(part) == _values(whole[2 * rank : 2 * rank + 2])
    joined = sequence.GatherOp.apply(part, group=world)
    assert _values(joined) == _values(whole)
    (joined * weight).sum().backward()
    assert _values(whole.grad) == _values(weight)
    part = paddle.full([2, 1], rank + 1.0)
    part.stop_gradient = False
    every = sequence.AllGatherOp.apply(part, group=world)
    assert _values(every[::2]) == [[r + 1.0] for r in range(n)]
    (every * weight * (rank + 1)).sum().backward()  # another loss on each rank: they are added
    factor = n * (n + 1) / 2
    assert _values(part.grad) == _values(weight[2 * rank : 2 * rank + 2] * factor)
    source = paddle.to_tensor(weight.numpy() * (rank + 1), stop_gradient=False)
    mine = sequence.ReduceScatterOp.apply(source, group=world)
    assert _values(mine) == _values(weight[2 * rank : 2 * rank + 2] * factor)
    (mine * (rank + 1)).sum().backward()
    assert _values(source.grad) == [[r // 2 + 1.0] for r in range(2 * n)]
    with pytest.raises(AssertionError, match="divided exactly"):
        sequence.ScatterOp.apply(paddle.ones([2 * n + 1]), group=world)
