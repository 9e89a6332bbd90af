"""Run the programs of ``static_programs`` with real Paddle 2.6.2 and store first values, losses and
last values.

Run it with an interpreter that has that version: ``FLAGS_enable_pir_api=0 python
tests/goldens/make_static.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import static_programs  # noqa: E402

import paddle  # noqa: E402


def save_parameters() -> None:
    """The parameters of a small program after a run, as ``static.save`` writes them."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        static_programs.small(paddle)
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(startup)
    exe.run(main, feed={"x": np.ones((2, 3), "float32")})
    paddle.static.save(main, str(HERE / "data" / "files" / "static"))
    for suffix in (".pdopt", ".pdmodel"):
        (HERE / "data" / "files" / f"static{suffix}").unlink()


def main() -> None:
    if not paddle.version.full_version.startswith("2.6"):
        raise SystemExit(f"needs Paddle 2.6, this is {paddle.version.full_version}")
    paddle.enable_static()
    paddle.seed(7)
    stored = {}
    for case in static_programs.CASES:
        fetched, first, last = static_programs.train(paddle, case)
        stored[f"{case}/fetched"] = fetched
        stored.update({f"{case}/first/{name}": value for name, value in first.items()})
        stored.update({f"{case}/last/{name}": value for name, value in last.items()})
        print(case, fetched[0], fetched[-1])
    save_parameters()
    np.savez_compressed(HERE / "data" / "static_programs.npz", **stored)


if __name__ == "__main__":
    main()
