"""``paddle.distributed.fleet.elastic.manager``: one host of a job that keeps its hosts in etcd.

Under the prefix ``/paddle/JOB`` every host has a key below ``nodes`` with its endpoint, which ends
with its lease; ``endpoints`` has the endpoints of the trainers and the hosts, in the order of their
ranks; the prefix itself has 1 when the job is complete. A manager watches these, decides whether
the job may run (``_match``), works out the ranks that the hosts get (``_update_hosts``), and starts
and ends the trainers of this host through a launcher.

It puts what it has worked out into the environment, where the trainers and the next launch find it:
PADDLE_TRAINERS, PADDLE_TRAINER_ID, PADDLE_TRAINER_ENDPOINTS, DISTRIBUTED_TRAINER_ENDPOINTS.
"""

from __future__ import annotations

import random
import socket
import string
import subprocess
import threading
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any

from argosy.distributed.fleet import cloud_utils, launch_utils
from argosy.distributed.utils.log_utils import get_logger
from argosy.foundation import env
from argosy.foundation.errors import BadArgument, UsageError

__all__ = [
    "ELASTIC_AUTO_PARALLEL_EXIT_CODE",
    "ELASTIC_EXIT_CODE",
    "ELASTIC_TIMEOUT",
    "ELASTIC_TTL",
    "ElasticLevel",
    "ElasticManager",
    "ElasticStatus",
    "LauncherInterface",
    "logger",
]

logger = get_logger("INFO", "ELASTIC")

ELASTIC_EXIT_CODE = 101
ELASTIC_AUTO_PARALLEL_EXIT_CODE = 102
ELASTIC_TIMEOUT = 120  # seconds to wait for more hosts than the least number
ELASTIC_TTL = 60  # seconds that a host lives in etcd without a sign

_LOOK_S = 2.0
_FIRST_PORT = 6170


class ElasticLevel:
    """What a job does when hosts leave or come."""

    FAULT_TOLERANCE = 1  # waits until there are as many as before
    ELASTIC = 2  # goes on with what there is


class ElasticStatus:
    """How a run on this host has ended."""

    COMPLETED = "completed"
    ERROR = "error"
    HOLD = "hold"
    RESTART = "restart"
    EXIT = "exit"


class LauncherInterface:
    """Starts and ends the trainers of this host for a manager."""

    def __init__(self, args: Any) -> None:
        self.args = args
        self.procs: list[launch_utils.TrainerProc] = []

    def launch(self) -> None:
        """Start them."""
        raise NotImplementedError

    def stop(self) -> None:
        """End them."""
        raise NotImplementedError

    def watch(self) -> int | None:
        """Their exit code, None while they run."""
        raise NotImplementedError

    def _terminate_procs(self) -> bool:
        launch_utils.terminate_local_procs(self.procs)
        return True

    def _check_procs(self) -> int | None:
        codes = [one.proc.poll() for one in self.procs]
        if ELASTIC_AUTO_PARALLEL_EXIT_CODE in codes:
            return ELASTIC_AUTO_PARALLEL_EXIT_CODE
        failed = [(one, code) for one, code in zip(self.procs, codes, strict=True) if code]
        for one, code in failed:
            logger.error(
                "ABORT!!! rank %s ended with exit code %s, check its log for detail.",
                one.rank,
                code,
            )
        if failed:
            return int(failed[-1][1])
        return None if None in codes else 0


