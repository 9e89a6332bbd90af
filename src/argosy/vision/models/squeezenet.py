"""SqueezeNet: few channels before each 3 x 3 convolution."""

from __future__ import annotations

from typing import Any

from argosy import nn
from argosy.foundation.errors import BadArgument
from argosy.nn import functional as F
from argosy.tensor.manipulation import concat, squeeze
from argosy.vision.models._classifier import IMAGENET, with_weights

model_urls = {
    "squeezenet1_0": (
        f"{IMAGENET}SqueezeNet1_0_pretrained.pdparams",
        "30b95af60a2178f03cf9b66cd77e1db1",
    ),
    "squeezenet1_1": (
        f"{IMAGENET}SqueezeNet1_1_pretrained.pdparams",
        "a11250d3a1f91d7131fd095ebbf09eee",
    ),
}

# version -> channels, window and padding of the first convolution; the fires behind which it pools
_VERSIONS = {"1.0": (96, 7, 0, (3, 7)), "1.1": (64, 3, 1, (2, 4))}
# of each fire: channels that are squeezed to, channels of each expansion
_FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))


class MakeFireConv(nn.Layer):
    """A convolution and a ReLU."""

    def __init__(
        self, input_channels: int, output_channels: int, filter_size: Any, padding: Any = 0
    ) -> None:
        super().__init__()
        self._conv = nn.Conv2D(input_channels, output_channels, filter_size, padding=padding)

    def forward(self, x: Any) -> Any:
        return F.relu(self._conv(x))


class MakeFire(nn.Layer):
    """1 x 1 to few channels, then 1 x 1 and 3 x 3 side by side."""

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        expand1x1_channels: int,
        expand3x3_channels: int,
    ) -> None:
        super().__init__()
        self._conv = MakeFireConv(input_channels, squeeze_channels, 1)
        self._conv_path1 = MakeFireConv(squeeze_channels, expand1x1_channels, 1)
        self._conv_path2 = MakeFireConv(squeeze_channels, expand3x3_channels, 3, padding=1)

    def forward(self, inputs: Any) -> Any:
        x = self._conv(inputs)
        return concat([self._conv_path1(x), self._conv_path2(x)], axis=1)


class SqueezeNet(nn.Layer):
    """SqueezeNet of version "1.0" or "1.1".

    Example:
        >>> import paddle
        >>> net = paddle.vision.models.SqueezeNet("1.1", num_classes=5)
        >>> net(paddle.rand([1, 3, 32, 32])).shape
        [1, 5]
    """

    version: str
    num_classes: int
    with_pool: bool

    def __init__(self, version: str, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        if version not in _VERSIONS:
            raise BadArgument(
                f"SqueezeNet: version must be one of {[*_VERSIONS]}, but is {version!r}"
            )
        self.version = version
        self.num_classes = num_classes
        self.with_pool = with_pool
        channels, kernel, padding, self._pooled = _VERSIONS[version]
        self._conv = nn.Conv2D(3, channels, kernel, stride=2, padding=padding)
        self._pool = nn.MaxPool2D(kernel_size=3, stride=2)
        for number, (inner, outer) in enumerate(_FIRES, start=1):
            setattr(self, f"_conv{number}", MakeFire(channels, inner, outer, outer))
            channels = 2 * outer
        self._drop = nn.Dropout(0.5, mode="downscale_in_infer")
        self._conv9 = nn.Conv2D(channels, num_classes, 1)
        self._avg_pool = nn.AdaptiveAvgPool2D(1)

    def forward(self, inputs: Any) -> Any:
        x = self._pool(F.relu(self._conv(inputs)))
        for number in range(1, len(_FIRES) + 1):
            x = getattr(self, f"_conv{number}")(x)
            if number in self._pooled:
                x = self._pool(x)
        if self.num_classes > 0:
            x = self._conv9(self._drop(x))
        if self.with_pool:
            x = squeeze(self._avg_pool(F.relu(x)), axis=[2, 3])
        return x


def squeezenet1_0(pretrained: bool = False, **kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0; ``kwargs`` are those of the class, here and below."""
    return with_weights(SqueezeNet("1.0", **kwargs), "squeezenet1_0", pretrained, model_urls)


def squeezenet1_1(pretrained: bool = False, **kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1, which takes less than half the time."""
    return with_weights(SqueezeNet("1.1", **kwargs), "squeezenet1_1", pretrained, model_urls)
