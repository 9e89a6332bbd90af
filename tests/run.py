"""``make test``: the tests of single processes and those of several, side by side; ``python
tests/run.py [options of pytest]``.

Tests of several processes mostly wait for each other, so together they take little longer than the
longer part alone. The architecture's tests come first and those of faults last, alone: one measures
how long an import takes, others look at what is left on the whole machine. Tests start hundreds of
processes, so the package is compiled before, also where the environment keeps Python from doing so
by itself.
"""

from __future__ import annotations

import compileall
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent
FIRST, SEVERAL, LAST = "architecture", "multiprocess", "faults"
# have targets of their own, and need a package index or Debian's packages
APART = ("clusters", "packaging", "browser")


def pytest(folders: list[str], options: list[str]) -> list[str]:
    paths = [str(TESTS / folder) for folder in folders]
    return [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-m",
        "not thorough",
        *paths,
        *options,
    ]


def main(options: list[str]) -> int:
    folders = sorted(path.name for path in TESTS.iterdir() if any(path.glob("**/test_*.py")))
    single = [name for name in folders if name not in (FIRST, SEVERAL, LAST, *APART)]
    compileall.compile_dir(TESTS.parent / "src", quiet=1)
    codes = [subprocess.call(pytest([FIRST], options))]
    with tempfile.TemporaryFile() as shown:
        several = subprocess.Popen(
            pytest([SEVERAL], options), stdout=shown, stderr=subprocess.STDOUT
        )
        try:
            codes.append(subprocess.call(pytest(single, options)))
            print(f"waiting for {SEVERAL}", flush=True)
            codes.append(several.wait())
        finally:
            several.terminate()
            several.wait()
        shown.seek(0)
        print(shown.read().decode(errors="replace"), flush=True)
    codes.append(subprocess.call(pytest([LAST], options)))
    return max(codes, key=abs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
