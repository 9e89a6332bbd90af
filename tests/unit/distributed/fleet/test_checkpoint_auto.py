"""``fleet.auto_checkpoint`` in one process: a run that is interrupted and begun again gives the
numbers of one that is not.
"""

from __future__ import annotations

import contextlib
import functools
import random

import numpy as np
import pytest
import torch

import paddle
import paddle.distributed.fleet as fleet
from argosy.distributed.fleet.checkpoints.folders import MANIFEST
from argosy.foundation.errors import CheckpointError, UsageError


class Noisy(paddle.io.Dataset):
    """Samples that depend on the generators, as augmented ones do."""

    def __init__(self, size=10):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return np.float32([i, np.random.rand(), random.random()]), np.int64(i)


class Interrupted(Exception):
    pass


@pytest.fixture(autouse=True)
def alone():
    fleet.init(is_collective=True)
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(before[0])
    np.random.set_state(before[1])
    torch.set_rng_state(before[2])


def seed(number):
    random.seed(number)
    np.random.seed(number)
    paddle.seed(number)


def as_a_new_process(run):
    """Names count from 0 again."""

    @functools.wraps(run)
    def guarded(*args, **kwargs):
        with paddle.utils.unique_name.guard():
            return run(*args, **kwargs)

    return guarded


@as_a_new_process
def face_run(folder, stop_after=10**6, num_workers=0, sampler=None, epochs=2):
    """What one process sees and computes until it is interrupted: the samples of each step and the
    loss.
    """
    seed(7)
    parts = (
        paddle.nn.Linear(3, 4),
        paddle.nn.Dropout(0.5),
        paddle.nn.BatchNorm1D(4),
        paddle.nn.Linear(4, 1),
    )
    model = paddle.nn.Sequential(*parts)
    lr = paddle.optimizer.lr.StepDecay(0.05, 1)
    optimizer = paddle.optimizer.Adam(lr, parameters=model.parameters())
    data = Noisy()
    batches = sampler(data) if sampler else paddle.io.BatchSampler(data, shuffle=True, batch_size=2)
    loader = paddle.io.DataLoader(data, batch_sampler=batches, num_workers=num_workers)
    log = []
    run = fleet.auto_checkpoint(folder, 3, model=model, optimizer=optimizer, loader=loader)
    if run.resumed_from is not None:
        seed(99)  # what the script draws before it goes on must not matter
    with contextlib.suppress(Interrupted):
        for epoch in run.epochs(epochs):
            for x, i in run.batches():
                loss = (model(x) ** 2).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                log.append((epoch, run.num_steps, i.tolist(), float(loss)))
                if len(log) == stop_after:
                    raise Interrupted
            lr.step()
    return run, log, {k: v.numpy() for k, v in model.state_dict().items()}


def distributed(data):
    return paddle.io.DistributedBatchSampler(data, 2, num_replicas=1, rank=0, shuffle=True)


def check_goes_on(tmp_path, runs, stop_after, every=3):
    _, whole, final = runs(tmp_path / "whole")
    run, begun, _ = runs(tmp_path / "parts", stop_after=stop_after)
    # the interrupted run must have drawn the same numbers as the other up to there
    assert begun == whole[:stop_after]
    run, rest, found = runs(tmp_path / "parts")
    done = (stop_after - 1) // every * every  # the step under way was not complete
    assert run.resumed_from == (done or None)
    assert rest == whole[done:]
    for name, value in final.items():
        np.testing.assert_array_equal(found[name], value)


def test_every_point_of_interruption(tmp_path):
    for stop_after in (1, 3, 4, 5, 6, 9, 10):
        (tmp_path / str(stop_after)).mkdir()
        check_goes_on(tmp_path / str(stop_after), face_run, stop_after)


@pytest.mark.parametrize(("sampler", "num_workers"), [(distributed, 0), (None, 1)])
def test_samplers_and_workers(tmp_path, sampler, num_workers):
    def runs(folder, stop_after=10**6):
        return face_run(folder, stop_after, num_workers, sampler)

    _, whole, _ = runs(tmp_path / "whole")
    runs(tmp_path / "parts", 8)
    _, rest, _ = runs(tmp_path / "parts")
    assert [entry[:3] for entry in rest] == [entry[:3] for entry in whole[6:]]
    if not num_workers:
        assert rest == whole[6:]
    assert sorted(i for _, _, indices, _ in whole[:5] for i in indices) == list(range(10))


def torch_run(folder, stop_after=10**6):
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    lr = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    data = torch.utils.data.TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    loader = torch.utils.data.DataLoader(data, batch_size=2, shuffle=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0, growth_interval=2)
    run = fleet.auto_checkpoint(
        folder, 2, model=model, optimizer=optimizer, lr=lr, loader=loader, scaler=scaler
    )
    log = []
    with contextlib.suppress(Interrupted):
        for _ in run.epochs(3):
            for x, i in run.batches():
                loss = (model(x) ** 2).mean()
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
                log.append(
                    (i.tolist(), loss.item(), optimizer.param_groups[0]["lr"], scaler.get_scale())
                )
                if len(log) == stop_after:
                    raise Interrupted
            lr.step()
    return run, log, {k: v.numpy() for k, v in model.state_dict().items()}


