"""Documents: prose at 100 columns, and the words of docs/glossary.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "src").rglob("README.md")),
]
COLUMNS = 100
# words that once meant something here, and the glossary's word for it
REPLACED = {"lane": "queue", "crew": "process pool", "meeting": "rendezvous or barrier"}
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def prose(text: str) -> list[str]:
    """Lines that are neither code nor rows of a table."""
    lines = _FENCE.sub("", text).splitlines()
    return [line for line in lines if not line.startswith(("|", "    "))]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_prose_fits_the_screen(path):
    assert not [line for line in prose(path.read_text()) if len(line) > COLUMNS]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_one_word_per_thing(path):
    text = re.sub(r"`[^`]*`", "", _FENCE.sub("", path.read_text()))
    found = {word for word in REPLACED if re.search(rf"\b{word}s?\b", text, re.IGNORECASE)}
    assert not {word: REPLACED[word] for word in found}


def test_the_glossary_has_one_meaning_per_word():
    text = (ROOT / "docs" / "glossary.md").read_text()
    cells = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    words = [word for word, _ in cells if word != "word"]
    assert 55 <= len(words) <= 85
    assert sorted(words) == sorted(set(words))


def test_what_counts_as_prose():
    assert prose("a\n```\nb\n```\n| c |\n    d\ne") == ["a", "", "e"]
