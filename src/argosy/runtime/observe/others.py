"""Processes of other hosts: what their launchers tell of them, in a few hundred bytes each, and
what is made of it. Pure.

What another launcher has told is read strictly: ValueError if it is of another form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from argosy.foundation.account import NAMES, UNTOLD
from argosy.runtime.observe.digest import Digest
from argosy.runtime.observe.ring import LongWait
from argosy.runtime.observe.summary import PARTS, Pace

MOST_BYTES = 64 << 10  # of what one launcher tells at a time
_MOST_PROCESSES = 128  # of one host; of those beyond it nothing is told
_MOST_TEXT, _MOST_AWAITED = 200, 4
_MOST_NUMBER = 1e15


def encode(paces: Sequence[Pace], now_ns: int) -> str:
    """What a launcher tells of its processes."""
    told = [describe(pace, now_ns) for pace in paces[:_MOST_PROCESSES]]
    text = json.dumps(told, separators=(",", ":"))
    while len(text) > MOST_BYTES:  # long waits, in many words
        told.pop()
        text = json.dumps(told, separators=(",", ":"))
    return text


def describe(pace: Pace, now_ns: int) -> dict[str, Any]:
    """One process, as values for JSON."""
    awaited = sorted(pace.awaited.items(), key=lambda item: -item[1])[:_MOST_AWAITED]
    return {
        "label": pace.label,
        "rank": pace.rank,
        "num_steps": pace.num_steps,
        "told": pace.told,
        "steps_per_s": _short(pace.steps_per_s),
        "loss": None if math.isnan(pace.loss) else _short(pace.loss),
        "shares": {name: _short(share) for name, share in pace.shares.items()},
        "awaited": [[rank, _short(share)] for rank, share in awaited],
        "wall_s": _short(pace.wall_s),
        "spent_s": {name: _short(spent) for name, spent in pace.spent_s.items()},
        "waits_s": 0.0 if pace.wait is None else _short((now_ns - pace.wait.since_ns) / 1e9),
        "waits_at": "" if pace.wait is None else pace.wait.place[:_MOST_TEXT],
    }


def decode(value: bytes, now_ns: int) -> list[Pace]:
    """The paces that another launcher has told."""
    if len(value) > MOST_BYTES:
        raise ValueError("too long")
    try:
        found = json.loads(value)
        if not isinstance(found, list) or len(found) > _MOST_PROCESSES:
            raise ValueError("not a list of processes")
        return [pace_of(one, now_ns) for one in found]
    except (RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not what a launcher tells: {error!r}") from None


def pace_of(told: Mapping[str, Any], now_ns: int) -> Pace:
    """What ``describe`` has made of a process; ValueError and the like if it is not that."""
    shares = {name: _number(told["shares"][name]) for name in PARTS} if told["shares"] else {}
    waits_s, place = _number(told["waits_s"]), _text(told["waits_at"])
    return Pace(
        label=_text(told["label"]),
        rank=_integer(told["rank"]),
        num_steps=_integer(told["num_steps"]),
        told=_integer(told["told"], least=UNTOLD),
        steps_per_s=_number(told["steps_per_s"]),
        loss=math.nan if told["loss"] is None else _number(told["loss"], least=-_MOST_NUMBER),
        shares=shares,
        awaited={_integer(rank): _number(share) for rank, share in told["awaited"]},
        wall_s=_number(told["wall_s"]),
        spent_s={name: _number(told["spent_s"][name], least=-_MOST_NUMBER) for name in NAMES},
        wait=LongWait(now_ns - int(waits_s * 1e9), place) if place else None,
    )


class OthersDigest:
    """The processes of other hosts over time, from samples of what ``describe`` made of them."""

    def __init__(self, began_s: float) -> None:
        self._began_s = began_s
        self.by_label: dict[str, Digest] = {}
        self._last: dict[str, Pace] = {}

    def add(self, samples: Sequence[Mapping[str, Any]]) -> None:
        """Add what has come since the last time: the difference of two samples is a row of
        steps.
        """
        for sample in samples:
            for told in sample["processes"]:
                now = pace_of(told, 0)
                before = self._last.get(now.label)
                if before is None or now.num_steps < before.num_steps:  # it was started again
                    before = Pace(label=now.label, rank=now.rank)
                self._last[now.label] = now
                digest = self.by_label.setdefault(now.label, Digest(self._began_s))
                count = now.num_steps - before.num_steps
                if count:
                    spent = {n: now.spent_s[n] - before.spent_s.get(n, 0.0) for n in NAMES}
                    wall_s = max(now.wall_s - before.wall_s, 1e-9)
                    digest.add_sums(sample["at_s"], count, wall_s, spent, now.loss)


def _short(value: float) -> float:
    return float(f"{value:.6g}") if math.isfinite(value) else 0.0


def _number(value: Any, least: float = 0.0) -> float:
    if type(value) not in (int, float) or not least <= value <= _MOST_NUMBER:
        raise ValueError(f"{value!r} is not a number that can be")
    return float(value)


def _integer(value: Any, least: int = 0) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not an integer")
    return int(_number(value, least))


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MOST_TEXT or not value.isprintable():
        raise ValueError("not a text that does a terminal no harm")
    return value
