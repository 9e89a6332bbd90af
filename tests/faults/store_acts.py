"""What is done to stores and launchers by ``test_store_hostile.py``; runs in their processes."""

from __future__ import annotations

import os
import pickle
import resource
import secrets
import socket
import sys
import time
from pathlib import Path
from typing import Any

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener
from argosy.runtime.comm.store import StoreClient, StoreServer
from support.job import joined_job

DIE = "die"  # the store of a launcher whose folder has this file dies


def launch_with_a_mortal_store() -> None:
    """Be a launcher whose stores die, of a bug, when the file is there that names their port, or
    all of them.
    """
    from argosy.distributed.launch.main import launch

    usual = StoreServer._expire

    def expire(self: StoreServer) -> None:
        if os.path.exists(DIE) or os.path.exists(f"{DIE}.{self.port}"):
            raise ZeroDivisionError("a bug of the store")
        usual(self)

    StoreServer._expire = expire  # type: ignore[method-assign]
    StoreServer._nap_s = lambda self: 0.02  # type: ignore[method-assign]
    launch()


def launch_and_note_pickles() -> None:
    """Be a launcher that writes down whatever is unpickled in it."""
    from argosy.distributed.launch.main import launch

    notes = Path("pickles").absolute()

    def note(what: str) -> None:
        with notes.open("a") as file:
            file.write(f"{what}\n")

    def on_audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "pickle.find_class":
            note(f"{arguments[0]}.{arguments[1]}")

    def loads(*arguments: Any, **options: Any) -> Any:
        note("pickle.loads")
        return usual(*arguments, **options)

    usual = pickle.loads
    pickle.loads = loads
    sys.addaudithook(on_audit)
    launch()


def spawned(seconds: float) -> None:
    time.sleep(seconds)


def out_of_descriptors(rank: int, world_size: int) -> dict[str, int]:
    """Serve a store in a process that has no descriptor left, and then one again; how often it
    looked meanwhile, and whether it came back.
    """
    token = secrets.token_hex(16)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with StoreServer(bind_listener(), token) as server:
        num_looks = count_looks(server)
        client = socket.socket()
        hole = os.open(os.devnull, os.O_RDONLY)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hole + 1, limits[1]))
        fill = []
        try:
            while True:
                fill.append(os.dup(hole))
        except OSError:
            pass
        try:
            client.connect(("127.0.0.1", server.port))  # waits to be accepted
            time.sleep(0.5)
            looks = len(num_looks)
        finally:
            for descriptor in (*fill, hole):
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        client.settimeout(5)
        greeting = len(client.recv(4096))
        client.close()
        with StoreClient("127.0.0.1", server.port, token, Deadline.after(5)) as store:
            store.set("a", "1")
    return {"looks": looks, "greeting": greeting}


def count_looks(server: StoreServer) -> list[int]:
    """A list that grows each time the thread of the store comes back from waiting."""
    looks: list[int] = []
    usual = server._nap_s

    def nap_s() -> float:
        looks.append(1)
        return usual()

    server._nap_s = nap_s  # type: ignore[method-assign]
    return looks


def train_under_a_flood(
    rank: int, world_size: int, *, meeting: dict[str, Any], folder: str
) -> list[float]:
    """Sum, and come to the store anew, until the test says that it is over; how long each step
    took.
    """
    import paddle
    import paddle.distributed as dist

    steps = []
    with joined_job(rank, world_size, meeting):
        is_over = False
        while not is_over:
            began_s = time.monotonic()
            (Path(folder) / f"step.{rank}").write_text(str(len(steps)))
            with StoreClient(
                "127.0.0.1", meeting["port"], meeting["token"], Deadline.after(10)
            ) as store:
                store.add("steps", 1)
            found = paddle.to_tensor([rank + 1.0, float((Path(folder) / "over").exists())])
            dist.all_reduce(found)
            assert found[0].item() == 3.0
            is_over = found[1].item() > 0
            steps.append(time.monotonic() - began_s)
    return steps
