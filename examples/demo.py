"""``make demo``: train a classifier of drawn digits in two processes, and compare speeds.

Two processes train one model with ``paddle.DataParallel``: each sees half of the data, gradients
are averaged during backward. Then the same training step is timed in one process, with torch's
DistributedDataParallel and with argosy, in turns.
"""

from __future__ import annotations

import datetime
import itertools
import statistics
import time

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import digits
import paddle
import paddle.distributed as dist
import paddle.nn.functional as F
from paddle import nn

NUM_PROCESSES = 2
BATCH = 64  # per process
EPOCHS = 5
SIZES = [digits.SIZE**2, 1024, 1024, 10]


def make_model() -> nn.Layer:
    layers: list[nn.Layer] = [nn.Flatten()]
    for n_in, n_out in itertools.pairwise(SIZES):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def train(console: Console | None) -> nn.Layer:
    """Train on this rank's share of the data; the rank that has a console shows progress."""
    data = paddle.io.TensorDataset([paddle.to_tensor(a) for a in digits.make(16000, seed=1)])
    sampler = paddle.io.DistributedBatchSampler(
        data, batch_size=BATCH, shuffle=True, drop_last=True
    )
    loader = paddle.io.DataLoader(data, batch_sampler=sampler)
    model = paddle.DataParallel(make_model())
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(
        learning_rate=1e-3, T_max=EPOCHS * len(loader)
    )
    optimizer = paddle.optimizer.AdamW(schedule, parameters=model.parameters(), weight_decay=0.05)
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
    ]
    with Progress(*columns, console=console, disable=console is None) as progress:
        task = progress.add_task("starting", total=EPOCHS * len(loader))
        for epoch in range(EPOCHS):
            for picture, label in loader:
                loss = F.cross_entropy(model(picture), label)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                schedule.step()
                progress.update(
                    task, advance=1, description=f"epoch {epoch + 1}  loss {float(loss):.3f}"
                )
    return model


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


def worker() -> None:
    dist.init_parallel_env()
    torch.set_num_threads(1)
    paddle.seed(7)
    console = Console() if dist.get_rank() == 0 else None
    start = time.perf_counter()
    model = train(console)
    seconds = time.perf_counter() - start
    speeds = compare()
    if console is not None:
        show(console, model, seconds, speeds)


def show(console: Console, model: nn.Layer, seconds: float, speeds: dict[str, float]) -> None:
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
    console.print(
        f"{NUM_PROCESSES} processes trained {seconds:.1f} s; accuracy [bold "
        f"green]{accuracy:.1%}[/] on {len(labels)} unseen digits"
    )


def main() -> None:
    console = Console()
    console.print(
        f"[bold]argosy[/] (paddle {paddle.__version__}): {EPOCHS} epochs of drawn digits in "
        f"{NUM_PROCESSES} processes on the CPU"
    )
    dist.spawn(worker, nprocs=NUM_PROCESSES)


if __name__ == "__main__":
    main()
