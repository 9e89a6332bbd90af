"""A parameter-server job on three hosts: a server on the first, a server and a worker on the
second, a worker on the third. It trains what ``support.ps_restarts`` trains on one.
"""

from __future__ import annotations

from pathlib import Path

from support.hosts import ADDRESSES

# how each process talks is noted; worker 0 stops at a step until it may go on
TRAIN = """
import os, time
from pathlib import Path
from argosy.runtime.ps.wire import tls
from support import ps_restarts

folder = Path(os.environ["COMMON"])
role = os.environ["TRAINING_ROLE"]
number = int(os.environ["PADDLE_TRAINER_ID" if role == "TRAINER" else "PADDLE_PSERVER_ID"])
talks = "in the clear" if tls.root_certificates() is None else "by TLS"
assert (tls.scheme() == "grpc+tls") == (talks == "by TLS" and role == "PSERVER")
(folder / f"talk.{role}.{number}").write_text(f"{talks} at {os.environ['POD_IP']}")
plain = ps_restarts.note

def note(*what):
    plain(*what)
    if number == 0 and len((folder / "steps.0").read_text().splitlines()) == 5:
        (folder / "stopped").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)

ps_restarts.note = note
ps_restarts.train_dataset(folder)
"""

# workers note that they are at work and stay so; servers serve nothing
STAY = """
import os, time
from pathlib import Path
number = os.environ.get("PADDLE_TRAINER_ID") or "server-" + os.environ["PADDLE_PSERVER_ID"]
(Path(os.environ["COMMON"]) / f"at-work.{number}").touch()
time.sleep(600)
"""


def lines(*more: str) -> list[list[str]]:
    """The command line of each host."""
    common = ["--nnodes", "3", "--master", f"{ADDRESSES[0]}:29400", *more]
    shares = [("1", "0"), ("1", "1"), ("0", "1")]
    return [
        [*common, "--rank", str(n), "--log_dir", f"log{n}"]
        + ["--server_num", servers, "--worker_num", workers, "train.py"]
        for n, (servers, workers) in enumerate(shares)
    ]


def pids_of(folder: Path, role: str, number: int) -> list[int]:
    """The processes of a role, on whatever host, as this one numbers them."""
    which = "PADDLE_PSERVER_ID" if role == "PSERVER" else "PADDLE_TRAINER_ID"
    marks = {f"COMMON={folder}", f"TRAINING_ROLE={role}", f"{which}={number}"}
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                variables = set((entry / "environ").read_text(errors="replace").split("\0"))
            except OSError:
                continue
            if marks <= variables:
                found.append(int(entry.name))
    return found
