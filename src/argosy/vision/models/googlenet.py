"""GoogLeNet: windows of several sizes side by side, and two more outputs for training."""

from __future__ import annotations

from typing import Any

from argosy import nn
from argosy.framework.param_attr import ParamAttr
from argosy.nn import functional as F
from argosy.tensor.manipulation import concat, flatten, squeeze
from argosy.vision.models._classifier import IMAGENET, with_weights, within

model_urls = {
    "googlenet": (f"{IMAGENET}GoogLeNet_pretrained.pdparams", "80c06f038e905c53ab32c40eca6e26ae"),
}

# name -> channels in; of 1 x 1; before and of 3 x 3; before and of 5 x 5; behind the pooling
_INCEPTIONS = {
    "_ince3a": (192, 64, 96, 128, 16, 32, 32),
    "_ince3b": (256, 128, 128, 192, 32, 96, 64),
    "_ince4a": (480, 192, 96, 208, 16, 48, 64),
    "_ince4b": (512, 160, 112, 224, 24, 64, 64),
    "_ince4c": (512, 128, 128, 256, 24, 64, 64),
    "_ince4d": (512, 112, 144, 288, 32, 64, 64),
    "_ince4e": (528, 256, 160, 320, 32, 128, 128),
    "_ince5a": (832, 256, 160, 320, 32, 128, 128),
    "_ince5b": (832, 384, 192, 384, 48, 128, 128),
}


def xavier(channels: int, filter_size: int) -> ParamAttr:
    """A parameter that starts within the bound for so many inputs."""
    return within((3.0 / (filter_size**2 * channels)) ** 0.5)


class ConvLayer(nn.Layer):
    """A convolution without bias that keeps the size, if its stride is 1."""

    def __init__(
        self,
        num_channels: int,
        num_filters: int,
        filter_size: int,
        stride: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__()
        pad = (filter_size - 1) // 2
        self._conv = nn.Conv2D(
            num_channels, num_filters, filter_size, stride, pad, groups=groups, bias_attr=False
        )

    def forward(self, inputs: Any) -> Any:
        return self._conv(inputs)


class Inception(nn.Layer):
    """Windows of 1 x 1, 3 x 3 and 5 x 5 and a pooling, joined along the channels."""

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        filter1: int,
        filter3R: int,
        filter3: int,
        filter5R: int,
        filter5: int,
        proj: int,
    ) -> None:
        super().__init__()
        self._conv1 = ConvLayer(input_channels, filter1, 1)
        self._conv3r = ConvLayer(input_channels, filter3R, 1)
        self._conv3 = ConvLayer(filter3R, filter3, 3)
        self._conv5r = ConvLayer(input_channels, filter5R, 1)
        self._conv5 = ConvLayer(filter5R, filter5, 5)
        self._pool = nn.MaxPool2D(kernel_size=3, stride=1, padding=1)
        self._convprj = ConvLayer(input_channels, proj, 1)

    def forward(self, inputs: Any) -> Any:
        three = self._conv3(self._conv3r(inputs))
        five = self._conv5(self._conv5r(inputs))
        pooled = self._convprj(self._pool(inputs))
        return F.relu(concat([self._conv1(inputs), three, five, pooled], axis=1))


class GoogLeNet(nn.Layer):
    """Returns three outputs: that of the whole net, and those behind its blocks 4a and 4d, whose
    heads fit images of 224 x 224 pixels.

    Example:
        >>> import paddle
        >>> net = paddle.vision.models.GoogLeNet(num_classes=0, with_pool=False)
        >>> [out.shape[1] for out in net(paddle.rand([1, 3, 64, 64]))]
        [1024, 512, 528]
    """

    num_classes: int
    with_pool: bool

    def __init__(self, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        self._conv = ConvLayer(3, 64, 7, 2)
        self._pool = nn.MaxPool2D(kernel_size=3, stride=2)
        self._conv_1 = ConvLayer(64, 64, 1)
        self._conv_2 = ConvLayer(64, 192, 3)
        for name, (inputs, *widths) in _INCEPTIONS.items():
            setattr(self, name, Inception(inputs, inputs, *widths))
        if with_pool:
            self._pool_5 = nn.AdaptiveAvgPool2D(1)
            self._pool_o1 = nn.AvgPool2D(kernel_size=5, stride=3)
            self._pool_o2 = nn.AvgPool2D(kernel_size=5, stride=3)
        if num_classes > 0:
            self._drop = nn.Dropout(0.4, mode="downscale_in_infer")
            self._fc_out = nn.Linear(1024, num_classes, xavier(1024, 1))
            for number, inputs in enumerate((512, 528), start=1):
                self._add_head(number, inputs)

    def _add_head(self, number: int, inputs: int) -> None:
        layers = {
            f"_conv_o{number}": ConvLayer(inputs, 128, 1),
            f"_fc_o{number}": nn.Linear(1152, 1024, xavier(2048, 1)),
            f"_drop_o{number}": nn.Dropout(0.7, mode="downscale_in_infer"),
            f"_out{number}": nn.Linear(1024, self.num_classes, xavier(1024, 1)),
        }
        for name, layer in layers.items():
            setattr(self, name, layer)

    def _inner_scores(self, x: Any, number: int) -> Any:
        x = flatten(getattr(self, f"_conv_o{number}")(x), 1)
        x = getattr(self, f"_fc_o{number}")(x)
        if number == 1:  # the published weights were trained without it behind 4d
            x = F.relu(x)
        return getattr(self, f"_out{number}")(getattr(self, f"_drop_o{number}")(x))

    def forward(self, inputs: Any) -> tuple[Any, Any, Any]:
        x = self._pool(self._conv(inputs))
        x = self._pool(self._conv_2(self._conv_1(x)))
        x = self._pool(self._ince3b(self._ince3a(x)))
        first = self._ince4a(x)
        second = self._ince4d(self._ince4c(self._ince4b(first)))
        out = self._ince5b(self._ince5a(self._pool(self._ince4e(second))))
        if self.with_pool:
            out, first, second = self._pool_5(out), self._pool_o1(first), self._pool_o2(second)
        if self.num_classes > 0:
            out = self._fc_out(squeeze(self._drop(out), axis=[2, 3]))
            first, second = self._inner_scores(first, 1), self._inner_scores(second, 2)
        return out, first, second


def googlenet(pretrained: bool = False, **kwargs: Any) -> GoogLeNet:
    """GoogLeNet; ``kwargs`` are those of the class."""
    return with_weights(GoogLeNet(**kwargs), "googlenet", pretrained, model_urls)
