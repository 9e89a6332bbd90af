"""What other launchers say of this process, in Paddle's words.

torchrun, srun, mpirun and others start ranks without Paddle's variables. Where somebody first asks
who this process is, those are set from what such a launcher has told (``runtime/launch/
environments``); from then on everything is as under Paddle's own launcher.
"""

from __future__ import annotations

import torch

from argosy.foundation import env
from argosy.foundation.endpoints import LOOPBACK
from argosy.runtime.comm import addresses
from argosy.runtime.comm.meeting import MEETING, Meeting
from argosy.runtime.launch import environments

__all__ = ["meeting", "own_address"]


def _describe() -> None:
    if not env.select(environments.SIGNS):
        return
    placement = environments.as_rank(env.everything())
    if placement is None:
        return
    variables = environments.variables_of(placement)
    if placement.local_rank is not None and (count := torch.cuda.device_count()):
        variables["FLAGS_selected_gpus"] = str(placement.local_rank % count)
    env.update({name: text for name, text in variables.items() if not env.get(name)})


env.describe_by(_describe)


def meeting() -> Meeting | None:
    """How the ranks that another launcher has started meet; None under Paddle's own."""
    text = env.get(MEETING)
    return Meeting(text) if text else None


def own_address(meeting: Meeting) -> str:
    """The address by which other ranks reach this one; it becomes this process's endpoint, if it
    has none.
    """
    if meeting.where is None:
        address = LOOPBACK
    else:
        address = env.get("POD_IP") or addresses.own_address(meeting.where)
    if not env.get("PADDLE_CURRENT_ENDPOINT"):
        env.update({"PADDLE_CURRENT_ENDPOINT": f"{address}:0"})
    return address
