"""MobileNet of the third version: blocks that also weigh their channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from argosy import nn
from argosy.vision.models._classifier import HAPI, Classifier, activation_of, with_weights
from argosy.vision.models._utils import _make_divisible
from argosy.vision.ops import ConvNormActivation

_MD5 = {
    "mobilenet_v3_small_x1.0": "34fe0e7c1f8b00b2b056ad6788d0590c",
    "mobilenet_v3_large_x1.0": "118db5792b4e183b925d8e8e334db3df",
}
model_urls = {name: (f"{HAPI}{name}.pdparams", md5) for name, md5 in _MD5.items()}

# of each block: channels in, kernel, channels inside, channels out, whether it weighs its
# channels, activation, stride
_SMALL = (
    (16, 3, 16, 16, True, "relu", 2),
    (16, 3, 72, 24, False, "relu", 2),
    (24, 3, 88, 24, False, "relu", 1),
    (24, 5, 96, 40, True, "hardswish", 2),
    (40, 5, 240, 40, True, "hardswish", 1),
    (40, 5, 240, 40, True, "hardswish", 1),
    (40, 5, 120, 48, True, "hardswish", 1),
    (48, 5, 144, 48, True, "hardswish", 1),
    (48, 5, 288, 96, True, "hardswish", 2),
    (96, 5, 576, 96, True, "hardswish", 1),
    (96, 5, 576, 96, True, "hardswish", 1),
)
_LARGE = (
    (16, 3, 16, 16, False, "relu", 1),
    (16, 3, 64, 24, False, "relu", 2),
    (24, 3, 72, 24, False, "relu", 1),
    (24, 5, 72, 40, True, "relu", 2),
    (40, 5, 120, 40, True, "relu", 1),
    (40, 5, 120, 40, True, "relu", 1),
    (40, 3, 240, 80, False, "hardswish", 2),
    (80, 3, 200, 80, False, "hardswish", 1),
    (80, 3, 184, 80, False, "hardswish", 1),
    (80, 3, 184, 80, False, "hardswish", 1),
    (80, 3, 480, 112, True, "hardswish", 1),
    (112, 3, 672, 112, True, "hardswish", 1),
    (112, 5, 672, 160, True, "hardswish", 2),
    (160, 5, 960, 160, True, "hardswish", 1),
    (160, 5, 960, 160, True, "hardswish", 1),
)
_ACTIVATIONS: dict[str, type[nn.Layer]] = {"relu": nn.ReLU, "hardswish": nn.Hardswish}


class SqueezeExcitation(nn.Layer):
    """Weigh each channel by what all channels are on the mean."""

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Callable[..., nn.Layer] = nn.ReLU,
        scale_activation: Callable[..., nn.Layer] = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2D(1)
        self.fc1 = nn.Conv2D(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2D(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input: Any) -> Any:
        inner = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(inner)) * input


class InvertedResidualConfig:
    """A block, described; ``scale`` multiplies its channels."""

    def __init__(
        self,
        in_channels: int,
        kernel: int,
        expanded_channels: int,
        out_channels: int,
        use_se: bool,
        activation: str | None,
        stride: int,
        scale: float = 1.0,
    ) -> None:
        self.in_channels = self.adjust_channels(in_channels, scale)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, scale)
        self.out_channels = self.adjust_channels(out_channels, scale)
        self.use_se = use_se
        self.activation_layer = activation_of(activation, _ACTIVATIONS)
        self.stride = stride

    @staticmethod
    def adjust_channels(channels: int, scale: float = 1.0) -> int:
        """So many times ``scale``, as a multiple of 8."""
        return _make_divisible(channels * scale)


class InvertedResidual(nn.Layer):
    """1 x 1 to more channels, a window on each of them, weights for them if wanted, 1 x 1 back;
    beside a shortcut, where shapes allow one.
    """

    def __init__(
        self,
        in_channels: int,
        expanded_channels: int,
        out_channels: int,
        filter_size: int,
        stride: int,
        use_se: bool,
        activation_layer: Callable[..., nn.Layer] | None,
        norm_layer: Callable[..., nn.Layer],
    ) -> None:
        super().__init__()
        self.use_res_connect = stride == 1 and in_channels == out_channels
        self.use_se = use_se
        self.expand = in_channels != expanded_channels
        block = partial(ConvNormActivation, norm_layer=norm_layer)
        inner: dict[str, Any] = {"activation_layer": activation_layer}
        width = expanded_channels
        if self.expand:
            self.expand_conv = block(in_channels, width, 1, **inner)
        self.bottleneck_conv = block(width, width, filter_size, stride, groups=width, **inner)
        if use_se:
            squeezed = _make_divisible(width // 4)
            self.mid_se = SqueezeExcitation(width, squeezed, scale_activation=nn.Hardsigmoid)
        self.linear_conv = block(width, out_channels, 1, activation_layer=None)

    def forward(self, x: Any) -> Any:
        y = self.expand_conv(x) if self.expand else x
        y = self.bottleneck_conv(y)
        if self.use_se:
            y = self.mid_se(y)
        y = self.linear_conv(y)
        return x + y if self.use_res_connect else y


class MobileNetV3(Classifier):
    """The blocks of ``config`` between two convolutions, and a head with a layer of
    ``last_channel``.
    """

    def __init__(
        self,
        config: Sequence[InvertedResidualConfig],
        last_channel: int,
        scale: float = 1.0,
        num_classes: int = 1000,
        with_pool: bool = True,
    ) -> None:
        super().__init__(num_classes, with_pool)
        self.config = config
        self.scale = scale
        self.last_channel = last_channel
        self.firstconv_in_channels = config[0].in_channels
        self.lastconv_in_channels = config[-1].in_channels
        self.lastconv_out_channels = self.lastconv_in_channels * 6
        norm = partial(nn.BatchNorm2D, epsilon=0.001, momentum=0.99)
        ends: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.Hardswish}
        self.conv = ConvNormActivation(3, self.firstconv_in_channels, 3, stride=2, **ends)
        self.blocks = nn.Sequential(*(_block(part, norm) for part in config))
        wide = self.lastconv_out_channels
        self.lastconv = ConvNormActivation(self.lastconv_in_channels, wide, 1, **ends)
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            hidden = (nn.Linear(wide, last_channel), nn.Hardswish(), nn.Dropout(p=0.2))
            self.classifier = nn.Sequential(*hidden, nn.Linear(last_channel, num_classes))

    def forward(self, x: Any) -> Any:
        x = self.lastconv(self.blocks(self.conv(x)))
        return self._scores(x, "avgpool", "classifier")


def _block(part: InvertedResidualConfig, norm: Callable[..., nn.Layer]) -> nn.Layer:
    return InvertedResidual(
        part.in_channels,
        part.expanded_channels,
        part.out_channels,
        part.kernel,
        part.stride,
        part.use_se,
        part.activation_layer,
        norm,
    )


class MobileNetV3Small(MobileNetV3):
    """The small one; ``scale`` multiplies all channels.

    Example:
        >>> import paddle
        >>> net = paddle.vision.models.MobileNetV3Small(scale=0.5, num_classes=5)
        >>> net(paddle.rand([2, 3, 32, 32])).shape
        [2, 5]
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        blocks = [InvertedResidualConfig(*row, scale) for row in _SMALL]
        super().__init__(blocks, _make_divisible(1024 * scale), scale, num_classes, with_pool)


class MobileNetV3Large(MobileNetV3):
    """The large one; ``scale`` multiplies all channels."""

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        blocks = [InvertedResidualConfig(*row, scale) for row in _LARGE]
        super().__init__(blocks, _make_divisible(1280 * scale), scale, num_classes, with_pool)


def mobilenet_v3_small(
    pretrained: bool = False, scale: float = 1.0, **kwargs: Any
) -> MobileNetV3Small:
    """The small MobileNet; ``kwargs`` are those of the class."""
    net = MobileNetV3Small(scale, **kwargs)
    return with_weights(net, f"mobilenet_v3_small_x{scale}", pretrained, model_urls)


def mobilenet_v3_large(
    pretrained: bool = False, scale: float = 1.0, **kwargs: Any
) -> MobileNetV3Large:
    """The large MobileNet; ``kwargs`` are those of the class."""
    net = MobileNetV3Large(scale, **kwargs)
    return with_weights(net, f"mobilenet_v3_large_x{scale}", pretrained, model_urls)
