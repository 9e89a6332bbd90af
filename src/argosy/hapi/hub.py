"""``paddle.hub``: models that the ``hubconf.py`` of a folder names.

Differs from Paddle: nothing is fetched, so a folder must be on this machine, ``source="local"``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from builtins import list as List
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from argosy.device import get_device, set_device
from argosy.foundation import env
from argosy.foundation.errors import NotSupported, UsageError
from argosy.framework.io import load as read
from argosy.utils.download import get_path_from_url

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


def get_dir() -> str:
    """The folder for what hubs of Paddle's cache."""
    return os.path.join(env.home(), "hub")


@contextlib.contextmanager
def device_guard(device: str = "cpu", dev_id: int = 0) -> Iterator[None]:
    """Make tensors on a device meanwhile."""
    before = get_device()
    set_device(device if device == "cpu" else f"{device}:{dev_id}")
    try:
        yield
    finally:
        set_device(before)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    check_hash: bool = False,
    file_name: str | None = None,
    map_location: str | None = None,
) -> Any:
    """The weights in the file that ``url`` ends with, or ``file_name``, in ``model_dir`` or below
    ``get_dir()``; ``map_location`` "numpy" or "np" gives arrays, else Tensors on that device.
    """
    if check_hash:
        raise NotSupported("hub.load_state_dict_from_url: check_hash=True: files are taken as is")
    path = get_path_from_url(file_name or url, model_dir or os.path.join(get_dir(), "checkpoints"))
    if map_location in ("numpy", "np"):
        return read(path, return_numpy=True)
    with device_guard(map_location) if map_location else contextlib.nullcontext():
        return read(path)


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
    found: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(found):
        raise HubError(f"hub.{call}: Cannot find callable {name} in hubconf")
    return found
