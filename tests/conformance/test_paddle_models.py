"""Files that real Paddle wrote are read and computed with; what is written here has Paddle's
operators, slots and kinds of attributes.
"""

import sys
from pathlib import Path

import numpy as np
import paddle.fluid as fluid
import pytest

import paddle
from argosy.static.files.paddle import schema

GOLDENS = Path(__file__).resolve().parents[1] / "goldens"
sys.path.insert(0, str(GOLDENS))

import model_networks  # noqa: E402

LAYERS = ["perceptron", "pictures", "words", "recurrent", "attention", "shapes", "branches"]


@pytest.fixture(autouse=True)
def leave_static_mode():
    yield
    paddle.disable_static()


def stored(name, version, folder):
    """Write the files of a golden to ``folder``; returns what Paddle computed."""
    with np.load(GOLDENS / "data" / "models" / f"{name}_{version}.npz") as data:
        for key in data.files:
            if key.startswith("file:"):
                path = folder / key.removeprefix("file:")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data[key].tobytes())
        return [data[key] for key in sorted(data.files) if key.startswith("out")]


def lengths(name, version):
    """The lengths of the sequences that Paddle's outputs are, by output."""
    with np.load(GOLDENS / "data" / "models" / f"{name}_{version}.npz") as data:
        count = sum(key.startswith("out") for key in data.files)
        return [
            [data[key].tolist() for key in sorted(data.files) if key.startswith(f"lengths{i}.")]
            for i in range(count)
        ]


def fed_to(name):
    """What a network of 1.x is fed."""
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        feed, _ = model_networks.FLUID[name](fluid, fluid.layers)
    place = fluid.CPUPlace()
    return {
        key: fluid.create_lod_tensor(value[0], list(value[1:]), place)
        if isinstance(value, tuple)
        else value
        for key, value in feed.items()
    }


def compare(made, expected):
    assert len(made) == len(expected)
    for value, wanted in zip(made, expected, strict=True):
        array = np.asarray(value)
        assert array.dtype == wanted.dtype
        assert array.shape == wanted.shape
        np.testing.assert_allclose(array, wanted, rtol=1e-5, atol=1e-6)


def flat(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flat(item)]
    return [value.numpy()]


@pytest.mark.parametrize("name", LAYERS)
def test_a_model_of_paddle_runs_as_a_program(name, tmp_path):
    expected = stored(name, "2.6.2", tmp_path)
    inputs = model_networks.layers(paddle)[name][2]
    paddle.enable_static()
    exe = paddle.static.Executor()
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, feeds, fetches = paddle.static.load_inference_model(str(tmp_path / "m"), exe)
        assert feeds == [f"x{i}" for i in range(len(inputs))]
        made = exe.run(program, feed=dict(zip(feeds, inputs, strict=True)), fetch_list=fetches)
    compare(made, expected)


@pytest.mark.parametrize("name", LAYERS)
def test_a_model_of_paddle_runs_as_a_layer(name, tmp_path):
    expected = stored(name, "2.6.2", tmp_path)
    inputs = model_networks.layers(paddle)[name][2]
    layer = paddle.jit.load(str(tmp_path / "m"))
    compare(flat(layer(*[paddle.to_tensor(x) for x in inputs])), expected)


@pytest.mark.parametrize("name", list(model_networks.FLUID))
def test_a_folder_of_paddle_1x_runs(name, tmp_path):
    expected = stored(name, "1.8.5", tmp_path)
    paddle.enable_static()
    fed = fed_to(name)
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path), exe)
        assert feeds == sorted(fed)
        made = exe.run(program, feed=fed, fetch_list=fetches, return_numpy=False)
    compare(made, expected)
    sequences = [value.recursive_sequence_lengths() for value in made]
    assert sequences == lengths(name, "1.8.5")


# What has parts that Paddle's files of 1.x have no operators for: ``dynamic_decode`` is whole here.
OWN_FORMAT = {"decoding"}
LABELS = (np.zeros((6, 1), "int64"), [[2, 3, 1]])


@pytest.mark.parametrize("name", sorted(set(model_networks.FLUID) - OWN_FORMAT))
def test_what_is_recorded_in_fluid_is_written_for_paddle_and_computes_the_same(name, tmp_path):
    paddle.enable_static()
    fed, exe = fed_to(name), fluid.Executor(fluid.CPUPlace())
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        _, fetches = model_networks.FLUID[name](fluid, fluid.layers)
        exe.run(startup)
        fluid.io.save_inference_model(str(tmp_path), sorted(fed), fetches, exe, main)
        whole = {**fed, "labels": LABELS} if name == "roles" else fed  # which only training reads
        test = main.clone(for_test=True)
        expected = exe.run(test, feed=whole, fetch_list=fetches, return_numpy=False)
    assert schema.decoded((tmp_path / "__model__").read_bytes(), "it")["version"]["version"]
    with fluid.scope_guard(fluid.Scope()):
        program, _, fetches = fluid.io.load_inference_model(str(tmp_path), exe)
        again = exe.run(program, feed=fed, fetch_list=fetches, return_numpy=False)
    compare(again, [np.asarray(value) for value in expected])
    sequences = [value.recursive_sequence_lengths() for value in again]
    assert sequences == [value.recursive_sequence_lengths() for value in expected]


