"""fleetrun --server_num 2 --worker_num 2 examples/wide_deep_ps.py

Wide & deep as a static program with parameter servers, in sync mode: one table for the wide part,
one for the deep part, rows made when an id is first seen. Started again, it goes on from its last
checkpoint.
"""

from __future__ import annotations

import argparse

import clicks
import paddle
import paddle.distributed.fleet as fleet
from paddle import static


def network() -> tuple:
    ids = static.data("ids", [None, clicks.NUM_SLOTS], "int64")
    numbers = static.data("numbers", [None, clicks.NUM_NUMBERS])
    clicked = static.data("clicked", [None, 1])
    size = clicks.NUM_SLOTS * clicks.NUM_IDS
    start = paddle.nn.initializer.Normal(0.0, 0.05)
    wide = static.nn.sparse_embedding(
        ids, [size, 1], param_attr=paddle.ParamAttr(name="wide", initializer=start)
    )
    deep = static.nn.sparse_embedding(
        ids, [size, 8], param_attr=paddle.ParamAttr(name="deep", initializer=start)
    )
    hidden = paddle.concat([deep.reshape([-1, clicks.NUM_SLOTS * 8]), numbers], axis=1)
    hidden = static.nn.fc(hidden, 64, activation="relu")
    logit = static.nn.fc(hidden, 1) + wide.sum(axis=1)
    loss = paddle.nn.functional.binary_cross_entropy_with_logits(logit, clicked)
    return loss, logit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[2])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--checkpoints", default="checkpoints/wide_deep_ps", help="their folder")
    args = parser.parse_args()
    paddle.enable_static()
    fleet.init(is_collective=False)
    paddle.seed(0)
    loss, logit = network()
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False
    fleet.distributed_optimizer(paddle.optimizer.Adam(3e-3), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    exe = static.Executor(paddle.CPUPlace())
    exe.run(static.default_startup_program())
    fleet.init_worker()
    source = clicks.Clicks(seed=fleet.worker_index())
    run = fleet.auto_checkpoint(args.checkpoints, 20, model=static.default_main_program())
    for step in run.steps(args.steps):
        batch = source.batch(args.batch, step)
        feed = dict(zip(("ids", "numbers", "clicked"), batch, strict=True))
        [value] = exe.run(feed=feed, fetch_list=[loss])
        if fleet.is_first_worker() and (step + 1) % max(1, args.steps // 5) == 0:
            print(f"step {step + 1}: loss {float(value):.3f}", flush=True)
    test = static.default_main_program().clone(for_test=True)
    feed = dict(
        zip(("ids", "numbers", "clicked"), clicks.Clicks(seed=1000).batch(5000, 0), strict=True)
    )
    [scores] = exe.run(test, feed=feed, fetch_list=[logit])
    if fleet.is_first_worker():
        print(
            f"AUC on unseen clicks: {clicks.auc(scores, feed['clicked']):.3f} (0.5 is guessing)",
            flush=True,
        )
    fleet.stop_worker()


if __name__ == "__main__":
    main()
