"""The states of all ranks as files: what is equal everywhere is written once.

Rank 0 writes its whole state, another rank what differs from it (parameters between two averagings
of localsgd, residuals of dgc, running means of batch norm). A job of the same size gets back
exactly what each rank had. A job of another size gets rank 0's state, with the mean over the ranks
wherever they differed: an averaging of localsgd would have made it of parameters, and the total
that ranks have yet to send or to average stays what it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from argosy.distributed.communication.all_gather import all_gather_object
from argosy.distributed.communication.broadcast import broadcast_object_list
from argosy.distributed.fleet.checkpoints.state_file import SAME, Path, digest, raw_tensor, tensors
from argosy.foundation.errors import CheckpointError
from argosy.runtime.comm.group import Group
from argosy.tensor.engine import Tensor, wrap


class Ranks:
    """The processes that write together: those of ``group``, or this one."""

    def __init__(self, group: Group | None) -> None:
        self._group = group
        self.rank = 0 if group is None else group.rank
        self.world_size = 1 if group is None else group.nranks

    def gather(self, value: Any) -> list[Any]:
        """Everyone's ``value``."""
        if self._group is None:
            return [value]
        values: list[Any] = []
        all_gather_object(values, value, self._group)
        return values

    def from_first(self, value: Any) -> Any:
        """The ``value`` of rank 0."""
        if self._group is None:
            return value
        values = [value]
        broadcast_object_list(values, self._group.ranks[0], self._group)
        return values[0]

    def agree(self, problem: str | None) -> None:
        """CheckpointError on every rank if any has a problem."""
        found = [(rank, text) for rank, text in enumerate(self.gather(problem)) if text]
        if found:
            rank, text = found[0]
            raise CheckpointError(text if self.world_size == 1 else f"rank {rank}: {text}")


def digests(state: Any) -> dict[Path, str]:
    """A fingerprint of each tensor."""
    return {path: digest(tensor) for path, tensor in tensors(state)}


def without_same(state: Any, first: Mapping[Path, str], path: Path = ()) -> Any:
    """``state`` with SAME in place of tensors that rank 0, whose fingerprints ``first`` are, has
    too.
    """
    raw = raw_tensor(state)
    if raw is not None:
        return SAME if first.get(path) == digest(raw) else state
    if isinstance(state, Mapping):
        return {key: without_same(value, first, (*path, key)) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(
            [without_same(value, first, (*path, i)) for i, value in enumerate(state)]
        )
    return state


def joined(own: Any, first: Any) -> Any:
    """A rank's whole state, from its file and that of rank 0."""
    if own is SAME:
        return first
    if isinstance(own, dict):
        return {
            k: joined(v, first[k] if isinstance(first, dict) and k in first else None)
            for k, v in own.items()
        }
    if isinstance(own, (list, tuple)):
        is_alike = isinstance(first, type(own)) and len(first) == len(own)
        return type(own)([joined(v, first[i] if is_alike else None) for i, v in enumerate(own)])
    return own


def averaged(states: list[Any]) -> Any:
    """One state for all: rank 0's, with the mean over the ranks of floating-point tensors that
    differ. ``states``: the files' contents.
    """
    first, others = states[0], states[1:]
    raw = raw_tensor(first)
    if raw is not None:
        rest = [raw if state is SAME else raw_tensor(state) for state in others]
        known = [
            raw,
            *(r for r in rest if r is not None and r.shape == raw.shape and r.dtype == raw.dtype),
        ]
        if all(r is raw for r in known) or not raw.is_floating_point():
            return first
        return _alike(first, torch.stack([r.double() for r in known]).mean(0).to(raw.dtype))
    if isinstance(first, dict):
        return {
            k: averaged([v, *(_inside(state, k) for state in others)]) for k, v in first.items()
        }
    if isinstance(first, (list, tuple)):
        return type(first)(
            [averaged([v, *(_inside(state, i) for state in others)]) for i, v in enumerate(first)]
        )
    return first


def _inside(state: Any, key: Any) -> Any:
    if isinstance(state, dict):
        return state.get(key)
    if isinstance(state, (list, tuple)):
        return state[key] if key < len(state) else None
    return SAME if state is SAME else None


def _alike(like: Any, raw: torch.Tensor) -> Any:
    if not isinstance(like, Tensor):
        return raw
    tensor = wrap(raw)
    tensor.name = like.name
    return tensor
