"""``fluid.incubate.fleet`` in one process: roles, strategies, files, and scripts that train alone.
Jobs are in ``multiprocess/test_fluid_ps.py``.
"""

import json

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid
from argosy.foundation.errors import NotSupported
from argosy.static.record.recorder import recorder
from argosy.static.run.contract import PreparedProgram
from paddle.fluid.incubate.fleet import collective
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.base.fleet_base import Fleet, Mode
from paddle.fluid.incubate.fleet.parameter_server import distribute_transpiler as servers
from paddle.fluid.incubate.fleet.parameter_server.pslib import fleet as pslib
from paddle.fluid.incubate.fleet.utils.fs import LocalFS
from paddle.fluid.incubate.fleet.utils.hdfs import HDFSClient

VARIABLES = (
    "PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ENDPOINTS",
    "PADDLE_TRAINER_ID", "TRAINING_ROLE",
    "POD_IP", "PADDLE_PORT", "CPU_NUM",
)  # fmt: skip


@pytest.fixture(autouse=True)
def one_process(static_mode, monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CPU_NUM", "1")


def net():
    x = fluid.layers.data("x", [2])
    hidden = fluid.layers.fc(x, 3, act="tanh", param_attr=fluid.initializer.Constant(0.5))
    out = fluid.layers.fc(hidden, 1, param_attr=fluid.initializer.Constant(0.25))
    return hidden, fluid.layers.mean(fluid.layers.square(out))


def steps(exe, program, loss, count=3):
    feed = {"x": np.arange(8, dtype="float32").reshape(4, 2) / 8}
    return [float(exe.run(program, feed, [loss])[0][0]) for _ in range(count)]


class TestRoles:
    def test_arguments_of_servers_and_workers(self):
        role = role_maker.UserDefinedRoleMaker(1, role_maker.Role.SERVER, 3, ["a:1", "b:1"])
        assert (role.is_server(), role.server_index(), role.worker_num()) == (True, 1, 3)
        assert role.get_pserver_endpoints() == ["a:1", "b:1"]
        role = role_maker.UserDefinedCollectiveRoleMaker(1, ["a:1", "b:1"])
        assert (role.is_worker(), role.is_first_worker(), role.worker_num()) == (True, False, 2)
        assert role.get_trainer_endpoints() == ["a:1", "b:1"]

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"server_endpoints": "a:1"}, TypeError, "list of strings"),
            ({"server_endpoints": []}, ValueError, "at least one element"),
            ({"server_endpoints": ["a:1", "a:1"]}, ValueError, "none twice"),
            ({"role": 9}, TypeError, r"Role\.WORKER or Role\.SERVER"),
            ({"current_id": "0"}, TypeError, "current_id must be an integer"),
            ({"current_id": -1}, ValueError, "at least 0"),
            ({"worker_num": 0}, ValueError, "at least 1"),
        ],
    )
    def test_a_role_that_cannot_be_is_refused(self, arguments, error, message):
        with pytest.raises(error, match=message):
            role_maker.UserDefinedRoleMaker(
                **{"worker_num": 2, "server_endpoints": ["a:1"], **arguments}
            )

    def test_a_number_that_is_too_large(self):
        with pytest.raises(ValueError, match="number of endpoints, 2, but is 2"):
            role_maker.UserDefinedCollectiveRoleMaker(2, ["a:1", "b:1"])
        with pytest.raises(ValueError, match="number of endpoints, 1, but is 1"):
            role_maker.UserDefinedRoleMaker(1, role_maker.Role.SERVER, 2, ["a:1"])
        role_maker.UserDefinedRoleMaker(1, role_maker.Role.WORKER, 2, ["a:1"])

    def test_general_counts_the_listed_workers(self, monkeypatch):
        monkeypatch.setenv("PADDLE_PSERVERS_IP_PORT_LIST", "a:1,b:1")
        monkeypatch.setenv("PADDLE_TRAINER_ENDPOINTS", "c:1,d:1,e:1")
        monkeypatch.setenv("TRAINING_ROLE", "TRAINER")
        monkeypatch.setenv("PADDLE_TRAINER_ID", "2")
        role = role_maker.GeneralRoleMaker(path="./gloo", init_timeout_seconds=10)
        role.generate_role()
        assert (role.worker_num(), role.worker_index(), role.server_num()) == (3, 2, 2)

    def test_mpi_is_refused(self):
        for kind in (role_maker.MPIRoleMaker, role_maker.MPISymetricRoleMaker):
            with pytest.raises(NotSupported, match=kind.__name__):
                kind()

    def test_fleet_answers_for_its_role(self):
        fleet = servers.DistributedTranspiler()
        with pytest.raises(ValueError, match=r"call fleet\.init"):
            fleet.worker_num()
        with pytest.raises(TypeError, match="RoleMakerBase"):
            fleet.init("worker")
        fleet.init(role_maker.UserDefinedRoleMaker(1, role_maker.Role.WORKER, 2, ["a:1", "b:1"]))
        assert isinstance(fleet, Fleet)
        assert fleet._mode == Mode.TRANSPILER
        assert (
            fleet.worker_index(),
            fleet.worker_num(),
            fleet.is_worker(),
            fleet.is_first_worker(),
        ) == (
            1,
            2,
            True,
            False,
        )
        assert (fleet.server_num(), fleet.server_endpoints(to_string=True)) == (2, "a:1,b:1")
        assert fleet.split_files(["a", "b", "c"]) == ["c"]


