"""A click model of Paddle 1.x that several processes train, each started by hand with the bare
environment of a shell loop.

    click_model.py {transpiler|fleet|local} RESULT

``local`` trains in one process on what both trainers of the others see together.
"""

import json
import os
import sys

import numpy as np

import paddle.fluid as fluid

TRAINERS, STEPS, SIZE = 2, 6, 8


def batch(trainer, step):
    rng = np.random.RandomState(10 * step + trainer)
    ids = rng.randint(0, 30, (2, SIZE, 1)).astype("int64")
    x, y = rng.normal(size=(SIZE, 3)), rng.normal(size=(SIZE, 1))
    return {"a": ids[0], "b": ids[1], "x": x.astype("float32"), "y": y.astype("float32")}


def given(name, *shape):
    values = np.random.RandomState(len(name)).normal(size=shape).astype("float32")
    return fluid.ParamAttr(
        name=name, initializer=fluid.initializer.NumpyArrayInitializer(0.4 * values)
    )


def net():
    a, b = [fluid.layers.data(name, [1], dtype="int64") for name in ("a", "b")]
    x, y = fluid.layers.data("x", [3]), fluid.layers.data("y", [1])
    parts = [
        fluid.layers.embedding(v, [30, 4], is_sparse=True, param_attr=given("table", 30, 4))
        for v in (a, b)
    ]
    hidden = fluid.layers.fc(
        fluid.layers.concat(parts + [x], axis=1), 5, act="tanh", param_attr=given("hidden.w", 11, 5)
    )
    out = fluid.layers.fc(hidden, 1, param_attr=given("out", 5, 1))
    return fluid.layers.mean(fluid.layers.square_error_cost(out, y))


def train(exe, program, loss, trainers):
    losses = []
    for step in range(STEPS):
        feeds = [batch(trainer, step) for trainer in trainers]
        feed = {name: np.concatenate([f[name] for f in feeds]) for name in feeds[0]}
        losses.append(float(exe.run(program, feed=feed, fetch_list=[loss])[0][0]))
    hidden = np.array(fluid.global_scope().find_var("hidden.w").get_tensor())
    return {"losses": losses, "hidden": hidden.ravel().tolist()}


def by_transpiler(exe, loss):
    role, endpoints = os.environ["TRAINING_ROLE"], os.environ["PADDLE_PSERVERS_IP_PORT_LIST"]
    trainer = int(os.environ.get("PADDLE_TRAINER_ID", "0"))
    transpiler = fluid.DistributeTranspiler()
    transpiler.transpile(trainer, pservers=endpoints, trainers=TRAINERS, sync_mode=True)
    if role == "PSERVER":
        endpoint = os.environ["POD_IP"] + ":" + os.environ["PADDLE_PORT"]
        program = transpiler.get_pserver_program(endpoint)
        exe.run(transpiler.get_startup_program(endpoint, program))
        exe.run(program)
        return None
    program = transpiler.get_trainer_program()
    exe.run(fluid.default_startup_program())
    found = train(exe, program, loss, [trainer])
    exe.close()
    return found


def by_fleet(exe, loss, optimizer):
    from paddle.fluid.incubate.fleet.base.role_maker import PaddleCloudRoleMaker
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import (  # noqa: E501
        StrategyFactory,
    )

    fleet.init(PaddleCloudRoleMaker())
    fleet.distributed_optimizer(optimizer, StrategyFactory.create_sync_strategy()).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return None
    fleet.init_worker()
    exe.run(fleet.startup_program)
    found = train(exe, fleet.main_program, loss, [fleet.worker_index()])
    fleet.stop_worker()
    return found


def main(kind, path):
    loss = net()
    optimizer = fluid.optimizer.SGD(0.2)
    exe = fluid.Executor(fluid.CPUPlace())
    if kind == "fleet":
        found = by_fleet(exe, loss, optimizer)
    else:
        optimizer.minimize(loss)
        if kind == "transpiler":
            found = by_transpiler(exe, loss)
        else:
            exe.run(fluid.default_startup_program())
            found = train(exe, fluid.default_main_program(), loss, range(TRAINERS))
    if found is not None:
        with open(path, "w") as file:
            json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
