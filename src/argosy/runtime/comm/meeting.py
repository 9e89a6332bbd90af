"""How ranks that another launcher has started find their store.

Rank 0 takes a port that the kernel chooses and puts up a notice, ``host:port nonce``, where the
others look: in a file that only this user can read, or in the store of torchrun's agent. A notice
may be an old one, of a rank 0 that was killed while it joined; whoever follows it finds nobody, or
somebody with another token, and looks again. The token depends on the nonce, and is not in the
notice.

ARGOSY_MEETING says where notices are, in words:

    job NAME                          a file, for ranks of one host that know the name of their job
    below VARIABLE                    a file, named by the nearest process above that has no
                                      VARIABLE: the launcher that gave it to the ranks
    agent here HOST:PORT ATTEMPT      torchrun's agent, for ranks of one host
    agent hosts HOST:PORT ATTEMPT     the same, for ranks of several
    at HOST:PORT                      nowhere: all know the address at which rank 0 listens
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import torch.distributed as dist

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import LOOPBACK, Endpoint, bind_listener, parse
from argosy.foundation.errors import CollectiveTimeout, CommError, ConfigError
from argosy.runtime.comm import hosts
from argosy.runtime.comm.addresses import ANYWHERE, is_name_of_loopback, listen, towards
from argosy.runtime.comm.rendezvous import ServedStore
from argosy.runtime.comm.store import StoreClient
from argosy.runtime.comm.store_server import StoreServer
from argosy.runtime.comm.token import own_folder, publish, read_private, token_for

MEETING = "ARGOSY_MEETING"
_AGAIN_S = 0.02
_FOLLOW_S = 2.0  # how long one notice is followed before it is read again
_AGENT_S = 60.0  # for an answer of the agent, which runs before its ranks do
_MAX_ANCESTORS = 100


class Board(Protocol):
    """Where the notice of rank 0 is."""

    @property
    def host(self) -> str:
        """The address at which rank 0 is to listen; empty: the one that leads to the board."""
        ...

    def post(self, notice: str) -> None: ...

    def read(self) -> str:
        """The notice, empty if there is none."""
        ...

    def remove(self) -> None: ...


class Meeting:
    """One way in which ranks find each other, as ARGOSY_MEETING has it."""

    def __init__(self, text: str) -> None:
        words = text.split()
        shape = (words[0] if words else "", len(words))
        self._board: Board | None = None
        self.where: Endpoint | None = None  # a place that all hosts know; None for one host
        if shape == ("job", 2):
            self._board = _File(words[1])
        elif shape == ("below", 2):
            self._board = _File(_launcher_without(words[1]))
        elif shape == ("agent", 4):
            agent = parse(words[2], MEETING)
            self.where = None if words[1] == "here" else agent
            self._board = _Agent(self.where is None, agent, words[3])
        elif shape == ("at", 2):
            self.where = parse(words[1], MEETING)
        else:
            raise ConfigError(f"{MEETING} must be left to argosy, but is {text!r}")

    def connect(self, rank: int, deadline: Deadline) -> StoreClient:
        """Reach the job's store; rank 0 serves it, and puts its notice up until ``adjourn``."""
        if self._board is None:
            assert self.where is not None
            return _serve_at(self.where, deadline) if rank == 0 else _knock(self.where, deadline)
        return _serve(self._board, deadline) if rank == 0 else _follow(self._board, deadline)

    def adjourn(self) -> None:
        """Take the notice down: all ranks have come, or rank 0 goes."""
        if self._board is not None:
            self._board.remove()


def _knock(where: Endpoint, deadline: Deadline) -> StoreClient:
    return StoreClient(where.host, where.port, token_for(where), deadline)


def _serve_at(where: Endpoint, deadline: Deadline) -> StoreClient:
    token = token_for(where)
    # if it cannot, the attempt at the address itself says why
    listener = listen(where, is_first=True) or bind_listener(where.host, where.port)
    return _served(StoreServer(listener, token), where, token, deadline)


def _served(server: StoreServer, where: Endpoint, token: str, deadline: Deadline) -> StoreClient:
    host = LOOPBACK if server.endpoint.host == ANYWHERE else where.host
    try:
        return ServedStore(server, host, where.port, token, deadline)
    except BaseException:
        server.close()
        raise


