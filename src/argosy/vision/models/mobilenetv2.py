"""MobileNet of the second version: blocks that are wide inside and narrow between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import nn
from argosy.foundation.errors import BadArgument
from argosy.vision.models._classifier import HAPI, Classifier, with_weights
from argosy.vision.models._utils import _make_divisible
from argosy.vision.ops import ConvNormActivation

model_urls = {
    "mobilenetv2_1.0": (f"{HAPI}mobilenet_v2_x1.0.pdparams", "0340af0a901346c8d46f4529882fb63d"),
}

# of each stage: how much wider it is inside, channels, blocks, stride of the first
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class InvertedResidual(nn.Layer):
    """1 x 1 to more channels, 3 x 3 on each of them, 1 x 1 back; beside a shortcut, where shapes
    allow one.
    """

    def __init__(
        self,
        inp: int,
        oup: int,
        stride: int,
        expand_ratio: float,
        norm_layer: Callable[..., nn.Layer] = nn.BatchNorm2D,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise BadArgument(f"InvertedResidual: stride must be 1 or 2, but is {stride}")
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        inner = round(inp * expand_ratio)
        kind: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        expand = [] if expand_ratio == 1 else [ConvNormActivation(inp, inner, 1, **kind)]
        self.conv = nn.Sequential(
            *expand,
            ConvNormActivation(inner, inner, stride=stride, groups=inner, **kind),
            nn.Conv2D(inner, oup, 1, bias_attr=False),
            norm_layer(oup),
        )

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(Classifier):
    """MobileNet; ``scale`` multiplies all channels, those of the last layer if it is above 1.

    Example:
        >>> import paddle
        >>> net = paddle.vision.models.MobileNetV2(scale=0.25, num_classes=5)
        >>> net(paddle.rand([1, 3, 32, 32])).shape
        [1, 5]
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__(num_classes, with_pool)
        channels = _make_divisible(32 * scale)
        self.last_channel = _make_divisible(1280 * max(1.0, scale))
        layers: list[nn.Layer] = [
            ConvNormActivation(3, channels, stride=2, activation_layer=nn.ReLU6)
        ]
        for ratio, wanted, blocks, first_stride in _STAGES:
            outputs = _make_divisible(wanted * scale)
            for stride in (first_stride, *[1] * (blocks - 1)):
                layers.append(InvertedResidual(channels, outputs, stride, ratio))
                channels = outputs
        layers.append(ConvNormActivation(channels, self.last_channel, 1, activation_layer=nn.ReLU6))
        self.features = nn.Sequential(*layers)
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            head = nn.Linear(self.last_channel, num_classes)
            self.classifier = nn.Sequential(nn.Dropout(0.2), head)

    def forward(self, x: Any) -> Any:
        return self._scores(self.features(x), "pool2d_avg", "classifier")


def mobilenet_v2(pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> MobileNetV2:
    """MobileNet; ``kwargs`` are those of the class."""
    net = MobileNetV2(scale, **kwargs)
    return with_weights(net, f"mobilenetv2_{scale}", pretrained, model_urls)
