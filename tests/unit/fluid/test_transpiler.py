"""``fluid.DistributeTranspiler`` in one process: the programs that it makes, and what it refuses.
Jobs are in ``multiprocess/test_fluid_ps.py``.
"""

import numpy as np
import pytest

import paddle.fluid as fluid
from argosy.foundation.errors import NotSupported
from argosy.static.run import executor
from paddle.fluid.communicator import Communicator
from paddle.fluid.transpiler.geo_sgd_transpiler import GeoSgdTranspiler

SERVERS = "127.0.0.1:6174,127.0.0.1:6175"


@pytest.fixture(autouse=True)
def no_farewells(static_mode):
    """Trainers that the tests make and never run leave no servers."""
    yield
    executor.farewells.clear()


def net(**attributes):
    ids = fluid.layers.data("ids", [1], dtype="int64")
    table = fluid.ParamAttr(name="table", **attributes)
    rows = fluid.layers.embedding(ids, [10, 4], is_sparse=True, param_attr=table)
    return fluid.layers.mean(fluid.layers.fc(rows, 2))


def transpiled(optimizer=None, config=None, **options):
    loss = net()
    (optimizer or fluid.optimizer.Adam(0.1)).minimize(loss)
    transpiler = fluid.DistributeTranspiler(config)
    transpiler.transpile(0, pservers=SERVERS, **{"trainers": 2, **options})
    return transpiler, loss


def types(program):
    return [operator.type for operator in program.global_block().ops]


class TestPrograms:
    def test_the_given_program_becomes_that_of_a_trainer(self):
        transpiler, loss = transpiled()
        program = transpiler.get_trainer_program()
        assert program is fluid.default_main_program()
        assert "adam" not in types(program)
        assert types(program).count("ps_pull") == 1
        assert types(program)[-2:] == ["backward", "send_barrier"]
        assert program._is_distributed
        assert program.clone(for_test=True)._is_distributed
        assert loss.name in program.global_block().vars

    def test_trainers_fill_neither_tables_nor_the_state_of_the_optimizer(self):
        transpiled()
        filled = fluid.default_startup_program().global_block().vars
        assert sorted(filled) == ["fc_0.b_0", "fc_0.w_0", "learning_rate_0"]
        kept = [v.name for v in fluid.default_main_program().list_vars() if v.persistable]
        assert sorted(kept) == ["fc_0.b_0", "fc_0.w_0", "learning_rate_0"]

    def test_distributed_lookups_are_pulls_and_others_are_not(self):
        ids = fluid.layers.data("ids", [1], dtype="int64")
        far = fluid.layers.embedding(ids, [10, 4], is_distributed=True, param_attr="far")
        near = fluid.layers.embedding(ids, [10, 4], param_attr="near")
        fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(fluid.layers.fc(far + near, 2)))
        transpiler = fluid.DistributeTranspiler()
        transpiler.transpile(0, pservers=SERVERS)
        model = transpiler._job.trainer.model
        assert [spec.name for spec in model.sparse] == ["far"]
        assert model.shapes["near"] == (10, 4)

    def test_a_copy_can_be_transpiled(self):
        fluid.optimizer.Adam(0.1).minimize(net())
        copy = fluid.default_main_program().clone()
        fluid.DistributeTranspiler().transpile(0, copy, SERVERS)
        assert types(copy)[-1] == "send_barrier"
        assert "adam" in types(fluid.default_main_program())

    def test_geo_trains_dense_parameters_in_the_trainer(self):
        config = fluid.DistributeTranspilerConfig()
        config.sync_mode, config.geo_sgd_mode = False, True
        transpiler, _ = transpiled(fluid.optimizer.SGD(0.1), config)
        assert "sgd" in types(transpiler.get_trainer_program())

    def test_what_follows_the_update_follows_the_push(self):
        x = fluid.layers.data("x", [2])
        loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        fluid.optimizer.SGD(0.1).minimize(loss)
        fluid.optimizer.ExponentialMovingAverage(0.9).update()
        double = fluid.layers.scale(loss, 2.0)
        fluid.DistributeTranspiler().transpile(0, pservers=SERVERS)
        found = types(fluid.default_main_program())
        assert found.index("send_barrier") < found.index("moving_average_")
        assert double.name in fluid.default_main_program().global_block().vars

    def test_servers_have_one_operator(self):
        transpiler, _ = transpiled()
        first = SERVERS.split(",")[0]
        main, startup = transpiler.get_pserver_programs(first)
        assert (types(main), types(startup)) == (["listen_and_serv"], ["ps_tables"])
        assert "listen_and_serv(server=server 0)" in str(main)
        assert transpiler.get_startup_program(first, main) is startup
        assert transpiler.get_startup_program(first) is startup
        assert transpiler.get_pserver_program(first) is main
        with pytest.raises(
            ValueError, match=r"not the one that get_pserver_program gives for '127\.0\.0\.1:6175'"
        ):
            transpiler.get_startup_program(SERVERS.split(",")[1], main)
        with pytest.raises(ValueError, match=r"no server at 'here:1'.*127\.0\.0\.1:6174"):
            transpiler.get_pserver_program("here:1")

    def test_closing_any_executor_leaves_the_servers_once(self, monkeypatch):
        transpiler, _ = transpiled()
        left = []
        monkeypatch.setattr(transpiler._job, "leave", lambda: left.append(1))
        transpiler.get_trainer_program()
        transpiler.get_trainer_program()
        with fluid.Executor(fluid.CPUPlace()):
            assert left == []
        fluid.Executor(fluid.CPUPlace()).close()
        assert left == [1]

    def test_the_clip_of_the_script_goes_to_the_servers(self):
        loss = net()
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(0.5))
        sgd = fluid.optimizer.SGD(0.1)
        sgd.minimize(loss)
        transpiler = fluid.DistributeTranspiler()
        transpiler.transpile(0, pservers=SERVERS)
        model = transpiler._job.trainer.model
        assert model.optimizer._grad_clip.max == 0.5
        assert model.sparse[0].rule.clip == (-0.5, 0.5)
        assert sgd._grad_clip is None

    def test_attributes_of_a_table(self):
        sgd = fluid.optimizer.SGD(0.1, regularization=fluid.regularizer.L2Decay(0.5))
        sgd.minimize(net(regularizer=fluid.regularizer.L2Decay(0.25)))
        transpiler = fluid.DistributeTranspiler()
        transpiler.transpile(0, pservers=SERVERS)
        assert transpiler._job.trainer.model.sparse[0].rule.weight_decay == 0.25

    def test_a_table_begins_with_what_it_was_given(self):
        values = np.arange(40, dtype="float32").reshape(10, 4)
        fluid.optimizer.SGD(0.1).minimize(
            net(initializer=fluid.initializer.NumpyArrayInitializer(values))
        )
        transpiler = fluid.DistributeTranspiler()
        transpiler.transpile(0, pservers=SERVERS)
        ids, rows = transpiler._job.trainer.model.rows["table"]
        assert (ids.tolist(), rows.tolist()) == (list(range(10)), values.tolist())


