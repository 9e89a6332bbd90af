"""Nets: where they are found, published weights, errors, results of inner layers."""

from __future__ import annotations

import copy
import hashlib
import importlib
import pickle
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.vision import models
from paddle.vision.models._utils import IntermediateLayerGetter, _make_divisible


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    folder = tmp_path / "hapi" / "weights"
    folder.mkdir(parents=True)
    return folder


def test_weights_that_are_not_there_are_asked_for(cache: Path) -> None:
    with pytest.raises(RuntimeError) as caught:
        models.squeezenet1_1(pretrained=True, num_classes=3)
    assert str(cache / "SqueezeNet1_1_pretrained.pdparams") in str(caught.value)
    assert "downloads nothing" in str(caught.value)
    assert "Fetch it from https://paddle-imagenet" in str(caught.value)


def test_weights_are_taken_out_of_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = models.shufflenet_v2_x0_25(num_classes=3)
    file = cache / "shufflenet_v2_x0_25.pdparams"
    paddle.save(trained.state_dict(), str(file))
    with pytest.raises(RuntimeError, match="another version"):
        models.shufflenet_v2_x0_25(pretrained=True, num_classes=3)
    url = models.shufflenetv2.model_urls["shufflenet_v2_x0_25"][0]
    md5 = hashlib.md5(file.read_bytes()).hexdigest()
    monkeypatch.setitem(models.shufflenetv2.model_urls, "shufflenet_v2_x0_25", (url, md5))
    found = models.shufflenet_v2_x0_25(pretrained=True, num_classes=3).state_dict()
    for key, value in trained.state_dict().items():
        assert np.array_equal(found[key].numpy(), value.numpy()), key


def test_a_file_of_weights_runs_no_code(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = cache / "squeezenet.pdparams"
    file.write_bytes(pickle.dumps({"_conv.weight": _Evil(str(cache / "done"))}))
    md5 = hashlib.md5(file.read_bytes()).hexdigest()
    entry = ("https://example.com/squeezenet.pdparams", md5)
    monkeypatch.setitem(models.squeezenet.model_urls, "squeezenet1_1", entry)
    with pytest.raises(Exception, match="mkdir"):
        models.squeezenet1_1(pretrained=True)
    assert not (cache / "done").exists()


class _Evil:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> object:
        import os

        return os.mkdir, (self.path,)


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: models.vgg11(pretrained=True), AssertionError, "vgg11 has no published weights"),
        (lambda: models.DenseNet(layers=100), AssertionError, "121, 161"),
        (lambda: models.SqueezeNet("2.0"), AssertionError, "1.1"),
        (lambda: models.ShuffleNetV2(scale=0.7), NotImplementedError, "0.25, 0.33"),
        (lambda: models.ShuffleNetV2(act="gelu"), RuntimeError, "'gelu' is not supported"),
        (lambda: models.resnet.BasicBlock(4, 4, dilation=2), NotImplementedError, "dilation"),
        (lambda: models.mobilenetv2.InvertedResidual(4, 4, 3, 6), AssertionError, "1 or 2"),
        (lambda: models.ResNet(models.resnet.BasicBlock, 19), KeyError, "19"),
    ],
)
def test_what_is_not_a_net_is_refused(build, error, words) -> None:
    with pytest.raises(error, match=words):
        build()


def test_names_are_where_paddle_has_them() -> None:
    assert paddle.vision.resnet18 is models.resnet18 is models.resnet.resnet18
    assert paddle.vision.LeNet is models.__dict__["LeNet"]
    for name in models.__all__:
        home = importlib.import_module(getattr(models, name).__module__)
        assert home.__name__.startswith("argosy.vision.models.")
        assert getattr(home, name) is getattr(models, name)


def test_a_subclass_may_make_stages_of_its_own() -> None:
    class Dilated(models.ResNet):
        def __init__(self) -> None:
            super().__init__(models.resnet.BottleneckBlock, 50, num_classes=0, with_pool=False)
            self.inplanes = 1024
            self.layer4 = self._make_layer(models.resnet.BottleneckBlock, 512, 2, 2, dilate=True)

    net = Dilated()
    net.eval()
    assert net.dilation == 2
    assert net(paddle.rand([1, 3, 32, 32])).shape == [1, 2048, 2, 2]


def test_results_of_inner_layers() -> None:
    net = models.resnet18(num_classes=4)
    net.eval()
    image = paddle.rand([1, 3, 32, 32])
    inner = IntermediateLayerGetter(net, {"layer1": "low", "layer3": "high"})
    found = inner(image)
    assert {name: value.shape for name, value in found.items()} == {
        "low": [1, 64, 8, 8],
        "high": [1, 256, 2, 2],
    }
    assert list(inner)[-1] == "layer3"
    whole = IntermediateLayerGetter(net, {"fc": "scores"})(image)["scores"]
    np.testing.assert_array_equal(whole.numpy(), net(image).numpy())
    with pytest.raises(ValueError, match="not present in model"):
        IntermediateLayerGetter(net, {"layer9": "x"})


def test_channels_are_rounded_without_losing_a_tenth() -> None:
    assert [_make_divisible(v) for v in (3, 12, 11.9, 32 * 0.35, 18)] == [8, 16, 16, 16, 24]


def test_a_net_is_copied_with_its_weights() -> None:
    net = models.mobilenet_v3_small(scale=0.5, num_classes=2)
    net.eval()
    twin = copy.deepcopy(net)
    image = paddle.rand([1, 3, 32, 32])
    np.testing.assert_array_equal(twin(image).numpy(), net(image).numpy())
