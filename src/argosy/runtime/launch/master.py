"""The meeting point of several hosts, ``--master``: who serves it, and how this host reaches it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import Endpoint
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.addresses import is_name_of_loopback, listen, towards
from argosy.runtime.comm.store import StoreClient, StoreServer, TokenRefused
from argosy.runtime.launch.job_token import token_of_job
from argosy.runtime.launch.report import Say
from argosy.runtime.launch.spec import LaunchSpec

__all__ = ["JOIN_S", "MeetingPoint", "own_address", "reach"]

JOIN_S = 600  # how long a host waits for the others


@dataclass(frozen=True)
class MeetingPoint:
    """The store of the hosts, as one of their launchers has it."""

    store: StoreClient
    server: StoreServer | None  # if it is served here
    token: str


def reach(
    where: Endpoint, spec: LaunchSpec, stack: ExitStack, say: Say, *, is_first: bool
) -> MeetingPoint:
    """Serve the meeting point ``where`` if this host can and nobody does, and connect to it.
    ``is_first``: this host was told that it is the one of ``where``. ``stack`` closes what is
    opened.
    """
    listener = listen(where, is_first=is_first)
    if listener is not None:
        stack.enter_context(listener)
    token = token_of_job(where, listener is not None, spec.argv, say)
    server = None if listener is None else stack.enter_context(StoreServer(listener, token))
    if server is not None and spec.shows_table:
        say(f"launch: this host serves the meeting point of the hosts at {where}")
    return MeetingPoint(stack.enter_context(_connect(where, token)), server, token)


def _connect(where: Endpoint, token: str) -> StoreClient:
    """Wait for the launcher that serves the meeting point, and prove the token to it."""
    try:
        return StoreClient(where.host, where.port, token, Deadline.after(JOIN_S))
    except TokenRefused as error:
        raise ConfigError(
            f"launch: the launcher that serves the meeting point {where} has another token than "
            "this one; start this host with "
            "the ARGOSY_TOKEN that it was given, or that it printed"
        ) from error


def own_address(store: StoreClient) -> str:
    """The address from which this host reaches the master."""
    where = store.endpoint
    if is_name_of_loopback(where.host):
        raise ConfigError(
            f"launch: here {where.host} is a loopback address, which other hosts cannot reach; "
            "name this host's with --host"
        )
    return towards(where)
