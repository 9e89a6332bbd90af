"""What a repository says of itself without running git."""

from __future__ import annotations

import os
import subprocess

import pytest

from argosy.runtime.observe.git_state import GitState, git_state


def git(folder, *words):
    names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    (root / "src").mkdir(parents=True)
    for name in ("a.py", "src/b.py", "src/c.py"):
        (root / name).write_text(f"# {name}\n")
    (root / "link").symlink_to("a.py")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def test_a_clean_repository(repository):
    commit = git(repository, "rev-parse", "HEAD")
    assert git_state(repository / "src") == GitState(commit, 0)
    os.utime(repository / "a.py", (1, 1))  # another time, the same content
    assert git_state(repository).num_changed == 0
    git(repository, "pack-refs", "--all")
    assert git_state(repository).commit == commit
    git(repository, "checkout", "-q", "--detach")
    assert git_state(repository).commit == commit


def test_files_that_differ_are_named(repository):
    (repository / "a.py").write_text("# A.py\n")  # as long as before
    (repository / "src" / "b.py").unlink()
    (repository / "src" / "c.py").write_text("longer than before\n")
    found = git_state(repository)
    assert (found.num_changed, found.changed) == (3, ("a.py", "src/b.py", "src/c.py"))


def test_a_work_tree_has_its_own_commit(repository, tmp_path):
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    (tmp_path / "other" / "a.py").write_text("changed\n")
    git(tmp_path / "other", "commit", "-qam", "second")
    found = git_state(tmp_path / "other")
    assert found == GitState(git(tmp_path / "other", "rev-parse", "HEAD"), 0)
    assert found.commit != git_state(repository).commit


@pytest.mark.parametrize("text", [b"", b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x09abc", b"\xff" * 99])
def test_a_damaged_index_is_no_harm(repository, text):
    (repository / ".git" / "index").write_bytes(text)
    found = git_state(repository)
    assert found.commit
    assert found.num_changed is None


@pytest.mark.parametrize("head", ["ref: ../../../etc/passwd", "ref: /etc/passwd", "x", "\xff"])
def test_a_strange_head_is_no_commit(repository, head):
    (repository / ".git" / "HEAD").write_bytes(head.encode("latin-1"))
    assert git_state(repository).commit == ""


def test_no_repository(tmp_path):
    assert git_state(tmp_path) == GitState()