def test_a_loaded_layer_trains_on(tmp_path):
    stored("perceptron", "2.6.2", tmp_path)
    layer = paddle.jit.load(str(tmp_path / "m"))
    layer.train()
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    x = paddle.to_tensor(model_networks.layers(paddle)["perceptron"][2][0])
    losses = []
    for _ in range(20):
        loss = (layer(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert losses[-1] < losses[0]


def test_a_loaded_program_is_pruned_and_fed_inside(tmp_path):
    stored("perceptron", "2.6.2", tmp_path)
    paddle.enable_static()
    exe = paddle.static.Executor()
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, _, _ = paddle.static.load_inference_model(str(tmp_path / "m"), exe)
        hidden = next(o for o in program.global_block().ops if o.type == "relu").output("Out")[0]
        [made] = exe.run(program, feed={"x0": np.ones((2, 4), "float32")}, fetch_list=[hidden])
    assert made.shape == (2, 8)
    assert made.min() >= 0.0


# -- what is written
# --------------------------------------------------------------------------------------------------

# What says how an operator runs, and the slots of temporary results.
HOW = {"op_callstack", "use_cudnn", "use_mkldnn", "mkldnn_data_type", "with_quant_attr"}
PASSED_OVER = {"Mask", "XShape", "SavedMean", "SavedVariance", "Mean", "Variance"}


def operators(data):
    """Type, slots and kinds of attributes of each operator, by block."""
    return [
        [
            (
                op["type"],
                sorted(s["parameter"] for s in op["inputs"] if s["arguments"]),
                sorted(
                    s["parameter"]
                    for s in op["outputs"]
                    if s["arguments"] and s["parameter"] not in PASSED_OVER
                ),
                {a["name"]: a["type"] for a in op["attrs"] if a["name"] not in HOW},
            )
            for op in block["ops"]
        ]
        for block in schema.decoded(data, "a model")["blocks"]
    ]


def save(name, folder):
    net, specs, _ = model_networks.layers(paddle)[name]
    net.eval()
    given = [
        paddle.static.InputSpec(shape, dtype, f"x{i}") for i, (shape, dtype) in enumerate(specs)
    ]
    paddle.jit.save(net, str(folder / "m"), input_spec=given)
    return (folder / "m.pdmodel").read_bytes()


@pytest.mark.parametrize("name", ["perceptron", "pictures", "words"])
def test_what_is_written_has_the_operators_of_paddles_file(name, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    stored(name, "2.6.2", theirs)
    made = operators(save(name, ours))
    assert made == operators((theirs / "m.pdmodel").read_bytes())


@pytest.mark.parametrize("name", LAYERS)
def test_what_is_written_is_in_paddles_format_and_computes_the_same(name, tmp_path):
    net, _, inputs = model_networks.layers(paddle)[name]
    net.eval()
    expected = flat(net(*[paddle.to_tensor(x) for x in inputs]))
    given = [
        paddle.static.InputSpec([None, *x.shape[1:]], str(x.dtype), f"x{i}")
        for i, x in enumerate(inputs)
    ]
    paddle.jit.save(net, str(tmp_path / "m"), input_spec=given)
    assert schema.decoded((tmp_path / "m.pdmodel").read_bytes(), "it")["version"]["version"]
    layer = paddle.jit.load(str(tmp_path / "m"))
    compare(flat(layer(*[paddle.to_tensor(x) for x in inputs])), expected)
    expected_files = {"m.pdmodel", "m.pdiparams", "m.pdiparams.info"}
    assert {path.name for path in tmp_path.iterdir()} <= expected_files


def test_parameters_have_the_bytes_of_paddles_file(tmp_path):
    theirs, again = tmp_path / "theirs", tmp_path / "again"
    theirs.mkdir()
    stored("pictures", "2.6.2", theirs)
    layer = paddle.jit.load(str(theirs / "m"))
    layer.eval()
    spec = [paddle.static.InputSpec([None, 3, 8, 8], "float32", "x0")]
    paddle.jit.save(layer, str(again / "m"), input_spec=spec)
    assert (again / "m.pdiparams").read_bytes() == (theirs / "m.pdiparams").read_bytes()


def test_an_operator_without_a_form_is_named_and_saved_in_our_own_format(tmp_path):
    net = paddle.nn.Sequential(paddle.nn.Linear(3, 3))

    def forward(x):
        return paddle.copysign(net(x), x)

    spec = [paddle.static.InputSpec([None, 3], "float32", "x0")]
    function = paddle.jit.to_static(forward, input_spec=spec)
    with (
        pytest.warns(UserWarning, match="What you save is a function"),
        pytest.warns(UserWarning, match="argosy's own format.*'copysign'"),
    ):
        paddle.jit.save(function, str(tmp_path / "m"))
    assert (tmp_path / "m.pdmodel").read_bytes().startswith(b"argosy-program")
    x = paddle.ones([2, 3])
    layer = paddle.jit.load(str(tmp_path / "m"))
    np.testing.assert_allclose(layer(x).numpy(), forward(x).numpy(), rtol=1e-6)


def test_json_of_paddle_3_is_refused_with_what_to_do(tmp_path):
    data = b'{"base_code":{"magic":"pir"}}'
    with pytest.raises(NotImplementedError, match="FLAGS_enable_pir_api=0"):
        paddle.static.deserialize_program(data)
    (tmp_path / "m.json").write_bytes(data)
    with pytest.raises(NotImplementedError, match="FLAGS_enable_pir_api=0"):
        paddle.jit.load(str(tmp_path / "m"))
