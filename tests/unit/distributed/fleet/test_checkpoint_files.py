"""Folders that are replaced as a whole, and directories of checkpoints."""

from __future__ import annotations

import pytest
import torch

from argosy.distributed.fleet.checkpoints import folders as files
from argosy.distributed.fleet.checkpoints.folders import (
    Checkpoints,
    folder_replaced,
    read_state,
    write_state,
)
from argosy.foundation.errors import CheckpointError, UsageError


def contents(folder):
    return {entry.name: entry.read_text() for entry in folder.iterdir()}


def write(folder, **texts):
    import pathlib

    for name, text in texts.items():
        fresh = pathlib.Path(folder, f"{name}.new")
        fresh.write_text(text)
        fresh.rename(pathlib.Path(folder, name))


@pytest.mark.parametrize("has_exchange", [True, False])
def test_a_folder_is_replaced_and_keeps_what_else_it_had(tmp_path, monkeypatch, has_exchange):
    if not has_exchange:
        monkeypatch.setattr("argosy.foundation.files.ctypes.CDLL", lambda *args, **kwargs: object())
    with folder_replaced(str(tmp_path / "model")) as folder:
        write(folder, a="1", b="1")
    with folder_replaced(str(tmp_path / "model")) as folder:
        write(folder, a="2")
        assert contents(tmp_path / "model") == {"a": "1", "b": "1"}
    assert contents(tmp_path / "model") == {"a": "2", "b": "1"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_failed_save_leaves_the_old_folder(tmp_path):
    with folder_replaced(str(tmp_path / "model")) as folder:
        write(folder, a="1")

    def failing():
        with folder_replaced(str(tmp_path / "model")) as folder:
            write(folder, a="2")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert contents(tmp_path / "model") == {"a": "1"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_draft_of_a_killed_process_is_removed(tmp_path):
    (tmp_path / ".model.abc.writing").mkdir()
    (tmp_path / ".other.abc.writing").mkdir()
    with folder_replaced(str(tmp_path / "model")) as folder:
        write(folder, a="1")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".other.abc.writing", "model"]


def test_the_folder_that_the_process_works_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with folder_replaced(".") as folder:
        write(folder, a="1")
    assert contents(tmp_path) == {"a": "1"}


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "model").write_text("")
    with pytest.raises(UsageError, match="is a file"), folder_replaced(str(tmp_path / "model")):
        pass


def save(checkpoints, step, value=0):
    checkpoints.begin(step)
    checkpoints.complete(
        step, [write_state(checkpoints.draft(step), "rank-00000.state", {"value": value})]
    )


def value_of(checkpoints, step):
    return read_state(checkpoints.folder(step), checkpoints.manifest(step)[0])["value"]


def test_the_last_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path / "ckpt", keep=2)
    assert checkpoints.steps() == []
    for step in (5, 10, 100):
        save(checkpoints, step)
    assert checkpoints.steps() == [100, 10]
    assert sorted(e.name for e in (tmp_path / "ckpt").iterdir()) == [
        "step-0000000010",
        "step-0000000100",
    ]


def test_a_draft_is_no_checkpoint_and_goes_with_the_next(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    save(checkpoints, 5)
    checkpoints.begin(10)
    write_state(checkpoints.draft(10), "rank-00000.state", {})
    assert checkpoints.steps() == [5]
    save(checkpoints, 15)
    assert sorted(e.name for e in tmp_path.iterdir()) == ["step-0000000005", "step-0000000015"]


def test_a_step_can_be_saved_again(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=1)
    save(checkpoints, 5, value=1)
    save(checkpoints, 5, value=2)
    assert value_of(checkpoints, 5) == 2
    assert [e.name for e in tmp_path.iterdir()] == ["step-0000000005"]


@pytest.mark.parametrize("damage", ["cut", "changed", "missing"])
def test_a_damaged_file_is_refused(tmp_path, damage):
    checkpoints = Checkpoints(tmp_path, keep=1)
    save(checkpoints, 5, value=torch.ones(4))
    path = checkpoints.folder(5) / "rank-00000.state"
    data = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(data[:-1] if damage == "cut" else data[:-1] + b"\x01")
    with pytest.raises(
        CheckpointError, match="No such file" if damage == "missing" else "cut short or damaged"
    ):
        value_of(checkpoints, 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "has no manifest"),
        ("{", "damaged"),
        ("[]", "holds no object"),
        ('{"format": "another", "step": 5, "files": [], "world_size": 0}', "format 'another'"),
        ('{"format": "argosy checkpoint 2", "step": 5, "files": [], "world_size": 0}', "seal"),
        (
            '{"format": "argosy checkpoint 1", "step": 4, "files": [], "world_size": 0}',
            "is that of step 4, not of 5",
        ),
        (
            '{"format": "argosy checkpoint 1", "step": 5, "files": [], "world_size": 2}',
            "not the files of 2 ranks",
        ),
        (
            '{"format": "argosy checkpoint 1", "step": 5, "files": [], "world_size": 0}',
            "not the files of 0 ranks",
        ),
    ],
)
def test_a_foreign_folder_is_refused(tmp_path, text, message):
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.folder(5).mkdir()
    if text is not None:
        (checkpoints.folder(5) / files.MANIFEST).write_text(text)
    with pytest.raises(CheckpointError, match=message):
        checkpoints.manifest(5)
