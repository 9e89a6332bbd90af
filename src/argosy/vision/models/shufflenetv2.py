"""ShuffleNet of the second version: half of the channels pass by, then they are mixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import nn
from argosy.foundation.errors import NotSupported
from argosy.tensor.manipulation import concat, split
from argosy.vision.models._classifier import HAPI, Classifier, activation_of, with_weights
from argosy.vision.ops import ConvNormActivation

_MD5 = {
    "shufflenet_v2_x0_25": "1e509b4c140eeb096bb16e214796d03b",
    "shufflenet_v2_x0_33": "3d7b3ab0eaa5c0927ff1026d31b729bd",
    "shufflenet_v2_x0_5": "5e5cee182a7793c4e4c73949b1a71bd4",
    "shufflenet_v2_x1_0": "122d42478b9e81eb49f8a9ede327b1a4",
    "shufflenet_v2_x1_5": "faced5827380d73531d0ee027c67826d",
    "shufflenet_v2_x2_0": "cd3dddcd8305e7bcd8ad14d1c69a5784",
    "shufflenet_v2_swish": "adde0aa3b023e5b0c94a68be1c394b84",
}
model_urls = {name: (f"{HAPI}{name}.pdparams", md5) for name, md5 in _MD5.items()}

# scale -> channels of the three stages and of the last layer
_CHANNELS = {
    0.25: (24, 48, 96, 512),
    0.33: (32, 64, 128, 512),
    0.5: (48, 96, 192, 1024),
    1.0: (116, 232, 464, 1024),
    1.5: (176, 352, 704, 1024),
    2.0: (224, 488, 976, 2048),
}
_BLOCKS = (4, 8, 4)
_ACTIVATIONS: dict[str, type[nn.Layer]] = {"relu": nn.ReLU, "swish": nn.Swish}


def create_activation_layer(act: str | None) -> type[nn.Layer] | None:
    """The layer of an activation: "relu", "swish" or None."""
    return activation_of(act, _ACTIVATIONS)


def channel_shuffle(x: Any, groups: int) -> Any:
    """Channels in a new order: the first of every group, the second of every group ..."""
    n, channels, height, width = x.shape
    apart = x.reshape([n, groups, channels // groups, height, width])
    return apart.transpose([0, 2, 1, 3, 4]).reshape([n, channels, height, width])


class InvertedResidual(nn.Layer):
    """Works on the second half of the channels."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        stride: Any,
        activation_layer: Callable[..., nn.Layer] | None = nn.ReLU,
    ) -> None:
        super().__init__()
        half = out_channels // 2
        act: dict[str, Any] = {"activation_layer": activation_layer}
        self._conv_pw = ConvNormActivation(in_channels // 2, half, 1, **act)
        self._conv_dw = _depthwise(half, stride)
        self._conv_linear = ConvNormActivation(half, half, 1, **act)

    def forward(self, inputs: Any) -> Any:
        passing, x = split(inputs, [inputs.shape[1] // 2] * 2, axis=1)
        x = self._conv_linear(self._conv_dw(self._conv_pw(x)))
        return channel_shuffle(concat([passing, x], axis=1), 2)


class InvertedResidualDS(nn.Layer):
    """Works on all channels twice, and halves the size if the stride is 2."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        stride: Any,
        activation_layer: Callable[..., nn.Layer] | None = nn.ReLU,
    ) -> None:
        super().__init__()
        half = out_channels // 2
        act: dict[str, Any] = {"activation_layer": activation_layer}
        self._conv_dw_1 = _depthwise(in_channels, stride)
        self._conv_linear_1 = ConvNormActivation(in_channels, half, 1, **act)
        self._conv_pw_2 = ConvNormActivation(in_channels, half, 1, **act)
        self._conv_dw_2 = _depthwise(half, stride)
        self._conv_linear_2 = ConvNormActivation(half, half, 1, **act)

    def forward(self, inputs: Any) -> Any:
        one = self._conv_linear_1(self._conv_dw_1(inputs))
        two = self._conv_linear_2(self._conv_dw_2(self._conv_pw_2(inputs)))
        return channel_shuffle(concat([one, two], axis=1), 2)


def _depthwise(channels: int, stride: Any) -> nn.Layer:
    return ConvNormActivation(channels, channels, 3, stride, groups=channels, activation_layer=None)


class ShuffleNetV2(Classifier):
    """ShuffleNet; ``scale`` chooses how many channels it has.

    Example:
        >>> import paddle
        >>> net = paddle.vision.models.ShuffleNetV2(scale=0.25, num_classes=5)
        >>> net(paddle.rand([2, 3, 32, 32])).shape
        [2, 5]
    """

    def __init__(
        self,
        scale: float = 1.0,
        act: str | None = "relu",
        num_classes: int = 1000,
        with_pool: bool = True,
    ) -> None:
        super().__init__(num_classes, with_pool)
        if scale not in _CHANNELS:
            raise NotSupported(f"ShuffleNetV2: scale is {scale}, expected one of {[*_CHANNELS]}")
        self.scale = scale
        activation = create_activation_layer(act)
        *stages, last = _CHANNELS[scale]
        channels = 24
        self._conv1 = ConvNormActivation(3, channels, 3, 2, activation_layer=activation)
        self._max_pool = nn.MaxPool2D(kernel_size=3, stride=2, padding=1)
        self._block_list: list[Any] = []
        for stage, (outputs, blocks) in enumerate(zip(stages, _BLOCKS, strict=True), start=2):
            for number in range(1, blocks + 1):
                kind, stride = (InvertedResidualDS, 2) if number == 1 else (InvertedResidual, 1)
                block = kind(channels, outputs, stride, activation)
                self._block_list.append(self.add_sublayer(f"{stage}_{number}", block))
                channels = outputs
        self._last_conv = ConvNormActivation(channels, last, 1, activation_layer=activation)
        if with_pool:
            self._pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self._out_c = last
            self._fc = nn.Linear(last, num_classes)

    def forward(self, inputs: Any) -> Any:
        x = self._max_pool(self._conv1(inputs))
        for block in self._block_list:
            x = block(x)
        return self._scores(self._last_conv(x), "_pool2d_avg", "_fc")


def _shufflenet(name: str, scale: float, pretrained: bool, kwargs: Any) -> ShuffleNetV2:
    return with_weights(ShuffleNetV2(scale, **kwargs), name, pretrained, model_urls)


def shufflenet_v2_x0_25(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet of scale 0.25; ``kwargs`` are those of the class, here and below."""
    return _shufflenet("shufflenet_v2_x0_25", 0.25, pretrained, kwargs)


def shufflenet_v2_x0_33(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet of scale 0.33."""
    return _shufflenet("shufflenet_v2_x0_33", 0.33, pretrained, kwargs)


def shufflenet_v2_x0_5(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet of scale 0.5."""
    return _shufflenet("shufflenet_v2_x0_5", 0.5, pretrained, kwargs)


def shufflenet_v2_x1_0(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet of scale 1.0."""
    return _shufflenet("shufflenet_v2_x1_0", 1.0, pretrained, kwargs)


def shufflenet_v2_x1_5(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet of scale 1.5."""
    return _shufflenet("shufflenet_v2_x1_5", 1.5, pretrained, kwargs)


def shufflenet_v2_x2_0(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet of scale 2.0."""
    return _shufflenet("shufflenet_v2_x2_0", 2.0, pretrained, kwargs)


def shufflenet_v2_swish(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet of scale 1.0 with the activation swish."""
    return _shufflenet("shufflenet_v2_swish", 1.0, pretrained, {**kwargs, "act": "swish"})
