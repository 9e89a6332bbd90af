"""docs/errors.md draws the tree of foundation/errors.py as it is, and explains each class."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from argosy.foundation import errors

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "errors.md").read_text()
_LINE = re.compile(r"^([│├└─ ]*)(\w+)(?: \(([\w, ]+)\))?", re.MULTILINE)


def classes() -> dict[str, type]:
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.ArgosyError)
    }


def drawn() -> dict[str, tuple[str, set[str]]]:
    """The parent and the builtins that the picture gives each class."""
    tree = PAGE.split("```")[1]
    above: dict[int, str] = {}
    found = {}
    for bars, name, builtins in _LINE.findall(tree):
        depth = len(bars) // 4
        above[depth] = name
        builtin_names = set(re.findall(r"[A-Z]\w+", builtins))
        found[name] = (above.get(depth - 1, "Exception"), builtin_names)
    return found


def test_the_picture_has_every_class_under_its_parent():
    parents = {name: value.__bases__[0].__name__ for name, value in classes().items()}
    assert {name: parent for name, (parent, _) in drawn().items()} == parents


def test_the_picture_names_builtins_that_the_class_is():
    for name, (_, builtins) in drawn().items():
        own = {base.__name__ for base in classes()[name].__bases__[1:]}
        assert own <= builtins, name
        assert builtins <= {base.__name__ for base in classes()[name].__mro__}, name


def test_every_class_is_explained():
    rows = set(re.findall(r"^\| `(\w+)` \| \w", PAGE, re.MULTILINE))
    assert not classes().keys() - rows
