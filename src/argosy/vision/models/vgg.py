"""VGG: 3 x 3 convolutions, as deep as the number in the name says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy import nn
from argosy.vision.models._classifier import HAPI, Classifier, with_weights

model_urls = {
    "vgg16": (f"{HAPI}vgg16.pdparams", "89bbffc0f87d260be9b8cdc169c991c4"),
    "vgg19": (f"{HAPI}vgg19.pdparams", "23b18bb13d8894f60f54e642be79a0dd"),
}


def _plan(*repeats: int) -> list[Any]:
    """Channels of the convolutions, and "M" where a stage ends in pooling."""
    stages = zip((64, 128, 256, 512, 512), repeats, strict=True)
    return [entry for channels, n in stages for entry in [*[channels] * n, "M"]]


cfgs = {
    "A": _plan(1, 1, 2, 2, 2),
    "B": _plan(2, 2, 2, 2, 2),
    "D": _plan(2, 2, 3, 3, 3),
    "E": _plan(2, 2, 4, 4, 4),
}


class VGG(Classifier):
    """Three linear layers behind ``features``, which has 512 channels.

    Example:
        >>> import paddle
        >>> net = paddle.vision.models.vgg11(num_classes=0, with_pool=False)
        >>> net(paddle.rand([1, 3, 32, 32])).shape
        [1, 512, 1, 1]
    """

    def __init__(self, features: nn.Layer, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__(num_classes, with_pool)
        self.features = features
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((7, 7))
        if num_classes > 0:
            hidden = [
                layer
                for size in (512 * 7 * 7, 4096)
                for layer in (nn.Linear(size, 4096), nn.ReLU(), nn.Dropout())
            ]
            self.classifier = nn.Sequential(*hidden, nn.Linear(4096, num_classes))

    def forward(self, x: Any) -> Any:
        return self._scores(self.features(x), "avgpool", "classifier")


def make_layers(cfg: Sequence[Any], batch_norm: bool = False) -> nn.Sequential:
    """The layers of a plan, an entry of ``cfgs`` or one like it, for images of three channels."""
    layers: list[nn.Layer] = []
    channels = 3
    for entry in cfg:
        if entry == "M":
            layers.append(nn.MaxPool2D(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2D(channels, entry, kernel_size=3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2D(entry))
        layers.append(nn.ReLU())
        channels = entry
    return nn.Sequential(*layers)


def _vgg(name: str, plan: str, pretrained: bool, batch_norm: bool, kwargs: Any) -> VGG:
    net = VGG(make_layers(cfgs[plan], batch_norm), **kwargs)
    return with_weights(net, f"{name}_bn" if batch_norm else name, pretrained, model_urls)


def vgg11(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 11 layers; ``kwargs`` are those of the class."""
    return _vgg("vgg11", "A", pretrained, batch_norm, kwargs)


def vgg13(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 13 layers; ``kwargs`` are those of the class."""
    return _vgg("vgg13", "B", pretrained, batch_norm, kwargs)


def vgg16(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 16 layers; ``kwargs`` are those of the class."""
    return _vgg("vgg16", "D", pretrained, batch_norm, kwargs)


def vgg19(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 19 layers; ``kwargs`` are those of the class."""
    return _vgg("vgg19", "E", pretrained, batch_norm, kwargs)
