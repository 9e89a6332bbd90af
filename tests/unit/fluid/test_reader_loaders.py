"""Batches for programs: DataFeeder, loaders that are iterated, loaders that belong to a program."""

import contextlib
import threading

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid

pytestmark = pytest.mark.usefixtures("fresh_programs")


@pytest.fixture
def fields():
    return [fluid.data("x", [None, 3]), fluid.data("y", [None, 1], "int64")]


@pytest.fixture
def exe():
    return fluid.Executor(fluid.CPUPlace())


def batches():
    for i in range(3):
        yield np.full((2, 3), i, "float32"), np.full((2, 1), i, "int64")


def broken():
    yield from batches()
    raise OSError("the disk is gone")


def run_pass(exe, program, fetch):
    """What runs fetch until the loaders of the program are at their end."""
    values = []
    try:
        while True:
            values.append(exe.run(program, fetch_list=[fetch])[0].item())
    except fluid.core.EOFException:
        return values


class TestDataFeeder:
    def test_gathers_samples_and_gives_them_the_declared_shape(self, fields):
        feed = fluid.DataFeeder(fields, fluid.CPUPlace()).feed([([1, 2, 3], 4), ([5, 6, 7], 8)])
        assert list(feed) == ["x", "y"]
        x, y = np.array(feed["x"]), np.array(feed["y"])
        assert (x.dtype, x.tolist()) == (np.float32, [[1, 2, 3], [5, 6, 7]])
        assert (y.dtype, y.tolist()) == (np.int64, [[4], [8]])

    def test_takes_names_and_sequences(self, exe):
        words = fluid.data("words", [None, 1], "int64", lod_level=1)
        feed = fluid.DataFeeder(["words"], fluid.CPUPlace(), fluid.default_main_program()).feed(
            [([1, 2],), ([3],)]
        )
        assert feed["words"].lod() == [[0, 2, 3]]
        [total] = exe.run(feed=feed, fetch_list=[fluid.layers.reduce_sum(words)])
        assert total == 6

    def test_several_places(self, fields):
        feeder = fluid.DataFeeder(fields, fluid.CPUPlace())
        sample = ([1, 2, 3], 4)
        feeds = list(feeder.feed_parallel([[sample], [sample, sample]], num_places=2))
        assert [feed["x"].shape() for feed in feeds] == [[1, 3], [2, 3]]
        with pytest.raises(ValueError, match="2 places, but received 1"):
            feeder.feed_parallel([[sample]], num_places=2)
        read = feeder.decorate_reader(
            lambda: iter([[sample]] * 5), multi_devices=True, num_places=2
        )
        assert [len(group) for group in read()] == [2, 2]
        read = feeder.decorate_reader(lambda: iter([[sample]] * 5), True, 2, drop_last=False)
        with pytest.raises(ValueError, match="1 batches are left for 2 places"):
            list(read())
        read = feeder.decorate_reader(lambda: iter([[sample]] * 5), multi_devices=False)
        assert [feed["y"].shape() for feed in read()] == [[1, 1]] * 5

    def test_a_sample_of_too_few_fields_is_refused(self, fields):
        with pytest.raises(
            AssertionError,
            match=r"number of fields in data \(1\) does not match len\(feed_list\) \(2\)",
        ):
            fluid.DataFeeder(fields, fluid.CPUPlace()).feed([([1, 2, 3],)])

    def test_what_is_fed_are_variables(self):
        with pytest.raises(TypeError, match="feed_list should contain variables"):
            fluid.DataFeeder([3], fluid.CPUPlace())

    def test_samples_that_do_not_fill_the_shape_are_refused(self):
        with pytest.raises(ValueError, match="cannot be reshaped"):
            fluid.DataFeeder([fluid.data("z", [4, 3])], fluid.CPUPlace()).feed([(1,), (2,)])


