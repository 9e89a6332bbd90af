"""Jobs that a signal asks, at a chosen instant, to save and to leave; and the proof that what was
resumed is what would have been.
"""

from __future__ import annotations

import json
import re
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from support.launcher import Launcher, script
from support.ps_restarts import tables_of

TESTS = Path(__file__).resolve().parents[1]
DEADLINE_S = 280.0
NUM_STEPS = 12
# a busy machine must not be taken for a job that does not save; sums depend on threads
FLAGS = ("--grace", "60", "--num_threads", "1")
PHASES = ("before", "forward", "backward", "optimizer", "saving", "between epochs", "after")

# ``bell(phase, step)`` sends the signal, once; who is not signalled itself waits for the request
BELL = """
import json, random
import numpy as np
import paddle
import paddle.distributed.fleet as fleet
from argosy.foundation.preemption import requests
PHASE, STEP, NUMBER, TARGET = json.loads(os.environ.get("BELL", '["", 0, 0, ""]'))

def bell(phase, step):
    if (phase, step) != (PHASE, STEP) or rank != 1 or os.path.exists("rung"):
        return
    open("rung", "w").close()
    members = [line.split() for line in open("pids")]
    targets = {
        "rank": [os.getpid()],
        "launcher": [os.getppid()],
        "server": [pid for role, pid in members if role == "server"][:1],
        "all": [os.getppid(), *(pid for _, pid in members)],
    }
    if TARGET == "group":  # everything that the launcher has started
        os.kill(os.getppid(), NUMBER)
        # by a stranger: what a parent sends to workers of its loader means them
        subprocess.run(["sh", "-c", f"trap '' {NUMBER}; kill -{NUMBER} -- -{os.getpgrp()}"])
    for pid in targets.get(TARGET, ()):
        os.kill(int(pid), NUMBER)
    deadline = time.monotonic() + 20
    while not requests.signal:
        assert time.monotonic() < deadline, "the request did not come"
        time.sleep(0.001)

def draws(number):
    for seed in (random.seed, np.random.seed):
        seed(number)
    paddle.seed(number)

def tell_pid(role="rank"):
    with open("pids", "a") as file:
        file.write(f"{role} {os.getpid()}\\n")

class Bell:
    def state_dict(self):
        bell("saving", run.num_steps)
        return {}

    def set_state_dict(self, state):
        pass
"""

COLLECTIVE = (
    BELL
    + """
class Noisy(paddle.io.Dataset):
    def __len__(self):
        return 22

    def __getitem__(self, i):
        return np.float32([i / 22, np.random.rand(), random.random()]), np.int64(i)

class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.one, self.drop = paddle.nn.Linear(3, 8), paddle.nn.Dropout(0.3)
        self.two = paddle.nn.Linear(8, 1)

    def forward(self, x):
        hidden = self.drop(self.one(x))
        bell("forward", run.num_steps)
        return self.two(hidden)

fleet.init(is_collective=True)
tell_pid()
fleet.barrier_worker()
draws(rank)
model = Net()
lr = paddle.optimizer.lr.StepDecay(0.05, 1)
optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(lr, parameters=model.parameters()))
model = fleet.distributed_model(model)
data = Noisy()
sampler = paddle.io.DistributedBatchSampler(data, 2, shuffle=True)
loader = paddle.io.DataLoader(data, batch_sampler=sampler, num_workers=LOADERS)
run = fleet.auto_checkpoint("ckpt", 4, model=model, optimizer=optimizer, loader=loader,
    extra={"bell": Bell()})

def hooked(grad):
    bell("backward", run.num_steps)

bell("before", run.num_steps)
for epoch in run.epochs(2):
    for x, i in run.batches():
        loss = (model(x) ** 2).mean()
        loss.register_hook(hooked)
        loss.backward()
        bell("optimizer", run.num_steps)
        optimizer.step()
        optimizer.clear_grad()
        with open(f"log.{rank}", "a") as file:
            file.write(json.dumps([run.num_steps, i.tolist(), float(loss)]) + "\\n")
    lr.step()
    bell("between epochs", run.num_steps)
with open("after", "a") as file:
    file.write("x")
bell("after", run.num_steps)
fleet.barrier_worker()
state = [p.numpy() for p in model.parameters()] + [np.random.rand(3), paddle.rand([3]).numpy()]
np.savez(f"final.{rank}", *state, lr())
"""
)

