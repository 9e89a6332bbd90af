"""A program with a sequence slot, a dense slot and a label that trains from files; the same for
Paddle 1.8, 2.6 and argosy.
"""

from __future__ import annotations

import os

import numpy as np

KINDS = ("QueueDataset", "InMemoryDataset")


def write_files(folder):
    rng = np.random.RandomState(7)
    paths = []
    for number, size in enumerate((7, 6, 5)):
        paths.append(os.path.join(folder, f"part-{number}.txt"))
        with open(paths[-1], "w") as file:
            for _ in range(size):
                ids = rng.randint(0, 20, rng.randint(1, 4))
                dense = " ".join(f"{v:.6f}" for v in rng.randn(3))
                file.write(
                    "{} {} 3 {} 1 {}\n".format(
                        len(ids), " ".join(map(str, ids)), dense, rng.randint(0, 2)
                    )
                )
    return paths


def _new(paddle, pool, dense, label):
    weight = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(0.2))
    hidden = paddle.concat([paddle.reshape(pool, [-1, 4]), dense], 1)
    out = paddle.static.nn.fc(hidden, 1, weight_attr=weight)
    loss = paddle.mean(paddle.square(out - paddle.cast(label, "float32")))
    paddle.optimizer.SGD(0.05).minimize(loss)
    return loss


def _old(fluid, pool, dense, label):
    weight = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.2))
    out = fluid.layers.fc(fluid.layers.concat([pool, dense], 1), 1, param_attr=weight)
    loss = fluid.layers.mean(fluid.layers.square(out - fluid.layers.cast(label, "float32")))
    fluid.optimizer.SGD(0.05).minimize(loss)
    return loss


def _pool(paddle):
    """2.6 keeps the functions of sequences in a module of their own."""
    return (
        getattr(paddle.static.nn, "sequence_pool", None)
        or paddle.static.nn.sequence_lod.sequence_pool
    )


def run_new(paddle, kind, folder):
    """Train for two passes; prints go to standard output. Returns the parameters."""
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.static.scope_guard(scope), paddle.static.program_guard(main, startup):
        ids = paddle.static.data("ids", [None, 1], "int64", lod_level=1)
        dense = paddle.static.data("dense", [None, 3], "float32")
        label = paddle.static.data("label", [None, 1], "int64")
        table = paddle.ParamAttr(name="table", initializer=paddle.nn.initializer.Constant(0.1))
        rows = paddle.static.nn.embedding(ids, [20, 4], param_attr=table)
        loss = _new(paddle, _pool(paddle)(rows, "sum"), dense, label)
        dataset = getattr(paddle.distributed, kind)()
        dataset.init(batch_size=4, thread_num=1, use_var=[ids, dense, label], pipe_command="cat")
        exe = paddle.static.Executor(paddle.CPUPlace())
        exe.run(startup)
        _train(exe, main, dataset, kind, folder, [loss, ids])
        return _values(scope)


def run_old(fluid, kind, folder):
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    with fluid.scope_guard(scope), fluid.program_guard(main, startup):
        ids = fluid.data("ids", [None, 1], "int64", lod_level=1)
        dense = fluid.data("dense", [None, 3], "float32")
        label = fluid.data("label", [None, 1], "int64")
        table = fluid.ParamAttr(name="table", initializer=fluid.initializer.Constant(0.1))
        rows = fluid.layers.embedding(ids, [20, 4], param_attr=table)
        loss = _old(fluid, fluid.layers.sequence_pool(rows, "sum"), dense, label)
        dataset = fluid.DatasetFactory().create_dataset(kind)
        dataset.set_batch_size(4)
        dataset.set_thread(1)
        dataset.set_use_var([ids, dense, label])
        dataset.set_pipe_command("cat")
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        _train(exe, main, dataset, kind, folder, [loss, ids])
        return _values(scope)


def _train(exe, main, dataset, kind, folder, fetches):
    dataset.set_filelist(write_files(folder))
    for _ in range(2):
        if kind == "InMemoryDataset":
            dataset.load_into_memory()
        exe.train_from_dataset(
            main, dataset, fetch_list=fetches, fetch_info=["loss", "ids"], print_period=1
        )


def _values(scope):
    return {name: np.array(scope.find_var(name).get_tensor()) for name in ("table", "w")}
