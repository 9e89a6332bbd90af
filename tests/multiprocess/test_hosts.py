"""Two hosts, each a network namespace with its own processes, joined by a cable of two virtual
ends: one launcher on each, one job.
"""

from __future__ import annotations

import json
import re
import subprocess

import numpy as np

from support import models
from support.hosts import ADDRESSES, start_launcher
from support.job import joined_job, run_job

SCRIPT = """
import json, os
import numpy as np
import paddle
import paddle.distributed as dist
from argosy.distributed.job import job
from multiprocess.test_hosts import parameters_after_training

dist.init_parallel_env()
found = parameters_after_training(dist.get_rank(), dist.get_world_size())
np.save(f"parameters.{dist.get_rank()}.npy", found)
kind = job.world.transport.kind
json.dump([kind, os.environ["PADDLE_CURRENT_ENDPOINT"].split(":")[0]],
    open(f"place.{dist.get_rank()}", "w"))
"""


def parameters_after_training(rank: int, world_size: int) -> np.ndarray:
    import paddle

    model = paddle.DataParallel(models.build(paddle, "mlp", "float64"))
    models.train(paddle, "mlp", model, 5, "float64", rank, world_size)
    return np.concatenate([param.numpy().ravel() for param in model.parameters()])


def on_one_host(rank, world_size, *, meeting):
    with joined_job(rank, world_size, meeting):
        return parameters_after_training(rank, world_size)


def token_shown_by(launcher: subprocess.Popen[str]) -> str:
    """The secret in the line with which the first launcher tells how to start the others."""
    assert launcher.stdout is not None
    seen = []
    for line in launcher.stdout:
        seen.append(line)
        found = re.match(
            r"  ARGOSY_TOKEN=(\w+) python -m paddle.distributed.launch --nnodes 2 .* train.py$",
            line,
        )
        if found:
            return found[1]
    raise AssertionError("".join(seen))


def test_two_hosts_train_as_one(tmp_path, hosts, pool):
    """Two workers here, one there; gradients go through shared memory on the first host and gloo
    between them.

    The first host is given no token; the second one takes the one that the first has made.
    """
    (tmp_path / "train.py").write_text(SCRIPT)
    common = ["--nnodes", "2", "--master", f"{ADDRESSES[0]}:29400"]
    launchers: list[subprocess.Popen[str]] = []
    token, outputs = "", []
    try:
        for host, nproc, rank in zip(hosts, "21", "01", strict=True):
            flags = ["--nproc_per_node", nproc, "--log_dir", f"log{rank}", "--rank", rank]
            launchers.append(start_launcher(host, tmp_path, token, *common, *flags, "train.py"))
            if not token:
                token = token_shown_by(launchers[0])
        outputs = [launcher.communicate(timeout=90)[0] for launcher in launchers]
    finally:
        for launcher in launchers:
            launcher.kill()
            if launcher.returncode is None:
                launcher.communicate()
    assert [launcher.returncode for launcher in launchers] == [0, 0], "\n".join(outputs)
    expected = run_job(pool, f"{__name__}:on_one_host", 3)
    for rank, address in enumerate((ADDRESSES[0], ADDRESSES[0], ADDRESSES[1])):
        assert json.loads((tmp_path / f"place.{rank}").read_text()) == ["hierarchical", address]
        found = np.load(tmp_path / f"parameters.{rank}.npy")
        np.testing.assert_allclose(found, expected[rank], rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(found, np.load(tmp_path / "parameters.0.npy"))
