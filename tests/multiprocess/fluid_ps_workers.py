"""What servers (ranks 0 and 1) and trainers (ranks 2 and 3) do in the tests of the 1.x names for
jobs with servers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import paddle
import paddle.fluid as fluid
from goldens.fluid_jobs import click_model
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server import distribute_transpiler as jobs
from support.job import environment

SERVERS = 2


@contextlib.contextmanager
def fresh() -> Iterator[Any]:
    """Programs, names and values of their own; gives an Executor."""
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.scope_guard(fluid.Scope()),
        fluid.unique_name.guard(),
    ):
        try:
            yield fluid.Executor(fluid.CPUPlace())
        finally:
            paddle.disable_static()


def by_hand(rank: int, endpoints: list[str], num_trainers: int = 2) -> Any:
    """The environment of a shell loop, without a launcher's variables."""
    variables: dict[str, str | None] = {
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(endpoints),
        "PADDLE_TRAINERS_NUM": str(num_trainers),
        "TRAINING_ROLE": "PSERVER" if rank < SERVERS else "TRAINER",
        "PADDLE_TRAINER_ID": None if rank < SERVERS else str(rank - SERVERS),
        "POD_IP": None,
        "PADDLE_PORT": None,
        "ARGOSY_TOKEN": None,
        "PADDLE_PG_TIMEOUT": "60000",
    }
    if rank < SERVERS:
        variables["POD_IP"], variables["PADDLE_PORT"] = endpoints[rank].split(":")
    return environment(variables)


def scripts(rank: int, world_size: int, *, endpoints: list[str]) -> dict[str, Any]:
    """The job of the golden data, by the transpiler and by Fleet."""
    found = {}
    with by_hand(rank, endpoints):
        with fresh() as exe:
            loss = click_model.net()
            fluid.optimizer.SGD(0.2).minimize(loss)
            found["transpiler"] = click_model.by_transpiler(exe, loss)
        with fresh() as exe:
            found["fleet"] = click_model.by_fleet(exe, click_model.net(), fluid.optimizer.SGD(0.2))
    return found


def started(optimizer: Any, strategy: Any) -> tuple[Any, Any]:
    """A Fleet of this process, not the module's own, after ``minimize``; and the loss."""
    fleet = jobs.DistributedTranspiler()
    fleet.init(role_maker.PaddleCloudRoleMaker())
    loss = click_model.net()
    fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
    return fleet, loss


def saving(
    rank: int, world_size: int, *, endpoints: list[str], folder: str
) -> dict[str, Any] | None:
    """Train with Adagrad through a compiled program, save, and ask the inference model."""
    with by_hand(rank, endpoints), fresh() as exe:
        strategy = jobs.StrategyFactory.create_sync_strategy()
        fleet, loss = started(fluid.optimizer.Adagrad(0.1), strategy)
        if fleet.is_server():
            fleet.init_server()
            fleet.run_server()
            return None
        fleet.init_worker()
        exe.run(fleet.startup_program)
        compiled = fluid.CompiledProgram(fleet.main_program).with_data_parallel(
            loss.name, strategy.get_build_strategy(), strategy.get_execute_strategy()
        )
        found = click_model.train(exe, compiled, loss, [fleet.worker_index()])
        total = np.zeros(1)
        fleet.all_reduce_worker(np.array([fleet.worker_index() + 1.0]), total)
        found["total"] = float(total[0])
        fleet.save_persistables(exe, f"{folder}/saved")
        fleet.save_inference_model(exe, f"{folder}/model", ["a", "b", "x", "y"], [loss])
        fluid.io.save_inference_model(
            f"{folder}/by_io", ["a", "b", "x", "y"], [loss], exe, fleet.main_program
        )
        fleet.barrier_worker()
        fleet.stop_worker()
    found["seen"] = []
    for name in ("model", "by_io"):
        with fresh() as exe:
            program, names, targets = fluid.io.load_inference_model(f"{folder}/{name}", exe)
            seen = click_model.batch(0, 99)
            found["seen"].append(
                float(exe.run(program, {n: seen[n] for n in names}, targets)[0][0])
            )
    return found


