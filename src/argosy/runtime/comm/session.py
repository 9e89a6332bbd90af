"""A session: this process's part in a job. It owns the store and the groups, and ends them."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import torch.distributed as dist

from argosy.foundation.clock import Offset, compare
from argosy.foundation.errors import CollectiveMismatch, CommError, ConfigError, UsageError
from argosy.runtime.comm import forks, hosts, member
from argosy.runtime.comm.backend import Backend
from argosy.runtime.comm.group import Group

if TYPE_CHECKING:
    from argosy.runtime.comm.backends.shm.board import Board, Seat

T = TypeVar("T")

_ASK_S = 1.0  # how often a rank that waits asks the store who has given up


class StoreEnded(CommError):
    """The store went away before all ranks had met in it."""


def _make_backend(
    kind: str,
    name: str,
    rank: int,
    hosts_of_ranks: Sequence[str],
    store: Any,
    timeout_s: float,
    address: str,
    seat: Seat,
) -> Backend:
    """Build a backend; modules are imported here so that a job pays only for the one it uses."""
    world_size = len(hosts_of_ranks)
    if kind == "loopback":
        from argosy.runtime.comm.backends.loopback import LoopbackBackend

        return LoopbackBackend()
    if kind == "shm":
        from argosy.runtime.comm.backends.shm.backend import ShmBackend

        return ShmBackend(name, rank, world_size, store, timeout_s, seat=seat)
    if kind == "hierarchical":
        from argosy.runtime.comm.backends.hierarchical import HierarchicalBackend

        return HierarchicalBackend(name, rank, hosts_of_ranks, store, timeout_s, address, seat=seat)
    from argosy.runtime.comm.backends.torch_pg import TorchBackend

    return TorchBackend(kind, name, rank, world_size, store, timeout_s, address, seat=seat)


class Session:
    """Joins rank ``rank`` of ``world_size`` through ``store``, a torch store that all ranks reach.

    All ranks make the same groups in the same order. Sessions that follow each other in one store
    are told apart by a number: each rank's n-th session meets the n-th of the others. ``store`` is
    then the part of it that belongs to this one. ``name`` is that of the group of all ranks, which
    messages call 'world'. With ``for_cpu`` only tensors in main memory are to travel, whatever
    devices there are.
    """

    def __init__(
        self,
        *,
        rank: int,
        world_size: int,
        store: Any,
        backend: str = "auto",
        timeout_s: float = 1800.0,
        address: str = "127.0.0.1",
        name: str = "world",
        for_cpu: bool = False,
    ) -> None:
        if not 0 <= rank < world_size:
            raise ConfigError(
                f"the rank must be at least 0 and below the world size, but they are {rank} and "
                f"{world_size}"
            )
        self.rank = rank
        self.world_size = world_size
        self.timeout_s = timeout_s
        self._whole_store = store
        self._address = address
        self._kind = backend
        self._for_cpu = for_cpu
        self._groups: dict[int, Group] = {}
        self._closers: list[Callable[[], None]] = []
        self._next_id = 0
        self._is_forked = False
        self._board: Board | None = None
        # where a job is joined, so that ``import paddle`` need not pay for it
        from argosy.runtime.comm.backends import connections

        self._forget_server = connections.forget_server
        self.store: Any = None
        try:
            self.number = _whether_there(lambda: int(store.add(f"argosy/sessions/{rank}", 1)))
            part = f"argosy/{self.number}"
            self.store = dist.PrefixStore(part, store)  # type: ignore[attr-defined]
            self._store_places = connections.connected_to(_port_of(store))
            self._hosts, self._board = self._meet()
            self._board.is_busy = lambda: any(
                group.num_pending for group in list(self._groups.values())
            )
            self.world = self.new_group(range(world_size), name=name)
        except BaseException:
            self._leave()
            raise
        forks.register(self)

    def clock_offset(self) -> Offset | None:
        """How the clock of the process that serves the store lies to ours; None if the store cannot
        tell.
        """
        ask = getattr(self._whole_store, "clock", None)
        return None if ask is None else compare(ask)

    # -- joining
    # ----------------------------------------------------------------------------------------------

    def _meet(self) -> tuple[list[str], Board]:
        """Wait for every rank's description of itself; return their hosts, and the board of this
        one.
        """
        from argosy.runtime.comm.backends.shm.board import Board, board_bytes
        from argosy.runtime.comm.backends.shm.care import await_keys
        from argosy.runtime.comm.backends.shm.distant import Distant
        from argosy.runtime.comm.backends.shm.segment import Segment

        place = f"joining the job, for the {_ordinal(self.number)} time in its store,"
        host = hosts.host_identity()
        keys = [f"member/{r}" for r in range(self.world_size)]
        segment = Segment.create("board", board_bytes(self.world_size))
        board = Board(segment, 0, self.rank, self.world_size)
        try:
            board.enter(_whether_there(lambda: self._last_seen(host)))
            # before the others know this rank, and ask what it waits for
            distant = _whether_there(lambda: Distant(self.store, self.rank))
            _whether_there(
                lambda: self.store.set(
                    keys[self.rank], json.dumps(member.describe_self(host, os.getpid()))
                )
            )
            awaited = {r: key for r, key in enumerate(keys) if r != self.rank}
            fates = self._fates_in_store(board)
            _whether_there(
                lambda: await_keys(self.store, awaited, board, place, self.timeout_s, fates)
            )
            members = [json.loads(self.store.get(key)) for key in keys]
            if sides := member.disagreement(members):
                raise CollectiveMismatch(
                    f"{place} ranks run different versions.\n  {sides}\n  Install the same ones on "
                    "every host."
                )
            local = {r: m["pid"] for r, m in enumerate(members) if m["host"] == host}
            leader = min(local)
            board.close()
            board = Board(segment, 0, self.rank, self.world_size)
            board.enter(dict.fromkeys(range(self.world_size), 0) | local)
            if self.rank == leader:
                self.store.set(f"board/{leader}", segment.handle)
            else:
                fates = self._fates_in_store(board)
                await_keys(
                    self.store, {leader: f"board/{leader}"}, board, place, self.timeout_s, fates
                )
                board.close()
                segment = Segment.attach(self.store.get(f"board/{leader}").decode())
                board = Board(segment, 0, self.rank, self.world_size)
        except BaseException:
            board.close()
            raise
        finally:
            segment.close()  # the board keeps the memory
        if len(local) < self.world_size:
            board.distant = distant
        return [m["host"] for m in members], board

    def _last_seen(self, host: str) -> dict[int, int]:
        """The processes on this host that were ranks of the session before: one that has exited
        will not come.
        """
        if self.number == 1:
            return {}
        found = {}
        for r in range(self.world_size):
            key = f"argosy/{self.number - 1}/member/{r}"
            if r != self.rank and self._whole_store.check([key]):
                known = json.loads(self._whole_store.get(key))
                if known["host"] == host:
                    found[r] = known["pid"]
        return found

    def _fates_in_store(self, board: Board) -> Callable[[], dict[int, str]]:
        """As ``board.fates``, but it also knows who left before there was a common board."""
        asked_s = time.monotonic()
        left: dict[int, str] = {}

        def fates() -> dict[int, str]:
            nonlocal asked_s
            if time.monotonic() - asked_s >= _ASK_S:
                asked_s = time.monotonic()
                for r in range(self.world_size):
                    if r != self.rank and self.store.check([f"left/{r}"]):
                        left[r] = "left this session, and may be in a later one"
            return left | board.fates()

        return fates

    def _leave(self) -> None:
        """Say that this rank takes no further part, where the others look."""
        board, self._board = self._board, None
        if board is not None:
            board.leave()
            board.close()
        if self.store is not None:
            with contextlib.suppress(CommError):  # the store may be what has gone
                self.store.set(f"left/{self.rank}", b"1")

    # -- groups
    # ----------------------------------------------------------------------------------------------

    def new_group(
        self,
        ranks: Sequence[int],
        backend: str | None = None,
        timeout_s: float | None = None,
        name: str | None = None,
    ) -> Group:
        """Make a group; every rank of the job calls it, members or not."""
        if self._is_forked:
            raise forks.refusal("new_group", self.rank, "world")
        members = list(ranks)
        if len(set(members)) != len(members):
            raise UsageError(f"new_group: ranks must be different, but received {members}")
        outside = [r for r in members if not 0 <= r < self.world_size]
        # a group of nobody is one that nobody waits in, as in Paddle
        if outside and len(outside) < len(members):
            raise UsageError(
                f"new_group: ranks {outside} are outside the job's 0..{self.world_size - 1}"
            )
        id = self._next_id
        label = f"group {id}" if id else "world"
        made = None
        if self.rank in members:
            place = f"new_group #{id} (ranks {members})" if id else "joining group 'world'"
            made = self._transport(
                f"{label}-{id}" if id else label, str(id), place, members, backend, timeout_s
            )
        return self._keep(label, members, made, name)

    def join_group(self, label: str, ranks: Sequence[int], timeout_s: float | None = None) -> Group:
        """Make a group that only its members know of, this rank among them. They all call it with
        one ``label``, which no other group of the session has.
        """
        if self._is_forked:
            raise forks.refusal("new_group", self.rank, "world")
        members = list(ranks)
        place = f"joining group {label!r} (ranks {members})"
        key = f"joined/{label}"
        made = self._transport(label, key, place, members, None, timeout_s)
        return self._keep(label, members, made, label)

    def _keep(
        self, label: str, members: list[int], transport: Backend | None, name: str | None
    ) -> Group:
        id, self._next_id = self._next_id, self._next_id + 1
        group = Group(
            id=id,
            name=name or label,
            ranks=members,
            global_rank=self.rank,
            transport=transport,
            label=label,
        )
        self._groups[id] = group
        return group

    def _transport(
        self,
        name: str,
        key: str,
        place: str,
        members: list[int],
        backend: str | None,
        timeout_s: float | None,
    ) -> Backend:
        """Meet the other members under ``key`` and open this rank's end of their transport."""
        from argosy.runtime.comm.backends.shm.board import Seat

        assert self._board is not None
        kind = hosts.choose(
            backend or self._kind,
            [self._hosts[r] for r in members],
            not self._for_cpu and torch.cuda.is_available(),
            _registered_with_torch(),
        )
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        self._gather(key, place, members, kind, limit_s)
        return _make_backend(
            kind,
            name,
            members.index(self.rank),
            [self._hosts[r] for r in members],
            self.store,
            limit_s,
            self._address,
            Seat(self._board, members),
        )

    def _gather(
        self, key: str, place: str, members: list[int], kind: str, timeout_s: float
    ) -> None:
        """Wait until all members make the group, and see whether they mean the same one."""
        from argosy.runtime.comm.backends.shm.care import await_keys

        if len(members) == 1:
            return
        assert self._board is not None
        mine = json.dumps([members, kind])
        self.store.set(f"group/{key}/{self.rank}", mine)

        def compare(rank: int) -> None:
            theirs = self.store.get(f"group/{key}/{rank}").decode()
            if theirs != mine:
                (ours, our_kind), (others, other_kind) = json.loads(mine), json.loads(theirs)
                raise CollectiveMismatch(
                    f"{place}: ranks make different groups.\n  rank {self.rank}: ranks {ours}, "
                    f"backend {our_kind!r}   "
                    f"rank {rank}: ranks {others}, backend {other_kind!r}\n  All ranks must call "
                    "new_group alike and in the same order."
                )

        key_by_rank = {r: f"group/{key}/{r}" for r in members if r != self.rank}
        fates = self._fates_in_store(self._board)
        await_keys(self.store, key_by_rank, self._board, place, timeout_s, fates, compare)
        for rank in key_by_rank:
            compare(rank)

    def group(self, id: int) -> Group | None:
        return self._groups.get(id)

    def drop(self, group: Group) -> None:
        """Close one group."""
        self._groups.pop(group.id, None)
        group.close()

    def on_close(self, call: Callable[[], None]) -> None:
        """Call ``call`` when the session closes, before its groups do."""
        self._closers.append(call)

    @property
    def is_forked(self) -> bool:
        """Whether this process was forked from the one that joined."""
        return self._is_forked

    def on_forked(self) -> None:
        self._is_forked = True
        self.store = self._whole_store = _ParentsStore(self.rank)
        self._closers.clear()
        self._forget_server(self._store_places)

    def close(self) -> None:
        """Close what was registered and every group, youngest first, then the store."""
        while self._closers:
            self._closers.pop()()
        for id in sorted(self._groups, reverse=True):
            self._groups.pop(id).close()
        if self._is_forked:
            return
        if self._board is not None:
            self._leave()
        close_store = getattr(self._whole_store, "close", None)
        if close_store is not None:
            close_store()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class _ParentsStore:
    """In place of the store in a forked child: what it said on its parent's connections would be
    taken for the parent's words.
    """

    def __init__(self, rank: int) -> None:
        self._rank = rank

    def __getattr__(self, name: str) -> Any:
        raise forks.refusal(f"store.{name}", self._rank, "world")


def _whether_there(call: Callable[[], T]) -> T:
    """Run ``call``; StoreEnded if the store goes away."""
    try:
        return call()
    except CommError as error:
        if type(error) is CommError:
            raise StoreEnded(str(error)) from error
        raise


def _port_of(store: Any) -> int:
    """The port of the server behind ``store``, -1 where that is not known."""
    while (inner := getattr(store, "underlying_store", None)) is not None:
        store = inner
    endpoint = getattr(store, "endpoint", None)
    return -1 if endpoint is None else int(endpoint.port)


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _registered_with_torch() -> list[str]:
    """Backends that other packages registered with torch.distributed."""
    plugins: dict[str, Any] = getattr(torch.distributed.Backend, "_plugins", {})
    return [name.lower() for name in plugins if name.lower() != "argosy"]  # which is us
