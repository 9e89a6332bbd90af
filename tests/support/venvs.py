"""Virtual environments, what is in them, and the packages that go there."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = (ROOT, ROOT / "packages" / "argosy-paddle")
# third-party packages: installing them anew would take most of the time
_SHARED = str(Path(torch.__file__).resolve().parents[1])
_PADDLE = {
    "paddle/__init__.py": "REAL = 'real'\nfrom paddle import base, nn\n",
    "paddle/base/__init__.py": "REAL = 'real base'\n",
    "paddle/nn/__init__.py": "REAL = 'real nn'\n",
    "paddle/distributed/__init__.py": "",
    "paddle/distributed/launch/__init__.py": "",
    "paddle/distributed/launch/main.py": "def launch(): print('the real launcher')\n",
    "paddle/libs/libstand_in.so": "not really",
    "paddlepaddle-3.3.1.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: paddlepaddle\nVersion: 3.3.1\n"
    ),
    "paddlepaddle-3.3.1.dist-info/WHEEL": (
        "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    ),
    "paddlepaddle-3.3.1.dist-info/entry_points.txt": (
        "[console_scripts]\nfleetrun = paddle.distributed.launch.main:launch\n"
    ),
}


def call(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> str:
    """Run a command to its end and return what it printed; one that fails fails the test."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env=environment,
        cwd="/",  # not the repository, which has packages of these names
        timeout=1500,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Venv:
    """A virtual environment in ``folder``; pip finds the files in ``built`` too."""

    def __init__(self, folder: Path, built: Path) -> None:
        venv.create(folder, symlinks=True)
        self.bin = folder / "bin"
        self.built = built
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.packages = folder / "lib" / version / "site-packages"

    def install(self, *what: str, with_needs: bool = False) -> None:
        """``pip install`` what is asked for: built files by a pattern, or as pip takes it."""
        built = [*self.built.iterdir()]
        files = [next((str(f) for f in built if f.match(one)), one) for one in what]
        needs = ["-c", ROOT / "constraints.txt"] if with_needs else ["--no-deps"]
        options = ["--quiet", "--no-compile", "--find-links", self.built, *needs]
        self._pip("install", *options, *files)

    def remove(self, *names: str) -> None:
        self._pip("uninstall", "--quiet", "--yes", *names)

    def _pip(self, *words: str | Path) -> None:
        python = self.bin / "python"
        call([sys.executable, "-m", "pip", "--python", python, *words], bare_environment())

    def run(self, *command: str, shares: bool = False) -> str:
        """Run one of the environment's programs; ``shares``: with third-party packages."""
        environment = bare_environment()
        # compiled once, also where the environment keeps Python from doing so by itself
        cache = str(self.bin.parent / "compiled")
        environment |= {"PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        if shares:
            environment["PYTHONPATH"] = _SHARED
        return call([self.bin / command[0], *command[1:]], environment).strip()

    def whose(self) -> str:
        """Who answers to ``import paddle`` in plain Python: argosy or the real one, and its
        modules must be of the same kind.
        """
        code = (
            "import paddle, importlib.util as u\n"
            "base = u.find_spec('paddle.nn').origin\n"
            "name = getattr(paddle, 'REAL', paddle.__name__)\n"
            "assert ('site-packages/argosy/' in base) == (name == 'argosy'), (base, name)\n"
            "print(name)"
        )
        return self.run("python", "-c", code, shares=True)

    def damage(self) -> list[str]:
        """Files that a distribution lists and that are not there, or not as it brought them; and
        files that no distribution lists.
        """
        found, listed = [], set()
        for record in sorted(self.packages.glob("*.dist-info/RECORD")):
            for name, digest, _ in csv.reader(record.read_text().splitlines()):
                path = Path(os.path.normpath(self.packages / name))
                listed.add(path)
                if not path.exists() or (digest and digest_of(path) != digest):
                    found.append(f"{record.parent.name}: {name}")
        stray = (
            p for p in self.packages.rglob("*") if p.is_file() and "__pycache__" not in p.parts
        )
        return [*found, *(f"nobody's: {path}" for path in stray if path not in listed)]


def digest_of(path: Path) -> str:
    """The digest that RECORD has of a file."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest())
    return f"sha256={digest.rstrip(b'=').decode()}"


def bare_environment() -> dict[str, str]:
    """This process's, without what leads Python to packages."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def build(folder: Path, scratch: Path) -> None:
    """Build wheel and source distribution of both projects with the backend that they name."""
    builder = Venv(scratch / "venv", scratch)
    builder.install("hatchling", with_needs=True)
    for project in PROJECTS:
        command = f"import os; os.chdir({str(project)!r}); from hatchling.cli import hatchling"
        arguments = f"import sys; sys.argv = ['hatchling', 'build', '-d', {str(folder)!r}]"
        builder.run("python", "-c", f"{arguments}; {command}; hatchling()")


def write_paddle(folder: Path) -> None:
    """Write a wheel that stands for the real Paddle's: its names, its command, none of its code."""
    rows = [f"{name},," for name in _PADDLE]
    info = "paddlepaddle-3.3.1.dist-info/RECORD"
    with zipfile.ZipFile(folder / "paddlepaddle-3.3.1-py3-none-any.whl", "w") as wheel:
        for name, text in _PADDLE.items():
            wheel.writestr(name, text)
        wheel.writestr(info, "\n".join([*rows, f"{info},,", ""]))