class TestIterable:
    def test_gives_a_dict_per_place(self, fields, exe):
        loader = fluid.io.DataLoader.from_generator(fields, capacity=2)
        loader.set_batch_generator(batches, places=fluid.CPUPlace())
        total = fluid.layers.reduce_sum(fields[0])
        for _ in range(2):
            assert [exe.run(feed=feeds, fetch_list=[total])[0].item() for feeds in loader()] == [
                0,
                6,
                12,
            ]

    @pytest.mark.parametrize(("drop_last", "sizes"), [(True, [2]), (False, [2, 1])])
    def test_several_places_take_turns(self, fields, drop_last, sizes):
        loader = fluid.io.DataLoader.from_generator(fields, capacity=2, drop_last=drop_last)
        loader.set_batch_generator(batches, places=fluid.cpu_places(2))
        assert [len(feeds) for feeds in loader] == sizes

    def test_lists_are_nested_in_1_x_only(self, fields):
        for made, is_nested in ((fluid.io.DataLoader, True), (paddle.io.DataLoader, False)):
            loader = made.from_generator(feed_list=fields, capacity=2, return_list=True)
            loader.set_batch_generator(batches, places=[fluid.CPUPlace()])
            first = next(iter(loader))
            x, y = first[0] if is_nested else first
            assert (x.shape(), y.shape()) == ([2, 3], [2, 1])

    def test_samples(self, fields):
        samples = [([i, i, i], i) for i in range(5)]
        loader = fluid.io.DataLoader.from_generator(fields, capacity=2)
        loader.set_sample_generator(
            lambda: iter(samples), batch_size=2, drop_last=False, places=fluid.CPUPlace()
        )
        assert [feeds[0]["y"].shape() for feeds in loader] == [[2, 1], [2, 1], [1, 1]]
        loader.set_sample_list_generator(
            paddle.batch(lambda: iter(samples), 4), places=fluid.CPUPlace()
        )
        assert [np.array(feeds[0]["y"]).ravel().tolist() for feeds in loader] == [[0, 1, 2, 3], [4]]

    def test_errors_of_the_source_and_wrong_calls(self, fields):
        loader = fluid.io.DataLoader.from_generator(fields, capacity=2)
        with pytest.raises(AssertionError, match="has not been set"):
            next(iter(loader))
        with pytest.raises(SystemError, match="OSError: the disk is gone"):
            list(loader.set_batch_generator(broken))
        with pytest.raises(SystemError, match=r"1 fields, but feed_list has 2: \['x', 'y'\]"):
            list(loader.set_batch_generator(lambda: iter([[np.zeros((2, 3))]])))
        with pytest.raises(SystemError, match="'x' is not a regular array"):
            list(loader.set_batch_generator(lambda: iter([[[[1], [1, 2]], [[1]]]])))
        with pytest.raises(
            AssertionError, match=r"start\(\) cannot be called when DataLoader is iterable"
        ):
            loader.start()
        with pytest.raises(ValueError, match="capacity"):
            fluid.io.DataLoader.from_generator(fields)
        with pytest.raises(ValueError, match="feed_list"):
            fluid.io.DataLoader.from_generator(capacity=2)
        with pytest.raises(AssertionError, match="batch_size must be larger than 0"):
            loader.set_sample_generator(batches, batch_size=0)

    def test_in_dygraph_it_gives_tensors(self):
        with fluid.dygraph.guard():
            loader = fluid.io.DataLoader.from_generator(capacity=2)
            loader.set_batch_generator(batches, places=fluid.CPUPlace())
            assert [float(x.sum()) for x, _ in loader()] == [0, 6, 12]


