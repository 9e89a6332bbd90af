"""``paddle.x.y`` is the very module object ``argosy.x.y``.

One meta-path finder answers for every name below ``paddle.`` with the module of the same name below
``argosy.``; its loader hands out that module instead of executing a second copy, and gives
``runpy`` the code of the original, so that ``python -m paddle.x.y`` runs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
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
    module = importlib.import_module(_TARGET)
    keep_hidden()
    return module


def keep_hidden(root: str = _TARGET) -> None:
    """Alias the modules below ``root`` whose name a function of their package has, such as
    ``amp.auto_cast`` and ``distributed.spawn``: importing them by their alias later would put the
    module in the place of the function.
    """
    for name in [name for name in sys.modules if name.startswith(root + ".")]:
        module, (package, _, last) = sys.modules[name], name.rpartition(".")
        if vars(sys.modules.get(package, module)).get(last, module) is not module:
            sys.modules.setdefault(_ALIAS + name[len(_TARGET) :], module)


def install(alias_path: Iterable[str]) -> None:
    """Put the finder first on the meta path, once; refuse to mix with a real Paddle in the same
    folder.
    """
    for folder in alias_path:
        _refuse_real_paddle(folder)
    if not any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, AliasFinder())


def check_environment() -> None:
    """Raise where ``import paddle`` would find a real Paddle instead of, or mixed with, argosy's
    alias.
    """
    if _ALIAS in sys.modules:
        return
    spec = PathFinder.find_spec(_ALIAS)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        _refuse_real_paddle(folder)


def _refuse_real_paddle(folder: str) -> None:
    if any(os.path.isdir(os.path.join(folder, part)) for part in ("base", "fluid", "libs")):
        raise ImportError(
            f"a real Paddle is installed at {folder}, and argosy answers to `import paddle` too: "
            "the two cannot share "
            "an environment. Remove one with `pip uninstall paddlepaddle` (then reinstall "
            "argosy), or use another venv."
        )
