"""What the tests of packages share: the built files, a stand-in for the real Paddle, venvs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.venvs import Venv, build, write_paddle


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of both, and a stand-in for the wheel of
    the real Paddle.
    """
    folder = tmp_path_factory.mktemp("built")
    build(folder, tmp_path_factory.mktemp("builder"))
    write_paddle(folder)
    return folder


@pytest.fixture
def venv(tmp_path: Path, built: Path) -> Venv:
    """A new venv with nothing in it, which finds the built files."""
    return Venv(tmp_path / "venv", built)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Writes a script and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "script.py"
        path.write_text(text)
        return str(path)

    return write
