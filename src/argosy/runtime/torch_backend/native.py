"""The one thing that takes C++: torch's DDP asks its backend for the memory of its buckets, unless
that is written in Python. ``allocator.cpp`` hands the question on.

    argosy build

compiles it, once for each version of torch and Python; it takes half a minute. Where it has been
compiled, DDP's buckets lie in memory that all ranks map, and their sums are made in place. Without
it everything works as well, and each sum costs two copies more.

The result lies beside this file or, where that folder cannot be written, in the user's cache. What
is loaded from there must be the user's own: nobody else may be able to write it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.util
import logging
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
import torch.distributed as dist

from argosy.foundation import env, torch_private
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.token import own_folder

_log = logging.getLogger(__name__)

_NAME = "argosy_allocator"
_SOURCE = Path(__file__).with_name("allocator.cpp")
_COMPILERS = ("c++", "g++", "clang++")
_LIMIT_S = 900.0
_SWITCH = "ARGOSY_NATIVE"
# torch's own: 0 has DDP ask its backend for memory
_TORCHS_SWITCH = "DDP_DISABLE_COMM_MEM"


def attach(group: dist.ProcessGroup, allocate: Callable[[int, torch.dtype], torch.Tensor]) -> None:
    """Have DDP take the memory of its buckets in ``group`` from ``allocate``, if that was
    compiled.
    """
    module = _load() if env.get(_SWITCH, "1") != "0" else None
    if module is None:
        return
    if not env.get(_TORCHS_SWITCH) and not torch.accelerator.is_available():
        env.update({_TORCHS_SWITCH: "0"})  # with accelerators it would change what NCCL does
    kind = dist.ProcessGroup.BackendType.CUSTOM
    allocator = module.Allocator(group.rank(), group.size(), allocate)
    torch_private.set_default_backend(group, kind, allocator)


@functools.cache
def _load() -> ModuleType | None:
    """The compiled module; None if there is none that can be trusted."""
    for path in _places():
        if not path.exists():
            continue
        if not _is_own(path):
            _log.warning("%s is not loaded: somebody else may write it", path)
            continue
        try:
            return _import(path)
        except ImportError as error:
            _log.warning("%s cannot be loaded: %s. Run `argosy build` again.", path, error)
    return None


def _import(path: Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(_NAME, str(path))
    spec = importlib.util.spec_from_loader(_NAME, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _places() -> list[Path]:
    """Where the compiled module may be; its name says what it was made of and for."""
    parts = (_SOURCE.read_text(), torch.__version__, sys.version, platform.machine())
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    folders = (_SOURCE.with_name("__pycache__"), own_folder())
    return [folder / f"{_NAME}-{digest}.so" for folder in folders]


def _is_own(path: Path) -> bool:
    """Whether none but the owner of this process, or of the package, can have written it."""
    owners = {os.geteuid(), _SOURCE.stat().st_uid}
    found = [path.stat(), path.parent.stat()]
    return all(each.st_uid in owners and not each.st_mode & 0o022 for each in found)


# -- compiling
# --------------------------------------------------------------------------------------------------


def build() -> Path:
    """Compile the module, unless that is done; returns where it is."""
    places = _places()
    done = next((path for path in places if path.exists() and _is_own(path)), None)
    return done if done is not None else _compiled_to(_first_writable(places))


def _first_writable(places: list[Path]) -> Path:
    for path in places:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(path.parent, os.W_OK) and not path.parent.stat().st_mode & 0o022:
            return path
    folders = ", ".join(str(path.parent) for path in places)
    raise ConfigError(
        f"argosy build: there is no folder to write to that is this user's alone; tried {folders}"
    )


def _compiled_to(path: Path) -> Path:
    compiler = env.get("CXX") or next(filter(shutil.which, _COMPILERS), None)
    if not compiler:
        raise ConfigError(
            f"argosy build: no C++ compiler was found; tried {', '.join(_COMPILERS)}. Install one, "
            "or name it in CXX."
        )
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        _run([*compiler.split(), *_arguments(), str(_SOURCE), "-o", str(made), *_libraries()])
        made.chmod(0o755)
        made.replace(path)
    return path


def _run(command: list[str]) -> None:
    try:
        subprocess.run(
            command, check=True, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S
        )
    except subprocess.CalledProcessError as error:
        said = "\n".join(error.stderr.splitlines()[-20:])
        raise ConfigError(
            f"argosy build: {command[0]} failed with {error.returncode}.\n{said}"
        ) from None
    except subprocess.TimeoutExpired:
        raise ConfigError(f"argosy build: {command[0]} did not end within {_LIMIT_S:g} s") from None
    except OSError as error:
        raise ConfigError(f"argosy build: cannot run {command[0]}: {error.strerror}") from None


def _arguments() -> list[str]:
    torchs = Path(torch.__file__).parent / "include"
    folders = [torchs, torchs / "torch" / "csrc" / "api" / "include", *_python_headers()]
    abi = int(torch.compiled_with_cxx11_abi())
    return [
        "-shared", "-fPIC", "-O1", "-w", "-std=c++20", "-DUSE_DISTRIBUTED", "-DUSE_C10D",
        f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *(f"-I{folder}" for folder in folders),
    ]  # fmt: skip


def _python_headers() -> list[Path]:
    paths = sysconfig.get_paths()
    return [Path(paths[name]) for name in ("include", "platinclude")]


def _libraries() -> list[str]:
    """torch's, which are loaded before this one is."""
    folder = Path(torch.__file__).parent / "lib"
    return [f"-L{folder}", "-ltorch_python", "-ltorch_cpu", "-lc10"]
