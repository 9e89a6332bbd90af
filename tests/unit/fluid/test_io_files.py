"""Files of variables: those of real Paddle 1.8.5 are read, those written here are the same
bytes.
"""

import filecmp
import os
from pathlib import Path

import numpy as np
import pytest

import paddle.fluid as fluid
from argosy.foundation.errors import CheckpointError, NotSupported, ProgramError
from goldens import fluid_files

FILES = Path(__file__).resolve().parents[2] / "goldens" / "data" / "files" / "fluid"


pytestmark = pytest.mark.usefixtures("fresh_programs")


@pytest.fixture
def exe():
    return fluid.Executor(fluid.CPUPlace())


@pytest.mark.parametrize("kind", fluid_files.KINDS)
def test_files_of_paddle_are_read(kind):
    fluid_files.check(fluid, str(FILES / kind), kind)


@pytest.mark.parametrize("kind", fluid_files.KINDS)
def test_files_are_those_of_paddle(kind, tmp_path):
    fluid_files.write(fluid, str(tmp_path), kind)
    names = fluid_files.file_names(kind)
    assert sorted(os.listdir(tmp_path / "variables")) == sorted(names)
    assert sorted(os.listdir(tmp_path / "inference")) == ["__model__", "params"]
    # What Adam makes of the weights differs in the last bit.
    exact = [
        name
        for name in names
        if kind == "momentum" or not name.startswith("dense.") or "pow" in name
    ]
    paths = [f"variables/{name}" for name in exact]
    if kind == "momentum":
        paths += ["combined", "inference/params"]
    different = [
        path
        for path in paths
        if not filecmp.cmp(tmp_path / path, FILES / kind / path, shallow=False)
    ]
    assert different == []
    assert (tmp_path / "combined").stat().st_size == (FILES / kind / "combined").stat().st_size


def test_an_inference_model_of_paddle_computes_with_its_variables(exe):
    program, feeds, targets = fluid.io.load_inference_model(
        str(FILES / "momentum" / "inference"), exe, params_filename="params"
    )
    x = np.array([[1.0, 2.0], [0.5, -1.0]], "float32")
    weight, bias = (
        np.array(fluid.global_scope().find_var(f"dense.{name}").get_tensor()) for name in "wb"
    )
    [made] = exe.run(program, feed={feeds[0]: x}, fetch_list=targets)
    np.testing.assert_allclose(made, x @ weight + bias, rtol=1e-6)


def test_what_is_saved_can_be_chosen(exe, tmp_path):
    main, startup, _ = fluid_files.build(fluid, "momentum")
    exe.run(startup)
    fluid.io.save_params(exe, str(tmp_path / "params"), main)
    assert sorted(os.listdir(tmp_path / "params")) == ["dense.b", "dense.w"]
    fluid.io.save_vars(exe, str(tmp_path / "named"), main, vars=["counter"])
    assert os.listdir(tmp_path / "named") == ["counter"]
    fluid.io.save_vars(
        exe, str(tmp_path / "picked"), main, predicate=lambda v: "velocity" in v.name
    )
    assert sorted(os.listdir(tmp_path / "picked")) == ["dense.b_velocity_0", "dense.w_velocity_0"]
    with pytest.warns(UserWarning, match="no variable"):
        fluid.io.save_vars(exe, str(tmp_path), main, predicate=lambda v: False)


def test_variables_as_bytes(exe):
    main, startup, _ = fluid_files.build(fluid, "momentum")
    exe.run(startup)
    fluid_files.train(exe, main)
    expected = fluid_files.values(fluid, main)
    data = fluid.io.save_persistables(exe, None, main)
    assert data == (FILES / "momentum" / "combined").read_bytes()
    exe.run(startup)
    fluid.io.load_persistables(exe, None, main, filename=data)
    for name, value in fluid_files.values(fluid, main).items():
        np.testing.assert_array_equal(value, expected[name])