@pytest.mark.parametrize(
    ("settings", "sync_mode", "kind"),
    [
        ({}, True, "sync"),
        ({}, False, "half_async"),
        ({"sync_mode": False}, True, "half_async"),
        ({"sync_mode": False, "runtime_split_send_recv": True}, True, "async"),
        (
            {"sync_mode": False, "runtime_split_send_recv": True, "half_async": True},
            False,
            "half_async",
        ),
        (
            {"sync_mode": False, "runtime_split_send_recv": True, "completely_not_async": True},
            False,
            "sync",
        ),
        ({"sync_mode": False, "geo_sgd_mode": True}, True, "geo"),
    ],
)
def test_how_trainers_keep_in_step(settings, sync_mode, kind):
    config = fluid.DistributeTranspilerConfig()
    for name, value in settings.items():
        setattr(config, name, value)
    transpiler, _ = transpiled(fluid.optimizer.SGD(0.1), config, sync_mode=sync_mode)
    assert transpiler._job.mode.kind == kind


def test_the_geo_transpiler_needs_no_setting():
    config = fluid.DistributeTranspilerConfig()
    config.geo_sgd_need_push_nums = 7
    fluid.optimizer.SGD(0.1).minimize(net())
    transpiler = GeoSgdTranspiler(config)
    transpiler.transpile(0, pservers=SERVERS)
    assert (transpiler._job.mode.kind, transpiler._job.mode.k_steps) == ("geo", 7)


