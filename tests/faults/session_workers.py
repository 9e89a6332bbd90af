"""What the workers do in the tests of sessions and of several groups; see ``test_sessions.py``."""

from __future__ import annotations

import atexit
import gc
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

import paddle
import paddle.distributed as dist
from argosy.foundation.errors import ArgosyError, CollectiveMismatch, PeerLost
from support.job import environment, job_variables, joined_job
from support.join import joined

Meeting = dict[str, Any]
LENGTH = 70_000  # two pieces


def sums_are_right(rank: int, world_size: int, group: Any = None, rounds: int = 4) -> None:
    """Every element has (rank, round, index) in it, so that a step too many or a chunk of another
    round shows.
    """
    ranks = list(range(world_size)) if group is None else group.ranks
    index = np.arange(LENGTH)
    for i in range(rounds):
        x = paddle.to_tensor(((rank + 1) * 1000 + i * 10 + index % 7).astype("float32"))
        dist.all_reduce(x, group=group)
        expected = sum((r + 1) * 1000 for r in ranks) + len(ranks) * (i * 10 + index % 7)
        np.testing.assert_array_equal(x.numpy(), expected.astype("float32"))


# -- forked children
# ------------------------------------------------------------------------------------------------


def in_child(act: Callable[[], Any]) -> Any:
    """What ``act`` returns in a child that is forked here and ends as a script does, by its exit
    handlers.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read)
            os.write(write, json.dumps(act()).encode())
            atexit._run_exitfuncs()
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0
    return json.loads(answer)


def refusal(call: Callable[[], Any]) -> str:
    try:
        call()
    except ArgosyError as error:
        return f"{type(error).__name__}: {error}"
    return "it went well"


def forked(
    rank: int, world_size: int, meeting: Meeting, *, backend: str
) -> tuple[dict[str, str], float]:
    """Rank 1 forks a child that tries everything; the ranks go on after it as if nothing had
    been.
    """
    with joined_job(rank, world_size, meeting, backend):
        pair = dist.new_group([0, 1])
        model = paddle.nn.Linear(2, 1)
        wrapped = paddle.DataParallel(model)
        wrapped(paddle.full([3, 2], rank + 1.0)).sum().backward()
        expected = model.weight.grad.numpy().copy()
        pending = dist.all_reduce(paddle.ones([LENGTH]), sync_op=False)
        pending.wait()

        def backward() -> None:
            wrapped(paddle.full([1, 2], 99.0)).sum().backward()

        def misbehave() -> dict[str, str]:
            x = paddle.full([3], 77.0)
            calls: dict[str, Callable[[], Any]] = {
                "all_reduce": lambda: dist.all_reduce(x),
                "broadcast": lambda: dist.broadcast(x, 0),
                "asynchronous": lambda: dist.all_reduce(x, sync_op=False),
                "barrier": dist.barrier,
                "pair": lambda: dist.all_reduce(x, group=pair),
                "send": lambda: dist.send(x, 0),
                "recv": lambda: dist.recv(x, 0),
                "isend": lambda: dist.isend(x, 0),
                "object": lambda: dist.all_gather_object([], 1),
                "direct": lambda: dist.get_group().process_group.barrier(),
                "backward": backward,
                "new_group": lambda: dist.new_group([0, 1]),
                "init": dist.init_parallel_env,
            }
            found = {name: refusal(call) for name, call in calls.items()}
            assert dist.get_rank() == 1
            model.weight.grad.set_value(paddle.full([2, 1], -1.0))
            dist.destroy_process_group(pair)
            dist.destroy_process_group()
            return found

        found: dict[str, str] = {}
        begin = time.monotonic()
        if rank == 1:
            found = in_child(misbehave)
        named_s = time.monotonic() - begin
        np.testing.assert_array_equal(model.weight.grad.numpy(), expected)
        sums_are_right(rank, world_size)
        if pair.rank >= 0:
            sums_are_right(rank, world_size, pair)
        model.clear_gradients()
        wrapped(paddle.full([3, 2], rank + 1.0)).sum().backward()
        np.testing.assert_array_equal(model.weight.grad.numpy(), expected)
        dist.new_group([0, 1])
        return found, named_s


def forked_from_a_host(rank: int, world_size: int, *, name: str, rendezvous: Any) -> str:
    """A group over made-up hosts; rank 1 forks."""
    with joined("hierarchical", name, rank, world_size, rendezvous, hosts=list("aab")) as group:
        bucket = group.make_bucket(4, torch.float32)

        def misbehave() -> list[str]:
            calls = (group.barrier, bucket.publish, lambda: group.send(torch.ones(1), 0))
            return [refusal(call) for call in calls]

        found = in_child(misbehave) if rank == 1 else []
        for i in range(3):
            bucket.tensor.copy_(torch.arange(4) + 100.0 * rank + 1000 * i)
            bucket.publish()
            bucket.finish()
            np.testing.assert_allclose(bucket.tensor.numpy(), np.arange(4) + 100.0 + 1000 * i)
        bucket.close()
        return "\n".join(found)


class _WithModel(paddle.io.Dataset):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model

    def __len__(self) -> int:
        return 12

    def __getitem__(self, i: int) -> np.ndarray:
        with paddle.no_grad():
            return (
                self._model(paddle.full([1, 2], float(i))).numpy()[0] * 0
                + i
                + 100 * dist.get_rank()
            )


def data_loader(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    """Forked workers of a DataLoader, whose dataset holds a DataParallel, between the steps of
    training.
    """
    # a worker of the pool is daemonic, which may not have children; a rank is not
    with pytest.MonkeyPatch.context() as patch, joined_job(rank, world_size, meeting, backend):
        patch.setitem(multiprocessing.current_process()._config, "daemon", False)
        wrapped = paddle.DataParallel(paddle.nn.Linear(2, 1))
        for _ in range(2):
            loader = paddle.io.DataLoader(_WithModel(wrapped), batch_size=3, num_workers=2)
            seen = []
            for batch in loader:
                wrapped(paddle.full([1, 2], rank + 1.0)).sum().backward()
                np.testing.assert_array_equal(
                    wrapped.parameters()[0].grad.numpy(), [[(world_size + 1) / 2]] * 2
                )
                wrapped.clear_gradients()
                seen += batch.numpy().ravel().tolist()
            assert seen == [100 * rank + i for i in range(12)]
        sums_are_right(rank, world_size)


def death_behind_a_child(
    rank: int, world_size: int, meeting: Meeting, *, backend: str
) -> tuple[str, float] | None:
    """Rank 1 dies while a child that it forked lives on, with copies of all its connections."""
    with joined_job(rank, world_size, meeting, backend) as world:
        if rank == 1:
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(write)
                os.read(read, 1)  # until rank 1 is no more
                time.sleep(3)
                os._exit(0)
            dist.barrier()
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()

        def until_it_fails() -> None:
            while True:
                dist.all_reduce(paddle.ones([3]), group=world)

        return _caught(until_it_fails, PeerLost)


# -- ranks that wait for each other
# ---------------------------------------------------------------------------------


def _caught(call: Callable[[], Any], kind: type[Exception]) -> tuple[str, float]:
    begin = time.monotonic()
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value), time.monotonic() - begin


def opposite_order(
    rank: int, world_size: int, meeting: Meeting, *, backend: str
) -> tuple[str, float]:
    """Two groups of the same two ranks, used the other way round."""
    with joined_job(rank, world_size, meeting, backend):
        groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
        for group in groups:
            sums_are_right(rank, world_size, group, rounds=1)
        return _caught(
            lambda: dist.all_reduce(paddle.ones([3]), group=groups[rank]), CollectiveMismatch
        )


def circle(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> tuple[str, float]:
    """Each of three ranks waits for the next one, in a group of the two."""
    with joined_job(rank, world_size, meeting, backend):
        groups = [dist.new_group([r, (r + 1) % 3]) for r in range(3)]
        return _caught(lambda: dist.barrier(groups[rank]), CollectiveMismatch)


def lonely_new_group(
    rank: int, world_size: int, meeting: Meeting, *, backend: str
) -> tuple[str, float]:
    with joined_job(rank, world_size, meeting, backend):
        if rank == 0:
            return _caught(lambda: dist.new_group([0, 1]), CollectiveMismatch)
        return _caught(dist.barrier, CollectiveMismatch)


def queue_is_no_circle(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> None:
    """What looks like a circle of the main threads is none: rank 0 has submitted what rank 1 waits
    for.
    """
    with joined_job(rank, world_size, meeting, backend):
        first, second = dist.new_group([0, 1]), dist.new_group([0, 1])
        x, y = paddle.full([3], rank + 1.0), paddle.full([3], rank + 10.0)
        if rank == 0:
            # the queue comes late: longer than it takes to be sure of a circle
            blocker = second.submit(time.sleep, 1.8)
            task = dist.all_reduce(y, group=second, sync_op=False)
            dist.all_reduce(x, group=first)
            task.wait()
            blocker.wait()
        else:
            dist.all_reduce(y, group=second)
            dist.all_reduce(x, group=first)
        assert float(x[0]) == 3.0
        assert float(y[0]) == 21.0


def different_groups(rank: int, world_size: int, meeting: Meeting) -> str:
    """Both make a group, but not the same one."""
    with joined_job(rank, world_size, meeting, "shm"):
        members = [[0, 1], [0, 1, 2]][rank] if rank < 2 else None
        if members is None:
            # stays away until both have noticed
            dist.recv(paddle.zeros([1]), 0)
            dist.recv(paddle.zeros([1]), 1)
            return ""
        message, _ = _caught(lambda: dist.new_group(members), CollectiveMismatch)
        dist.send(paddle.zeros([1]), 2)
        return message


def different_backends(rank: int, world_size: int, meeting: Meeting) -> str:
    with environment(job_variables(rank, world_size, meeting, ["shm", "gloo"][rank])):
        return _caught(dist.init_parallel_env, CollectiveMismatch)[0]


def gone_from_new_group(
    rank: int, world_size: int, meeting: Meeting, *, backend: str, way: str, note: str
) -> tuple[str, float] | None:
    """Rank 1 dies or leaves while rank 0 makes a group with it."""
    with joined_job(rank, world_size, meeting, backend):
        dist.barrier()
        if rank == 0:
            message, _ = _caught(lambda: dist.new_group([0, 1]), PeerLost)
            return message, time.monotonic() - float(open(note).read())
        time.sleep(0.3)
        with open(f"{note}-new", "w") as file:
            file.write(str(time.monotonic()))
        os.replace(f"{note}-new", note)
        if way == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
    return None


# -- one session after another
# --------------------------------------------------------------------------------------


def _leavings() -> tuple[int, int, int]:
    gc.collect()
    with open("/proc/self/maps") as lines:
        segments = sum("memfd:argosy-" in line for line in lines)
    return threading.active_count(), len(os.listdir("/proc/self/fd")), segments


@contextmanager
def _job(
    rank: int, world_size: int, meeting: Meeting, backend: str, is_served: bool
) -> Iterator[None]:
    variables = job_variables(rank, world_size, meeting, backend)
    if not is_served:
        variables["ARGOSY_STORE_SERVED"] = None
    with environment(variables):
        yield


def cycles(
    rank: int, world_size: int, meeting: Meeting, *, backend: str, is_served: bool, port: int = 0
) -> list[Any]:
    """Join and leave four times, with a group of some ranks that is made, left and made again;
    returns what each time left behind.
    """
    left = []
    if port:
        meeting = {**meeting, "port": port}
    with _job(rank, world_size, meeting, backend, is_served):
        for i in range(4):
            if rank == i % world_size:
                time.sleep(0.2)  # the others are there first, or still there
            world = dist.init_parallel_env()
            assert dist.init_parallel_env() is world
            sums_are_right(rank, world_size, rounds=2)
            for _ in range(2):
                pair = dist.new_group([0, 1])
                if pair.rank >= 0:
                    sums_are_right(rank, world_size, pair, rounds=1)
                dist.destroy_process_group(pair)
            dist.barrier()
            if rank == 0 and i % 2:
                # others have left and come again before; where rank 0 serves the store, to the old
                # one
                time.sleep(0.3)
            dist.destroy_process_group()
            assert not dist.is_initialized()
            left.append(_leavings())
    return left


def one_session_too_many(rank: int, world_size: int, meeting: Meeting) -> tuple[str, float]:
    """Rank 0 joins a second time while rank 1 is in the first session, and then has ended."""
    with _job(rank, world_size, meeting, "shm", is_served=True):
        dist.init_parallel_env()
        dist.barrier()
        if rank == 0:
            dist.destroy_process_group()
            return _caught(dist.init_parallel_env, PeerLost)
        _caught(dist.barrier, PeerLost)
        os._exit(3)
