"""Recomputation: the same numbers, with less kept for the backward pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
from argosy.foundation.errors import BadArgument, ProgramError, UsageError
from argosy.static.record.recompute import recompute_program
from paddle.incubate.optimizer import RecomputeOptimizer

F = paddle.nn.functional
FEED = {"x": np.random.RandomState(0).randn(6, 4).astype("float32")}


def build(checkpoints=None, layers=4):
    """A stack of layers with dropout and running statistics; returns the loss and what may be a
    checkpoint.
    """
    x = paddle.static.data("x", [None, 4])
    ends = []
    for index in range(layers):
        rng = np.random.RandomState(index)
        weight = rng.randn(x.shape[-1], 8).astype("float32") / 2
        attr = paddle.ParamAttr(name=f"w{index}", initializer=paddle.nn.initializer.Assign(weight))
        x = paddle.static.nn.fc(x, 8, weight_attr=attr, activation="tanh")
        x = F.dropout(paddle.static.nn.batch_norm(x), 0.2)
        ends.append(x)
    loss = (x**2).mean()
    chosen = [ends[i] for i in checkpoints] if checkpoints is not None else None
    pairs = paddle.static.append_backward(loss, checkpoints=chosen)
    paddle.static.default_main_program().random_seed = 5
    return loss, ends, pairs


def trained(fetches):
    """Values fetched in a fresh scope, and the parameters afterwards."""
    with paddle.static.scope_guard(paddle.static.Scope()):
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        values = [exe.run(feed=FEED, fetch_list=fetches) for _ in range(2)]
        held = [
            np.array(p.get_value()) for p in paddle.static.default_main_program().all_parameters()
        ]
    return [v for step in values for v in step] + held


def fresh(*args, **kwargs):
    with (
        paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
        paddle.utils.unique_name.guard(),
    ):
        loss, ends, pairs = build(*args, **kwargs)
        return trained([loss, *[g for _, g in pairs], f"{ends[1].name}@GRAD", ends[0]])


@pytest.mark.parametrize("checkpoints", [[0, 1, 2, 3], [1], [2, 0], [3]])
def test_numbers_are_the_same(checkpoints):
    """Dropout masks and running statistics too."""
    for one, other in zip(fresh(), fresh(checkpoints), strict=True):
        np.testing.assert_array_equal(one, other)


class Counter:
    """Counts the elements that autograd keeps, outside of what is recomputed."""

    def __enter__(self):
        self.elements = 0

        def pack(tensor):
            self.elements += tensor.numel()
            return tensor

        self._hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        self._hooks.__enter__()
        return self

    def __exit__(self, *exc):
        self._hooks.__exit__(*exc)


def kept(checkpoints):
    with (
        paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
        paddle.utils.unique_name.guard(),
    ):
        loss, _, pairs = build(checkpoints, layers=6)
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        feed = {"x": np.ones((200, 4), "float32")}  # so that activations outweigh parameters
        with Counter() as counter:
            exe.run(feed=feed, fetch_list=[loss, *[g for _, g in pairs]])
    return counter.elements


def test_less_is_kept_for_the_backward_pass():
    all_kept, some_kept = kept(None), kept([0, 1, 2, 3, 4])
    assert some_kept < all_kept / 2


def test_the_operators_after_the_last_checkpoint_are_not_recomputed():
    loss, _, _ = build([0])
    trained([loss, "w0@GRAD"])
    [lowered] = paddle.static.default_main_program().lowered.values()
    assert lowered.source.count("recomputed(") == 1


def test_an_error_in_a_span_names_its_operator():
    x = paddle.static.data("x", [None, 4])
    y = paddle.static.data("y", [None, 4])
    w = paddle.static.create_parameter([4], "float32")
    total = x * w + y
    loss = total.sum()
    paddle.static.append_backward(loss, checkpoints=[total])
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    with pytest.raises(UsageError, match=r"operator 1 'elementwise_add'"):
        exe.run(
            feed={"x": np.ones((3, 4), "float32"), "y": np.ones((2, 4), "float32")},
            fetch_list=[loss, f"{w.name}@GRAD"],
        )


def test_checkpoints_are_kept_in_copies():
    build([1])
    copy = paddle.static.default_main_program().clone()
    [operator] = [o for o in copy.global_block().ops if o.type == "backward"]
    assert operator.kwargs["checkpoints"]


def test_an_optimizer_with_checkpoints():
    x = paddle.static.data("x", [None, 4])
    hidden = paddle.static.nn.fc(x, 3, activation="tanh")
    loss = paddle.static.nn.fc(hidden, 1).mean()
    optimizer = RecomputeOptimizer(paddle.optimizer.SGD(0.1))
    with pytest.raises(BadArgument, match="_set_checkpoints"):
        optimizer.minimize(loss)
    optimizer._set_checkpoints([hidden])
    _, pairs = optimizer.minimize(loss)
    before = trained([loss])
    assert before[0] > before[1]  # of the two runs
    assert len(pairs) == 4


def test_a_checkpoint_must_be_a_variable():
    loss, _, _ = build()
    program = paddle.static.default_main_program()
    with pytest.raises(UsageError, match="'nothing' is not a variable"):
        recompute_program(program, ["nothing"])
    recompute_program(program, ["x"])  # what is fed is kept anyway
    with pytest.raises(ProgramError, match="no backward operator"):
        recompute_program(program.clone(for_test=True), [loss.name])


def test_places_draw_the_same_numbers_again():
    """Each place of a data-parallel run has a stream of random numbers of its own."""

    def trained_on_two_places(checkpoints):
        with (
            paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
            paddle.utils.unique_name.guard(),
            paddle.static.scope_guard(paddle.static.Scope()),
        ):
            loss, _, pairs = build(checkpoints)
            paddle.optimizer.SGD(0.1).apply_gradients(pairs)
            exe = paddle.static.Executor()
            exe.run(paddle.static.default_startup_program())
            main = paddle.static.default_main_program()
            both = paddle.static.CompiledProgram(main).with_data_parallel(
                loss.name, places=paddle.static.cpu_places(2)
            )
            losses = [exe.run(both, feed=FEED, fetch_list=[loss])[0] for _ in range(3)]
            return losses, [np.array(p.get_value()) for p in main.all_parameters()]

    kept, again = trained_on_two_places(None), trained_on_two_places([0, 1, 2])
    assert kept[0][0].shape == (2,)
    assert kept[0][0][0] != kept[0][0][1]
    np.testing.assert_array_equal(kept[0], again[0])
    for one, other in zip(kept[1], again[1], strict=True):
        np.testing.assert_array_equal(one, other)
