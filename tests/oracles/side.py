"""One side of an exchange: saves nets, or loads what another Paddle saved and compares.

    PYTHON side.py save|load FOLDER NET ...

Prints a line of JSON for each net: {"net": ..., "results": {way: problem}}; a problem is empty if
there is none. It runs under argosy and under real Paddle from 1.8.5 on.
"""

import json
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("FLAGS_enable_pir_api", "0")
os.environ.setdefault("GLOG_v", "0")

import nets
import numpy as np

import paddle

warnings.simplefilter("ignore")

IS_OLD = paddle.__version__.startswith("1.")
IS_ARGOSY = hasattr(paddle, "from_torch")
TOLERANCE = 1e-5  # of the largest number of an output


def flat(values):
    """The tensors of a nested result, in their order."""
    if not isinstance(values, (list, tuple)):
        return [values]
    return [tensor for value in values for tensor in flat(value)]


def store(path, arrays, levels):
    """Arrays, and the lengths of sequences of those that are such."""
    kept = {str(name): np.asarray(value) for name, value in arrays.items()}
    for name, lengths in levels.items():
        for i, level in enumerate(lengths):
            kept[f"{name}:{i}"] = np.array(level)
    np.savez(str(path), **kept)


def stored(path):
    with np.load(str(path)) as data:
        arrays = {name: data[name] for name in data.files if ":" not in name}
        levels = {
            name: [data[key].tolist() for key in sorted(data.files) if key.startswith(f"{name}:")]
            for name in arrays
        }
    return arrays, levels


# -- saving
# --------------------------------------------------------------------------------------------------


def save_layer(folder, name):
    paddle.disable_static()
    paddle.seed(1)
    net, specs, inputs = nets.layer(paddle, name)
    net.eval()
    given = [
        paddle.static.InputSpec(shape, dtype, f"x{i}") for i, (shape, dtype) in enumerate(specs)
    ]
    out = [value.numpy() for value in flat(net(*[paddle.to_tensor(x) for x in inputs]))]
    paddle.jit.save(net, str(folder / "m"), input_spec=given)
    store(folder / "inputs.npz", {f"x{i}": x for i, x in enumerate(inputs)}, {})
    store(folder / "outputs.npz", dict(enumerate(out)), {})


def save_fluid(folder, name):
    import paddle.fluid as fluid

    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        feed, fetches = nets.model_networks.FLUID[name](fluid, fluid.layers)
        exe.run(startup)
        fluid.io.save_inference_model(
            str(folder), sorted(feed), fetches, exe, main, params_filename="__params__"
        )
        arrays = {k: v[0] if isinstance(v, tuple) else v for k, v in feed.items()}
        levels = {k: v[1:] for k, v in feed.items() if isinstance(v, tuple)}
        store(folder / "inputs.npz", arrays, levels)
        program = fluid.io.load_inference_model(str(folder), exe, params_filename="__params__")
        out = run(exe, *program, folder=folder)
    store(
        folder / "outputs.npz", dict(enumerate(map(np.array, out))), dict(enumerate(map(lod, out)))
    )


# -- loading
# --------------------------------------------------------------------------------------------------


def lod(value):
    ask = getattr(value, "recursive_sequence_lengths", None)
    return ask() if ask is not None else []


def run(exe, program, feeds, fetches, folder):
    arrays, levels = stored(folder / "inputs.npz")
    fed = {name: sequences(arrays[name], levels[name]) for name in feeds}
    return exe.run(program, feed=fed, fetch_list=fetches, return_numpy=False)


def sequences(array, lengths):
    if not lengths:
        return array
    if IS_OLD or IS_ARGOSY:
        import paddle.fluid as fluid

        return fluid.create_lod_tensor(array, lengths, fluid.CPUPlace())
    core = paddle.base.core
    out = (core.LoDTensor if hasattr(core, "LoDTensor") else core.DenseTensor)()
    out.set(array, paddle.CPUPlace())
    out.set_recursive_sequence_lengths(lengths)
    return out


