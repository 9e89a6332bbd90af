"""Train ``ps_programs`` with the parameter server of real Paddle 2.6.2 and store the losses: two
servers, one worker that sees the batches of all workers.

    python tests/goldens/make_ps.py        # with an interpreter that has Paddle 2.6.2

In 2.6.2 the sync mode (``a_sync=False``) dies in its first step: ``send_barrier`` asks a
communicator that only geo makes. What sync stands for is had here from its servers in lockstep:
after each step everything that was sent is awaited and the dense values are fetched. Rows are
trained by ``SparseNaiveSGDRule``, which is SGD; its rate is divided by the number of samples
because the worker multiplies the gradients of rows by it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import ps_programs as model  # noqa: E402

NUM_SERVERS = 2


def strategy_of(fleet):
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    configs = {}
    for table in model.DIM_BY_TABLE:
        settings = {f"table_parameters.{table}.accessor.embedx_threshold": 0}
        for part in ("embed_sgd_param", "embedx_sgd_param"):
            at = f"table_parameters.{table}.accessor.{part}."
            settings[at + "name"] = "SparseNaiveSGDRule"
            settings[at + "naive.learning_rate"] = model.RATE / (model.BATCH * model.NUM_WORKERS)
            settings[at + "naive.initial_range"] = 0.0
            settings[at + "naive.weight_bounds"] = [-10.0, 10.0]
        configs[table] = settings
    strategy.sparse_table_configs = configs
    return strategy


def play_role(path):
    import paddle
    import paddle.distributed.fleet as fleet
    from paddle.distributed.ps.utils.public import get_the_one_recv_context

    paddle.enable_static()
    fleet.init(is_collective=False)
    loss = model.build(paddle)
    fleet.distributed_optimizer(paddle.optimizer.SGD(model.RATE), strategy_of(fleet)).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    runtime = fleet.fleet._runtime_handle
    dense = get_the_one_recv_context(runtime.context, split_dense_table=False)
    losses = []
    for step in range(model.STEPS):
        losses.append(exe.run(feed=model.union(step), fetch_list=[loss])[0])
        runtime._worker.client_flush()
        runtime._pull_all_dense(runtime.scopes, runtime._send_ctx, dense)
    scope = paddle.static.global_scope()
    names = [
        p.name
        for p in paddle.static.default_main_program().all_parameters()
        if p.name.startswith("fc")
    ]
    found = {name: np.array(scope.find_var(name).get_tensor()) for name in names}
    np.savez_compressed(path, losses=np.array(losses, "float32").reshape(-1), **found)
    fleet.stop_worker()


def free_endpoint():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def main():
    servers, worker = [free_endpoint() for _ in range(NUM_SERVERS)], free_endpoint()
    common = {
        **os.environ, "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(servers),
        "PADDLE_TRAINER_ENDPOINTS": worker, "PADDLE_TRAINERS_NUM": "1",
        "POD_IP": "127.0.0.1", "FLAGS_enable_pir_api": "0", "OMP_NUM_THREADS": "1",
        "PADDLE_WITH_GLOO": "0",
    }  # fmt: skip
    path = HERE / "data" / "ps_262.npz"
    with tempfile.TemporaryDirectory() as folder:

        def start(role, endpoint):
            own = {
                "TRAINING_ROLE": role,
                "PADDLE_PORT": endpoint.split(":")[1],
                "PADDLE_TRAINER_ID": "0",
            }
            return subprocess.Popen(
                [sys.executable, __file__, str(path)], env={**common, **own}, cwd=folder
            )

        running = [start("PSERVER", endpoint) for endpoint in servers]
        trainer = start("TRAINER", worker)
        try:
            assert trainer.wait(120) == 0
        finally:
            for process in [trainer, *running]:
                process.kill()
                process.wait()
    print({name: value.tolist() for name, value in np.load(path).items()})


if __name__ == "__main__":
    if "TRAINING_ROLE" in os.environ:
        play_role(sys.argv[1])
    else:
        main()
