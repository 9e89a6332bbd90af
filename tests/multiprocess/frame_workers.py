"""What the ranks do in the tests of frame budgets: run a call warm and list the Python frames of
argosy that it entered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import argosy
import paddle
import paddle.distributed as dist
from support.job import joined_job

Meeting = dict[str, Any]

_ROOT = str(Path(argosy.__file__).parent)
_TIMES = 30  # a rank that comes late makes the other one look after it, which takes frames too


def _frames(act: Callable[[], object]) -> list[str]:
    """``file:line function`` of every frame of argosy that ``act()`` enters."""
    seen: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_ROOT):
            file = code.co_filename[len(_ROOT) + 1 :]
            seen.append(f"{file}:{code.co_firstlineno} {code.co_name}")

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return seen


def _fewest(act: Callable[[], object]) -> list[str]:
    return min((_frames(act) for _ in range(_TIMES)), key=len)


def all_reduce(rank: int, world_size: int, meeting: Meeting) -> list[str]:
    with joined_job(rank, world_size, meeting, "shm"):
        tensor = paddle.zeros([16])
        dist.all_reduce(tensor)  # compiles what is not in the cache yet
        return _fewest(lambda: dist.all_reduce(tensor))


def backward(rank: int, world_size: int, meeting: Meeting, *, num_params: int) -> list[str]:
    with joined_job(rank, world_size, meeting, "shm"):
        layers = [paddle.nn.Linear(4, 4, bias_attr=False) for _ in range(num_params)]
        model = paddle.DataParallel(paddle.nn.Sequential(*layers))
        model(paddle.ones([2, 4])).sum().backward()
        found = []
        for _ in range(_TIMES):
            model.clear_gradients()
            found.append(_frames(model(paddle.ones([2, 4])).sum().backward))
        return min(found, key=len)
