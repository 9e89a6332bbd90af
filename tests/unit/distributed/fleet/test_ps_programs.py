"""Programs with parameter servers: what is saved and loaded again, which rows there are, what is
refused.
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow.parquet as parquet
import pytest

import paddle
import paddle.distributed.fleet as fleet
from argosy.foundation.errors import ConfigError, NotSupported, UsageError
from argosy.runtime.ps.worker.worker import _Ahead
from argosy.static.ir.lod import LoDTensor
from paddle.distributed.fleet.utils.ps_util import DistributedInfer


def strategy(a_sync=False, **tables):
    made = fleet.DistributedStrategy()
    made.a_sync = a_sync
    made.sparse_table_configs = {
        name: {f"table_parameters.{name}.accessor.{key}": value for key, value in settings.items()}
        for name, settings in tables.items()
    }
    return made


def lod(ids, lengths):
    made = LoDTensor()
    made.set(np.array(ids).reshape(-1, 1), paddle.CPUPlace())
    made.set_recursive_sequence_lengths([lengths])
    return made


def table(name, kind=paddle.nn.initializer.Uniform):
    return paddle.ParamAttr(
        name=name, initializer=kind(-1.0, 1.0) if kind is paddle.nn.initializer.Uniform else kind
    )


def rows_of(folder, name="emb", columns=("value",)):
    found = parquet.read_table(folder / name).to_pydict()
    return {i: tuple(found[c][k] for c in columns) for k, i in enumerate(found["id"])}


def counted_model():
    """Sequences of ids and pairs of ids in one table that counts shows and clicks; moving averages
    that only the worker has.
    """
    ids = paddle.static.data("ids", [None, 1], "int64", lod_level=1)
    pair = paddle.static.data("pair", [None, 2], "int64")
    show, click = (
        paddle.static.data(n, [None, 1], "int64").astype("float32") for n in ("show", "click")
    )
    entry = paddle.distributed.ShowClickEntry(show.name, click.name)
    found = [
        paddle.static.nn.sparse_embedding(
            v, [10, 2], padding_idx=0, entry=entry, param_attr=table("emb")
        )
        for v in (ids, pair)
    ]
    hidden = paddle.concat(
        [paddle.static.nn.sequence_pool(found[0], "sum"), found[1].reshape([-1, 4])], axis=1
    )
    out = paddle.static.nn.fc(paddle.static.nn.batch_norm(paddle.static.nn.fc(hidden, 3)), 1)
    return out, ((out - 1.0) ** 2).mean()


FEED = {
    "ids": lod([5, 6, 7, 5, 0], [1, 4]),
    "pair": np.array([[5, 8], [9, 0]]),
    "show": np.array([[1], [3]]),
    "click": np.array([[1], [0]]),
}


def test_what_is_saved_is_loaded(job, tmp_path):
    thresholds = {
        "ctr_accessor_param.delete_threshold": 0.35,
        "ctr_accessor_param.delta_threshold": 0.5,
    }
    chosen = strategy(emb=thresholds)
    running = job(2, chosen)
    out, loss = counted_model()
    fleet.distributed_optimizer(paddle.optimizer.Adam(0.1), chosen).minimize(loss)
    main, exe = paddle.static.default_main_program(), paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    running.serve()
    exe.run(main, feed=FEED, fetch_list=[loss])
    test = main.clone(for_test=True)

    def now(program=test, feed=FEED):
        return exe.run(program, feed=feed, fetch_list=[out])[0]

    def seen():
        fleet.save_persistables(exe, str(tmp_path / "seen"))
        return rows_of(tmp_path / "seen", columns=("show", "click"))

    # each id has the shows and clicks of its samples; padding has no row, and runs without updates
    # neither count nor make rows
    first = now()
    now(feed={**FEED, "pair": np.array([[1, 2], [3, 4]])})
    assert seen() == {5: (5.0, 2.0), 6: (3.0, 0.0), 7: (3.0, 0.0), 8: (1.0, 1.0), 9: (3.0, 0.0)}
    fleet.save_persistables(exe, str(tmp_path / "all"), main)
    assert sorted(p.name for p in (tmp_path / "all" / "variables").iterdir()) == [
        "batch_norm_0.w_1",
        "batch_norm_0.w_2",
    ]
    with pytest.warns(UserWarning, match="own format.*'embedding_by_key'"):
        fleet.save_inference_model(exe, str(tmp_path / "model"), ["ids", "pair"], [out])
    fleet.save_one_table(0, str(tmp_path / "one"))
    fleet.save_one_table("dense", str(tmp_path / "one"))
    fleet.save_dense_params(exe, str(tmp_path / "dense.bin"), None, main)
    fleet.save_persistables(exe, str(tmp_path / "base"), mode=2)
    exe.run(main, feed=FEED, fetch_list=[loss])
    fleet.save_persistables(exe, str(tmp_path / "delta"), mode=1)
    assert list(rows_of(tmp_path / "base"))
    assert sorted(rows_of(tmp_path / "delta")) == [5, 8]
    assert np.abs(now() - first).max() > 1e-4

    fleet.load_model(str(tmp_path / "all"))
    np.testing.assert_array_equal(now(), first)
    exe.run(main, feed=FEED, fetch_list=[loss])
    statistics = [
        np.array(paddle.static.global_scope().find_var(f"batch_norm_0.w_{i}").get_tensor())
        for i in (1, 2)
    ]
    fleet.load_inference_model(str(tmp_path / "model"))
    fleet.load_one_table("emb", str(tmp_path / "one"))
    # moving averages are the worker's: tables do not have them
    for i, value in enumerate(statistics, 1):
        np.testing.assert_array_equal(
            paddle.static.global_scope().find_var(f"batch_norm_0.w_{i}").get_tensor(), value
        )
    fleet.load_model(str(tmp_path / "all"))

    with paddle.static.scope_guard(paddle.static.Scope()):
        program, feeds, fetches = paddle.static.load_inference_model(
            str(tmp_path / "model"), exe, model_filename="__model__"
        )
        assert feeds == ["ids", "pair"]
        assert "ps_pull" not in [o.type for o in program.global_block().ops]
        alone = {name: FEED[name] for name in feeds}
        np.testing.assert_array_equal(exe.run(program, feed=alone, fetch_list=fetches)[0], first)
        strange = {**alone, "pair": np.array([[10**12, -7], [1, 0]])}
        expected = exe.run(program, feed=strange, fetch_list=fetches)[0]
    # ids without rows are zeros, here and there
    np.testing.assert_array_equal(now(feed={**FEED, **strange}), expected)

    names = ["fc_0.w_0", "fc_0.b_0"]
    held = {n: np.array(paddle.static.global_scope().find_var(n).get_tensor()) for n in names}
    params = sorted(p.name for p in main.all_parameters() if not p.stop_gradient)
    with paddle.static.scope_guard(paddle.static.Scope()):
        paddle.static.load_vars(exe, str(tmp_path), main, params, filename="dense.bin")
        for name, value in held.items():
            np.testing.assert_array_equal(
                paddle.static.global_scope().find_var(name).get_tensor(), value
            )

    # 6, 7 and 9: three shows without a click are worth 0.3
    fleet.shrink()
    assert sorted(seen()) == [5, 8]
    with pytest.warns(UserWarning, match="threshold is not used"):
        fleet.shrink(3)
    with pytest.raises(UsageError, match="YYYYMMDD"):
        fleet.set_date("emb", "tomorrow")
    # one day passes; what was told is told again
    for day in ("20240131", "20240201", "20240201", "20240131"):
        fleet.set_date(0, day)
    fleet.save_persistables(exe, str(tmp_path / "later"))
    assert {days for (days,) in rows_of(tmp_path / "later", columns=("unseen_days",)).values()} == {
        1.0
    }
    with pytest.raises(UsageError, match=r"no table 'nothing'; there are \{0: 'emb', 1: 'dense'\}"):
        fleet.save_one_table("nothing", str(tmp_path / "one"))
    for call, words in (
        (lambda: fleet.load_model(str(tmp_path / "all"), 1), "mode 1"),
        (lambda: fleet.save_cache_model("x"), "save_cache_model"),
        (lambda: fleet.save_cache_table(0, 1, 2), "save_cache_table"),
    ):
        with pytest.raises(NotSupported, match=words):
            call()


def simple_model(entry=None, is_test=False, **options):
    ids = paddle.static.data("ids", [None, 1], "int64")
    found = paddle.static.nn.sparse_embedding(
        ids,
        [10, 2],
        entry=entry,
        is_test=is_test,
        param_attr=paddle.ParamAttr(name="emb", **options),
    )
    return found, paddle.static.nn.fc(found, 1).mean()


def test_entries_decide_which_ids_get_a_row(job, tmp_path):
    ids = np.arange(400).reshape(-1, 1)
    running = job(1, strategy())
    start = paddle.nn.initializer.Constant(0.5)
    found, loss = simple_model(paddle.distributed.ProbabilityEntry(0.25), initializer=start)
    other = paddle.static.nn.sparse_embedding(
        paddle.static.data("ids", [None, 1], "int64"),
        [10, 2],
        entry=paddle.distributed.CountFilterEntry(2),
        param_attr=paddle.ParamAttr(name="counted", initializer=start),
    )
    fixed = paddle.static.nn.sparse_embedding(
        paddle.static.data("ids", [None, 1], "int64"),
        [10, 2],
        is_test=True,
        param_attr=paddle.ParamAttr(name="fixed", initializer=start),
    )
    loss = loss + other.mean() + fixed.mean()
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
    exe, main = paddle.static.Executor(), paddle.static.default_main_program()
    exe.run(paddle.static.default_startup_program())
    running.serve()
    each = [exe.run(main, feed={"ids": ids}, fetch_list=[found, other, fixed]) for _ in range(3)]
    admitted = each[0][0].any(axis=1)
    assert 60 < admitted.sum() < 140
    for step, (rows, counted, tested) in enumerate(each):
        np.testing.assert_array_equal(rows.any(axis=1), admitted)  # always the same ids
        assert counted.any() == (step > 0)  # the second pull counts two
        assert not tested.any()  # nothing makes rows there
    assert (each[2][1] < 0.5).all()  # and from then on they are trained
    fleet.save_persistables(exe, str(tmp_path / "saved"))
    assert sorted(rows_of(tmp_path / "saved", "emb")) == np.flatnonzero(admitted).tolist()
    assert rows_of(tmp_path / "saved", "fixed") == {}


def test_a_table_has_the_learning_rate_of_its_parameter(job, tmp_path):
    chosen = strategy()
    running = job(1, chosen)
    start = paddle.nn.initializer.Constant(0.5)
    ids = paddle.static.data("ids", [None, 1], "int64")
    found = [
        paddle.static.nn.sparse_embedding(
            ids, [10, 2], param_attr=paddle.ParamAttr(name, start, learning_rate=rate)
        )
        for name, rate in (("slow", 1.0), ("fast", 3.0))
    ]
    loss = sum(each.sum() for each in found)
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), chosen).minimize(loss)
    exe, main = paddle.static.Executor(), paddle.static.default_main_program()
    assert main.global_block().ops[-1].type == "send_barrier"
    exe.run(paddle.static.default_startup_program())
    running.serve()
    exe.run(main, feed={"ids": [[1]]})
    with pytest.warns(UserWarning, match="own format.*'embedding_by_key'"):
        fleet.save_inference_model(exe, str(tmp_path / "model"), ["ids"], found[0])
    for name, expected in (("slow", 0.4), ("fast", 0.2)):
        [(value,)] = rows_of(tmp_path / "model" / "tables", name).values()
        np.testing.assert_allclose(value, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("clip", "rows", "dense"),
    [
        (paddle.nn.ClipGradByGlobalNorm(1.0), 18**0.5, 18**0.5),
        (paddle.nn.ClipGradByNorm(1.0), 10**0.5, 8**0.5),
    ],
    ids=["global", "each"],
)
def test_a_worker_clips_by_the_norm_of_dense_parameters_and_rows(job, clip, rows, dense):
    chosen = strategy()
    running = job(1, chosen)
    start = paddle.nn.initializer.Constant(0.5)
    ids = paddle.static.data("ids", [None, 1], "int64")
    found = paddle.static.nn.sparse_embedding(
        ids, [10, 2], param_attr=paddle.ParamAttr("emb", start)
    )
    w = paddle.static.create_parameter([2], "float32", default_initializer=start)
    loss = found.sum() + 2.0 * w.sum()
    optimizer = paddle.optimizer.SGD(1.0, grad_clip=clip)
    fleet.distributed_optimizer(optimizer, chosen).minimize(loss)
    assert optimizer.clip is clip  # the script's own object stays as it is
    exe, main = paddle.static.Executor(), paddle.static.default_main_program()
    exe.run(paddle.static.default_startup_program())
    running.serve()
    feed = {"ids": [[1], [1], [2]]}
    exe.run(main, feed=feed)
    values, held = exe.run(main, feed=feed, fetch_list=[found, w])
    np.testing.assert_allclose(values[0], 0.5 - 2.0 / rows, rtol=1e-5)
    np.testing.assert_allclose(values[2], 0.5 - 1.0 / rows, rtol=1e-5)
    np.testing.assert_allclose(held, 0.5 - 2 * 2.0 / dense, rtol=1e-5)  # after the second step


@pytest.mark.parametrize(
    ("kind", "rows", "steps"), [("SGD", 10, 800), ("SGD", 10**12, 0), ("Adam", 10, 0)]
)
def test_auto_trains_in_the_workers_where_the_model_fits(job, kind, rows, steps):
    made = fleet.DistributedStrategy()
    made.auto = True
    job(1, made)
    ids = paddle.static.data("ids", [None, 1], "int64")
    start = paddle.nn.initializer.Constant(0.5)
    found = paddle.static.nn.embedding(ids, [rows, 2], is_sparse=True, param_attr=start)
    optimizer = fleet.distributed_optimizer(getattr(paddle.optimizer, kind)(0.1), made)
    optimizer.minimize(found.mean())
    final = fleet._final_strategy()
    assert final.a_sync
    assert final.a_sync_configs["k_steps"] == steps
    last = paddle.static.default_main_program().global_block().ops[-1].type
    assert last == ("send" if steps else "send_barrier")


def test_a_program_knows_its_place_and_what_to_dump(job):
    made = strategy()
    made.trainer_desc_configs = {"dump_fields": ["x", "y"], "dump_fields_path": "folder"}
    job(1, made)
    _, loss = simple_model(initializer=paddle.nn.initializer.Constant(0.5))
    optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), made)
    with pytest.raises(NotSupported, match="one loss, but received 2"):
        optimizer.minimize([loss, loss])
    optimizer.minimize([loss])
    options = paddle.static.default_main_program()._fleet_opt
    assert options["dump_fields"] == ["x", "y"]
    assert options["dump_fields_path"] == "folder"
    assert (options["mpi_size"], options["mpi_rank"]) == (1, 0)


def test_the_program_of_a_server_serves(job):
    role = fleet.UserDefinedRoleMaker(
        current_id=0,
        role=fleet.Role.SERVER,
        worker_num=1,
        server_endpoints=["127.0.0.1:1"],
    )
    fleet.init(role)
    _, loss = simple_model(initializer=paddle.nn.initializer.Constant(0.5))
    fleet.distributed_optimizer(paddle.optimizer.Adam(0.1), strategy()).minimize(loss)
    main = paddle.static.default_main_program()
    assert [o.type for o in main.global_block().ops] == ["listen_and_serv"]
    assert "listen_and_serv" in str(main)
    fleet.init_server("")  # as scripts do that have no model to begin with
    fleet.fleet.servers.runtime.close()


def test_inference_reads_rows_and_makes_none(job, tmp_path):
    chosen = strategy()
    running = job(1, chosen)
    found, loss = simple_model(initializer=paddle.nn.initializer.Constant(0.5))
    before = DistributedInfer()
    fleet.distributed_optimizer(paddle.optimizer.Adam(0.1), chosen).minimize(loss)
    exe, main = paddle.static.Executor(), paddle.static.default_main_program()
    exe.run(paddle.static.default_startup_program())
    running.serve()
    exe.run(main, feed={"ids": [[1], [2]]}, fetch_list=[loss])
    before.init_distributed_infer_env(exe, loss)  # the job is there already
    results = []
    for infer in (before, DistributedInfer()):
        program = infer.get_dist_infer_program()
        results.append(exe.run(program, feed={"ids": [[1], [3]]}, fetch_list=[found])[0])
        assert not {"send", "send_barrier"} & {o.type for o in program.global_block().ops}
    np.testing.assert_array_equal(results[0], results[1])
    assert results[0][0].all()
    assert not results[0][1].any()
    fleet.save_persistables(exe, str(tmp_path / "saved"))
    assert sorted(rows_of(tmp_path / "saved")) == [1, 2]
    # a program from before minimize becomes the same model
    with pytest.warns(UserWarning, match="own format.*'embedding_by_key'"):
        fleet.save_inference_model(
            exe, str(tmp_path / "model"), ["ids"], [found.name], before.origin_main_program
        )
    for folder in ("model", "model/dnn_plugin"):  # Paddle's before 2.3, and since
        with paddle.static.scope_guard(paddle.static.Scope()):
            program, _, fetches = paddle.static.load_inference_model(
                str(tmp_path / folder), exe, model_filename="__model__"
            )
            alone = exe.run(program, feed={"ids": [[1], [3]]}, fetch_list=fetches)[0]
        np.testing.assert_array_equal(alone, results[0])
    with pytest.raises(UsageError, match=r"fleet\.load_model"):
        before.init_distributed_infer_env(exe, loss, dirname=str(tmp_path / "saved"))
    dense = np.array(paddle.static.global_scope().find_var("fc_0.w_0").get_tensor())
    running.stop()

    # another job, of servers that load what was saved, whatever optimizer it was trained with
    again = job(1, strategy(a_sync=True))
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with (
        paddle.static.program_guard(main, startup),
        paddle.static.scope_guard(scope),
        paddle.utils.unique_name.guard(),
    ):
        found, loss = simple_model(initializer=paddle.nn.initializer.Constant(9.0))
        infer = DistributedInfer()
        again.serve_when_known(str(tmp_path / "saved"))
        infer.init_distributed_infer_env(exe, loss, again.role, str(tmp_path / "saved"))
        values = exe.run(
            infer.get_dist_infer_program(), feed={"ids": [[1], [3]]}, fetch_list=[found]
        )[0]
        np.testing.assert_array_equal(values, results[0])
        np.testing.assert_array_equal(scope.find_var("fc_0.w_0").get_tensor(), dense)
        again.stop()


def test_settings_of_tables_decide_the_rule(job):
    rule = {"name": "SparseNaiveSGDRule", "naive.learning_rate": 0.5, "naive.initial_range": 0.0}
    bounds = {"naive.weight_bounds": [-0.2, 0.2]}
    settings = {
        f"{part}_sgd_param.{k}": v
        for part in ("embed", "embedx")
        for k, v in {**rule, **bounds}.items()
    }
    chosen = strategy(emb=settings)
    running = job(1, chosen)
    ids = paddle.static.data("ids", [None, 1], "int64")
    found = paddle.static.nn.sparse_embedding(ids, [10, 2], param_attr=paddle.ParamAttr(name="emb"))
    fleet.distributed_optimizer(paddle.optimizer.Adam(0.001), chosen).minimize((found * 0.2).sum())
    exe, main = paddle.static.Executor(), paddle.static.default_main_program()
    exe.run(paddle.static.default_startup_program())
    running.serve()
    seen = [exe.run(main, feed={"ids": [[4]]}, fetch_list=[found])[0].tolist() for _ in range(4)]
    # 0.5 * 0.2 per step, whatever the script's optimizer does, down to the bound
    np.testing.assert_allclose(
        seen, [[[0.0, 0.0]], [[-0.1, -0.1]], [[-0.2, -0.2]], [[-0.2, -0.2]]], atol=1e-6
    )


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"accessor_class": "CtrCommonAccessor"}, NotSupported, "CtrCommonAccessor"),
        ({"embedx_threshold": 3}, NotSupported, "embedx_threshold"),
        ({"embedx_dim": 7}, ConfigError, "embedx_dim is 7, but must be 1"),
        ({"embed_sgd_param.name": "SparseNaiveSGDRule"}, NotSupported, "must name one rule"),
        (
            {
                "embed_sgd_param.name": "SparseAdaGradSGDRule",
                "embedx_sgd_param.name": "SparseAdaGradSGDRule",
                "ctr_accessor_param.show_scale": False,
            },
            NotSupported,
            "show_scale=False",
        ),
    ],
)
def test_settings_of_tables_that_cannot_be_followed(job, settings, error, words):
    chosen = strategy(emb=settings)
    job(1, chosen)
    _, loss = simple_model()
    with pytest.raises(error, match=words):
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), chosen).minimize(loss)


def test_what_a_program_cannot_ask_for(job):
    chosen = strategy(a_sync=True, other={"accessor_class": "SparseAccessor"})
    job(1, chosen)
    _, loss = simple_model(paddle.distributed.ShowClickEntry("show", "click"))
    with pytest.raises(ConfigError, match="there is no table 'other'; the model has \\['emb'\\]"):
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), chosen).minimize(loss)
    geo = strategy(a_sync=True)
    geo.a_sync_configs = {"k_steps": 4}
    with pytest.raises(NotSupported, match="ShowClickEntry in geo mode"):
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), geo).minimize(loss)


def test_an_entry_of_variables_that_the_program_does_not_have_is_not_used(job):
    job(1, strategy())
    _, loss = simple_model(paddle.distributed.ShowClickEntry("show", "click"))
    with pytest.warns(UserWarning, match="'show', which the program does not have; it is not used"):
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy()).minimize(loss)
    assert "ps_count" not in [op.type for op in loss.block.ops]


def test_what_is_pushed_before_a_load_does_not_arrive_after_it(job, tmp_path, monkeypatch):
    running = job(1, strategy(a_sync=True))
    _, loss = simple_model()
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy(a_sync=True)).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    running.serve()
    exe.run(feed={"ids": np.array([[1]])}, fetch_list=[loss])
    fleet.save_persistables(exe, str(tmp_path / "saved"))
    worker, order = fleet.fleet.servers.runtime.worker, []

    def noting(owner, name):
        call = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args: (order.append(name), call(*args))[1])

    noting(worker, "flush")
    noting(worker.client, "load")
    exe.run(feed={"ids": np.array([[1]])}, fetch_list=[loss])
    fleet.load_model(str(tmp_path / "saved"))
    assert order == ["flush", "load"]


@pytest.mark.parametrize("way", ["strategy", "variable"])
def test_without_a_launch_barrier_the_first_step_waits_for_servers(job, monkeypatch, way):
    chosen = strategy()
    if way == "strategy":
        chosen.a_sync_configs = {"launch_barrier": False}
    else:
        monkeypatch.setenv("FLAGS_LAUNCH_BARRIER", "0")
    running = job(1, chosen)
    _, loss = simple_model()
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), chosen).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()  # no server runs yet
    assert not fleet.fleet.servers.runtime.is_connected
    running.serve()
    exe.run(feed={"ids": np.array([[1]])}, fetch_list=[loss])
    assert fleet.fleet.servers.runtime.is_connected


def test_without_a_launch_barrier_a_worker_leaves_servers_that_never_came(job):
    chosen = strategy()
    chosen.a_sync_configs = {"launch_barrier": False}
    job(1, chosen)
    _, loss = simple_model()
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), chosen).minimize(loss)
    paddle.static.Executor().run(paddle.static.default_startup_program())
    fleet.init_worker()
    fleet.stop_worker()
    assert not fleet.fleet.servers.runtime.is_connected


def test_modes_and_switches_that_contradict_each_other(job):
    job(1, strategy())
    optimizer = paddle.optimizer.SGD(0.1)

    def use(**configs):
        chosen = strategy(configs.pop("a_sync", True))
        for name, value in configs.items():
            setattr(chosen, name, value)
        fleet.distributed_optimizer(optimizer, chosen)
        return fleet.fleet.servers.runtime

    assert use(a_sync_configs={"half_async": True}).mode.kind == "half_async"
    assert use().mode.kind == "async"
    assert use(a_sync=False).mode.kind == "sync"
    assert use(a_sync_configs={"max_staleness": 3})._bound == 3
    assert use()._bound is None
    os.environ["ARGOSY_PS_STALENESS"] = "5"
    try:
        # who starts the job has the last word
        assert use(a_sync_configs={"max_staleness": 3})._bound == 5
    finally:
        del os.environ["ARGOSY_PS_STALENESS"]
    with pytest.raises(UsageError, match="half_async"):
        use(a_sync_configs={"half_async": True, "k_steps": 2})
    with pytest.raises(UsageError, match="geo mode, but a_sync is False"):
        use(a_sync=False, a_sync_configs={"k_steps": 2})
    with pytest.raises(AssertionError, match="halfasync"):
        use(a_sync_configs={"halfasync": True})
    for switch in ("amp", "gradient_merge", "lamb", "sharding"):
        with pytest.raises(NotSupported, match=rf"DistributedStrategy\.{switch} "):
            use(**{switch: True})


def test_rows_of_the_next_batch_are_fetched_ahead(job, tmp_path, monkeypatch):
    """In async, where the ids are fed; what comes of it is what a pull would have brought one step
    earlier.
    """
    running = job(1, strategy(a_sync=True))
    ids = paddle.static.data("ids", [None, 1], "int64", lod_level=1)
    pair = paddle.static.data("pair", [None, 2], "int64")
    shared = [
        paddle.static.nn.sparse_embedding(v, [10, 2], param_attr=table("emb")) for v in (ids, pair)
    ]
    own = paddle.static.nn.sparse_embedding(pair + 1, [10, 2], param_attr=table("computed"))
    pooled = paddle.static.nn.sequence_pool(shared[0], "sum")
    loss = (pooled.sum() + shared[1].sum() + own.sum()) ** 2
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.01)).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    running.serve()
    taken = []
    take = _Ahead.take

    def noted(self, table, wanted):
        found = take(self, table, wanted)
        taken.append((table, found is not None))
        return found

    monkeypatch.setattr(_Ahead, "take", noted)
    (tmp_path / "data").write_text("".join(f"1 {i + 1} 2 {i + 2} {i + 3}\n" for i in range(4)))
    dataset = paddle.distributed.QueueDataset()
    dataset.init(batch_size=1, use_var=[ids, pair])
    dataset.set_filelist([str(tmp_path / "data")])
    exe.train_from_dataset(paddle.static.default_main_program(), dataset)
    assert [hit for name, hit in taken if name == "emb"] == [False, True, True, True]
    assert [hit for name, hit in taken if name == "computed"] == [False] * 4


@pytest.mark.parametrize("k_steps", [0, 2])
def test_a_startup_program_that_is_run_again_leaves_what_the_servers_have(job, k_steps):
    """In the same scope and in one of its own; in geo nothing of it reaches the servers."""
    chosen = strategy(a_sync=k_steps > 0)
    if k_steps:
        chosen.a_sync_configs = {"k_steps": k_steps}
    running = job(2, chosen)
    _, loss = simple_model()
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), chosen).minimize(loss)
    exe, main = paddle.static.Executor(), paddle.static.default_main_program()
    startup = paddle.static.default_startup_program()

    def weight():
        return np.array(paddle.static.global_scope().find_var("fc_0.w_0").get_tensor())

    exe.run(startup)
    first = weight()
    exe.run(startup)
    assert (weight() != first).any()  # nobody has joined yet
    running.serve()
    for _ in range(2):
        exe.run(main, feed={"ids": [[1], [2]]}, fetch_list=[loss])
    trained = weight()
    exe.run(startup)
    np.testing.assert_array_equal(weight(), trained)
    with paddle.static.scope_guard(paddle.static.Scope()):
        exe.run(startup)
        np.testing.assert_array_equal(weight(), trained)
        for _ in range(2):
            exe.run(main, feed={"ids": [[1], [2]]}, fetch_list=[loss])
        assert (weight() != trained).any()
        np.testing.assert_allclose(
            weight(), fleet.fleet.servers.runtime.served()["fc_0.w_0"], atol=1e-6
        )


def test_a_table_with_the_name_of_the_dense_one(job):
    job(1, strategy())
    ids = paddle.static.data("ids", [None, 1], "int64")
    found = paddle.static.nn.sparse_embedding(
        ids, [10, 2], param_attr=paddle.ParamAttr(name="dense")
    )
    with pytest.raises(ConfigError, match="cannot be named 'dense'"):
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(found.mean())
