"""The import directions, the names the package exports, and the commands of the README."""

import re
import subprocess
import sys
from pathlib import Path

import paddle
from argosy._release import VERSION

ROOT = Path(__file__).resolve().parents[2]


def test_imports_go_down_only():
    tool = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([tool], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout


def test_only_env_reads_the_environment():
    readers = [
        path.relative_to(ROOT)
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"os\.environ|os\.getenv", path.read_text()) and path.name != "env.py"
    ]
    assert readers == []


def test_every_exported_name_exists():
    for module in (
        paddle.nn,
        paddle.nn.functional,
        paddle.optimizer,
        paddle.optimizer.lr,
        paddle.io,
        paddle.metric,
        paddle.amp,
    ):
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{module.__name__}.{name}"


def test_the_changelog_begins_with_the_version():
    newest = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest.group(1) in (VERSION, "Unreleased")
    assert f"## {VERSION}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_readme_commands_exist():
    readme = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"make (\w+)", readme))
    assert {"demo", "test"} <= targets
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"{target}:" in makefile for target in targets)
    for script in re.findall(r"(?:examples|benchmarks)/\w+\.py", readme):
        assert (ROOT / script).exists(), script