class TestConfig:
    def test_has_the_defaults_of_paddle(self):
        config = fluid.DistributeTranspilerConfig()
        assert (config.slice_var_up, config.split_method, config.min_block_size, config.mode) == (
            True,
            None,
            8192,
            "pserver",
        )
        assert (
            config.sync_mode,
            config.runtime_split_send_recv,
            config.geo_sgd_need_push_nums,
        ) == (True, False, 100)
        assert "sync_mode=True" in repr(config)

    def test_modes_exclude_each_other(self):
        config = fluid.DistributeTranspilerConfig()
        with pytest.raises(ValueError, match="set sync_mode to False before"):
            config.runtime_split_send_recv = True
        config.sync_mode = False
        config.runtime_split_send_recv = True
        with pytest.raises(ValueError, match="set runtime_split_send_recv to False before"):
            config.sync_mode = True
        with pytest.raises(ValueError, match="can't be None"):
            config.sync_mode = None

    def test_unknown_fields_are_errors(self):
        with pytest.raises(AttributeError, match=r"no field 'sliced_var_up'.*slice_var_up"):
            fluid.DistributeTranspilerConfig().sliced_var_up = True

    @pytest.mark.parametrize(
        ("settings", "error", "message"),
        [
            ({"enable_dc_asgd": True}, NotSupported, "enable_dc_asgd"),
            ({"mode": "mpi"}, ValueError, "'mpi'"),
            ({"min_block_size": 10}, ValueError, "at least 8192"),
            ({"split_method": "RoundRobin"}, ValueError, "RoundRobin or HashName"),
        ],
    )
    def test_what_would_change_results_is_refused(self, settings, error, message):
        config = fluid.DistributeTranspilerConfig()
        for name, value in settings.items():
            setattr(config, name, value)
        with pytest.raises(error, match=message):
            fluid.DistributeTranspiler(config)

    def test_geo_is_not_synchronous(self):
        config = fluid.DistributeTranspilerConfig()
        config.geo_sgd_mode = True
        with pytest.raises(ValueError, match="geo_sgd_mode and sync_mode"):
            transpiled(config=config)

    def test_collective_modes(self):
        config = fluid.DistributeTranspilerConfig()
        config.mode, config.collective_mode = "collective", "local_sgd"
        transpiler = fluid.DistributeTranspiler(config)
        with pytest.raises(NotSupported, match="'local_sgd'"):
            transpiler.transpile(0, trainers="127.0.0.1:1", current_endpoint="127.0.0.1:1")
        with pytest.raises(ValueError, match="current_endpoint is 'b:1'"):
            transpiler.transpile(0, trainers="a:1,b:1", current_endpoint="b:1")
        with pytest.raises(ValueError, match="call transpile"):
            transpiler.get_trainer_program()


