"""``make demo``: train a LeNet on drawn digits with Paddle's API, in one process, and show what it learned."""

from __future__ import annotations

import time

import numpy as np
import paddle.nn.functional as F
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import digits
import paddle
from paddle import nn

BATCH = 64
EPOCHS = 4


class LeNet(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 16, 3, padding=1), nn.BatchNorm2D(16), nn.ReLU(), nn.MaxPool2D(2),
            nn.Conv2D(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2),
        )  # fmt: skip
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))

    def forward(self, x):
        return self.head(self.features(x))


def evaluate(model: nn.Layer, loader: paddle.io.DataLoader) -> tuple[float, np.ndarray]:
    """Accuracy and predictions."""
    model.eval()
    metric, predictions = paddle.metric.Accuracy(), []
    with paddle.no_grad():
        for picture, label in loader:
            scores = model(picture)
            metric.update(metric.compute(scores, label.unsqueeze(-1)))
            predictions.append(scores.argmax(axis=-1).numpy())
    model.train()
    return float(metric.accumulate()), np.concatenate(predictions)


def main() -> None:
    console = Console()
    paddle.seed(7)
    np.random.seed(7)
    train = paddle.io.TensorDataset([paddle.to_tensor(a) for a in digits.make(8000, seed=1)])
    pictures, labels = digits.make(2000, seed=2)
    test = paddle.io.TensorDataset([paddle.to_tensor(pictures), paddle.to_tensor(labels)])
    loader = paddle.io.DataLoader(train, batch_size=BATCH, shuffle=True, drop_last=True)
    test_loader = paddle.io.DataLoader(test, batch_size=500)

    model = LeNet()
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(learning_rate=2e-3, T_max=EPOCHS * len(loader))
    optimizer = paddle.optimizer.AdamW(schedule, parameters=model.parameters(), weight_decay=0.01)

    console.print(f"[bold]argosy[/] {paddle.version.full_version}: LeNet on {len(train)} drawn digits, {EPOCHS} epochs, CPU")
    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn()]
    start, loss = time.perf_counter(), None
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=EPOCHS * len(loader))
        for epoch in range(EPOCHS):
            for picture, label in loader:
                loss = F.cross_entropy(model(picture), label)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                schedule.step()
                progress.update(task, advance=1, description=f"epoch {epoch + 1}  loss {float(loss):.3f}")
    seconds = time.perf_counter() - start

    accuracy, predictions = evaluate(model, test_loader)
    shown = list(range(4)) + [int(i) for i in np.flatnonzero(predictions != labels)[:2]]
    art = Table(show_header=True, box=None, padding=(0, 2))
    for i in shown:
        verdict = "green" if predictions[i] == labels[i] else "red"
        art.add_column(f"[{verdict}]{labels[i]} read as {predictions[i]}[/]")
    for lines in zip(*[digits.ascii_art(pictures[i]) for i in shown], strict=True):
        art.add_row(*lines)
    console.print(art)
    console.print(
        f"test accuracy [bold green]{accuracy:.1%}[/] on {len(test)} unseen digits; "
        f"{EPOCHS * len(loader) * BATCH / seconds:,.0f} samples/s in {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