class TestOfProgram:
    def make(self, fields, source=batches, **options):
        loader = fluid.io.DataLoader.from_generator(fields, capacity=2, iterable=False, **options)
        loader.set_batch_generator(source)
        return loader

    def test_passes(self, fields, exe):
        loader = self.make(fields)
        total = fluid.layers.reduce_sum(fields[0])
        for _ in range(2):
            loader.start()
            assert run_pass(exe, None, total) == [0, 6, 12]
            loader.reset()

    def test_reset_in_the_midst_ends_the_thread(self, fields, exe):
        loader = self.make(
            fields, lambda: ((np.full((1, 3), i, "float32"), [[i]]) for i in range(10**9))
        )
        total = fluid.layers.reduce_sum(fields[0])
        before = threading.active_count()
        for _ in range(3):
            loader.start()
            assert [exe.run(fetch_list=[total])[0].item() for _ in range(2)] == [0, 3]
            loader.reset()
        assert threading.active_count() == before

    def test_copies_read_too_and_what_is_fed_is_not_read(self, fields, exe):
        loader = self.make(fields)
        total = fluid.layers.reduce_sum(fields[0])
        main = fluid.default_main_program()
        loader.start()
        assert exe.run(main, fetch_list=[total])[0].item() == 0
        assert exe.run(main.clone(for_test=True), fetch_list=[total])[0].item() == 6
        x, y = next(batches())
        assert exe.run(main, feed={"x": x + 2, "y": y}, fetch_list=[total])[0].item() == 12
        assert run_pass(exe, main, total) == [12]

    def test_several_loaders(self, fields, exe):
        first = self.make(fields[:1], lambda: ((x,) for x, _ in batches()))
        second = self.make(fields[1:], lambda: ((y,) for _, y in batches()))
        total = fluid.layers.reduce_sum(fields[0]) + fluid.layers.cast(
            fluid.layers.reduce_sum(fields[1]), "float32"
        )
        first.start()
        second.start()
        assert run_pass(exe, None, total) == [0, 8, 16]

    def test_several_places(self, fields):
        loader = self.make(fields)
        loss = fluid.layers.reduce_sum(fields[0])
        program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(
            places=fluid.cpu_places(2)
        )
        loader.start()
        with fluid.Executor(fluid.CPUPlace()) as exe:
            assert exe.run(program, fetch_list=[loss])[0].ravel().tolist() == [0, 6]
            with pytest.raises(fluid.core.EOFException):
                exe.run(program, fetch_list=[loss])

    def test_errors(self, fields, exe):
        loader = self.make(fields, broken)
        with pytest.raises(
            ValueError, match=r"reads \['x', 'y'\] from a DataLoader that has not been started"
        ):
            exe.run()
        with pytest.raises(AssertionError, match="not iterable"):
            iter(loader)
        loader.start()
        with pytest.raises(ValueError, match="runs already"):
            loader.start()
        for _ in range(3):
            exe.run()
        with pytest.raises(SystemError, match="the disk is gone"):
            exe.run()
        loader.reset()
        loader.reset()

    def test_wrong_batches_are_found_by_the_run(self, fields, exe):
        loader = self.make(
            fields, lambda: iter([(np.zeros((2, 4), "float32"), np.zeros((2, 1), "int64"))])
        )
        loader.start()
        fluid.layers.reduce_sum(fields[0])
        with pytest.raises(
            ValueError, match=r"'x' should .* shape = \(-1, 3\), but received fed shape \[2, 4\]"
        ):
            exe.run()

    def test_inference_models_are_fed(self, fields, exe, tmp_path):
        self.make(fields)
        total = fluid.layers.reduce_sum(fields[0])
        fluid.io.save_inference_model(str(tmp_path), ["x"], [total], exe)
        program, _, targets = fluid.io.load_inference_model(str(tmp_path), exe)
        assert (
            exe.run(program, feed={"x": np.ones((1, 3), "float32")}, fetch_list=targets)[0].item()
            == 3
        )


class TestOldReaders:
    def test_py_reader_of_the_class(self, fields, exe):
        reader = fluid.io.PyReader(fields, capacity=2, iterable=False)
        reader.decorate_batch_generator(batches)
        total = fluid.layers.reduce_sum(fields[0])
        reader.start()
        assert exe.run(fetch_list=[total])[0].item() == 0
        reader.reset()
        reader = fluid.io.PyReader(fields, capacity=2)
        reader.decorate_sample_list_generator(
            lambda: iter([[([1, 2, 3], 4)]]), places=fluid.cpu_places(1)
        )
        assert reader.iterable
        assert [feeds[0]["x"].shape() for feeds in reader()] == [[1, 3]]
        reader.decorate_sample_generator(
            lambda: iter([([1, 2, 3], 4)] * 4), batch_size=2, places=fluid.cpu_places(1)
        )
        assert [feeds[0]["x"].shape() for feeds in reader] == [[2, 3], [2, 3]]

    def test_py_reader_of_layers(self, exe):
        reader = fluid.layers.py_reader(
            capacity=4,
            shapes=[(-1, 3), (-1, 1)],
            dtypes=["float32", "int64"],
            lod_levels=[0, 0],
            name="train_reader",
        )
        reader = fluid.layers.double_buffer(reader)
        x, y = fluid.layers.read_file(reader)
        assert (list(x.shape), y.dtype) == ([-1, 3], paddle.int64)
        total = fluid.layers.reduce_sum(x)
        reader.decorate_paddle_reader(
            paddle.batch(lambda: iter([([1, 2, 3], 0), ([4, 5, 6], 1)]), batch_size=1)
        )
        for _ in range(2):
            reader.start()
            assert run_pass(exe, None, total) == [6, 15]
            reader.reset()
        with pytest.raises(ValueError, match="equally long"):
            fluid.layers.py_reader(4, [(-1, 3)], ["float32", "int64"])

    def test_by_data(self, fields, exe):
        reader = fluid.layers.create_py_reader_by_data(capacity=2, feed_list=fields[:1])
        assert fluid.layers.read_file(reader) is fields[0]
        reader.decorate_tensor_provider(lambda: ((x,) for x, _ in batches()))
        reader.start()
        exe.run()
        assert exe.run(fetch_list=[fluid.layers.reduce_sum(fields[0])])[0].item() == 6
        reader.reset()


