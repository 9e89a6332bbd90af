"""State of the process has one home: what functions change at the level of a module or a class is
registered with ``foundation.process_state``, or stands below with the reason why it need not be.

Found by reading the sources: module-level names and class attributes that a function assigns to,
adds to or takes from, in its own module or in another that imports the name, and module-level
instances of classes whose methods change themselves.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

import argosy

ROOT = Path(argosy.__file__).parent

ALLOWED = {
    "argosy.distributed.fleet.base.distributed_strategy:DistributedStrategy": "made while imported",
    "argosy.distributed.fleet.base.topology:HybridCommunicateGroup": "made while imported",
    "argosy.distributed.fleet.fleet:Fleet": "made while imported",
    "argosy.foundation.env:_descriptions": "made while imported",
    "argosy.foundation.process_state:_holders": "the list of all holders",
    "argosy.nn.layer.layers:HookRemoveHelper": "numbers of hooks, which only grow",
    "argosy.ops.training.adam_updates:_powers": "remembered results of a pure function",
    "argosy.ops.table:_BY_TYPE": "made while imported",
    "argosy.ops.table:_TABLE": "made while imported",
    "argosy.runtime.comm.backends.shm.compiled:kernels": "a module, loaded when it is first needed",
    "argosy.runtime.comm.backends.shm.compiled:sync": "a module, loaded when it is first needed",
    "argosy.runtime.comm.forks:_owners": "weak references, which end with what they refer to",
    "argosy.static.ir.program:_ids": "numbers of programs, which only grow",
    "argosy.static.lower.emitter:_emitters": "made while imported",
    "argosy.static.record.reinfer:_special": "made while imported",
    "argosy.framework.static_kinds:_installed": "set while imported",
    "argosy.static.nn.layer:_keeper": "set while imported",
    "argosy.static.record.op_types:_TYPES": "made while imported",
    "argosy.tensor._core.tensor:Tensor": "made while imported",
}

IMMUTABLE = {"Op"}  # but for what it finds out about itself when first asked

_CHANGES = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem"),
    *("popleft", "push", "remove", "setdefault", "update"),
}
_LIBRARY = {"ContextVar", "local", "count", "WeakKeyDictionary", "WeakSet", "WeakValueDictionary"}
_CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__init_subclass__")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass
class Module:
    """What one file says; names of others are written ``module:name``."""

    name: str
    made_by: dict[str, str] = field(default_factory=dict)  # names of the module: what is called
    imported: dict[str, str] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)
    restless: set[str] = field(default_factory=set)  # classes with methods that change themselves
    changed: set[str] = field(default_factory=set)  # names that functions change
    registered: set[str] = field(default_factory=set)

    def read(self, node: ast.AST, cls: str = "", function: str | None = None) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                self.classes.add(child.name)
                self.read(child, child.name, function)
            elif isinstance(child, _FUNCTIONS):
                self.read(child, cls, function or getattr(child, "name", "lambda"))
            else:
                self._note(child, cls, function)
                self.read(child, cls, function)

    def _note(self, node: ast.AST, cls: str, function: str | None) -> None:
        if isinstance(node, ast.ImportFrom):
            self.imported |= {a.asname or a.name: f"{node.module}:{a.name}" for a in node.names}
        elif isinstance(node, ast.Global):
            self.changed.update(node.names)
        elif isinstance(node, ast.Call) and _called(node) == "register":
            self.registered |= {cls} if cls else _registered(node)
        if function is None:
            if not cls:
                self._define(node)
            return
        for target in _targets(node):
            owner = _owner(target)
            if owner not in ("self", "cls"):
                self.changed.add(owner)
            elif function not in _CONSTRUCTORS:
                self.restless.add(cls)

    def _define(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            names = [target.id for target in _targets(node) if isinstance(target, ast.Name)]
            self.made_by |= dict.fromkeys(names, _called(node.value))
            if _called(node.value) in ("register", "Held"):
                self.registered.update(names)


def _targets(node: ast.AST) -> list[ast.expr]:
    """What a statement or a call changes."""
    found: list[ast.expr] = []
    if isinstance(node, (ast.Assign, ast.Delete)):
        found = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        found = [node.target]
    elif isinstance(node, ast.Call) and _called(node) in _CHANGES:
        # ``self.update()`` is a method of ours, ``self.values.update()`` a change
        own = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
        found = [] if own and node.func.value.id in ("self", "cls") else [node.func]
    elif isinstance(node, ast.Call) and _called(node) in ("setattr", "next") and node.args:
        found = [ast.Attribute(node.args[0], "any")]
    return [each for item in found for each in getattr(item, "elts", [item])]


def _owner(target: ast.expr) -> str:
    """``x`` in ``x.a[0] = ...``; nothing where a plain name is assigned to."""
    if isinstance(target, ast.Name):
        return ""
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _called(value: ast.AST) -> str:
    """The last word of what is called, ``count`` for ``itertools.count()``."""
    function = value.func if isinstance(value, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def _registered(call: ast.Call) -> set[str]:
    """``x`` in ``register("...", x)``, or the attributes of a module that registers itself."""
    holder = call.args[1] if len(call.args) == 2 else None
    if isinstance(holder, ast.Subscript):  # of sys.modules
        [names] = [keyword.value for keyword in call.keywords if keyword.arg == "attributes"]
        return set(ast.literal_eval(names))
    return {holder.id} if isinstance(holder, ast.Name) else set()


def _name_of(path: Path) -> str:
    parts = [ROOT.name, *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _modules() -> dict[str, Module]:
    modules = {}
    for path in sorted(ROOT.rglob("*.py")):
        module = modules[_name_of(path)] = Module(_name_of(path))
        module.read(ast.parse(path.read_text()))
    return modules


def _found(modules: dict[str, Module]) -> set[str]:
    """Everything of modules and classes that functions change, where it is defined."""
    restless = _LIBRARY.union(*(module.restless for module in modules.values())) - IMMUTABLE - {""}
    found = set()
    for module in modules.values():
        instances = {name for name, cls in module.made_by.items() if cls in restless}
        for name in module.changed | instances:
            home = module
            while home and name in home.imported:
                where, _, name = home.imported[name].partition(":")
                home = modules.get(where)
            if home and (name in home.made_by or name in home.classes):
                found.add(f"{home.name}:{name}")
    return found


def test_every_holder_of_state_is_registered():
    modules = _modules()
    registered = {f"{m.name}:{name}" for m in modules.values() for name in m.registered}
    found = _found(modules)
    assert sorted(found - registered - set(ALLOWED)) == []
    assert sorted(set(ALLOWED) - found) == [], "allowed, but nothing changes them any more"


def test_all_ways_to_hold_state_are_found():
    source = """
class Counter:
    total = 0
    def __init__(self): self.n = 0
    def add(self): self.n += 1
counter = Counter()
known = {}
kept = []
plain = 3
flag = False
def f():
    global flag
    known["a"] = kept.append(1)
    Counter.total = plain
"""
    module = Module("argosy.example")
    module.read(ast.parse(source))
    found = {name.partition(":")[2] for name in _found({module.name: module})}
    assert found == {"Counter", "counter", "flag", "kept", "known"}
