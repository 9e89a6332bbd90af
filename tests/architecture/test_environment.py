"""docs/environment.md is what the table of variables says, and the table is what the code uses."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from argosy.foundation import variables

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "src" / "argosy" / "foundation" / "variables.py"
_OURS = re.compile(r"(PADDLE|ARGOSY|MASTER|POD|TRAINING)(_[A-Z0-9]+)+")
_OTHERS = {
    "CPU_NUM",
    "CUDA_VISIBLE_DEVICES",
    "CXX",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
    "XDG_CACHE_HOME",
}
_READERS = {"get", "integer", "seconds"}


def named_in(source: str) -> set[str]:
    """Variables that a module names: as a string of its own, or as a keyword of a mapping."""
    tree = ast.parse(source)
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    texts |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    return {text for text in texts if _OURS.fullmatch(text)} | (texts & _OTHERS)


def read_in(source: str) -> set[str]:
    """Variables that a module reads through ``env`` under a name that is written at the call."""
    return {
        node.args[0].value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _READERS
        and ast.unparse(node.func.value) == "env"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def sources() -> list[str]:
    return [path.read_text() for path in (ROOT / "src").rglob("*.py") if path != TABLE]


def test_the_page_is_the_output_of_the_generator():
    assert (ROOT / "docs" / "environment.md").read_text() == variables.page(), (
        "run: python -m argosy.foundation.variables > docs/environment.md"
    )


def test_every_variable_that_the_code_names_is_in_the_table():
    used = set().union(*(named_in(source) | read_in(source) for source in sources()))
    assert not sorted(used - variables.names())


def test_every_variable_of_the_table_is_in_the_code():
    text = "\n".join(sources())
    unused = [
        name
        for name in variables.names()
        if not re.search(rf"\b{re.escape(name.rstrip('*'))}", text)
    ]
    assert not sorted(unused)


def test_no_variable_is_listed_twice():
    listed = [name for rows in variables.SECTIONS.values() for row in rows for name in row.names]
    assert sorted(listed) == sorted(set(listed))


def test_what_counts_as_a_variable():
    assert named_in('x = "PADDLE_PORT"; f(ARGOSY_TOKEN="t"); y = "see PADDLE_PORT"') == {
        "PADDLE_PORT",
        "ARGOSY_TOKEN",
    }
    assert read_in('env.get("HOME"); table.get("x"); env.integer(name, 1)') == {"HOME"}