class TestStrategies:
    def test_kinds(self):
        factory = servers.StrategyFactory
        made = [
            factory.create_sync_strategy(),
            factory.create_half_async_strategy(),
            factory.create_geo_strategy(7),
        ]
        assert [s.worker_mode().kind for s in made] == ["sync", "half_async", "geo"]
        assert made[2].worker_mode().k_steps == 7
        for strategy in made:
            assert not strategy.get_program_config().sync_mode
            assert strategy.get_execute_strategy().num_threads == 1

    def test_settings_of_the_queue(self, monkeypatch):
        monkeypatch.setenv("FLAGS_communicator_send_queue_size", "3")
        strategy = servers.StrategyFactory.create_async_strategy()
        strategy.set_trainer_runtime_config({"communicator_max_merge_var_num": 2})
        mode = strategy.worker_mode()
        assert (mode.kind, mode.queue_size, mode.max_merge) == ("async", 3, 2)

    def test_configs_are_changed_by_dicts_or_replaced(self):
        strategy = servers.SyncStrategy()
        strategy.set_program_config({"min_block_size": 81920})
        strategy.set_build_strategy({"fuse_all_optimizer_ops": True})
        strategy.set_execute_strategy(fluid.ExecutionStrategy())
        assert strategy.get_program_config().min_block_size == 81920
        assert strategy.get_build_strategy().fuse_all_optimizer_ops
        for change in (
            "program_config",
            "trainer_runtime_config",
            "server_runtime_config",
            "execute_strategy",
        ):
            with pytest.raises(ValueError, match="doesn't have key: wings"):
                getattr(strategy, f"set_{change}")({"wings": 2})
        with pytest.raises(TypeError, match="a dict of its fields"):
            strategy.set_program_config(3)
        assert strategy.get_debug_opt() == {}
        strategy.set_debug_opt({"dump_fields": ["x"]})
        assert strategy.get_debug_opt()["dump_fields"] == ["x"]
        assert strategy.get_debug_opt()["dump_file_num"] == 16

    def test_flags_that_the_mode_uses(self, monkeypatch):
        monkeypatch.setenv("CPU_NUM", "2")
        strategy = servers.StrategyFactory.create_sync_strategy()
        config = strategy.get_trainer_runtime_config()
        config.runtime_configs["communicator_send_queue_size"] = "50"
        flags = config.get_communicator_flags()
        assert flags["communicator_send_queue_size"] == "2"
        assert "communicator_independent_recv_thread" not in flags
        assert strategy.get_build_strategy().async_mode
        every = servers.AsyncStrategy().get_trainer_runtime_config().get_communicator_flags()
        assert "communicator_independent_recv_thread" in every

    def test_a_config_is_a_strategy_too(self):
        config = fluid.DistributeTranspilerConfig()
        config.min_block_size = 10000
        strategy = servers.strategy_of(config)
        assert isinstance(strategy, servers.SyncStrategy)
        assert strategy.get_program_config().min_block_size == 10000

    def test_what_is_no_strategy(self):
        fleet = servers.DistributedTranspiler()
        with pytest.raises(ValueError, match=r"call fleet\.init"):
            fleet.distributed_optimizer(fluid.optimizer.SGD(0.1))
        fleet.init()
        with pytest.raises(ValueError, match="must be an Optimizer"):
            fleet.distributed_optimizer("sgd")
        with pytest.raises(TypeError, match="DistributeTranspilerConfig"):
            fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), {"sync": True})
        with pytest.raises(TypeError, match="StrategyFactory"):
            fleet.distributed_optimizer(paddle.optimizer.SGD(0.1))
        with pytest.raises(NotSupported, match="StrategyFactory"):
            servers.DistributedStrategy()
        fleet.init(role_maker.UserDefinedRoleMaker(0, role_maker.Role.WORKER, 1, ["a:1"]))
        config = fluid.DistributeTranspilerConfig()
        config.mode = "nccl2"
        with pytest.raises(ValueError, match="mode is 'nccl2', but this job has servers"):
            fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), config).minimize(net()[1])


