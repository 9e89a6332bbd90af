"""What the nets share: how they end, and where the published weights are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from argosy import nn
from argosy.foundation.errors import BadArgument, UsageError
from argosy.framework.io import load
from argosy.framework.param_attr import ParamAttr
from argosy.nn.initializer import Uniform
from argosy.tensor.manipulation import flatten
from argosy.utils.download import get_weights_path_from_url

# the name of a net -> the address and the MD5 sum of its weights
Published = Mapping[str, tuple[str, str]]
Net = TypeVar("Net", bound=nn.Layer)

HAPI = "https://paddle-hapi.bj.bcebos.com/models/"
IMAGENET = "https://paddle-imagenet-models-name.bj.bcebos.com/dygraph/"


class Classifier(nn.Layer):
    """A net that pools what it has found, unless ``with_pool`` is False, and gives a score to each
    class, unless ``num_classes`` is 0 or less.
    """

    num_classes: int
    with_pool: bool

    def __init__(self, num_classes: int, with_pool: bool) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool

    def _scores(self, x: Any, pool: str, head: str) -> Any:
        """The end of ``forward``, by the names of the layers."""
        if self.with_pool:
            x = getattr(self, pool)(x)
        if self.num_classes > 0:
            x = getattr(self, head)(flatten(x, 1))
        return x


def with_weights(net: Net, name: str, pretrained: bool, published: Published) -> Net:
    """The net, with the published weights if they are wanted: out of the cache folder, nothing is
    downloaded.
    """
    if pretrained:
        if name not in published:
            raise BadArgument(
                f"{name} has no published weights, so pretrained=True cannot be had.\n"
                "  Set pretrained=False and call set_state_dict with weights of your own."
            )
        net.set_state_dict(load(get_weights_path_from_url(*published[name])))
    return net


def within(bound: float) -> ParamAttr:
    """A parameter that starts uniform between the bound and its negative."""
    return ParamAttr(initializer=Uniform(-bound, bound))


class UnknownActivation(UsageError, RuntimeError):
    """A net is asked for an activation that it is not made with."""


def activation_of(name: str | None, known: Mapping[str, type[nn.Layer]]) -> type[nn.Layer] | None:
    """The layer of an activation, by its name; None is for none."""
    if name is not None and name not in known:
        raise UnknownActivation(
            f"the activation {name!r} is not supported; expected one of {[*known, None]}"
        )
    return None if name is None else known[name]
