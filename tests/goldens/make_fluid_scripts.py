"""Run the scripts of ``fluid_scripts`` with real Paddle 1.8.5 and store what they write, and the
files of ``fluid_files``.

PATH_TO_PADDLE_VENV/bin/python tests/goldens/make_fluid_scripts.py
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import paddle
import paddle.fluid as fluid
from goldens import fluid_files

HERE = Path(__file__).resolve().parent
SCRIPTS = (
    "recognize_digits",
    "loader_of_program",
    "inference_folder",
    "fine_tune",
    "iterable_loader",
)


def run(name):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        script = HERE / "fluid_scripts" / (name + ".py")
        env = dict(os.environ, CPU_NUM="2", OMP_NUM_THREADS="1")
        subprocess.run([sys.executable, str(script), path], check=True, env=env)
        with open(path) as file:
            return json.load(file)


def main():
    if not paddle.__version__.startswith("1.8"):
        raise SystemExit("needs Paddle 1.8, this is " + paddle.__version__)
    stored = {name: run(name) for name in SCRIPTS}
    with open(str(HERE / "data" / "fluid_scripts.json"), "w") as file:
        json.dump(stored, file, indent=1, sort_keys=True)
        file.write("\n")
    folder = HERE / "data" / "files" / "fluid"
    shutil.rmtree(str(folder), ignore_errors=True)
    for kind in fluid_files.KINDS:
        fluid_files.write(fluid, str(folder / kind), kind)
        (folder / kind / "saved.pdmodel").unlink()
        fluid_files.check(fluid, str(folder / kind), kind)
    print(sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()), "bytes of files")


if __name__ == "__main__":
    main()
