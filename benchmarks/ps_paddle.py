"""The same CTR job on the parameter server of real Paddle 2.6, for ``bench_ps.py --paddle``; every role runs this script.

Prints the worker's samples per second.
"""

import sys
import time

import paddle.distributed.fleet as fleet

import paddle
import ps_model as model


def build():
    static = paddle.static
    ids = [static.data(f"slot{i}", [None, 1], "int64") for i in range(model.SLOTS)]
    dense, label = static.data("dense", [None, model.DENSE]), static.data("label", [None, 1])
    rows = [
        paddle.static.nn.sparse_embedding(
            slot,
            size=[model.NUM_IDS, model.DIM],
            param_attr=paddle.ParamAttr(name="emb", initializer=paddle.nn.initializer.Uniform(-0.01, 0.01)),
        )
        for slot in ids
    ]
    x = paddle.concat([*(paddle.reshape(row, [-1, model.DIM]) for row in rows), dense], axis=1)
    for width in model.LAYERS[:-1]:
        x = static.nn.fc(x, width, activation="relu")
    logit = static.nn.fc(x, model.LAYERS[-1])
    return paddle.mean(paddle.nn.functional.binary_cross_entropy_with_logits(logit, label))


def train(steps):
    number = fleet.worker_index()
    feeds = []
    for ids, dense, label in model.batches(number):
        feeds.append({**{f"slot{i}": ids[:, i : i + 1] for i in range(model.SLOTS)}, "dense": dense, "label": label})
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    for step in range(model.NUM_BATCHES):
        exe.run(paddle.static.default_main_program(), feed=feeds[step % len(feeds)])
    start = time.perf_counter()
    for step in range(steps):
        exe.run(paddle.static.default_main_program(), feed=feeds[step % len(feeds)])
    print(f"samples/s {steps * model.BATCH / (time.perf_counter() - start):.0f}", flush=True)
    fleet.stop_worker()


def main():
    paddle.enable_static()
    fleet.init(is_collective=False)
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    loss = build()
    fleet.distributed_optimizer(paddle.optimizer.Adam(model.RATE), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        train(int(sys.argv[1]))


if __name__ == "__main__":
    main()
