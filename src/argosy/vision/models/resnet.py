"""ResNet, and its kin with groups of channels (ResNeXt) or more of them (Wide ResNet)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import nn
from argosy.foundation.errors import NotSupported
from argosy.vision.models._classifier import HAPI, Classifier, with_weights

_MD5 = {
    "resnet18": "cf548f46534aa3560945be4b95cd11c4",
    "resnet34": "8d2275cf8706028345f78ac0e1d31969",
    "resnet50": "ca6f485ee1ab0492d38f323885b0ad80",
    "resnet101": "02f35f034ca3858e1e54d4036443c92d",
    "resnet152": "7ad16a2f1e7333859ff986138630fd7a",
    "resnext50_32x4d": "dc47483169be7d6f018fcbb7baf8775d",
    "resnext50_64x4d": "063d4b483e12b06388529450ad7576db",
    "resnext101_32x4d": "967b090039f9de2c8d06fe994fb9095f",
    "resnext101_64x4d": "98e04e7ca616a066699230d769d03008",
    "resnext152_32x4d": "18ff0beee21f2efc99c4b31786107121",
    "resnext152_64x4d": "77c4af00ca42c405fa7f841841959379",
    "wide_resnet50_2": "0282f804d73debdab289bd9fea3fa6dc",
    "wide_resnet101_2": "d4360a2d23657f059216f5d5a1a9ac93",
}
model_urls = {name: (f"{HAPI}{name}.pdparams", md5) for name, md5 in _MD5.items()}

# depth -> blocks in each of the four stages
_BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}


class _Block(nn.Layer):
    """Convolutions with their norms beside a shortcut; a kind of block says which in ``_build``."""

    expansion: int
    _num_convs: int

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: Any = 1,
        downsample: nn.Layer | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., nn.Layer] | None = None,
    ) -> None:
        super().__init__()
        self._norm = norm_layer or nn.BatchNorm2D
        self._build(inplanes, planes, stride, groups, base_width, dilation)
        self.downsample = downsample
        self.stride = stride

    def _build(
        self, inplanes: int, planes: int, stride: Any, groups: int, base_width: int, dilation: int
    ) -> None:
        raise NotImplementedError

    def _add(self, number: int, inputs: int, outputs: int, kernel: int, **options: Any) -> None:
        conv = nn.Conv2D(inputs, outputs, kernel, bias_attr=False, **options)
        setattr(self, f"conv{number}", conv)
        setattr(self, f"bn{number}", self._norm(outputs))

    def forward(self, x: Any) -> Any:
        y = x
        for number in range(1, self._num_convs + 1):
            y = getattr(self, f"bn{number}")(getattr(self, f"conv{number}")(y))
            if number < self._num_convs:
                y = self.relu(y)
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class BasicBlock(_Block):
    """Two 3 x 3 convolutions."""

    expansion = 1
    _num_convs = 2

    def _build(
        self, inplanes: int, planes: int, stride: Any, groups: int, base_width: int, dilation: int
    ) -> None:
        if dilation > 1:
            raise NotSupported(f"BasicBlock: dilation is {dilation}, but only 1 is supported")
        self._add(1, inplanes, planes, 3, stride=stride, padding=1)
        self.relu = nn.ReLU()
        self._add(2, planes, planes, 3, padding=1)


class BottleneckBlock(_Block):
    """A 3 x 3 convolution of fewer channels between two of 1 x 1."""

    expansion = 4
    _num_convs = 3

    def _build(
        self, inplanes: int, planes: int, stride: Any, groups: int, base_width: int, dilation: int
    ) -> None:
        width = int(planes * (base_width / 64.0)) * groups
        spread = {"padding": dilation, "dilation": dilation}
        self._add(1, inplanes, width, 1)
        self._add(2, width, width, 3, stride=stride, groups=groups, **spread)
        self._add(3, width, planes * self.expansion, 1)
        self.relu = nn.ReLU()


class ResNet(Classifier):
    """Four stages of blocks; each but the first halves the size and doubles the channels.

    ``width`` is the number of channels of a bottleneck, per group, in the first stage.

    Example:
        >>> import paddle
        >>> from paddle.vision.models.resnet import BasicBlock, ResNet
        >>> ResNet(BasicBlock, 18, num_classes=7)(paddle.rand([1, 3, 32, 32])).shape
        [1, 7]
    """

    def __init__(
        self,
        block: type[_Block],
        depth: int = 50,
        width: int = 64,
        num_classes: int = 1000,
        with_pool: bool = True,
        groups: int = 1,
    ) -> None:
        super().__init__(num_classes, with_pool)
        self.groups = groups
        self.base_width = width
        self._norm_layer = nn.BatchNorm2D
        self.inplanes = 64
        self.dilation = 1
        self.conv1 = nn.Conv2D(3, 64, 7, stride=2, padding=3, bias_attr=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2D(kernel_size=3, stride=2, padding=1)
        for stage, blocks in enumerate(_BLOCKS[depth]):
            stride = 1 if stage == 0 else 2
            layer = self._make_layer(block, 64 << stage, blocks, stride)
            setattr(self, f"layer{stage + 1}", layer)
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((1, 1))
        if num_classes > 0:
            self.fc = nn.Linear(512 * block.expansion, num_classes)

    def _make_layer(
        self, block: type[_Block], planes: int, blocks: int, stride: int = 1, dilate: bool = False
    ) -> nn.Sequential:
        """One stage; with ``dilate`` it widens the windows instead of halving the size."""
        before = self.dilation
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        outputs = planes * block.expansion
        shortcut = None
        if stride != 1 or self.inplanes != outputs:
            conv = nn.Conv2D(self.inplanes, outputs, 1, stride=stride, bias_attr=False)
            shortcut = nn.Sequential(conv, self._norm_layer(outputs))
        kind: dict[str, Any] = {
            "groups": self.groups,
            "base_width": self.base_width,
            "norm_layer": self._norm_layer,
        }
        layers = [block(self.inplanes, planes, stride, shortcut, dilation=before, **kind)]
        self.inplanes = outputs
        layers += [block(outputs, planes, **kind) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self._scores(x, "avgpool", "fc")


def _resnet(name: str, depth: int, pretrained: bool, kwargs: Any, **fixed: int) -> ResNet:
    block = BasicBlock if depth < 50 else BottleneckBlock
    net = ResNet(block, depth, **{**kwargs, **fixed})
    return with_weights(net, name, pretrained, model_urls)


def resnet18(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 18 layers; ``kwargs`` are those of the class, here and below."""
    return _resnet("resnet18", 18, pretrained, kwargs)


