"""DenseNet: every layer sees what all before it in its block have found."""

from __future__ import annotations

from typing import Any

from argosy import nn
from argosy.foundation.errors import BadArgument
from argosy.tensor.manipulation import concat
from argosy.vision.models._classifier import IMAGENET, Classifier, with_weights, within

_MD5 = {
    121: "db1b239ed80a905290fd8b01d3af08e4",
    161: "62158869cb315098bd25ddbfd308a853",
    169: "82cc7c635c3f19098c748850efb2d796",
    201: "16ca29565a7712329cf9e36e02caaf58",
    264: "3270ce516b85370bba88cfdd9f60bff4",
}
model_urls = {
    f"densenet{n}": (f"{IMAGENET}DenseNet{n}_pretrained.pdparams", md5) for n, md5 in _MD5.items()
}

# depth -> channels of the first layer, channels that a layer adds, layers of each block
_PLANS = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
    264: (64, 32, [6, 12, 64, 48]),
}


def _conv(inputs: int, outputs: int, kernel: Any, stride: Any, pad: Any, groups: int) -> nn.Conv2D:
    return nn.Conv2D(inputs, outputs, kernel, stride, pad, groups=groups, bias_attr=False)


class BNACConvLayer(nn.Layer):
    """A norm, an activation, a convolution."""

    def __init__(
        self,
        num_channels: int,
        num_filters: int,
        filter_size: Any,
        stride: Any = 1,
        pad: Any = 0,
        groups: int = 1,
        act: str = "relu",
    ) -> None:
        super().__init__()
        self._batch_norm = nn.BatchNorm(num_channels, act=act)
        self._conv = _conv(num_channels, num_filters, filter_size, stride, pad, groups)

    def forward(self, input: Any) -> Any:
        return self._conv(self._batch_norm(input))


class ConvBNLayer(nn.Layer):
    """A convolution, a norm, an activation."""

    def __init__(
        self,
        num_channels: int,
        num_filters: int,
        filter_size: Any,
        stride: Any = 1,
        pad: Any = 0,
        groups: int = 1,
        act: str = "relu",
    ) -> None:
        super().__init__()
        self._conv = _conv(num_channels, num_filters, filter_size, stride, pad, groups)
        self._batch_norm = nn.BatchNorm(num_filters, act=act)

    def forward(self, input: Any) -> Any:
        return self._batch_norm(self._conv(input))


class DenseLayer(nn.Layer):
    """Adds ``growth_rate`` channels to those it gets."""

    def __init__(self, num_channels: int, growth_rate: int, bn_size: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        inner = bn_size * growth_rate
        self.bn_ac_func1 = BNACConvLayer(num_channels, inner, 1)
        self.bn_ac_func2 = BNACConvLayer(inner, growth_rate, 3, pad=1)
        if dropout:
            self.dropout_func = nn.Dropout(dropout, mode="downscale_in_infer")

    def forward(self, input: Any) -> Any:
        found = self.bn_ac_func2(self.bn_ac_func1(input))
        if self.dropout:
            found = self.dropout_func(found)
        return concat([input, found], axis=1)


class DenseBlock(nn.Layer):
    """Layers one after the other, called ``name``_1, ``name``_2 ..."""

    def __init__(
        self,
        num_channels: int,
        num_layers: int,
        bn_size: int,
        growth_rate: int,
        dropout: float,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.dense_layer_func: list[Any] = []
        for i in range(num_layers):
            layer = DenseLayer(num_channels + i * growth_rate, growth_rate, bn_size, dropout)
            self.dense_layer_func.append(self.add_sublayer(f"{name}_{i + 1}", layer))

    def forward(self, input: Any) -> Any:
        for layer in self.dense_layer_func:
            input = layer(input)
        return input


class TransitionLayer(nn.Layer):
    """Between two blocks: fewer channels and half the size."""

    def __init__(self, num_channels: int, num_output_features: int) -> None:
        super().__init__()
        self.conv_ac_func = BNACConvLayer(num_channels, num_output_features, 1)
        self.pool2d_avg = nn.AvgPool2D(kernel_size=2, stride=2)

    def forward(self, input: Any) -> Any:
        return self.pool2d_avg(self.conv_ac_func(input))


class DenseNet(Classifier):
    """DenseNet of 121, 161, 169, 201 or 264 layers.

    Example:
        >>> import paddle
        >>> net = paddle.vision.models.DenseNet(layers=121, num_classes=5)
        >>> net(paddle.rand([1, 3, 32, 32])).shape
        [1, 5]
    """

    def __init__(
        self,
        layers: int = 121,
        bn_size: int = 4,
        dropout: float = 0.0,
        num_classes: int = 1000,
        with_pool: bool = True,
    ) -> None:
        super().__init__(num_classes, with_pool)
        if layers not in _PLANS:
            raise BadArgument(f"DenseNet: layers must be one of {[*_PLANS]}, but is {layers}")
        channels, growth, self.block_config = _PLANS[layers]
        self.conv1_func = ConvBNLayer(3, channels, 7, stride=2, pad=3)
        self.pool2d_max = nn.MaxPool2D(kernel_size=3, stride=2, padding=1)
        self.dense_block_func_list: list[Any] = []
        self.transition_func_list: list[Any] = []
        for stage, size in enumerate(self.block_config, start=2):
            block = DenseBlock(channels, size, bn_size, growth, dropout, f"conv{stage}")
            self.dense_block_func_list.append(self.add_sublayer(f"db_conv_{stage}", block))
            channels += size * growth
            if len(self.dense_block_func_list) < len(self.block_config):
                between = TransitionLayer(channels, channels // 2)
                self.transition_func_list.append(self.add_sublayer(f"tr_conv{stage}_blk", between))
                channels //= 2
        self.batch_norm = nn.BatchNorm(channels, act="relu")
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.out = nn.Linear(channels, num_classes, within(channels**-0.5))

    def forward(self, input: Any) -> Any:
        x = self.pool2d_max(self.conv1_func(input))
        *blocks, last = self.dense_block_func_list
        for block, between in zip(blocks, self.transition_func_list, strict=True):
            x = between(block(x))
        x = self.batch_norm(last(x))
        return self._scores(x, "pool2d_avg", "out")


def _densenet(layers: int, pretrained: bool, kwargs: Any) -> DenseNet:
    net = DenseNet(layers, **kwargs)
    return with_weights(net, f"densenet{layers}", pretrained, model_urls)


def densenet121(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 121 layers; ``kwargs`` are those of the class, here and below."""
    return _densenet(121, pretrained, kwargs)


def densenet161(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 161 layers."""
    return _densenet(161, pretrained, kwargs)


def densenet169(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 169 layers."""
    return _densenet(169, pretrained, kwargs)


def densenet201(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 201 layers."""
    return _densenet(201, pretrained, kwargs)


def densenet264(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 264 layers."""
    return _densenet(264, pretrained, kwargs)
