"""The CTR job of ``bench_ps.py``: one script for argosy and for real Paddle 2.6; every role runs
it. A worker prints its samples per second.

26 slots of Zipf ids over a million, dimension 16, 13 dense features, layers 128-64-1, batches of
4096, Adam, asynchronous.
"""

import sys
import time

import numpy as np

import paddle
import paddle.distributed.fleet as fleet

SLOTS, NUM_IDS, DIM, DENSE = 26, 1_000_000, 16, 13
LAYERS = [128, 64, 1]
BATCH = 4096
NUM_BATCHES = 8  # made before the clock runs, and then used in turn
WARM_UP = 24  # so that queues are as full when the clock starts as when it stops
RATE = 1e-3


def feeds(worker):
    """Ids (Zipf, so few are frequent), dense features and labels."""
    rng = np.random.default_rng(worker)
    found = []
    for _ in range(NUM_BATCHES):
        ids = (rng.zipf(1.2, (SLOTS, BATCH, 1)) % NUM_IDS).astype(np.int64)
        dense = rng.normal(size=(BATCH, DENSE)).astype(np.float32)
        label = rng.integers(0, 2, (BATCH, 1)).astype(np.float32)
        found.append(
            {**{f"slot{i}": slot for i, slot in enumerate(ids)}, "dense": dense, "label": label}
        )
    return found


def build():
    static = paddle.static
    ids = [static.data(f"slot{i}", [None, 1], "int64") for i in range(SLOTS)]
    dense, label = static.data("dense", [None, DENSE]), static.data("label", [None, 1])
    rows = [
        static.nn.sparse_embedding(
            slot,
            size=[NUM_IDS, DIM],
            param_attr=paddle.ParamAttr(
                name="emb", initializer=paddle.nn.initializer.Uniform(-0.01, 0.01)
            ),
        )
        for slot in ids
    ]
    x = paddle.concat([*(paddle.reshape(row, [-1, DIM]) for row in rows), dense], axis=1)
    for width in LAYERS[:-1]:
        x = static.nn.fc(x, width, activation="relu")
    logit = static.nn.fc(x, LAYERS[-1])
    return paddle.mean(paddle.nn.functional.binary_cross_entropy_with_logits(logit, label))


def train(steps):
    batches = feeds(fleet.worker_index())
    exe, program = paddle.static.Executor(paddle.CPUPlace()), paddle.static.default_main_program()
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    for step in range(WARM_UP):
        exe.run(program, feed=batches[step % NUM_BATCHES])
    start = time.perf_counter()
    for step in range(steps):
        exe.run(program, feed=batches[step % NUM_BATCHES])
    print(f"samples/s {steps * BATCH / (time.perf_counter() - start):.0f}", flush=True)
    fleet.stop_worker()


def main():
    paddle.enable_static()
    fleet.init(is_collective=False)
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    loss = build()
    fleet.distributed_optimizer(paddle.optimizer.Adam(RATE), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        train(int(sys.argv[1]))


if __name__ == "__main__":
    main()
