"""fleetrun --nproc_per_node 2 examples/gpt_fleet.py    (or: python examples/gpt_fleet.py)

A small GPT learns to continue arithmetic sequences modulo 11, trained with Fleet: mixed precision
(bfloat16 on CPU), recomputed blocks, gradients of two batches merged into one update. At the end it
continues sequences that it has not seen. Started again, it goes on from its last checkpoint.
"""

from __future__ import annotations

import argparse

import numpy as np

import paddle
import paddle.distributed.fleet as fleet
from paddle import nn

MODULUS, LENGTH, WIDTH, HEADS, BLOCKS = 11, 12, 48, 4, 2


class Block(nn.Layer):
    """Causal attention and a feed-forward part, each added to what came in."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.forward_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiHeadAttention(WIDTH, HEADS)
        self.feed_forward = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: paddle.Tensor, mask: paddle.Tensor) -> paddle.Tensor:
        inner = self.attention_norm(x)
        x = x + self.attention(inner, inner, inner, attn_mask=mask)
        return x + self.feed_forward(self.forward_norm(x))


class GPT(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(MODULUS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.LayerList([Block() for _ in range(BLOCKS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, MODULUS)

    def forward(self, tokens: paddle.Tensor) -> paddle.Tensor:
        length = tokens.shape[1]
        mask = paddle.tril(paddle.ones([length, length], "bool"))
        x = self.tokens(tokens) + self.places(paddle.arange(length))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def sequences(count: int, rng: np.random.RandomState) -> np.ndarray:
    start, step = rng.randint(0, MODULUS, (2, count, 1))
    return (start + step * np.arange(LENGTH + 1)) % MODULUS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[2])
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--checkpoints", default="checkpoints/gpt_fleet", help="their folder")
    args = parser.parse_args()
    strategy = fleet.DistributedStrategy()
    strategy.amp = True
    strategy.recompute = True
    strategy.recompute_configs = {"checkpoints": [f"blocks.{i}" for i in range(BLOCKS)]}
    strategy.gradient_merge = True
    strategy.gradient_merge_configs = {"k_steps": 2, "avg": True}
    fleet.init(is_collective=True, strategy=strategy)
    paddle.seed(1)
    model = fleet.distributed_model(GPT())
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.AdamW(4e-3, parameters=model.parameters())
    )
    if fleet.is_first_worker():
        fleet.print_plan()
    run = fleet.auto_checkpoint(args.checkpoints, 20, model=model, optimizer=optimizer)
    for step in run.steps(args.steps):
        batch = sequences(24, np.random.RandomState([fleet.worker_index(), step]))
        logits = model(paddle.to_tensor(batch[:, :-1]))
        loss = nn.functional.cross_entropy(logits, paddle.to_tensor(batch[:, 1:]))
        fleet.log(step + 1, loss=loss)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if (step + 1) % max(args.steps // 6, 1) == 0:
            mean = float(fleet.util.all_reduce(float(loss))) / fleet.worker_num()
            if fleet.is_first_worker():
                print(f"step {step + 1:4}  loss {mean:.4f}")
    if fleet.is_first_worker():
        continue_sequences(model._layers)


@paddle.no_grad()
def continue_sequences(model: GPT) -> None:
    """Show what follows the first four numbers; the first two decide, the model has to find the
    rule.
    """
    model.eval()
    whole = sequences(4, np.random.RandomState(99))
    given = whole[:, :4]
    while given.shape[1] < LENGTH:
        last = model(paddle.to_tensor(given))[:, -1].argmax(-1)
        given = np.concatenate([given, last.numpy()[:, None]], 1)
    for row, truth in zip(given, whole, strict=True):
        print(" ".join(map(str, row[:4])), "->", " ".join(map(str, row[4:])))
        print(f"    right: {(row[4:] == truth[4:LENGTH]).sum()} of {LENGTH - 4}")


if __name__ == "__main__":
    main()
