"""The nets of ``paddle.vision.models``: how they are built, and what they compute on weights that
are made from the names of parameters.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import numpy as np

RESNETS = [
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext50_64x4d",
    "resnext101_32x4d",
    "resnext101_64x4d",
    "resnext152_32x4d",
    "resnext152_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]
VGGS = ["vgg11", "vgg13", "vgg16", "vgg19"]
MOBILENETS = ["mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large"]
DENSENETS = [f"densenet{n}" for n in (121, 161, 169, 201, 264)]
SHUFFLENETS = [
    f"shufflenet_v2_{kind}" for kind in ("x0_25", "x0_33", "x0_5", "x1_0", "x1_5", "x2_0", "swish")
]
SQUEEZENETS = ["squeezenet1_0", "squeezenet1_1"]
OTHERS = ["LeNet", "alexnet", "googlenet", "inception_v3"]
NETS = [*RESNETS, *VGGS, *MOBILENETS, *DENSENETS, *SHUFFLENETS, *SQUEEZENETS, *OTHERS]

BARE = {"num_classes": 0, "with_pool": False}
POOLED = {"num_classes": 0}

# how each net is built: as it comes, and with the options that change its layers
BUILDS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in NETS),
    *((name, {"batch_norm": True}) for name in VGGS),
    *((name, {"scale": scale}) for name in MOBILENETS for scale in (0.35, 0.5, 1.25)),
    *((name, BARE) for name in ("resnet18", "resnet50", "vgg11", *MOBILENETS, "densenet121")),
    *((name, BARE) for name in ("shufflenet_v2_x0_25", "googlenet", "inception_v3")),
    *((name, {"num_classes": 7}) for name in (*MOBILENETS, "resnet18", "squeezenet1_0", "LeNet")),
    ("alexnet", POOLED),
    ("LeNet", POOLED),
    ("densenet121", {"dropout": 0.3, "bn_size": 2}),
    ("resnet50", {"groups": 2, "width": 32}),
    ("shufflenet_v2_x0_5", {"act": "swish"}),
    ("shufflenet_v2_x0_5", {"act": None}),
]

# what is computed: a net, its options, the shape of the images. Options make heads small, so that
# filling them takes no time; sizes are the smallest that leave statistics something to count.
FEW = {"num_classes": 10}
RUNS: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    *((name, FEW, (2, 3, 40, 40)) for name in RESNETS),
    *((name, POOLED, (1, 3, 32, 32)) for name in VGGS),
    ("vgg11", {"num_classes": 0, "with_pool": False, "batch_norm": True}, (2, 3, 32, 32)),
    *((name, FEW, (2, 3, 48, 48)) for name in MOBILENETS),
    *((name, {"num_classes": 10, "scale": 0.5}, (2, 3, 48, 48)) for name in MOBILENETS),
    *((name, FEW, (2, 3, 64, 64)) for name in DENSENETS),
    *((name, FEW, (2, 3, 48, 48)) for name in SHUFFLENETS),
    *((name, FEW, (2, 3, 40, 40)) for name in SQUEEZENETS),
    ("squeezenet1_0", {"num_classes": 10, "with_pool": False}, (1, 3, 40, 40)),
    ("LeNet", {}, (2, 1, 28, 28)),
    ("alexnet", POOLED, (2, 3, 64, 64)),
    ("alexnet", FEW, (1, 3, 224, 224)),
    ("googlenet", FEW, (1, 3, 192, 192)),
    ("inception_v3", FEW, (2, 3, 107, 107)),
    ("resnet18", BARE, (1, 3, 40, 40)),
    ("resnet18", POOLED, (1, 3, 40, 40)),
]

# Those that take long to fill; all their classes are among the others too.
BIG = {
    "densenet169",
    "densenet201",
    "densenet264",
    "resnet101",
    "resnet152",
    "resnext50_64x4d",
    "resnext101_32x4d",
    "resnext101_64x4d",
    "resnext152_32x4d",
    "resnext152_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
}


def title(name: str, options: dict[str, Any], *shape: Any) -> str:
    words = [name, *(f"{key}={value}" for key, value in options.items())]
    return " ".join([*words, *("x".join(map(str, part)) for part in shape)])


def build(paddle: Any, name: str, options: dict[str, Any]) -> Any:
    """The net, whose parameters are named as those of the first net in a process."""
    with paddle.utils.unique_name.guard():
        return getattr(paddle.vision.models, name)(**options)


def structure(paddle: Any, name: str, options: dict[str, Any]) -> list[Any]:
    """How many entries the state dict has, and digests: of its keys, shapes and the names of its
    parameters in their order, and of the layers.
    """
    net = build(paddle, name, options)
    entries = [
        f"{key} {list(value.shape)} {value.name} {value.stop_gradient}"
        for key, value in net.state_dict().items()
    ]
    trained = [value.name for value in net.parameters()]
    layers = [f"{key} {type(layer).__name__}" for key, layer in net.named_sublayers()]
    return [len(entries), _digest([*entries, *trained]), _digest(layers)]


def _digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _values(key: str, shape: list[int]) -> np.ndarray:
    """Numbers that only the name and the shape of a parameter decide: a short random row, over and
    over; its length is prime, so that no two channels are alike.
    """
    rng = np.random.RandomState(zlib.crc32(key.encode()))
    row = rng.uniform(-1.0, 1.0, 4099)
    if key.endswith("_variance") or (len(shape) == 1 and key.endswith("weight")):
        row = 1.0 + 0.4 * row
    elif len(shape) == 1:
        row = 0.1 * row
    else:  # as large as keeps the size of what passes through
        inputs = int(np.prod(shape[1:])) if len(shape) > 2 else shape[0]
        row = row * (6.0 / inputs) ** 0.5
    return np.resize(row, shape)


def fill(net: Any) -> None:
    for key, value in net.state_dict().items():
        value.set_value(_values(key, list(value.shape)))


def _shown(out: Any) -> list[float]:
    numbers = []
    for part in out if isinstance(out, (list, tuple)) else [out]:
        array = np.asarray(part.numpy(), np.float64).ravel()
        numbers += [*array[:2], array.sum(), np.abs(array).sum()]
    return [float(f"{number:.8g}") for number in numbers]


def numbers(
    paddle: Any, name: str, options: dict[str, Any], shape: tuple[int, ...], step: bool
) -> dict[str, list[float]]:
    """What the net gives in ``eval()``; with ``step`` also what one step of training changes."""
    net = build(paddle, name, options)
    net.to(dtype="float64")  # deep nets multiply what float32 rounds
    fill(net)
    images = np.random.RandomState(3).uniform(-1, 1, shape)
    net.eval()
    with paddle.no_grad():
        found = {"eval": _shown(net(paddle.to_tensor(images)))}
    return {**found, **_train(paddle, net, images)} if step else found


def _train(paddle: Any, net: Any, images: np.ndarray) -> dict[str, list[float]]:
    for layer in net.sublayers():
        if isinstance(layer, paddle.nn.Dropout):
            layer.p = 0.0
    net.train()
    out = net(paddle.to_tensor(images))
    parts = out if isinstance(out, (list, tuple)) else [out]
    loss = sum((part * part).mean() for part in parts)
    loss.backward()
    trained = [value for value in net.parameters() if value.grad is not None]
    picked = [trained[0], trained[len(trained) // 2], trained[-1]]
    found = {
        "train": _shown(out),
        "gradients": [n for value in picked for n in _shown(value.grad)],
    }
    paddle.optimizer.SGD(1e-3, parameters=net.parameters()).step()
    found["step"] = [n for value in picked for n in _shown(value)]
    averages = [v for k, v in net.state_dict().items() if k.endswith(("_mean", "_variance"))]
    found["averages"] = [n for value in averages[-2:] for n in _shown(value)]
    return found
