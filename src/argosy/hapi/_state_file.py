"""Reading the files of ``Model.save``, and of Paddle's, and fitting them to a network."""

from __future__ import annotations

import os
import warnings
from typing import Any

from argosy.foundation.errors import BadArgument, CheckpointError, nearest
from argosy.framework.io import NAME_TABLE, load
from argosy.nn import Layer

_ENDINGS = ("", ".pdparams", ".pdopt", ".pdmodel")


class NoParameters(CheckpointError, AssertionError):
    """There is no file of parameters where ``Model.load`` looks for it."""


def prefix_of(path: str) -> str:
    """What the names of all files of a model start with."""
    prefix, ending = os.path.splitext(path)
    if ending not in _ENDINGS:
        raise BadArgument(
            f"Model.load: Unknown postfix {ending} from weights; expected a path without one, or "
            f"with one of {_ENDINGS[1:]}"
        )
    return prefix


def read(path: str) -> Any:
    """What a file holds, with arrays for Tensors; None if there is no file."""
    return load(path, return_numpy=True) if os.path.exists(path) else None


def matched(network: Layer, prefix: str, skip_mismatch: bool) -> tuple[list[tuple[Any, Any]], bool]:
    """Parameters and buffers of a network with their values in a file, and whether all were
    found.
    """
    state = read(f"{prefix}.pdparams")
    if not state:
        raise NoParameters(
            f"Model.load: Failed to load parameters, there is no {prefix}.pdparams or it is empty; "
            "please check path."
        )
    state.pop(NAME_TABLE, None)
    pairs, is_complete = [], True
    for key, param in network.state_dict().items():
        wrong = _mismatch(key, param, state)
        if wrong is None:
            pairs.append((param, state[key]))
        elif skip_mismatch:
            warnings.warn(f"Skip loading for {key}. {wrong}", stacklevel=3)
            is_complete = False
        else:
            raise CheckpointError(f"Model.load: {wrong}")
    return pairs, is_complete


def _mismatch(key: str, param: Any, state: dict[str, Any]) -> str | None:
    if key not in state:
        return f"{key} is not found in the providing file.{nearest(key, state)}"
    found, expected = list(state[key].shape), list(param.shape)
    if found != expected:
        return f"{key} receives a shape {found}, but the expected shape is {expected}."
    return None