def test_only_datasets_are_iterated_as_such():
    with pytest.raises(AssertionError, match="must be type of DatasetBase"):
        fluid.io.DataLoader.from_dataset(None, fluid.cpu_places(1))


@pytest.mark.usefixtures("static_mode")
def test_the_shape_of_layers_data_is_a_list():
    with pytest.raises(TypeError, match="shape must be a list or tuple, but received 2"):
        fluid.layers.data("x", 2)


def test_a_script_pushes_batches_itself():
    reader = fluid.layers.py_reader(2, [[-1, 2]], ["float32"])
    doubled = fluid.layers.read_file(reader) * 2.0
    exe = fluid.Executor(fluid.CPUPlace())
    for value in (1.0, 2.0):
        batch = fluid.executor._as_lodtensor(np.full([1, 2], value, "float32"), fluid.CPUPlace())
        assert reader.queue.push([batch])
    reader.queue.close()
    assert not reader.queue.push([batch])
    got = [exe.run(fetch_list=[doubled])[0].tolist() for _ in range(2)]
    assert got == [[[2.0, 2.0]], [[4.0, 4.0]]]
    with pytest.raises(fluid.core.EOFException):
        exe.run(fetch_list=[doubled])
    reader.reset()
    assert not reader.queue.is_closed()


def test_a_script_joins_the_thread_that_reads_ahead():
    reader = fluid.layers.py_reader(2, [[-1, 1]], ["float32"])
    doubled = fluid.layers.read_file(reader) * 2.0
    reader.decorate_batch_generator(lambda: ([np.full([1, 1], i, "float32")] for i in range(1000)))
    exe = fluid.Executor(fluid.CPUPlace())
    assert reader.thread is None
    reader.start()
    seen = [exe.run(fetch_list=[doubled])[0].tolist()]
    reader.exited = True
    with contextlib.suppress(fluid.core.EOFException):
        while True:
            seen.append(exe.run(fetch_list=[doubled])[0].tolist())
    reader.thread.join()
    assert seen == [[[2.0 * i]] for i in range(len(seen))]
    assert len(seen) < 10
    reader.reset()
    reader.start()  # another pass
    assert exe.run(fetch_list=[doubled])[0].tolist() == [[0.0]]
    reader.reset()


def test_a_number_becomes_a_tensor_of_a_dtype():
    tensor = fluid.executor._as_lodtensor(1, fluid.CPUPlace(), fluid.core.VarDesc.VarType.FP64)
    assert (tensor.shape(), tensor._dtype()) == ([1], fluid.core.VarDesc.VarType.FP64)
    with pytest.raises(AssertionError, match="dtype should be given"):
        fluid.executor._as_lodtensor(1, fluid.CPUPlace())
    with pytest.raises(RuntimeError, match="hold LoD information"):
        fluid.executor._as_lodtensor([1], fluid.CPUPlace())
    for numbers in ([1, 2], (1, 2)):
        tensor = fluid.executor._as_lodtensor(numbers, fluid.CPUPlace(), "float64")
        assert (tensor.shape(), tensor._dtype()) == ([2], fluid.core.VarDesc.VarType.FP64)
    with pytest.raises(TypeError, match="hold LoD information"):
        fluid.executor._as_lodtensor([{1, 2}, {1}], fluid.CPUPlace(), "int32")


def test_a_loader_of_ones_own_says_what_it_gives():
    with pytest.raises(NotImplementedError):
        iter(fluid.reader.DataLoaderBase())
    fluid.reader.keep_data_loader_order(False)
    assert fluid.reader.keep_data_loader_order() is False
    fluid.reader.keep_data_loader_order(True)


def test_arrays_of_a_batch_must_be_regular():
    check = fluid.reader.GeneratorLoader._check_input_array
    assert check([np.zeros(2), np.ones(2)]).shape == (2, 2)
    with pytest.raises(TypeError, match="different lengths"):
        check([np.zeros(2), np.zeros(3)])
