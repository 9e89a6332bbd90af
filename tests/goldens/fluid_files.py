"""The programs whose files real Paddle 1.8.5 and argosy exchange. Works on Python 3.7."""

import numpy as np

WEIGHT = np.array([[0.5, -1.25, 2.0], [3.5, 0.125, -0.75]], "float32")
BIAS = np.array([0.25, -0.5, 1.0], "float32")
KINDS = ("momentum", "adam")
LABELS = {
    "momentum": ["velocity"],
    "adam": ["beta1_pow_acc", "beta2_pow_acc", "moment1", "moment2"],
}


def file_names(kind):
    """The variables that Paddle keeps of a program."""
    states = [f"dense.{p}_{label}_0" for p in "bw" for label in LABELS[kind]]
    return sorted(["counter", "dense.b", "dense.w", "learning_rate_0"] + states)


def build(fluid, kind):
    """A layer, an optimizer and a counter; returns the programs and the output."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = fluid.data("x", [None, 2])
        fluid.layers.create_global_var([1], 7, "int64", persistable=True, name="counter")
        array = fluid.initializer.NumpyArrayInitializer
        y = fluid.layers.fc(
            x,
            3,
            param_attr=fluid.ParamAttr(name="dense.w", initializer=array(WEIGHT)),
            bias_attr=fluid.ParamAttr(name="dense.b", initializer=array(BIAS)),
        )
        optimizer = (
            fluid.optimizer.Momentum(0.25, 0.5)
            if kind == "momentum"
            else fluid.optimizer.Adam(0.25)
        )
        optimizer.minimize(fluid.layers.mean(y))
    return main, startup, y


def train(exe, main, steps=3):
    for _ in range(steps):
        exe.run(main, feed={"x": np.array([[1.0, 2.0]], "float32")})


def write(fluid, folder, kind):
    """Everything that one of the two writes and the other is to read."""
    main, startup, y = build(fluid, kind)
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        train(exe, main)
        fluid.io.save_persistables(exe, folder + "/variables", main)
        fluid.io.save_persistables(exe, folder, main, filename="combined")
        fluid.save(main, folder + "/saved")
        fluid.io.save_inference_model(
            folder + "/inference", ["x"], [y], exe, main, params_filename="params"
        )


def values(fluid, main):
    """What the current scope holds for the program."""
    names = [v.name for v in main.list_vars() if v.persistable and v.name not in ("feed", "fetch")]
    return {name: np.array(fluid.global_scope().find_var(name).get_tensor()) for name in names}


def check(fluid, folder, kind):
    """Read each kind of file into a scope of its own: it must hold what training gives."""
    main, startup, _ = build(fluid, kind)
    exe = fluid.Executor(fluid.CPUPlace())
    readers = {
        "variables": lambda: fluid.io.load_persistables(exe, folder + "/variables", main),
        "combined": lambda: fluid.io.load_persistables(exe, folder, main, filename="combined"),
        "saved": lambda: fluid.load(main, folder + "/saved", exe),
        "state": lambda: fluid.set_program_state(main, fluid.load_program_state(folder + "/saved")),
    }
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        train(exe, main)
        expected = values(fluid, main)
    for name, load in readers.items():
        with fluid.scope_guard(fluid.Scope()):
            exe.run(startup)
            load()
            same(values(fluid, main), expected, kind + " " + name)


def same(found, expected, where):
    assert sorted(found) == sorted(expected), where
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, err_msg=where + " " + name)
