"""Loss scaling on several ranks: an overflow on one of them is one for all."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from argosy.amp.grad_scaler import AmpScaler
from argosy.foundation.errors import BadArgument
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel import overflow


def check_scaler(scaler: Any) -> None:
    """Refuse what does not scale losses."""
    if not isinstance(scaler, (AmpScaler, torch.amp.GradScaler)):
        raise BadArgument(
            "a scaler must be a GradScaler of paddle.amp or torch.amp, but is a "
            f"{type(scaler).__name__}"
        )


def agree_on_overflow(scaler: Any, group: Group) -> Any:
    """Make ``scaler`` (of paddle.amp or torch.amp) ask all ranks of ``group`` whenever it unscales;
    returns it.

    A step is then left out by all ranks or by none, and their scales stay equal. Every rank
    unscales equally often.
    """
    check_scaler(scaler)
    if isinstance(scaler, torch.amp.GradScaler):
        return overflow.agree_on_overflow(scaler, group)
    scaler.found_anywhere = partial(overflow.found_anywhere, group=group)
    return scaler