class ElasticManager:
    """The manager of this host; ``etcd_client`` has the methods of a client of etcd3."""

    def __init__(self, args: Any, etcd_client: Any) -> None:
        self.args = args
        self.min_np, self.max_np = self._parse_np(args.np)
        self.host = args.host or env.get("POD_IP") or self._get_host()
        self.device_mode, self.devices_per_proc = launch_utils.get_device_proc_info(args)
        self.elastic_timeout = env.integer("PADDLE_ELASTIC_TIMEOUT", ELASTIC_TIMEOUT)
        self._read_hosts()
        self.curr_host = f"{self.host}:{self.start_port}"
        self.elastic_level = self._level()
        logger.info("start job with np=%d, trainers=%s", self.np, self.trainers)

        self.hosts: list[str] = []
        self.stopped = False
        self.sigint = 0
        self.need_sync = False
        self.elastic_startup_time: float | None = None
        self.launcher: Any = None
        self.etcd = etcd_client
        server, name = self._server(), args.job_id or env.get("PADDLE_ELASTIC_JOB_ID")
        self.enable = bool(":" in server and name and self.np)
        if self.enable:
            self._join(name)
        else:
            logger.info("Elastic is not enabled with server %s name %s", server, name)

    def _read_hosts(self) -> None:
        """The hosts that the job starts with, and the endpoints of their trainers."""
        if cloud_utils.use_paddlecloud():
            self.trainers = env.get("PADDLE_TRAINERS")
            self.start_port = env.integer("PADDLE_PORT", _FIRST_PORT)
            self.dist_endpoints = env.get("DISTRIBUTED_TRAINER_ENDPOINTS")
            self.trainer_endpoints_list = env.get("PADDLE_TRAINER_ENDPOINTS").split(",")
        else:
            self.trainers = self.args.ips or env.get("PADDLE_TRAINERS")
            self.start_port = env.integer("FLAGS_START_PORT", _FIRST_PORT)
            ips = self.trainers.split(",")
            self.dist_endpoints = self._host_to_endpoints(
                ips, self.devices_per_proc, self.start_port
            )
            self.trainer_endpoints_list = [f"{ip}:{self.start_port}" for ip in ips]
        self.np = len(self.trainers.split(","))

    def _level(self) -> int:
        if self.max_np > self.min_np:
            return ElasticLevel.ELASTIC
        if self.min_np == self.max_np:
            return ElasticLevel.FAULT_TOLERANCE
        return env.integer("PADDLE_ELASTIC_FAULT_TOLERANC_LEVEL", ElasticLevel.FAULT_TOLERANCE)

    def _server(self) -> str:
        named: str = self.args.elastic_server or env.get("PADDLE_ELASTIC_SERVER")
        host = env.get("PADDLE_ELASTIC_ETCD_SERVICE_HOST")
        port = env.get("PADDLE_ELASTIC_ETCD_SERVICE_PORT")
        return f"{host}:{port}" if not named and host and port else named

    def _parse_np(self, np: str | None) -> tuple[int, int]:
        """``MIN`` or ``MIN:MAX`` hosts; 1 is the largest number of a job that names only one."""
        words = (np or env.get("PADDLE_ELASTIC_NP", "0")).split(":")
        if len(words) > 2:
            raise UsageError(f'the np={np} needs to be in "MIN" or "MIN:MAX" format')
        least = max(int(words[0]), 1)
        return least, 1 if len(words) == 1 else max(int(words[1]), least)

    def _get_host(self) -> str:
        try:
            return socket.gethostbyname(socket.getfqdn(socket.gethostname()))
        except OSError:
            return "127.0.0.1"

    def _host_to_endpoints(
        self,
        ip_port_list: Sequence[str],
        devices_per_proc: Sequence[Any],
        start_port: int = _FIRST_PORT,
    ) -> str:
        """The endpoints of all trainers: one for each process of each host, from its port on."""
        endpoints = []
        for text in ip_port_list:
            ip, _, port = text.partition(":")
            first = int(port) if port else start_port
            endpoints += [f"{ip}:{first + number}" for number in range(len(devices_per_proc))]
        return ",".join(endpoints)

    # -- etcd

    def _join(self, name: str) -> None:
        """Enter this host and watch the others."""
        self.prefix = f"/paddle/{name}"
        self.node_prefix = f"{self.prefix}/nodes"
        self.np_path = f"{self.prefix}/np"
        self.endpoints_path = f"{self.prefix}/endpoints"
        tag = "".join(random.choices(string.ascii_lowercase, k=6))
        self.host_path = f"{self.node_prefix}/{tag}{time.time()}"
        self.etcd.put(self.prefix, b"0")
        host_watch = self.etcd.add_watch_prefix_callback(self.node_prefix, self._hosts_changed)
        self._ttl = env.integer("PADDLE_ELASTIC_TTL", ELASTIC_TTL)
        self._lease = self.etcd.lease(self._ttl)
        self._heartbeat = threading.Thread(
            name="lease_heartbeat", target=self._keep_lease, daemon=True
        )
        self._left = threading.Event()
        self._heartbeat.start()
        self._register()
        self._update_endpoint(self.dist_endpoints, self.trainers)
        endpoints_watch = self.etcd.add_watch_callback(self.endpoints_path, self._endpoints_changed)
        self.watches = [host_watch, endpoints_watch]

    def _registered(self) -> list[str]:
        return list({value.decode() for value, _ in self.etcd.get_prefix(self.node_prefix)})

    def _register(self) -> None:
        self.etcd.put(self.host_path, self.curr_host.encode("latin-1"), lease=self._lease)

    def _hosts_changed(self, event: Any) -> None:
        self.hosts = self._registered()
        self.need_sync = True
        self.elastic_startup_time = None

    def _endpoints_changed(self, event: Any) -> None:
        if self.dist_endpoints:
            value = self.etcd.get(self.endpoints_path)[0]
            text = value.decode() if value is not None else "|"
            self.dist_endpoints, self.trainers = text.split("|")

    def _keep_lease(self) -> None:
        """Runs in a thread until this host leaves: renews the lease, and the host's key if it was
        lost.
        """
        try:
            while not self._left.wait(self._ttl / 3):
                self._lease.refresh()
                if self.curr_host not in self._registered():
                    self._register()
        except Exception:  # whatever a client raises, the host is lost to the others now
            logger.exception("[lease_heartbeat] this host can no longer be renewed in etcd")

    def _update_endpoint(self, endpoints: str, hosts: str) -> None:
        self.etcd.put(self.endpoints_path, f"{endpoints}|{hosts}".encode("latin-1"))

    def _completed(self) -> bool:
        return not self.enable or int(self.etcd.get(self.prefix)[0]) == 1

    def exit(self, completed: bool = False) -> None:
        """End the trainers and leave the job; ``completed`` tells the others that it is done."""
        if self.launcher:
            self.launcher.stop()
        if not self.enable:
            return
        self._left.set()
        if completed:
            self.etcd.put(self.prefix, b"1")
        for watch in self.watches:
            self.etcd.cancel_watch(watch)
        self.etcd.delete(self.host_path)
        if not list(self.etcd.get_prefix(self.node_prefix)):
            self.etcd.delete_prefix(self.prefix)

    # -- which hosts, in which order

    def _match(self, host_list: Sequence[str] | None = None) -> bool:
        """Whether the job may run with the hosts there are (or ``host_list``)."""
        self.hosts = list(set(host_list)) if host_list else self._registered()
        count = len(self.hosts)
        if self.elastic_level == ElasticLevel.FAULT_TOLERANCE or count == self.np:
            return count == self.np
        if count == self.max_np or not self.min_np <= count < self.max_np:
            self.elastic_startup_time = None
            return count == self.max_np
        if self.elastic_startup_time is None:
            self.elastic_startup_time = time.time()
        waited_s = time.time() - self.elastic_startup_time
        if waited_s <= self.elastic_timeout:
            logger.info(
                "%d hosts, at least %d: waiting for more (PADDLE_ELASTIC_TIMEOUT), %.0f of %d s",
                count,
                self.min_np,
                waited_s,
                self.elastic_timeout,
            )
        return waited_s > self.elastic_timeout

    def _update_hosts(self) -> None:
        """Work out the ranks of the hosts and put them into the environment."""
        if not self.hosts:
            raise BadArgument("hosts empty")
        if self.elastic_level == ElasticLevel.FAULT_TOLERANCE or len(self.hosts) == self.np:
            self._update_fault_tolrance()
        elif len(self.hosts) > self.np:
            self._update_elastic_scale_out()
        else:
            self._update_elastic_scale_in()

    def _update_fault_tolrance(self) -> None:
        """A host that was there keeps its place; a new one takes the place of the rank that it is
        given.
        """
        if self.curr_host in self.dist_endpoints:
            env.update(
                {
                    "DISTRIBUTED_TRAINER_ENDPOINTS": self.dist_endpoints,
                    "PADDLE_TRAINERS": self.trainers,
                }
            )
            return
        rank, place = env.integer("PADDLE_TRAINER_ID", -1), self.hosts.index(self.curr_host)
        if rank >= 0:
            self.hosts[place], self.hosts[rank] = self.hosts[rank], self.curr_host
        else:
            env.update({"PADDLE_TRAINER_ID": str(place)})
        self.args.ips = _ips(self.hosts)
        env.update({"PADDLE_TRAINERS": self.args.ips})

    def _update_elastic_scale_out(self) -> None:
        """New hosts come behind those that are there."""
        known = self.trainer_endpoints_list
        self._renumber(known + [host for host in self.hosts if host not in known])
        env.update({"DISTRIBUTED_TRAINER_ENDPOINTS": self.dist_endpoints})

    def _update_elastic_scale_in(self) -> None:
        """Hosts keep their ranks as far as these still exist; the others fill the gaps."""
        count = len(self.hosts)
        ranks = {host: self.trainer_endpoints_list.index(host) for host in self.hosts}
        place = {rank: host for host, rank in ranks.items() if rank < count}
        moved = iter([host for host in self.hosts if place.get(ranks[host]) != host])
        self._renumber([place[i] if i in place else next(moved) for i in range(count)])
        endpoints = self._host_to_endpoints(self.trainer_endpoints_list, self.devices_per_proc)
        env.update({"DISTRIBUTED_TRAINER_ENDPOINTS": endpoints})
        self._update_endpoint(endpoints, self.args.ips)

    def _renumber(self, hosts: list[str]) -> None:
        self.trainer_endpoints_list, self.np = hosts, len(hosts)
        self.args.ips = _ips(hosts)
        env.update(
            {
                "PADDLE_TRAINER_ID": str(hosts.index(self.curr_host)),
                "PADDLE_TRAINERS": self.args.ips,
                "PADDLE_TRAINER_ENDPOINTS": ",".join(hosts),
            }
        )

    # -- a run

    def pre_hook(self) -> None:
        """Run the shell command ``args.elastic_pre_hook``, if there is one."""
        if not self.args.elastic_pre_hook:
            return
        done = subprocess.run(
            self.args.elastic_pre_hook, shell=True, capture_output=True, check=False
        )
        if done.stderr:
            logger.warning("pre_hook exec failed: %s", done.stderr.decode(errors="replace"))
        else:
            logger.info("pre_hook exec result: %s", done.stdout.decode(errors="replace").strip())

    def wait(self) -> None:
        """Return when the job may run, or this host is told to stop."""
        while self.enable and not self.stopped:
            if self._match():
                self._update_hosts()
                return
            logger.info("not ready for np %d with hosts %s", self.np, self.hosts)
            time.sleep(_LOOK_S)

    def run(self, launcher: Any) -> None:
        """Start the trainers of this host."""
        if not self.stopped:
            self.launcher = launcher(self.args)
            self.launcher.launch()

    def watch(self) -> str:
        """Look after the trainers until they end or the hosts change; how it ended."""
        self.need_sync = False
        while not self.stopped:
            code = self.launcher.watch()
            if code is not None:
                return self._ended(code)
            if not self._completed() and (not self._match() or self.need_sync):
                self.launcher.stop()
                return ElasticStatus.HOLD
            time.sleep(_LOOK_S)
        if self.launcher:
            self.launcher.stop()
        return ElasticStatus.EXIT

    def _ended(self, code: int) -> str:
        logger.info("job exit with code %d", code)
        if code == ELASTIC_AUTO_PARALLEL_EXIT_CODE:
            self.launcher.stop()
            return ElasticStatus.HOLD
        self.exit(completed=code == 0)
        if code == 0:
            return ElasticStatus.COMPLETED
        is_tolerant = self.elastic_level == ElasticLevel.FAULT_TOLERANCE
        return ElasticStatus.RESTART if is_tolerant else ElasticStatus.ERROR

    def signal_handler(self, sigint: int, frame: FrameType | None) -> None:
        """Leave the job and stop, with the signal's number for the exit code."""
        if self.enable:
            self.exit()
        self.sigint = int(sigint)
        self.stopped = True


def _ips(endpoints: Sequence[str]) -> str:
    return ",".join(endpoint.partition(":")[0] for endpoint in endpoints)
