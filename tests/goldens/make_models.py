"""Store files that real Paddle writes for the networks of ``model_networks``, with inputs and what
Paddle computes of them: 2.6.2 by ``jit.save``, 1.8.5 as folders.

PATH_TO_PADDLE_VENV/bin/python tests/goldens/make_models.py [NAME ...]
"""

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("FLAGS_enable_pir_api", "0")

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import model_networks  # noqa: E402

import paddle  # noqa: E402

try:
    from paddle.base.proto import framework_pb2
except ImportError:
    from paddle.fluid.proto import framework_pb2

FOLDER = HERE / "data" / "models"


def stored(name, **arrays):
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}_{paddle.__version__}.npz"
    np.savez_compressed(str(path), **arrays)
    print(path.name, path.stat().st_size, "bytes")


def content(path):
    return np.frombuffer(path.read_bytes(), "uint8")


def shortened(data):
    """A program without the lines of the script that recorded it."""
    program = framework_pb2.ProgramDesc.FromString(data)
    for block in program.blocks:
        for op in block.ops:
            kept = [attr for attr in op.attrs if attr.name != "op_callstack"]
            del op.attrs[:]
            op.attrs.extend(kept)
    return np.frombuffer(program.SerializeToString(), "uint8")


def make_layers():
    paddle.seed(1)
    for name, (net, specs, inputs) in model_networks.layers(paddle).items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        net.eval()
        given = [
            paddle.static.InputSpec(shape, dtype, f"x{i}") for i, (shape, dtype) in enumerate(specs)
        ]
        with tempfile.TemporaryDirectory() as folder:
            paddle.jit.save(net, f"{folder}/m", input_spec=given)
            files = {path.name: content(path) for path in Path(folder).iterdir()}
            data = (Path(folder) / "m.pdmodel").read_bytes()
            files["m.pdmodel"] = shortened(data)
        out = net(*[paddle.to_tensor(x) for x in inputs])
        flat = [out] if not isinstance(out, (list, tuple)) else [*_flat(out)]
        values = {f"out{i}": value.numpy() for i, value in enumerate(flat)}
        stored(name, **{f"file:{k}": v for k, v in files.items()}, **values)


def _flat(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def make_fluid():
    import paddle.fluid as fluid

    for name, build in model_networks.FLUID.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        main, startup = fluid.Program(), fluid.Program()
        main.random_seed = startup.random_seed = 3
        place = fluid.CPUPlace()
        exe = fluid.Executor(place)
        with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
            feed, fetches = build(fluid, fluid.layers)
            exe.run(startup)
            fed = {
                key: fluid.create_lod_tensor(value[0], list(value[1:]), place)
                if isinstance(value, tuple)
                else value
                for key, value in feed.items()
            }
            with tempfile.TemporaryDirectory() as folder:
                names = sorted(feed)
                fluid.io.save_inference_model(folder, names, fetches, exe, main)
                program, _, targets = fluid.io.load_inference_model(folder, exe)
                out = exe.run(program, feed=fed, fetch_list=targets, return_numpy=False)
                found = [path for path in Path(folder).rglob("*") if path.is_file()]
                files = {str(path.relative_to(folder)): content(path) for path in found}
                data = (Path(folder) / "__model__").read_bytes()
                files["__model__"] = shortened(data)
        values = {f"out{i}": np.array(value) for i, value in enumerate(out)}
        for i, value in enumerate(out):
            for level, lengths in enumerate(value.recursive_sequence_lengths()):
                values[f"lengths{i}.{level}"] = np.array(lengths)
        stored(name, **{f"file:{k}": v for k, v in files.items()}, **values)


def main():
    if hasattr(paddle, "foundation"):
        raise SystemExit("this interpreter's paddle is argosy; goldens must come from real Paddle")
    (make_fluid if paddle.__version__.startswith("1.8") else make_layers)()


if __name__ == "__main__":
    main()
