"""MobileNet of the first version: convolutions of each channel alone, then across channels."""

from __future__ import annotations

from typing import Any

from argosy import nn
from argosy.vision.models._classifier import HAPI, Classifier, with_weights
from argosy.vision.ops import ConvNormActivation

model_urls = {
    "mobilenetv1_1.0": (f"{HAPI}mobilenetv1_1.0.pdparams", "3033ab1975b1670bef51545feb65fc45"),
}

# name, channels in, channels out, stride
_LAYERS = (
    ("conv2_1", 32, 64, 1),
    ("conv2_2", 64, 128, 2),
    ("conv3_1", 128, 128, 1),
    ("conv3_2", 128, 256, 2),
    ("conv4_1", 256, 256, 1),
    ("conv4_2", 256, 512, 2),
    *((f"conv5_{i}", 512, 512, 1) for i in range(1, 6)),
    ("conv5_6", 512, 1024, 2),
    ("conv6", 1024, 1024, 1),
)


class DepthwiseSeparable(nn.Layer):
    """A 3 x 3 convolution in groups and one of 1 x 1; ``scale`` multiplies channels and groups,
    but not ``in_channels``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels1: int,
        out_channels2: int,
        num_groups: int,
        stride: Any,
        scale: float,
    ) -> None:
        super().__init__()
        inner, groups = int(out_channels1 * scale), int(num_groups * scale)
        self._depthwise_conv = ConvNormActivation(in_channels, inner, 3, stride, groups=groups)
        self._pointwise_conv = ConvNormActivation(inner, int(out_channels2 * scale), 1)

    def forward(self, x: Any) -> Any:
        return self._pointwise_conv(self._depthwise_conv(x))


class MobileNetV1(Classifier):
    """MobileNet; ``scale`` multiplies all channels.

    Example:
        >>> import paddle
        >>> net = paddle.vision.models.MobileNetV1(scale=0.25, num_classes=5)
        >>> net(paddle.rand([1, 3, 32, 32])).shape
        [1, 5]
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__(num_classes, with_pool)
        self.scale = scale
        self.conv1 = ConvNormActivation(3, int(32 * scale), 3, stride=2)
        self.dwsl: list[Any] = [
            self.add_sublayer(
                name,
                DepthwiseSeparable(int(inputs * scale), inputs, outputs, inputs, stride, scale),
            )
            for name, inputs, outputs, stride in _LAYERS
        ]
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.fc = nn.Linear(int(1024 * scale), num_classes)

    def forward(self, x: Any) -> Any:
        x = self.conv1(x)
        for layer in self.dwsl:
            x = layer(x)
        return self._scores(x, "pool2d_avg", "fc")


def mobilenet_v1(pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> MobileNetV1:
    """MobileNet; ``kwargs`` are those of the class."""
    net = MobileNetV1(scale, **kwargs)
    return with_weights(net, f"mobilenetv1_{scale}", pretrained, model_urls)