class TestServersFleet:
    def test_a_script_without_a_job_trains_alone(self, tmp_path):
        fleet = servers.DistributedTranspiler()
        fleet.init(role_maker.PaddleCloudRoleMaker())
        strategy = servers.StrategyFactory.create_async_strategy()
        hidden, loss = net()
        fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        fleet.init_worker()
        exe.run(fleet.startup_program)
        compiled = fluid.CompiledProgram(fleet.main_program).with_data_parallel(
            loss.name, strategy.get_build_strategy(), strategy.get_execute_strategy()
        )
        first, *_, last = steps(exe, compiled, loss)
        assert last < first
        fleet.save_persistables(exe, str(tmp_path / "saved"))
        assert (tmp_path / "saved" / "fc_0.w_0").is_file()
        fleet.save_inference_model(exe, str(tmp_path / "model"), ["x"], [hidden])
        assert (tmp_path / "model" / "__model__").is_file()
        fleet.stop_worker()
        with pytest.raises(TypeError, match="must be an Executor"):
            fleet.save_persistables(None, str(tmp_path))
        with pytest.raises(ValueError, match="servers call it"):
            fleet.run_server()

    def test_calls_before_minimize(self):
        fleet = servers.DistributedTranspiler()
        fleet.init(role_maker.UserDefinedRoleMaker(0, role_maker.Role.WORKER, 1, ["a:1"]))
        with pytest.raises(ValueError, match="minimize"):
            fleet.init_worker()
        fleet.init(role_maker.UserDefinedRoleMaker(0, role_maker.Role.SERVER, 1, ["a:1"]))
        for path in (None, ""):  # no model to begin with
            with pytest.raises(ValueError, match="minimize"):
                fleet.init_server(path)
        with pytest.raises(ValueError, match="workers call it"):
            fleet.stop_worker()

    def test_minimize_gives_servers_their_programs(self):
        fleet = servers.DistributedTranspiler()
        fleet.init(role_maker.UserDefinedRoleMaker(1, role_maker.Role.SERVER, 1, ["a:1", "b:1"]))
        _, loss = net()
        optimizer = fleet.distributed_optimizer(fluid.optimizer.SGD(0.1))
        with pytest.raises(TypeError, match="loss must not be a list"):
            optimizer.minimize([loss])
        _, pairs = optimizer.minimize(loss)
        assert len(pairs) == 4
        assert [o.type for o in fleet.main_program.global_block().ops] == ["listen_and_serv"]
        assert fleet._origin_program.all_parameters()
        with pytest.raises(ValueError, match="no directory"):
            fleet.init_server("/nowhere")

    def test_pslib_is_refused(self):
        with pytest.raises(NotSupported, match=r"pslib\.fleet\.init"):
            pslib.init()


