"""Private names of torch are used in one module, so that a new torch is met in one place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
DOTTED = re.compile(r"[\w.]+")
HOME = SOURCE / "argosy" / "foundation" / "torch_private.py"
# takes long to import, and only launchers of several hosts need it
ELASTIC = SOURCE / "argosy" / "runtime" / "launch" / "torch_elastic.py"


def private_names(text: str) -> list[str]:
    """The dotted names in ``text`` that begin with torch and have a private part."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            found.append(ast.unparse(node))
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if DOTTED.fullmatch(name) and is_private(name.split("."))]


def is_private(parts: list[str]) -> bool:
    return parts[0] == "torch" and any(
        part.startswith("_") and not part.startswith("__") for part in parts
    )


@pytest.mark.parametrize(
    "text",
    [
        "torch._foreach_add_(x, y)",
        "import torch._dynamo",
        "from torch.utils.data._utils import worker",
        "from torch.nn.modules.batchnorm import _BatchNorm",
        "f = torch._C._nn.mse_loss",
    ],
)
def test_what_counts_as_private(text):
    assert private_names(text)
    assert not private_names("torch.nn.functional.linear(x); torch.__version__; self._x; np._y")


def test_only_one_module_uses_private_names_of_torch():
    users = {
        str(path.relative_to(SOURCE)): names
        for path in SOURCE.rglob("*.py")
        if path not in (HOME, ELASTIC) and (names := private_names(path.read_text()))
    }
    assert users == {}


def test_that_module_has_nothing_that_nobody_uses():
    named = {
        node.id
        for node in ast.walk(ast.parse(HOME.read_text()))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if not node.id.startswith("_")  # which is for the module itself
    }
    text = "\n".join(path.read_text() for path in SOURCE.rglob("*.py") if path != HOME)
    assert not [name for name in named if not re.search(rf"(private\.|\b){name}\b", text)]
