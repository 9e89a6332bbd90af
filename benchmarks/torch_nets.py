"""Six plain torch networks, each with a batch and its loss, small enough for one core."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

MLP_SIZES = [512, 2048, 2048, 1024, 10]
MLP_BATCH = 64

# a module, and the loss of one batch when it is called through what wraps the module
Net = tuple[nn.Module, Callable[[Any], Tensor]]


def mlp() -> Net:
    """MLP 512-2048-2048-1024-10, 7.4 million parameters in 8 tensors, batch 64."""
    layers: list[nn.Module] = []
    for n_in, n_out in itertools.pairwise(MLP_SIZES):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    x, y = torch.randn(MLP_BATCH, MLP_SIZES[0]), torch.randint(0, MLP_SIZES[-1], (MLP_BATCH,))
    return nn.Sequential(*layers[:-1]), lambda model: functional.cross_entropy(model(x), y)


class _Block(nn.Module):
    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(n_out)
        self.second = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(n_out)
        is_same = stride == 1 and n_in == n_out
        self.short = nn.Identity() if is_same else nn.Conv2d(n_in, n_out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        hidden = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(self.second_norm(self.second(hidden)) + self.short(x))


def resnet() -> Net:
    """ResNet-18 of half the width, 2.8 million parameters in 56 tensors, 8 images of 16x16."""
    blocks: list[nn.Module] = []
    for n_in, n_out, stride in ((32, 32, 1), (32, 64, 2), (64, 128, 2), (128, 256, 2)):
        blocks += [_Block(n_in, n_out, stride), _Block(n_out, n_out, 1)]
    stem = [nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10)]
    x, y = torch.randn(8, 3, 16, 16), torch.randint(0, 10, (8,))
    module = nn.Sequential(*stem, *blocks, *head)
    return module, lambda model: functional.cross_entropy(model(x), y)


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self._heads = heads

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm(x)).view(batch, length, 3, self._heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.mlp_norm(x))))


class _Gpt(nn.Module):
    def __init__(self, words: int, width: int, depth: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[_Attention(width, 4) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        hidden = self.words(ids) + self.places.weight[: ids.shape[1]]
        return self.head(self.norm(self.blocks(hidden)))


def gpt() -> Net:
    """GPT of 4 layers of width 256 and 2048 words, 4.2 million parameters in 53 tensors, 2 texts
    of 32 words.
    """
    ids = torch.randint(0, 2048, (2, 33))
    module = _Gpt(2048, 256, 4, 32)
    return module, lambda model: functional.cross_entropy(
        model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()
    )


class _Lstm(nn.Module):
    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.lstm(self.words(ids))[0])


def lstm() -> Net:
    """LSTM of 2 layers of width 256 and 2000 words, 2.1 million parameters in 11 tensors, 8 texts
    of 16 words.
    """
    ids = torch.randint(0, 2000, (8, 17))
    module = _Lstm(2000, 256)
    return module, lambda model: functional.cross_entropy(
        model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()
    )


def _perceptron(*sizes: int) -> nn.Module:
    layers: list[nn.Module] = []
    for n_in, n_out in itertools.pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class _Dlrm(nn.Module):
    def __init__(self, rows: int, width: int, fields: int) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(rows, width, mode="sum", sparse=True)
        self.bottom = _perceptron(13, 256, 64, width)
        pairs = (fields + 1) * fields // 2
        self.top = _perceptron(pairs + width, 256, 64, 1)
        self._fields = fields

    def forward(self, dense: Tensor, ids: Tensor, offsets: Tensor) -> Tensor:
        low = self.bottom(dense)
        bags = self.table(ids, offsets).view(dense.shape[0], self._fields, -1)
        every = torch.cat([low[:, None], bags], 1)
        products = every @ every.transpose(1, 2)
        i, j = torch.tril_indices(self._fields + 1, self._fields + 1, -1)
        return self.top(torch.cat([low, products[:, i, j]], 1)).squeeze(1)


def dlrm() -> Net:
    """DLRM with one sparse EmbeddingBag of 200,000 rows of 32, 128 samples of 13 numbers and 26
    bags of 4 ids.
    """
    batch, fields, length = 128, 26, 4
    dense, y = torch.randn(batch, 13), torch.rand(batch).round()
    ids = torch.randint(0, 200_000, (batch * fields * length,))
    offsets = torch.arange(0, ids.numel(), length)
    module = _Dlrm(200_000, 32, fields)
    return module, lambda model: functional.binary_cross_entropy_with_logits(
        model(dense, ids, offsets), y
    )


def layers() -> Net:
    """60 linear layers of 64x64 with ReLU, 0.25 million parameters in 120 tensors, batch 32."""
    x = torch.randn(32, 64)
    module = nn.Sequential(*[part for _ in range(60) for part in (nn.Linear(64, 64), nn.ReLU())])
    return module, lambda model: model(x).square().mean()


NETS: dict[str, Callable[[], Net]] = {
    "mlp": mlp,
    "resnet": resnet,
    "gpt": gpt,
    "lstm": lstm,
    "dlrm": dlrm,
    "layers": layers,
}
