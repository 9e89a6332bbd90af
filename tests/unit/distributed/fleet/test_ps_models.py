"""Layers and torch modules with parameter servers: state dicts, entries, steps without gradients,
every optimizer.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
import paddle.distributed.fleet as fleet
from argosy.distributed.fleet.checkpoints.folders import state_name
from argosy.distributed.fleet.servers.d2sum import d2sum_update, replaces
from argosy.distributed.fleet.servers.rules import dense_update, sparse_rule
from argosy.distributed.fleet.servers.runtime import PsRuntime
from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.ps.worker.placement import place_dense
from support.ps_job import Job


@pytest.fixture
def job():
    started = []

    def start(*args):
        started.append(Job(*args))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def strategy(**configs):
    made = fleet.DistributedStrategy()
    made.a_sync = bool(configs)
    made.a_sync_configs = configs
    return made


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.words = paddle.nn.Embedding(8, 2, padding_idx=2, sparse=True)
        self.users = paddle.nn.Embedding(8, 2, sparse=True)
        self.fc = paddle.nn.Linear(4, 1)

    def forward(self, ids):
        return self.fc(paddle.concat([self.words(ids), self.users(ids)], 1))


def numbers(state):
    return {name: value.numpy().copy() for name, value in state.items()}


IDS = [1, 2, 3, 1]


def test_training_goes_on_as_in_one_process(job):
    """A scheduler, gradients cleared before, steps without any; the state dict has all rows and
    fits the plain model.
    """

    def train(net, optimizer, rate):
        for step in range(3):
            loss = (net(paddle.to_tensor(IDS)) ** 2).sum()
            optimizer.clear_grad()  # between forward and backward: what was looked up stays
            loss.backward()
            optimizer.step()
            rate.step()
            if step == 1:
                net.eval()
                net(paddle.to_tensor([7]))
                net.train()
                with paddle.no_grad():
                    net(paddle.to_tensor([6]))
        return numbers(net.state_dict())

    def make(net):
        rate = paddle.optimizer.lr.StepDecay(0.1, 1, 0.5)
        return paddle.optimizer.Momentum(rate, 0.9, parameters=net.parameters()), rate

    plain = Net()
    first = numbers(plain.state_dict())
    expected = train(plain, *make(plain))
    running = job(2, strategy())
    net = Net()
    optimizer, rate = make(net)
    optimizer, net = fleet.distributed_optimizer(optimizer), fleet.distributed_model(net)
    assert net.set_state_dict(first) == ([], [])
    running.serve()
    found = train(net, optimizer, rate)
    assert set(found) == set(expected)
    for name, value in expected.items():
        wanted = (
            value if name != "words.weight" else np.where(np.arange(8)[:, None] == 2, 0.0, value)
        )
        np.testing.assert_allclose(found[name], wanted, atol=1e-6, err_msg=name)
    with pytest.raises(UsageError, match=r"before fleet\.init_worker\(\)"):
        net.set_state_dict(first)


def test_an_entry_of_a_layer(job):
    running = job(1, strategy(half_async=True, max_staleness=2))
    net = Net()
    net.words.entry = paddle.distributed.CountFilterEntry(2)
    net.users.entry = paddle.distributed.ProbabilityEntry(0.5)
    first = numbers(net.state_dict())
    optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.0, parameters=net.parameters()))
    net = fleet.distributed_model(net)
    running.serve()
    seen = [numbers(net.state_dict())]
    for _ in range(2):
        net(paddle.to_tensor(IDS)).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        seen.append(numbers(net.state_dict()))
    assert not seen[0]["words.weight"].any()
    assert not seen[1]["words.weight"].any()
    admitted = np.isin(np.arange(8), [1, 3])[:, None]  # pulled twice; 2 is padding
    np.testing.assert_array_equal(
        seen[2]["words.weight"], np.where(admitted, first["words.weight"], 0.0)
    )
    chosen = seen[0]["users.weight"].any(axis=1)
    assert 0 < chosen.sum() < 8
    np.testing.assert_array_equal(
        seen[2]["users.weight"], np.where(chosen[:, None], first["users.weight"], 0.0)
    )
    status = fleet.fleet.servers.runtime.status()
    assert [(row["pushes"], row["staleness"]) for row in status] == [(2, 0)] * 3


def test_torch_state_dicts_and_schedulers(job):
    def train(net, optimizer):
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.tensor([[0, 1], [2, 1]])).sum().backward()
            optimizer.step()
            scheduler.step()

    def make():
        bag = torch.nn.EmbeddingBag(8, 2, mode="mean", padding_idx=1)
        bag.entry = paddle.distributed.CountFilterEntry(1)
        net = torch.nn.Sequential(bag, torch.nn.Linear(2, 1))
        return net, torch.optim.Adagrad(net.parameters(), 0.1)

    plain, own = make()
    first = {name: value.clone() for name, value in plain.state_dict().items()}
    train(plain, own)
    running = job(1, strategy())
    net, optimizer = make()
    optimizer, net = fleet.distributed_optimizer(optimizer), fleet.distributed_model(net)
    net.load_state_dict(first)
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0\.weight"'):
        net.load_state_dict({name: value for name, value in first.items() if name != "0.weight"})
    running.serve()
    train(net, optimizer)
    trained = net.state_dict()
    for name, value in plain.state_dict().items():
        is_used = torch.tensor([[0], [2]]) if name == "0.weight" else ...
        torch.testing.assert_close(trained[name][is_used], value[is_used], atol=1e-6, rtol=0)


DENSE = (
    "SGD",
    "Momentum",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Adadelta",
    "RMSProp",
    "Lamb",
    "NAdam",
    "RAdam",
    "ASGD",
    "Rprop",
)


@pytest.mark.parametrize("name", DENSE)
def test_servers_train_dense_parameters_as_the_optimizer_does(name):
    def params():
        made = []
        for number, shape in enumerate([(2, 3), (3,)]):
            value = torch.linspace(-1, 1, int(np.prod(shape))).reshape(shape)
            made.append(paddle.create_parameter(list(shape), "float32", name=f"p{number}"))
            made[-1].set_value(value.numpy())
        return made

    def make(given):
        kind = getattr(paddle.optimizer, name)
        decay = (
            {}
            if name in ("ASGD", "Rprop")
            else {"lamb_weight_decay": 0.1}
            if name == "Lamb"
            else {"weight_decay": 0.1}
        )
        clip = {} if name == "Rprop" else {"grad_clip": paddle.nn.ClipGradByGlobalNorm(1.0)}
        return kind(0.1, parameters=given, **decay, **clip)

    local, given = params(), params()
    one, other = make(local), make(given)
    [spec] = place_dense("dense", {p.name: tuple(p.shape) for p in given}, 1, "{}", True, True)
    values = [p.raw.detach().clone() for p in given]
    update = dense_update(other, given)(
        spec, values, lambda piece, state, shape, start: torch.full(shape, start)
    )
    for step in range(4):
        grads = [torch.cos(p.raw.detach() * (step + 1)) for p in local]
        for param, grad in zip(local, grads, strict=True):
            param.raw.grad = grad.clone()
        one.step()
        update([g.clone() for g in grads], 0.1)
    for param, value in zip(local, values, strict=True):
        torch.testing.assert_close(value, param.raw.detach(), atol=1e-6, rtol=0)


def test_adam_d2sum_takes_the_place_of_adam():
    [spec] = place_dense("dense", {"w": (3,)}, 1, "{}", True, True)
    values = [torch.tensor([1.0, -2.0, 3.0])]
    given = paddle.nn.Linear(1, 1).parameters()
    adam = paddle.optimizer.Adam(0.1, parameters=given)
    update = d2sum_update(adam)(
        spec, values, lambda piece, state, shape, start: torch.full(shape, start)
    )
    w, moment, squares, count = np.array([1.0, -2.0, 3.0]), 0.0, 0.0, 0.0
    for grad in (np.array([0.5, -1.0, 0.0]), np.array([1.0, 2.0, 3.0])):
        update([torch.tensor(grad, dtype=torch.float32)], None)
        count, squares = count * 0.9999 + 1, squares * 0.9999 + grad**2
        moment = (moment + grad) * 0.99 - grad
        w = w + 0.1 * moment * np.sqrt(count * (1 + 1e-8) / (squares + count * 1e-8))
    np.testing.assert_allclose(values[0], w, rtol=1e-5)
    assert replaces(adam)
    assert not replaces(paddle.optimizer.SGD(0.1, parameters=given))
    assert not replaces(paddle.optimizer.AdamW(0.1, parameters=given))
    with pytest.raises(NotSupported, match="adam_d2sum = False"):
        replaces(paddle.optimizer.Adam(0.1, parameters=given, weight_decay=0.1))


def test_rows_decay_where_the_optimizer_says_so():
    weight = paddle.nn.Embedding(2, 2, sparse=True).weight

    def rule(**options):
        return sparse_rule(
            paddle.optimizer.AdamW(0.1, parameters=[weight], weight_decay=0.3, **options), weight
        )

    assert rule().settings["decoupled_decay"] == 0.3
    assert (
        rule(apply_decay_param_fun=lambda name: name != weight.name).settings["decoupled_decay"]
        == 0.0
    )
    with pytest.raises(NotSupported, match="lr_ratio"):
        rule(lr_ratio=lambda param: 0.5)
    with pytest.raises(NotSupported, match="maximize"):
        sparse_rule(torch.optim.Adam([torch.nn.Parameter(torch.ones(1))], maximize=True), None)


def test_what_servers_cannot_do_is_said_before_anybody_waits(job):
    job(1, strategy())
    net = Net()
    fleet.distributed_model(net)
    clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    with pytest.raises(NotSupported, match="clipped by value only"):
        fleet.distributed_optimizer(
            paddle.optimizer.SGD(0.1, parameters=net.parameters(), grad_clip=clip)
        )
    with pytest.raises(NotSupported, match="RMSProp: rows on servers"):
        fleet.distributed_optimizer(paddle.optimizer.RMSProp(0.1, parameters=net.parameters()))
    fleet.distributed_model(torch.nn.Linear(2, 1))
    with pytest.raises(NotSupported, match="Rprop: dense parameters on servers"):
        fleet.distributed_optimizer(torch.optim.Rprop(torch.nn.Linear(2, 1).parameters()))
    with pytest.raises(NotSupported, match=r"save_inference_model: it is for static programs"):
        fleet.save_inference_model(None, "nowhere", [], [])


def test_worlds_without_a_launcher(job):
    job(1, strategy())
    assert fleet.util.all_reduce([3, 4]).tolist() == [3, 4]
    with pytest.raises(NotSupported, match="where a launcher serves the job's store"):
        fleet.util.barrier("all")
    with pytest.raises(UsageError, match="this process is a worker"):
        fleet.util.barrier("server")


def test_a_server_is_no_worker_and_the_other_way_round(job):
    running = job(1, strategy())
    server = PsRuntime(running._role(0, fleet.Role.SERVER), strategy())
    with pytest.raises(UsageError, match="init_worker: this process is a server"):
        server.init_worker()
    with pytest.raises(UsageError, match="init_server: this process is a worker"):
        fleet.init_server()
    server.close()


def trained(net, optimizer, steps):
    for _ in range(steps):
        (net(paddle.to_tensor(IDS)) ** 2).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
    return numbers(net.state_dict())


def test_an_optimizer_on_a_server_goes_on_with_the_steps_of_what_was_loaded(job, tmp_path):
    """Adam corrects its moments by how many steps there were."""
    here = job(1, strategy())
    net = Net()
    optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(0.1, parameters=net.parameters()))
    fleet.distributed_model(net)
    here.serve()
    trained(net, optimizer, 3)
    fleet.save_persistables(None, str(tmp_path / "saved"))
    expected = trained(net, optimizer, 2)
    fleet.load_model(str(tmp_path / "saved"))
    found = trained(net, optimizer, 2)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_a_script_tells_its_place_in_one_way(job, tmp_path):
    here = job(1, strategy())
    net = Net()
    optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1, parameters=net.parameters()))
    fleet.distributed_model(net)
    here.serve()
    run = fleet.auto_checkpoint(str(tmp_path / "a"), 2, model=net, optimizer=optimizer)
    for _ in run.steps(3):
        trained(net, optimizer, 1)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "step-0000000002",
        "step-0000000003",
    ]
    with pytest.raises(UsageError, match="a script has one"):
        fleet.auto_checkpoint(str(tmp_path / "b"), 2, model=net, optimizer=optimizer)


def test_what_a_worker_has_written_stays_for_the_one_that_takes_its_place(job, tmp_path):
    """Worker 0 may be reading it."""
    here = job(1, strategy())
    net = Net()
    optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1, parameters=net.parameters()))
    fleet.distributed_model(net)
    here.serve()
    run = fleet.auto_checkpoint(str(tmp_path / "a"), 2, model=net, optimizer=optimizer)
    run._write(0, state_name(0))
    [written] = (tmp_path / "a").glob(".step-*/*")
    before = written.stat().st_ino
    run.save()
    [found] = (tmp_path / "a").glob("step-*/rank-*")
    assert (found.name, found.stat().st_ino) == (written.name, before)
