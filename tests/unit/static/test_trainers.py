"""The seam to other processes, with a stand-in for a second trainer whose gradients are three times
ours.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
from argosy.foundation.errors import ConfigError
from argosy.static.parallel import trainers as holder
from argosy.static.run.contract import PreparedProgram

static = paddle.static


class Buffer:
    def __init__(self, numel, dtype, device):
        self.tensor = torch.zeros(numel, dtype=dtype, device=device)
        self.is_closed = False

    def average(self):
        self.tensor.mul_(2.0)  # (1 + 3) / 2

    def close(self):
        self.is_closed = True


class Pair:
    """Two trainers, of which this process is the second."""

    rank, world_size = 1, 2

    def __init__(self):
        self.buffers = []
        self.broadcasts = 0

    def buffer(self, numel, dtype, device):
        self.buffers.append(Buffer(numel, dtype, device))
        return self.buffers[-1]

    def check_same(self, lines):
        pass

    def total(self, tensor):
        tensor.mul_(2.0)

    def average_rows(self, grad):
        return grad * 2.0

    def broadcast(self, tensors):
        self.broadcasts += 1
        for tensor in tensors:
            if tensor.shape == (1, 1):
                tensor.fill_(100.0)


@pytest.fixture
def trainers():
    pair = Pair()
    holder.install(pair)
    yield pair
    holder.install(None)


@pytest.fixture
def exe():
    with static.Executor(paddle.CPUPlace()) as executor:
        yield executor


def slope(exe):
    """A loss whose gradient is the mean of what is fed; returns it and the values of its
    parameter.
    """
    x = static.data("x", [None, 1])
    w = static.create_parameter(
        [1, 1], "float32", default_initializer=paddle.nn.initializer.Constant(0.0)
    )
    loss = paddle.mean(x @ w)
    paddle.optimizer.SGD(1.0).minimize(loss)
    exe.run(static.default_startup_program())
    return loss, lambda: np.array(static.global_scope().find_var(w.name).get_tensor()).item()


def strategy(**fields):
    made = static.BuildStrategy()
    made.num_trainers, made.trainer_id = 2, 1
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def column(*numbers):
    return {"x": np.array(numbers, "float32")[:, None]}


@pytest.mark.parametrize(("scale", "expected"), [("CoeffNumDevice", 2 * 3.0), ("One", 2 * 2 * 6.0)])
def test_places_add_and_trainers_average_or_add(exe, trainers, scale, expected):
    loss, weight = slope(exe)
    build = strategy(gradient_scale_strategy=static.BuildStrategy.GradientScaleStrategy[scale])
    program = static.CompiledProgram(static.default_main_program()).with_data_parallel(
        loss.name, build, places=static.cpu_places(2)
    )
    exe.run(program, feed=column(1, 5))
    assert weight() == 100.0 - expected  # it began with the value of trainer 0
    exe.run(program, feed=column(1, 5))
    assert weight() == 100.0 - 2 * expected
    assert trainers.broadcasts == 1
    assert len(trainers.buffers) == 1
    program.close()
    assert trainers.buffers[0].is_closed


def test_a_program_compiled_for_trainers_replaces_the_plain_one(exe, trainers):
    loss, weight = slope(exe)
    main = static.default_main_program()
    main.attachments.put(PreparedProgram, static.CompiledProgram(main, strategy()))
    [value] = exe.run(main, feed=column(1, 5), fetch_list=[loss])
    assert value.shape == ()
    assert weight() == 100.0 - 2 * 3.0


def test_memory_that_trainers_share_is_not_dropped_by_one_of_them(exe, trainers):
    loss, weight = slope(exe)
    execution = static.ExecutionStrategy()
    execution.num_iteration_per_drop_scope = 1
    program = static.CompiledProgram(static.default_main_program()).with_data_parallel(
        loss.name, strategy(), execution, places=static.cpu_places(2)
    )
    for step in (1, 2):
        exe.run(program, feed=column(1, 5))
        assert weight() == 100.0 - step * 6.0
    assert [buffer.is_closed for buffer in trainers.buffers] == [False]


def test_another_job_than_the_one_joined_is_told(trainers):
    assert holder.find(1, 0) is None
    assert holder.find(2, 1) is trainers
    with pytest.raises(
        ConfigError,
        match="num_trainers=4 and trainer_id=1, but this process is rank 1 of a job of 2",
    ):
        holder.find(4, 1)
    holder.install(None)
    with pytest.raises(ConfigError, match=r"Call paddle\.distributed\.init_parallel_env\(\)"):
        holder.find(2, 1)
