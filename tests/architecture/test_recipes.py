"""The recipes of CONTRIBUTING.md: what they list exists, and their example took every step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES = ("op", "layer", "strategy", "collective", "table rule")
_PATH = re.compile(r"(?:src|tests|docs|benchmarks|examples)/[\w/.<>*-]*")


def section(recipe: str) -> str:
    """The text under ``## Adding a ...``, whatever the exact heading."""
    found = re.search(
        rf"^## Add(?:ing)? an? (?:new )?{recipe}\n(.*?)(?=^## |\Z)",
        CONTRIBUTING,
        re.MULTILINE | re.DOTALL,
    )
    assert found, f"CONTRIBUTING.md has no recipe for a {recipe}"
    return found.group(1)


def paths_in(text: str) -> list[str]:
    """Paths from the root that stand in backquotes, up to their first placeholder."""
    spans = re.findall(r"`([^`]+)`", text)
    found = [path for span in spans for path in _PATH.findall(span)]
    return [re.split(r"[^/]*[<*]", path)[0].rstrip(".") for path in found]


def listed(recipe: str) -> list[str]:
    """The first cells of the recipe's table."""
    return [
        path
        for line in section(recipe).splitlines()
        if line.startswith("| `")
        for path in paths_in(line.split("|")[1])
    ]


def has_word(path: Path, word: str) -> bool:
    files = [path] if path.is_file() else [f for f in path.rglob("*") if f.suffix == ".py"]
    pattern = re.compile(rf"\b_?{word}", re.IGNORECASE)
    return any(pattern.search(file.read_text()) for file in files)


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_a_recipe_names_exists(recipe):
    paths = paths_in(section(recipe))
    assert any(path.startswith("src/") for path in paths)
    assert any(path.startswith("tests/") for path in paths)
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert not missing, f"the recipe for a {recipe} names {missing}"


@pytest.mark.parametrize("recipe", RECIPES[1:])
def test_the_example_is_in_every_file_of_its_recipe(recipe):
    word = re.search(r"^Example: `(\w+)`$", section(recipe), re.MULTILINE).group(1)
    paths = listed(recipe)
    assert len(paths) >= 4
    without = [path for path in paths if not has_word(ROOT / path, word)]
    assert not without, f"{word} is not in {without}"


def test_paths_are_found_up_to_placeholders():
    text = "`src/a/<family>.py` and `python tests/x/make.py <f>`, `docs/y.md`, `make`"
    assert paths_in(text) == ["src/a/", "tests/x/make.py", "docs/y.md"]