def resnet34(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 34 layers."""
    return _resnet("resnet34", 34, pretrained, kwargs)


def resnet50(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 50 layers."""
    return _resnet("resnet50", 50, pretrained, kwargs)


def resnet101(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 101 layers."""
    return _resnet("resnet101", 101, pretrained, kwargs)


def resnet152(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 152 layers."""
    return _resnet("resnet152", 152, pretrained, kwargs)


def resnext50_32x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 50 layers and 32 groups of 4 channels."""
    return _resnet("resnext50_32x4d", 50, pretrained, kwargs, groups=32, width=4)


def resnext50_64x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 50 layers and 64 groups of 4 channels."""
    return _resnet("resnext50_64x4d", 50, pretrained, kwargs, groups=64, width=4)


def resnext101_32x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 101 layers and 32 groups of 4 channels."""
    return _resnet("resnext101_32x4d", 101, pretrained, kwargs, groups=32, width=4)


def resnext101_64x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 101 layers and 64 groups of 4 channels."""
    return _resnet("resnext101_64x4d", 101, pretrained, kwargs, groups=64, width=4)


def resnext152_32x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 152 layers and 32 groups of 4 channels."""
    return _resnet("resnext152_32x4d", 152, pretrained, kwargs, groups=32, width=4)


def resnext152_64x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 152 layers and 64 groups of 4 channels."""
    return _resnet("resnext152_64x4d", 152, pretrained, kwargs, groups=64, width=4)


def wide_resnet50_2(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 50 layers and bottlenecks twice as wide."""
    return _resnet("wide_resnet50_2", 50, pretrained, kwargs, width=128)


def wide_resnet101_2(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 101 layers and bottlenecks twice as wide."""
    return _resnet("wide_resnet101_2", 101, pretrained, kwargs, width=128)
