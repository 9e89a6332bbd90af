"""For the build: the version is argosy's, and exactly that argosy is needed.

A source distribution does not hold argosy; there hatchling takes both from its PKG-INFO.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELEASE = Path(__file__).resolve().parents[2] / "src" / "argosy" / "_release.py"


def version() -> str:
    """The version that the repository around this folder has."""
    return str(runpy.run_path(str(RELEASE))["VERSION"])


class ArgosyHook(MetadataHookInterface):
    """Adds the dependency."""

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["dependencies"] = [f"argosy=={metadata['version']}"]