def by_program(folder):
    """``load_inference_model`` and an Executor."""
    is_folder = (folder / "__model__").exists()
    if IS_OLD or (IS_ARGOSY and is_folder):
        import paddle.fluid as fluid

        exe = fluid.Executor(fluid.CPUPlace())
        with fluid.scope_guard(fluid.Scope()):
            loaded = fluid.io.load_inference_model(str(folder), exe, params_filename="__params__")
            return run(exe, *loaded, folder=folder)
    static = paddle.static
    names = {"model_filename": "__model__", "params_filename": "__params__"} if is_folder else {}
    paddle.enable_static()
    try:
        exe = static.Executor(paddle.CPUPlace())
        with static.scope_guard(static.Scope() if IS_ARGOSY else paddle.base.core.Scope()):
            loaded = static.load_inference_model(
                str(folder if is_folder else folder / "m"), exe, **names
            )
            return run(exe, *loaded, folder=folder)
    finally:
        paddle.disable_static()


def by_layer(folder):
    arrays, _ = stored(folder / "inputs.npz")
    layer = paddle.jit.load(str(folder / "m"))
    layer.eval()
    out = layer(*[paddle.to_tensor(arrays[f"x{i}"]) for i in range(len(arrays))])
    return [value.numpy() for value in flat(out)]


def by_predictor(folder):
    old = folder / "__model__"
    files = (
        (old, folder / "__params__")
        if old.exists()
        else (folder / "m.pdmodel", folder / "m.pdiparams")
    )
    config = paddle.inference.Config(*map(str, files))
    config.disable_glog_info()
    predictor = paddle.inference.create_predictor(config)
    arrays, levels = stored(folder / "inputs.npz")
    for name in predictor.get_input_names():
        handle = predictor.get_input_handle(name)
        handle.reshape(arrays[name].shape)
        handle.copy_from_cpu(arrays[name])
        if levels[name]:
            handle.set_lod([[0, *np.cumsum(level).tolist()] for level in levels[name]])
    predictor.run()
    return [
        predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names()
    ]


def problem_of(made, folder):
    arrays, levels = stored(folder / "outputs.npz")
    if len(made) != len(arrays):
        return f"{len(made)} outputs for {len(arrays)}"
    for i, value in enumerate(made):
        wanted, found = arrays[str(i)], np.array(value)
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            return f"output {i} is {found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}"
        if not np.isfinite(wanted).all():
            return f"output {i} is not finite"
        scale = max(1.0, float(np.abs(wanted).max())) if wanted.size else 1.0
        apart = float(np.abs(found.astype("float64") - wanted).max()) if wanted.size else 0.0
        if apart > TOLERANCE * scale:
            return f"output {i} is {apart:.1e} apart, of numbers up to {scale:.1e}"
        if hasattr(value, "recursive_sequence_lengths") and lod(value) != levels[str(i)]:
            return f"output {i} has sequences {lod(value)}, not {levels[str(i)]}"
    return ""


def load(folder, name):
    ways = {"program": by_program}
    if not IS_OLD:
        ways["predictor"] = by_predictor
        if name in nets.LAYERS:
            ways["layer"] = by_layer
    return {
        way: caught(lambda: problem_of(call(folder), folder))  # noqa: B023  it is called at once
        for way, call in ways.items()
    }


def save(folder, name):
    folder.mkdir(parents=True)
    (save_layer if name in nets.LAYERS else save_fluid)(folder, name)
    is_ours = (folder / ("m.pdmodel" if name in nets.LAYERS else "__model__")).read_bytes()[
        :6
    ] == b"argosy"
    return {"save": "written in argosy's own format" if is_ours else ""}


def caught(call):
    try:
        return call()
    except Exception as error:  # the report has it
        text = [line for line in str(error).strip().splitlines() if line.strip()]
        return f"{type(error).__name__}: {text[-1] if text and not IS_ARGOSY else ' '.join(text)}"[
            :300
        ]


def main():
    what, folder, *names = sys.argv[1:]
    if what == "version":
        print(paddle.__version__ if not IS_ARGOSY else "argosy")
        return
    for name in names:
        print(json.dumps({"net": name, "results": None}), flush=True)  # it is under way
        act = {"save": save, "load": load}[what]
        found = caught(lambda: act(Path(folder) / name, name))  # noqa: B023
        results = found if isinstance(found, dict) else {what: found}
        print(json.dumps({"net": name, "results": results}), flush=True)


if __name__ == "__main__":
    main()