def _serve(board: Board, deadline: Deadline) -> StoreClient:
    listener = bind_listener(board.host or ANYWHERE)
    port = listener.getsockname()[1]
    where = Endpoint(board.host, port) if board.host else _reachable(board, port)
    nonce = secrets.token_hex(8)
    try:
        token = token_for(where, nonce)
    except BaseException:
        listener.close()
        raise
    store = _served(StoreServer(listener, token), where, token, deadline)
    try:
        board.post(f"{where} {nonce}")
    except BaseException:
        store.close()
        raise
    return store


def _reachable(board: Board, port: int) -> Endpoint:
    """This host as others see it, of whom all know the address of the agent."""
    assert isinstance(board, _Agent)
    if is_name_of_loopback(board.where.host):
        return Endpoint(board.where.host, port)  # it is this host's name
    return Endpoint(towards(board.where), port)


def _follow(board: Board, deadline: Deadline) -> StoreClient:
    notice, reason = "", "rank 0 has put up no notice of it"
    while not deadline.expired:
        notice = board.read()
        if notice:
            place, _, nonce = notice.partition(" ")
            where = parse(place, "the notice of rank 0")
            patience = Deadline.after(min(_FOLLOW_S, deadline.remaining_s()))
            try:
                return StoreClient(where.host, where.port, token_for(where, nonce), patience)
            except CommError as error:  # an old notice, or a stranger at that port by now
                reason = str(error)
        time.sleep(_AGAIN_S)
    raise CollectiveTimeout(
        f"joining the job: its store was not found within {deadline.seconds:g} s: {reason}"
    )


class _File:
    """A notice that only this user on this host can read."""

    host = LOOPBACK

    def __init__(self, job: str) -> None:
        key = f"{hosts.host_identity()} {job}"
        self._path = own_folder() / f"meeting-{hashlib.sha256(key.encode()).hexdigest()[:32]}"

    def post(self, notice: str) -> None:
        try:
            publish(self._path, notice, replaces=True)
        except OSError as error:
            raise ConfigError(
                f"{self._path}, by which the ranks of this host find each other, cannot be "
                f"written: {error.strerror}; name a folder of yours with XDG_CACHE_HOME"
            ) from error

    def read(self) -> str:
        if not self._path.exists():
            return ""
        try:
            return read_private(self._path, f"the file {str(self._path)!r}")
        except ConfigError:
            if self._path.exists():
                raise
            return ""  # taken down in this moment

    def remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()


class _Agent:
    """A notice in the store of torchrun's agent. Others can read and write there: it leads to a
    store, but opens none.
    """

    def __init__(self, is_one_host: bool, where: Endpoint, attempt: str) -> None:
        self.host = LOOPBACK if is_one_host else ""
        self.where = where
        self._key = f"argosy/meeting/{attempt}"
        try:
            self._store: Any = dist.TCPStore(  # type: ignore[attr-defined]
                where.host,
                where.port,
                is_master=False,
                wait_for_workers=False,
                timeout=timedelta(seconds=_AGENT_S),
            )
        except RuntimeError as error:
            raise CommError(
                f"joining the job: torchrun's agent does not answer at {where}, where MASTER_ADDR "
                f"and MASTER_PORT say it is: {error}"
            ) from error

    def post(self, notice: str) -> None:
        self._store.set(self._key, notice)

    def read(self) -> str:
        if not self._store.check([self._key]):
            return ""
        notice: str = self._store.get(self._key).decode(errors="replace")
        return notice

    def remove(self) -> None:
        self._store.delete_key(self._key)


def _launcher_without(variable: str) -> str:
    """The nearest process above this one to which nobody gave ``variable``, told from a later one
    of the same number by when it began.
    """
    pid = os.getpid()
    for _ in range(_MAX_ANCESTORS):
        pid = int(_fields(pid)[1])
        if pid <= 1 or not _has(pid, variable):
            break
    return f"{variable}-{pid}-{_fields(pid)[19] if pid else ''}"


def _fields(pid: int) -> list[str]:
    """Fields of ``/proc/PID/stat`` from the third on; the second may have blanks in it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _has(pid: int, variable: str) -> bool:
    try:
        found = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # of another user: no task, but who starts tasks
        return False
    return any(each.startswith(f"{variable}=".encode()) for each in found)
