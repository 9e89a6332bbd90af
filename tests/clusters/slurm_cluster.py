"""A Slurm cluster of two nodes: each a host of its own, with its network and processes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from clusters import network
from clusters.network import call

HEAD = "10.214.0.100"
ADDRESS_BY_NODE = {"n1": "10.214.0.1", "n2": "10.214.0.2"}
PATIENCE_S = 240.0

_CONFIGURATION = """
ClusterName=test
SlurmctldHost=head({head})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,sched_min_interval=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
JobRequeue=1
KillWait=30
SlurmdTimeout=10
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
# the first process of a node: it buries orphans, and the node lives on if slurmd dies
_NODE = 'slurmd -D -f "$1" -N "$2" & echo $! > "$3"; while :; do wait; sleep 1; done'


class Cluster:
    """The daemons in ``folder``, and the commands of a user."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder = folder
        self.conf = folder / "slurm.conf"
        self._stack = stack
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = {**os.environ, "SLURM_CONF": str(self.conf)}

    def start(self) -> None:
        for name in ("state", "munge", *ADDRESS_BY_NODE):
            (self.folder / name).mkdir(parents=True)
        self._stack.enter_context(network.hosts(self.folder, HEAD, ADDRESS_BY_NODE))
        self._start_munge()
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={name} NodeAddr={address} Port=7010 CPUs=2 "
            "Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN"
            for name, address in ADDRESS_BY_NODE.items()
        )
        self.conf.write_text(
            _CONFIGURATION.format(folder=self.folder, head=HEAD, nodes=nodes).lstrip()
        )
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self._daemon("slurmctld", "-D", "-f", str(self.conf))
        for name in ADDRESS_BY_NODE:
            self.start_node(name)
        self.wait(lambda: self.states() == {"idle"}, "the nodes are idle")

    def _start_munge(self) -> None:
        folder = self.folder / "munge"
        key = folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self._daemon(
            *("munged", "--foreground", "--force", f"--key-file={key}"),
            *(f"--{kind}-file={folder}/{kind}" for kind in ("pid", "log", "seed")),
            f"--socket={folder}/socket",
        )
        self.wait((folder / "socket").exists, "munge answers")

    def _daemon(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{words[0]}.out").open("ab") as log:
            process = subprocess.Popen(
                words, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env=self.environment, cwd=self.folder,
            )  # fmt: skip
        self._stack.callback(_end, process)
        return process

    # -- nodes
    # ----------------------------------------------------------------------------------------------

    def start_node(self, name: str) -> None:
        """Switch a node on."""
        self._nodes[name] = self._daemon(
            *network.on(name),
            *("sh", "-c", _NODE, "node"),
            *(str(self.conf), name, str(self.folder / f"{name}.slurmd")),
        )

    def crash_node(self, name: str) -> None:
        """Switch it off: every process on it is gone."""
        _end(self._nodes.pop(name))

    def processes(self, name: str) -> list[str]:
        """The command lines of what runs on a node, but for its first process and Slurm's own."""
        init = self._init(name)
        shown = call("nsenter", f"--target={init}", "--pid", "--mount", "ps", "-eo", "pid=,args=")
        lines = [line.strip() for line in shown.splitlines()]
        own = r"\d+ (sh -c|sleep 1$|slurmd |slurmstepd|/usr/sbin/slurmstepd|ps -eo)"
        return [line for line in lines if line and not re.match(own, line)]

    def wait_until_empty(self, name: str) -> None:
        """Wait until nothing runs on a node but what always does."""
        self.wait(lambda: not self.processes(name), lambda: f"{name}: {self.processes(name)}")

    def kill_slurmd(self, name: str) -> None:
        """Kill the daemon of a node, and nothing else there."""
        pid = (self.folder / f"{name}.slurmd").read_text().strip()
        call("nsenter", f"--target={self._init(name)}", "--pid", "--mount", "kill", "-KILL", pid)

    def _init(self, name: str) -> int:
        """The first process of a node."""
        parent = self._nodes[name].pid
        return int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])

    # -- what a user does
    # ----------------------------------------------------------------------------------------------

    def call(self, *words: str, cwd: Path | None = None, **variables: str) -> str:
        return call(*words, env={**self.environment, **variables}, cwd=cwd)

    def states(self) -> set[str]:
        return set(self.call("sinfo", "--noheader", "--Node", "--format=%T").split())

    def job(self, number: str) -> dict[str, str]:
        """The fields of ``scontrol show job``."""
        shown = self.call("scontrol", "show", "--oneliner", "job", number)
        return dict(re.findall(r"(\S+?)=(\S*)", shown))

    def state(self, number: str) -> str:
        return self.job(number)["JobState"]

    def wait_for(self, number: str, *states: str) -> None:
        """Wait until a job is in one of ``states``."""
        self.wait(
            lambda: self.state(number) in states, lambda: f"{states}, but found {self.job(number)}"
        )

    def wait(
        self, is_so: Callable[[], bool], what: str | Callable[[], str], limit_s: float = PATIENCE_S
    ) -> None:
        deadline = time.monotonic() + limit_s
        while not is_so():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited in vain: {what if isinstance(what, str) else what()}")
            time.sleep(0.1)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that is up; nothing is left of it afterwards."""
    with contextlib.ExitStack() as stack:
        made = Cluster(folder, stack)
        made.start()
        yield made


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
