"""Inception of the third version: branches of several windows, joined along the channels."""

from __future__ import annotations

from typing import Any

from argosy import nn
from argosy.tensor.manipulation import concat
from argosy.vision.models._classifier import HAPI, Classifier, with_weights, within
from argosy.vision.ops import ConvNormActivation

model_urls = {
    "inception_v3": (f"{HAPI}inception_v3.pdparams", "649a4547c3243e8b59c656f41fe330b8"),
}

# one convolution: its channels, its window, its stride
Step = tuple[int, Any, int]


class InceptionStem(nn.Layer):
    """From an image to 192 channels of an eighth of its size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv_1a_3x3 = ConvNormActivation(3, 32, 3, stride=2, padding=0)
        self.conv_2a_3x3 = ConvNormActivation(32, 32, 3, padding=0)
        self.conv_2b_3x3 = ConvNormActivation(32, 64, 3, padding=1)
        self.max_pool = nn.MaxPool2D(kernel_size=3, stride=2)
        self.conv_3b_1x1 = ConvNormActivation(64, 80, 1)
        self.conv_4a_3x3 = ConvNormActivation(80, 192, 3, padding=0)

    def forward(self, x: Any) -> Any:
        x = self.conv_2b_3x3(self.conv_2a_3x3(self.conv_1a_3x3(x)))
        x = self.conv_4a_3x3(self.conv_3b_1x1(self.max_pool(x)))
        return self.max_pool(x)


class _Branches(nn.Layer):
    """Branches side by side. A branch is a chain of layers, the last of which may be several."""

    branch_pool: nn.Layer

    def __init__(self, num_channels: int) -> None:
        super().__init__()
        self._num_channels = num_channels
        self._routes: list[tuple[list[str], list[str]]] = []

    def _branch(self, name: str, *steps: Step, ends: tuple[Step, ...] = ()) -> None:
        """Add the convolutions ``name``_1, ``name``_2 ..., or ``name`` if it is one; behind them
        ``ends`` as ``name``_2a, ``name``_2b.
        """
        width = self._num_channels
        numbered = [f"{name}_{i}" for i in range(1, len(steps) + 1)]
        chain = numbered if ends or len(steps) > 1 else [name]
        for layer, step in zip(chain, steps, strict=True):
            setattr(self, layer, _conv(width, *step))
            width = step[0]
        forks = [f"{name}_{len(steps) + 1}{letter}" for letter in "ab"[: len(ends)]]
        for layer, step in zip(forks, ends, strict=True):
            setattr(self, layer, _conv(width, *step))
        self._routes.append((chain, forks) if forks else (chain[:-1], chain[-1:]))

    def _mean_branch(self, channels: int) -> None:
        self.branch_pool = nn.AvgPool2D(kernel_size=3, stride=1, padding=1, exclusive=False)
        self.branch_pool_conv = _conv(self._num_channels, channels, 1, 1)
        self._routes.append((["branch_pool"], ["branch_pool_conv"]))

    def _max_branch(self) -> None:
        self.branch_pool = nn.MaxPool2D(kernel_size=3, stride=2)
        self._routes.append(([], ["branch_pool"]))

    def forward(self, x: Any) -> Any:
        found = []
        for chain, ends in self._routes:
            y = x
            for name in chain:
                y = getattr(self, name)(y)
            found += [getattr(self, name)(y) for name in ends]
        return concat(found, axis=1)


def _conv(inputs: int, outputs: int, kernel: Any, stride: int) -> nn.Layer:
    """Keeps the size, or halves it and pads nothing."""
    sides = (kernel, kernel) if isinstance(kernel, int) else kernel
    padding = 0 if stride > 1 else tuple((side - 1) // 2 for side in sides)
    return ConvNormActivation(inputs, outputs, kernel, stride, padding)


_WIDE, _HIGH = (1, 7), (7, 1)


class InceptionA(_Branches):
    """Windows up to 5 x 5."""

    def __init__(self, num_channels: int, pool_features: int) -> None:
        super().__init__(num_channels)
        self._branch("branch1x1", (64, 1, 1))
        self._branch("branch5x5", (48, 1, 1), (64, 5, 1))
        self._branch("branch3x3dbl", (64, 1, 1), (96, 3, 1), (96, 3, 1))
        self._mean_branch(pool_features)


class InceptionB(_Branches):
    """To half the size, between A and C."""

    def __init__(self, num_channels: int) -> None:
        super().__init__(num_channels)
        self._branch("branch3x3", (384, 3, 2))
        self._branch("branch3x3dbl", (64, 1, 1), (96, 3, 1), (96, 3, 2))
        self._max_branch()


class InceptionC(_Branches):
    """Windows of 7 x 7, as one row and one column."""

    def __init__(self, num_channels: int, channels_7x7: int) -> None:
        super().__init__(num_channels)
        n = channels_7x7
        self._branch("branch1x1", (192, 1, 1))
        self._branch("branch7x7", (n, 1, 1), (n, _WIDE, 1), (192, _HIGH, 1))
        twice = ((n, _HIGH, 1), (n, _WIDE, 1), (n, _HIGH, 1), (192, _WIDE, 1))
        self._branch("branch7x7dbl", (n, 1, 1), *twice)
        self._mean_branch(192)


class InceptionD(_Branches):
    """To half the size, between C and E."""

    def __init__(self, num_channels: int) -> None:
        super().__init__(num_channels)
        self._branch("branch3x3", (192, 1, 1), (320, 3, 2))
        self._branch("branch7x7x3", (192, 1, 1), (192, _WIDE, 1), (192, _HIGH, 1), (192, 3, 2))
        self._max_branch()


class InceptionE(_Branches):
    """Windows of 3 x 3, whose row and column are two branches."""

    def __init__(self, num_channels: int) -> None:
        super().__init__(num_channels)
        ends = ((384, (1, 3), 1), (384, (3, 1), 1))
        self._branch("branch1x1", (320, 1, 1))
        self._branch("branch3x3", (384, 1, 1), ends=ends)
        self._branch("branch3x3dbl", (448, 1, 1), (384, 3, 1), ends=ends)
        self._mean_branch(192)


class InceptionV3(Classifier):
    """Inception, for images of 299 x 299 pixels.

    Example:
        >>> import paddle
        >>> net = paddle.vision.models.InceptionV3(num_classes=5)
        >>> _ = net.eval()
        >>> net(paddle.rand([1, 3, 75, 75])).shape
        [1, 5]
    """

    def __init__(self, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__(num_classes, with_pool)
        self.inception_stem = InceptionStem()
        self.inception_block_list = nn.LayerList([
            *(InceptionA(n, pool) for n, pool in ((192, 32), (256, 64), (288, 64))),
            InceptionB(288),
            *(InceptionC(768, inner) for inner in (128, 160, 160, 192)),
            InceptionD(768),
            *(InceptionE(n) for n in (1280, 2048)),
        ])  # fmt: skip
        if with_pool:
            self.avg_pool = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.dropout = nn.Dropout(0.2, mode="downscale_in_infer")
            self.fc = nn.Linear(2048, num_classes, within(2048**-0.5))

    def forward(self, x: Any) -> Any:
        x = self.inception_stem(x)
        for block in self.inception_block_list:
            x = block(x)
        if self.with_pool:
            x = self.avg_pool(x)
        if self.num_classes > 0:
            x = self.fc(self.dropout(x.reshape([-1, 2048])))
        return x


def inception_v3(pretrained: bool = False, **kwargs: Any) -> InceptionV3:
    """Inception; ``kwargs`` are those of the class."""
    return with_weights(InceptionV3(**kwargs), "inception_v3", pretrained, model_urls)
