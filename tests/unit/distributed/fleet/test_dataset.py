"""Datasets and runs over them: settings, memory, shuffles, handlers, errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import paddle
import paddle.distributed.fleet as fleet

pytestmark = pytest.mark.usefixtures("static_mode")


@pytest.fixture
def program():
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        x = paddle.static.data("x", [None, 1], "int64", lod_level=1)
        y = paddle.static.data("y", [None, 2], "float32")
        total = paddle.sum(y) + 0
    return main, [x, y], total


@pytest.fixture
def files(tmp_path):
    paths = []
    for part in range(3):
        paths.append(str(tmp_path / f"part-{part}"))
        with open(paths[-1], "w") as file:
            file.writelines(
                f"{1 + n % 2} {' '.join([str(10 * part + n)] * (1 + n % 2))} 2 {n} 0\n"
                for n in range(4)
            )
    return paths


def in_memory(variables, files, **settings):
    dataset = paddle.distributed.InMemoryDataset()
    dataset.init(batch_size=4, thread_num=2, use_var=variables, **settings)
    dataset.set_filelist(files)
    return dataset


def fed(dataset):
    return [
        (f["x"].numpy()[:, 0].tolist(), f["x"].lod(), f["y"].numpy().tolist())
        for f in dataset.feeds(0)
    ]


def samples(dataset):
    """What each sample holds, in order."""
    found = []
    for ids, [offsets], rows in fed(dataset):
        found += [
            (*ids[a:b], row[0]) for a, b, row in zip(offsets[:-1], offsets[1:], rows, strict=True)
        ]
    return found


def test_queue_and_memory_give_the_same_batches(program, files):
    queue = paddle.distributed.QueueDataset()
    queue.init(batch_size=5, thread_num=2, use_var=program[1])
    queue.set_filelist(files)
    memory = in_memory(program[1], files)
    memory.update_settings(batch_size=5)
    memory.load_into_memory()
    batches = fed(queue)
    assert batches == fed(memory)
    assert [len(rows) for _, _, rows in batches] == [5, 5, 2]
    assert batches[0][:2] == ([0, 1, 1, 2, 3, 3, 10], [[0, 1, 3, 4, 6, 7]])


def test_shuffles_keep_samples_whole_and_follow_the_seed(program, files):
    dataset = in_memory(program[1], files)
    dataset.load_into_memory()
    before = samples(dataset)
    paddle.seed(3)
    dataset.local_shuffle()
    after = samples(dataset)
    assert after != before
    assert sorted(after) == sorted(before)
    assert (dataset.get_memory_data_size(), dataset.get_shuffle_data_size()) == (12, 0)
    dataset.load_into_memory()
    paddle.seed(3)
    dataset.global_shuffle()
    assert samples(dataset) == after
    assert dataset.get_shuffle_data_size(fleet) == 12


def test_slots_shuffle_starts_from_the_values_that_were_loaded(program, files):
    dataset = in_memory(program[1], files)
    dataset.load_into_memory()
    before = samples(dataset)
    with pytest.raises(ValueError, match="fea_eval=True"):
        dataset.slots_shuffle(["x"])
    dataset.update_settings(fea_eval=True)
    dataset.slots_shuffle(["x"])
    after = samples(dataset)
    assert [s[-1] for s in after] == [s[-1] for s in before]
    assert after != before
    assert sorted(s[:-1] for s in after) == sorted(s[:-1] for s in before)
    dataset.slots_shuffle(["y"])
    assert [s[:-1] for s in samples(dataset)] == [s[:-1] for s in before]
    with pytest.raises(ValueError, match="no slot 'z'"):
        dataset.slots_shuffle(["z"])


def test_zeros_in_sequences_are_padding_in_memory(program, tmp_path):
    path = tmp_path / "zeros"
    path.write_text("3 0 5 0 2 0 1\n2 0 0 2 1 0\n")
    dataset = in_memory(program[1], [str(path)])
    dataset.load_into_memory()
    assert fed(dataset) == [([5, 0], [[0, 1, 2]], [[0.0, 1.0], [1.0, 0.0]])]


def test_preload_and_release(program, files):
    dataset = in_memory(program[1], files)
    assert dataset.get_memory_data_size() == 0
    dataset.preload_into_memory(1)
    with pytest.raises(ValueError, match="not done"):
        dataset.preload_into_memory()
    dataset.wait_preload_done()
    assert dataset.get_memory_data_size() == 12
    dataset.release_memory()
    with pytest.raises(ValueError, match="load_into_memory"):
        list(dataset.feeds(0))
    dataset.set_filelist(files)
    dataset.update_settings(pipe_command="exit 3")
    dataset.preload_into_memory()
    with pytest.raises(RuntimeError, match="ended with exit code 3"):
        dataset.wait_preload_done()


def test_samples_with_one_id_are_merged(program, tmp_path):
    lines = [
        "1 a 1 7 2 0 0", "1 a 1 0 2 1 2",  # each has one slot
        "1 b 1 5 2 1 1",  # alone
        "1 c 1 5 2 1 1", "1 c 1 6 2 1 1",  # both have ids
        "1 d 1 0 2 3 3", "1 d 1 0 2 4 4",  # the last counts
    ]  # fmt: skip
    (tmp_path / "data").write_text("\n".join(lines) + "\n")
    dataset = in_memory(program[1], [str(tmp_path / "data")])
    dataset._set_merge_by_lineid(2)
    dataset.load_into_memory()
    with pytest.warns(UserWarning, match="3 samples are dropped"):
        dataset.dataset.merge_by_lineid()
    assert sorted(samples(dataset)) == [(0, 4.0), (7, 1.0)]
    dataset.load_into_memory()
    with pytest.warns(UserWarning, match="3 samples are dropped"):
        dataset.global_shuffle()
    assert dataset.dataset.get_shuffle_data_size() == 2
    dataset.update_settings(merge_size=3)
    with pytest.warns(UserWarning, match="2 samples are dropped"):
        dataset.dataset.merge_by_lineid()
    assert dataset.get_memory_data_size() == 0


@pytest.mark.parametrize("kind", ["QueueDataset", "InMemoryDataset"])
@pytest.mark.parametrize("drop_last", [True, False])
def test_a_loader_of_a_dataset(program, files, kind, drop_last):
    main, variables, total = program
    dataset = getattr(paddle.distributed, kind)()
    dataset.init(batch_size=5, thread_num=2, use_var=variables)
    dataset.set_filelist(files)
    if kind == "InMemoryDataset":
        dataset.load_into_memory()
    loader = paddle.io.DataLoader.from_dataset(dataset, [paddle.CPUPlace()], drop_last)
    exe = paddle.static.Executor()
    for _ in range(2):
        found = list(loader())
        assert [data[0]["y"].shape() for data in found] == [[5, 2], [5, 2], [2, 2]][: 3 - drop_last]
        assert found[0][0]["x"].lod() == [[0, 1, 3, 4, 6, 7]]
        [value] = exe.run(main, feed=found[0], fetch_list=[total])
        assert value == found[0][0]["y"].numpy().sum()
    two = paddle.io.DataLoader.from_dataset(dataset, [paddle.CPUPlace()] * 2, drop_last)
    sizes = [[feed["y"].shape()[0] for feed in data] for data in two]
    in_memory = [[5, 5]] if drop_last else [[5, 5], [1, 1]]
    assert (
        sizes
        == ([[5, 4]] if kind == "QueueDataset" and not drop_last else in_memory)[
            : 0 if kind == "QueueDataset" and drop_last else None
        ]
    )
    with pytest.raises(AssertionError, match="Filelist number"):
        paddle.io.DataLoader.from_dataset(dataset, [paddle.CPUPlace()] * 4)
    with pytest.raises(AssertionError, match="DatasetBase"):
        paddle.io.DataLoader.from_dataset([1], [paddle.CPUPlace()])


def test_a_file_here_may_have_a_name_like_one_elsewhere(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "afs:part").write_text("1 7 2 1 2\n")
    dataset = in_memory(program[1], ["afs:part"], download_cmd="cat")
    dataset.load_into_memory()
    assert samples(dataset) == [(7, 1.0)]
    dataset.set_filelist(["afs:absent"])
    with pytest.raises(NotImplementedError, match="not local"):
        dataset.load_into_memory()


def test_the_object_inside_a_dataset_has_its_settings(program, files):
    inner = paddle.base.core.Dataset("MultiSlotDataset")
    inner.set_thread_num(12)
    inner.set_filelist(files)
    inner.set_trainer_num(4)
    inner.set_hdfs_config("name", "ugi")
    inner.set_download_cmd("fetch")
    inner.set_enable_pv_merge(False)
    assert inner.get_thread_num() == 12
    assert inner.get_filelist() == files
    assert inner.get_trainer_num() == 4
    assert inner.get_hdfs_config() == ("name", "ugi")
    assert inner.get_download_cmd() == "fetch"


def test_a_dataset_of_boxps_is_one_in_memory(program, files):
    dataset = fleet.BoxPSDataset()
    dataset.init(batch_size=4, use_var=program[1], rank_offset="", pv_batch_size=1)
    dataset.set_filelist(files)
    dataset.load_into_memory()
    dataset.begin_pass()
    dataset.end_pass(True)
    assert dataset.get_memory_data_size() == 12
    dataset._set_enable_pv_merge(True)
    with pytest.raises(NotImplementedError, match="page views"):
        dataset.load_into_memory()


def test_users_meet_at_one_worker(program, files):
    dataset = in_memory(program[1], files)
    dataset._set_uid_slot("x")
    dataset._set_shuffle_by_uid(True)
    assert 'uid_slot: "x"' in dataset._desc()
    dataset.load_into_memory()
    dataset.global_shuffle()
    assert dataset.get_shuffle_data_size() == 12
    dataset._set_uid_slot("y")
    with pytest.raises(ValueError, match="a slot of ids"):
        dataset._uids(dataset._records)


def test_a_line_that_is_a_batch(program, files):
    dataset = in_memory(program[1], files[:1], input_type=1)
    dataset.load_into_memory()
    with pytest.raises(ValueError, match="batch_size must be 1"):
        fed(dataset)
    dataset.update_settings(batch_size=1)
    assert fed(dataset)[1] == ([1, 1], [[0, 1, 2]], [[1.0, 0.0]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a positive"),
        ({"bacth_size": 2}, "no setting 'bacth_size'"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        paddle.distributed.InMemoryDataset().update_settings(**settings)


def test_dtypes_of_variables(program):
    with paddle.static.program_guard(program[0]):
        z = paddle.static.data("z", [None], "float64")
    with pytest.raises(ValueError, match="only supports dtype=float32 and dtype=int64"):
        paddle.distributed.QueueDataset().init(use_var=[z])


def test_description(program):
    dataset = paddle.fluid.DatasetFactory().create_dataset("InMemoryDataset")
    dataset.set_batch_size(3)
    dataset.set_use_var(program[1])
    assert dataset.desc().split() == [
        "name:",
        '"MultiSlotInMemoryDataFeed"',
        "batch_size:",
        "3",
        "multi_slot_desc",
        "{",
        "slots",
        "{",
        "name:",
        '"x"',
        "type:",
        '"uint64"',
        "is_used:",
        "true",
        "}",
        "slots",
        "{",
        "name:",
        '"y"',
        "type:",
        '"float"',
        "is_dense:",
        "true",
        "is_used:",
        "true",
        "shape:",
        "-1",
        "shape:",
        "2",
        "}",
        "}",
        "pipe_command:",
        '"cat"',
    ]
    assert type(paddle.base.DatasetFactory().create_dataset()).__name__ == "QueueDataset"
    with pytest.raises(ValueError, match="datafeed class Queue does not exist"):
        paddle.fluid.DatasetFactory().create_dataset("Queue")


def test_a_bad_line_ends_the_run_and_its_threads(program, files):
    main, variables, _ = program
    with open(files[1], "a") as file:
        file.write("1 5 2 x 0\n")
    dataset = paddle.distributed.QueueDataset()
    dataset.init(batch_size=2, use_var=variables)
    dataset.set_filelist(files)
    with pytest.raises(ValueError, match=r"part-1, line 5: '1 5 2 x 0'\n  'x' is no number"):
        paddle.static.Executor().train_from_dataset(main, dataset)
    assert not [t for t in threading.enumerate() if t.name.startswith("argosy-data")]


def test_what_runs_refuse(program):
    main, _, total = program
    exe, dataset = paddle.static.Executor(), paddle.distributed.QueueDataset()
    with pytest.raises(RuntimeError, match="dataset is need and should be initialized"):
        exe.train_from_dataset(main)
    with pytest.raises(AssertionError, match="fetch_list has 1 variables, but fetch_info 2"):
        exe.train_from_dataset(main, dataset, fetch_list=[total], fetch_info=["a", "b"])
    with pytest.raises(ValueError, match="no variables are set"):
        exe.train_from_dataset(main, dataset)


def test_printing(program, files, capsys):
    main, variables, total = program
    dataset = in_memory(variables, files)
    dataset.load_into_memory()
    paddle.static.Executor().train_from_dataset(
        main, dataset, fetch_list=[total, variables[0]], print_period=2, debug=True
    )
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0].split("], ", 1)[1] == f"batch: [2], {total.name}[1]:[6], x[6]:[10 11 11 12 13 13]"
    )
    assert lines[1].startswith("train_from_dataset: 3 batches in ")
    assert len(lines) == 2


def test_handlers_see_values_and_their_errors_are_raised(program, files):
    main, variables, total = program
    dataset = in_memory(variables, files)
    seen, called = [], threading.Event()

    class Handler(paddle.fluid.executor.FetchHandler):
        def handler(self, res_dict):
            seen.append(float(res_dict["total"]))
            called.set()

    class Slow(type(dataset)):
        """Waits with the last batch until the handler was called."""

        def _batches(self, num_threads):
            parts = list(super()._batches(num_threads))
            yield from parts[:-1]
            assert called.wait(60)
            yield parts[-1]

    dataset.__class__ = Slow
    dataset.load_into_memory()
    paddle.static.Executor().train_from_dataset(
        main, dataset, fetch_handler=Handler({"total": total}, 0.01)
    )
    assert set(seen) == {6.0}

    class Failing(Handler):
        def handler(self, res_dict):
            called.set()
            raise KeyError("mine")

    called.clear()
    with pytest.raises(KeyError, match="mine"):
        paddle.static.Executor().train_from_dataset(
            main, dataset, fetch_handler=Failing({"total": total}, 0.01)
        )


def test_infer_changes_no_parameter(files):
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.static.program_guard(main, startup), paddle.static.scope_guard(scope):
        x = paddle.static.data("x", [None, 1], "int64", lod_level=1)
        y = paddle.static.data("y", [None, 2], "float32")
        loss = paddle.mean(paddle.static.nn.fc(y, 1, weight_attr=paddle.ParamAttr(name="w")))
        paddle.optimizer.SGD(0.1).minimize(loss)
        exe = paddle.static.Executor()
        exe.run(startup)
        dataset = in_memory([x, y], files)
        dataset.load_into_memory()
        weight = scope.find_var("w").get_tensor()
        before = np.array(weight)
        exe.infer_from_dataset(main, dataset, fetch_list=[loss])
        np.testing.assert_array_equal(np.array(weight), before)
        exe.train_from_dataset(main, dataset)
        assert not np.array_equal(np.array(weight), before)