def test_one_variable_of_several_changes_nothing_when_a_file_is_wrong(exe, tmp_path):
    main, startup, _ = fluid_files.build(fluid, "momentum")
    exe.run(startup)
    before = fluid_files.values(fluid, main)
    fluid_files.train(exe, main)
    fluid.io.save_persistables(exe, str(tmp_path), main)
    fluid.io.save_persistables(exe, str(tmp_path), main, filename="combined")
    exe.run(startup)
    torn = tmp_path / "dense.w_velocity_0"
    torn.write_bytes(torn.read_bytes()[:-3])
    with pytest.raises(CheckpointError, match=r"dense.w_velocity_0' is cut short"):
        fluid.io.load_persistables(exe, str(tmp_path), main)
    torn.unlink()
    with pytest.raises(CheckpointError, match=r"no file .*dense.w_velocity_0' for the variable"):
        fluid.io.load_persistables(exe, str(tmp_path), main)
    combined = tmp_path / "combined"
    whole = combined.read_bytes()
    combined.write_bytes(whole[:-1])
    with pytest.raises(CheckpointError, match="cut short"):
        fluid.io.load_persistables(exe, str(tmp_path), main, filename="combined")
    combined.write_bytes(whole + b"more")
    with pytest.raises(CheckpointError, match="holds more than the 6 variables"):
        fluid.io.load_persistables(exe, str(tmp_path), main, filename="combined")
    (tmp_path / "dense.w").write_bytes((tmp_path / "dense.b").read_bytes())
    with pytest.raises(
        RuntimeError, match=r"'dense.w' has shape \[3\] and dtype float32 .* but \[2, 3\]"
    ):
        fluid.io.load_vars(exe, str(tmp_path), main, vars=["dense.b", "dense.w"])
    for name, value in fluid_files.values(fluid, main).items():
        np.testing.assert_array_equal(value, before[name])


def test_saving_needs_values(exe, tmp_path):
    main, _, _ = fluid_files.build(fluid, "momentum")
    with pytest.raises(ProgramError, match="holds no value in this scope"):
        fluid.io.save_params(exe, str(tmp_path), main)
    assert os.listdir(tmp_path) == []
    with pytest.raises(TypeError, match="main_program must be a Program"):
        fluid.io.save_params(exe, str(tmp_path), "main")
    with pytest.raises(ValueError, match="both be None"):
        fluid.io.load_params(exe, None, main)


@pytest.mark.parametrize("kind", fluid_files.KINDS)
def test_load_takes_folders_and_files_of_variables(exe, kind):
    main, startup, _ = fluid_files.build(fluid, kind)
    folder, combined = str(FILES / kind / "variables"), str(FILES / kind / "combined")
    exe.run(startup)
    fluid_files.train(exe, main)
    expected = fluid_files.values(fluid, main)
    with pytest.raises(ValueError, match="var_list"):
        fluid.load(main, combined, exe)
    kept = [v for v in main.list_vars() if v.persistable]
    for load in (
        lambda: fluid.load(main, folder, exe),
        lambda: fluid.load(main, combined, exe, kept),
        lambda: fluid.set_program_state(main, fluid.load_program_state(folder)),
        lambda: fluid.set_program_state(main, fluid.load_program_state(combined, kept)),
    ):
        exe.run(startup)
        load()
        fluid_files.same(fluid_files.values(fluid, main), expected, kind)
    with pytest.warns(UserWarning, match=r"no variables for .*'nowhere'"):
        fluid.set_program_state(main, {"nowhere": np.zeros(2)})


def test_powers_of_one_parameter_may_be_those_of_another_step(exe, tmp_path):
    main, startup, _ = fluid_files.build(fluid, "adam")
    exe.run(startup)
    fluid_files.train(exe, main)
    fluid.io.save_persistables(exe, str(tmp_path), main)
    names = [v.name for v in main.list_vars() if "_beta1_pow_acc" in v.name]
    (tmp_path / names[0]).write_bytes((tmp_path / "learning_rate_0").read_bytes())
    before = fluid_files.values(fluid, main)
    fluid.io.load_persistables(exe, str(tmp_path), main)
    after = fluid_files.values(fluid, main)
    assert after[names[0]] == before["learning_rate_0"]
    assert after[names[1]] == before[names[1]]


