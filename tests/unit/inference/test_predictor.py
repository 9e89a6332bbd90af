"""Predictors: what is computed, by whom it is seen, and errors."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.inference import Config, Predictor, PredictorPool, create_predictor


def fill(predictor, arrays):
    for name, array in zip(predictor.get_input_names(), arrays, strict=True):
        predictor.get_input_handle(name).copy_from_cpu(array)


def outputs(predictor, arrays):
    fill(predictor, arrays)
    predictor.run()
    names = predictor.get_output_names()
    return [predictor.get_output_handle(name).copy_to_cpu() for name in names]


def eager(net, arrays):
    return [out.numpy() for out in net(*(paddle.to_tensor(a) for a in arrays))]


def check(found, expected):
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-6, strict=True)


@pytest.fixture
def affine_folder(tmp_path, static_mode):
    """A folder of 1.x with ``__model__`` and a file per variable, and what it computes."""
    import paddle.fluid as fluid

    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        x = fluid.data("x", [None, 4])
        out = fluid.layers.fc(x, 2)
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        fluid.io.save_inference_model(str(tmp_path), ["x"], [out], exe, main)
        array = np.ones((2, 4), "float32")
        [expected] = exe.run(main, feed={"x": array}, fetch_list=[out])
    return str(tmp_path), array, expected


def test_computes_what_the_network_computes(net, config, arrays):
    predictor = create_predictor(config)
    assert predictor.get_input_names() == ["x", "y"]
    check(outputs(predictor, arrays), eager(net, arrays))


def test_a_model_of_save_inference_model_computes_what_its_program_does(tmp_path, static_mode):
    x = paddle.static.data("x", [None, 3])
    out = paddle.static.nn.fc(x, 2, activation="tanh")
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    prefix = str(tmp_path / "model")
    paddle.static.save_inference_model(prefix, [x], [out], exe)
    array = np.ones((2, 3), "float32")
    expected = exe.run(feed={"x": array}, fetch_list=[out])
    predictor = create_predictor(Config(f"{prefix}.pdmodel", f"{prefix}.pdiparams"))
    check(outputs(predictor, [array]), expected)


def test_a_folder_of_1x_is_read(affine_folder):
    folder, array, expected = affine_folder
    check(outputs(create_predictor(Config(folder)), [array]), [expected])


def test_a_folder_and_a_prefix_name_a_model(net, prefix, arrays):
    folder, _, name = prefix.rpartition("/")
    check(outputs(create_predictor(Config(folder, name)), arrays), eager(net, arrays))


def test_the_json_of_paddle_3_stands_for_the_model_of_the_same_name(net, prefix, arrays):
    config = Config(f"{prefix}.json", f"{prefix}.pdiparams")
    check(outputs(create_predictor(config), arrays), eager(net, arrays))


def test_a_model_in_memory_needs_no_files(net, prefix, arrays):
    contents = [Path(f"{prefix}.{kind}").read_bytes() for kind in ("pdmodel", "pdiparams")]
    config = Config()
    config.set_model_buffer(contents[0], len(contents[0]), contents[1], len(contents[1]))
    assert config.model_from_memory()
    check(outputs(create_predictor(config), arrays), eager(net, arrays))


def test_tensors_go_in_and_come_out_in_order(net, config, arrays):
    predictor = create_predictor(config)
    found = predictor.run([paddle.to_tensor(a) for a in arrays])
    check([t.numpy() for t in found], eager(net, arrays))
    assert all(t.stop_gradient for t in found)
    assert [t.name for t in found] == predictor.get_output_names()


def test_tensors_with_the_names_of_inputs_may_be_in_any_order(net, config, arrays):
    x, y = (paddle.to_tensor(a) for a in arrays)
    x.name, y.name = "x", "y"
    found = create_predictor(config).run([y, x])
    check([t.numpy() for t in found], eager(net, arrays))


def test_returned_tensors_are_nobody_elses(tmp_path):
    layer = paddle.nn.Layer()
    layer.weight = layer.create_parameter([2])
    layer.forward = lambda x: (x.reshape([2, 1]), layer.weight.reshape([2, 1]))
    spec = [paddle.static.InputSpec([2], "float32", "x")]
    prefix = str(tmp_path / "same")
    paddle.jit.save(layer, prefix, input_spec=spec)
    predictor = create_predictor(Config(f"{prefix}.pdmodel", f"{prefix}.pdiparams"))
    given = paddle.ones([2])
    for value in predictor.run([given]):
        value.fill_(7.0)
    assert given.tolist() == [1.0, 1.0]
    assert predictor.run([given])[1].flatten().tolist() == layer.weight.tolist()


def test_another_shape_than_was_declared_is_computed(tmp_path):
    spec = [paddle.static.InputSpec([1, 2, 8, 8], "float32", "image")]
    net = paddle.nn.Conv2D(2, 3, 3)
    prefix = str(tmp_path / "conv")
    paddle.jit.save(net, prefix, input_spec=spec)
    predictor = create_predictor(Config(f"{prefix}.pdmodel", f"{prefix}.pdiparams"))
    image = np.ones((2, 2, 5, 6), "float32")
    check(outputs(predictor, [image]), [net(paddle.to_tensor(image)).numpy()])


def test_integers_of_another_width_are_ids(tmp_path):
    net = paddle.nn.Embedding(5, 2)
    prefix = str(tmp_path / "table")
    spec = [paddle.static.InputSpec([None], "int64", "ids")]
    paddle.jit.save(net, prefix, input_spec=spec)
    predictor = create_predictor(Config(f"{prefix}.pdmodel", f"{prefix}.pdiparams"))
    ids = np.array([4, 0, 1], "int32")
    check(outputs(predictor, [ids]), [net.weight.numpy()[ids]])


def test_reading_a_model_does_not_number_the_layers_of_the_script(config):
    with paddle.utils.unique_name.guard():
        assert paddle.nn.Linear(1, 1).weight.name == "linear_0.w_0"
        create_predictor(config)
        assert paddle.nn.Linear(1, 1).weight.name == "linear_1.w_0"


@pytest.mark.parametrize("counted", range(3))
def test_names_of_a_model_do_not_meet_those_of_the_script(tmp_path, counted):
    class Twice(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.table = paddle.nn.Embedding(5, 2)

        def forward(self, ids):
            return self.table(ids).sum(axis=0), self.table(ids)

    net, prefix = Twice(), str(tmp_path / "twice")
    paddle.jit.save(net, prefix, input_spec=[paddle.static.InputSpec([None], "int64", "ids")])
    ids = np.array([1, 3])
    with paddle.utils.unique_name.guard():
        for _ in range(counted):
            paddle.utils.unique_name.generate("embedding")
        predictor = create_predictor(Config(f"{prefix}.pdmodel", f"{prefix}.pdiparams"))
    check(outputs(predictor, [ids]), eager(net, [ids]))


@pytest.mark.parametrize("is_static", [False, True])
def test_the_script_does_not_notice_a_predictor(net, config, arrays, is_static):
    expected = eager(net, arrays)
    if is_static:
        paddle.enable_static()
    try:
        scope, main = paddle.static.global_scope(), paddle.static.default_main_program()
        names, operators = set(scope.local_var_names()), len(main.global_block().ops)
        check(outputs(create_predictor(config), arrays), expected)
        assert paddle.static.global_scope() is scope
        assert set(scope.local_var_names()) == names
        assert paddle.static.default_main_program() is main
        assert len(main.global_block().ops) == operators
        assert paddle.in_dynamic_mode() is not is_static
    finally:
        paddle.disable_static()


def test_a_clone_reads_the_same_weights_and_has_inputs_of_its_own(net, config, arrays):
    first = create_predictor(config)
    expected = outputs(first, arrays)
    second = first.clone()
    assert second.get_input_handle("x").shape() == [0]
    others = [a + 1 for a in arrays]
    check(outputs(second, others), eager(net, others))
    check([first.get_output_handle(n).copy_to_cpu() for n in first.get_output_names()], expected)


def test_the_same_files_read_again_have_weights_of_their_own(prefix, arrays, net):
    expected = eager(net, arrays)
    files = f"{prefix}.pdmodel", f"{prefix}.pdiparams"
    first, second = (paddle.base.core.create_paddle_predictor(Config(*files)) for _ in range(2))
    for held in first.scope().local_var_names():
        first.scope().find_var(held).get_tensor().set(0 * first_value(first, held))
    tensors = [paddle.base.core.PaddleTensor(a) for a in arrays]
    assert not first.run(tensors)[0].as_ndarray().any()
    check([out.as_ndarray() for out in second.run(tensors)], expected)


def first_value(predictor, name):
    return np.array(predictor.scope().find_var(name).get_tensor())


def test_predictors_of_a_pool_run_at_the_same_time(net, config):
    rng = np.random.default_rng(0)
    batches = [
        [rng.normal(size=(n, 4)).astype("float32"), rng.normal(size=(n, 8)).astype("float32")]
        for n in range(1, 5)
    ]
    expected = [eager(net, batch) for batch in batches]
    pool = PredictorPool(config, len(batches))
    ready, failures = threading.Barrier(len(batches)), []

    def serve(number):
        try:
            ready.wait(timeout=30)
            for _ in range(50):
                check(outputs(pool.retrieve(number), batches[number]), expected[number])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=serve, args=(i,)) for i in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not failures


def test_predictors_may_be_made_by_several_threads(prefix, net, arrays):
    files = f"{prefix}.pdmodel", f"{prefix}.pdiparams"
    scope, found = paddle.static.global_scope(), []
    ready = threading.Barrier(4)

    def make():
        ready.wait(timeout=30)
        found.append(outputs(create_predictor(Config(*files)), arrays))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(found) == 4
    for each in found:
        check(each, eager(net, arrays))
    assert paddle.static.global_scope() is scope


def test_a_pool_hands_out_the_same_predictors(config):
    pool = PredictorPool(config, 2)
    assert pool.retrieve(1) is pool.retrive(1)
    assert isinstance(pool.retrieve(0), Predictor)
    with pytest.raises(ValueError, match="there are 2 predictors"):
        pool.retrieve(2)
    with pytest.raises(TypeError, match="negative"):
        pool.retrieve(-1)


def test_a_pool_of_none_is_refused(config):
    with pytest.raises(ValueError, match="size must be 1 or more"):
        PredictorPool(config, 0)


def test_a_config_serves_one_predictor(config):
    copy = Config(config)
    create_predictor(config)
    with pytest.raises(ValueError, match="can only be used for one predictor"):
        create_predictor(config)
    create_predictor(copy)
    create_predictor(Config(config))


def test_hooks_are_shown_what_operators_read_and_write(net, config, arrays):
    predictor = create_predictor(config)
    read, written = {}, {}
    predictor.register_input_hook(lambda kind, name, value: read.update({name: value.numpy()}))
    predictor.register_output_hook(
        lambda kind, name, value: written.setdefault(kind, []).append(value.numpy())
    )
    found = outputs(predictor, arrays)
    check(found, eager(net, arrays))
    np.testing.assert_array_equal(read["x"], arrays[0])
    np.testing.assert_array_equal(read[net.first.weight.name], net.first.weight.numpy())
    check(written["relu"], [found[1]])
    assert len(written["matmul_v2"]) == 2
    written.clear()
    outputs(predictor.clone(), arrays)
    assert not written


def test_memory_can_be_given_back_at_any_time(net, config, arrays):
    predictor = create_predictor(config)
    outputs(predictor, arrays)
    predictor.clear_intermediate_tensor()
    assert predictor.try_shrink_memory() == 0
    check(outputs(predictor, arrays), eager(net, arrays))


def test_bfloat16_is_computed_and_float32_comes_out(net, config, arrays):
    config.enable_mkldnn_bfloat16()
    for mine, exact in zip(
        outputs(create_predictor(config), arrays), eager(net, arrays), strict=True
    ):
        assert mine.dtype == np.float32
        assert 1e-5 < np.abs(mine - exact).max() < 3e-2  # Paddle 3.3.1 is as far from float32


def test_only_chosen_operators_compute_in_bfloat16(net, config, arrays):
    config.enable_mkldnn_bfloat16()
    config.set_bfloat16_op({"conv2d"})
    check(outputs(create_predictor(config), arrays), eager(net, arrays))


# -- errors
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names", [("none.pdmodel", "none.pdiparams"), ("none",)], ids=["files", "folder"]
)
def test_a_model_that_is_not_there_is_named(names, tmp_path):
    with pytest.raises(RuntimeError, match=r"Cannot open file .*none"):
        create_predictor(Config(*(str(tmp_path / name) for name in names)))


def test_parameters_that_are_not_there_are_named(prefix):
    with pytest.raises(RuntimeError, match=r"no file .*lost\.pdiparams"):
        create_predictor(Config(f"{prefix}.pdmodel", "lost.pdiparams"))


def test_bytes_that_are_no_model_are_refused():
    config = Config()
    config.set_model_buffer(b"abc", 3, b"x", 1)
    with pytest.raises(RuntimeError, match="the model is not a program"):
        create_predictor(config)


def test_a_config_without_a_model_is_refused():
    with pytest.raises(RuntimeError, match="names no model"):
        create_predictor(Config())


def test_what_is_no_config_is_refused():
    with pytest.raises(TypeError, match="expected a Config, but received str"):
        create_predictor("net.pdmodel")


def test_an_unknown_handle_lists_the_known_ones(config):
    predictor = create_predictor(config)
    with pytest.raises(RuntimeError, match=r"inputs are \['x', 'y'\]"):
        predictor.get_input_handle("z")
    with pytest.raises(TypeError, match="must be a str"):
        predictor.get_output_handle(0)


def test_an_input_without_a_value_is_named(config, arrays):
    predictor = create_predictor(config)
    predictor.get_input_handle("x").copy_from_cpu(arrays[0])
    with pytest.raises(ValueError, match="input 'y' has no value"):
        predictor.run()


def test_a_wrong_dtype_is_named(config, arrays):
    predictor = create_predictor(config)
    fill(predictor, (arrays[0].astype("float64"), arrays[1]))
    with pytest.raises(ValueError, match="'x' must be of float32, but received float64"):
        predictor.run()


def test_a_wrong_shape_is_told_with_the_operator(config, arrays):
    predictor = create_predictor(config)
    fill(predictor, (arrays[0][:, :3], arrays[1]))
    with pytest.raises(ValueError, match=r"Predictor.run: operator 0 'matmul_v2'"):
        predictor.run()


def test_wrong_lists_of_tensors_are_refused(config, arrays):
    predictor = create_predictor(config)
    with pytest.raises(ValueError, match="expected 2 inputs"):
        predictor.run([paddle.to_tensor(arrays[0])])
    with pytest.raises(TypeError, match="expected a list of Tensors"):
        predictor.run(list(arrays))
    with pytest.raises(TypeError, match="expected a list of Tensors"):
        predictor.run({"x": paddle.to_tensor(arrays[0])})
