"""Run the jobs of ``fluid_jobs`` with real Paddle 1.8.5, two servers and two trainers each, and
store what the trainers found.

PATH_TO_PADDLE_VENV/bin/python tests/goldens/make_fluid_jobs.py
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import paddle

HERE = Path(__file__).resolve().parent
SCRIPT = str(HERE / "fluid_jobs" / "click_model.py")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def run_job(kind, folder):
    ports = free_ports(2)
    common = dict(os.environ, CPU_NUM="1", OMP_NUM_THREADS="1", PADDLE_TRAINERS_NUM="2")
    common["PADDLE_PSERVERS_IP_PORT_LIST"] = ",".join(f"127.0.0.1:{port}" for port in ports)
    servers, trainers, paths = [], [], []
    for port in ports:
        env = dict(common, TRAINING_ROLE="PSERVER", POD_IP="127.0.0.1", PADDLE_PORT=str(port))
        servers.append(
            subprocess.Popen([sys.executable, SCRIPT, kind, os.path.join(folder, "none")], env=env)
        )
    for trainer in range(2):
        env = dict(common, TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID=str(trainer))
        paths.append(os.path.join(folder, f"{kind}.{trainer}"))
        trainers.append(subprocess.Popen([sys.executable, SCRIPT, kind, paths[-1]], env=env))
    try:
        if any(each.wait(120) != 0 for each in trainers):
            raise SystemExit(kind + ": a trainer failed")
    finally:
        for each in servers + trainers:  # servers of 1.8.5 do not end by themselves
            each.kill()
            each.wait()
    return [json.loads(Path(path).read_text()) for path in paths]


def main():
    if not paddle.__version__.startswith("1.8"):
        raise SystemExit("needs Paddle 1.8, this is " + paddle.__version__)
    with tempfile.TemporaryDirectory() as folder:
        stored = {kind: run_job(kind, folder) for kind in ("transpiler", "fleet")}
        path = os.path.join(folder, "local")
        subprocess.run(
            [sys.executable, SCRIPT, "local", path],
            check=True,
            env=dict(os.environ, OMP_NUM_THREADS="1"),
        )
        stored["local"] = json.loads(Path(path).read_text())
    with open(str(HERE / "data" / "fluid_jobs.json"), "w") as file:
        json.dump(stored, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
