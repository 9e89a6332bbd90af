"""``paddle.x.y`` is the very module object ``argosy.x.y``.

One meta-path finder answers for every name below ``paddle.`` with the module of the same name below
``argosy.``; its loader hands out that module instead of executing a second copy, and gives
``runpy`` the code of the original, so that ``python -m paddle.x.y`` runs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

_ALIAS = "paddle"
_TARGET = "argosy"


def _target_name(name: str) -> str:
    return _TARGET + name[len(_ALIAS) :]


class AliasLoader(Loader):
    """Loads ``paddle.x`` by importing ``argosy.x``."""

    def __init__(self, original: ModuleSpec) -> None:
        self.original = original

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module(self.original.name)

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just put the alias's spec on the shared module: give it back its
        # own.
        module.__spec__ = self.original
        keep_hidden(self.original.name)

    def get_code(self, fullname: str) -> CodeType | None:
        loader: Any = self.original.loader
        code: CodeType | None = loader.get_code(self.original.name)
        return code

    def get_filename(self, fullname: str) -> str:
        return self.original.origin or ""

    def is_package(self, fullname: str) -> bool:
        return self.original.submodule_search_locations is not None


class HeldLoader(Loader):
    """Loads a module that is there already, and gives it back its own spec."""

    def __init__(self, module: ModuleType, original: ModuleSpec) -> None:
        self.module = module
        self.original = original

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.original

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original.loader, name)


def held_spec(fullname: str) -> ModuleSpec:
    """How a module is loaded that was imported while its finder was asked, by the code of the
    packages it is in. In this case the import system takes the spec of the module itself, and would
    run its code again: so that, too, is this one until it is loaded.
    """
    module = sys.modules[fullname]
    own = module.__spec__
    assert own is not None
    spec = ModuleSpec(own.name, HeldLoader(module, own), origin=own.origin)
    spec.submodule_search_locations = own.submodule_search_locations
    module.__spec__ = spec
    return spec


class AliasFinder(MetaPathFinder):
    """Answers for ``paddle.*``."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith(_ALIAS + "."):
            return None
        was_there = fullname in sys.modules
        found = alias_spec(fullname, _target_name(fullname))
        is_there = fullname in sys.modules and not was_there  # by loading the packages it is in
        return held_spec(fullname) if is_there else found


def alias_spec(fullname: str, target: str) -> ModuleSpec | None:
    """How ``fullname``, which is the module ``target``, is loaded; None if there is no such one."""
    original = importlib.util.find_spec(target)
    if original is None:
        return None
    if isinstance(original.loader, (AliasLoader, HeldLoader)):  # an alias of an alias
        original = original.loader.original
    spec = ModuleSpec(fullname, AliasLoader(original), origin=original.origin)
    spec.submodule_search_locations = original.submodule_search_locations
    return spec


def target() -> ModuleType:
    """The module that stands for ``paddle``."""
    return importlib.import_module(_TARGET)


def keep_hidden(root: str = _TARGET) -> None:
    """Alias the modules below ``root`` whose name a function of their package has, such as
    ``amp.auto_cast`` and ``distributed.spawn``: importing them by their alias later would put the
    module in the place of the function. Nothing where ``paddle`` is not argosy.
    """
    if not is_installed():
        return
    for name in [name for name in sys.modules if name.startswith(root + ".")]:
        module, (package, _, last) = sys.modules[name], name.rpartition(".")
        if vars(sys.modules.get(package, module)).get(last, module) is not module:
            sys.modules.setdefault(_ALIAS + name[len(_TARGET) :], module)


def is_installed() -> bool:
    """Whether ``paddle`` is argosy in this process."""
    return any(isinstance(finder, AliasFinder) for finder in sys.meta_path)


def install() -> None:
    """Make ``paddle`` argosy in this process; refuse where the real one has been imported: half of
    its modules would be argosy's.
    """
    found = sys.modules.get(_ALIAS)
    if found is not None and found is not target():
        raise ImportError(
            f"argosy cannot answer to `import paddle` in this process: a real Paddle, "
            f"{getattr(found, '__file__', None)}, has been imported. Run the script with "
            "`argosy run`, or call argosy.alias.install() before anything imports paddle.",
            name=_ALIAS,
        )
    if not is_installed():
        sys.meta_path.insert(0, AliasFinder())
    sys.modules[_ALIAS] = target()
    keep_hidden()
