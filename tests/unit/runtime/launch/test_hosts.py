"""What the launchers of a job tell each other."""

from __future__ import annotations

import json

import pytest

from argosy.foundation.errors import CommError
from argosy.runtime.launch.hosts import Failure, Host, Rendezvous


def test_a_host_survives_the_store():
    host = Host("10.0.0.1", 2, ("10.0.0.1:5", "10.0.0.1:6"), ("0", "1"))
    assert Host.from_json(host.to_json().encode(), "node/0") == host


HOST = {"address": "10.0.0.1", "asked_rank": -1, "endpoints": ["10.0.0.1:5"], "devices": []}
HOSTILE = {
    Host: [
        [],
        {},
        {**HOST, "more": 1},
        {**HOST, "address": 7},
        {**HOST, "address": ""},
        {**HOST, "address": "a\x1b[2J"},
        {**HOST, "address": "a b"},
        {**HOST, "asked_rank": "1"},
        {**HOST, "asked_rank": True},
        {**HOST, "asked_rank": -1.0},
        {**HOST, "asked_rank": -2},
        {**HOST, "endpoints": "10.0.0.1:5"},
        {**HOST, "endpoints": []},
        {**HOST, "endpoints": [5]},
        {**HOST, "endpoints": ["10.0.0.1"]},
        {**HOST, "endpoints": ["10.0.0.1:5,10.0.0.2:6"]},
        {**HOST, "devices": [0]},
        {**HOST, "devices": None},
    ],
    Rendezvous: [
        {},
        [],
        ["10.0.0.1:5"],
        ["10.0.0.1", "token"],
        ["10.0.0.1:5", ""],
        ["10.0.0.1:5", "a\0b"],
        [1, 2],
    ],
    Failure: [
        {},
        [1, 2, "10.0.0.1"],
        ["1", 2, "10.0.0.1", ""],
        [1, "2", "10.0.0.1", ""],
        [1, 2, 3, ""],
        [1, 2, "10.0.0.1", 4],
        [-2, 2, "10.0.0.1", ""],
        [1, 10**6, "10.0.0.1", ""],
        [1, 2, "10.0.0.1", "\x1b[2J"],
    ],
}


@pytest.mark.attack("what another launcher has stored has another form")
@pytest.mark.parametrize("kind", HOSTILE, ids=lambda kind: kind.__name__)
def test_what_others_have_stored_is_read_strictly(kind):
    for value in [
        *(json.dumps(value).encode() for value in HOSTILE[kind]),
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
    ]:
        with pytest.raises(CommError, match="under the key 'where it lies'; it is refused"):
            kind.from_json(value, "where it lies")


@pytest.mark.parametrize(
    "record",
    [Rendezvous("[::1]:5", "0" * 32), Failure(3, -9, "10.0.0.1"), Failure(-1, 1, "a", "b c")],
)
def test_records_survive_the_store(record):
    assert type(record).from_json(record.to_json().encode(), "key") == record
