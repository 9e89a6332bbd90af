"""Check with real Paddle 1.8.5 that it reads what ``paddle.fluid`` of argosy writes.

ARGOSY_VENV/bin/python tests/goldens/check_fluid_files.py write FOLDER
PATH_TO_PADDLE_VENV/bin/python tests/goldens/check_fluid_files.py read FOLDER
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import paddle
import paddle.fluid as fluid
from goldens import fluid_files


def main(action, folder):
    if action == "read" and hasattr(paddle, "from_torch"):
        raise SystemExit("this interpreter's paddle is argosy; real Paddle must read the files")
    for kind in fluid_files.KINDS:
        {"write": fluid_files.write, "read": fluid_files.check}[action](
            fluid, folder + "/" + kind, kind
        )
    if action == "read":
        print("Paddle reads every file")


if __name__ == "__main__":
    main(*sys.argv[1:])
