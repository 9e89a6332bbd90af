"""The way into the code: READMEs of source folders and docs/walks.md name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "argosy"
READMES = sorted(SOURCES.rglob("README.md"))
FOLDERS = (
    "foundation",
    "nn",
    "optimizer",
    "runtime",
    "runtime/comm",
    "runtime/parallel",
    "runtime/ps",
    "tensor",
)


def named_in(readme: Path) -> list[str]:
    """Files and folders in the first cells of its tables."""
    cells = [line.split("|")[1] for line in readme.read_text().splitlines() if line[:3] == "| `"]
    spans = [span for cell in cells for span in re.findall(r"`([^`]+)`", cell)]
    return [span for span in spans if span.endswith((".py", "/"))]


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.name)
def test_what_a_readme_lists_exists(readme):
    missing = [name for name in named_in(readme) if not any(readme.parent.glob(name))]
    assert not missing, f"{readme.relative_to(ROOT)} lists {missing}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_readme_gives_the_way_in(folder):
    readme = SOURCES / folder / "README.md"
    text = readme.read_text()
    assert named_in(readme)
    for heading in (r"The life of one [\w ]+", "What it promises", "What may be touched"):
        assert re.search(rf"^## {heading}$", text, re.MULTILINE), f"{folder}: {heading}"
    assert len(text.splitlines()) <= 80


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.name)
def test_links_lead_somewhere(readme):
    for target in re.findall(r"\]\(([^)\s#]+)\)", readme.read_text()):
        assert "://" in target or (readme.parent / target).exists(), target


def test_the_walks_pass_files_that_exist():
    """In parentheses stands a folder; everything else is a file or folder of the package."""
    text = (ROOT / "docs" / "walks.md").read_text()
    assert len(re.findall(r"^## \d\. ", text, re.MULTILINE)) == 7
    rows = re.findall(r"^\| \d+ \| ([^|]+) \|", text, re.MULTILINE)
    named = [name for cell in rows for name in re.findall(r"`([\w/.]+)`", cell)]
    missing = [name for name in named if not (SOURCES / name).exists()]
    assert len(named) > 30
    assert not missing