def resuming(rank: int, world_size: int, *, endpoints: list[str], folder: str) -> dict[str, Any]:
    """Go on from what ``saving`` wrote, and from files of variables only; each with one trainer,
    which depends on nobody's order.
    """
    found = {}
    if rank > SERVERS:
        return found
    for name, kind in (("saved", "half_async"), ("plain", "geo")):
        with by_hand(rank, endpoints, num_trainers=1), fresh() as exe:
            strategy = getattr(jobs.StrategyFactory, f"create_{kind}_strategy")()
            fleet, loss = started(
                fluid.optimizer.Adagrad(0.1) if name == "saved" else fluid.optimizer.SGD(0.2),
                strategy,
            )
            if fleet.is_server():
                fleet.init_server(f"{folder}/{name}")
                fleet.run_server()
                continue
            exe.run(fleet.startup_program)
            found[name] = click_model.train(exe, fleet.main_program, loss, [0])
            fleet.stop_worker()
    return found


def asynchronous(rank: int, world_size: int, *, endpoints: list[str]) -> list[float] | None:
    """Train with a queue, by a config of the transpiler."""
    with by_hand(rank, endpoints), fresh() as exe:
        config = fluid.DistributeTranspilerConfig()
        config.sync_mode = False
        config.runtime_split_send_recv = True
        fleet, loss = started(fluid.optimizer.SGD(0.05), config)
        if fleet.is_server():
            fleet.run_server()
            return None
        exe.run(fleet.startup_program)
        before = float(
            exe.run(fleet.main_program.clone(for_test=True), click_model.batch(0, 0), [loss])[0][0]
        )
        # many: those that wait in the queue are averaged, and then there are fewer updates
        for step in range(200):
            exe.run(fleet.main_program, click_model.batch(0, step % 2))
        fleet.barrier_worker()
        after = float(
            exe.run(fleet.main_program.clone(for_test=True), click_model.batch(0, 0), [loss])[0][0]
        )
        fleet.stop_worker()
        return [before, after]


def collective(rank: int, world_size: int, *, meeting: dict[str, Any], kind: str) -> list[float]:
    """Train without servers: by the collective Fleet, or by a transpiler in mode nccl2 and a
    ParallelExecutor.
    """
    import paddle.distributed as dist
    from paddle.fluid.incubate.fleet import collective as without_servers
    from support.job import job_variables

    variables = job_variables(rank, world_size, meeting)
    with environment({**variables, "CPU_NUM": "1"}), fresh() as exe:
        try:
            loss = click_model.net()
            optimizer = fluid.optimizer.SGD(0.2)
            if kind == "nccl2":
                optimizer.minimize(loss)
                config = fluid.DistributeTranspilerConfig()
                config.mode = "nccl2"
                endpoints, own = (
                    variables["PADDLE_TRAINER_ENDPOINTS"],
                    variables["PADDLE_CURRENT_ENDPOINT"],
                )
                fluid.DistributeTranspiler(config).transpile(
                    rank, trainers=endpoints, current_endpoint=own
                )
                exe.run(fluid.default_startup_program())
                with fluid.ParallelExecutor(
                    False, loss.name, num_trainers=world_size, trainer_id=rank
                ) as parallel:
                    return [
                        float(parallel.run([loss.name], click_model.batch(rank, s))[0][0])
                        for s in range(3)
                    ]
            fleet = without_servers.Collective()
            fleet.init(role_maker.PaddleCloudRoleMaker(is_collective=True))
            strategy = without_servers.DistributedStrategy()
            if kind == "local_sgd":
                strategy.use_local_sgd = True
            elif kind == "grad_allreduce":
                strategy.mode, strategy.collective_mode = "collective", "grad_allreduce"
            fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
            exe.run(fleet.startup_program)
            return [
                float(exe.run(fleet.main_program, click_model.batch(rank, s), [loss])[0][0])
                for s in range(3)
            ]
        finally:
            dist.destroy_process_group()
