"""A scheduler asks a job to make room: it saves, leaves, and goes on later as if nothing had
happened. ``faults/test_preemption.py`` has every phase, and jobs with servers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from argosy.runtime.observe.run_folder import EVENTS, read_lines, runs_in
from support.environments import OPEN_MPI
from support.preempted import Ring, assert_undisturbed, run_collective, saved_step


def test_a_signal_to_the_launcher_saves_after_the_step_under_way(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    code, said = run_collective(whole)
    assert code == 0, said
    ring = Ring("backward", 3, signal.SIGUSR1, "launcher")
    code, said = run_collective(parts, ring, flags=("--max_restart", "2", "--requeue_code", "99"))
    assert code == 99, said
    assert "launch: asked by SIGUSR1 to save and to leave, within 60 s" in said
    step = saved_step(parts, said, 99)
    assert step >= 4
    (run,) = runs_in(parts / "log")
    events = [(event["kind"], event["text"]) for event in read_lines(run, EVENTS)]
    assert events == [
        ("request", "asked by SIGUSR1 to save and to leave"),
        ("saved", f"the job has saved at step {step}"),
        ("end", f"pre-empted: saved at step {step}, exit 99"),
    ]
    code, said = run_collective(parts)
    assert code == 0, said
    assert_undisturbed(whole, parts)


# the second rank is asked while the last checkpoint is written, and nobody passes that on
AT_THE_END = """
import os, signal
import paddle
import paddle.distributed.fleet as fleet

class Bell:
    def state_dict(self):
        if fleet.worker_index() == 1:
            os.kill(os.getpid(), signal.SIGUSR1)
        return {}

    def set_state_dict(self, state):
        pass

fleet.init(is_collective=True)
run = fleet.auto_checkpoint("ckpt", 100, extra={"bell": Bell()})
for step in run.steps(2):
    pass
open(f"through.{fleet.worker_index()}", "w").close()
fleet.barrier_worker()
"""


def test_all_ranks_hear_a_request_to_one_between_the_last_save_and_the_end_of_the_loop(tmp_path):
    (tmp_path / "train.py").write_text(AT_THE_END)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "ARGOSY_"))}
    environment = kept | OPEN_MPI | {
        "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }  # fmt: skip
    ranks = [
        subprocess.Popen(
            [sys.executable, "train.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
            env=environment | {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_LOCAL_RANK": rank},
        )
        for rank in "01"
    ]  # fmt: skip
    try:
        said = [rank.communicate(timeout=100)[1] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    assert [rank.returncode for rank in ranks] == [75, 75], said
    assert not list(tmp_path.glob("through.*"))
