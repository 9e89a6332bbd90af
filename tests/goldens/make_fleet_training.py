"""Write the golden data of training with Fleet: two processes of real Paddle over gloo, on the CPU.

PATH_TO_PADDLE_3.3.1/bin/python tests/goldens/make_fleet_training.py
PATH_TO_PADDLE_2.6.2/bin/python tests/goldens/make_fleet_training.py

3.3.1 trains the layers, 2.6.2 the programs, which 3.3.1 fails to record for the CPU. There Paddle
has programs of several workers in all but name:
communicators are made here, and operators that wait for a stream of a GPU are left out. Without
golden data, since no Paddle runs them on the CPU:
sync_batch_norm (no kernel), dgc and group_sharded_parallel ("only GPU"), sharding of programs (its
communicators), fp16_allreduce (2.6.2 and 3.3.1 cast the gradients, but then exchange none), amp (no
float16 kernels); gradient_scale_configs, which nothing of the two reads here.
"""

import os
import sys
import tempfile
import traceback
from pathlib import Path

os.environ["FLAGS_enable_pir_api"] = "0"  # noqa: SIM112 (Paddle's name); programs of the older kind
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import paddle
import paddle.distributed as dist
from goldens import fleet_training as trainings
from paddle.distributed import fleet

DATA = Path(__file__).resolve().parent / "data"
WORLD_SIZE = 2
IS_OLD = paddle.__version__.startswith("2.")
WAITS = {"c_sync_comm_stream", "c_sync_calc_stream", "c_wait_comm", "c_wait_compute"}


def without_waits(*programs):
    for program in programs:
        for block in program.blocks:
            for i in reversed(range(len(block.ops))):
                if block.ops[i].type in WAITS:
                    block._remove_op(i)


def communicate(rank, port):
    """Let the operators of programs find each other over gloo."""
    from paddle.distributed.fleet.meta_optimizers import common

    common.CollectiveHelper._init_communicator = lambda *args, **kwargs: None
    dist.gloo_init_parallel_env(rank, WORLD_SIZE, f"127.0.0.1:{port}")


def train(folder, name, port):
    rank = int(os.environ["PADDLE_TRAINER_ID"])
    try:
        if name in trainings.DYGRAPH:
            found = trainings.train_layer(paddle, fleet, name, rank, WORLD_SIZE)
        else:
            paddle.enable_static()
            fleet.init(is_collective=True)
            communicate(rank, port)
            # without this, Paddle averages the gradients of localsgd as well
            extra = {"without_graph_optimization": False} if name == "program_localsgd" else {}
            found = trainings.train_program(
                paddle, fleet, name, rank, WORLD_SIZE, without_waits, extra
            )
    except Exception:
        traceback.print_exc()
        raise
    np.savez(Path(folder) / f"{rank}.npz", **found)


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    if hasattr(paddle, "from_torch"):
        raise SystemExit(
            "this interpreter's paddle is argosy; golden data must come from real Paddle"
        )
    names = trainings.PROGRAMS if IS_OLD else trainings.DYGRAPH
    arrays = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            dist.spawn(train, args=(folder, name, free_port()), nprocs=WORLD_SIZE, backend="gloo")
            for rank in range(WORLD_SIZE):
                with np.load(Path(folder) / f"{rank}.npz") as stored:
                    arrays.update({f"{rank}/{name}/{key}": stored[key] for key in stored.files})
    np.savez_compressed(DATA / ("fleet_programs.npz" if IS_OLD else "fleet_layers.npz"), **arrays)


if __name__ == "__main__":
    main()
