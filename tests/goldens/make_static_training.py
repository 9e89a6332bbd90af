"""Run the programs of ``static_training`` with real Paddle 2.6.2 and store their values.

Run it with an interpreter that has that version: ``FLAGS_enable_pir_api=0 python
tests/goldens/make_static_training.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import static_training  # noqa: E402

import paddle  # noqa: E402


def main() -> None:
    if not paddle.version.full_version.startswith("2.6"):
        raise SystemExit(f"needs Paddle 2.6, this is {paddle.version.full_version}")
    paddle.enable_static()
    paddle.seed(11)
    stored = {}
    for case in static_training.CASES:
        values = static_training.train(paddle, case)
        stored.update({f"{case}/{key}": value for key, value in values.items()})
        print(case, values["fetched"][0], values["fetched"][-1])
    prefix = HERE / "data" / "files" / "static_adam"
    for suffix in (".pdparams", ".pdopt"):
        prefix.with_suffix(suffix).unlink(missing_ok=True)
    stored["resumed"] = static_training.resumed(paddle, str(prefix))
    np.savez_compressed(HERE / "data" / "static_training.npz", **stored)


if __name__ == "__main__":
    main()