SERVED = (
    BELL
    + """
from support.ps_restarts import Samples, finish, served
from pathlib import Path

tell_pid("server" if os.environ["TRAINING_ROLE"] == "PSERVER" else "worker")

class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.table, self.norm = paddle.nn.Embedding(30, 4, sparse=True), paddle.nn.BatchNorm1D(5)
        self.drop, self.out = paddle.nn.Dropout(0.3), paddle.nn.Linear(5, 1)

    def forward(self, ids, noise):
        rows = paddle.concat([self.table(ids[:, 0]), noise], axis=1)
        bell("forward", run.num_steps)
        return self.out(self.drop(self.norm(rows)))

strategy = fleet.DistributedStrategy()
strategy.a_sync = MODE != "sync"
fleet.init(is_collective=False, strategy=strategy)
draws(5)
model = Net()
lr = paddle.optimizer.lr.StepDecay(0.1, 1, 0.5)
optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(lr, parameters=model.parameters()))
model = fleet.distributed_model(model)
if served(fleet):
    sys.exit(0)
fleet.init_worker()
draws(rank)
loader = paddle.io.DataLoader(Samples(rank), batch_size=2, shuffle=True, drop_last=False)
run = fleet.auto_checkpoint("ckpt", 4, model=model, optimizer=optimizer, loader=loader,
    extra={"bell": Bell()})

def hooked(grad):
    bell("backward", run.num_steps)

bell("before", run.num_steps)
for epoch in run.epochs(2):
    for ids, noise in run.batches():
        loss = (model(ids, noise) ** 2).mean()
        loss.register_hook(hooked)
        loss.backward()
        bell("optimizer", run.num_steps)
        optimizer.step()
        optimizer.clear_grad()
        with open(f"log.{rank}", "a") as file:
            what = [run.num_steps, ids.tolist(), noise.tolist(), float(loss)]
            file.write(json.dumps(what) + "\\n")
    lr.step()
    bell("between epochs", run.num_steps)
bell("after", run.num_steps)
own = {name: parameter.numpy() for name, parameter in model.named_parameters()}
draw = {"random": np.random.rand(3), "rate": np.float64(lr())}
finish(Path.cwd(), fleet, rank, {**own, **draw})
"""
)

FROM_DATASETS = (
    BELL
    + """
from support.ps_restarts import train_dataset
from pathlib import Path

tell_pid("server" if os.environ["TRAINING_ROLE"] == "PSERVER" else "worker")
train_dataset(Path.cwd(), MODE, every=5, on_batch=lambda step: bell("forward", step))
"""
)


@dataclass(frozen=True)
class Ring:
    """When the signal comes, which, and to whom."""

    phase: str
    step: int
    number: int
    target: str

    @property
    def text(self) -> str:
        return json.dumps([self.phase, self.step, self.number, self.target])

    @staticmethod
    def drawn(seed: int) -> Ring:
        """One of all possible ones."""
        draw = np.random.default_rng(seed)
        phase = PHASES[seed % len(PHASES)]
        step = {
            "before": 0,
            "saving": int(draw.choice([4, 8, 12])),
            "between epochs": int(draw.choice([6, 12])),
            "after": NUM_STEPS,
        }.get(phase, int(draw.integers(NUM_STEPS)))
        number = int(draw.choice([signal.SIGUSR1, signal.SIGTERM]))
        return Ring(phase, step, number, str(draw.choice(["rank", "launcher", "all"])))


def run_collective(folder, ring=None, loaders=0, flags=(), **variables):
    """Train with two ranks in ``folder``; the exit code and what the launcher said."""
    text = f"LOADERS = {loaders}\n" + COLLECTIVE
    return _run(folder, text, ring, ("--nproc_per_node", "2", *flags), variables)


def run_served(folder, ring=None, mode="sync", flags=(), **variables):
    """The same with two workers and two servers."""
    text = f"MODE = {mode!r}\nsys.path.insert(0, {str(TESTS)!r})\n" + SERVED
    counts = ("--server_num", "2", "--worker_num", "2")
    return _run(folder, text, ring, (*counts, *flags), variables)


def run_from_datasets(folder, ring=None, **variables):
    """Two workers and two servers, with ``train_from_dataset``."""
    text = f"MODE = 'sync'\nsys.path.insert(0, {str(TESTS)!r})\n" + FROM_DATASETS
    return _run(folder, text, ring, ("--server_num", "2", "--worker_num", "2"), variables)


def _run(folder, text, ring, flags, variables):
    if ring is not None:
        variables["BELL"] = ring.text
    (folder / "pids").unlink(missing_ok=True)
    launcher = Launcher(folder, *FLAGS, *flags, script(folder, text), **variables)
    try:
        return launcher.wait(DEADLINE_S), launcher.stderr
    finally:
        launcher.close()


def saved_step(folder, said, code=75):
    """The step that the launcher says was saved, which is what both ranks have done."""
    found = re.search(rf"launch: pre-empted: saved at step (\d+), exit {code}", said)
    assert found is not None, said
    for rank in (0, 1):
        path = folder / f"log.{rank}"
        assert (len(lines(folder, rank)) if path.exists() else 0) == int(found[1]), said
    return int(found[1])


def lines(folder, rank):
    return [json.loads(line) for line in (folder / f"log.{rank}").read_text().splitlines()]


def final(folder, rank):
    with np.load(folder / f"final.{rank}.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


def assert_undisturbed(whole, parts):
    """Every step was done once, with the samples and losses of the whole run, to the same end."""
    for rank in (0, 1):
        assert [step for step, *_ in lines(whole, rank)] == list(range(NUM_STEPS))
        assert lines(parts, rank) == lines(whole, rank)
        expected, found = final(whole, rank), final(parts, rank)
        assert expected.keys() == found.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, err_msg=name)
    assert tables_of(parts) == tables_of(whole)
