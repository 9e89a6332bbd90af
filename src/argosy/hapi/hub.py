"""``paddle.hub``: models that the ``hubconf.py`` of a folder names.

Differs from Paddle: nothing is fetched, so a folder must be on this machine, ``source="local"``.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from builtins import list as List
from collections.abc import Callable
from types import ModuleType
from typing import Any

from argosy.foundation.errors import NotSupported, UsageError

__all__: List[str] = []

_SOURCES = ("github", "gitee", "local")
_ENTRIES = "hubconf"


class HubError(UsageError, RuntimeError):
    """A folder has no hubconf.py, or that has not what is asked of it."""


def list(repo_dir: str, source: str = "github", force_reload: bool = False) -> List[str]:
    """The names of the entry points in the ``hubconf.py`` of ``repo_dir``."""
    module = _entries("list", repo_dir, source)
    return [
        name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")
    ]


def help(repo_dir: str, model: str, source: str = "github", force_reload: bool = False) -> Any:
    """The docstring of an entry point."""
    return _entry("help", _entries("help", repo_dir, source), model).__doc__


def load(
    repo_dir: str, model: str, source: str = "github", force_reload: bool = False, **kwargs: Any
) -> Any:
    """What the entry point ``model`` makes of ``kwargs``."""
    module = _entries("load", repo_dir, source)
    missing = [
        name
        for name in getattr(module, "dependencies", None) or ()
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise HubError(f"hub.load: Missing dependencies: {', '.join(missing)}")
    return _entry("load", module, model)(**kwargs)


def _entries(call: str, repo_dir: str, source: str) -> ModuleType:
    if source not in _SOURCES:
        raise UsageError(
            f'hub.{call}: Unknown source: "{source}". Allowed values: "github" | "gitee" | "local".'
        )
    if source != "local":
        raise NotSupported(
            f"hub.{call}: source={source!r} would fetch {repo_dir!r}, and nothing is fetched "
            "here.\n  Clone the repository and pass its folder with source='local'."
        )
    path = os.path.join(repo_dir, f"{_ENTRIES}.py")
    spec = importlib.util.spec_from_file_location(_ENTRIES, path)
    if not os.path.isfile(path) or spec is None or spec.loader is None:
        raise HubError(
            f"hub.{call}: Please make sure config exists: there is no {_ENTRIES}.py in {repo_dir!r}"
        )
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, repo_dir)  # it imports modules that lie beside it
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise HubError(f"hub.{call}: {path} cannot be imported: {error}") from error
    finally:
        sys.path.remove(repo_dir)
    return module


def _entry(call: str, module: ModuleType, name: str) -> Callable[..., Any]:
    if not isinstance(name, str):
        raise UsageError(
            f"hub.{call}: model should be a str of function name, but is a {type(name).__name__}"
        )
    found = getattr(module, name, None)
    if not callable(found):
        raise HubError(f"hub.{call}: Cannot find callable {name} in hubconf")
    return found