@pytest.mark.parametrize("stop_after", [3, 4, 7, 9])
def test_torch_modules(tmp_path, stop_after):
    check_goes_on(tmp_path, torch_run, stop_after, every=2)


def test_steps_without_a_loader(tmp_path):
    def work(folder, stop_after=10**6):
        torch.manual_seed(1)
        model = torch.nn.Linear(2, 2)
        run = fleet.auto_checkpoint(folder, 2, model=model)
        torch.manual_seed(run.num_steps + 5)
        log = []
        for i in run.steps(6):
            if run.resumed_from is None and i == 0:
                torch.manual_seed(3)
            log.append((i, torch.rand(1).item()))
            if len(log) == stop_after:
                break
        return log

    whole = work(tmp_path / "whole")
    work(tmp_path / "parts", 5)
    assert work(tmp_path / "parts") == whole[4:]
    assert work(tmp_path / "parts") == []


@as_a_new_process
def static_run(folder, stop_after=10**6):
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with (
            paddle.static.scope_guard(paddle.static.Scope()),
            paddle.static.program_guard(main, startup),
        ):
            x = paddle.static.data("x", [None, 2])
            loss = (paddle.static.nn.fc(x, 1) ** 2).mean()
            lr = paddle.optimizer.lr.ExponentialDecay(0.1, 0.9)
            fleet.distributed_optimizer(
                paddle.optimizer.Adam(lr), fleet.DistributedStrategy()
            ).minimize(loss)
            exe = paddle.static.Executor()
            startup.random_seed = 3
            paddle.seed(3)
            exe.run(startup)
            run = fleet.auto_checkpoint(folder, 2, model=main, lr=lr)
            log = []
            for i in run.steps(7):
                (value,) = exe.run(
                    main, feed={"x": np.full((2, 2), i + 1, "float32")}, fetch_list=[loss]
                )
                lr.step()
                log.append(float(value))
                if len(log) == stop_after:
                    break
            return log
    finally:
        paddle.disable_static()


def test_static_programs(tmp_path):
    whole = static_run(tmp_path / "whole")
    assert static_run(tmp_path / "parts", 5) == whole[:5]
    assert static_run(tmp_path / "parts") == whole[4:]


def test_gradients_that_wait_for_their_update(tmp_path):
    """gradient_merge over 3 steps, with a checkpoint after 2."""

    @as_a_new_process
    def work(folder, stop_after=10**6):
        paddle.seed(2)
        model = paddle.nn.Linear(2, 1)
        strategy = fleet.DistributedStrategy()
        strategy.gradient_merge = True
        strategy.gradient_merge_configs = {"k_steps": 3, "avg": True}
        optimizer = fleet.distributed_optimizer(
            paddle.optimizer.Momentum(0.1, parameters=model.parameters()), strategy
        )
        run = fleet.auto_checkpoint(folder, 2, model=model, optimizer=optimizer)
        log = []
        for i in run.steps(6):
            loss = (model(paddle.full([1, 2], float(i + 1))) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            log.append(float(loss))
            if len(log) == stop_after:
                break
        return log, model.weight.numpy().tolist()

    whole, final = work(tmp_path / "whole")
    work(tmp_path / "parts", 3)
    assert work(tmp_path / "parts") == (whole[2:], final)


# -- refusals
# --------------------------------------------------------------------------------------------------


def saved(folder, sizes=(2, 3), steps=4, cls=torch.optim.SGD, **kwargs):
    torch.manual_seed(0)
    model = torch.nn.Linear(*sizes)
    run = fleet.auto_checkpoint(
        folder, 2, model=model, optimizer=cls(model.parameters(), lr=0.1), **kwargs
    )
    for _ in run.steps(steps):
        with torch.no_grad():
            model.weight += 1
    return run, model


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path, caplog):
    saved(tmp_path)
    (tmp_path / "step-0000000004" / "rank-00000.state").write_bytes(b"")
    assert saved(tmp_path, steps=0)[0].resumed_from == 2
    (tmp_path / "step-0000000002" / MANIFEST).write_text("")
    with pytest.raises(CheckpointError, match="no checkpoint is usable"):
        saved(tmp_path, steps=0)


def assert_the_one_before_is_taken(folder, caplog, name):
    """One warning, which names what was hit."""
    caplog.clear()
    assert saved(folder, steps=0)[0].resumed_from == 2
    [warning] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "leaving out" in warning
    assert name in warning


def hit(data, place):
    return data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]


