"""LeNet, for digits of 28 x 28 pixels."""

from __future__ import annotations

from typing import Any

from argosy import nn
from argosy.tensor.manipulation import flatten


class LeNet(nn.Layer):
    """Two convolutions and three linear layers.

    Example:
        >>> import paddle
        >>> paddle.vision.models.LeNet()(paddle.rand([1, 1, 28, 28])).shape
        [1, 10]
    """

    num_classes: int

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.num_classes = num_classes
        first = (nn.Conv2D(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2, 2))
        second = (nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2, 2))
        self.features = nn.Sequential(*first, *second)
        if num_classes > 0:
            sizes = (16 * 5 * 5, 120, 84, num_classes)
            self.fc = nn.Sequential(*map(nn.Linear, sizes[:-1], sizes[1:]))

    def forward(self, inputs: Any) -> Any:
        x = self.features(inputs)
        return self.fc(flatten(x, 1)) if self.num_classes > 0 else x
