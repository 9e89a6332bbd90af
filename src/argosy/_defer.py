"""Packages whose code runs when something is asked of them, not when they are imported.

A dataset starts a process for every file it pipes through a script, and all that such a script
needs is a data generator: ``import paddle.distributed.fleet`` must not load torch for it. And an
eager script of one process needs neither programs nor collectives, which are half of the modules.
And commands such as ``argosy --version`` need neither. So ``argosy`` itself and the packages of
``PUT_OFF`` are put off: they are modules with a ``__getattr__`` that runs their ``__init__.py``.
The few names of ``EARLY`` come without it, and importing any module but those of ``LIGHT`` runs it
too.

What runs a package's code is the import of a module ``__body__`` in it. That way the import system
sees to it that it happens once, that other threads wait, and that an error leaves it undone.
"""

from __future__ import annotations

import gc
import importlib
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from argosy import _alias

ROOT = __name__.rpartition(".")[0]
_FLEET = f"{ROOT}.distributed.fleet"
_GENERATORS = f"{_FLEET}.data_generator"
PUT_OFF = (
    f"{ROOT}.distributed",
    _FLEET,
    f"{ROOT}.fluid",
    f"{ROOT}.static",
    f"{ROOT}.vision",
)
LIGHT = frozenset({
    *PUT_OFF, _GENERATORS, *(f"{ROOT}.{name}" for name in (
        "_alias", "_defer", "_paths", "_platform", "_release", "__main__", "command",
        "alias", "alias.__main__", "alias.place", "alias.process",
        "distributed.fleet.data_generator.data_generator", "fluid.incubate",
        "fluid.incubate.data_generator", "foundation", "foundation.env", "foundation.errors",
    )),
})  # fmt: skip
EARLY = {
    _FLEET: dict.fromkeys(("MultiSlotDataGenerator", "MultiSlotStringDataGenerator"), _GENERATORS)
}
BODY = "__body__"


class PutOffModule(ModuleType):
    """A package that is put off. Importing one of its modules may be what runs its code; if that
    defines a function of the module's name, as ``distributed.spawn``, the function stays.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__.get(name, value)
        is_own = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        if not is_own or isinstance(held, ModuleType):
            super().__setattr__(name, value)


class PutOff:
    """The ``__getattr__`` of a package that is put off."""

    def __init__(self, module: ModuleType, loader: Loader) -> None:
        self.module = module
        self.loader = loader

    def __call__(self, name: str) -> Any:
        package = self.module.__name__
        path = f"{package}.{name}"
        if name.startswith("__") and name not in ("__all__", "__version__"):
            raise AttributeError(name)  # whoever looks at all modules asks for such names
        if path in LIGHT:
            return importlib.import_module(path)
        if name in EARLY.get(package, ()):
            return getattr(importlib.import_module(EARLY[package][name]), name)
        load_body(package)
        if self.module.__dict__.get("__getattr__") is self:  # asked for by the code itself
            raise AttributeError(f"module {package!r} has no attribute {name!r} yet")
        return getattr(self.module, name)

    def list_names(self) -> list[str]:
        """The ``__dir__`` of the package."""
        load_body(self.module.__name__)
        return dir(self.module)

    def run(self) -> None:
        """Run the package's code; what it imports stays, so no garbage is looked for meanwhile.

        Nor later among what the first such package has brought, torch with its 180,000 objects:
        to walk over them takes 0.1 s each time, and the interpreter does it several times as it
        exits. Only after ``import paddle``, when a script has made little that may be garbage
        one day; not after packages that may be loaded in the middle of its work.
        """
        collects = gc.isenabled()
        gc.disable()
        scope = self.module.__dict__
        del scope["__dir__"]
        try:
            self.loader.exec_module(self.module)
        except BaseException:
            put_off(self.module, self.loader)
            raise
        finally:
            if collects:
                gc.enable()
        if scope.get("__getattr__") is self:
            del scope["__getattr__"]
        _alias.keep_hidden(self.module.__name__)
        if collects and self.module.__name__ == ROOT:
            gc.freeze()


def put_off(module: ModuleType, loader: Loader) -> None:
    """Let the code of ``module``, which ``loader`` runs, wait until it is needed."""
    later = PutOff(module, loader)
    module.__class__ = PutOffModule
    module.__dict__.update(__getattr__=later, __dir__=later.list_names)


def runs(package: str) -> bool:
    """Whether the code of ``package``, which asks, is to run now. Where it was just imported, by
    the import system's own loader, it is put off.
    """
    if _pending(package) is not None:
        return True
    module = sys.modules[package]
    assert module.__spec__ is not None
    assert module.__spec__.loader is not None
    put_off(module, module.__spec__.loader)
    return False


def load_body(package: str) -> None:
    """Run the code of a package that is put off, after that of the packages it is in; nothing if it
    has run or is running.
    """
    for name in (ROOT, *PUT_OFF):
        if f"{package}.".startswith(f"{name}.") and _pending(name) is not None:
            importlib.import_module(f"{name}.{BODY}")


def before(fullname: str) -> bool:
    """Run the code of the packages that the module ``fullname`` is in, as importing it does;
    whether that has imported it.
    """
    if fullname in LIGHT or fullname in sys.modules or fullname.endswith(f".{BODY}"):
        return False
    load_body(fullname.rpartition(".")[0])
    return fullname in sys.modules


def body_spec(fullname: str) -> ModuleSpec | None:
    """How a package's ``__body__`` is loaded."""
    package, _, last = fullname.rpartition(".")
    later = _pending(package) if last == BODY else None
    return None if later is None else ModuleSpec(fullname, BodyLoader(later))


def _pending(package: str) -> PutOff | None:
    module = sys.modules.get(package)
    found = None if module is None else module.__dict__.get("__getattr__")
    return found if isinstance(found, PutOff) else None


class BodyLoader(Loader):
    """Runs the code of a package that was put off."""

    def __init__(self, later: PutOff) -> None:
        self.later = later

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.later.run()


class PutOffLoader(Loader):
    """Loads a package without running its code."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        put_off(module, self.inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)  # the file and the code, for whoever looks for them
