"""What is known of an op is written where the op is defined: no list of op names elsewhere."""

import ast
import re
from pathlib import Path

from argosy.ops import table
from argosy.ops.traits import Traits

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "argosy"
OPS = SOURCE / "ops"
FEWEST = 4  # names from which on strings together are a list of ops

# Files with such a list, and what it is if not facts about ops.
ALLOWED = {
    "fluid/incubate/fleet/parameter_server/ir/pserver_pass.py": (
        "Paddle's slots for states of the shape of a parameter, which 1.x can cut"
    ),
    "fluid/layers/collective.py": "the values that reduce_type takes",
    "geometric/message_passing/send_recv.py": "the values that reduce_op takes",
    "fft.py": "the functions of paddle.fft with one set of arguments",
    "hapi/static_flops.py": "the types of operators that Paddle's flops counts, and no others",
    "nn/initializer/_scaled.py": "Paddle's gains, by the names that calculate_gain takes",
    "static/record/activation.py": "activations that act= names, where Paddle's differ from ours",
}


def strings_of(node):
    """The strings that a literal consists of, of a dict its keys; None if it has others."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value  # "add tanh exp".split()
        is_split = node.func.attr == "split" and isinstance(owner, ast.Constant) and not node.args
        return owner.value.split() if is_split else None
    if isinstance(node, ast.Dict):
        parts = node.keys
    elif isinstance(node, (ast.Set, ast.List, ast.Tuple)):
        parts = node.elts
    else:
        return None
    is_text = all(isinstance(p, ast.Constant) and isinstance(p.value, str) for p in parts)
    return [p.value for p in parts] if is_text else None


def exported(tree):
    """The literals of ``__all__`` and ``TENSOR_METHODS``: functions of a module, not facts."""
    return {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AugAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id in ("__all__", "TENSOR_METHODS")
        for inner in ast.walk(node.value)
    }


def lists_of_ops(text):
    """The lines on which literals of op names, or of Paddle's types for them, begin."""
    known = {name for op in map(table.get, table.names()) for name in op.known_names}
    tree = ast.parse(text)
    passed = exported(tree)
    found = []
    for node in ast.walk(tree):
        strings = strings_of(node) if id(node) not in passed else None
        if strings and len(strings) >= FEWEST and known.issuperset(strings):
            found.append(node.lineno)
    return found


def test_a_list_of_ops_is_found():
    assert lists_of_ops('__all__ = ["add", "tanh", "exp", "log"]') == []
    assert lists_of_ops('\nX = {\n    "add", "tanh", "exp", "reduce_sum",\n}\n') == [2]
    assert lists_of_ops('X = "add tanh exp log".split()') == [1]
    assert lists_of_ops('X = {"add": 1, "tanh": 2, "exp": 3, "log": 4}') == [1]
    assert lists_of_ops('X = ("add", "tanh", "exp", "no op")') == []


def test_facts_about_ops_are_nowhere_but_in_the_table():
    found = {
        str(path.relative_to(SOURCE)): lines
        for path in sorted(SOURCE.rglob("*.py"))
        if OPS not in path.parents and (lines := lists_of_ops(path.read_text()))
    }
    assert {name: lines for name, lines in found.items() if name not in ALLOWED} == {}
    assert set(found) == set(ALLOWED), "no longer needed in ALLOWED"


def test_no_reader_takes_facts_from_the_name_of_an_op():
    """A test of ``op.name`` against a literal, its beginning or its end, is a fact kept elsewhere;
    ``op is setitem_`` names the op itself.
    """
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if OPS not in path.parents and "runtime" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if reads_name(node)
    ]
    assert found == []


def is_op_name(node):
    """Whether an expression is ``op.name`` or ``....op.name``."""
    if not (isinstance(node, ast.Attribute) and node.attr == "name"):
        return False
    owner = node.value
    return (isinstance(owner, ast.Name) and owner.id == "op") or (
        isinstance(owner, ast.Attribute) and owner.attr == "op"
    )


def reads_name(node):
    if isinstance(node, ast.Compare):
        literals = [
            c for c in node.comparators if isinstance(c, (ast.Constant, ast.Tuple, ast.Set))
        ]
        return is_op_name(node.left) and bool(literals)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("startswith", "endswith")
        and is_op_name(node.func.value)
    )


# -- where an op is defined
# -------------------------------------------------------------------------------------------------


def test_importing_the_package_fills_the_table():
    """The ``__init__.py`` of a group imports every file of the group that defines an op."""
    for path in sorted(OPS.glob("*/*.py")):
        if "from argosy.ops.table import" in path.read_text():
            group = (path.parent / "__init__.py").read_text()
            assert re.search(rf"\b{path.stem}\b", group), path


def test_the_readme_names_every_file_and_group():
    named = set(re.findall(r"^\| `([\w.]+)/?` \|", (OPS / "README.md").read_text(), re.MULTILINE))
    groups = {path.parent.name for path in OPS.glob("*/__init__.py")}
    files = {path.name for path in OPS.glob("*.py")} - {"__init__.py"}
    assert groups | files <= named


def test_the_readme_names_every_trait():
    text = (OPS / "README.md").read_text()
    assert [name for name in Traits.__dataclass_fields__ if f"| `{name}` |" not in text] == []


def test_the_recipe_names_files_that_there_are():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    recipe = text[text.index("## Adding an op") : text.index("## Style")]
    patterns = {
        re.sub(r"<\w+>", "*", path) for path in re.findall(r"`((?:src|tests)/[\w/.<>]+)`", recipe)
    }
    assert "src/argosy/ops/*/*.py" in patterns
    assert [pattern for pattern in patterns if not list(ROOT.glob(pattern))] == []
