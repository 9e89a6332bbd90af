"""Compiled loops go when the source of any of them has changed."""

from __future__ import annotations

import os

import pytest

from support.stale import forget_stale_kernels


@pytest.fixture
def package(tmp_path):
    """Two modules with loops, one without, and what was kept of the first's."""
    for name, text in (("outer", "import numba"), ("inner", "import numba"), ("plain", "x = 1")):
        (tmp_path / f"{name}.py").write_text(text)
    cache = tmp_path / "__pycache__"
    cache.mkdir()
    for name in ("outer.f-1.py311.nbi", "outer.f-1.py311.1.nbc", "plain.cpython-311.pyc"):
        (cache / name).write_text("")
    for path in tmp_path.rglob("*.*"):
        os.utime(path, (1000, 1000))
    return tmp_path


def test_nothing_has_changed(package):
    os.utime(package / "plain.py", (2000, 2000))
    assert forget_stale_kernels(package) == 0
    assert len(list((package / "__pycache__").iterdir())) == 3


def test_a_module_that_is_compiled_into_another_has_changed(package):
    os.utime(package / "inner.py", (2000, 2000))
    assert forget_stale_kernels(package) == 2
    assert [path.name for path in (package / "__pycache__").iterdir()] == ["plain.cpython-311.pyc"]
