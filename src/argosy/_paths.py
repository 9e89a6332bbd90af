"""Paths of Paddle's at which nothing is defined here: the names in ``paths.txt``, found on first
use.

Paddle has most names at several paths. Each is defined here at one of them; ``paths.txt`` says
where else it is found:

    nn.layer.rnn < nn: RNN GRUCell    the module has these names, which are defined in argosy.nn
    fluid.backward < static: gradients calc_gradient=gradients      one of them under another name
    base.core = fluid.core            is the very module, and so is what is below it
    fluid !: DynamicRNN               Paddle has this name there or below, argosy does not
    nn !no low precision: quant       the same, with what to say about it; it may be a module

One meta-path finder answers for these modules. Where a file is at the path, its names come first
and those of the table are added; else the table is all there is. A name keeps its home: what is
taken from here is the object of the module that defines it, which is imported when the name is
first used. That makes ``import paddle`` no slower, and lets a module have names of modules that
import it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from argosy import _defer
from argosy._alias import alias_spec, held_spec, is_installed

_ROOT = __name__.rpartition(".")[0]


class Table(NamedTuple):
    """What ``paths.txt`` says, with full names of modules."""

    homes: Mapping[str, Mapping[str, tuple[str, str]]]  # module -> name -> its module, name there
    children: Mapping[str, frozenset[str]]  # package -> modules that only the table gives it
    same: Mapping[str, str]  # module -> the one that it is
    refused: Mapping[str, Mapping[str, str]]  # package -> name that is not supported -> the reason


@cache
def table() -> Table:
    """The table, read once."""
    homes: dict[str, dict[str, tuple[str, str]]] = {}
    same: dict[str, str] = {}
    refused: dict[str, dict[str, str]] = {}
    text = Path(__file__).with_name("paths.txt").read_text().replace("\n  ", " ")
    for line in text.splitlines():
        head, _, names = line.partition(": ")
        module, sign, home = head.partition(" < ")
        module, home = f"{_ROOT}.{module}".rstrip("."), f"{_ROOT}.{home}".rstrip(".")
        if sign:
            pairs = (name.partition("=") for name in names.split())
            own = homes.setdefault(module, {})
            own.update((known_as, (home, there or known_as)) for known_as, _, there in pairs)
        elif " !" in head:
            package, _, reason = head.partition(" !")
            package = f"{_ROOT}.{package}".rstrip(".")
            refused.setdefault(package, {}).update(dict.fromkeys(names.split(), reason))
        else:
            module, _, target = module.partition(" = ")
            same[module] = f"{_ROOT}.{target}"
    return Table(homes, _children([*homes, *same]), same, refused)


def _children(modules: list[str]) -> dict[str, frozenset[str]]:
    children: dict[str, set[str]] = {}
    for module in modules:
        while module != _ROOT:
            parent, _, child = module.rpartition(".")
            children.setdefault(parent, set()).add(child)
            module = parent
    return {parent: frozenset(found) for parent, found in children.items()}


def extend(module: ModuleType) -> None:
    """Give a module its names of the table, behind its own."""
    name = module.__name__
    homes = table().homes.get(name, {})
    children = table().children.get(name, frozenset())
    own: Callable[[str], Any] | None = module.__dict__.get("__getattr__")
    if isinstance(own, _defer.PutOff):
        own = None

    def __getattr__(attribute: str) -> Any:
        if attribute in homes:
            path, there = homes[attribute]
            value = getattr(importlib.import_module(path), there)
        elif _refusal(name, attribute) is None and _is_module(module, attribute):
            value = importlib.import_module(f"{name}.{attribute}")
        elif own is not None and _refusal(name, attribute) is None:
            return own(attribute)
        else:
            raise _unknown(module, attribute)
        module.__dict__[attribute] = value
        return value

    scope = module.__dict__
    scope["__all__"] = scope["__all__"] if "__all__" in scope else [*_defined(module), *homes]
    scope["__getattr__"] = __getattr__
    scope["__dir__"] = lambda: sorted({*scope, *homes, *children})
    for child in children & {*scope, *homes}:
        _load_hidden(name, child)
    for known_as, (path, there) in homes.items():
        if path == f"{name}.{known_as}":  # its module would take its place
            scope[known_as] = getattr(importlib.import_module(path), there)


def _defined(module: ModuleType) -> list[str]:
    """The public names that a package has, or that a module defines."""
    return [
        name
        for name, value in module.__dict__.items()
        if not name.startswith("_")
        and ("__path__" in module.__dict__ or getattr(value, "__module__", None) == module.__name__)
    ]


def _is_module(package: ModuleType, attribute: str) -> bool:
    """Whether a package has a module of that name, which is its attribute before it is imported:
    packages of Paddle's import theirs.
    """
    return (
        "__path__" in package.__dict__
        and not attribute.startswith("__")
        and importlib.util.find_spec(f"{package.__name__}.{attribute}") is not None
    )


def _unknown(module: ModuleType, attribute: str) -> AttributeError:
    shown = module.__name__.replace(_ROOT, "paddle", 1)
    if attribute.startswith("_"):
        return AttributeError(f"module {shown!r} has no attribute {attribute!r}")
    said = _refusal(module.__name__, attribute)
    if said is not None:
        from argosy.foundation.missing import NotThere

        return NotThere(said)
    from argosy.foundation.errors import nearest

    known = [name for name in dir(module) if not name.startswith("_")]
    return AttributeError(
        f"module {shown!r} has no attribute {attribute!r}.{nearest(attribute, known)}"
    )


def _refusal(module: str, attribute: str) -> str | None:
    """What to say about a name of Paddle's that is not supported; None about any other."""
    for package, reasons in table().refused.items():
        if attribute in reasons and f"{module}.".startswith(f"{package}."):
            shown = f"{module}.{attribute}".replace(_ROOT, "paddle", 1)
            reason = reasons[attribute]
            return f"{shown} is not supported" + (f": {reason}" if reason else "")
    return None