class TestCollectiveFleet:
    def made(self, optimizer, strategy=None):
        fleet = collective.Collective()
        fleet.init(role_maker.PaddleCloudRoleMaker(is_collective=True))
        hidden, loss = net()
        if getattr(strategy, "forward_recompute", False):
            strategy.recompute_checkpoints = [hidden]
        fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fleet.startup_program)
        return fleet, exe, loss

    def test_trains_alone_on_its_places(self, monkeypatch):
        monkeypatch.setenv("CPU_NUM", "2")
        fleet, exe, loss = self.made(fluid.optimizer.SGD(0.1))
        assert isinstance(fleet.main_program, fluid.CompiledProgram)
        feed = {"x": np.ones((4, 2), "float32")}
        assert exe.run(fleet.main_program, feed, [loss])[0].shape == (2,)

    @pytest.mark.parametrize("switch", ["forward_recompute", "use_amp", "use_local_sgd"])
    def test_switches_train_as_without(self, switch):
        strategy = collective.DistributedStrategy()
        setattr(strategy, switch, True)
        fleet, exe, loss = self.made(fluid.optimizer.SGD(0.1), strategy)
        found = steps(exe, fleet.main_program, loss)
        if switch == "use_amp":
            assert "check_finite_and_unscale" in [
                o.type for o in fleet._origin_program.global_block().ops
            ]
        recorder.reset()
        with fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
            fleet, exe, loss = self.made(fluid.optimizer.SGD(0.1))
            expected = steps(exe, fleet.main_program, loss)
        assert expected[2] < expected[0]
        np.testing.assert_allclose(found, expected, rtol=2e-3)  # float16 in between, with amp

    def test_optimizers_that_scripts_have_wrapped(self):
        fleet = collective.Collective()
        fleet.init()
        hidden, loss = net()
        optimizer = fluid.optimizer.RecomputeOptimizer(fluid.optimizer.SGD(0.1))
        optimizer._set_checkpoints([hidden])
        fleet.distributed_optimizer(fluid.contrib.mixed_precision.decorate(optimizer)).minimize(
            loss
        )
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fleet.startup_program)
        losses = steps(exe, fleet.main_program, loss)
        assert losses[2] < losses[0]

    def test_fields_of_the_build_strategy(self):
        strategy = collective.DistributedStrategy()
        strategy.use_hierarchical_allreduce = True
        strategy.hierarchical_allreduce_inter_nranks = 8
        strategy.nccl_comm_num = 2
        strategy.fuse_bn_act_ops = strategy.fuse_elewise_add_act_ops = (
            strategy.fuse_all_reduce_ops
        ) = True
        strategy.exec_strategy = fluid.ExecutionStrategy()
        fleet, exe, loss = self.made(fluid.optimizer.SGD(0.1), strategy)
        assert len(set(steps(exe, fleet.main_program, loss))) == 3

    @pytest.mark.parametrize("fields", [{"mode": "collective"}, {"_ut4grad_allreduce": True}])
    def test_programs_of_mode_collective_run_as_the_strategy_says(self, fields):
        strategy = collective.DistributedStrategy()
        for name, value in {**fields, "sync_batch_norm": True}.items():
            setattr(strategy, name, value)
        fleet, exe, loss = self.made(fluid.optimizer.SGD(0.1), strategy)
        assert fleet.main_program is fluid.default_main_program()
        assert fleet.main_program.attachments.get(PreparedProgram)._build_strategy.sync_batch_norm
        first, *_, last = steps(exe, fleet.main_program, loss)
        assert last < first

    def test_what_strategies_refuse(self):
        strategy = collective.DistributedStrategy()
        assert (strategy.mode, strategy.amp_loss_scaling, strategy.nccl_comm_num) == (
            "nccl2",
            2**15,
            1,
        )
        with pytest.raises(AttributeError, match="use_amp"):
            strategy.use_ampp = True
        with pytest.raises(TypeError, match="ExecutionStrategy"):
            strategy.exec_strategy = {}
        strategy.recompute_checkpoints = "fc_0.tmp_0"
        with pytest.raises(ValueError, match="must be a list"):
            collective.CollectiveOptimizer(fluid.optimizer.SGD(0.1), strategy)
        for field, value, error, message in (
            ("use_dist_fc", True, NotSupported, "use_dist_fc"),
            ("mode", "mpi", ValueError, "'mpi'"),
            ("collective_mode", "grad_allreduce", ValueError, "needs mode 'collective'"),
        ):
            strategy = collective.DistributedStrategy()
            setattr(strategy, field, value)
            with pytest.raises(error, match=message):
                self.made(fluid.optimizer.SGD(0.1), strategy)
        strategy = collective.DistributedStrategy()
        strategy.forward_recompute = True
        with pytest.raises(ValueError, match="is a RecomputeOptimizer already"):
            self.made(fluid.optimizer.RecomputeOptimizer(fluid.optimizer.SGD(0.1)), strategy)
        with pytest.raises(TypeError, match="must be a DistributedStrategy"):
            self.made(fluid.optimizer.SGD(0.1), fluid.BuildStrategy())
        with pytest.raises(TypeError, match="must be an Optimizer"):
            self.made("sgd")

    def test_checkpoints(self, tmp_path):
        fleet, exe, loss = self.made(fluid.optimizer.Momentum(0.1, 0.9))
        path, status = str(tmp_path / "points"), collective.TrainStatus
        assert fleet.load_check_point(exe, path, 0) is None
        with pytest.raises(AssertionError, match="no checkpoint"):
            fleet.load_check_point(exe, path, 0, ignore_empty=False)
        steps(exe, fleet.main_program, loss)
        fleet.save_check_point(exe, path, status(0))
        fleet.save_checkpoint(exe, path, 0, status(1), LocalFS())
        expected = steps(exe, fleet.main_program, loss)
        found = status()
        assert fleet.load_checkpoint(exe, path, 0, found, LocalFS())
        assert (found == status(1), found.next(), found != status(0)) == (True, 2, True)
        assert steps(exe, fleet.main_program, loss) == expected
        names = sorted(p.name for p in (tmp_path / "points").iterdir())
        assert names == [f"__paddle_fleet_checkpoint__.{n}" for n in range(2)]
        assert json.loads((tmp_path / "points" / names[1] / "fleet_train_status").read_text()) == {
            "epoch_no": 1
        }
        fleet.save_check_point(exe, path, status(2), remain_all_checkpoint=False)
        assert [p.name for p in (tmp_path / "points").iterdir()] == [
            "__paddle_fleet_checkpoint__.2"
        ]
        with pytest.raises(ValueError, match="TrainStatus"):
            fleet.save_check_point(exe, path, 3)

    def test_checkpoints_on_another_file_system(self, tmp_path):
        class Remote(LocalFS):
            def need_upload_download(self):
                return True

        fleet, exe, loss = self.made(fluid.optimizer.SGD(0.1))
        path, cache = str(tmp_path / "points"), str(tmp_path / "cache")
        fleet.save_check_point(
            exe, path, collective.TrainStatus(4), fs=Remote(), local_cache_path=cache
        )
        expected = steps(exe, fleet.main_program, loss)
        assert (
            fleet.load_check_point(exe, path, 0, fs=Remote(), local_cache_path=cache)._epoch_no == 4
        )
        assert steps(exe, fleet.main_program, loss) == expected
        assert list((tmp_path / "cache").iterdir()) == []

    def test_files(self, tmp_path):
        fleet, exe, loss = self.made(fluid.optimizer.SGD(0.1))
        fleet.save_persistables(exe, str(tmp_path / "saved"), filename="all")
        assert (tmp_path / "saved" / "all").is_file()
        fleet.save_inference_model(exe, str(tmp_path / "model"), ["x"], loss)
        program, names, targets = fluid.io.load_inference_model(str(tmp_path / "model"), exe)
        assert (names, targets[0].name) == (["x"], "save_infer_model/scale_0.tmp_0")
        assert not any(o.type == "sgd" for o in program.global_block().ops)

    def test_calls_of_servers_say_that_they_do_nothing(self, caplog):
        fleet = collective.Collective()
        fleet.init()
        for call in ("init_worker", "run_worker", "init_server", "run_server", "stop_worker"):
            getattr(fleet, call)()
        assert len(caplog.messages) == 5


