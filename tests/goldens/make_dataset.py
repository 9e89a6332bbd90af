"""Train ``dataset_programs`` with real Paddle 2.6.2 or 1.8.5 and store the parameters, and with
2.6.2 the lines that it prints.

Run it with interpreters that have these: ``FLAGS_enable_pir_api=0 python
tests/goldens/make_dataset.py``.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import dataset_programs  # noqa: E402

import paddle  # noqa: E402


def _printed(call):
    """What ``call`` returns, and what it writes to the process's standard output, from which times
    are cut.
    """
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            result = call()
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        lines = file.read().decode().splitlines()
    return result, [line.split(", ", 1)[1] for line in lines if line.startswith("time: [")]


def main() -> None:
    is_old = paddle.__version__.startswith("1.8")
    stored = {}
    for kind in dataset_programs.KINDS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)  # Paddle writes descriptions of its trainers where it is
            if is_old:
                found, lines = _printed(
                    lambda: dataset_programs.run_old(paddle.fluid, kind, folder)  # noqa: B023
                )
            else:
                paddle.enable_static()
                found, lines = _printed(lambda: dataset_programs.run_new(paddle, kind, folder))  # noqa: B023
        stored.update((f"{kind}/{name}", value) for name, value in found.items())
        if not is_old:
            stored[kind + "/lines"] = np.array(lines)
    np.savez_compressed(
        str(HERE / "data" / "dataset_{}.npz".format("185" if is_old else "262")), **stored
    )
    print({key: value.shape for key, value in stored.items()})


if __name__ == "__main__":
    main()