@pytest.mark.attack("a byte of the newest checkpoint of a run is hit: the one before is taken")
def test_whatever_byte_is_hit_the_one_before_is_taken(tmp_path, caplog):
    saved(tmp_path)
    for path in sorted((tmp_path / "step-0000000004").iterdir()):
        data = path.read_bytes()
        places = (
            range(len(data))
            if path.name == MANIFEST
            else random.Random(5).sample(range(len(data)), 60)
        )
        for place in places:
            path.write_bytes(hit(data, place))
            assert_the_one_before_is_taken(tmp_path, caplog, path.name)
        path.write_bytes(data)
    assert saved(tmp_path, steps=0)[0].resumed_from == 4


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.attack("each byte of the newest checkpoint of a run is hit: the one before is taken")
def test_all_bytes_of_a_state(tmp_path, caplog):
    saved(tmp_path)
    path = tmp_path / "step-0000000004" / "rank-00000.state"
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(hit(data, place))
        assert_the_one_before_is_taken(tmp_path, caplog, path.name)


@pytest.mark.attack(
    "a file of the newest checkpoint of a run is cut short, removed, renamed or put there"
)
def test_whatever_file_is_missing_the_one_before_is_taken(tmp_path, caplog):
    saved(tmp_path)
    folder = tmp_path / "step-0000000004"
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        for length in (0, 1, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:length])
            assert_the_one_before_is_taken(tmp_path, caplog, path.name)
        path.unlink()
        assert_the_one_before_is_taken(tmp_path, caplog, path.name)
        other = path.with_name(f"x{path.name}")
        other.write_bytes(data)
        assert_the_one_before_is_taken(tmp_path, caplog, path.name)
        other.rename(path)
    more = folder / "rank-00001.state"
    more.write_bytes(data)
    assert_the_one_before_is_taken(tmp_path, caplog, more.name)
    more.unlink()
    for name in (
        "step-0000000005",
        "stop-0000000004",
        "step-00000000041",
        "step-\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0664",
    ):
        folder.rename(tmp_path / name)
        assert_the_one_before_is_taken(tmp_path, caplog, "step 5" if name.endswith("05") else name)
        (tmp_path / name).rename(folder)
    assert saved(tmp_path, steps=0)[0].resumed_from == 4


@pytest.mark.attack("no checkpoint of a run is usable: no silent beginning")
def test_each_one_that_is_left_out_is_listed(tmp_path):
    saved(tmp_path)
    (tmp_path / "step-0000000004" / MANIFEST).unlink()
    (tmp_path / "step-0000000002").rename(tmp_path / "stepp0000000002")
    with pytest.raises(CheckpointError) as found:
        saved(tmp_path, steps=0)
    assert "step-0000000004 is no checkpoint: it has no manifest.json" in str(found.value)
    assert "stepp0000000002 has a manifest, but not the name of a checkpoint" in str(found.value)


@pytest.mark.attack(
    "a state of a run with a right digest and wrong contents: the one before is taken"
)
@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {"objects": {}},
        {"objects": {}, "progress": None},
        {"objects": {}, "progress": {"num_steps": -1, "epoch": 0, "random": {}, "data": None}},
        {
            "objects": {},
            "progress": {"num_steps": 1, "epoch": 0, "random": {"python": (1,)}, "data": None},
        },
    ],
    ids=str,
)
def test_a_state_of_another_shape(tmp_path, caplog, content):
    from argosy.distributed.fleet.checkpoints import folders as files

    saved(tmp_path)
    checkpoints = files.Checkpoints(tmp_path, 2)
    checkpoints.begin(4)
    checkpoints.complete(4, [files.write_state(checkpoints.draft(4), files.state_name(0), content)])
    assert_the_one_before_is_taken(tmp_path, caplog, "rank-00000.state")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": (2, 4)}, r"'weight' is \(3, 2\)"),
        ({"cls": torch.optim.Adam}, "optimizer: SGD, this script has Adam"),
        (
            {"lr": torch.optim.lr_scheduler.ConstantLR(torch.optim.SGD([torch.zeros(1)]))},
            "lr: none",
        ),
        ({"loader": [1]}, "written without a loader"),
    ],
)
def test_a_checkpoint_of_something_else_replaces_nothing(tmp_path, change, message):
    saved(tmp_path)
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(CheckpointError, match=message):
        saved(tmp_path, **change)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_the_last_k_are_kept(tmp_path):
    saved(tmp_path, steps=8, keep=3)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"step-000000000{n}" for n in (4, 6, 8)]


@pytest.mark.parametrize("name", ["every_n_steps", "keep"])
@pytest.mark.parametrize("value", [0, 1.5, True])
def test_counts_are_checked(tmp_path, name, value):
    with pytest.raises(UsageError, match=name):
        fleet.auto_checkpoint(tmp_path, **{"every_n_steps": 1, name: value})


def test_what_has_no_state_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"extra\.ema has no state_dict"):
        fleet.auto_checkpoint(tmp_path, 1, extra={"ema": 1})
    with pytest.raises(UsageError, match="needs the argument loader"):
        next(fleet.auto_checkpoint(tmp_path, 1).batches())
