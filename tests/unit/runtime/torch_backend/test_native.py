"""What ``argosy build`` compiles: where it goes, what is loaded of it, what is said where it fails.
Real compilers are met in ``multiprocess/test_torch_backend.py``.
"""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from argosy.foundation.errors import ConfigError
from argosy.jobs import build
from argosy.runtime.torch_backend import native


@pytest.fixture
def compiler(tmp_path, monkeypatch) -> Path:
    """A compiler that writes what it is told to, into a folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(native, "_SOURCE", tmp_path / "package" / "allocator.cpp")
    native._SOURCE.parent.mkdir()
    native._SOURCE.write_text("code")
    monkeypatch.setenv("CXX", str(tmp_path / "compiler"))
    return _script(tmp_path / "compiler", 'while [ "$1" != -o ]; do shift; done; echo made > "$2"')


def _script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_it_is_built_once_beside_the_package(compiler):
    path = native.build()
    assert path.parent == native._SOURCE.with_name("__pycache__")
    assert path.read_text() == "made\n"
    assert list(path.parent.iterdir()) == [path]
    compiler.unlink()
    assert native.build() == path


def test_other_code_is_built_again(compiler):
    path = native.build()
    native._SOURCE.write_text("other code")
    assert native.build() != path


def test_where_the_package_cannot_be_written_it_goes_to_the_cache(compiler, tmp_path):
    native._SOURCE.with_name("__pycache__").write_text("in the way of a folder")
    path = native.build()
    assert path.parent == tmp_path / "argosy"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_others_can_write_is_not_loaded(compiler, caplog):
    path = native.build()
    for shared in (path, path.parent):
        before = shared.stat().st_mode
        shared.chmod(0o777)
        assert native._load.__wrapped__() is None
        shared.chmod(before)
    assert caplog.text.count("somebody else may write it") == 2


def test_what_is_no_library_is_not_loaded(compiler, caplog):
    native.build()
    assert native._load.__wrapped__() is None
    assert "cannot be loaded" in caplog.text
    assert "argosy build" in caplog.text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo 'no such header' >&2; exit 4", r"failed with 4\.\nno such header"),
        (None, "cannot run"),
    ],
)
def test_a_compiler_that_fails_is_quoted(compiler, capsys, body, said):
    compiler.unlink() if body is None else _script(compiler, body)
    with pytest.raises(ConfigError, match=said):
        native.build()
    assert not list(native._SOURCE.with_name("__pycache__").iterdir())
    assert build.main([]) == 1
    assert "ConfigError: argosy build: " in capsys.readouterr().err


def test_no_compiler(compiler, monkeypatch, tmp_path):
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(ConfigError, match=r"no C\+\+ compiler was found; tried c\+\+, g\+\+"):
        native.build()
