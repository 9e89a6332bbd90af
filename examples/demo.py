"""``make demo``: train a classifier of drawn digits in two processes, kill one of them, see that
nothing is lost, and compare speeds.

``fleetrun`` starts two processes that train one model with ``paddle.DataParallel``: each sees half
of the data, gradients are averaged during backward. On the way this program kills one, as a
machine would. The launcher shows what happened, starts the job again, and it goes on from its last
checkpoint. Then a training step is timed in one process, with torch's DistributedDataParallel and
with argosy, in turns. In the end there is a report of the run.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import digits
import paddle
import paddle.distributed as dist
import paddle.nn.functional as F
from paddle import nn
from paddle.distributed import fleet

NUM_PROCESSES = 2
BATCH = 64  # per process
EPOCHS = 6
SAVE_EVERY = 50  # steps
SIZES = [digits.SIZE**2, 1024, 1024, 10]
VICTIM = 1  # the rank that is killed


def make_model() -> nn.Layer:
    layers: list[nn.Layer] = [nn.Flatten()]
    for n_in, n_out in itertools.pairwise(SIZES):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def train(data: tuple[np.ndarray, np.ndarray], checkpoints: str) -> tuple[nn.Layer, int | None]:
    """Train on this rank's share of the data, from the last checkpoint on if there is one; returns
    the model, and the step from which it went on.
    """
    dataset = paddle.io.TensorDataset([paddle.to_tensor(array) for array in data])
    sampler = paddle.io.DistributedBatchSampler(
        dataset, batch_size=BATCH, shuffle=True, drop_last=True
    )
    loader = paddle.io.DataLoader(dataset, batch_sampler=sampler)
    model = paddle.DataParallel(make_model())
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(
        learning_rate=1e-3, T_max=EPOCHS * len(loader)
    )
    optimizer = paddle.optimizer.AdamW(schedule, parameters=model.parameters(), weight_decay=0.05)
    run = fleet.auto_checkpoint(
        checkpoints, SAVE_EVERY, model=model, optimizer=optimizer, loader=loader
    )
    for _ in run.epochs(EPOCHS):
        for picture, label in run.batches():
            loss = F.cross_entropy(model(picture), label)
            fleet.log(run.num_steps, loss=loss)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            schedule.step()
    return model, run.resumed_from


def predict(model: nn.Layer, pictures: np.ndarray) -> np.ndarray:
    model.eval()
    with paddle.no_grad():
        return model(paddle.to_tensor(pictures)).argmax(axis=-1).numpy()


def argosy_step(is_parallel: bool):
    model = paddle.DataParallel(make_model()) if is_parallel else make_model()
    optimizer = paddle.optimizer.SGD(learning_rate=0.01, parameters=model.parameters())
    x, y = paddle.randn([BATCH, SIZES[0]]), paddle.randint(0, 10, [BATCH])

    def step() -> None:
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.clear_grad()

    return step


def torch_step():
    layers: list[torch.nn.Module] = []
    for n_in, n_out in itertools.pairwise(SIZES):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*layers[:-1]), gradient_as_bucket_view=True
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(BATCH, SIZES[0]), torch.randint(0, 10, (BATCH,))

    def step() -> None:
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def join_torch() -> None:
    """Make torch's default process group of the same ranks, at a port that the kernel chooses for
    rank 0.
    """
    rank, timeout = dist.get_rank(), datetime.timedelta(seconds=60)
    store = (
        torch.distributed.TCPStore(
            "127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timeout
        )
        if rank == 0
        else None
    )
    port = [store.port if store is not None else 0]
    dist.broadcast_object_list(port, src=0)
    if store is None:
        store = torch.distributed.TCPStore("127.0.0.1", port[0], is_master=False, timeout=timeout)
    torch.distributed.init_process_group(
        "gloo", store=store, rank=rank, world_size=NUM_PROCESSES, timeout=timeout
    )


def compare(rounds: int = 15, steps: int = 6) -> dict[str, float]:
    """Samples per second of each way to train, over all processes; blocks alternate, medians are
    compared.
    """
    rank = dist.get_rank()
    join_torch()
    alone = {"one process": argosy_step(is_parallel=False)} if rank == 0 else {}
    together = {"torch DDP (gloo)": torch_step(), "argosy": argosy_step(is_parallel=True)}
    seconds: dict[str, list[float]] = {name: [] for name in [*alone, *together]}
    for _ in range(rounds):
        for name, step in {**alone, **together}.items():
            if name in together:
                dist.barrier()
            start = time.perf_counter()
            for _ in range(steps):
                step()
            seconds[name].append((time.perf_counter() - start) / steps)
        dist.barrier()
    torch.distributed.destroy_process_group()
    return {
        name: BATCH * (1 if name in alone else NUM_PROCESSES) / statistics.median(times)
        for name, times in seconds.items()
    }


def work(folder: Path) -> None:
    """What each process does; ``folder`` has the data and gets the checkpoints."""
    fleet.init(is_collective=True)
    torch.set_num_threads(1)
    paddle.seed(7)
    (folder / f"pid.{dist.get_rank()}").write_text(str(os.getpid()))
    with np.load(folder / "digits.npz") as data:
        model, resumed_from = train((data["pictures"], data["labels"]), str(folder / "checkpoints"))
    speeds = compare()
    if dist.get_rank() == 0:
        show(Console(), model, resumed_from, speeds)


def show(
    console: Console, model: nn.Layer, resumed_from: int | None, speeds: dict[str, float]
) -> None:
    pictures, labels = digits.make(2000, seed=2)
    predictions = predict(model, pictures)
    right, wrong = np.flatnonzero(predictions == labels), np.flatnonzero(predictions != labels)
    art = Table(box=None, padding=(0, 1))
    shown = [*right[:3], *wrong[:1]]
    for i in shown:
        colour = "green" if predictions[i] == labels[i] else "red"
        art.add_column(
            f"[{colour}]{labels[i]} read as {predictions[i]}[/]",
            no_wrap=True,
            min_width=digits.SIZE,
        )
    for lines in zip(*[digits.ascii_art(pictures[i]) for i in shown], strict=True):
        art.add_row(*lines)
    console.print(art)
    table = Table("training step", "samples/s", "speed-up")
    for name, speed in speeds.items():
        table.add_row(name, f"{speed:,.0f}", f"{speed / speeds['one process']:.2f}x")
    console.print(table)
    accuracy = float(np.mean(predictions == labels))
    went_on = "" if resumed_from is None else f", from step {resumed_from} after the kill"
    console.print(
        f"{NUM_PROCESSES} processes trained{went_on}; accuracy [bold green]{accuracy:.1%}[/] on "
        f"{len(labels)} unseen digits"
    )


class Killer(threading.Thread):
    """Kills a rank when there are two checkpoints."""

    def __init__(self, folder: Path) -> None:
        super().__init__(name="killer", daemon=True)
        self._folder = folder
        self.is_over = threading.Event()

    def run(self) -> None:
        while not self.is_over.wait(0.05):
            with contextlib.suppress(OSError):
                if len(list((self._folder / "checkpoints").glob("*"))) >= 2:
                    pid = int((self._folder / f"pid.{VICTIM}").read_text())
                    print(f"demo: now rank {VICTIM} (pid {pid}) is killed", file=sys.stderr)
                    os.kill(pid, signal.SIGKILL)
                    return


def main() -> int:
    Console().print(
        f"[bold]argosy[/] (paddle {paddle.__version__}): {EPOCHS} epochs of drawn digits in "
        f"{NUM_PROCESSES} processes on the CPU; one of them is killed on the way"
    )
    with tempfile.TemporaryDirectory(prefix="argosy-demo-") as name:
        folder = Path(name)
        pictures, labels = digits.make(16000, seed=1)
        np.savez(folder / "digits.npz", pictures=pictures, labels=labels)
        killer = Killer(folder)
        killer.start()
        command = [sys.executable, "-m", "argosy", "launch", "--max_restart", "1"]
        try:
            return subprocess.call(
                [*command, "--nproc_per_node", str(NUM_PROCESSES), __file__, "--work", name]
            )
        finally:
            killer.is_over.set()
            killer.join()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(Path(sys.argv[2]))
    else:
        sys.exit(main())
