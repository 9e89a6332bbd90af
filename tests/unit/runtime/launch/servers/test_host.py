"""What a host with servers or workers publishes, and how strictly it is read."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from argosy.foundation.errors import CommError
from argosy.runtime.comm.frames import prove
from argosy.runtime.launch.servers.host import MADE, ServerHost

TOKEN, KEY = "0123456789abcdef", "host/1"
PEM = "-----BEGIN CERTIFICATE-----\nMIIB+/=\n-----END CERTIFICATE-----\n"
HOST = ServerHost(
    address="10.0.0.1",
    asked_rank=2,
    num_hosts=3,
    servers=("10.0.0.1:5", "10.0.0.1:6"),
    workers=("10.0.0.1:7",),
    tls=MADE,
    certificate=PEM,
)
FIELDS = json.loads(json.dumps(asdict(HOST)))


def sealed(fields, token=TOKEN, key=KEY):
    text = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return prove(token, "launch-host", (key.encode(), text)).hex().encode() + text


def test_a_host_survives_the_store():
    assert ServerHost.unsealed(HOST.sealed(TOKEN, KEY).encode(), TOKEN, KEY) == HOST
    assert HOST.sealed(TOKEN, KEY).encode() == sealed(FIELDS)
    bare = ServerHost(address="[::1]", workers=("[::1]:0",))
    assert ServerHost.unsealed(bare.sealed(TOKEN, KEY).encode(), TOKEN, KEY) == bare


@pytest.mark.attack("what another launcher has published of its servers has another form")
@pytest.mark.parametrize(
    "fields",
    [
        [],
        {},
        b"",
        b"{",
        b"[" * 100_000,
        {**FIELDS, "more": 1},
        {**FIELDS, "address": "a b"},
        {**FIELDS, "address": "a\x1b[2J"},
        {**FIELDS, "asked_rank": True},
        {**FIELDS, "asked_rank": -2},
        {**FIELDS, "num_hosts": -1},
        {**FIELDS, "num_hosts": 3.0},
        {**FIELDS, "num_hosts": 1 << 40},
        {**FIELDS, "servers": "10.0.0.1:5"},
        {**FIELDS, "servers": ["10.0.0.1"]},
        {**FIELDS, "servers": ["10.0.0.1:5,10.0.0.2:5"]},
        {**FIELDS, "servers": ["10.0.0.1:99999"]},
        {**FIELDS, "workers": [7]},
        {**FIELDS, "workers": None},
        {**FIELDS, "workers": ["10.0.0.1:7"] * 5000},
        {**FIELDS, "servers": [], "workers": [], "certificate": ""},
        {**FIELDS, "tls": "perhaps"},
        {**FIELDS, "tls": ["made"]},
        {**FIELDS, "tls": ""},  # a certificate that nobody needs
        {**FIELDS, "servers": []},  # likewise
        {**FIELDS, "certificate": ""},
        {**FIELDS, "certificate": 1},
        {**FIELDS, "certificate": "no certificate"},
        {**FIELDS, "certificate": PEM + "-----BEGIN PRIVATE KEY-----\nA\n"},
        {**FIELDS, "certificate": PEM.replace("MIIB", "A" * (1 << 15))},
    ],
    ids=lambda fields: str(fields)[:20],
)
def test_what_others_have_published_is_read_strictly(fields):
    with pytest.raises(CommError, match="under the key 'host/1'; it is refused"):
        ServerHost.unsealed(sealed(fields), TOKEN, KEY)


@pytest.mark.attack(
    "somebody on the way to the store puts another certificate into a host's record"
)
@pytest.mark.parametrize(
    "value",
    [
        sealed(FIELDS).replace(b"MIIB", b"MIIC"),
        sealed(FIELDS).replace(b"10.0.0.1:5", b"10.0.0.9:5"),
        sealed(FIELDS, token="another token of 16"),
        sealed(FIELDS, key="host/0"),  # the record of another host
        sealed(FIELDS)[64:],
        b"",
        b"\xff" * 64,
        b"0" * 64,
    ],
    ids=range(8),
)
def test_a_record_that_was_changed_on_its_way_is_refused(value):
    with pytest.raises(CommError, match="a host whose seal is broken under the key 'host/1'"):
        ServerHost.unsealed(value, TOKEN, KEY)
