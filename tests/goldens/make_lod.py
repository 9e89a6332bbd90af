"""Run the programs of ``lod_programs`` with real Paddle 2.6.2 or 1.8.5 and store what came out.

Run it with interpreters that have these: ``FLAGS_enable_pir_api=0 python
tests/goldens/make_lod.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import lod_programs  # noqa: E402

import paddle  # noqa: E402


def main() -> None:
    version = paddle.__version__
    if not version.startswith(("1.8", "2.6")):
        raise SystemExit(f"needs Paddle 1.8 or 2.6, this is {version}")
    is_old = version.startswith("1.")
    if not is_old:
        paddle.enable_static()
    stored = {}
    for name in lod_programs.CASES:
        if is_old or name not in lod_programs.OLD_ONLY:
            found = lod_programs.run(paddle, name, is_old)
            stored.update((f"{name}/{key}", value) for key, value in found.items())
            print(name, {key: value.shape for key, value in found.items()})
    np.savez_compressed(str(HERE / "data" / f"lod_{'185' if is_old else '262'}.npz"), **stored)


if __name__ == "__main__":
    main()
