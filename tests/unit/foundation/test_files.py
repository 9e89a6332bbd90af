"""Names from files stay in their folder; files are replaced whole."""

from __future__ import annotations

import os

import pytest

from argosy.foundation import files
from argosy.foundation.errors import CheckpointError


@pytest.mark.parametrize("name", ["w", "w@GRAD", "conv/w_0", "a b", "..w", "w..", "C"])
def test_a_plain_name_is_in_the_folder(tmp_path, name):
    assert files.inside(tmp_path, name, "test") == tmp_path / name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/../../x",
        "a/..",
        "/etc/passwd",
        "//x",
        "x\0y",
        "a\\..\\b",
        "C:x",
        3,
        None,
    ],
)
def test_a_name_that_leads_out_is_refused_by_name(tmp_path, name):
    with pytest.raises(CheckpointError, match="leads out of the folder"):
        files.inside(tmp_path, name, "test")


def test_a_link_that_leads_out_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    os.symlink(tmp_path, tmp_path / "in" / "out")
    with pytest.raises(CheckpointError, match="link"):
        files.inside(tmp_path / "in", "out/x", "test")


def test_a_link_inside_the_folder_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "link")
    assert files.inside(tmp_path, "link/x", "test") == tmp_path / "link" / "x"


def test_a_folder_reached_through_a_link_counts_as_itself(tmp_path):
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "link")
    assert files.inside(tmp_path / "link", "x", "test") == tmp_path / "link" / "x"


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path):
    target = tmp_path / "new" / "f"
    with files.replacing(target) as file:
        file.write(b"one")
    target.chmod(0o600)
    with files.replacing(target) as file:
        file.write(b"two")
        assert target.read_bytes() == b"one"
    assert target.read_bytes() == b"two"
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_failed_write_leaves_what_was_there(tmp_path):
    target = tmp_path / "f"
    target.write_bytes(b"one")
    with pytest.raises(TypeError), files.replacing(target) as file:
        file.write("not bytes")
    assert target.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["f"]