class TestRefused:
    def test_a_program_without_an_optimizer(self):
        net()
        with pytest.raises(ValueError, match=r"call optimizer\.minimize"):
            fluid.DistributeTranspiler().transpile(0, pservers=SERVERS)

    def test_a_second_time(self):
        transpiled()
        with pytest.raises(ValueError, match="already"):
            fluid.DistributeTranspiler().transpile(0, pservers=SERVERS)

    def test_two_optimizers(self):
        loss = net()
        fluid.optimizer.SGD(0.1).minimize(loss)
        fluid.optimizer.SGD(0.2).minimize(fluid.layers.scale(loss, 2.0))
        with pytest.raises(NotSupported, match="2 optimizers"):
            fluid.DistributeTranspiler().transpile(0, pservers=SERVERS)

    def test_gradients_that_the_script_uses(self):
        loss = net()
        _, pairs = fluid.optimizer.SGD(0.1).minimize(loss)
        name = next(grad.name for param, grad in pairs if param.name == "fc_0.w_0")
        fluid.layers.scale(fluid.default_main_program().global_block().var(name), 2.0)
        with pytest.raises(NotSupported, match=r"operator scale uses 'fc_0\.w_0@GRAD'"):
            fluid.DistributeTranspiler().transpile(0, pservers=SERVERS)

    def test_different_limits(self):
        loss = net()
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(0.5), ["fc_0.w_0"])
        fluid.optimizer.SGD(0.1).minimize(loss)
        with pytest.raises(NotSupported, match="different limits"):
            fluid.DistributeTranspiler().transpile(0, pservers=SERVERS)

    def test_mixed_precision(self):
        with pytest.raises(NotSupported, match="operator check_finite_and_unscale uses"):
            transpiled(fluid.contrib.mixed_precision.decorate(fluid.optimizer.SGD(0.1)))

    def test_recomputation(self):
        x = fluid.layers.data("x", [2])
        hidden = fluid.layers.fc(x, 2)
        optimizer = fluid.optimizer.RecomputeOptimizer(fluid.optimizer.SGD(0.1))
        optimizer._set_checkpoints([hidden])
        optimizer.minimize(fluid.layers.mean(fluid.layers.fc(hidden, 1)))
        with pytest.raises(NotSupported, match="computes activations again"):
            fluid.DistributeTranspiler().transpile(0, pservers=SERVERS)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"trainers": "2"}, "trainers must be the number"),
            ({"trainers": 0}, "trainers must be the number"),
            ({"pservers": "127.0.0.1"}, "ip:port"),
            ({"pservers": "a:1,a:1"}, "different endpoints"),
        ],
    )
    def test_a_job_that_cannot_be_described_is_refused(self, options, message):
        fluid.optimizer.SGD(0.1).minimize(net())
        with pytest.raises(ValueError, match=message):
            fluid.DistributeTranspiler().transpile(0, **{"pservers": SERVERS, **options})

    def test_several_places(self):
        transpiler, loss = transpiled()
        program = fluid.CompiledProgram(transpiler.get_trainer_program())
        program.with_data_parallel(loss.name, places=fluid.cpu_places(2))
        feed = {"ids": np.zeros((2, 1), "int64")}
        with pytest.raises(NotSupported, match="runs on one place, but 2 were given"):
            fluid.Executor(fluid.CPUPlace()).run(program, feed, [loss])

    def test_files_of_the_other_role(self, tmp_path):
        transpiler, loss = transpiled()
        exe, folder = fluid.Executor(fluid.CPUPlace()), str(tmp_path)
        trainer, server = (
            transpiler.get_trainer_program(),
            transpiler.get_pserver_program("127.0.0.1:6174"),
        )
        for load in (fluid.io.load_persistables, fluid.io.load_params):
            with pytest.raises(ValueError, match="servers load tables"):
                load(exe, folder, trainer)
        for save in (fluid.io.save_persistables, fluid.io.save_params):
            with pytest.raises(ValueError, match="trainers save"):
                save(exe, folder, server)
        with pytest.raises(NotSupported, match="one per variable"):
            fluid.io.save_persistables(exe, folder, trainer, filename="all")
        with pytest.raises(NotSupported, match="model_filename"):
            fluid.io.save_inference_model(
                folder, ["ids"], [loss], exe, trainer, model_filename="model"
            )


def test_dispatchers():
    robin = fluid.transpiler.RoundRobin(["a:1", "b:1"])
    assert robin.dispatch("xyz") == ["a:1", "b:1", "a:1"]
    assert robin.dispatch("x") == ["b:1"]
    robin.reset()
    assert robin.dispatch("x") == robin.eps[:1]
    variables = [fluid.layers.data(name, [1]) for name in "pq"]
    hashed = fluid.transpiler.HashName([f"{letter}:1" for letter in "abcde"])
    assert hashed.dispatch(variables) == ["c:1", "d:1"]  # the same in every process
    with pytest.raises(NotSupported, match="PSDispatcher does not say how"):
        fluid.transpiler.ps_dispatcher.PSDispatcher(["a:1"]).dispatch(variables)
    from paddle.incubate.distributed.fleet.parameter_server.ir import ps_dispatcher  # of 2.x

    assert ps_dispatcher.RoundRobin is fluid.transpiler.RoundRobin


def test_modes_are_found_at_the_communicator_too():
    from paddle.fluid.communicator import DistributedMode

    assert DistributedMode is fluid.transpiler.distribute_transpiler.DistributedMode


def test_memory_passes_say_that_they_do_nothing(caplog):
    fluid.memory_optimize(fluid.default_main_program())
    fluid.transpiler.release_memory(fluid.default_main_program())
    assert ["memory_optimize" in m or "release_memory" in m for m in caplog.messages] == [
        True,
        True,
    ]


def test_a_communicator_without_a_filled_program_has_nothing_to_send():
    """Neither start nor stop waits for servers that were never started."""
    x = fluid.layers.data("x", [2])
    loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    fluid.optimizer.SGD(0.1).minimize(loss)
    transpiler = fluid.DistributeTranspiler()
    transpiler.transpile(0, pservers="127.0.0.1:1,127.0.0.1:2", trainers=2)
    talk = Communicator(transpiler.get_trainer_program())
    assert not talk.is_running()
    talk.start()
    assert talk.is_running()
    talk.stop()
    assert not talk.is_running()
    with pytest.raises(AssertionError, match="must be a Program"):
        Communicator("program")
