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
    """The dotted names in ``text`` that begin with torch, or with what the file calls a part of it,
    and have a private part.
    """
    tree = ast.parse(text)
    found, meant_by = [], _meant_by(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.append(ast.unparse(node))
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    dotted = [name for name in found if DOTTED.fullmatch(name)]
    whole = [(meant_by.get(first, first), dot + rest) for first, dot, rest in map(_parts, dotted)]
    return [first + rest for first, rest in whole if is_private((first + rest).split("."))]


def _parts(dotted: str) -> tuple[str, str, str]:
    return dotted.partition(".")


def _meant_by(tree: ast.AST) -> dict[str, str]:
    """What a file calls modules of torch, by imports and by assignments to a name."""
    meant: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            meant |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            names = {alias.asname or alias.name: alias.name for alias in node.names}
            meant |= {name: f"{node.module}.{real}" for name, real in names.items()}
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = ast.unparse(node.value)
            if DOTTED.fullmatch(value) and value.startswith("torch."):
                meant[node.targets[0].id] = value
    return {name: real for name, real in meant.items() if real.split(".")[0] == "torch"}


def methods(text: str) -> set[str]:
    """Private names that ``text`` asks of objects other than itself."""
    return {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_")
        if isinstance(node.value, ast.Name) and node.value.id not in ("self", "cls", "torch")
    }


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
        "import torch.distributed as dist\ndist.ProcessGroupGloo._Options()",
        "from torch import nn\nnn.modules._x()",
        "_aten = torch.ops.aten\n_aten._upsample_bilinear2d_aa(x)",
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


def test_what_it_asks_of_objects_of_torch_nobody_else_asks():
    """A name alone does not say whose it is: one that is in the module is taken to be torch's."""
    asked = methods(HOME.read_text())
    assert {"_register_backend", "_backward_hooks"} <= asked
    users = {
        str(path.relative_to(SOURCE)): names
        for path in SOURCE.rglob("*.py")
        if path not in (HOME, ELASTIC) and (names := methods(path.read_text()) & asked)
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
