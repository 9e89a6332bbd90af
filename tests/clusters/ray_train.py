"""Training that tells every step, as a script for fleetrun and for Ray, and as functions for Ray:
``ray_train.py collective|servers FOLDER [PAUSE_S]``. Without a folder, that of the run.

It imports nothing of the tests, for it runs on every node.
"""

import json
import os
import sys
import time

NUM_SAMPLES, BATCH, EPOCHS = 48, 4, 2
COMPANY_S = 120


def note(folder, name, **what):
    with open(os.path.join(folder, name), "a") as file:
        # of the machine, not of the process; it does not step back as the time of day may
        file.write(json.dumps({"at_s": time.monotonic(), "pid": os.getpid(), **what}) + "\n")


def seed():
    import random

    import numpy as np

    import paddle

    random.seed(5)
    np.random.seed(5)
    paddle.seed(5)


def loop(folder, number, world, model, optimizer, config):
    """Epochs of auto_checkpoint over samples that know their number."""
    import numpy as np

    import paddle
    import paddle.distributed.fleet as fleet

    class Samples(paddle.io.Dataset):
        def __len__(self):
            return NUM_SAMPLES

        def __getitem__(self, i):
            return np.int64(i), np.int64((7 * i) % 30), np.float32([np.sin(i)])

    samples = Samples()
    sampler = paddle.io.DistributedBatchSampler(
        samples, BATCH // world, num_replicas=world, rank=number, shuffle=True
    )
    run = fleet.auto_checkpoint(
        os.path.join(folder, "checkpoints"),
        3,
        model=model,
        optimizer=optimizer,
        loader=paddle.io.DataLoader(samples, batch_sampler=sampler),
    )
    name = f"steps.{number}"
    note(folder, name, begins_at=run.num_steps, resumed_from=run.resumed_from, world=world)
    for epoch in run.epochs(EPOCHS):
        for numbers, ids, y in run.batches():
            loss = ((model(ids) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            done = {"step": run.num_steps, "epoch": epoch, "samples": numbers.tolist()}
            note(folder, name, **done, loss=float(loss))
            time.sleep(config.get("pause_s", 0))
            if world == 1 and run.num_steps >= config.get("alone_until", EPOCHS * NUM_SAMPLES):
                time.sleep(COMPANY_S)  # it is ended before, to go on with more
                raise RuntimeError(f"nobody joined within {COMPANY_S} s")
    state = {key: value.numpy() for key, value in model.state_dict().items()}
    if number == 0:
        np.savez(os.path.join(folder, "final.npz"), **state)
    if config.get("reports"):
        report(folder, state)


def report(folder, state):
    import ray.train

    with open(os.path.join(folder, "token"), "w") as file:
        file.write(os.environ["ARGOSY_TOKEN"])
    path = os.path.join(folder, "reported")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "weight"), "w") as file:
        file.write(str(float(state["1.weight"].sum())))
    kept = ray.train.Checkpoint.from_directory(path)
    is_first = ray.train.get_context().get_world_rank() == 0
    ray.train.report(
        {"weight": float(state["1.weight"].sum())}, checkpoint=kept if is_first else None
    )


def folder_of(config):
    if config.get("folder"):
        return config["folder"]
    from argosy.ray import run_folder

    return run_folder()


def collective(config):
    import paddle
    import paddle.distributed as dist
    import paddle.distributed.fleet as fleet

    fleet.init(is_collective=True)
    seed()
    model = paddle.nn.Sequential(paddle.nn.Embedding(30, 4), paddle.nn.Linear(4, 1))
    model = fleet.distributed_model(model)
    adam = paddle.optimizer.Adam(config.get("rate", 0.05), parameters=model.parameters())
    optimizer = fleet.distributed_optimizer(adam)
    loop(folder_of(config), dist.get_rank(), dist.get_world_size(), model, optimizer, config)


def servers(config):
    import paddle
    import paddle.distributed.fleet as fleet

    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False
    fleet.init(is_collective=False, strategy=strategy)
    seed()
    model = paddle.nn.Sequential(paddle.nn.Embedding(30, 4, sparse=True), paddle.nn.Linear(4, 1))
    adam = paddle.optimizer.Adam(0.05, parameters=model.parameters())
    optimizer = fleet.distributed_optimizer(adam, strategy)
    model = fleet.distributed_model(model)
    folder = folder_of(config)
    if fleet.is_server():
        fleet.init_server()
        note(folder, f"server.{fleet.server_index()}")
        fleet.run_server()
        return
    fleet.init_worker()
    loop(folder, fleet.worker_index(), fleet.worker_num(), model, optimizer, config)
    fleet.stop_worker()


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    settings = {"folder": rest[0] if rest else "", "pause_s": float(rest[1]) if rest[1:] else 0}
    {"collective": collective, "servers": servers}[kind](settings)
