"""What is private stays private: no module imports another package's ``_module``, and nobody reads
or writes another module's ``_attribute``, but for the few that are listed with their reason.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"

ALLOWED = {
    "_build_once": "a method that scripts of 1.x override in their layers",
    "_built": "what goes with it",
    "_final_strategy": "a function of paddle.distributed.fleet",
    "_get_applied_graph_list": "a function of paddle.distributed.fleet",
    "_get_applied_meta_list": "a function of paddle.distributed.fleet",
    "_worker_loop": "Paddle's name for what a worker of a DataLoader runs, and torch's",
    "_set_checkpoints": "the method that 1.x documents for RecomputeOptimizer",
}
TREES = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def module_of(path: Path) -> str:
    parts = list(path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path) for path in TREES}


def imported(tree: ast.AST) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def is_private(word: str) -> bool:
    return word.startswith("_") and not word.startswith("__")


def test_no_package_imports_a_private_module_of_another():
    found = []
    for path, tree in TREES.items():
        here = module_of(path)
        package = here if path.name == "__init__.py" else here.rpartition(".")[0]
        for name in imported(tree):
            words = name.split(".")
            for end, word in enumerate(words):
                owner = ".".join(words[:end])
                is_module = ".".join(words[: end + 1]) in MODULES
                inside = package == owner or package.startswith(f"{owner}.")
                if is_private(word) and is_module and not inside:
                    found.append(f"{here} imports {name}")
    assert found == []


def defined_by() -> dict[str, set[Path]]:
    """The files whose classes define each private attribute."""
    homes: dict[str, set[Path]] = defaultdict(set)
    for path, tree in TREES.items():
        for owner in (n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)):
            for node in ast.walk(owner):
                for name in private_definitions(node):
                    homes[name].add(path)
    return homes


def private_definitions(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        names = [node.name]
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        names = [node.attr] if is_own(node.value) else []
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
    else:
        names = []
    return [name for name in names if is_private(name)]


def is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def is_super(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id == "super"
    )


def test_nobody_touches_a_private_attribute_of_another_module():
    homes, found = defined_by(), []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or not is_private(node.attr):
                continue
            if is_own(node.value) or is_super(node.value) or node.attr in ALLOWED:
                continue
            if homes.get(node.attr) and path not in homes[node.attr]:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno} {node.attr}")
    assert found == []
