"""``make names``: how many of the names of Paddle's that public files use are here.

    python tests/usage.py names USAGE.tsv      rows ``name, files, ...``, with one row of titles
    python tests/usage.py files FOLDER...      the .py files below each folder

``files`` reads each file with ``ast`` and follows its imports: a file is whole if every dotted name
of ``paddle`` that it writes is found. An import that the file itself guards with ``try`` does not
count. Files of Python 2 are left out.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = "paddle"
_GUARDS = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}


@cache
def found(name: str) -> tuple[bool, Any]:
    """Whether a dotted name leads to something, and to what."""
    owner, _, last = name.rpartition(".")
    if not owner:
        return True, importlib.import_module(name)
    is_found, value = found(owner)
    if not is_found:
        return False, None
    try:
        return True, getattr(value, last)
    except Exception:  # what a module says about a name that it lacks is its own affair
        pass
    try:
        return True, importlib.import_module(name)
    except Exception:
        pass
    try:  # a function of the package may hide the module: ``from package.module import name``
        return True, getattr(importlib.import_module(owner), last)
    except Exception:
        return False, None


def shortest_missing(name: str) -> str:
    """The first part of a missing name that is missing itself."""
    parts = name.split(".")
    return next(
        path for path in (".".join(parts[: n + 1]) for n in range(len(parts))) if not found(path)[0]
    )


class File(NamedTuple):
    """What a file imports of Paddle under which name, and what it binds otherwise."""

    aliases: dict[str, str]
    imported: set[str]
    bound: set[str]


def names_of(source: str) -> set[str]:
    """The dotted names of Paddle that a source writes."""
    tree = ast.parse(source)
    file = File({}, set(), set())
    _read_imports(tree, file, is_guarded=False)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            file.bound.add(node.id)
        elif isinstance(node, ast.arg):
            file.bound.add(node.arg)
    usable = {alias: name for alias, name in file.aliases.items() if alias not in file.bound}
    return file.imported | set(_chains(tree, usable))


def _read_imports(node: ast.AST, file: File, is_guarded: bool) -> None:
    if isinstance(node, ast.Import):
        for item in node.names:
            if item.name.split(".")[0] == ROOT:
                _keep(file, item.asname or ROOT, item.name if item.asname else ROOT, is_guarded)
                _keep(file, "", item.name, is_guarded)
    elif isinstance(node, ast.ImportFrom):
        if node.level == 0 and node.module and node.module.split(".")[0] == ROOT:
            _keep(file, "", node.module, is_guarded)
            for item in node.names:
                if item.name != "*":
                    name = f"{node.module}.{item.name}"
                    _keep(file, item.asname or item.name, name, is_guarded)
                    _keep(file, "", name, is_guarded)
    elif isinstance(node, ast.Try):
        caught = is_guarded or any(_catches(handler) for handler in node.handlers)
        for part in node.body:
            _read_imports(part, file, caught)
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            _read_imports(part, file, is_guarded or caught)
    else:
        for child in ast.iter_child_nodes(node):
            _read_imports(child, file, is_guarded)


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or getattr(kind, "id", "") in _GUARDS for kind in kinds)


def _keep(file: File, alias: str, name: str, is_guarded: bool) -> None:
    if not alias:
        if not is_guarded:
            file.imported.add(name)
    elif not is_guarded or found(name)[0]:
        file.aliases[alias] = name


def _chains(tree: ast.AST, aliases: dict[str, str]) -> Iterator[str]:
    """The longest chains ``alias.a.b`` that are read."""
    inner: set[int] = set()
    for node in ast.walk(tree):  # outer nodes come first
        if not isinstance(node, ast.Attribute) or id(node) in inner:
            continue
        parts: list[str] = []
        value: ast.AST = node
        while isinstance(value, ast.Attribute):
            inner.add(id(value))
            parts.append(value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id in aliases and isinstance(node.ctx, ast.Load):
            yield ".".join([aliases[value.id], *reversed(parts)])


def report_names(usage: Path) -> None:
    """Print how many names of a table resolve, and how many uses they are of."""
    with usage.open() as lines:
        rows = [(row[0], int(row[1])) for row in list(csv.reader(lines, delimiter="\t"))[1:]]
    missing = [(name, files) for name, files in rows if not found(name)[0]]
    uses = sum(files for _, files in rows)
    lost = sum(files for _, files in missing)
    for name, files in missing:
        print(f"{files:6} {name}")
    print(f"{len(rows) - len(missing)} of {len(rows)} names, {uses - lost} of {uses} uses")


def report_files(folders: list[Path], least: int) -> None:
    """Print how many files of each folder have all their names, then what is missing in ``least``
    files or more.
    """
    missing: Counter[str] = Counter()
    good = every = 0
    for folder in folders:
        here = total = 0
        for path in sorted(folder.rglob("*.py")):
            try:
                names = names_of(path.read_text(errors="replace"))
            except (SyntaxError, ValueError):
                continue
            if names:
                lost = {shortest_missing(name) for name in names if not found(name)[0]}
                missing.update(lost)
                here += not lost
                total += 1
        good, every = good + here, every + total
        print(f"{folder.name:24} {here:5} of {total:5} files {_share(here, total)}")
    print(f"{'all':24} {good:5} of {every:5} files {_share(good, every)}")
    for name, files in missing.most_common():
        if files >= least:
            print(f"{files:6} {name}")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f} %" if whole else ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Count which names of Paddle's are here.")
    parser.add_argument("what", choices=("names", "files"))
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--least", type=int, default=2, help="list what so many files miss")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "names":
        report_names(options.paths[0])
    else:
        report_files(options.paths, options.least)
    return 0


if __name__ == "__main__":
    sys.exit(main())
