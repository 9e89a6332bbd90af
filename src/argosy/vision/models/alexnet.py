"""AlexNet."""

from __future__ import annotations

import math
from typing import Any

from argosy import nn
from argosy.nn import functional as F
from argosy.tensor.manipulation import flatten
from argosy.vision.models._classifier import IMAGENET, with_weights, within

model_urls = {
    "alexnet": (f"{IMAGENET}AlexNet_pretrained.pdparams", "7f0f9f737132e02732d75a1459d98a43"),
}


class ConvPoolLayer(nn.Layer):
    """A convolution, perhaps a ReLU, and pooling to half the size; parameters start within
    ``stdv``.
    """

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        filter_size: Any,
        stride: Any,
        padding: Any,
        stdv: float,
        groups: int = 1,
        act: str | None = None,
    ) -> None:
        super().__init__()
        self.relu = nn.ReLU() if act == "relu" else None
        self._conv = nn.Conv2D(
            input_channels,
            output_channels,
            filter_size,
            stride,
            padding,
            groups=groups,
            weight_attr=within(stdv),
            bias_attr=within(stdv),
        )
        self._pool = nn.MaxPool2D(kernel_size=3, stride=2)

    def forward(self, inputs: Any) -> Any:
        x = self._conv(inputs)
        return self._pool(x if self.relu is None else self.relu(x))


class AlexNet(nn.Layer):
    """Five convolutions and three linear layers, for images of 224 x 224 pixels.

    Example:
        >>> import paddle
        >>> paddle.vision.models.AlexNet(num_classes=0)(paddle.rand([1, 3, 64, 64])).shape
        [1, 256, 1, 1]
    """

    num_classes: int

    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        self.num_classes = num_classes
        self._conv1 = _pooled(3, 64, 11, stride=4, padding=2)
        self._conv2 = _pooled(64, 192, 5, padding=2)
        self._conv3 = _conv(192, 384)
        self._conv4 = _conv(384, 256)
        self._conv5 = _pooled(256, 256, 3, padding=1)
        if num_classes > 0:
            flat = 256 * 6 * 6
            self._drop1 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc6 = _linear(flat, 4096)
            self._drop2 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc7 = _linear(4096, 4096)
            self._fc8 = _linear(4096, num_classes)

    def forward(self, inputs: Any) -> Any:
        x = self._conv2(self._conv1(inputs))
        x = F.relu(self._conv4(F.relu(self._conv3(x))))
        x = self._conv5(x)
        if self.num_classes > 0:
            x = F.relu(self._fc6(self._drop1(flatten(x, 1))))
            x = F.relu(self._fc7(self._drop2(x)))
            x = self._fc8(x)
        return x


def _pooled(inputs: int, outputs: int, kernel: int, *, stride: int = 1, padding: int) -> nn.Layer:
    bound = 1 / math.sqrt(inputs * kernel**2)
    return ConvPoolLayer(inputs, outputs, kernel, stride, padding, bound, act="relu")


def _conv(inputs: int, outputs: int) -> nn.Layer:
    bound = 1 / math.sqrt(inputs * 3**2)
    return nn.Conv2D(
        inputs, outputs, 3, padding=1, weight_attr=within(bound), bias_attr=within(bound)
    )


def _linear(inputs: int, outputs: int) -> nn.Layer:
    bound = 1 / math.sqrt(256 * 6 * 6)  # of the first of them, for all
    return nn.Linear(inputs, outputs, within(bound), within(bound))


def alexnet(pretrained: bool = False, **kwargs: Any) -> AlexNet:
    """AlexNet; ``kwargs`` are those of the class."""
    return with_weights(AlexNet(**kwargs), "alexnet", pretrained, model_urls)
