"""What launchers tell each other of their processes."""

from __future__ import annotations

import json
import math

import pytest

from argosy.foundation.account import NAMES
from argosy.foundation.errors import CommError
from argosy.runtime.launch.other_paces import NOTHING, OtherPaces
from argosy.runtime.observe.others import MOST_BYTES, OthersDigest, decode, describe, encode
from argosy.runtime.observe.ring import LongWait
from argosy.runtime.observe.summary import PARTS, Pace

SHARES = {**dict.fromkeys(PARTS, 0.0), "compute": 0.75, "data": 0.25}
S = 10**9


def pace(rank=3, num_steps=10, **more):
    spent = {**dict.fromkeys(NAMES, 0.0), "data": num_steps / 40}
    fields = {"loss": 0.5, "shares": SHARES, "awaited": {1: 0.125}, "spent_s": spent} | more
    return Pace(
        label=f"rank {rank}", rank=rank, num_steps=num_steps, steps_per_s=10.0,
        wall_s=num_steps / 10, **fields,
    )  # fmt: skip


def test_what_is_told_is_what_is_heard():
    waits = LongWait(3 * S, "barrier #3 of group 'world' for rank 1")
    told = [pace(), pace(4, loss=math.nan, shares={}, awaited={}, wait=waits)]
    heard = decode(encode(told, 10 * S).encode(), 100 * S)
    assert heard[0] == told[0]
    assert math.isnan(heard[1].loss)
    assert heard[1].wait == LongWait(93 * S, waits.place)


def test_what_is_told_is_bounded():
    many = [pace(n, wait=LongWait(0, "x" * 1000)) for n in range(5000)]
    assert len(encode(many, S)) <= MOST_BYTES
    assert 50 < len(decode(encode(many, S).encode(), S)) <= 128


@pytest.mark.parametrize(
    "change",
    [
        {"label": "\x1b[2J"}, {"label": 3}, {"label": "x" * 999}, {"rank": -1}, {"rank": True},
        {"num_steps": 1e99}, {"steps_per_s": math.nan}, {"loss": "1"}, {"shares": [1]},
        {"shares": {"compute": 1}}, {"awaited": [[1]]}, {"spent_s": {}}, {"waits_at": "\n"},
    ],
)  # fmt: skip
def test_something_else_is_refused(change):
    with pytest.raises(ValueError):
        decode(json.dumps([describe(pace(), 0) | change]).encode(), 0)


@pytest.mark.parametrize(
    "value", [b"", b"{}", b"[1]", b"[{}]", b"\xff", b"[" * 50_000, b" " * 99999]
)
def test_what_is_no_list_of_processes_is_refused(value):
    with pytest.raises(ValueError):
        decode(value, 0)


def test_processes_of_other_hosts_over_time():
    found = OthersDigest(0.0)
    found.add([{"at_s": 2.0, "processes": [describe(pace(num_steps=20), 0)]}])
    found.add([{"at_s": 4.0, "processes": [describe(pace(num_steps=60, loss=0.25), 0)]}])
    found.add([{"at_s": 6.0, "processes": [describe(pace(num_steps=16), 0)]}])  # started again
    summary = found.by_label["rank 3"].summary(400)
    assert summary["num_steps"] == 76
    assert summary["spent_s"]["data"] == pytest.approx(76 / 40)
    assert summary["loss"] == [0.5, 0.25, 0.5]
    assert summary["steps_per_s"] == pytest.approx([10.0] * 3)


class Store(dict):
    set = dict.__setitem__

    def multi_get(self, keys):
        return [self[key].encode() for key in keys]


def test_the_first_host_hears_of_all():
    keys = ["pace/0", "pace/1", "pace/2"]
    store = Store(dict.fromkeys(keys, NOTHING))
    first, second = (OtherPaces(store, keys, me, reads=me == 0) for me in (0, 1))
    assert second.exchange([pace(7)]) is None
    assert first.exchange([pace(0)]) == [pace(7)]
    assert first.exchange([pace(0)]) is None  # not so often
    assert [each["label"] for each in json.loads(store["pace/0"])] == ["rank 0"]


@pytest.mark.parametrize("error", [CommError("lost"), None])
def test_a_lost_store_does_no_harm(error):
    class Lost(Store):
        def multi_get(self, keys):
            asked.append(keys)
            if error is not None:
                raise error
            return [b"nonsense"]

    asked = []
    paces = OtherPaces(Lost(), ["a", "b"], 0, reads=True)
    assert paces.exchange([]) is None
    paces._next_s = 0.0
    assert paces.exchange([]) is None
    assert asked == [["b"]]
