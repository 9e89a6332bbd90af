"""Store how real Paddle records the layers of ``program_forms``: 1.8.5 those of ``fluid``, 2.6.2
those of ``paddle``.

PATH_TO_PADDLE_VENV/bin/python tests/goldens/make_program_forms.py
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import program_forms  # noqa: E402

import paddle  # noqa: E402


def main():
    if hasattr(paddle, "foundation"):
        raise SystemExit("this interpreter's paddle is argosy; goldens must come from real Paddle")
    if paddle.__version__.startswith("1.8"):
        import paddle.fluid as fluid

        module, made, names = fluid, program_forms.fluid_forms, program_forms.FLUID
    else:
        paddle.enable_static()
        module, made, names = paddle, program_forms.static_forms, program_forms.STATIC
    lines = [f"{json.dumps(name)}: {json.dumps(made(module, name))}" for name in names]
    path = HERE / "data" / f"program_forms_{paddle.__version__}.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(len(lines), "layers,", path.stat().st_size // 1024, "KB")


if __name__ == "__main__":
    main()