def _load_hidden(package: str, child: str) -> None:
    """Load a module whose name a function of its package has, as ``distributed.spawn``: importing
    it later would put the module in the place of the function.
    """
    name = f"{package}.{child}"
    where = getattr(sys.modules[package], "__path__", None)
    is_other = name in sys.modules or name in table().same  # to look for that would load it
    spec = None if is_other else PathsFinder().find_spec(name, where)
    if spec is not None and isinstance(spec.loader, PathLoader):
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        if is_installed():
            sys.modules[name.replace(_ROOT, "paddle", 1)] = module
        spec.loader.exec_module(module)


class PathLoader(Loader):
    """Loads a module that has no file."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = "A path of Paddle's, with names that are defined elsewhere."
        extend(module)


class RefusedLoader(Loader):
    """Says, in the place of a module or a name that is not supported, that it is not: ``from module
    import name`` of a package looks for a module of that name too.
    """

    def __init__(self, said: str) -> None:
        self._said = said

    def create_module(self, spec: ModuleSpec) -> NoReturn:
        from argosy.foundation.missing import NotImportable

        raise NotImportable(self._said)

    def exec_module(self, module: ModuleType) -> None:
        """Not reached: there is no module."""


class FileLoader(SourceFileLoader):
    """Loads a module from its file and adds what the table has for it; a name that it lacks is
    missed in the name of ``paddle``.
    """

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _complete(module)


class OuterLoader(Loader):
    """Does the same for the loader of somebody else's import hook."""

    def __init__(self, inner: Loader) -> None:
        self._inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        _complete(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _complete(module: ModuleType) -> None:
    if _has_rows(module.__name__):
        extend(module)
    else:
        module.__dict__.setdefault("__getattr__", partial(_refuse, module))


def _has_rows(module: str) -> bool:
    known = table()
    return any(module in part for part in (known.homes, known.children, known.refused))


def _refuse(module: ModuleType, attribute: str) -> NoReturn:
    raise _unknown(module, attribute)


class PathsFinder(MetaPathFinder):
    """Answers for the modules of the table."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith(_ROOT + "."):
            return None
        if _defer.before(fullname):
            return held_spec(fullname)
        known = table()
        module = fullname
        while module != _ROOT:
            if module in known.same:
                return alias_spec(fullname, known.same[module] + fullname[len(module) :])
            module = module.rpartition(".")[0]
        found = self._found_by_others(fullname, path) if path else None
        if found is None and _has_rows(fullname):
            # as a package it can say at an import what is not supported
            is_package = fullname in known.children or fullname in known.refused
            return ModuleSpec(fullname, PathLoader(), is_package=is_package)
        if found is None:
            said = _refusal(*fullname.rpartition(".")[::2])
            refused = None if said is None else ModuleSpec(fullname, RefusedLoader(said))
            return refused or _defer.body_spec(fullname)
        if type(found.loader) is SourceFileLoader:
            found.loader = FileLoader(found.loader.name, found.loader.path)
        elif found.loader is not None:
            found.loader = OuterLoader(found.loader)
        if fullname in known.children and found.submodule_search_locations is None:
            found.submodule_search_locations = []  # a file here, a package of Paddle's
        if fullname in _defer.PUT_OFF:
            found.loader = _defer.PutOffLoader(found.loader)
        return found

    def _found_by_others(self, fullname: str, path: Any) -> ModuleSpec | None:
        """What the import hooks of a script or a tool find, which came before this finder, or the
        file itself.
        """
        for finder in sys.meta_path:
            # a finder of old packages may have no find_spec: the import system passes it over too
            if not isinstance(finder, PathsFinder) and hasattr(finder, "find_spec"):
                found = finder.find_spec(fullname, path)
                if found is not None:
                    return found
        return None


def install() -> None:
    """Put the finder on the meta path, once."""
    if not any(isinstance(finder, PathsFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, PathsFinder())
