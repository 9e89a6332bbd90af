"""What the launchers of a job tell each other through the store. Pure.

What another launcher has stored is read strictly: a value of another form is a CommError that names
its key.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from argosy.foundation.endpoints import parse
from argosy.foundation.errors import CommError, ConfigError

MAX_PROCESSES = 1 << 12  # of one host
_LONGEST_TEXT = 1000


@dataclass(frozen=True)
class Host:
    """What one host brings to a job: the endpoints of its processes, and their cards if they have
    any. ``asked_rank`` is its ``--rank``, -1 without one.
    """

    address: str
    asked_rank: int
    endpoints: tuple[str, ...]
    devices: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, value: bytes, key: str) -> Host:
        fields = read_json(value, key)
        names = ("address", "asked_rank", "endpoints", "devices")
        if not isinstance(fields, dict) or sorted(fields) != sorted(names):
            raise wrong(key, "something that does not describe a host")
        address, rank, endpoints, devices = (fields[name] for name in names)
        check_place(address, rank, key)
        if not isinstance(endpoints, list) or not 0 < len(endpoints) <= MAX_PROCESSES:
            raise wrong(key, f"a host whose endpoints are not a list of 1 to {MAX_PROCESSES}")
        if (
            not isinstance(devices, list)
            or len(devices) > MAX_PROCESSES
            or not all(map(is_text, devices))
        ):
            raise wrong(key, "a host whose devices are not a list of texts")
        for endpoint in endpoints:
            check_endpoint(endpoint, key)
        return cls(address, rank, tuple(endpoints), tuple(devices))


@dataclass(frozen=True)
class Rendezvous:
    """Where the processes of a job meet, and under which token."""

    endpoint: str
    token: str

    def to_json(self) -> str:
        return json.dumps([self.endpoint, self.token])

    @classmethod
    def from_json(cls, value: bytes, key: str) -> Rendezvous:
        fields = read_json(value, key)
        if not isinstance(fields, list) or len(fields) != 2 or not is_word(fields[1]):
            raise wrong(key, "something that is not the place where workers meet")
        check_endpoint(fields[0], key)
        return cls(*fields)


@dataclass(frozen=True)
class Failure:
    """What ended a round or a job: the worker that failed first, or, with rank -1, what ``reason``
    says.
    """

    rank: int
    exit_code: int
    address: str
    reason: str = ""

    def to_json(self) -> str:
        return json.dumps([self.rank, self.exit_code, self.address, self.reason[:_LONGEST_TEXT]])

    @classmethod
    def from_json(cls, value: bytes, key: str) -> Failure:
        fields = read_json(value, key)
        if (
            not isinstance(fields, list)
            or len(fields) != 4
            or not is_word(fields[2])
            or not is_text(fields[3])
        ):
            raise wrong(key, "something that does not describe a failure")
        if not is_rank(fields[0]) or type(fields[1]) is not int:
            raise wrong(key, "a failure whose rank or exit code is not a number")
        if not -128 <= fields[1] <= 255:
            raise wrong(key, f"a failure with the exit code {fields[1]}")
        return cls(*fields)


def read_json(value: bytes, key: str) -> Any:
    """The JSON that another launcher has stored under ``key``."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise wrong(key, "something that is not JSON") from None


def wrong(key: str, found: str) -> CommError:
    """The error of a value that no launcher of this version stores."""
    return CommError(
        f"the meeting point of the hosts holds {found} under the key {key!r}; it is refused. "
        "Who stored it knows the job's token: another version of the launcher, or somebody who "
        "means harm."
    )


def is_count(value: Any, limit: int) -> bool:
    """Whether it is an integer from 0 on and below ``limit``."""
    return type(value) is int and 0 <= value < limit


def is_rank(value: Any) -> bool:
    """Whether it is a rank, or -1 for none."""
    return type(value) is int and -1 <= value < 1 << 31


def is_text(value: Any) -> bool:
    """Whether it is a text that does a terminal no harm."""
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT and value.isprintable()


def is_word(value: Any) -> bool:
    """Whether it is a text that can be an address or a token, also in a list with commas."""
    return is_text(value) and value != "" and not set(value) & set(" ,;")


def check_place(address: Any, rank: Any, key: str) -> None:
    """CommError if they are not the address of a host and the rank that it asks for."""
    if not is_word(address):
        raise wrong(key, "a host whose address is not one")
    if not is_rank(rank):
        raise wrong(key, "a host whose rank is not a number")


def check_endpoint(value: Any, key: str) -> None:
    """CommError if it is not an endpoint."""
    if not is_word(value):
        raise wrong(key, "an endpoint that is not one")
    try:
        parse(value)
    except ConfigError as error:
        raise wrong(key, f"an endpoint that is not one ({error})") from error
