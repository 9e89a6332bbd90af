"""Packages of Debian and of PyPI, each in a folder of its own: nothing of this machine changes."""

from __future__ import annotations

import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

LIMIT_S = 900.0
_ALTERNATIVE = re.compile(r"--(?:install|slave)\s+(/\S+)\s+\S+\s+(/\S+)")


class CannotBeHad(Exception):
    """What a suite needs is not to be had here; the text says why."""


def debian(packages: tuple[str, ...], folder: Path) -> Path:
    """Unpack ``packages``, and what they need beyond what is installed, below ``folder``; returns
    the root of what was unpacked.

    Their scripts are not run, so there are no users, services or files outside. What scripts would
    have done with update-alternatives is done in the folder.
    """
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise CannotBeHad(f"packages of Debian need the command `{tool}`")
    root = folder / "root"
    if root.is_dir():
        return root
    archives, lists = folder / "archives", folder / "lists"
    for each in (archives, lists):
        (each / "partial").mkdir(parents=True, exist_ok=True)
    apt = [
        *("apt-get", "--quiet", "--yes", "--no-install-recommends"),
        *("-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root"),
        *("-o", f"Dir::Cache={folder}", "-o", f"Dir::Cache::Archives={archives}"),
        *("-o", f"Dir::State::Lists={lists}"),
    ]
    _run([*apt, "update"])
    _run([*apt, "--download-only", "install", *packages])
    draft = folder / "draft"
    for archive in sorted(archives.glob("*.deb")):
        _run(["dpkg-deb", "--extract", str(archive), str(draft)])
        _link_alternatives(archive, draft)
    for name in ("bin", "lib", "lib64", "sbin"):  # which are links to those in /usr
        if (draft / name).is_dir():
            shutil.copytree(draft / name, draft / "usr" / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(draft / name)
    draft.rename(root)  # a folder that was not filled to the end is not taken for a full one
    return root


def _link_alternatives(archive: Path, root: Path) -> None:
    control = root.with_name("control")
    _run(["dpkg-deb", "--control", str(archive), str(control)])
    script = control / "postinst"
    if script.is_file():
        for name, target in _ALTERNATIVE.findall(script.read_text(errors="replace")):
            link = root / name[1:]
            if not os.path.lexists(link) and (root / target[1:]).exists():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(target)
    shutil.rmtree(control)


def pypi(requirements: tuple[str, ...], folder: Path) -> Path:
    """The interpreter of an environment in ``folder`` that has ``requirements``, and before them
    all that this interpreter has.
    """
    python = folder / "venv" / "bin" / "python"
    done = folder / "installed"
    if done.is_file():
        return python
    _run([sys.executable, "-m", "venv", str(folder / "venv")])
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "venv")}))
    ours = [path for path in sys.path if path.endswith("-packages")] or site.getsitepackages()
    lines = [f"import site; site.addsitedir({path!r})" for path in ours]
    (packages / "of_the_project.pth").write_text("\n".join(lines) + "\n")
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
          *requirements])  # fmt: skip
    done.touch()
    return python


def _run(command: list[str]) -> None:
    try:
        subprocess.run(
            command, check=True, timeout=LIMIT_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stdout", None) or b"").decode(errors="replace").strip()
        last = said.splitlines()[-1:] or [str(error)]
        raise CannotBeHad(f"`{' '.join(command[:1] + command[-2:])}`: {last[0]}") from error