def test_hdfs_has_the_arguments_of_1_8(tmp_path):
    command = tmp_path / "home" / "bin" / "hadoop"
    command.parent.mkdir(parents=True)
    command.write_text(
        "#!/bin/sh\nshift\n"
        'case "$1" in -put) cp "$2" "$3" ;; -get) cp "$2" "$3" ;; -test) test "$2" "$3" ;; '
        '-mkdir) mkdir -p "$3" ;; -rm) rm -r "$4" ;; -mv) mv "$2" "$3" ;;\n'
        '-cat) cat "$2" ;; -ls) for n in "$2"/*; do k=-; [ -d "$n" ] && k=d; echo "${k}rw 1 me '
        'us 0 2020-01-01 00:00 $n"; done ;; esac\n'
    )
    command.chmod(0o755)
    client, remote = HDFSClient(str(tmp_path / "home"), {}), str(tmp_path / "remote")
    (tmp_path / "local").write_text("text")
    assert client.makedirs(f"{remote}/inner")
    client.upload(f"{remote}/inner/file", str(tmp_path / "local"))
    assert client.cat(f"{remote}/inner/file") == "text"
    assert client.ls(remote) == [f"{remote}/inner"]
    assert client.lsr(remote) == [f"{remote}/inner/file"]
    assert client.lsr(remote, excludes=["file"]) == [f"{remote}/inner/file"]
    assert client.lsr(remote, excludes=[f"{remote}/inner/file"]) == []
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part").write_text("1")
    assert client.upload_dir(f"{remote}/inner/", f"{tmp_path}/folder/")
    assert client.lsr(f"{remote}/inner/folder") == [f"{remote}/inner/folder/part"]
    assert client.delete(f"{remote}/inner/folder")
    assert client.rename(f"{remote}/inner/file", f"{remote}/other")
    client.download(f"{remote}/other", str(tmp_path / "back"))
    assert (tmp_path / "back").read_text() == "text"
    assert client.delete(f"{remote}/other")
    assert (client.is_exist(f"{remote}/other"), client.is_dir(remote), client.is_file(remote)) == (
        False,
        True,
        False,
    )
    assert client.split_files(["a", "b", "c"], 0, 2) == ["a", "b"]