def test_an_initial_array_is_not_trained_in_place(exe):
    main, startup, _ = fluid_files.build(fluid, "momentum")
    before = fluid_files.WEIGHT.copy()
    exe.run(startup)
    fluid_files.train(exe, main)
    np.testing.assert_array_equal(fluid_files.WEIGHT, before)


class TestInferenceModel:
    def test_needs_only_what_is_fed_and_kept(self, exe, tmp_path):
        main, startup, y = fluid_files.build(fluid, "momentum")
        exe.run(startup)
        folder = str(tmp_path / "model")
        assert fluid.io.save_inference_model(folder, ["x"], [y], exe, main) == [y.name]
        with fluid.scope_guard(fluid.Scope()):
            program, feeds, targets = fluid.io.load_inference_model(folder, exe)
            assert feeds == ["x"]
            assert {v.name for v in program.list_vars() if v.persistable} == {"dense.w", "dense.b"}
            [value] = exe.run(program, feed={"x": np.eye(2, dtype="float32")}, fetch_list=targets)
        np.testing.assert_allclose(value, fluid_files.WEIGHT + fluid_files.BIAS)

    def test_as_bytes(self, exe, tmp_path):
        main, startup, y = fluid_files.build(fluid, "momentum")
        exe.run(startup)
        fluid.io.save_inference_model(
            str(tmp_path), ["x"], [y], exe, main, params_filename="params"
        )
        model, params = [(tmp_path / name).read_bytes() for name in ("__model__", "params")]
        with fluid.scope_guard(fluid.Scope()):
            program, _, targets = fluid.io.load_inference_model(None, exe, model, params)
            [value] = exe.run(program, feed={"x": np.zeros((1, 2), "float32")}, fetch_list=targets)
        np.testing.assert_array_equal(value[0], fluid_files.BIAS)

    def test_a_model_whose_inputs_are_not_named_is_saved_with_a_warning(self, exe, tmp_path):
        main, startup, y = fluid_files.build(fluid, "momentum")
        exe.run(startup)
        with pytest.warns(UserWarning, match=r"depend on \['x'\]"):
            fluid.io.save_inference_model(str(tmp_path), [], [y], exe, main)

    def test_a_model_for_training_is_not_saved(self, exe, tmp_path):
        main, startup, y = fluid_files.build(fluid, "momentum")
        exe.run(startup)
        with pytest.raises(NotSupported, match="export_for_deployment"):
            fluid.io.save_inference_model(
                str(tmp_path), ["x"], [y], exe, main, export_for_deployment=False
            )

    def test_a_model_that_is_not_there_is_said_to_be_missing(self, exe, tmp_path):
        with pytest.raises(ValueError, match="no directory named"):
            fluid.io.load_inference_model(str(tmp_path / "nowhere"), exe)
        with pytest.raises(CheckpointError, match=r"no file .*__model__"):
            fluid.io.load_inference_model(str(tmp_path), exe)

    def test_a_model_that_is_cut_short_is_refused(self, exe, tmp_path):
        main, startup, y = fluid_files.build(fluid, "momentum")
        exe.run(startup)
        fluid.io.save_inference_model(str(tmp_path), ["x"], [y], exe, main)
        model = tmp_path / "__model__"
        model.write_bytes(model.read_bytes()[:-9])
        with pytest.raises(CheckpointError, match="damaged or cut short"):
            fluid.io.load_inference_model(str(tmp_path), exe)

    def test_only_the_program(self, exe, tmp_path):
        main, _, y = fluid_files.build(fluid, "momentum")
        fluid.io.save_inference_model(str(tmp_path), ["x"], [y], exe, main, program_only=True)
        assert os.listdir(tmp_path) == ["__model__"]
